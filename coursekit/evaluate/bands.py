"""How far off a forecast may be: bands that were measured on windows no model learnt from."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from coursekit.evaluate.forecasts import ForecastScore
from coursekit.evaluate.likelihood import refuse_unequal
from coursekit.windows.forecast import Scaler


@dataclass(frozen=True, kw_only=True, eq=False)
class Bands:
    """The interval forecast ± margin, one margin for each step ahead.

    Attributes:
        level: the fraction of targets that should lie within, such as 0.8.
        margin: half of the width, in the scale of the windows.
        windows: how many it was measured on.
    """

    level: float
    margin: Float[Tensor, "P"]
    windows: int

    def in_units(self, scaler: Scaler) -> "Bands":
        """Return the same bands in the unit of the series."""
        return replace(self, margin=self.margin * scaler.std[0].item())


def calibrate_bands(score: ForecastScore, level: float = 0.8) -> Bands:
    """Measure bands on validation errors, each step ahead by itself: split conformal prediction.

    The margin is the k-th smallest absolute error, k = ⌈(n + 1) · level⌉ of n windows. If a new
    error is as likely to rank anywhere among them, it lies within with a probability of at least
    `level` and below level + 1 / (n + 1) (Lei et al. 2018, theorem 2.2). Errors of neighbouring
    windows are alike and seasons differ, so that is an assumption: `measure_coverage` tests it.
    All steps together lie within less often than each one.

    Args:
        score: of windows that the forecaster was not fitted to.
        level: the fraction of targets that should lie within.

    Raises:
        ValueError: if `level` is no fraction, or there are fewer windows than it needs.
    """
    if not 0 < level < 1:
        raise ValueError(f"{level=} must lie between 0 and 1: 0.8 for four targets of five")
    rank = math.ceil(round((score.windows + 1) * level, 9))  # 100 · 0.55 is 55.00000000000001
    if rank > score.windows:
        needed = math.ceil(round(level / (1 - level), 9))
        lower = math.floor(100 * score.windows / (score.windows + 1)) / 100
        raise ValueError(
            f"{score.windows} windows are too few for bands of {level:.0%}: lengthen the "
            f"validation part until {needed} fit, or ask for level={lower} or less"
        )
    margin = score.errors.abs().kthvalue(rank, 0).values
    return Bands(level=level, margin=margin, windows=score.windows)


def measure_coverage(bands: Bands, score: ForecastScore) -> Float[Tensor, "P"]:
    """Return the fraction of targets within the bands, for each step ahead.

    Args:
        score: of the test windows, in the same scale as the bands.

    Raises:
        ValueError: if the bands are of another horizon.
    """
    if len(bands.margin) != score.horizon:
        raise ValueError(
            f"bands of {len(bands.margin)} steps for forecasts of {score.horizon}: calibrate them "
            "on windows of the same horizon"
        )
    return (score.errors.abs() <= bands.margin).to(torch.float64).mean(0)


def quantile_loss(level: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the loss whose best forecast is the quantile that a fraction `level` lies below.

    mean max(q (y - f), (q - 1)(y - f)) for the level q: Koenker and Bassett 1978. Two models
    trained with it, for 0.1 and 0.9, are the other way to a band of 80 %; at 0.5 it is half of the
    absolute error.

    Raises:
        ValueError: if `level` is no fraction.
    """
    if not 0 < level < 1:
        raise ValueError(f"{level=} must lie between 0 and 1: 0.9 for the upper end of 80 %")

    def loss(forecast: Tensor, target: Tensor) -> Tensor:
        refuse_unequal(forecast, target)
        missed = target - forecast
        return torch.maximum(level * missed, (level - 1) * missed).mean()

    return loss
