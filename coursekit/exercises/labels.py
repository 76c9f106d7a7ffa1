"""Checks for the exercises of notebook 10c."""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from coursekit.exercises.compare import agree, draw_quarters

LOWEST = 4
"""Ids below it are no words: padding, start, end and mask."""


def check_last_vector(solution: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check a function that picks each text's last vector that is not padding's."""
    g = torch.Generator().manual_seed(10)
    lengths = torch.tensor([[3], [2]]), torch.tensor([[1], [4], [3]])
    cases = [
        (draw_quarters(g, 1, 3, 2), torch.ones(1, 3, dtype=torch.bool)),
        (draw_quarters(g, 2, 3, 2), torch.arange(3) < lengths[0]),
        (draw_quarters(g, 3, 4, 1), torch.arange(4) < lengths[1]),
    ]

    def reference(vectors: Tensor, present: Tensor) -> Tensor:
        pairs = zip(vectors, present, strict=True)
        return torch.stack([text[here][-1] for text, here in pairs])

    agree(solution, reference, cases)


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
