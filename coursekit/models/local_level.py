"""A level that wanders and is seen through noise: the Kalman filter with one number to follow."""

import math

from jaxtyping import Float
from torch import Tensor


def step_level(
    mean: float, variance: float, value: float, noise_var: float, level_var: float
) -> tuple[float, float]:
    """Return mean and variance of the next level, once a value has been seen.

    With the gain k = P / (P + r), a value moves the mean m by k (x - m) and leaves of its variance
    (1 - k) P = k r, to which the level's own step adds q (Kalman 1960; Durbin and Koopman 2012,
    chapter 2, where P, r and q are P_t, σ²_ε and σ²_η).

    Args:
        mean, variance: m and P, what was believed of this level; P may be infinite.
        value: x, the level and noise.
        noise_var: r, above 0.
        level_var: q, of a step of the level.
    """
    gain = 1 / (1 + noise_var / variance) if variance else 0.0  # P / (P + r), for any P
    return mean + gain * (value - mean), gain * noise_var + level_var


def filter_local_level(
    series: Float[Tensor, "T"],
    *,
    noise_var: float,
    level_var: float,
    mean: float = 0.0,
    variance: float = math.inf,
) -> tuple[Float[Tensor, "N"], Float[Tensor, "N"]]:
    """Return the forecast of each value from those before it, and the variance of its level.

    The model: x_t = l_t + noise, l_{t+1} = l_t + step, both normal and independent. Both results
    have T + 1 entries; the last is for the value that comes after the series. A value's own
    variance is its level's plus r.

    Args:
        noise_var: r, of the noise.
        level_var: q, of a step of the level. At 0 the forecast is the mean of all values so far,
            which is least squares for a constant.
        mean, variance: what is believed of the level before the first value; an infinite variance
            is to know nothing, and the first value is then believed.

    Raises:
        ValueError: if a variance is negative, or one that must be above 0 is not.

    Example:
        >>> series = torch.tensor([2.0, 4.0, 9.0])
        >>> filter_local_level(series, noise_var=1.0, level_var=0.0)[0]
        tensor([0., 2., 3., 5.])
    """
    if not (0 < noise_var < math.inf and 0 <= level_var < math.inf and variance > 0):
        raise ValueError(
            f"{noise_var=} and {variance=} must be above 0, {level_var=} at least 0, and only the "
            "variance at the start may be infinite"
        )
    means = [mean]
    variances = [variance]
    for value in series.tolist():
        mean, variance = step_level(mean, variance, value, noise_var, level_var)
        means.append(mean)
        variances.append(variance)
    return series.new_tensor(means), series.new_tensor(variances)


RATIOS = (0.0, *(10 ** (k / 8) for k in range(-32, 17)))
"""q / r from a level that stands still to one that hides all noise, eight to a factor of ten."""


def local_level_nll(series: Float[Tensor, "T"], ratio: float) -> tuple[float, float]:
    """Return the least NLL of a local level whose q / r is given, in nats, and the r of it.

    The forecasts depend on the ratio alone. Given it, the best r is the mean of e_t² / F_t, where
    e_t is the error of a forecast and F_t its variance for r = 1. The first value, of which
    nothing is known before, has no likelihood.

    Raises:
        ValueError: if the series has fewer than three values, or is constant.
    """
    if len(series) < 3 or (series == series[0]).all():
        raise ValueError(f"{len(series)} values, or all equal: give three or more that differ")
    means, variances = filter_local_level(series, noise_var=1.0, level_var=ratio)
    squares = (series - means[:-1])[1:].square()
    spread = (variances[:-1] + 1)[1:]
    noise_var = (squares / spread).mean()
    nll = 0.5 * (1 + (2 * math.pi * noise_var * spread).log()).sum()
    return nll.item(), noise_var.item()


def fit_local_level(series: Float[Tensor, "T"]) -> tuple[float, float]:
    """Return the most likely variances r of the noise and q of a step of the level.

    All of `RATIOS` are tried, for the likelihood can have two maxima, and an optimiser that goes
    uphill may stop at the lower one.

    Raises:
        ValueError: as for `local_level_nll`.
    """
    ratio = min(RATIOS, key=lambda ratio: local_level_nll(series, ratio)[0])
    noise_var = local_level_nll(series, ratio)[1]
    return noise_var, ratio * noise_var
