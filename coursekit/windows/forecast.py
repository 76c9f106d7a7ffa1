"""Cut a series into windows: a past to read and a horizon to forecast; and scale it honestly."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Float64, Int
from torch import Generator, Tensor

from coursekit.windows.ends import End, find_rows
from coursekit.windows.series import TimeSeries

Past = Float[Tensor, "B L C"]
"""The L steps that are read, the target in column 0."""

Known = Float[Tensor, "B P C"]
"""The P steps to come: the columns known in advance as they will be, zeros in the others."""

Marks = Int[Tensor, "B L+P 3"]
"""Hour, weekday and month of all these steps."""

Forecast = Float[Tensor, "B P"]
"""One number of the target for each step to come."""

ForecastInputs = tuple[Float[Tensor, "B L C"], Float[Tensor, "B P C"], Int[Tensor, "B N 3"]]
"""`Past`, `Known` and `Marks`, of N = L + P steps."""


@runtime_checkable
class Forecaster(Protocol):
    """Forecasts the target from the past, from what is known in advance, and from the calendar.

    A function will do, or a module. One that reads columns known in advance names them in an
    attribute `known`, a tuple of their numbers; what scores or wraps it takes them from there.
    """

    def __call__(self, past: Past, known: Known, marks: Marks) -> Forecast:
        """Return the forecast of column 0 for the steps of `known`."""


def refuse_other_columns(forecaster: Forecaster, known: Sequence[int]) -> None:
    """Refuse a forecaster that was made for other columns known in advance than windows show.

    One without an attribute `known` reads none of them, and may be given any.
    """
    reads = getattr(forecaster, "known", None)
    if reads is not None and set(reads) != set(known):
        raise ValueError(
            f"the forecaster reads the columns {tuple(reads)} as known in advance, the windows "
            f"show {tuple(known)}: give both the same ones"
        )


@dataclass(frozen=True, eq=False)
class Scaler:
    """Bring each column to mean 0 and standard deviation 1 over the rows that were seen.

    A column that never changed there is only shifted: its `std` is 1.

    Attributes:
        n_rows: how many rows it saw; they are the first ones of their series.
    """

    mean: Float64[Tensor, "C"]
    std: Float64[Tensor, "C"]
    n_rows: int

    @classmethod
    def fit(cls, values: Float64[Tensor, "T C"]) -> "Scaler":
        """Measure mean and standard deviation, √(1/T Σ (x - mean)²), of the rows."""
        changed = (values != values[:1]).any(0)  # rounding gives a constant a std of about 1e-17
        std = values.std(0, correction=0).where(changed, 1.0)
        return cls(values.mean(0), std, len(values))

    def scale(self, values: Float64[Tensor, "T C"]) -> Float64[Tensor, "T C"]:
        """Return the values in standard deviations from the mean."""
        return (values - self.mean) / self.std

    def unscale(self, x: Float[Tensor, "*N"], column: int = 0) -> Float[Tensor, "*N"]:
        """Return scaled values of one column, the target unless told otherwise, in their unit."""
        return x * self.std[column].item() + self.mean[column].item()


@dataclass(frozen=True, kw_only=True, eq=False)
class ForecastWindows:
    """Windows over a series: every one whose targets lie in rows `start` to `stop` - 1.

    The past may reach back before `start`, never before the first row. Only the series is kept,
    a window is cut when it is asked for.

    Attributes:
        values: the scaled series, the target in column 0.
        calendar: hour, weekday and month of each row.
        past: steps L that are read.
        horizon: steps P that are to be forecast.
        known: columns of which the P steps to come are shown; never 0.

    Raises:
        ValueError: if not even one window fits, or the target is said to be known.
    """

    values: Float[Tensor, "T C"]
    calendar: Int[Tensor, "T 3"]
    past: int
    horizon: int
    start: int
    stop: int
    known: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if min(self.past, self.horizon) < 1 or not 0 <= self.start < self.stop <= len(self.values):
            raise ValueError(
                f"past {self.past} and horizon {self.horizon} must be at least 1, and target rows "
                f"{self.start} to {self.stop} must lie in the {len(self.values)} there are"
            )
        if self.first + self.horizon > self.stop:
            raise ValueError(
                f"no window fits: target rows {self.start} to {self.stop} with past {self.past} "
                f"and horizon {self.horizon}: {self._say_what_fits()}"
            )
        if not set(self.known) <= set(range(1, self.values.shape[1])):
            raise ValueError(
                f"known={self.known} must be columns from 1, 0 being the target, to "
                f"{self.values.shape[1] - 1}"
            )

    def _say_what_fits(self) -> str:
        """List what to change for one window, each enough alone."""
        ways = [f"end the rows at {self.first + self.horizon} or later"]
        if self.first < self.stop:
            ways.insert(0, f"choose horizon at most {self.stop - self.first}")
        if max(self.start, 1) + self.horizon <= self.stop:
            ways.insert(0, f"choose past at most {self.stop - self.horizon}")
        return ", or ".join(ways)

    def __len__(self) -> int:
        return self.stop - self.horizon + 1 - self.first

    @property
    def sizes(self) -> dict[str, Any]:
        """What a model of these windows must know of them, as `InformerConfig` calls it."""
        columns = {"n_channel": self.values.shape[1], "known": self.known}
        return columns | {"context": self.past, "horizon": self.horizon}

    @property
    def first(self) -> int:
        """The row of the first window's first target."""
        return max(self.start, self.past)

    def take(self, rows: Int[Tensor, "B"]) -> tuple[ForecastInputs, Float[Tensor, "B P"]]:
        """Cut the windows with these numbers, 0 being the first: inputs and targets.

        Of the steps to come the inputs hold the known columns and zeros, and the calendar.

        Raises:
            ValueError: if there is no window of that number.
        """
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise ValueError(
                f"windows {rows.min()} to {rows.max()} must be between 0 and {len(self) - 1}"
            )
        offsets = torch.arange(self.first - self.past, self.first + self.horizon)
        steps = (rows.cpu()[:, None] + offsets).to(self.values.device)
        past, future = self.values[steps].split([self.past, self.horizon], 1)
        known, shown = torch.zeros_like(future), list(self.known)
        known[..., shown] = future[..., shown]
        return (past, known, self.calendar[steps]), future[..., 0]

    def batches(self, size: int) -> Iterator[tuple[ForecastInputs, Float[Tensor, "B P"]]]:
        """Yield every window once, in order, `size` at a time; the last batch may be smaller."""
        if size < 1:
            raise ValueError(f"{size=} must be at least 1")
        for rows in torch.arange(len(self)).split(size):
            yield self.take(rows)

    def to(self, device: torch.device | str) -> "ForecastWindows":
        """Return the same windows, cut on a device."""
        values, calendar = self.values.to(device), self.calendar.to(device)
        return replace(self, values=values, calendar=calendar)


@dataclass(frozen=True, eq=False)
class Splits:
    """Windows to learn from, to choose by and to judge by; the scaler of the first; the series."""

    train: ForecastWindows
    valid: ForecastWindows
    test: ForecastWindows
    scaler: Scaler
    series: TimeSeries


def split_windows(
    series: TimeSeries,
    past: int,
    horizon: int,
    ends: Sequence[End] = (8640, 11520, 14400),
) -> Splits:
    """Cut a series in time: training targets before row ends[0], then validation, then test.

    The scaler sees rows before ends[0] alone. No two parts share a target; the past of a window
    may reach back into the part before.

    Args:
        ends: three rows, or fractions of all rows as in (0.6, 0.8, 1.0), or dates, each the first
            one after its part. The default is that of Zhou et al. 2021 for hourly series: 12, 4
            and 4 months of 30 days.

    Raises:
        ValueError: if the ends do not increase, pass the end of the series, or leave a part
            without a window.
    """
    rows = find_rows(series, ends)
    scaler = Scaler.fit(series.values[: rows[0]])
    cut = partial(
        ForecastWindows,
        values=scaler.scale(series.values).float(),
        calendar=series.calendar(),
        known=tuple(series.columns.index(column) for column in series.known),
        past=past,
        horizon=horizon,
    )
    train, valid, test = (
        cut(start=start, stop=stop) for start, stop in zip((0, *rows), rows, strict=False)
    )
    return Splits(train, valid, test, scaler, series)


@runtime_checkable
class Windows(Protocol):
    """Windows of one series, or of several."""

    def __len__(self) -> int:
        """How many there are."""

    def take(self, rows: Int[Tensor, "B"]) -> tuple[ForecastInputs, Float[Tensor, "B P"]]:
        """Cut the windows with these numbers, 0 being the first."""


def draw_forecasts(
    windows: Windows, batch_size: int, generator: Generator
) -> Iterator[tuple[ForecastInputs, Float[Tensor, "B P"]]]:
    """Yield batches of windows without end, each window once before any comes again.

    The windows that are left at the end of a round, fewer than a batch, are skipped in it.

    Raises:
        ValueError: if there are fewer windows than a batch.
    """
    if not 1 <= batch_size <= len(windows):
        raise ValueError(f"{batch_size=} must be between 1 and the {len(windows)} windows")
    while True:
        shuffled = torch.randperm(len(windows), generator=generator)
        for rows in shuffled.split(batch_size)[: len(windows) // batch_size]:
            yield windows.take(rows)


def shift_levels(
    batches: Iterable[tuple[ForecastInputs, Float[Tensor, "B P"]]],
    size: float,
    generator: Generator,
) -> Iterator[tuple[ForecastInputs, Float[Tensor, "B P"]]]:
    """Yield the batches, the target of each window moved by a random amount, past and future alike.

    The amounts are normal with standard deviation `size`. What is learnt from these windows holds
    at levels that the training rows never had. Other columns stay as they are.
    """
    for (past, known, marks), target in batches:
        level = (size * torch.randn(len(past), 1, generator=generator)).to(past.device)
        past = torch.cat([past[..., :1] + level[..., None], past[..., 1:]], -1)
        yield (past, known, marks), target + level
