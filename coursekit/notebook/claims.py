"""The little that every notebook needs: a start, the library's source, claims and figures.

What a notebook records is written only when asked: claims to the folder that
COURSEKIT_LEDGER names, figures to the one that COURSEKIT_FIGURES names.
"""

import inspect
import io
import json
import math
import platform
import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import torch
from IPython import get_ipython
from IPython.display import Markdown, display
from PIL import Image

from coursekit import __version__, settings
from coursekit.data import provenance
from coursekit.device import pick_device, seed_everything
from coursekit.notebook import plot

_session = SimpleNamespace(notebook="", claims={}, figures=set())


class ClaimError(AssertionError):
    """A measured value lies outside its band."""


def setup(notebook: str, *, seed: int = 42, device: str | None = None) -> torch.device:
    """Begin a notebook: seed every generator, set the look, print the versions.

    Args:
        notebook: its file name without ending; claims and figures are filed under it.
        seed: where Python's, NumPy's and torch's generators start.
        device: "cpu", "cuda", …; else COURSEKIT_DEVICE, else the CPU.
    """
    _session.notebook = notebook
    _session.claims = {}
    _session.figures = set()
    seed_everything(seed)
    plot.use_house_style()
    chosen = pick_device(device)
    versions = " · ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "matplotlib"))
    print(f"coursekit {__version__} · Python {platform.python_version()} · {versions}")
    print(f"notebook {notebook} · seed {seed} · device {chosen}")
    return chosen


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


def claim(
    name: str,
    value: float | torch.Tensor,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    why: str,
    data: str | Sequence[str] = (),
    stand_in: tuple[float, float] | None = None,
    headline: bool = False,
) -> None:
    """Assert that a measured value lies in its band, print it, and record it if asked.

    A cell may be run again: its claim takes the place of the earlier one. With a ledger, where
    every cell runs once, a second claim of one name is another claim, and refused.

    Args:
        name: what is claimed; once in a notebook.
        value: the figure just measured.
        low, high: the band, both ends included; leave one out for a one-sided bound.
        why: where the band comes from: arithmetic, a published bound, or a measured spread.
        data: name of the data set that the value depends on, or several.
        stand_in: the band that holds when one of those is a stand-in, if it is another.
        headline: print the claim in the summary of a run.

    Raises:
        ClaimError: if the value is outside its band, or not a number.
        ValueError: if the band is empty or open on both sides, a data set of `data` was not
            read, the value is several numbers, or a run with a ledger has used the name before.
    """
    used = provenance()
    datasets = [data] if isinstance(data, str) else list(data)
    _refuse_unread(name, datasets, used)
    _refuse_empty_band(name, low, high)
    if stand_in:
        _refuse_empty_band(name, *stand_in)
        if any(used[dataset] == "stand-in" for dataset in datasets):
            low, high = stand_in
    if name in _session.claims and settings.ledger_folder():
        raise ValueError(f"two claims are called {name!r}: give each a name of its own")
    value = _to_number(name, value)
    held = low <= value <= high
    shell = get_ipython()
    _session.claims[name] = {
        "name": name,
        "value": value if math.isfinite(value) else None,
        "low": low if math.isfinite(low) else None,
        "high": high if math.isfinite(high) else None,
        "held": held,
        "notebook": _session.notebook,
        "cell": shell.execution_count if shell else None,
        "data": {dataset: used[dataset] for dataset in datasets},
        "headline": headline,
        "why": why,
    }
    _record_claims()
    if math.isnan(value):
        raise ClaimError(
            f"{name} is not a number (nan): look for 0 / 0, inf - inf or the mean of nothing "
            "in what it was computed from"
        )
    if not held:
        raise ClaimError(
            f"{name} = {value:.6g} is not {_band(low, high)} ({why}): if you changed something, "
            "this is its effect; if not, restart the kernel and run all cells"
        )
    print(f"✓ {name} = {value:.6g} is {_band(low, high)}")


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
    if folder and name in _session.figures:
        raise ValueError(f"two figures are called {name!r}: give each a name of its own")
    _session.figures.add(name)
    drawn = plt.gcf()
    png = io.BytesIO()
    drawn.savefig(png, format="png", dpi=120, metadata={"Software": None})
    png = _with_palette(png)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"{_session.notebook}-{name}"
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


def _refuse_unread(name: str, datasets: list[str], used: dict[str, str]) -> None:
    unread = [dataset for dataset in datasets if dataset not in used]
    if unread:
        raise ValueError(
            f"claim {name!r} rests on {', '.join(unread)}, which was not read: load it first, or "
            f"correct `data` (read so far: {', '.join(used) or 'nothing'})"
        )


def _refuse_empty_band(name: str, low: float, high: float) -> None:
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"claim {name!r}: an end of its band is nan; give numbers")
    if low > high:
        raise ValueError(
            f"claim {name!r}: nothing lies in [{low:.6g}, {high:.6g}]: low comes first"
        )
    if math.isinf(low) and math.isinf(high):
        raise ValueError(f"claim {name!r} has no band and can't fail: give low, high or both")


def _to_number(name: str, value: float | torch.Tensor) -> float:
    if isinstance(value, torch.Tensor):
        if value.numel() != 1:
            raise ValueError(
                f"claim {name!r}: its value has the shape {tuple(value.shape)}; claim one number, "
                "such as its maximum or mean"
            )
        value = value.detach()
    return float(value)


def _band(low: float, high: float) -> str:
    """Say a band in words."""
    if math.isinf(high):
        return f"at least {low:.6g}"
    if math.isinf(low):
        return f"at most {high:.6g}"
    return f"in [{low:.6g}, {high:.6g}]"


def _record_claims() -> None:
    """Write this notebook's claims so far to the ledger, if there is one."""
    folder = settings.ledger_folder()
    if folder:
        path = folder / f"{_session.notebook}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        claims = list(_session.claims.values())
        path.write_text(json.dumps(claims, indent=1, ensure_ascii=False), "utf-8")
