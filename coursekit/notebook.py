"""The little that every notebook needs: a start, the library's source, claims and figures.

What a notebook records is written only when asked: claims to the folder that
COURSEKIT_LEDGER names, figures to the one that COURSEKIT_FIGURES names.
"""

import inspect
import io
import json
import math
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import torch
from IPython import get_ipython
from IPython.display import Markdown, display
from PIL import Image

from coursekit import __version__, plot
from coursekit.data import provenance
from coursekit.device import pick_device, seed_everything

_session = SimpleNamespace(notebook="", claims=[], figures=set())


class ClaimError(AssertionError):
    """A measured value lies outside its band."""


def setup(notebook: str, *, seed: int = 42, device: str | None = None) -> torch.device:
    """Begin a notebook: seed every generator, set the look, print the versions.

    Args:
        notebook: its file name without ending; claims and figures are filed under it.
        seed: where Python's, NumPy's and torch's generators start.
        device: "cpu", "cuda", …; else COURSEKIT_DEVICE, else the CPU.
    """
    _session.notebook, _session.claims, _session.figures = notebook, [], set()
    seed_everything(seed)
    plot.use_house_style()
    chosen = pick_device(device)
    versions = " · ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "matplotlib"))
    print(f"coursekit {__version__} · Python {platform.python_version()} · {versions}")
    print(f"notebook {notebook} · seed {seed} · device {chosen}")
    return chosen


def show(*objects: object) -> None:
    """Display the source of functions, classes or methods as the library has it now."""
    for thing in objects:
        module = inspect.getmodule(thing).__name__
        source = inspect.cleandoc("\n" + inspect.getsource(thing))
        title = f"`{module.replace('.', '/')}.py` · `{thing.__qualname__}`"
        display(Markdown(f"{title}\n```python\n{source.rstrip()}\n```"))


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
        ValueError: if the name was used before, the band is empty or open on both sides,
            or a data set of `data` was not read.
    """
    used = provenance()
    datasets = [data] if isinstance(data, str) else list(data)
    unread = [dataset for dataset in datasets if dataset not in used]
    if stand_in and any(used.get(dataset) == "stand-in" for dataset in datasets):
        low, high = stand_in
    if unread or not low <= high or (math.isinf(low) and math.isinf(high)):
        raise ValueError(f"claim {name!r}: band [{low}, {high}], data sets not read: {unread}")
    if any(earlier["name"] == name for earlier in _session.claims):
        raise ValueError(f"claim {name!r} was made before: run the notebook from its start")
    value = float(value.detach() if isinstance(value, torch.Tensor) else value)
    held = low <= value <= high
    shell = get_ipython()
    _session.claims.append(
        {
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
    )
    _record_claims()
    if not held:
        raise ClaimError(f"{name} = {value:.6g} is not {_band(low, high)} ({why})")
    print(f"✓ {name} = {value:.6g} is {_band(low, high)}")


def figure(name: str, *, alt: str) -> None:
    """Display the current figure with its text for those who can't see it, and close it.

    Saved as PNG and SVG, named by notebook and figure, if COURSEKIT_FIGURES names a folder.

    Raises:
        ValueError: if the text is missing, no figure is open, or the name was used before.
    """
    if not alt.strip() or not plt.get_fignums() or name in _session.figures:
        raise ValueError(
            f"figure {name!r}: draw first, describe it in `alt`, use each name once "
            "(after a change, run the notebook from its start)"
        )
    _session.figures.add(name)
    drawn = plt.gcf()
    png = io.BytesIO()
    drawn.savefig(png, format="png", dpi=120, metadata={"Software": None})
    png = _with_palette(png)
    folder = os.environ.get("COURSEKIT_FIGURES")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        stem = f"{_session.notebook}-{name}"
        (Path(folder) / f"{stem}.png").write_bytes(png.getvalue())
        drawn.savefig(Path(folder) / f"{stem}.svg", metadata={"Date": None, "Creator": None})
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


def _band(low: float, high: float) -> str:
    """Say a band in words."""
    if math.isinf(high):
        return f"at least {low:.6g}"
    if math.isinf(low):
        return f"at most {high:.6g}"
    return f"in [{low:.6g}, {high:.6g}]"


def _record_claims() -> None:
    """Write this notebook's claims so far to the ledger, if there is one."""
    folder = os.environ.get("COURSEKIT_LEDGER")
    if folder:
        path = Path(folder) / f"{_session.notebook}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_session.claims, indent=1, ensure_ascii=False), "utf-8")
