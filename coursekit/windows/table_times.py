"""The times of a table: what is plain is read; what would have to be guessed is refused.

A remedy between backquotes is code to run on the table, which it calls `frame`.
"""

import warnings
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Int
from torch import Tensor

if TYPE_CHECKING:
    import pandas  # noqa: ICN001 (annotations name it in full)

DATES = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y"),
    *("%d.%m.%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
AS_ONE_NUMBER = {4: "%Y", 6: "%Y%m", 8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M"}
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
YEAR_SECONDS = 31_536_000


def parse_times(column: "pandas.Series") -> "pandas.Series":
    """Read dates and ISO 8601 text as times of pandas.

    Raises:
        ValueError: if one is missing or no time, with what is wrong, where, and a remedy.
    """
    import pandas as pd

    _refuse_other_kinds(column)
    try:
        with warnings.catch_warnings():  # pandas 2 warns of several zones, pandas 3 refuses them
            warnings.simplefilter("ignore", FutureWarning)
            times = pd.to_datetime(column, format="ISO8601", errors="coerce")
    except ValueError:  # text of several time zones
        times = None
    if times is None or times.dtype.kind != "M" or times.isna().any():
        in_utc = pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True)
        _refuse_unreadable(column, torch.tensor(in_utc.isna().to_numpy()))
        remedy = _convert(column, "format='ISO8601', utc=True")
        raise ValueError(
            f"column {column.name!r} mixes time zones: write `{remedy}`, which takes a time "
            "without a zone for UTC; for local hours, go on with .dt.tz_convert and your zone"
        )
    if pd.api.types.infer_dtype(column) == "string":
        # Pandas reads these two words as the moment at which it reads them.
        _refuse_unreadable(column, torch.tensor(column.isin(["now", "today"]).to_numpy(bool)))
    if (times.dt.nanosecond != 0).any():
        _refuse_nanoseconds(column, times)
    return times


def count_microseconds(times: "pandas.Series") -> Int[Tensor, "T"]:
    """Count the microseconds from 1970 to each time, in UTC if it has a zone."""
    plain = times if times.dt.tz is None else times.dt.tz_convert(None)
    return torch.tensor(plain.to_numpy("datetime64[us]").astype("int64"))


def to_datetimes(times: "pandas.Series") -> list[datetime]:
    """Return the times as Python's own, each with the offset of its zone at that moment.

    Python subtracts times of one zone as if its clocks never changed, unless offsets are fixed.
    """
    import pandas as pd

    stamps = pd.DatetimeIndex(times).to_pydatetime()
    if times.dt.tz is None:
        return stamps.tolist()
    offsets = count_microseconds(times.dt.tz_localize(None)) - count_microseconds(times)
    for offset in offsets.unique().tolist():
        rows = (offsets == offset).numpy()
        fixed = timezone(timedelta(microseconds=offset))
        stamps[rows] = pd.DatetimeIndex(times[rows]).tz_convert(fixed).to_pydatetime()
    return stamps.tolist()


def name_zone(times: "pandas.Series") -> str:
    """Return the zone of the times as "Europe/Berlin", "" if they have none with a name."""
    zone = times.dt.tz
    return getattr(zone, "key", None) or getattr(zone, "zone", None) or ""  # pandas 2 has pytz's


def begin_remedy(column: "pandas.Series", times: "pandas.Series") -> str:
    """Return the code that makes times of the column, "" if it holds such already."""
    return "" if column.dtype == times.dtype else _convert(column, "format='ISO8601'") + "; "


def _convert(column: "pandas.Series", options: str) -> str:
    whole = f"frame[{column.name!r}]"
    return f"{whole} = pd.to_datetime({whole}, {options})"


def _add_a_date(column: "pandas.Series") -> str:
    text = f"'2024-05-17 ' + frame[{column.name!r}].astype('str')"
    return f"put the date before it, as in `frame[{column.name!r}] = {text}`"


def _refuse_other_kinds(column: "pandas.Series") -> None:
    """Refuse numbers, spans, lengths of time, and hours without a date."""
    import pandas as pd

    whole = f"frame[{column.name!r}]"
    some = column.dropna()
    if some.empty:
        raise ValueError(f"column {column.name!r} holds no time at all: name another as time")
    holds = f"column {column.name!r} holds {some.iloc[0]!r}"
    kind = pd.api.types.infer_dtype(some)
    if pd.api.types.is_numeric_dtype(column) or kind in ("integer", "floating", "boolean"):
        _refuse_numbers(column)
    if isinstance(column.dtype, pd.PeriodDtype):
        raise ValueError(f"{holds}: take its beginning, `{whole} = {whole}.dt.to_timestamp()`")
    if kind in ("timedelta", "timedelta64"):
        raise ValueError(
            f"{holds}, a length of time: add it to the moment it counts from, as in "
            f"`{whole} = pd.Timestamp('2024-05-17') + {whole}`"
        )
    if kind == "time":
        raise ValueError(f"{holds}, a time of day: {_add_a_date(column)}")


def _refuse_numbers(column: "pandas.Series") -> None:
    """Refuse numbers as times, and say how to read them if they look like dates."""
    import pandas as pd

    some = column.dropna()
    holds = f"column {column.name!r} holds numbers such as {some.iloc[0]}, not times"
    if pd.api.types.infer_dtype(some) in ("boolean", "complex"):
        raise ValueError(f"{holds}: name another as time")
    low = float(some.min())
    high = float(some.max())
    form = AS_ONE_NUMBER.get(len(f"{low:.0f}"))
    if form is not None and _spells_dates(some, low, high, form):
        whole = f"frame[{column.name!r}]"
        text = f"{whole}.astype('Int64').astype('string')"
        remedy = f"{whole} = pd.to_datetime({text}, format={form!r})"
        raise ValueError(f"{holds}: if they are dates, write `{remedy}`")
    for unit, per_second in PER_SECOND.items():
        if YEAR_SECONDS * per_second < low <= high < 130 * YEAR_SECONDS * per_second:
            remedy = _convert(column, f"unit={unit!r}")
            raise ValueError(f"{holds}: if they count from 1970, write `{remedy}`")
    remedy = _convert(column, "unit='h', origin='2024-05-17'")
    raise ValueError(f"{holds}: say what they count, and from when, as in `{remedy}`")


def _spells_dates(some: "pandas.Series", low: float, high: float, form: str) -> bool:
    """Tell whether numbers such as 20240517 are dates between 1800 and 2200."""
    import pandas as pd

    years = [int(f"{number:.0f}"[:4]) for number in (low, high)]
    if not 1800 <= years[0] <= years[1] < 2200:
        return False
    if (some.astype("float64") % 1 != 0).any():
        return False
    written = some.astype("Int64").astype("string")
    return bool(pd.to_datetime(written, format=form, errors="coerce").notna().all())


def _refuse_unreadable(column: "pandas.Series", unread: Bool[Tensor, "T"]) -> None:
    """Refuse the first of the times that could not be read, if there are any."""
    import pandas as pd

    if not unread.any():
        return
    row = int(unread.nonzero()[0, 0])
    found = column.iloc[row]
    whole = f"frame[{column.name!r}]"
    holds = (
        f"column {column.name!r} holds {found!r} in row {row}, which is no time as in "
        "'2024-05-17 13:00'"
    )
    if not isinstance(found, str):
        if pd.api.types.is_scalar(found) and pd.isna(found):
            raise ValueError(f"{holds}: leave such rows out by `frame = frame[{whole}.notna()]`")
        raise ValueError(f"{holds}: name another as time")
    if _fitting(found, CLOCKS):
        raise ValueError(f"{holds}: {_add_a_date(column)}")
    ways = _list_ways(column, found)
    if ways:
        which = "write" if len(ways) == 1 else "say which number is the day:"
        raise ValueError(f"{holds}: {which} {' or '.join(ways)}")
    raise ValueError(
        f"{holds}: correct it, leave it out by `frame = frame[{whole} != {found!r}]`, or, if all "
        "are written so, pass their format to pd.to_datetime"
    )


def _list_ways(column: "pandas.Series", found: str) -> list[str]:
    """Return the remedies for text such as `found`: one for each reading that all rows admit."""
    import pandas as pd

    some = column.dropna()
    ways = []
    readings: list[pd.Series] = []
    for form in _fitting(found, [*DATES, *(f"{day} {at}" for day in DATES for at in CLOCKS)]):
        reading = pd.to_datetime(some, format=form, errors="coerce")
        if reading.notna().all() and not any(reading.equals(other) for other in readings):
            remedy = _convert(column, f"format={form!r}")
            ways.append(f"`{remedy}`")
            readings.append(reading)
    return ways


def _fitting(text: str, forms: Sequence[str]) -> list[str]:
    """Return the formats in which the text is a time."""
    fitting = []
    for form in forms:
        try:
            datetime.strptime(text.strip(), form)
        except ValueError:
            continue
        fitting.append(form)
    return fitting


def _refuse_nanoseconds(column: "pandas.Series", times: "pandas.Series") -> None:
    """Refuse times finer than a microsecond, the finest that a series keeps."""
    row = int((times.dt.nanosecond != 0).to_numpy().argmax())
    whole = f"frame[{column.name!r}]"
    begin = begin_remedy(column, times)
    if times.diff().abs().median().total_seconds() < 1e-3:
        start = f"{whole}.iloc[0].floor('s')"
        stretched = f"`{begin}{whole} = {start} + 1000 * ({whole} - {start})`"
        remedy = f"let a nanosecond count as a microsecond by {stretched}"
    else:
        remedy = f"round them by `{begin}{whole} = {whole}.dt.round('us')`"
    raise ValueError(
        f"row {row} is of {times.iloc[row]}, but a series keeps no more than microseconds: {remedy}"
    )
