"""A drawing of a computation graph: values, local derivatives, and gradients that have arrived."""

from collections.abc import Collection, Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

Position = tuple[float | int, float | int]
WIDTH, HEIGHT = 0.64, 0.48


def draw_graph(named: Mapping[str, tuple[Any, Position]], arrived: Collection[Any] = ()) -> Axes:
    """Draw each value as a box, and each local derivative on the arrow from input to result.

    A value has `data`, `grad` and `inputs`, pairs of a value and a local derivative. An input that
    is used twice has two arrows.

    Args:
        named: for each name a value and its position, (column, row); row 0 is on top.
        arrived: the values whose gradient is written into their boxes, which are coloured.
    """
    positions = dict(named.values())
    columns, rows = zip(*positions.values(), strict=True)
    span, depth = max(columns), max(rows)
    ax: Axes = plt.subplots(figsize=(1.45 * (span + 0.8), 1.6 * (0.8 * depth + 0.7)))[1]
    for name, (value, (column, row)) in named.items():
        _draw_box(ax, name, value, (column, -0.8 * row), has_gradient=value in arrived)
        sources = [source for source, _ in value.inputs]
        for k, (source, local) in enumerate(value.inputs):
            shift = 0.1 - 0.24 * k if sources.count(source) > 1 else 0.0
            tail, head = ((x, -0.8 * y) for x, y in (positions[source], positions[value]))
            _draw_arrow(ax, tail, head, _write(local), shift)
    ax.set(xlim=(-0.4, span + 0.4), ylim=(-0.8 * depth - 0.3, 0.3))
    ax.axis("off")
    return ax


def _draw_box(ax: Axes, name: str, value: Any, center: Position, *, has_gradient: bool) -> None:
    x, y = center
    color = "#fbdcb4" if has_gradient else "#eef3f8"
    corner = (x - WIDTH / 2, y - HEIGHT / 2)
    ax.add_patch(Rectangle(corner, WIDTH, HEIGHT, facecolor=color, edgecolor="0.6"))
    text = _write(value.data) + (f"\ngrad {_write(value.grad)}" if has_gradient else "")
    ax.text(x, y + 0.13, name, ha="center", va="center", weight="bold", fontsize=11)
    ax.text(x, y + 0.03, text, ha="center", va="top", fontsize=10.5)


def _draw_arrow(ax: Axes, tail: Position, head: Position, label: str, shift: float) -> None:
    """Draw a straight arrow along a row, or along a column, with its label beside it."""
    (x0, y0), (x1, y1) = tail, head
    if y0 == y1:
        gap = WIDTH / 2 + 0.02
        start, end = (x0 + gap, y0 + shift), (x1 - gap, y1 + shift)
        at = (x0 + x1) / 2, y0 + shift + 0.1
    else:
        gap = HEIGHT / 2 + 0.02
        start, end, at = (x0, y0 + gap), (x1, y1 - gap), (x0 + 0.2, (y0 + y1) / 2)
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "0.35"})
    ax.text(*at, label, color="C0", fontsize=10, ha="center", va="center")


def _write(number: float | int) -> str:
    """Write a number with two decimals and a true minus sign."""
    return f"{number:.2f}".replace("-", "−")
