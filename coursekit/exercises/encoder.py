"""Checks for the exercises of notebook 10."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

from coursekit.exercises.compare import agree

SPECIAL = 4
"""Ids below it are no words: padding, start, end and mask."""
MASK = 3


def check_is_attention(solution: Callable[[Tensor], bool]) -> None:
    """Check a function that says whether numbers can be attention weights."""
    cases = [
        (torch.tensor([0.25, 0.5, 0.25]),),
        (torch.tensor([0.0, 1.0, 0.0]),),
        (torch.tensor([0.0, -3.0, 0.0]),),
        (torch.tensor([1.5, -0.5, 0.0]),),
        (torch.tensor([0.5, -0.5, 0.0]),),
        (torch.tensor([0.5, 0.6, 0.0]),),
        (torch.tensor([0.25, 0.5, 0.0]),),
        (torch.full((10,), 0.1),),
    ]

    def reference(weights: Tensor) -> bool:
        return bool(weights.min() >= 0 and abs(weights.sum() - 1) < 1e-6)

    agree(solution, reference, cases)


def check_our_attention(solution: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """Check attention that reads whatever is allowed, before and after."""
    q = torch.tensor([[[[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]]]])
    k = torch.tensor([[[[2.0, 1.0], [1.0, -1.0], [0.0, 1.0]]]])
    v = torch.tensor([[[[10.0, 1.0], [20.0, 2.0], [30.0, 4.0]]]])
    everything = torch.ones(1, 1, 3, 3, dtype=torch.bool)
    first_two = torch.tensor([True, True, False]).expand(1, 1, 3, 3)
    cases = [(q, k, v, everything), (q, k, v, first_two), (-9 * q, k, v, first_two)]
    agree(solution, F.scaled_dot_product_attention, cases)


def check_allowed_steps(solution: Callable[[Tensor, int], Tensor]) -> None:
    """Check a function that says which steps may be read, from the lengths of texts."""
    cases = [
        (torch.tensor([2, 3]), 3),
        (torch.tensor([1]), 4),
        (torch.tensor([4, 4]), 4),
        (torch.tensor([3, 1, 2]), 5),
    ]

    def reference(lengths: Tensor, n_step: int) -> Tensor:
        allowed = torch.zeros(len(lengths), 1, n_step, n_step, dtype=torch.bool)
        for row, length in enumerate(lengths.tolist()):
            allowed[row, :, :, :length] = True
        return allowed

    agree(solution, reference, cases)


def check_hide_tokens(
    solution: Callable[[Tensor, Tensor, Tensor, Tensor], Mapping[str, Tensor]],
) -> None:
    """Check a function that hides tokens as the rule of 15, 80, 10 and 10 per cent says.

    A case gives tokens, two numbers between 0 and 1 for each, and the token drawn for each.
    """
    tokens = torch.tensor([[1, 7, 8, 9, 5, 6]])
    lot = torch.tensor([[0.9, 0.1, 0.1, 0.1, 0.5, 0.2]])
    kind = torch.tensor([[0.5, 0.1, 0.85, 0.95, 0.1, 0.85]])
    drawn = torch.tensor([[4, 5, 6, 7, 8, 9]])
    cases = [
        (tokens, torch.full((1, 6), 0.5), kind, drawn),
        (tokens, lot, torch.zeros(1, 6), drawn),
        (tokens, lot, kind, drawn),
        (torch.tensor([[1, 7, 2, 0, 4, 3]]), torch.zeros(1, 6), kind, drawn),
        (tokens, torch.tensor([[0.15, 0.149, 0.16, 0.0, 1.0, 1.0]]), torch.zeros(1, 6), drawn),
        (tokens, torch.zeros(1, 6), torch.tensor([[0.5, 0.8, 0.79, 0.9, 0.89, 0.91]]), drawn),
    ]

    def reference(tokens: Tensor, lot: Tensor, kind: Tensor, drawn: Tensor) -> dict[str, Tensor]:
        inputs, targets = tokens.clone(), torch.full_like(tokens, -100)
        for i, token in enumerate(tokens[0].tolist()):
            if token < SPECIAL or not lot[0, i] < 0.15:
                continue
            targets[0, i] = token
            if kind[0, i] < 0.8:
                inputs[0, i] = MASK
            elif kind[0, i] < 0.9:
                inputs[0, i] = drawn[0, i]
        return {"inputs": inputs, "targets": targets}

    agree(solution, reference, cases)
