"""How one step is computed: in which number type, micro-batches and processes."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.linalg import vector_norm
from torch.optim import Optimizer

from coursekit.device import device_of, random_states, set_random_states
from coursekit.evaluate.likelihood import NO_TARGET, count_targets
from coursekit.training.checkpoint import copy_weights, unique_weights
from coursekit.training.distributed import (
    averaging,
    gather,
    mean_over_processes,
    n_processes,
    own_rows,
    rank,
    replicate,
)

Inputs = Tensor | Sequence[Tensor]
"""What a model is called with: a tensor, or several that it takes one by one."""


class Engine:
    """Compute the gradients of a batch and make the step, in the order that float16 needs.

    Float16 has no number between 0 and 6e-8, where gradients lie: so the loss is scaled up before
    `backward`, the gradients are scaled down before they are clipped, and a step in which one
    overflowed is skipped (Micikevicius et al. 2018, section 3.2). Elsewhere the scale is 1.

    Args:
        precision: number type of matrix products, such as `torch.bfloat16`; None: the weights'.
        micro_batches: pieces of a batch too large for the memory; their gradients add up.
    """

    def __init__(self, precision: torch.dtype | None = None, micro_batches: int = 1) -> None:
        if precision not in (None, torch.bfloat16, torch.float16):
            raise ValueError(f"{precision=}: use torch.bfloat16, torch.float16 or None")
        self.precision = precision
        self.micro_batches = micro_batches

    def start(self, model: nn.Module, optimiser: Optimizer) -> "Engine":
        """Take up a model, in training mode, and its optimiser."""
        self.model = model.train()
        self.optimiser = optimiser
        self.replica = replicate(model)
        self.device = device_of(model)
        self.scaler = GradScaler(self.device.type, enabled=self.precision == torch.float16)
        return self

    def backward(self, loss: Callable, inputs: Inputs, targets: Tensor) -> Float[Tensor, ""]:
        """Add the gradients of a batch to the parameters', and return its mean loss."""
        total = torch.zeros((), device=self.device)
        for x, y, weight in _micro_batches(self, loss, inputs, targets):
            part = _weighted_loss(self, loss, x, y, weight)
            self.scaler.scale(part).backward()
            total = total + part.detach()
        return mean_over_processes(total)

    def step(self, clip: float | None, number: int | None = None) -> bool:
        """Clip the gradients to the norm `clip` and make the step; return whether it was made.

        Raises FloatingPointError if their norm is not finite and there is no scale to halve;
        `number`, of the step, is for its message.
        """
        self.scaler.unscale_(self.optimiser)
        norm = _clip(self.model, clip)
        if not self.scaler.is_enabled():
            _refuse_unless_finite(norm, number)
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return self.scaler.get_scale() >= scale


def _refuse_unless_finite(norm: Tensor, number: int | None) -> None:
    """Refuse gradients that would destroy the weights."""
    # Asking waits for a GPU, but `fit` has just waited for the loss: only the norm is left.
    if not math.isfinite(norm.item()):
        raise FloatingPointError(
            f"the norm of the gradients is {norm.item()}"
            f"{'' if number is None else f' at step {number}'}, though the loss is finite: "
            "lower the learning rate, or find the function whose gradient is not finite with "
            "torch.autograd.set_detect_anomaly(True)"
        )


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
    """Put all as it was when `state` was taken; the optimiser keeps its learning rates and decay.

    Raises:
        ValueError: if the model, the kind of optimiser or the precision is another.
    """
    if state["made_by"] != _maker(engine):
        raise ValueError(
            f"the checkpoint was made by {state['made_by']}, not by {_maker(engine)}: "
            "go on with the same"
        )
    copy_weights(engine.model, state["weights"])
    groups = engine.optimiser.state_dict()["param_groups"]
    engine.optimiser.load_state_dict({"state": state["optimiser"], "param_groups": groups})
    engine.scaler.load_state_dict(state["scaler"])
    # A process more than there were before keeps the random numbers that it has.
    random = {name: one[rank()] for name, one in state["random"].items() if rank() < len(one)}
    set_random_states(engine.device, random)


def _maker(engine: Engine) -> str:
    return f"{type(engine.optimiser).__name__} with precision={engine.precision}"


def _clip(model: nn.Module, longest: float | None) -> Float[Tensor, ""]:
    """Shorten the gradients to the norm `longest`, if there is one; return the norm they had."""
    if longest is not None:
        return nn.utils.clip_grad_norm_(model.parameters(), longest)
    # All norms in one call, as clipping finds them: one by one they take a tenth of a small step.
    norms = torch._foreach_norm([p.grad for p in model.parameters() if p.grad is not None])
    return vector_norm(torch.stack(norms))


def _narrowed(engine: Engine) -> AbstractContextManager:
    """Let matrix products run in the engine's precision."""
    if engine.precision is None:
        return nullcontext()
    return torch.autocast(engine.device.type, engine.precision)


def flatten_batch(inputs: Inputs, targets: Tensor) -> tuple[Tensor, ...]:
    """List the tensors of a batch, the targets last."""
    return (inputs, targets) if isinstance(inputs, Tensor) else (*inputs, targets)


def _micro_batches(
    engine: Engine, loss: Callable, inputs: Inputs, targets: Tensor
) -> Iterator[tuple[list[Tensor], Tensor, float]]:
    """Yield inputs, targets and weight of each micro-batch of this process.

    The mean over a batch is the mean of its micro-batches' means only if each weighs as much as
    it has targets that count. DistributedDataParallel averages the gradients over the processes,
    after the last micro-batch, so the weights of all processes together must sum to their number.
    """
    pieces = own_rows(flatten_batch(inputs, targets), engine.micro_batches)
    count = getattr(loss, "count", count_targets)
    whole = count(targets)  # of the whole batch, which every process has
    if not whole:
        raise ValueError(
            f"no target of the batch counts (as of ids all but {NO_TARGET}), so its mean loss is "
            "not defined: leave out what has nothing to predict"
        )
    for i, (*x, y) in enumerate(pieces):
        weight = n_processes() * count(y) / whole
        with averaging(engine.replica, now=i + 1 == engine.micro_batches):
            yield [one.to(engine.device) for one in x], y.to(engine.device), weight


def _weighted_loss(
    engine: Engine, loss: Callable, x: list[Tensor], y: Tensor, weight: float
) -> Float[Tensor, ""]:
    with _narrowed(engine):
        output = engine.replica(*x)
        # A mean over no targets is 0 / 0. The 0 in its place depends on the output, because each
        # process must call `backward` on each micro-batch: the others wait for its gradients.
        # Float32, because neither that sum nor the scale of the loss fits into float16.
        return weight * loss(output, y) if weight else 0 * output.float().sum()
