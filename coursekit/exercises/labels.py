"""Checks for the exercises of notebook 10c."""

from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from coursekit.evaluate.seeds import compare_means
from coursekit.exercises.compare import agree

LOWEST = 4
"""Ids below it are no words: padding, start, end and mask."""


def check_count_all(solution: Callable[[Tensor, int], Tensor]) -> None:
    """Check counts, as floats, of words and of pairs of neighbours."""
    cases = [
        (torch.tensor([[4, 5, 5]]), 6),
        (torch.tensor([[1, 4, 5, 5, 5, 4, 5]]), 6),
        (torch.tensor([[1, 5, 3, 5, 0, 0], [1, 5, 6, 5, 6, 4]]), 7),
    ]

    def reference(tokens: Tensor, size: int) -> Tensor:
        counts = torch.zeros(len(tokens), size + size**2)
        for row, text in zip(counts, tokens.tolist(), strict=True):
            for a in text:
                row[a] += a >= LOWEST
            for a, b in pairwise(text):
                row[size + a * size + b] += min(a, b) >= LOWEST
        return counts

    agree(solution, reference, cases, same_dtype=True)


def check_lead(solution: Callable[[Tensor, Tensor], tuple[float, float]]) -> None:
    """Check a lead of one mean over another, and its standard error."""
    cases = [
        (torch.tensor([90.0, 80.0]), torch.tensor([70.0, 70.0])),
        (torch.tensor([73.0, 83.0, 78.0, 87.0]), torch.tensor([90.0, 96.0, 80.0, 65.0])),
        (torch.tensor([95.0, 91.0, 97.0]), torch.tensor([74.0, 75.0, 77.0, 84.0])),
    ]

    def named(one: Callable[[Tensor, Tensor], tuple[float, float]]) -> Callable[..., Any]:
        @wraps(one)
        def both(a: Tensor, b: Tensor) -> Any:
            return dict(zip(("lead", "error"), one(a, b), strict=True))

        return both

    agree(named(solution), named(compare_means), cases, tolerance=1e-5)
