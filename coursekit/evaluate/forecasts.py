"""How good a forecaster is: every window of a series, each once, in the unit that you want."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coursekit.device import device_of
from coursekit.evaluate.likelihood import evaluating, refuse_unequal
from coursekit.evaluate.look_back import measure_look_back
from coursekit.windows.forecast import (
    Forecaster,
    ForecastWindows,
    Scaler,
    refuse_other_columns,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ForecastScore:
    """Errors of one forecaster on all windows.

    Attributes:
        look_back: steps of the past that a window offers.
        parameters: fitted or trained numbers of the forecaster; 0 if it is a mere rule.
        target_mean: mean of all targets. Two scores of the same windows agree in it.
        errors: forecast minus target, of each window and step ahead.
        squared: mean squared error of each window, over its steps.
        mse_by_step: mean squared error of each step ahead, over the windows.
        mae_by_step: mean absolute error of each step ahead.
        reads: steps of that past which the forecasts depend on, by trial; None: not measured.
        span: the row of the first target, and the one after the last; None: not known.
    """

    look_back: int
    parameters: int
    target_mean: float
    errors: Float[Tensor, "N P"]
    squared: Float[Tensor, "N"]
    mse_by_step: Float[Tensor, "P"]
    mae_by_step: Float[Tensor, "P"]
    reads: int | None = None
    span: tuple[int, int] | None = None

    @property
    def windows(self) -> int:
        """Windows scored."""
        return len(self.squared)

    @property
    def horizon(self) -> int:
        """Steps ahead."""
        return len(self.mse_by_step)

    @property
    def mse(self) -> float:
        """Mean squared error, over all windows and steps."""
        return self.mse_by_step.mean().item()

    @property
    def mae(self) -> float:
        """Mean absolute error, over all windows and steps."""
        return self.mae_by_step.mean().item()

    def in_units(self, scaler: Scaler) -> "ForecastScore":
        """Return the same errors in the unit of the series, and its square."""
        mean = scaler.mean[0]  # of the target
        size = scaler.std[0]
        return replace(
            self,
            target_mean=(self.target_mean * size + mean).item(),
            errors=self.errors * size,
            squared=self.squared * size.square(),
            mse_by_step=self.mse_by_step * size.square(),
            mae_by_step=self.mae_by_step * size,
        )


def score_forecasts(
    forecaster: Forecaster,
    windows: ForecastWindows,
    batch_size: int = 256,
) -> ForecastScore:
    """Forecast every window, each once, and return the errors.

    A model is put in evaluation mode. Errors are added in double precision, whole windows at a
    time: the last batch, which is shorter, counts by its rows and is not left out.

    Args:
        forecaster: its columns known in advance must be those of the windows.
        batch_size: windows that pass through together; changes memory and time, not the result.

    Raises:
        ValueError: if there are no windows, not all came, the forecaster was made for other known
            columns, or a forecast is misshapen or not finite.
    """
    refuse_other_columns(forecaster, windows.known)
    model = forecaster if isinstance(forecaster, nn.Module) else nn.Module()
    device = device_of(model)
    made = []
    with evaluating(model):
        for inputs, target in windows.batches(batch_size):
            forecast = forecaster(*(x.to(device) for x in inputs)).cpu()
            if forecast.shape != target.shape or not forecast.isfinite().all():
                raise ValueError(
                    f"a forecast of shape {tuple(forecast.shape)} for targets of shape "
                    f"{tuple(target.shape)}: return one finite number for each"
                )
            made.append((forecast, target.cpu()))
    scored = sum(len(target) for _, target in made)
    if not scored or scored != len(windows):
        raise ValueError(f"scored {scored} of {len(windows)} windows: each must come, once")
    score = score_errors(
        *map(torch.cat, zip(*made, strict=True)),
        look_back=inputs[0].shape[1],
        parameters=sum(p.numel() for p in model.parameters()),
    )
    reads = measure_look_back(forecaster, windows)
    return replace(score, reads=reads, span=(windows.first, windows.stop))


def score_errors(
    forecast: Float[Tensor, "N P"],
    target: Float[Tensor, "N P"],
    *,
    look_back: int,
    parameters: int = 0,
) -> ForecastScore:
    """Return the errors of forecasts that are there already, such as those of a walk-forward.

    Args:
        forecast, target: P steps ahead from each of N windows, or days.
        look_back: steps of the past that each was made from, as you say: it can't be measured.
        parameters: fitted or trained numbers.

    Raises:
        ValueError: if the shapes differ.
    """
    refuse_unequal(forecast, target)
    target = target.double()
    error = forecast.double() - target
    return ForecastScore(
        look_back=look_back,
        parameters=parameters,
        target_mean=target.mean().item(),
        errors=error,
        squared=error.square().mean(1),
        mse_by_step=error.square().mean(0),
        mae_by_step=error.abs().mean(0),
    )


def walk_forward(
    forecast: Callable[[Float[Tensor, "T *C"]], float | Float[Tensor, ""]],
    series: Float[Tensor, "T *C"],
    start: int,
) -> Float[Tensor, "N"]:
    """Forecast each value from `start` on, one step ahead, from the values before it alone.

    What is fitted is fitted anew each time. The forecaster gets a copy of the past, so it can read
    nothing that comes later, and spoils nothing that it writes into.

    Args:
        forecast: maps the past, oldest first, to a number for the step that follows it.
        series: T steps of one number, or of several columns.
        start: the first step that is forecast; T - `start` forecasts are made.

    Raises:
        ValueError: if no step would be forecast, the first has no past, or a forecast is not one
            finite number.

    Example:
        >>> walk_forward(lambda past: past.mean(), torch.tensor([2.0, 4.0, 9.0, 1.0]), start=2)
        tensor([3., 5.])
    """
    if not 1 <= start < len(series):
        raise ValueError(f"{start=} must be between 1 and {len(series) - 1}, the last step")
    made = []
    for step in range(start, len(series)):
        number = torch.as_tensor(forecast(series[:step].clone()), dtype=series.dtype)
        if number.shape != () or not number.isfinite():
            raise ValueError(
                f"the forecast for step {step} is {number.tolist()}: return one finite number"
            )
        made.append(number.item())
    return series.new_tensor(made)


def naive_error(insample: Float[Tensor, "T"], period: int) -> float:
    """Return how far a series is from itself one period before: mean |x_t - x_{t - period}|.

    Args:
        insample: the series x that a forecaster is fitted to.
        period: steps of a season; 1 compares with the last value.

    Raises:
        ValueError: if the series is not longer than a period, or repeats itself exactly.
    """
    if not 1 <= period < len(insample):
        raise ValueError(f"{period=} must be between 1 and {len(insample) - 1}, one less than x")
    naive = (insample[period:] - insample[:-period]).double().abs().mean().item()
    if naive == 0:
        raise ValueError(
            f"the series repeats itself every {period} steps, so that the error to compare with "
            "is 0: choose another period, or report the MAE"
        )
    return naive


def mase(
    target: Float[Tensor, "*N"],
    forecast: Float[Tensor, "*N"],
    insample: Float[Tensor, "T"],
    period: int,
) -> float:
    """Return the mean absolute error as a multiple of the seasonal naive forecast's in training.

    mean |y - f| / mean |x_t - x_{t - period}| (Hyndman and Koehler 2006, section 3, where the
    period is 1). The divisor comes from the training series alone, so it is the same for all
    forecasts and test windows.

    Args:
        insample: the series x that the forecaster was fitted to, in the unit of the target.
        period: steps of a season; 1 compares with the last value.

    Raises:
        ValueError: if the shapes differ, or `naive_error` has none to give.
    """
    refuse_unequal(target, forecast)
    return (target - forecast).double().abs().mean().item() / naive_error(insample, period)
