"""The training loop."""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer
from tqdm.auto import tqdm


@dataclass
class History:
    """What happened while a model was trained.

    Attributes:
        losses: of each step's batch, before the step.
        rates: the learning rate of each step.
        seconds: time from the start to the end of each step; measuring is not counted.
        measured: (steps done, value) each time `measure` was called.
    """

    losses: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    measured: list[tuple[int, float]] = field(default_factory=list)

    def note(self, loss: Tensor, optimiser: Optimizer, seconds: float) -> None:
        """Add a step; a loss that is not finite raises FloatingPointError."""
        value = loss.item()
        if not math.isfinite(value):
            raise FloatingPointError(
                f"the loss is {value} at step {len(self.losses)}: "
                "lower the learning rate, or clip the gradients"
            )
        self.losses.append(value)
        self.rates.append(optimiser.param_groups[0]["lr"])
        self.seconds.append(seconds)


def fit(
    model: nn.Module,
    optimiser: Optimizer,
    batches: Iterable[tuple[Tensor, Tensor]],
    *,
    steps: int,
    loss: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy,
    schedule: Callable[[int], float] | None = None,
    clip: float | None = None,
    measure: Callable[[], float] | None = None,
    every: int | None = None,
    after_step: Callable[[], None] = lambda: None,
) -> History:
    """Train the model in place, one batch a step, and return what happened.

    Args:
        batches: pairs of inputs and targets; as many as there are steps, or endless.
        loss: maps the model's output and the targets to a scalar.
        schedule: maps the number of the step, from 0, to a factor on each group's rate.
        clip: the largest norm of all gradients together; longer ones are shortened.
        measure: called after every `every` steps and at the end, such as a development loss.
        after_step: called after each step, while the gradients are still there.

    Raises FloatingPointError if the loss is not finite, ValueError if the batches run out.
    """
    history, base = History(), [group["lr"] for group in optimiser.param_groups]
    supply, spent = iter(batches), 0.0
    model.train()
    for step in _count(steps):
        start = time.perf_counter()
        inputs, targets = _next(supply, step)
        _set_rates(optimiser, base, schedule(step) if schedule else 1.0)
        batch_loss = loss(model(inputs), targets)
        optimiser.zero_grad()
        batch_loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        spent += time.perf_counter() - start
        history.note(batch_loss, optimiser, spent)
        after_step()
        if measure and (step + 1 == steps or (every and (step + 1) % every == 0)):
            history.measured.append((step + 1, measure()))
    _set_rates(optimiser, base, 1.0)  # as they were found
    return history


def _count(steps: int) -> Iterable[int]:
    """Count the steps, with a bar unless COURSEKIT_PLAIN is set."""
    if steps < 1:
        raise ValueError(f"{steps=} must be at least 1")
    plain = bool(os.environ.get("COURSEKIT_PLAIN"))
    return tqdm(range(steps), disable=plain, leave=False, unit="step", mininterval=0.5)


def _next(supply: Iterator[tuple[Tensor, Tensor]], step: int) -> tuple[Tensor, Tensor]:
    """Take the next batch, or say that there is none."""
    try:
        return next(supply)
    except StopIteration:
        raise ValueError(
            f"the batches ran out after {step} steps: give one for each step, or endless ones"
        ) from None


def _set_rates(optimiser: Optimizer, base: Sequence[float], factor: float) -> None:
    for group, rate in zip(optimiser.param_groups, base, strict=True):
        group["lr"] = rate * factor
