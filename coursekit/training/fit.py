"""The training loop."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer
from tqdm.auto import tqdm

from coursekit import settings
from coursekit.training.checkpoint import Checkpoint
from coursekit.training.distributed import rank
from coursekit.training.engine import (
    Engine,
    Inputs,
    engine_state,
    flatten_batch,
    restore_engine,
)


@dataclass
class History:
    """What happened while a model was trained.

    Attributes:
        losses: of each step's batch, before the step.
        learning_rates: the learning rate of each step, of the optimiser's first group.
        seconds: time from the start to the end of each step; measuring is not counted.
        measured: (steps done, value) each time `measure` was called.
        skipped: steps that were not made because gradients overflowed in float16.
    """

    losses: list[float] = field(default_factory=list)
    learning_rates: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    measured: list[tuple[int, float]] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)

    def note(self, loss: float, optimiser: Optimizer, seconds: float, made: bool) -> None:
        """Add a step."""
        if not made:
            self.skipped.append(len(self.losses))
        self.losses.append(loss)
        self.learning_rates.append(float(optimiser.param_groups[0]["lr"]))
        self.seconds.append(seconds + (self.seconds[-1] if self.seconds else 0.0))


def fit(
    model: nn.Module,
    optimiser: Optimizer,
    batches: Iterable[tuple[Inputs, Tensor]],
    *,
    steps: int,
    loss: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy,
    schedule: Callable[[int], float] | None = None,
    clip: float | None = None,
    measure: Callable[[], float] | None = None,
    every: int | None = None,
    after_step: Callable[[], None] = lambda: None,
    engine: Engine | None = None,
    checkpoint: Checkpoint | None = None,
) -> History:
    """Train the model in place, one batch a step, and return what happened.

    Args:
        batches: pairs of inputs (one tensor or several) and targets; enough, or endless.
        loss: maps output and targets to a scalar, the mean over all targets but `NO_TARGET`; one
            that leaves out others says with a method `count(targets)` how many it takes.
        schedule: maps the number of the step, from 0, to a factor on each group's learning rate.
        clip: the largest norm of all gradients together; longer ones are shortened.
        measure: called after every `every` steps and at the end, such as a development loss.
        after_step: called after each step, while the gradients are still there.
        engine: computes each step; by default in the weights' own precision.
        checkpoint: where the run is kept; batches must be the same again if it is resumed.

    Raises FloatingPointError if loss or gradients are not finite, ValueError if batches run out.
    """
    with _borrowed_learning_rates(optimiser) as scale_learning_rates:
        engine = (engine or Engine()).start(model, optimiser)
        history, supply = _begin(checkpoint, engine, batches)
        for step in _count(len(history.losses), steps):
            start = time.perf_counter()
            scale_learning_rates(schedule(step) if schedule else 1.0)
            optimiser.zero_grad()
            batch_loss = _finite(engine.backward(loss, *supply.take(step)), step)
            made = engine.step(clip, step)
            history.note(batch_loss, optimiser, time.perf_counter() - start, made)
            after_step()
            if measure and _is_due(step, every, steps):
                history.measured.append((step + 1, float(measure())))
            _keep(checkpoint, steps, engine, history, supply)
    return history


class _Supply:
    """Hands out the batches, and remembers the last one."""

    def __init__(self, batches: Iterable[tuple[Inputs, Tensor]]) -> None:
        self.batches = iter(batches)
        self.last: tuple[Inputs, Tensor] | None = None

    def take(self, step: int) -> tuple[Inputs, Tensor]:
        """Return the next batch, or say that there is none."""
        try:
            self.last = next(self.batches)
        except StopIteration:
            raise ValueError(
                f"the batches ran out after {step} steps: give one for each step, or endless ones"
            ) from None
        return self.last

    def flat(self) -> list[Tensor]:
        """Return the tensors of the last batch."""
        return list(flatten_batch(*self.last)) if self.last else []


def _finite(loss: Tensor, step: int) -> float:
    """Return the loss as a number; raise FloatingPointError, before the step, if it is none."""
    value = loss.item()
    if not math.isfinite(value):
        raise FloatingPointError(
            f"the loss is {value} at step {step}: lower the learning rate, or clip the gradients"
        )
    return value


def _begin(
    checkpoint: Checkpoint | None, engine: Engine, batches: Iterable[tuple[Inputs, Tensor]]
) -> tuple[History, _Supply]:
    """Return what has happened so far and the batches that are left."""
    supply = _Supply(batches)
    state = checkpoint.read() if checkpoint else None
    if checkpoint is None or state is None:
        return History(), supply
    history = History(**state["history"])
    for step in range(len(history.losses)):
        supply.take(step)
    last = [one.cpu() for one in supply.flat()]
    if len(last) != len(state["batch"]) or not all(map(torch.equal, last, state["batch"])):
        raise ValueError(
            f"the last batch before {checkpoint.path} was another one: draw the batches from the "
            "same data, in the same size, by a generator with the same seed"
        )
    restore_engine(engine, state["engine"])  # last: batches may draw from the global generator
    return history, supply


def _keep(
    checkpoint: Checkpoint | None, steps: int, engine: Engine, history: History, supply: _Supply
) -> None:
    """Write, if it is due, what the rest depends on; of several processes, the first one does."""
    if checkpoint is None or not _is_due(len(history.losses) - 1, checkpoint.every, steps):
        return
    # A batch may be a few rows of a large tensor, which would be written whole.
    batch = [one.clone() for one in supply.flat()]
    state = {"engine": engine_state(engine), "history": vars(history), "batch": batch}
    if rank() == 0:
        checkpoint.write(state)


def _count(done: int, steps: int) -> Iterable[int]:
    """Count the steps to do, with a bar unless COURSEKIT_PLAIN is set."""
    if steps < 1:
        raise ValueError(f"{steps=} must be at least 1")
    plain = settings.is_plain() or rank() > 0
    look = {"leave": False, "unit": "step", "mininterval": 0.5}
    return tqdm(range(done, steps), initial=done, total=steps, disable=plain, **look)


def _is_due(step: int, every: int | None, steps: int) -> bool:
    """Tell whether something that comes after every `every` steps and at the end is due."""
    return step + 1 == steps or bool(every and (step + 1) % every == 0)


@contextmanager
def _borrowed_learning_rates(optimiser: Optimizer) -> Iterator[Callable[[float], None]]:
    """Hand out what multiplies every learning rate; restore them, also after an error."""
    base = [group["lr"] for group in optimiser.param_groups]

    def scale_learning_rates(factor: float) -> None:
        for group, lr in zip(optimiser.param_groups, base, strict=True):
            group["lr"] = lr * factor

    try:
        yield scale_learning_rates
    finally:
        scale_learning_rates(1.0)
