"""One look for every picture of the course."""

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

SEQUENTIAL = "viridis"
"""Map for shares and counts: legible in grey and to colour-blind eyes."""
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
