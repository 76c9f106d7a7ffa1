"""Baselines of a series: its last value, its season, and what least squares makes of its past.

Each is a `Forecaster` like any model, so that all are scored by the same code.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coursekit.windows.forecast import Forecast, Forecaster, Known, Marks, Past


def last_value(past: Past, known: Known, marks: Marks) -> Forecast:
    """Forecast that the target stays where it is."""
    return past[:, -1:, 0].expand(-1, known.shape[1])


def seasonal_naive(period: int) -> Forecaster:
    """Return the forecaster that repeats the target's last `period` steps, again and again.

    Raises:
        ValueError: if `period` is below 1, or later if the past is shorter.
    """
    if period < 1:
        raise ValueError(f"{period=} must be at least 1: 24 for hours with a daily season")

    def repeat_season(past: Past, known: Known, marks: Marks) -> Forecast:
        _refuse_short(past, period)
        ahead = torch.arange(known.shape[1], device=past.device)
        return past[:, ahead % period - period, 0]

    return repeat_season


class LinearForecast(nn.Module):
    """Forecast every step ahead as its own weighted sum of the target's last T values.

    y = b + xᵀ W; if `relative`, x and y are counted from the last value of the past (NLinear:
    Zeng et al. 2023, section 4), so that a level never seen before costs nothing. Columns that are
    known in advance are read at the T steps, too, and at the step that is forecast.

    Args:
        weight: one column for each step ahead.
        bias: one number for each step ahead.
        known: the columns known in advance that are read.
        worth: their weights: of the T steps, then of the step itself; for each step ahead.
    """

    def __init__(
        self,
        weight: Float[Tensor, "T P"],
        bias: Float[Tensor, "P"],
        *,
        relative: bool,
        known: tuple[int, ...] = (),
        worth: Float[Tensor, "S K P"] | None = None,
    ) -> None:
        super().__init__()
        self.relative = relative
        self.known = known or None  # without any it may be given windows that show some
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = nn.Parameter(bias, requires_grad=False)
        self.worth = None if worth is None else nn.Parameter(worth, requires_grad=False)

    def forward(self, past: Past, known: Known, marks: Marks) -> Forecast:
        """Forecast the P steps that it was fitted for; an older past is not read."""
        context, horizon = self.weight.shape
        _refuse_short(past, context)
        if known.shape[1] != horizon:
            raise ValueError(f"fitted for {horizon} steps ahead, not {known.shape[1]}: fit anew")
        recent = past[:, -context:, 0].to(self.weight.dtype)
        level = recent[:, -1:] if self.relative else torch.zeros_like(recent[:, -1:])
        forecast = level + (recent - level) @ self.weight + self.bias
        if self.worth is not None:
            before, own = past[:, -context:, self.known], known[..., self.known]
            forecast = forecast + torch.einsum("btk,tkp->bp", before.double(), self.worth[:-1])
            forecast = forecast + torch.einsum("bpk,kp->bp", own.double(), self.worth[-1])
        return forecast.to(past.dtype)


def fit_linear(
    past: Float[Tensor, "N T"],
    target: Float[Tensor, "N P"],
    penalty: float,
    *,
    relative: bool = True,
    known: Float[Tensor, "N S K"] | None = None,
    columns: tuple[int, ...] = (),
) -> LinearForecast:
    """Fit a `LinearForecast` to N windows: the least squares with a price on large weights.

    W = (XᵀX + λ I)⁻¹ XᵀY of the centred X and Y, which is where ‖Y - X W‖² + λ ‖W‖² is least
    (ridge regression: Hoerl and Kennard 1970, eq. 2.1); the bias is free. In double precision,
    whatever the windows are in.

    Args:
        past: the last T values of the target, the latest at the end.
        penalty: λ. It grows with the number of windows and with the square of the unit.
        known: what is known in advance, in those T steps and the P to come: S = T + P.
        columns: which columns of a window these are.

    Raises:
        ValueError: if `penalty` is not above 0, or `known` and `columns` don't fit.
    """
    if not penalty > 0:
        raise ValueError(f"{penalty=} must be above 0: without one, weights may be undetermined")
    x, y = past.double(), target.double()
    if relative:
        x, y = x - past[:, -1:], y - past[:, -1:]
    if known is not None or columns:
        return _fit_with_known(x, y, penalty, relative, known, columns)
    x_mean, y_mean = x.mean(0), y.mean(0)
    x = x - x_mean
    factor = _factor(x, penalty)
    weight = torch.cholesky_solve(x.mT @ (y - y_mean), factor)
    return LinearForecast(weight, y_mean - x_mean @ weight, relative=relative)


def _factor(x: Float[Tensor, "N T"], penalty: float) -> Float[Tensor, "T T"]:
    """Return L with L Lᵀ = XᵀX + λ I."""
    gram = x.mT @ x
    gram.diagonal().add_(penalty)
    return torch.linalg.cholesky(gram)


def _fit_with_known(
    x: Float[Tensor, "N T"],
    y: Float[Tensor, "N P"],
    penalty: float,
    relative: bool,
    known: Float[Tensor, "N S K"] | None,
    columns: tuple[int, ...],
) -> LinearForecast:
    """Fit P ridge regressions that share the past and each have the known columns of their step.

    The shared block is factored once; what it explains of the step's own columns is taken out of
    them first (Schur complement).
    """
    read = x.shape[1]
    wanted = (read + y.shape[1], len(columns))
    if known is None or tuple(known.shape[1:]) != wanted:
        given = None if known is None else tuple(known.shape[1:])
        raise ValueError(
            f"known columns of shape {given} a window instead of {wanted}: give a number for each "
            "step read, each step to come and each of `columns`"
        )
    before, own = known.double().split([read, y.shape[1]], 1)
    x = torch.cat([x, before.flatten(1)], 1)
    x_mean, y_mean, own_mean = x.mean(0), y.mean(0), own.mean(0)
    x, y, own = x - x_mean, y - y_mean, own - own_mean
    factor = _factor(x, penalty)
    shared = torch.einsum("nt,npk->ptk", x, own)
    explained = torch.cholesky_solve(shared, factor)
    gram = torch.einsum("npk,npl->pkl", own, own) - shared.mT @ explained
    gram.diagonal(dim1=1, dim2=2).add_(penalty)
    alone = torch.cholesky_solve(x.mT @ y, factor)
    left = torch.einsum("npk,np->pk", own, y) - torch.einsum("ptk,tp->pk", shared, alone)
    now = torch.linalg.solve(gram, left[..., None])[..., 0]
    weight = alone - torch.einsum("ptk,pk->tp", explained, now)
    bias = y_mean - x_mean @ weight - (own_mean * now).sum(-1)
    worth = torch.cat([weight[read:].unflatten(0, (read, -1)), now.mT[None]])
    return LinearForecast(weight[:read], bias, relative=relative, known=columns, worth=worth)


def _refuse_short(past: Float[Tensor, "B T C"], needed: int) -> None:
    if past.shape[1] < needed:
        raise ValueError(f"a past of {past.shape[1]} steps is too short: cut windows of {needed}")


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


def iterate_ar(coefficients: Float[Tensor, "K"]) -> Forecaster:
    """Return the forecaster that takes each forecast of an autoregression as the next value.

    Args:
        coefficients: c, a_1, …, as `fit_ar` returns them.
    """
    order = len(coefficients) - 1

    def forecast(past: Past, known: Known, marks: Marks) -> Forecast:
        _refuse_short(past, order)
        series = list(past[:, past.shape[1] - order :, 0].to(coefficients.dtype).unbind(1))
        for _ in range(known.shape[1]):
            lags = zip(coefficients[1:], reversed(series[len(series) - order :]), strict=True)
            steady = coefficients[0].expand(len(past))
            series.append(sum((a * x for a, x in lags), start=steady))
        return torch.stack(series[order:], 1).to(past.dtype)

    return forecast


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


def garch_variance(
    returns: Float[Tensor, "T"],
    start: float,
    *,
    constant: float,
    surprise: float,
    memory: float,
    fall: float | int = 0.0,
) -> Float[Tensor, "T"]:
    """Return, for each day, the variance that GARCH(1, 1) forecast for it on the evening before.

    v_{t+1} = ω + (α + γ [r_t < 0]) r_t² + β v_t, where a day's mean return is 0: Bollerslev 1986,
    and with γ, for days that fall, Glosten, Jagannathan and Runkle 1993.

    Args:
        returns: of each day.
        start: the forecast v_0 for the first day.
        constant, surprise, memory, fall: ω, α, β and γ.

    Raises:
        ValueError: if a variance could become negative.
    """
    if min(constant, surprise, surprise + fall, memory) < 0:
        raise ValueError(
            f"{constant=}, {surprise=}, {memory=}, {fall=}: a variance could become negative; "
            "none but `fall` may be below 0, and that not below -surprise"
        )
    forecasts, latest = [], start
    for day in returns.tolist():
        forecasts.append(latest)
        latest = constant + (surprise + fall * (day < 0)) * day**2 + memory * latest
    return torch.tensor(forecasts, dtype=returns.dtype)
