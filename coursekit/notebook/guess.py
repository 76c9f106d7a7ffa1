"""What a reader guessed, set beside what came out."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes


def compare_guess(
    guess: float | int | str | None, found: float | int | str, unit: str = ""
) -> None:
    """Print a guess beside what was found, both in `unit`; without a guess, that there is none.

    Call it first in its cell: JupyterLab shows the first line of an output that is still folded.
    """
    if guess is None:
        print("no guess yet")
        return
    said = (f"{_say(one)} {unit}".rstrip() for one in (guess, found))
    print("your guess {} · measured {}".format(*said))


def mark_guess(
    guess: float | int | None, ax: Axes | None = None, *, x: float | int | None = None
) -> None:
    """Draw a guess with its name, as a line at its height, or as a point at `x`.

    Nothing is drawn if there is no guess.
    """
    if guess is None:
        return
    ax = ax or plt.gca()
    if x is not None:
        ax.plot(x, guess, "x", color="0.35", markersize=8, markeredgewidth=2)
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
        ax.annotate(
            "your guess", (x, guess), (8, 0), textcoords="offset points", va="center", bbox=box
        )
        return
    ax.axhline(guess, color="0.5", linestyle="--", linewidth=1)
    ax.text(
        0.01, guess, "your guess", color="0.35", va="bottom", transform=ax.get_yaxis_transform()
    )


def _say(value: float | int | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
