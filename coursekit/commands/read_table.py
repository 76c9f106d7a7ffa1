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


OFFSET = r"\d(?:Z|[+-]\d\d:?\d\d)$"


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
        named = ", ".join(map(str, others))
        print(f"columns that are not read: {named} (one that is known in advance is by --known)")
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
        text = _for_the_command_line(file, problem, options)
        raise ValueError(f"{file}: {text}") from None


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
    except (FileNotFoundError, IsADirectoryError):
        raise ValueError(
            f"there is no file {file}: name the table, and the folder it is in"
        ) from None
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
    if options.time in frame.columns:
        _refuse_several(file, frame, options)
        if options.zone:
            frame[options.time] = _bring_all_to_zone(file, frame, options)
    return frame


def _refuse_several(file: Path, frame: "pandas.DataFrame", options: TableOptions) -> None:
    """Refuse rows of several series if none of the options, but a column, tells them apart."""
    others = [name for name in frame.columns if name not in options.columns]
    if options.by or 2 * frame.duplicated(options.time, keep=False).sum() <= len(frame):
        return
    for name in others:
        is_few = 2 * frame[name].nunique() <= len(frame)
        if is_few and not frame.duplicated([options.time, name]).any():
            raise ValueError(
                f"{file} has several rows of one time, each with its own {name!r}: if that column "
                f"says of which series a row is, add --id {name}"
            )


def _bring_all_to_zone(
    file: Path, frame: "pandas.DataFrame", options: TableOptions
) -> "pandas.Series":
    """Return the times by the clocks of the zone, those of each series by themselves.

    Which of the two hours of one name a row is of is told by the rows around it.
    """
    import pandas as pd

    parts = [frame]
    if options.by in frame.columns:
        parts = [rows for _, rows in frame.groupby(options.by, dropna=False)]
    brought = [_bring_to_zone(file, rows[options.time], options.zone) for rows in parts]
    return pd.concat(brought).sort_index()


def _bring_to_zone(file: Path, column: "pandas.Series", zone: str) -> "pandas.Series":
    """Return the times by the clocks of a zone, whether they are written with an offset or not."""
    import pandas as pd

    try:
        if column.astype("str").str.contains(OFFSET).all():
            times = pd.to_datetime(column, format="ISO8601", utc=True)
            return times.dt.tz_convert(zone)
        return parse_times(column).dt.tz_localize(zone, ambiguous="infer")
    except Exception as problem:  # zones that are not there and hours that are none: many kinds
        raise ValueError(
            f"{file}: column {column.name!r} can't be read by the clocks of --zone {zone} "
            f"({problem}): correct these times, or name their zone as in --zone Europe/Berlin"
        ) from None


def _for_the_command_line(file: Path, problem: ValueError, options: TableOptions) -> str:
    """Say what was said to who calls a function to who gives options."""
    text = str(problem).replace("pass even=False", "add --uneven")
    text = re.sub(r"name the zone by `[^`]*tz_localize\('([^']+)'[^`]*`", r"add --zone \1", text)
    if not options.by and _is_row_a_line(file, options):
        text = re.sub(r"\brow (\d+)\b", lambda row: f"{row[0]} (line {int(row[1]) + 2})", text)
    return text + (_say_how_to_mend(file, options) if "`" in text else "")


def _is_row_a_line(file: Path, options: TableOptions) -> bool:
    """Tell whether a row is the line of that number, no line being empty and no cell of several."""
    import pandas as pd

    return len(file.read_bytes().splitlines()) == len(pd.read_csv(file, sep=options.separator)) + 1


def _say_how_to_mend(file: Path, options: TableOptions) -> str:
    """Return what is to be done before and after the code between backquotes."""
    import pandas as pd

    if options.by:
        return (
            f" (frame is the rows of that {options.by} alone, without the column {options.by!r}, "
            "as pandas reads them: mend them there, or in the file)"
        )
    separator = "" if options.separator == "," else f", sep={options.separator!r}"
    before = f"import pandas as pd; frame = pd.read_csv({str(file)!r}{separator})"
    if options.zone:
        column = pd.read_csv(file, sep=options.separator)[options.time]
        times = f"frame[{options.time!r}]"
        if column.astype("str").str.contains(OFFSET).all():
            read = f"pd.to_datetime({times}, format='ISO8601', utc=True)"
            before += f"; {times} = {read}.dt.tz_convert({options.zone!r})"
        else:
            read = f"pd.to_datetime({times}, format='ISO8601')"
            before += f"; {times} = {read}.dt.tz_localize({options.zone!r}, ambiguous='infer')"
    mended = str(file.with_name(f"{file.stem}-mended{file.suffix}"))
    after = f"frame.to_csv({mended!r}{separator}, index=False)"
    return f" (in Python, after `{before}` and before `{after}`; or mend the file by hand)"
