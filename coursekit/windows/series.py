"""A series of numbers with its calendar, and the way in for a table of your own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from coursekit.windows.table_columns import read_numbers, refuse_kinds, refuse_names
from coursekit.windows.table_steps import refuse_steps
from coursekit.windows.table_times import name_zone, parse_times, to_datetimes

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
        time: a name for what `times` hold.
        zone: where the clocks are that the times were read from, as "Europe/Berlin", if that is
            known: there hours go on evenly when clocks are changed.

    Raises:
        ValueError: if the parts do not fit together, or a number is missing.
    """

    name: str
    times: Sequence[datetime]
    values: Float64[Tensor, "T C"]
    columns: tuple[str, ...]
    known: tuple[str, ...] = ()
    unit: str = ""
    time: str = "time"
    zone: str = ""

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
        return read_calendar(self.times)

    def last(self, n: int) -> "TimeSeries":
        """Return the series without all rows but the last `n`.

        Raises:
            ValueError: if there are not so many.
        """
        if not 1 <= n <= len(self):
            raise ValueError(f"{n} rows of {self.name}: take from 1 to {len(self)}")
        return replace(self, times=self.times[-n:], values=self.values[-n:])

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


def read_calendar(times: Sequence[datetime]) -> Int[Tensor, "T 3"]:
    """Return the hour 0–23, the weekday 0–6 (Monday is 0) and the month 0–11 of each time."""
    fields = [field for t in times for field in (t.hour, t.weekday(), t.month - 1)]
    return torch.tensor(fields).view(-1, 3)  # a list of lists would take three times as long


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
        raise ValueError(f"{known=} is one text: pass a list of names, as in known={[known]}")
    refuse_names(frame, time, target, known)
    if len(frame) < 3:
        raise ValueError(f"{len(frame)} rows are too few to tell the step: take 3 or more")
    times = parse_times(frame[time])
    columns = [target, *(name for name in frame.columns if name not in (time, target))]
    refuse_kinds(frame, columns, target)
    refuse_steps(frame[time], times, even)
    return TimeSeries(
        name=name,
        times=to_datetimes(times),
        values=read_numbers(frame, columns, times),
        columns=tuple(columns),
        known=tuple(known),
        unit=unit,
        time=time,
        zone=name_zone(times),
    )
