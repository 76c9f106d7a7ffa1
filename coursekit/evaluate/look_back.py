"""How far back a forecaster reads, found by trial, whatever its windows offer."""

from bisect import bisect_left

import torch
from torch import Generator, nn

from coursekit.device import device_of
from coursekit.evaluate.likelihood import evaluating
from coursekit.windows.forecast import Forecaster, ForecastWindows

TRIED, SIZE = 16, 5.0
"""Windows that are tried, and the size of what is added to them, in their standard deviations."""


def measure_look_back(
    forecaster: Forecaster, windows: ForecastWindows, seed: int = 0
) -> int | None:
    """Return how many of the last steps a forecast depends on: from the oldest that moves it.

    Noise is added to all steps before a given one, in every column, and the forecasts of some
    windows move or stay exactly as they were. They stay until the noise reaches the oldest step
    that is read, so halving finds it. The calendar is left as it is.

    None, if two equal calls differ: then nothing can be found out by trial.
    """
    model = forecaster if isinstance(forecaster, nn.Module) else nn.Module()
    rows = torch.linspace(0, len(windows) - 1, min(TRIED, len(windows))).long()
    given = [part.to(device_of(model)) for part in windows.take(rows)[0]]
    past, length = given[0], given[0].shape[1]
    noise = torch.randn(past.shape, generator=Generator().manual_seed(seed), dtype=past.dtype)
    noise = noise.to(past.device) * SIZE * (past.std() if past.std() > 0 else 1.0)

    def moves(n_old: int) -> bool:
        changed = torch.cat([past[:, :n_old] + noise[:, :n_old], past[:, n_old:]], 1)
        return not forecaster(changed, *given[1:]).equal(before)

    with evaluating(model), torch.random.fork_rng(devices=[]):
        before = forecaster(*given)
        if moves(0):
            return None
        return length - bisect_left(range(1, length + 1), True, key=moves)
