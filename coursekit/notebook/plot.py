"""One look for every picture of the course."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

SEQUENTIAL = "viridis"
"""Map for probabilities and counts: legible in grey and to colour-blind eyes."""
DIVERGING = "vlag"
"""Map for signed values, white at zero."""


def use_house_style() -> None:
    """Set fonts, sizes and colours; `setup` calls it."""
    sns.set_theme(
        context="notebook",
        style="whitegrid",
        palette="colorblind",
        rc={
            "figure.figsize": (8, 4),
            "figure.constrained_layout.use": True,
            "figure.dpi": 96,
            "savefig.facecolor": "white",
            "svg.hashsalt": "coursekit",
            "axes.titlesize": 12,
            "axes.labelsize": 11,
            "legend.fontsize": 10,
            "xtick.labelsize": 10,
            "ytick.labelsize": 10,
            "lines.linewidth": 2,
        },
    )
    mpl.rcParams["axes.spines.top"] = mpl.rcParams["axes.spines.right"] = False


def letter_table(
    table: ArrayLike, letters: str, *, label: str, ax: Axes | None = None, **options: object
) -> Axes:
    """Draw a table over letters: row = the letter before, column = the letter after.

    Args:
        table: V rows of V values.
        letters: the V letters, in the order of the rows.
        label: what a value is, with its unit.
        options: passed to seaborn's `heatmap`, such as `norm`, `mask` or `vmax`.
    """
    if "mask" in options:
        options["mask"] = np.asarray(options["mask"])
    settings = {"cmap": SEQUENTIAL, "square": True, "cbar_kws": {"label": label, "shrink": 0.8}}
    ax = sns.heatmap(
        np.asarray(table),
        xticklabels=list(letters),
        yticklabels=list(letters),
        ax=ax,
        **settings | options,
    )
    ax.set(xlabel="next letter", ylabel="previous letter", facecolor="white")
    ax.grid(visible=False)
    ax.tick_params(rotation=0, length=0)
    return ax


def draw_boxes(
    boxes: Mapping[str, tuple[float | int, float | int]],
    arrows: Sequence[tuple[str, str]],
    ax: Axes | None = None,
    *,
    color: str = "#dfe9f3",
) -> Axes:
    """Draw a diagram: named boxes at given positions (column, row), and arrows between them.

    Row 0 is on top. A new line in a name is a new line in its box.

    Raises:
        ValueError: if an arrow names a box that is not there.
    """
    strangers = {name for pair in arrows for name in pair} - set(boxes)
    if strangers:
        raise ValueError(f"arrows lead to {sorted(strangers)}, which are not among the boxes")
    columns, rows = (sorted({position[axis] for position in boxes.values()}) for axis in (0, 1))
    if ax is None:
        height = 1.0 + 0.75 * (rows[-1] - rows[0])
        ax = plt.subplots(figsize=(9, height))[1]
    style = {"boxstyle": "round,pad=0.4", "facecolor": color, "edgecolor": "0.4"}
    drawn = {
        name: ax.text(x, y, name, ha="center", va="center", fontsize=10, bbox=style)
        for name, (x, y) in boxes.items()
    }
    for tail, head in arrows:
        ax.annotate(
            "",
            xy=boxes[head],
            xytext=boxes[tail],
            arrowprops={
                "arrowstyle": "->",
                "color": "0.3",
                "patchA": drawn[tail].get_bbox_patch(),
                "patchB": drawn[head].get_bbox_patch(),
            },
        )
    ax.set(xlim=(columns[0] - 0.5, columns[-1] + 0.5), ylim=(rows[-1] + 0.6, rows[0] - 0.6))
    ax.axis("off")
    return ax


def layer_histograms(
    tensors: Mapping[str, ArrayLike],
    *,
    xlabel: str,
    note: Callable[[ArrayLike], str] = lambda values: "",
    yscale: str = "linear",
    ax: Axes | None = None,
) -> Axes:
    """Draw how the numbers of each layer are distributed: one outline a layer, light to dark.

    Args:
        tensors: the numbers of each layer, first layer first.
        xlabel: what a number is, with its unit.
        note: text for the legend, made from a layer's numbers.
        yscale: "linear" or "log"; the latter shows what is rare.
    """
    ax = ax or plt.gca()
    flat = {name: np.asarray(values).ravel() for name, values in tensors.items()}
    ends = [np.quantile(values, (0.0005, 0.9995)) for values in flat.values()]
    edges = np.linspace(min(low for low, _ in ends), max(high for _, high in ends), 61)
    shades = mpl.colormaps["viridis_r"](np.linspace(0.15, 1, len(flat)))
    for k, (color, (name, values)) in enumerate(zip(shades, flat.items(), strict=True), 1):
        fraction = np.histogram(values, edges)[0] / len(values)
        label = f"{k}: {note(tensors[name])}".removesuffix(": ")
        ax.stairs(fraction, edges, color=color, linewidth=1.6, label=label)
    ax.set(xlabel=xlabel, ylabel="fraction of the numbers", yscale=yscale)
    ax.legend(
        fontsize=8,
        title="layer",
        title_fontsize=8,
        handlelength=1,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.22),
        ncols=2,
    )
    return ax


def ratio_curves(
    ratios: Mapping[str, Sequence[float]],
    labels: Sequence[str],
    *,
    ax: Axes | None = None,
    smooth: int = 20,
    reference: float = -3.0,
) -> Axes:
    """Draw log₁₀ update-to-data ratios over the steps, with the rule of thumb as a dotted line.

    Args:
        ratios: for each weight tensor, one value a step.
        labels: their names in the legend.
        smooth: steps that are averaged; all of them if there are fewer.
        reference: where the dotted line stands.
    """
    ax = ax or plt.gca()
    shades = mpl.colormaps["viridis_r"](np.linspace(0.1, 1, len(ratios)))
    for color, label, values in zip(shades, labels, ratios.values(), strict=True):
        span = min(smooth, len(values))
        mean = np.convolve(values, np.ones(span) / span, mode="valid")
        ax.plot(np.arange(len(mean)) + span, mean, color=color, linewidth=1.4, label=label)
    ax.axhline(reference, color="black", linestyle=":")
    ax.set_xlabel("step")
    return ax


def draw_dependence(
    matrix: ArrayLike, *, label: str = "largest gradient", ax: Axes | None = None
) -> Axes:
    """Draw which output depends on which input: row = output step, column = input step.

    An exact 0 stays white. Right of the dotted line inputs are later than the output: whatever
    is there is a look into the future, and crossed out in red.

    Args:
        matrix: S rows of T values that are 0 where there is no dependence.
        label: what a value is, with its unit.

    Raises:
        ValueError: if the matrix is not square, for then a step has no present, or if it holds a
            number that is not finite, which neither white nor a shade could stand for.
    """
    values = np.asarray(matrix, dtype=float)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(f"a matrix of shape {values.shape}: give as many outputs as inputs")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"row {row}, column {column} is {values[row, column]}: give the model finite inputs, "
            "and each query at least one step to read"
        )
    values = np.abs(values)
    if ax is None:
        ax = plt.subplots(figsize=(5.2, 4.2))[1]
    drawn = ax.imshow(np.ma.masked_equal(values, 0), cmap=f"{SEQUENTIAL}_r", vmin=0)
    ax.figure.colorbar(drawn, ax=ax, label=label, shrink=0.8)
    ends = np.array([-0.5, len(values) - 0.5])
    ax.plot(ends + 0.5, ends - 0.5, color="black", linestyle=":", linewidth=1.2)
    output, later = np.nonzero(np.triu(values, 1))
    if len(output):
        size = max(150 / len(values), 1) ** 2
        ax.scatter(later, output, size, color="tab:red", marker="x", linewidths=0.8)
    ax.set(xlim=ends, ylim=ends[::-1], xlabel="input step", ylabel="output step")
    ax.grid(visible=False)
    return ax


def color_tokens(
    cuts: Mapping[str, Sequence[bytes]], *, columns: int = 72, ax: Axes | None = None
) -> Axes:
    """Draw a text coloured by its tokens, once for each way to cut it, with their numbers.

    A space is a dot, a new line is ↵. What is no whole character, or one that the font lacks, is
    written as the hexadecimal numbers of its bytes, in italics.

    Args:
        cuts: for each tokenizer, the bytes of the text's tokens, in order.
        columns: characters in a line.

    Raises:
        ValueError: if there is nothing to draw.
    """
    if not cuts:
        raise ValueError("there is no tokenizer to draw: name at least one, with its tokens")
    font = font_manager.FontProperties(family="DejaVu Sans Mono", size=12)
    known = font_manager.get_font(font_manager.findfont(font)).get_charmap()
    shades = "#cfe2f3", "#fbdcb4", "#d3ecd0", "#ecd3ea"
    boxes: list[tuple[float, float, int, str]] = []  # column, row, width, colour
    letters: list[tuple[float, float, str, dict[str, Any]]] = []
    row = 0
    for name, tokens in cuts.items():
        letters.append((0, row, f"{name}: {len(tokens)} tokens", {"ha": "left", "weight": "bold"}))
        row, column = row + 1, 0
        for k, token in enumerate(tokens):
            cells, style = _cells(token, known)
            if column and column + len(cells) > columns:
                row, column = row + 1, 0
            for start in range(0, len(cells), columns):
                part = cells[start : start + columns]
                row += start > 0
                column = 0 if start else column
                boxes.append((column, row, len(part), shades[k % len(shades)]))
                letters += [(column + i + 0.5, row, c, style) for i, c in enumerate(part)]
                column += len(part)
            if token.endswith(b"\n"):
                row, column = row + 1, 0
        row += 1 + (column > 0)
    if ax is None:
        ax = plt.subplots(figsize=(9, 0.27 * row + 0.1))[1]
    for x, y, width, color in boxes:
        ax.add_patch(Rectangle((x, y - 0.45), width, 0.9, fc=color, ec="white", lw=1.5))
    for x, y, text, style in letters:
        usual: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontproperties": font}
        ax.text(x, y, text, **usual | style)
    ax.set(xlim=(0, columns), ylim=(row - 0.5, -0.6))
    ax.axis("off")
    return ax


def _cells(token: bytes, known: Mapping[int, int]) -> tuple[list[str], dict[str, str]]:
    """Split a token into what is drawn, one or two letters wide, and say how."""
    try:
        text = token.decode().replace(" ", "·").replace("\n", "↵")
    except UnicodeDecodeError:
        text = ""
    if text and all(ord(character) in known for character in text):
        return list(text), {"color": "black"}
    spelled = (
        chr(byte) if 32 < byte < 127 else "·" if byte == 32 else f"{byte:02x}" for byte in token
    )
    return list("".join(spelled)), {"color": "0.35", "style": "italic"}
