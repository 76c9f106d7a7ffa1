"""The rows beyond the last one of a series: when they are, and what is known of them in advance."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import torch
from jaxtyping import Float64
from torch import Tensor

from coursekit.windows.series import TimeSeries
from coursekit.windows.table_columns import refuse_kinds, to_float64
from coursekit.windows.table_times import name_zone, parse_times, to_datetimes

if TYPE_CHECKING:
    import pandas  # noqa: ICN001 (annotations name it in full)


@dataclass(frozen=True, kw_only=True, eq=False)
class FutureRows:
    """The rows that follow the last one of a series.

    Attributes:
        times: when each will be measured.
        values: the known columns as they will be, zeros in the others; in the order of the series.
    """

    times: list[datetime]
    values: Float64[Tensor, "P C"]


def read_future(
    series: TimeSeries, horizon: int, frame: "pandas.DataFrame | None" = None
) -> FutureRows:
    """Return the next rows of a series, from a table of them if something is known in advance.

    Args:
        horizon: how many.
        frame: a column of times, named as the series' own, and the columns known in advance. The
            target, and whatever else nobody knows yet, is left out or empty. Later rows than are
            needed are not read. Without known columns, and where times go on by a rule, None.

    Raises:
        ValueError: if the rows are missing, are others, or hold what nobody can know.
    """
    if horizon < 1:
        raise ValueError(f"{horizon=} must be at least 1 row")
    values = torch.zeros(horizon, len(series.columns), dtype=torch.float64)
    if frame is None:
        times = continue_times(series, horizon)
        if series.known:
            raise ValueError(
                f"{[*series.known]} are known in advance: give the {horizon} rows from {times[0]} "
                f"to {times[-1]} as a table with the columns {[series.time, *series.known]}"
            )
        return FutureRows(times=times, values=values)
    frame = _refuse_columns(series, frame)
    if len(frame) < horizon:
        raise ValueError(f"{len(frame)} future rows are too few: give the next {horizon}")
    times = _refuse_times(series, parse_times(frame[series.time]), horizon)
    frame = frame.iloc[:horizon]
    _refuse_filled(series, frame, times)
    _refuse_words(series, frame)
    refuse_kinds(frame, series.known, series.columns[0])
    for name in series.known:
        values[:, series.columns.index(name)] = column = to_float64(frame[name])
        if not column.isfinite().all():
            at = times[int((~column.isfinite()).nonzero()[0, 0])]
            raise ValueError(f"column {name!r} has no number for {at}: fill it in, it is known")
    return FutureRows(times=times, values=values)


def continue_times(series: TimeSeries, n: int) -> list[datetime]:
    """Return the next `n` times of a series: steps as they were, or by a rule such as month ends.

    In a zone, hours are counted evenly and days by its clocks.

    Raises:
        ValueError: if steps differ and follow no rule, as on trading days with holidays.
    """
    last, step = series.times[-1], series.step
    if step is None:
        return _continue_by_rule(series, n)
    if not series.zone:
        return [last + k * step for k in range(1, n + 1)]
    zone = ZoneInfo(series.zone)
    counts_days = not step % timedelta(days=1) and len({at.time() for at in series.times}) == 1
    # Python adds to a time of a zone by its clocks, to one of UTC by hours that pass.
    start = last.astimezone(zone if counts_days else UTC)
    later = [(start + k * step).astimezone(zone) for k in range(1, n + 1)]
    return [at.replace(tzinfo=timezone(at.utcoffset() or timedelta())) for at in later]


def _continue_by_rule(series: TimeSeries, n: int) -> list[datetime]:
    """Continue months, quarters, working days, or the days of a zone."""
    import pandas as pd

    index = pd.DatetimeIndex(pd.to_datetime(list(series.times), utc=bool(series.zone)))
    if series.zone:
        index = index.tz_convert(series.zone)
    rule = pd.DatetimeIndex(index, freq="infer").freq if len(index) > 2 else None
    if rule is None:
        raise ValueError(
            f"the steps of {series.name} differ and follow no rule: give the next {n} rows as a "
            f"table with the columns {[series.time, *series.known]}"
        )
    later = pd.date_range(index[-1], periods=n + 1, freq=rule)[1:]
    return to_datetimes(pd.Series(later))


def _refuse_columns(series: TimeSeries, frame: object) -> "pandas.DataFrame":
    """Return the table if it has the columns that are needed."""
    import pandas as pd

    needed = [series.time, *series.known]
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(
            f"future rows are a {type(frame).__name__}: give a table with the columns {needed}"
        )
    missing = [name for name in needed if name not in frame.columns]
    if missing or not frame.columns.is_unique:
        raise ValueError(
            f"the future rows have the columns {[*frame.columns]}: {needed} are needed, each once"
        )
    return frame


def _refuse_times(series: TimeSeries, column: "pandas.Series", horizon: int) -> list[datetime]:
    """Return the times of the first rows if they are those that follow the series."""
    if (column.dt.tz is None) != (series.times[-1].tzinfo is None):
        raise ValueError(
            f"the future times, such as {column.iloc[0]}, and those of {series.name}, such as "
            f"{series.times[-1]}, must both have a time zone or both none"
        )
    if series.zone and name_zone(column) != series.zone:
        column = column.dt.tz_convert(series.zone)
    times = to_datetimes(column)[:horizon]
    if series.step is None:
        chain = [series.times[-1], *times]
        wrong = next((k for k in range(horizon) if chain[k + 1] <= chain[k]), None)
        if wrong is not None:
            raise ValueError(
                f"future row {wrong} is of {times[wrong]}, not later than {chain[wrong]}: give the "
                "rows that follow the last one of the series, in order"
            )
        return times
    expected = continue_times(series, horizon)
    for row, (given, due) in enumerate(zip(times, expected, strict=True)):
        if given != due:
            raise ValueError(
                f"future row {row} is of {given} instead of {due}: give the rows that follow "
                f"{series.times[-1]}, the last one of the series, a step of "
                f"{str(series.step).removesuffix(', 0:00:00')} apart"
            )
    return expected


def _refuse_words(series: TimeSeries, frame: "pandas.DataFrame") -> None:
    """Refuse words where the series has numbers: dropping the column would not help here."""
    import pandas as pd

    for name in series.known:
        some = frame[name].dropna()
        if pd.api.types.infer_dtype(some) == "string" and not some.str.contains(r"\d").any():
            own = series.values[:, series.columns.index(name)]
            raise ValueError(
                f"column {name!r} holds {some.iloc[0]!r}, which is no number: write numbers as the "
                f"series has them, where they go from {own.min():g} to {own.max():g}"
            )


def _refuse_filled(
    series: TimeSeries, frame: "pandas.DataFrame", times: Sequence[datetime]
) -> None:
    """Refuse numbers that nobody can know yet."""
    for name in frame.columns:
        filled = frame[name].notna().to_numpy()
        if name in (series.time, *series.known) or not filled.any():
            continue
        at = int(filled.argmax())
        raise ValueError(
            f"column {name!r} holds {frame[name].iloc[at]} for {times[at]}, which is to come: "
            "leave it empty; if it is known in advance, name it so when the series is read; if "
            "it has happened, add the row to the series"
        )
