"""Where a series is cut in time: rows, fractions of all rows, or dates."""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from coursekit.windows.series import TimeSeries

End = int | float | str | datetime
"""Where a part of a series ends: a row, a fraction of all rows, or a date."""


def find_rows(series: TimeSeries, ends: Sequence[End]) -> tuple[int, ...]:
    """Return the rows at which the three parts of a series end, as `split_windows` takes them.

    Raises:
        ValueError: if they are not three, do not increase, or pass the end of the series.
    """
    are_fractions = any(isinstance(end, float) for end in ends)
    rows = tuple(_find_row(series, end, are_fractions) for end in ends)
    if len(rows) != 3 or not 0 < rows[0] < rows[1] < rows[2] <= len(series):
        raise ValueError(
            f"ends {tuple(ends)} must be three rows, increasing, at most {len(series)}: "
            f"the length of {series.name}, or fractions of it up to 1.0, or dates from "
            f"{series.times[0]} to {series.times[-1]}; {_propose_ends(len(series))}"
        )
    return rows


def _find_row(series: TimeSeries, end: End, is_fraction: bool) -> int:
    """Return the first row at a date or later, or after that fraction of all, or the row itself."""
    if isinstance(end, str | datetime):
        return _find_date(series, end)
    if is_fraction:
        return round(end * len(series)) if 0 < end <= 1 else 0
    return int(end)


def _find_date(series: TimeSeries, end: str | datetime) -> int:
    """Return the first row at a date or later; a date without a zone is one of the series."""
    try:
        at = end if isinstance(end, datetime) else datetime.fromisoformat(end)
    except ValueError:
        raise ValueError(
            f"{end!r} among the ends is no date as in '2024-05-17' or '2024-05-17 13:00': give "
            "three of those"
        ) from None
    own = series.times[0].tzinfo
    if at.tzinfo is None:
        at = at.replace(tzinfo=ZoneInfo(series.zone) if series.zone else own)
    elif own is None:
        raise ValueError(
            f"{end!r} among the ends has a zone and {series.name} has none: leave it out"
        )
    return bisect_left(series.times, at)


def _propose_ends(n_rows: int) -> str:
    """Name ends that fit, in proportion to those of the field."""
    if n_rows < 3:
        return "take 3 rows or more"
    return f"choose, for instance, ends={(3 * n_rows // 5, 4 * n_rows // 5, n_rows)}"
