"""Checks for the exercises on forecasting in notebook 08."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from coursekit.exercises.compare import agree


def check_repeat_season(solution: Callable[[Tensor, int, int], Tensor]) -> None:
    """Check a function that forecasts by repeating the last season: (B, T) to (B, horizon)."""

    def reference(past: Tensor, horizon: int, period: int) -> Tensor:
        steps = past.unbind(1)
        season = steps[len(steps) - period :]
        return torch.stack([season[step % period] for step in range(horizon)], 1)

    cases = [
        (torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 2, 3),
        (torch.tensor([[1.0, 2.0, 3.0], [4.0, 6.0, 5.0]]), 5, 2),
        (torch.tensor([[3.0, 1.0, 2.0]]), 3, 1),
    ]
    agree(solution, reference, cases)


def check_share_dropped(solution: Callable[[Sequence[int], int, int], Tensor]) -> None:
    """Check a function that finds the share of windows lost if only whole batches are scored.

    One number for each horizon; the targets of a window lie in as many rows as the horizon has.
    """

    def reference(horizons: Sequence[int], rows: int, batch_size: int) -> Tensor:
        shares = []
        for horizon in horizons:
            windows = [start for start in range(rows) if start + horizon <= rows]
            shares.append(len(windows) % batch_size / len(windows))
        return torch.tensor(shares)

    cases = [
        ([3], 10, 3),
        ([1, 3], 10, 4),  # 10 windows, and 8: two whole batches
        ([2], 6, 100),
        ([24, 720], 2880, 512),
    ]
    agree(solution, reference, cases)
