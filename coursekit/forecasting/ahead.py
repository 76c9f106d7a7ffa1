"""The forecast of the rows that have not happened yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float64
from torch import Tensor, nn

from coursekit.device import device_of
from coursekit.evaluate.likelihood import evaluating
from coursekit.forecasting.fitted import FittedForecaster
from coursekit.windows.forecast import ForecastInputs
from coursekit.windows.future import FutureRows, read_future
from coursekit.windows.series import TimeSeries, read_calendar

if TYPE_CHECKING:
    import pandas  # noqa: ICN001 (annotations name it in full)


@dataclass(frozen=True, kw_only=True, eq=False)
class AheadForecast:
    """A forecast of the rows that follow a series, in its unit.

    Attributes:
        target: the column that is forecast.
        time: what `times` hold, as the series calls it.
        values: one number for each of the times.
        margin: how far the truth may be off either way; None if that was not measured.
        notes: what a reader must know of it, a sentence each.
    """

    target: str
    time: str
    unit: str
    times: Sequence[datetime]
    values: Float64[Tensor, "P"]
    margin: Float64[Tensor, "P"] | None
    notes: tuple[str, ...] = ()

    def frame(self) -> "pandas.DataFrame":
        """Return a table: the times, the forecast, and the ends of its band if there is one.

        They are called as the columns of the series, the ends as the target with _low and _high.
        """
        import pandas as pd

        columns = {self.time: self.times, self.target: self.values.tolist()}
        if self.margin is not None:
            columns[f"{self.target}_low"] = (self.values - self.margin).tolist()
            columns[f"{self.target}_high"] = (self.values + self.margin).tolist()
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        head = f"{self.target}{f', {self.unit}' if self.unit else ''}, the next {len(self.times)}"
        return "\n".join([f"{head} rows", self.frame().to_string(index=False), *self.notes])


def forecast_ahead(
    fitted: FittedForecaster, series: TimeSeries, future: "pandas.DataFrame | None" = None
) -> AheadForecast:
    """Forecast the `horizon` rows beyond the last one of a series.

    The last `past` rows are read as a window's are, the rows to come hold what is known of them.
    For more steps than a model forecasts at once, wrap it in `AskedAgain` and cut longer windows.

    Args:
        fitted: the forecaster; the series may have gone on since it was fitted.
        future: the rows to come, with the columns known in advance (see `read_future`).

    Raises:
        ValueError: if the series has other columns or steps, or the future rows don't follow it.
    """
    fitted.refuse_other_series(series)
    rows = read_future(series, fitted.horizon, future)
    model = fitted.model if isinstance(fitted.model, nn.Module) else nn.Module()
    inputs = last_window(fitted, series, rows)
    with evaluating(model):
        made = fitted.model(*(x.to(device_of(model)) for x in inputs))[0].cpu().double()
    if made.shape != (fitted.horizon,) or not made.isfinite().all():
        raise ValueError(f"the forecast is {made.tolist()}: return {fitted.horizon} finite numbers")
    bands = fitted.bands.in_units(fitted.scaler) if fitted.bands else None
    return AheadForecast(
        target=series.columns[0],
        time=series.time,
        unit=series.unit,
        times=rows.times,
        values=fitted.scaler.unscale(made),
        margin=bands.margin.double() if bands else None,
        notes=_write_notes(fitted),
    )


def last_window(fitted: FittedForecaster, series: TimeSeries, rows: FutureRows) -> ForecastInputs:
    """Cut the window that ends with the last row of a series, as windows in training are cut."""
    past = fitted.scaler.scale(series.values[-fitted.past :])
    known = torch.zeros_like(rows.values)
    columns = list(fitted.known_columns)
    known[:, columns] = fitted.scaler.scale(rows.values)[:, columns]
    marks = read_calendar([*series.times[-fitted.past :], *rows.times])
    return past.float()[None], known.float()[None], marks[None]


def _write_notes(fitted: FittedForecaster) -> tuple[str, ...]:
    """Say what the bands are worth, and of what the later steps are made."""
    notes = []
    if fitted.bands is None or fitted.coverage is None:
        notes.append("no bands: none were measured")
    else:
        low, mean, high = (f"{fraction:.0%}" for fraction in _range(fitted.coverage))
        notes.append(
            f"bands of {fitted.bands.level:.0%}, measured on {fitted.bands.windows:,} validation "
            f"windows; they held {mean} of the test targets, {low} to {high} by step"
        )
    asked = getattr(fitted.model, "horizon_asked", fitted.horizon)
    if asked < fitted.horizon:
        notes.append(
            f"from step {asked + 1} on the forecaster read its own forecasts: it was made for "
            f"{asked} steps and was asked again"
        )
    return tuple(notes)


def _range(fractions: Tensor) -> tuple[float, float, float]:
    return fractions.min().item(), fractions.mean().item(), fractions.max().item()
