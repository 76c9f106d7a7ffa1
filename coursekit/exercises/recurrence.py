"""Checks for the exercises of notebook 09c."""

import math
from collections.abc import Callable, Sequence
from functools import wraps

import torch
from torch import Tensor, nn

from coursekit.exercises.compare import agree, watch_arguments


def check_forget_bias(solution: Callable[[int, float], float | Tensor]) -> None:
    """Check a function that returns the bias of a gate which leaves a fraction after some steps."""
    cases = [
        # One step, mostly shut: the gate itself is what is left, and its bias is negative.
        (1, 0.1),
        # After two steps, what is left is the square of the gate.
        (2, 0.25),
        # A gate that is nearly open.
        (50, 0.4),
    ]

    def reference(steps: int, left: float) -> float:
        # A gate of σ(b) leaves σ(b) ** steps, and 1 / σ(b) = 1 + exp(-b). (-log(1) would be -0.)
        return 0.0 - math.log(math.expm1(-math.log(left) / steps))

    agree(solution, reference, cases, tolerance=1e-4)


def check_lstm_step(solution: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> None:
    """Check a function that makes a step of an LSTM, and that gradients go back through it.

    It gets the numbers i, f, g, o (B, 4 D), before their nonlinearities, and the memory (B, D), and
    returns the output and the new memory. Both arguments carry gradients, and neither may change:
    the steps before still need them.
    """
    open_, shut = 30.0, -30.0
    cases = [
        # Written in full, nothing kept, all said.
        (torch.tensor([[open_, shut, 2.0, open_]]), torch.tensor([[5.0]])),
        # Kept in full, nothing written: the memory goes through untouched.
        (torch.tensor([[shut, open_, 2.0, open_]]), torch.tensor([[5.0]])),
        # Half of what is kept, and half of what is new.
        (torch.tensor([[0.0, 0.0, 0.5, open_]]), torch.tensor([[-0.25]])),
        # The output gate closes what is said, not what is kept.
        (torch.tensor([[open_, open_, 0.3, -1.0]]), torch.tensor([[0.5]])),
        # Two sequences, three units.
        (_normal(2, 12), _normal(2, 3, seed=1)),
    ]

    @wraps(solution)
    def step(mixed: Tensor, c: Tensor) -> dict[str, Tensor]:
        leaves = [mixed.requires_grad_(), c.requires_grad_()]
        given = [1 * one for one in leaves]  # as in the loop, what it gets was computed
        h, c = watch_arguments(solution, "numbers", "memory")(*given)
        return _with_gradients(h, c, leaves)

    def reference(mixed: Tensor, c: Tensor) -> dict[str, Tensor]:
        cell = nn.LSTMCell(mixed.shape[-1], c.shape[-1], bias=False, dtype=torch.float64)
        cell.weight_ih.data = torch.eye(mixed.shape[-1], dtype=torch.float64)
        cell.weight_hh.data.zero_()
        leaves = [mixed.double().requires_grad_(), c.double().requires_grad_()]
        h, c = cell(leaves[0], (torch.zeros_like(leaves[1]), leaves[1]))
        return _with_gradients(h, c, leaves)

    agree(step, reference, cases, tolerance=1e-5)


def _with_gradients(h: Tensor, c: Tensor, leaves: list[Tensor]) -> dict[str, Tensor]:
    """Return both, and the gradients of Σ h + 2 Σ c at what they were computed from."""
    found = {"h": h, "c": c}
    total = (h + 2 * c).sum()
    gradients: Sequence[Tensor | None] = [None, None]
    if total.requires_grad:
        gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    for name, leaf, gradient in zip(("mixed", "c"), leaves, gradients, strict=True):
        found[f"gradient at {name}"] = torch.zeros_like(leaf) if gradient is None else gradient
    # Rounded: a gradient of 1e-13 through a gate that is shut is nothing to look at.
    return {name: one.detach().round(decimals=9) for name, one in found.items()}


def _normal(*shape: int, seed: int = 42) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
