"""What a model can be held to, whatever it has learnt: which output depends on which input."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

ROUNDING = 64
"""The default tolerance, in eps of the outputs' dtype: 1.4e-14 in float64, 7.6e-6 in float32.

The rounding errors of a sum grow at most with the number of its terms (Higham 2002, section 4.2),
in practice far slower: attention over 2,000 values of 1 is off by 8 eps. What a leak moves is
mostly a thousand times larger.
"""


def dependence(
    model: Callable[[Tensor], Tensor], x: Float[Tensor, "B T C"]
) -> Float[Tensor, "S T"]:
    """Return how strongly each output step depends on each input step, by gradient.

    max |∂ y_s / ∂ x_t| over the channels of both and over the batch; exactly 0 where no path
    leads from t to s, infinite where a gradient is NaN. The model maps (B, T, C) to (B, S, D)
    and is taken as it stands: call `eval()` first, since a batch norm in training mode joins
    everything with everything. With a ReLU a path can be shut for one input; several rows of
    random `x` find it open.
    """
    jacobian = torch.autograd.functional.jacobian(model, x)
    return _without_nan(jacobian).amax((0, 2, 3, 5))


@dataclass(frozen=True)
class Certificate:
    """What `certify` found.

    Attributes:
        gradients: `gradients[s, t]` is the largest gradient of output s at input t; None where none
            reaches the outputs, as from whole numbers or through a mere choice.
        moves: `moves[s, t]` is the largest change of output s when the inputs from t on changed;
            0 where output s may read input t.
        moved: the fraction of outputs that changed when only later inputs did. An output is one
            step of one example, of a rule one step of one head of one example.
        repeat: the largest difference between two calls on the same inputs.
        ones: how far the output of a rule is from 1 when all values are 1; None for a model.
        future: True at [s, t] where output s must not read input t.
        tolerance: what counts as equal: a sum in another order differs a little.

    A number that is NaN counts as infinitely far from any other.
    """

    gradients: Tensor | None
    moves: Tensor
    moved: float
    repeat: float
    ones: float | None
    future: Tensor
    tolerance: float

    @property
    def gradient(self) -> float | None:
        """The largest gradient of an output at an input that it must not read."""
        return (
            None if self.gradients is None else self.gradients.where(self.future, 0.0).max().item()
        )

    @property
    def change(self) -> float:
        """The largest change of an output when only later inputs changed."""
        return self.moves.max().item()

    @property
    def causal(self) -> bool:
        """Whether no output depends on a later input, by gradients and by trial."""
        return not self.gradient and self.change <= self.tolerance

    @property
    def holds(self) -> bool:
        """Whether it is causal, repeats itself and, if a rule, averages the values."""
        return self.causal and self.repeat == 0 and (self.ones or 0.0) <= self.tolerance

    def __str__(self) -> str:
        gradient = "no gradients" if self.gradient is None else f"gradient {self.gradient:.2g}"
        ones = "" if self.ones is None else f"; values of 1 come back off by {self.ones:.2g}"
        return (
            f"{'causal' if self.causal else 'NOT causal'}: {gradient} to later inputs, "
            f"{self.moved:.1%} of outputs move with them, by up to {self.change:.2g}; "
            f"two calls differ by {self.repeat:.2g}{ones}"
        )


def certify(
    model: Callable[..., Tensor],
    *inputs: Tensor,
    strict: bool = False,
    seed: int = 0,
    tolerance: float | None = None,
) -> Certificate:
    """Find out whether an output of a model, or of a rule, depends on a later input.

    A model maps one tensor (B, T, …) to (B, T, …). A rule maps three, q, k and v (…, T, D), and
    what is allowed. Two ways, for each is blind to something: gradients (a choice, such as a rank,
    has none) and larger draws in place of all inputs from a step on, for each step in turn (one
    trial may miss what is rare). Then two equal calls, and values that are all 1.

    The model is taken as it stands: call `eval()` first. Use float64, which tells the smallest
    leak from rounding. Tokens are replaced by tokens up to the largest of `x`: let it hold the
    vocabulary.

    Args:
        model: what is tested.
        inputs: x for a model; q, k and v for a rule.
        strict: whether a step may read earlier ones only, not itself.
        seed: of the draws.
        tolerance: on changes and on values of 1, for outputs of about 1; gradients must be 0. By
            default `ROUNDING` times eps of the outputs' dtype, and 0 for whole numbers.

    Raises:
        ValueError: if there are neither one nor three inputs, not as many steps come out, there
            is no later step, an output is NaN or infinite, or all tokens are 0, for then there
            is nothing to put in their place.
    """
    _refuse_inputs(inputs)
    is_rule = len(inputs) == 3
    axis = -2 if is_rule else 1
    run = (lambda *x: model(*x, None)) if is_rule else model
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        y, again = run(*inputs).detach(), run(*inputs).detach()
        of_ones = run(*inputs[:2], torch.ones_like(inputs[2])) if is_rule else None
    _refuse_outputs(y, inputs, axis, strict)
    if tolerance is None:
        tolerance = ROUNDING * torch.finfo(y.dtype).eps if y.is_floating_point() else 0.0
    moves, moved = _replace_later(run, inputs, y, axis, strict, tolerance, generator)
    return Certificate(
        gradients=_gradients(run, inputs, axis, generator),
        moves=moves,
        moved=moved,
        repeat=float(_without_nan(again - y).max()),
        ones=None if of_ones is None else float(_without_nan(of_ones - 1).max()),
        future=torch.ones_like(moves, dtype=torch.bool).triu(0 if strict else 1),
        tolerance=tolerance,
    )


def _without_nan(difference: Tensor) -> Tensor:
    """Return the absolute values, infinite where there is NaN: no comparison may overlook it."""
    return difference.abs().nan_to_num(nan=torch.inf, posinf=torch.inf)


def _refuse_inputs(inputs: tuple[Tensor, ...]) -> None:
    """Refuse what is neither a model's input nor a rule's, or leaves nothing to try."""
    if len(inputs) not in (1, 3):
        raise ValueError(f"{len(inputs)} inputs: give one x for a model, or q, k, v for a rule")
    if any(not x.is_floating_point() and not x.any() for x in inputs):
        raise ValueError("every token is 0, so no other can be tried in its place: draw tokens")


def _refuse_outputs(y: Tensor, inputs: tuple[Tensor, ...], axis: int, strict: bool) -> None:
    """Refuse outputs that can't be compared step by step."""
    if min(x.ndim for x in (y, *inputs)) < 2 or any(y.shape[axis] != x.shape[axis] for x in inputs):
        raise ValueError(
            f"outputs {tuple(y.shape)} for inputs {[tuple(x.shape) for x in inputs]}: every "
            "input needs as many steps as come out"
        )
    if not strict and y.shape[axis] < 2:
        raise ValueError(f"{y.shape[axis]} step has no later one to replace: give two or more")
    broken = y.numel() - int(y.isfinite().sum())
    if broken:
        raise ValueError(
            f"{broken} of {y.numel()} outputs are NaN or infinite, so no change of them shows: "
            "certify what comes before, such as scores before a logarithm or a mask"
        )


@torch.enable_grad()
def _gradients(
    run: Callable[..., Tensor], inputs: tuple[Tensor, ...], axis: int, generator: torch.Generator
) -> Tensor | None:
    """Return the largest gradient of each output step at each input step, if there is one.

    A random mixture of an output's channels stands for all of them.
    """
    if not all(x.is_floating_point() for x in inputs):
        return None
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    y = run(*leaves)
    if not y.requires_grad:
        return None
    mixed = y * torch.randn(y.shape, generator=generator, dtype=y.dtype).to(y.device)
    rows = []
    for step in range(y.shape[axis]):
        output = mixed.select(axis, step).sum()
        found = torch.autograd.grad(
            output, leaves, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        by_step = [_without_nan(g).movedim(axis, 0).flatten(1).amax(1) for g in found]
        rows.append(torch.stack(by_step).amax(0))
    return torch.stack(rows).cpu()


@torch.no_grad()
def _replace_later(
    run: Callable[..., Tensor],
    inputs: tuple[Tensor, ...],
    y: Tensor,
    axis: int,
    strict: bool,
    tolerance: float,
    generator: torch.Generator,
) -> tuple[Tensor, float]:
    """Return how far outputs move when inputs from a step on do, and the fraction that moves."""
    steps = y.shape[axis]
    n_kept = 2 if axis == 1 else y.ndim - 1  # axes that tell outputs apart; the rest are channels
    moves, fractions = torch.zeros(steps, steps, dtype=torch.float64), []
    for start in range(0 if strict else 1, steps):
        changed = [x.clone() for x in inputs]
        for x in changed:
            later = x.movedim(axis, 0)[start:]  # a view: filling it fills x
            if x.is_floating_point():
                later.copy_(3 * torch.randn(later.shape, generator=generator, dtype=x.dtype))
            else:
                later.copy_(torch.randint(int(x.max()) + 1, later.shape, generator=generator))
        before = (run(*changed) - y).movedim(axis, 0)[: start + strict]
        before = _without_nan(before.cpu().double())
        outputs = before.reshape(*before.shape[:n_kept], -1).amax(-1)
        moves[: len(before), start] = before.flatten(1).amax(1)
        fractions.append((outputs > tolerance).double().flatten())
    return moves, torch.cat(fractions).mean().item() if fractions else 0.0
