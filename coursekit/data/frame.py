"""A series of numbers with its calendar, and the way in for a table of your own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from statistics import mode
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float64, Int
from torch import Tensor

if TYPE_CHECKING:
    import pandas  # noqa: ICN001 (annotations name it in full)


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeSeries:
    """Numbers at known times, one row a step; the first column is what is to be forecast.

    Attributes:
        times: when each row was measured, each later than the one before.
        columns: a name for each column of `values`, the target first.
        known: columns whose future is known in advance, such as holidays; never the target.
        unit: of the target, such as "°C".

    Raises:
        ValueError: if the parts do not fit together, or a number is missing.
    """

    name: str
    times: Sequence[datetime]
    values: Float64[Tensor, "T C"]
    columns: tuple[str, ...]
    known: tuple[str, ...] = ()
    unit: str = ""

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.times), len(self.columns)) or not self.values.numel():
            raise ValueError(
                f"{self.name}: {len(self.times)} times and {len(self.columns)} columns do not fit "
                f"values of shape {tuple(self.values.shape)}: give a time a row, a name a column"
            )
        if len(set(self.columns)) < len(self.columns) or set(self.known) - set(self.columns[1:]):
            raise ValueError(
                f"{self.name}: each of {self.columns} needs a name of its own, and known columns "
                f"{self.known} must be among those after the target {self.columns[0]!r}"
            )
        if not self.values.isfinite().all():
            raise ValueError(f"{self.name}: values are missing or infinite: fill or cut them first")
        if any(later <= earlier for earlier, later in pairwise(self.times)):
            raise ValueError(f"{self.name}: times must increase: sort the rows, drop repeated ones")

    def __len__(self) -> int:
        return len(self.times)

    @property
    def step(self) -> timedelta | None:
        """The time from each row to the next; None if that is not always the same."""
        steps = {later - earlier for earlier, later in pairwise(self.times)}
        return steps.pop() if len(steps) == 1 else None

    def calendar(self) -> Int[Tensor, "T 3"]:
        """Return the hour 0–23, the weekday 0–6 (Monday is 0) and the month 0–11 of each row."""
        return torch.tensor([[t.hour, t.weekday(), t.month - 1] for t in self.times])

    def only(self, *columns: str) -> "TimeSeries":
        """Return the series with these columns alone; the first becomes the target.

        The unit is kept only if the target is.

        Raises:
            ValueError: if there is no such column, or the first is known in advance.
        """
        missing = [column for column in columns if column not in self.columns]
        if missing or not columns:
            raise ValueError(f"{self.name} has no {missing}: take one or more of {self.columns}")
        values = self.values[:, [self.columns.index(column) for column in columns]]
        known = tuple(column for column in self.known if column in columns)
        unit = self.unit if columns[0] == self.columns[0] else ""  # it is the first column's
        return replace(self, values=values, columns=columns, known=known, unit=unit)


def from_frame(
    frame: "pandas.DataFrame",
    *,
    time: str,
    target: str,
    known: Sequence[str] = (),
    unit: str = "",
    name: str = "your series",
    even: bool = True,
) -> TimeSeries:
    """Turn a table with a column of times into a series: the target first, then the others.

    Nothing is repaired in silence: whoever fills a gap or drops a row should know that.

    Args:
        time: the column of times: dates, or text as in "2024-05-17 13:00" (ISO 8601).
        known: columns whose future is known in advance, such as holidays.
        even: whether steps must be equally long. False admits trading days and months; a
            "step" is then one row, however much time it takes.

    Raises:
        ValueError: if the table can't be a series, with what is wrong, where, and a remedy.
    """
    if isinstance(known, str):
        raise ValueError(f"{known=} is one text: pass a list of names, as in [{known!r}]")
    _refuse_names(frame, (time, target, *known))
    times = _read_times(frame[time], time)
    _refuse_steps(times, time, even)
    columns = [target, *(name for name in frame.columns if name not in (time, target))]
    for column in columns:
        _refuse_numbers(frame[column], times)
    if frame[target].nunique() == 1:
        raise ValueError(
            f"target {target!r} is {frame[target].iloc[0]} in every row: there is nothing to "
            "forecast, so choose another target"
        )
    values = torch.tensor(frame[columns].to_numpy("float64"))
    return TimeSeries(
        name=name,
        times=times,
        values=values,
        columns=tuple(columns),
        known=tuple(known),
        unit=unit,
    )


def _refuse_names(frame: "pandas.DataFrame", names: Sequence[str]) -> None:
    """Refuse a table that lacks a column of these names, or has two of one name."""
    if not frame.columns.is_unique:
        raise ValueError(f"columns {[*frame.columns]} repeat a name: rename one of them")
    for name in names:
        if name not in frame.columns:
            raise ValueError(
                f"there is no column {name!r}, only {[*frame.columns]}: name one of those "
                "(a table's index becomes a column by frame.reset_index())"
            )


def _read_times(column: "pandas.Series", name: str) -> list[datetime]:
    """Read dates and ISO 8601 text; refuse what would have to be guessed."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column):
        raise ValueError(
            f"column {name!r} holds numbers such as {column.iloc[0]}, not times: say what they "
            f"count, as in frame[{name!r}] = pd.to_datetime(frame[{name!r}], unit='s')"
        )
    try:
        times = pd.to_datetime(column, format="ISO8601", errors="coerce")
    except ValueError as problem:  # several time zones in one column
        raise ValueError(
            f"column {name!r} mixes time zones: write "
            f"frame[{name!r}] = pd.to_datetime(frame[{name!r}], utc=True) first"
        ) from problem
    if times.isna().any():
        row = int(times.isna().to_numpy().argmax())
        raise ValueError(
            f"column {name!r} holds {column.iloc[row]!r} in row {row}, which is no time as in "
            f"'2024-05-17 13:00': write frame[{name!r}] = pd.to_datetime(frame[{name!r}], "
            "format='%d/%m/%Y'), or whatever its format is, first"
        )
    times = [stamp.to_pydatetime() for stamp in times]
    # Python subtracts times of one zone as if its clocks never changed, unless offsets are fixed.
    return [at.astimezone(timezone(at.utcoffset())) if at.tzinfo else at for at in times]


def _refuse_steps(times: list[datetime], name: str, even: bool) -> None:
    """Refuse times that do not increase and, if steps must be even, those that are not."""
    if len(times) < 3:
        raise ValueError(f"{len(times)} rows are too few to tell the step: take 3 or more")
    for row, (earlier, later) in enumerate(pairwise(times)):
        if later < earlier:
            raise ValueError(
                f"row {row + 1} is of {later}, earlier than the row before ({earlier}): make sure "
                f"that the times are right, then sort the rows by frame.sort_values({name!r})"
            )
    for earlier, later in pairwise(times):
        if later == earlier:
            raise ValueError(
                f"two rows are of {later}: keep one, as in frame.drop_duplicates({name!r}); "
                "for an hour that a change of clocks repeats, give times in UTC"
            )
    steps = [later - earlier for earlier, later in pairwise(times)]
    step = mode(steps)
    odd = next((row for row, taken in enumerate(steps) if taken != step), None)
    if not even or odd is None:
        return
    between = f"between {times[odd]} and {times[odd + 1]}"
    if all(taken % step == timedelta(0) for taken in steps):
        missing = steps[odd] // step - 1
        raise ValueError(
            f"{missing} row(s) are missing {between}, the step being {step}: add them by "
            f"frame.set_index({name!r}).resample(...).ffill(), or pass even=False if nothing "
            "happened then, as between trading days"
        )
    raise ValueError(
        f"the step is {steps[odd]} {between} but {step} elsewhere: bring the rows to one step by "
        f"frame.set_index({name!r}).resample(...).mean(), or pass even=False if a row is a step "
        "however long it takes, as with months"
    )


def _refuse_numbers(column: "pandas.Series", times: list[datetime]) -> None:
    """Refuse a column that is not numbers, or in which one is missing or infinite."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column):
        raise ValueError(
            f"column {column.name!r} holds {column.iloc[0]!r}, which is no number: drop the "
            "column, or write it in numbers by pd.to_numeric or pd.get_dummies"
        )
    numbers = torch.tensor(column.to_numpy("float64", na_value=float("nan")))
    bad = (~numbers.isfinite()).nonzero()[:, 0].tolist()
    if bad:
        raise ValueError(
            f"{len(bad)} value(s) of column {column.name!r} are missing or infinite, the first "
            f"at {times[bad[0]]}: fill them by frame.ffill(), which looks only back, or cut the "
            "rows before and after"
        )
