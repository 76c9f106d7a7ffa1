"""Where computation runs, and where its randomness starts."""

import os
import random
import sys

import numpy as np
import torch


def pick_device(name: str | None = None) -> torch.device:
    """Return the device named, else the one COURSEKIT_DEVICE names, else the CPU.

    An accelerator is never taken unasked: results differ between devices, and Apple's has
    trained to a wrong loss in silence.

    Raises:
        ValueError: if that device is not there.
    """
    name = name or os.environ.get("COURSEKIT_DEVICE") or "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, ImportError) as problem:
        first_line = str(problem).splitlines()[0]
        raise ValueError(f"device {name!r} can't be used ({first_line}): try 'cpu'") from None
    return device


def seed_everything(seed: int) -> None:
    """Start the global generators of Python, NumPy and torch at `seed`."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (libraries we call may draw from it)
    torch.manual_seed(seed)


def peak_megabytes() -> int:
    """Return the most memory this process has held so far, as the system counts it."""
    try:
        import resource
    except ImportError:  # Windows
        import psutil

        return round(psutil.Process().memory_info().peak_wset / 1e6)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kibibytes elsewhere
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6)
