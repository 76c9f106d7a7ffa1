"""The notebook that runs: its name, what it claimed, drew and kept so far."""

import platform
from importlib.metadata import version
from types import SimpleNamespace

import torch

from coursekit import __version__
from coursekit.device import pick_device, seed_everything
from coursekit.notebook import plot
from coursekit.notebook.bands import read_bands

session = SimpleNamespace(notebook="", bands={}, claims={}, figures=set(), samples={})


def setup(notebook: str, *, seed: int = 42, device: str | None = None) -> torch.device:
    """Begin a notebook: seed every generator, set the look, print the versions.

    Args:
        notebook: its file name without ending; its bands are found, and claims and figures are
            filed, under it.
        seed: where Python's, NumPy's and torch's generators start.
        device: "cpu", "cuda", …; else COURSEKIT_DEVICE, else the CPU.
    """
    session.notebook = notebook
    session.bands = read_bands(notebook)
    session.claims = {}
    session.figures = set()
    session.samples = {}
    seed_everything(seed)
    plot.use_house_style()
    chosen = pick_device(device)
    versions = " · ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "matplotlib"))
    print(f"coursekit {__version__} · Python {platform.python_version()} · {versions}")
    print(f"notebook {notebook} · seed {seed} · device {chosen}")
    return chosen
