"""What a lesson displays: the library's source, and figures.

Figures are saved only when asked: in the folder that COURSEKIT_FIGURES names.
"""

import inspect
import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import Markdown, display
from PIL import Image

from coursekit import settings
from coursekit.notebook.session import session


def show(*objects: type | Callable[..., Any]) -> None:
    """Display the source of functions, classes or methods as the library has it now.

    Examples are left out of their docstrings: the lesson is one.
    """
    for thing in objects:
        source = inspect.cleandoc("\n" + source_without_examples(thing))
        title = f"`{thing.__module__.replace('.', '/')}.py` · `{thing.__qualname__}`"
        display(Markdown(f"{title}\n```python\n{source.rstrip()}\n```"))


def source_without_examples(thing: type | Callable[..., Any]) -> str:
    """Return the source of a function, class or method without the examples of its docstrings."""
    return re.sub(r"\n\n( +)Example:\n(\1    .*\n)+", "\n", inspect.getsource(thing))


def figure(name: str, *, alt: str) -> None:
    """Display the current figure with its text for those who can't see it, and close it.

    Saved as PNG and SVG, named by notebook and figure, if COURSEKIT_FIGURES names a folder.

    Raises:
        ValueError: if the text is missing, no figure is open, or a run that saves its figures has
            used the name before.
    """
    folder = settings.figures_folder()
    if not alt.strip():
        raise ValueError(f"figure {name!r} has no text: describe in `alt` what it shows")
    if not plt.get_fignums():
        raise ValueError(f"figure {name!r}: nothing is drawn; plot in the same cell, before this")
    if folder and name in session.figures:
        raise ValueError(f"two figures are called {name!r}: give each a name of its own")
    session.figures.add(name)
    drawn = plt.gcf()
    png = io.BytesIO()
    drawn.savefig(png, format="png", dpi=120, metadata={"Software": None})
    png = _with_palette(png)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"{session.notebook}-{name}"
        (folder / f"{stem}.png").write_bytes(png.getvalue())
        drawn.savefig(folder / f"{stem}.svg", metadata={"Date": None, "Creator": None})
    width, height = (round(96 * inches) for inches in drawn.get_size_inches())
    plt.close(drawn)
    display(
        {"image/png": png.getvalue(), "text/plain": alt},
        metadata={"image/png": {"alt": alt, "width": width, "height": height}},
        raw=True,
    )


def _with_palette(png: io.BytesIO) -> io.BytesIO:
    """Write a picture with 256 colours: a third of the bytes, and a plot looks the same."""
    small = io.BytesIO()
    few = Image.open(png).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(small, format="png", optimize=True)
    return small
