"""Checks for the exercises of notebook 08, and small models of which some read the future."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.exercises.compare import agree


class RunningMean(nn.Module):
    """Return at each step the mean of all steps so far: clean."""

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Return (x_0 + … + x_t) / (t + 1)."""
        return x.cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]


class MeanOfAll(nn.Module):
    """Add to each step the mean of all steps, later ones too."""

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Return x_t plus the mean: only the last step has no future to read."""
        return x + x.mean(1, keepdim=True)


class Smoothed(nn.Module):
    """Average each step with its two neighbours, zeros beyond the ends."""

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Return (x_{t-1} + x_t + x_{t+1}) / 3."""
        return F.pad(x, (0, 0, 1, 1)).unfold(1, 3, 1).mean(-1)


class Ranked(nn.Module):
    """Return the largest step of the whole sequence as it is, for the others the running mean.

    A rank has no slope, so no gradient shows who is ranked against whom.
    """

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Return x_t where it is the largest of all, else the mean of all steps so far."""
        return torch.where(x == x.amax(1, keepdim=True), x, RunningMean()(x))


class RankedOnArrival(nn.Module):
    """Return a step as it is if none before it was larger, else the running mean: clean."""

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Return x_t where it is the largest so far, else the mean of all steps so far."""
        return torch.where(x == x.cummax(1).values, x, RunningMean()(x))


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
