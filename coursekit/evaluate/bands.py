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
    rank = _find_rank(score.windows, level)
    margin = score.errors.abs().kthvalue(rank, 0).values
    return Bands(level=level, margin=margin, windows=score.windows)


def _find_rank(windows: int, level: float) -> int:
    """Return which of the errors, by size, is the margin."""
    if not 0 < level < 1:
        raise ValueError(f"{level=} must lie between 0 and 1: 0.8 for four targets of five")
    rank = math.ceil(round((windows + 1) * level, 9))  # 100 · 0.55 is 55.00000000000001
    if rank > windows:
        needed = math.ceil(round(level / (1 - level), 9))
        lower = math.floor(100 * windows / (windows + 1)) / 100
        raise ValueError(
            f"{windows} windows are too few for bands of {level:.0%}: lengthen the "
            f"validation part until {needed} fit, or ask for level={lower} or less"
        )
    return rank


def roll_margins(
    before: ForecastScore, score: ForecastScore, level: float = 0.8, memory: int = 720
) -> Float[Tensor, "N P"]:
    """Measure the margin of each window anew, on the last windows whose outcome was known by then.

    Split conformal prediction again, on a sample that moves along: where errors grow or shrink
    with the seasons, the bands follow after about `memory` windows. A forecast of P steps is known
    to be right or wrong only P rows later, so the latest P - 1 windows never count.

    Args:
        before: windows, one row apart, that end where those of `score` begin: the validation.
        score: the windows that need margins, of the same horizon, in the same scale.
        level: the fraction of targets that should lie within.
        memory: how many windows to look back on; fewer where there aren't so many.

    Raises:
        ValueError: if `level` is no fraction, there are too few windows for it, horizons differ,
            or `before` doesn't end where `score` begins.

    Example:
        >>> from coursekit.evaluate.forecasts import score_errors
        >>> errors = torch.tensor([[1.0], [2.0], [3.0], [4.0], [9.0]], dtype=torch.float64)
        >>> old, new = (score_errors(part, 0 * part, look_back=7) for part in errors.split([4, 1]))
        >>> roll_margins(old, new, level=0.5, memory=3)  # the middle one of 2, 3 and 4
        tensor([[3.]], dtype=torch.float64)
    """
    if before.horizon != score.horizon:
        raise ValueError(
            f"windows of {before.horizon} and {score.horizon} steps: score both at one horizon"
        )
    if before.span and score.span and before.span[1] != score.span[0]:
        raise ValueError(
            f"the windows before end at row {before.span[1]}, the others begin at {score.span[0]}: "
            "cut both by one `split_windows`"
        )
    errors = torch.cat([before.errors, score.errors]).abs()
    margins = torch.empty_like(score.errors)
    for i in range(score.windows):
        known = before.windows + max(i - score.horizon + 1, 0)
        recent = errors[max(known - memory, 0) : known]
        margins[i] = recent.kthvalue(_find_rank(len(recent), level), 0).values
    return margins


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
