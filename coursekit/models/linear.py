"""Linear baselines of a series: autoregression, and the weighted variance of the past."""

import torch
from jaxtyping import Float
from torch import Tensor


def fit_ar(series: Float[Tensor, "T"], order: int) -> Float[Tensor, "P"]:
    """Fit x_t = c + Σ_k a_k x_{t-k} by least squares; return c, a_1, …, a_order.

    Raises:
        ValueError: if the order is negative or the series too short for it.
    """
    if order < 0 or len(series) <= 2 * order + 1:
        raise ValueError(f"{order=} needs more than {2 * order + 1} values, not {len(series)}")
    windows = series.unfold(0, order + 1, 1)
    lags = windows[:, :-1].flip(-1)  # nearest first
    design = torch.cat([torch.ones_like(windows[:, :1]), lags], 1)
    return torch.linalg.lstsq(design, windows[:, -1:]).solution[:, 0]


def forecast_ar(series: Float[Tensor, "T"], coefficients: Float[Tensor, "P"]) -> Float[Tensor, "N"]:
    """Return the one-step forecasts for each value that has P - 1 values before it.

    The last one is for the value that comes after the series: T - P + 2 forecasts.
    """
    order = len(coefficients) - 1
    if not order:
        return coefficients.expand(len(series) + 1)
    return coefficients[0] + series.unfold(0, order, 1).flip(-1) @ coefficients[1:]


def ewma_variance(
    returns: Float[Tensor, "T"], start: float, decay: float = 0.94
) -> Float[Tensor, "T"]:
    """Return, for each day, the variance that was forecast for it on the evening before.

    v_{t+1} = λ v_t + (1 - λ) r_t² (RiskMetrics 1996), where a day's mean return is taken as 0.

    Args:
        returns: of each day.
        start: the forecast v_0 for the first day, from older days.
        decay: λ; 0.94 is RiskMetrics' choice for days.

    Raises:
        ValueError: if `decay` is not between 0 and 1.
    """
    if not 0 < decay < 1:
        raise ValueError(f"{decay=} must lie between 0 and 1; RiskMetrics takes 0.94")
    forecasts, latest = [], start
    for square in returns.square().tolist():
        forecasts.append(latest)
        latest = decay * latest + (1 - decay) * square
    return torch.tensor(forecasts, dtype=returns.dtype)
