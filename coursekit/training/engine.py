"""How one step is computed: in which number type, in how many parts, in how many processes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer

from coursekit.device import device_of, random_states, set_random_states
from coursekit.training.checkpoint import copy_weights, unique_weights
from coursekit.training.distributed import (
    averaging,
    gather,
    mean_over_processes,
    own_rows,
    rank,
    replicate,
)

Inputs = Tensor | Sequence[Tensor]
"""What a model is called with: a tensor, or several that it takes one by one."""


class Engine:
    """Compute the slopes of a batch and make the step, in the order that float16 needs.

    Float16 has no number between 0 and 6e-8, where slopes lie: so the loss is multiplied by a scale
    before `backward`, the slopes are divided by it before they are clipped, and a step in which one
    overflowed is skipped (Micikevicius et al. 2018, section 3.2). Elsewhere the scale is 1.

    Args:
        precision: number type of matrix products, such as `torch.bfloat16`; None: the weights'.
        parts: pieces of a batch that pass through the model in turn, where the whole is too large.
    """

    def __init__(self, precision: torch.dtype | None = None, parts: int = 1) -> None:
        if precision not in (None, torch.bfloat16, torch.float16):
            raise ValueError(f"{precision=}: use torch.bfloat16, torch.float16 or None")
        self.precision, self.parts = precision, parts

    def start(self, model: nn.Module, optimiser: Optimizer) -> "Engine":
        """Take up a model, in training mode, and its optimiser."""
        self.model, self.optimiser, self.replica = model.train(), optimiser, replicate(model)
        self.device = device_of(model)
        is_float16 = self.precision == torch.float16
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=is_float16)
        return self

    def backward(self, loss: Callable, inputs: Inputs, targets: Tensor) -> Float[Tensor, ""]:
        """Add the slopes of a batch to the parameters', and return its mean loss."""
        total = torch.zeros((), device=self.device)
        for *x, y in _pieces(self, inputs, targets):
            with _narrowed(self):
                part = loss(self.replica(*x), y)
            part = part / self.parts if self.parts > 1 else part
            self.scaler.scale(part).backward()
            total = total + part.detach()
        return mean_over_processes(total)

    def step(self, clip: float | None) -> bool:
        """Shorten the slopes to the norm `clip` and make the step; return whether it was made."""
        self.scaler.unscale_(self.optimiser)
        if clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), clip)
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return self.scaler.get_scale() >= scale


def engine_state(engine: Engine) -> dict[str, Any]:
    """Return all that training has changed. Every process must call it, for it gathers."""
    random = random_states(engine.device)
    return {
        "made_by": _maker(engine),
        "weights": unique_weights(engine.model),
        "optimiser": engine.optimiser.state_dict()["state"],
        "scaler": engine.scaler.state_dict(),
        "random": {name: gather(one) for name, one in random.items()},
    }


def restore_engine(engine: Engine, state: dict[str, Any]) -> None:
    """Put all as it was when `state` was taken; rates and decay stay as the optimiser has them.

    Raises:
        ValueError: if the model, the kind of optimiser or the precision is another.
    """
    if state["made_by"] != _maker(engine):
        raise ValueError(
            f"the checkpoint was made by {state['made_by']}, not by {_maker(engine)}: "
            "go on with the same"
        )
    copy_weights(engine.model, state["weights"])
    memory = {int(i): one for i, one in state["optimiser"].items()}
    groups = engine.optimiser.state_dict()["param_groups"]
    engine.optimiser.load_state_dict({"state": memory, "param_groups": groups})
    engine.scaler.load_state_dict(state["scaler"])
    # A process more than there were before keeps the random numbers that it has.
    random = {name: one[rank()] for name, one in state["random"].items() if rank() < len(one)}
    set_random_states(engine.device, random)


def _maker(engine: Engine) -> str:
    return f"{type(engine.optimiser).__name__} with precision={engine.precision}"


def _narrowed(engine: Engine) -> AbstractContextManager:
    """Let matrix products run in the engine's precision."""
    if engine.precision is None:
        return nullcontext()
    return torch.autocast(engine.device.type, engine.precision)


def flatten_batch(inputs: Inputs, targets: Tensor) -> tuple[Tensor, ...]:
    """List the tensors of a batch, the targets last."""
    return (inputs, targets) if isinstance(inputs, Tensor) else (*inputs, targets)


def _pieces(engine: Engine, inputs: Inputs, targets: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Yield this process's rows of a batch, in parts; slopes are averaged after the last."""
    for i, piece in enumerate(own_rows(flatten_batch(inputs, targets), engine.parts)):
        with averaging(engine.replica, now=i + 1 == engine.parts):
            yield tuple(one.to(engine.device) for one in piece)
