"""The small models of the exercise "find the leak" in notebook 08: some read the future."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


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

    A rank has no gradient, so no gradient shows who is ranked against whom.
    """

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Return x_t where it is the largest of all, else the mean of all steps so far."""
        return torch.where(x == x.amax(1, keepdim=True), x, RunningMean()(x))


class RankedOnArrival(nn.Module):
    """Return a step as it is if none before it was larger, else the running mean: clean."""

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Return x_t where it is the largest so far, else the mean of all steps so far."""
        return torch.where(x == x.cummax(1).values, x, RunningMean()(x))
