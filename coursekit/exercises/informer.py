"""Checks for the exercises of notebook 08."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from coursekit.exercises.compare import agree
from coursekit.exercises.small_models import (
    MeanOfAll,
    Ranked,
    RankedOnArrival,
    RunningMean,
    Smoothed,
)


def check_find_leaks(solution: Callable[[Tensor, nn.Module], Tensor]) -> None:
    """Check a function that tells which outputs of a model change with later inputs.

    It gets x of shape (1, T, 1) and a model that maps x to the same shape, and returns T booleans.
    Larger and smaller numbers than those of x may stand in the place of later inputs.
    """

    def reference(x: Tensor, model: nn.Module) -> Tensor:
        leaks = torch.zeros(x.shape[1], dtype=torch.bool)
        for t in range(x.shape[1]):
            for value in (-1000.0, 0.0, 1000.0):
                changed = x.clone()
                changed[:, t + 1 :] = value
                moved = (model(changed) - model(x))[:, t].abs().max()
                leaks[t] |= moved > 1e-6
        return leaks

    x = torch.tensor([2.0, 1.0, 3.0, 5.0, 4.0])[None, :, None]
    agree(
        solution,
        reference,
        [
            (x.sort(1).values, RankedOnArrival()),
            (x[:, :3], RunningMean()),
            (x, MeanOfAll()),
            (x, Smoothed()),
            (x, Ranked()),
        ],
    )


def check_distilled_length(solution: Callable[[Tensor, int], Tensor]) -> None:
    """Check a function that gives how many steps leave an encoder, for several that enter it.

    All layers but the last are followed by a distilling one.
    """

    def reference(steps: Tensor, n_layer: int) -> Tensor:
        for _ in range(n_layer - 1):
            steps = steps // 2 + steps % 2
        return steps

    cases = [
        (torch.tensor([96, 48]), 1),
        (torch.tensor([96, 336, 720]), 3),
        (torch.tensor([7, 1, 22]), 2),
        (torch.tensor([97, 100, 5]), 4),
    ]
    agree(solution, reference, cases)


def check_mask_future(solution: Callable[[Tensor, Sequence[int]], Tensor]) -> None:
    """Check a function that hides what is not known of the steps to come: (B, P, C) to the same.

    What is not known is 0 in the answer, and may be anything before, also not a number.
    """

    def reference(future: Tensor, known: Sequence[int]) -> Tensor:
        masked = torch.zeros_like(future)
        for column in known:
            masked[..., column] = future[..., column]
        return masked

    count = 1.0 + torch.arange(12.0).reshape(1, 4, 3)
    unmeasured = count.clone()
    unmeasured[..., 0] = torch.nan
    agree(
        solution,
        reference,
        [(count, [2]), (count, []), (count[:, :2], [1, 2]), (unmeasured, [1])],
    )


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


def count_dropped(horizons: Sequence[int], rows: int, batch_size: int) -> Tensor:
    """Return the fraction of windows lost if only whole batches are scored, by listing them."""
    fractions = []
    for horizon in horizons:
        windows = [start for start in range(rows) if start + horizon <= rows]
        fractions.append(len(windows) % batch_size / len(windows))
    return torch.tensor(fractions)


def check_fraction_dropped(solution: Callable[[Sequence[int], int, int], Tensor]) -> None:
    """Check a function that finds the fraction of windows lost if only whole batches are scored.

    One number for each horizon; the targets of a window lie in as many rows as the horizon has.
    """
    cases = [
        ([3], 10, 3),
        ([1, 3], 10, 4),  # 10 windows, and 8: two whole batches
        ([2], 6, 100),
        ([24, 720], 2880, 512),
    ]
    agree(solution, count_dropped, cases)
