"""Check for the exercise of notebook 10d."""

from collections.abc import Callable

import torch
from torch import Tensor

from coursekit.evaluate.likelihood import NO_TARGET
from coursekit.exercises.compare import agree, watch_arguments

LOWEST = 4
"""Ids below it are no words: padding, start, end and mask."""


def check_next_targets(solution: Callable[[Tensor], Tensor]) -> None:
    """Check the targets of a causal model: the next word at each position."""
    cases = [
        (torch.tensor([[1, 7, 9, 4]]),),
        (torch.tensor([[1, 7, 9, 0, 0], [1, 5, 3, 8, 6]]),),
        (torch.tensor([[4], [9], [0]]),),
    ]

    def reference(tokens: Tensor) -> Tensor:
        rows = [[*text[1:], 0] for text in tokens.tolist()]
        return torch.tensor([[one if one >= LOWEST else NO_TARGET for one in row] for row in rows])

    agree(watch_arguments(solution, "tokens"), reference, cases, same_dtype=True)
