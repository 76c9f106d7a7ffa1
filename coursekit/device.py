"""Where computation runs, and where its randomness starts."""

import random
import sys
from collections.abc import Mapping
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn

from coursekit import settings


def pick_device(name: str | None = None) -> torch.device:
    """Return the device named, else the one COURSEKIT_DEVICE names, else the CPU.

    An accelerator is never taken unasked: results differ between devices, and Apple's has
    trained to a wrong loss in silence. Of several GPUs, each process that `torchrun` started
    gets its own for "cuda". There convolutions compute in whole float32, as all else does;
    PyTorch would round their inputs to 10 bits.

    Raises:
        ValueError: if that device is not there.
    """
    name = name or settings.device() or "cpu"
    local_rank = settings.local_rank()
    own = name == "cuda" and local_rank is not None
    try:
        device = torch.device(f"cuda:{local_rank}" if own else name)
        torch.zeros(1, device=device)
        if own:
            torch.cuda.set_device(device)  # or each would take some memory of the first one, too
    except (RuntimeError, AssertionError, ImportError) as problem:
        first_line = str(problem).splitlines()[0]
        raise ValueError(f"device {name!r} can't be used ({first_line}): try 'cpu'") from None
    if device.type == "cuda":
        torch.backends.cudnn.allow_tf32 = False
    return device


def accelerators() -> list[str]:
    """Name the accelerators that torch could use here."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return [name for name, is_there in there.items() if is_there]


def device_of(model: nn.Module) -> torch.device:
    """Return where a model's parameters and buffers lie; the CPU if it has none."""
    first = next(chain(model.parameters(), model.buffers()), None)
    return torch.device("cpu") if first is None else first.device


def compare_with_cpu(device: torch.device | str, seed: int = 0) -> float:
    """Return how far a device is from the CPU on a small network: outputs and gradients.

    The largest difference of a tensor, as a fraction of its largest number; infinite if the device
    gives NaN. About 1e-6 in float32; an accelerator that computes something else has no error
    message of its own.
    """
    generator = torch.Generator().manual_seed(seed)
    weights = [torch.randn(32, 32, generator=generator) / 6 for _ in range(3)]
    results = []
    for where in (torch.device("cpu"), torch.device(device)):
        first, second, x = (weight.to(where).requires_grad_() for weight in weights)
        y = nn.functional.layer_norm((x @ first).softmax(-1), (32,)) @ second
        gradients = torch.autograd.grad(y.square().mean(), [first, second, x])
        results.append([one.detach().cpu() for one in (y, *gradients)])
    pairs = zip(*results, strict=True)
    errors = torch.stack([(a - b).abs().max() / a.abs().max() for a, b in pairs])
    return errors.nan_to_num(torch.inf, torch.inf).max().item()  # NaN would lose in Python's max


def seed_everything(seed: int) -> None:
    """Start the global generators of Python, NumPy and torch at `seed`."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (libraries we call may draw from it)
    torch.manual_seed(seed)


def random_states(device: torch.device) -> dict[str, Tensor]:
    """Return where torch's global generators stand: the CPU's, and that of an accelerator."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def set_random_states(device: torch.device, states: Mapping[str, Tensor]) -> None:
    """Put the generators where they stood, those that `states` has."""
    # PyTorch reads a state from the start of its storage: a row of a table must be copied first.
    own = {name: state.clone() for name, state in states.items()}
    if "cpu" in own:
        torch.set_rng_state(own["cpu"])
    if device.type == "cuda" and "cuda" in own:
        torch.cuda.set_rng_state(own["cuda"], device)
    elif device.type == "mps" and "mps" in own:
        torch.mps.set_rng_state(own["mps"])


def peak_megabytes() -> int:
    """Return the most memory this process has held so far, as the system counts it."""
    try:
        import resource
    except ImportError:  # Windows
        import psutil

        return round(psutil.Process().memory_info().peak_wset / 1e6)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kibibytes elsewhere
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6)
