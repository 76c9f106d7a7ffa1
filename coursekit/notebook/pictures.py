"""Pictures that several lessons draw: the inside of a network, and lines with their names."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import matplotlib as mpl
import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from coursekit.forecasting.ahead import AheadForecast
from coursekit.inside.diagnose import Snapshot, log_ratio
from coursekit.notebook.percent import name_cells
from coursekit.windows.series import TimeSeries

FIVE = (
    "outputs",
    "log₁₀ |gradient|\nat the outputs",
    "log₁₀ (gradient\n/ weights)",
    "log₁₀ (update\n/ weights)",
    "loss (nats),\nmean of 20",
)
"""What `start_pictures` (three) and `step_pictures` (two) draw, in their order."""


def start_pictures(
    axes: Iterable[Axes], snapshot: Snapshot, *, names: str = "", rows: int = 6
) -> None:
    """Draw what the first three of `FIVE` name, on fixed axes, so that networks can be compared.

    Outputs and gradients are drawn as one ridge a layer, the first layer on top, dark to light.

    Args:
        axes: three of them.
        snapshot: taken before training.
        names: where `FIVE` is written: "above" each picture, "left" of it, or nowhere.
        rows: layers that get a ridge, evenly spaced from the first to the last.
    """
    axes, n_layer = list(axes), len(snapshot.outputs)
    shown = np.unique(np.linspace(0, n_layer - 1, rows).round().astype(int))
    outputs, gradients = list(snapshot.outputs.values()), list(snapshot.gradients.values())
    ridges(axes[0], [outputs[k].flatten().numpy() for k in shown], np.linspace(-1, 1, 41))
    sizes = [gradients[k].flatten().abs().clamp(min=1e-30).log10().numpy() for k in shown]
    ridges(axes[1], sizes, np.linspace(-12, 0, 49))
    for ax in axes[:2]:
        ax.set_yticks(-np.arange(len(shown)), [f"layer {k + 1}" for k in shown], fontsize=8)
    grads = snapshot.weight_gradients
    heights = [log_ratio(grads[name], weights) for name, weights in snapshot.weights.items()]
    axes[2].plot(heights, ".-", linewidth=1)
    axes[2].set(ylim=(-8, 1.5), xticks=[])
    axes[2].set_xlabel("embedding → last layer", fontsize=9)
    _name_pictures(axes, FIVE[:3], names)


def step_pictures(
    axes: Iterable[Axes],
    updates: Mapping[str, Sequence[float]],
    losses: Sequence[float],
    *,
    names: str = "",
) -> None:
    """Draw what the last two of `FIVE` name, on fixed axes.

    Args:
        axes: two of them.
        updates: for each weight tensor log₁₀(update : weights) of each step, as `UpdateLog` has it;
            the first (an embedding) and the last layer are left out.
        losses: one a step.
        names: where `FIVE` is written: "above" each picture, "left" of it, or nowhere.
    """
    sizes, curve = axes
    inner = list(updates.values())[1:-1]
    for color, ratios in zip(_shades(len(inner)), inner, strict=True):
        sizes.plot(ratios, color=color, linewidth=0.7)
    sizes.axhline(-3, color="black", linestyle=":", linewidth=1.2)
    sizes.set(ylim=(-8, 0.5), yticks=[-6, -3, 0])
    span = min(20, len(losses))
    curve.plot(np.convolve(losses, np.ones(span) / span, mode="valid"), color="C3")
    curve.set(ylim=(2.3, 3.5))
    for ax in (sizes, curve):
        ax.set_xlabel("step", fontsize=9)
    _name_pictures((sizes, curve), FIVE[3:], names)


def _name_pictures(axes: Iterable[Axes], texts: Iterable[str], where: str) -> None:
    for ax, text in zip(axes, texts, strict=True):
        if where == "above":
            ax.set_title(text, fontsize=10)
        elif where == "left":
            ax.set_ylabel(text)


def ridges(ax: Axes, layers: Sequence[ArrayLike], edges: ArrayLike) -> Axes:
    """Draw one histogram for each layer, the first on top, each a row lower than the last.

    All are drawn to the same height; numbers beyond the edges count in the outermost bins.
    """
    edges = np.asarray(edges)
    for k, (color, values) in enumerate(zip(_shades(len(layers)), layers, strict=True)):
        counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
        tops = 0.9 * counts / counts.max() - k
        ax.stairs(tops, edges, baseline=-k, fill=True, color=color)
    ax.set(xlim=(edges[0], edges[-1]), ylim=(-len(layers) + 0.9, 1))
    ax.grid(visible=False)
    return ax


def name_lines(ax: Axes, gap: float = 0.07) -> Axes:
    """Write the label of each line where it ends, in its colour: a legend that needs no search.

    Call it when the limits of the axes are set. Names that would touch are moved apart.

    Args:
        gap: least distance of two names, as a fraction of the axes' height.
    """
    named = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    ends = sorted(((*_last_seen(ax, line), line) for line in named), key=lambda end: end[1])
    above = -np.inf
    for x, y, line in ends:
        above = max(min(max(y, gap / 2), 1 - gap / 2), above + gap)
        label = ax.text(x + 0.015, above, str(line.get_label()), transform=ax.transAxes)
        label.set(color=line.get_color(), verticalalignment="center")
    return ax


def _last_seen(ax: Axes, line: Line2D) -> tuple[float, float]:
    """Return the last point of a line inside the axes, as fractions of their width and height."""
    points = np.column_stack([line.get_xdata(), line.get_ydata()])
    spots = (ax.transScale + ax.transLimits).transform(points)
    inside = spots[((spots >= -1e-9) & (spots <= 1 + 1e-9)).all(1)]
    x, y = inside[-1] if len(inside) else spots[-1].clip(0, 1)
    return float(x), float(y)


def tile_images(
    images: ArrayLike, columns: int = 10, shape: tuple[int, int] = (8, 8)
) -> np.ndarray:
    """Put images side by side, `columns` in a row, with a grey frame: one array for `imshow`.

    Args:
        images: one a row, its pixels from the top left; ink is 1.
        shape: rows and columns of an image.

    Example:
        >>> tile_images([[1, 0, 0, 1]], shape=(2, 2))
        array([[0.5, 0.5, 0.5, 0.5],
               [0.5, 1. , 0. , 0.5],
               [0.5, 0. , 1. , 0.5],
               [0.5, 0.5, 0.5, 0.5]])
    """
    squares = np.asarray(images, dtype=float).reshape(-1, *shape)
    framed = [np.pad(one, (0, 1), constant_values=0.5) for one in squares]
    blank = np.full_like(framed[0], 0.5)
    lines = []
    for start in range(0, len(framed), columns):
        line = framed[start : start + columns]
        lines.append(np.hstack(line + [blank] * (min(columns, len(framed)) - len(line))))
    return np.pad(np.vstack(lines), ((1, 0), (1, 0)), constant_values=0.5)


def draw_images(
    ax: Axes, images: ArrayLike, columns: int = 10, shape: tuple[int, int] = (8, 8)
) -> Axes:
    """Draw images side by side, ink black (see `tile_images`)."""
    ax.imshow(tile_images(images, columns, shape), cmap="gray_r", vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)
    return ax


def draw_numbers(
    ax: Axes,
    matrix: ArrayLike,
    rows: Sequence[object] | None = None,
    columns: Sequence[object] | None = None,
) -> Axes:
    """Draw a small matrix of whole numbers: each that is not 0 written in its cell, on blue.

    Args:
        rows, columns: what they are called; by default they are counted from 0.
    """
    values = np.asarray(matrix)
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1.6 * max(values.max(), 2))
    for row, column in np.argwhere(values):
        ax.text(column, row, f"{values[row, column]:.0f}", ha="center", va="center")
    name_cells(ax, values.shape, rows, columns)
    return ax


def draw_reached(ax: Axes, reached: ArrayLike, row: int, column: int) -> Axes:
    """Draw which pixels before one of an image, row by row, are read when it is predicted.

    Those that are read are blue; a red cross is on those that come before and are not, and an
    orange one on whatever comes later and is read all the same.

    Args:
        reached: rows of columns, true where the pixel is read.
        row, column: of the pixel that is predicted.
    """
    seen = np.asarray(reached, dtype=bool)
    earlier = (np.arange(seen.size) < row * seen.shape[1] + column).reshape(seen.shape)
    ax.imshow(0.12 * earlier + 0.38 * seen, cmap="Blues", vmin=0, vmax=1)
    for color, missed in (("C3", earlier & ~seen), ("C1", seen & ~earlier)):
        for y, x in np.argwhere(missed):
            ax.text(x, y, "×", ha="center", va="center", color=color, weight="bold", size=14)
    ax.plot(column, row, "ks", markersize=10)
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)
    return ax


def draw_ahead(
    ahead: AheadForecast,
    series: TimeSeries,
    *,
    rows: int | None = None,
    band: str = "its band",
    ax: Axes | None = None,
) -> Axes:
    """Draw the end of a series, the forecast of what follows, and its band, in the unit.

    Times of a zone stand as its clocks show them.

    Args:
        rows: of the series; by default four times as many as are forecast.
        band: what it is called, as "80% band".
    """
    ax = ax or plt.gca()
    rows = min(len(series), rows or 4 * len(ahead.times))
    past, last = series.times[-rows:], series.values[-1:, 0]
    ax.plot(_clocks(past), series.values[-rows:, 0], color="black", lw=1.2, label=series.columns[0])
    later, values = _clocks([past[-1], *ahead.times]), torch.cat([last, ahead.values])
    ax.plot(later, values, color="C0", label="forecast")
    if ahead.margin is not None:
        margin = torch.cat([torch.zeros_like(last), ahead.margin])
        ends = values - margin, values + margin
        ax.fill_between(later, *ends, color="C0", alpha=0.2, lw=0, label=band)
    ax.set_ylabel(ahead.unit or ahead.target)
    dates = mdates.AutoDateLocator()
    ax.xaxis.set_major_locator(dates)
    ax.xaxis.set_major_formatter(mdates.ConciseDateFormatter(dates))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False)
    return ax


def _clocks(times: Iterable[datetime]) -> np.ndarray:
    return mdates.date2num([at.replace(tzinfo=None) for at in times])


def _shades(n: int) -> np.ndarray:
    return mpl.colormaps["viridis"](np.linspace(0.05, 0.85, n))


def attention_lines(
    ax: Axes, readers: Sequence[str], read: Sequence[str], weights: ArrayLike, color: str = "C0"
) -> Axes:
    """Draw two columns of tokens, and a line for each attention weight, as wide as it is large.

    Vig 2019, figure 1, as a still.

    Args:
        readers: the tokens on the left, which ask.
        read: the tokens on the right.
        weights: of each reader (a row) for each token read (a column), from 0 to 1.
        color: of the lines.

    Raises:
        ValueError: if there is not one weight for each pair.
    """
    weights = np.asarray(weights)
    if weights.shape != (len(readers), len(read)):
        raise ValueError(
            f"weights of shape {weights.shape} for {len(readers)} readers and {len(read)} tokens: "
            "give a row for each reader and a column for each token read"
        )
    for row, column in np.argwhere(weights > 0.01):
        weight = float(weights[row, column])
        ax.plot([0, 1], [-row, -column], color=color, linewidth=7 * weight, alpha=0.75)
    for x, tokens, side in ((-0.05, readers, "right"), (1.05, read, "left")):
        for k, token in enumerate(tokens):
            ax.text(x, -k, token, ha=side, va="center", fontsize=10)
    rows = max(len(readers), len(read))
    ax.set(xlim=(-0.8, 1.8), ylim=(-rows + 0.4, 0.6))
    ax.axis("off")
    return ax
