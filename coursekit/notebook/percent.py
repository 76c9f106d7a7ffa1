"""A table of per cent as a picture, red where it is below chance and blue where it is above."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike


def draw_percent(
    ax: Axes,
    table: ArrayLike,
    rows: Sequence[object] | None = None,
    columns: Sequence[object] | None = None,
) -> Axes:
    """Draw a table of per cent, each written in its cell: 0 on red, 50 on white, 100 on blue.

    Args:
        rows, columns: what they are called; by default they are counted from 0.
    """
    values = np.asarray(table)
    ax.imshow(values, cmap="RdBu", vmin=0, vmax=100, aspect="auto")
    for (row, column), one in np.ndenumerate(values):
        color = "white" if abs(one - 50) > 30 else "black"
        ax.text(column, row, f"{one:.0f}", ha="center", va="center", fontsize=8, color=color)
    name_cells(ax, values.shape, rows, columns)
    return ax


def name_cells(
    ax: Axes,
    shape: tuple[int, ...],
    rows: Sequence[object] | None,
    columns: Sequence[object] | None,
) -> None:
    """Write beside the cells of a table what its rows and columns are called, or their numbers."""
    n_rows, n_columns = shape
    ax.set_yticks(range(n_rows), [*map(str, range(n_rows) if rows is None else rows)])
    ax.set_xticks(range(n_columns), [*map(str, range(n_columns) if columns is None else columns)])
    ax.grid(visible=False)
