"""A forecaster together with all that it needs to meet a series again."""

from dataclasses import dataclass
from datetime import timedelta

from jaxtyping import Float
from torch import Tensor

from coursekit.evaluate.bands import Bands, calibrate_bands, measure_coverage
from coursekit.evaluate.forecasts import score_forecasts
from coursekit.windows.forecast import Forecaster, Scaler, Splits
from coursekit.windows.series import TimeSeries


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedForecaster:
    """A forecaster, the series that it was fitted to in outline, and how far off it is.

    Attributes:
        model: forecasts scaled windows of `past` steps, `horizon` steps ahead.
        scaler: of the training rows.
        columns: of the series, the target first.
        known: those of them that are known in advance.
        past: steps L that are read.
        horizon: steps P that are forecast.
        step: from one row to the next; None if rows are unevenly apart.
        bands: measured on the validation windows, in the scale of the windows; None if there are
            none.
        coverage: the fraction of test targets within the bands, for each step ahead.
    """

    model: Forecaster
    scaler: Scaler
    columns: tuple[str, ...]
    known: tuple[str, ...]
    past: int
    horizon: int
    step: timedelta | None
    bands: Bands | None = None
    coverage: Float[Tensor, "P"] | None = None

    @classmethod
    def of(cls, model: Forecaster, splits: Splits, level: float | None = 0.8) -> "FittedForecaster":
        """Take all that from the windows; measure the bands, and what they hold of the test.

        Args:
            model: fitted to `splits.train`.
            level: the fraction of targets that the bands should hold; None leaves them out.

        Raises:
            ValueError: if the model was made for other windows, or there are too few for bands.
        """
        valid = score_forecasts(model, splits.valid)
        bands = coverage = None
        if level is not None:
            bands = calibrate_bands(valid, level)
            coverage = measure_coverage(bands, score_forecasts(model, splits.test))
        return cls(
            model=model,
            scaler=splits.scaler,
            columns=splits.series.columns,
            known=splits.series.known,
            past=splits.train.past,
            horizon=splits.train.horizon,
            step=splits.series.step,
            bands=bands,
            coverage=coverage,
        )

    @property
    def known_columns(self) -> tuple[int, ...]:
        """The numbers of the columns that are known in advance."""
        return tuple(self.columns.index(name) for name in self.known)

    def refuse_other_series(self, series: TimeSeries) -> None:
        """Refuse a series of other columns or steps, or one that is too short.

        Raises:
            ValueError: with both lists of columns, or both steps.
        """
        ours = (self.columns, set(self.known))
        if ours != (series.columns, set(series.known)):
            raise ValueError(
                f"the forecaster was fitted to the columns {self.columns}, known in advance "
                f"{self.known}; {series.name} has {series.columns}, known {series.known}: read the "
                "table with the same target and known columns, or choose by series.only(…)"
            )
        if self.step != series.step:
            raise ValueError(
                f"the forecaster was fitted to steps of {self.step or 'uneven length'}, those of "
                f"{series.name} are of {series.step or 'uneven length'}: bring the rows to the "
                "same step, or fit anew"
            )
        if len(series) < self.past:
            raise ValueError(
                f"the forecaster reads {self.past} rows, {series.name} has {len(series)}: give "
                "more of its past"
            )
