"""Several related series that share one model: each with its own scale, no window across two."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from coursekit.windows.forecast import ForecastInputs, ForecastWindows
from coursekit.windows.series import TimeSeries, from_frame

if TYPE_CHECKING:
    import pandas  # noqa: ICN001 (annotations name it in full)


def read_related(frame: "pandas.DataFrame", *, by: str, **options: Any) -> dict[str, TimeSeries]:
    """Turn a table of several series into those series, by name.

    The rows of a series need not stand together. Each is read by `from_frame`, and its own scaler
    comes from `split_windows`.

    Args:
        by: the column that says of which series a row is, such as a shop.
        options: what `from_frame` takes, the same for all: `time`, `target`, …

    Raises:
        ValueError: if a row has no series, or one of them can't be read, with its name.
    """
    if by not in frame.columns:
        raise ValueError(f"there is no column {by!r}, only {[*frame.columns]}: name one of those")
    if by in (options.get("time"), options.get("target"), *options.get("known", ())):
        raise ValueError(f"{by!r} names the series: it can't be a time, a target or known, too")
    if frame[by].isna().any():
        row = int(frame[by].isna().to_numpy().argmax())
        raise ValueError(
            f"column {by!r} is empty in row {row}: name its series, or leave such rows out by "
            f"`frame = frame[frame[{by!r}].notna()]`"
        )
    found = {}
    for name, rows in frame.groupby(by, sort=False):
        own = rows.drop(columns=by).reset_index(drop=True)
        try:
            found[str(name)] = from_frame(own, **options | {"name": str(name)})
        except ValueError as problem:
            raise ValueError(f"{by} {name!r}, rows counted in it alone: {problem}") from None
    return found


@dataclass(frozen=True, eq=False)
class JoinedWindows:
    """The windows of several series as one supply: to train from, by `draw_forecasts`.

    Attributes:
        parts: the windows of each series, in its own scale.

    Raises:
        ValueError: if there is none, or they differ in past, horizon or columns.
    """

    parts: Sequence[ForecastWindows]

    def __post_init__(self) -> None:
        sizes = [part.sizes for part in self.parts]
        if not sizes or any(one != sizes[0] for one in sizes):
            raise ValueError(
                f"windows of {len(sizes)} series with the sizes {sizes}: give some, all with the "
                "same past, horizon and columns"
            )

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def sizes(self) -> dict[str, Any]:
        """What a model of these windows must know of them."""
        return self.parts[0].sizes

    @property
    def known(self) -> tuple[int, ...]:
        """The columns of which the steps to come are shown."""
        return self.parts[0].known

    def take(self, rows: Int[Tensor, "B"]) -> tuple[ForecastInputs, Float[Tensor, "B P"]]:
        """Cut the windows with these numbers, in their order: the first series' come first.

        Raises:
            ValueError: if there is no window of that number.
        """
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise ValueError(
                f"windows {rows.min()} to {rows.max()} must be between 0 and {len(self) - 1}"
            )
        begins = torch.tensor([0, *map(len, self.parts)]).cumsum(0)
        series = torch.bucketize(rows, begins[1:], right=True)
        taken = [part.take(rows[series == i] - begins[i]) for i, part in enumerate(self.parts)]
        back = series.argsort(stable=True).argsort()
        inputs = [
            torch.cat(same)[back] for same in zip(*(given for given, _ in taken), strict=True)
        ]
        past, known, marks = inputs
        return (past, known, marks), torch.cat([target for _, target in taken])[back]
