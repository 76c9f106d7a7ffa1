"""A file of the reader's own as a series: every problem is told with the name of the file."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coursekit.windows.related import read_related
from coursekit.windows.series import TimeSeries, from_frame
from coursekit.windows.table_times import parse_times

if TYPE_CHECKING:
    import pandas  # noqa: ICN001 (annotations name it in full)


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Which columns of a table are read, and how.

    Attributes:
        known: columns that are known in advance.
        by: the column that says of which series a row is; "" if there is only one.
        zone: where the clocks are by which the times were written, as "Europe/Berlin".
        uneven: whether a step is a row however long it takes, as with months and trading days.
        separator: what stands between the cells.
    """

    time: str
    target: str
    known: tuple[str, ...] = ()
    by: str = ""
    unit: str = ""
    zone: str = ""
    uneven: bool = False
    separator: str = ","

    @property
    def columns(self) -> tuple[str, ...]:
        """What is read of a table."""
        return tuple(filter(None, (self.by, self.time, self.target, *self.known)))


def read_series(file: Path, options: TableOptions) -> dict[str, TimeSeries]:
    """Read series of times, a target and what is known in advance; other columns are left out.

    One series is called as the file is, several by what their column says.

    Raises:
        ValueError: if the file is no such table, with its name and a remedy.
    """
    frame = read_rows(file, options)
    others = [name for name in frame.columns if name not in options.columns]
    if not set(options.columns) <= set(frame.columns):
        others = []  # what is there is told to who named what is not
    elif others:
        print(f"columns that are not read: {', '.join(map(str, others))}")
    how: dict[str, Any] = {
        "time": options.time,
        "target": options.target,
        "known": options.known,
        "unit": options.unit,
        "even": not options.uneven,
    }
    frame = frame.drop(columns=others)
    try:
        if options.by:
            return read_related(frame, by=options.by, **how)
        return {file.stem: from_frame(frame, name=file.stem, **how)}
    except ValueError as problem:
        raise ValueError(f"{file}: {_for_the_command_line(problem)}") from None


def read_coming(file: Path, options: TableOptions, only: str = "") -> dict[str, "pandas.DataFrame"]:
    """Read the rows to come of each series: the times, what is known, and the target, empty.

    Args:
        only: the name of the series if there is one alone.

    Raises:
        ValueError: if it is no table, or rows don't say of which series they are.
    """
    frame = read_rows(file, options)
    frame = frame[[name for name in frame.columns if name in options.columns]]
    if not options.by:
        return {only: frame}
    if options.by not in frame.columns:
        raise ValueError(f"{file} has no column {options.by!r}: say of which series each row is")
    return {str(name): rows.drop(columns=options.by) for name, rows in frame.groupby(options.by)}


def read_rows(file: Path, options: TableOptions) -> "pandas.DataFrame":
    """Read a table of text, its times by the clocks of a zone if one is named.

    Raises:
        ValueError: if it is no table, or a time does not exist in that zone.
    """
    import pandas as pd

    try:
        frame = pd.read_csv(file, sep=options.separator)
    except ValueError as problem:  # pandas' own errors are of this kind
        raise ValueError(
            f"{file} is no table of text in UTF-8 with {options.separator!r} between its cells "
            f"({str(problem).strip()}): save it as one, or name another --separator"
        ) from None
    if len(frame.columns) == 1 and options.time not in frame.columns:
        raise ValueError(
            f"{file} has one column, {frame.columns[0]!r}: name what separates its cells, as in "
            "--separator ';'"
        )
    if options.zone and options.time in frame.columns:
        frame[options.time] = _bring_to_zone(file, frame[options.time], options.zone)
    return frame


def _bring_to_zone(file: Path, column: "pandas.Series", zone: str) -> "pandas.Series":
    """Return the times by the clocks of a zone, whether they are written with an offset or not."""
    import pandas as pd

    try:
        if column.astype("str").str.contains(r"\d(?:Z|[+-]\d\d:?\d\d)$").all():
            times = pd.to_datetime(column, format="ISO8601", utc=True)
            return times.dt.tz_convert(zone)
        return parse_times(column).dt.tz_localize(zone, ambiguous="infer")
    except Exception as problem:  # zones that are not there and hours that are none: many kinds
        raise ValueError(
            f"{file}: column {column.name!r} can't be read by the clocks of --zone {zone} "
            f"({problem}): correct these times, or name their zone as in --zone Europe/Berlin"
        ) from None


def _for_the_command_line(problem: ValueError) -> str:
    """Say what was said to who calls a function to who gives options."""
    text = str(problem).replace("pass even=False", "add --uneven")
    text = re.sub(r"name the zone by `[^`]*tz_localize\('([^']+)'[^`]*`", r"add --zone \1", text)
    if "`" in text:
        text += " (frame is the table as pandas reads it: mend it there, or in the file)"
    return text
