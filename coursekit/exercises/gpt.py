"""Checks for the exercises on training and sampling in notebook 06."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from coursekit.exercises.compare import agree


def check_rates_at(solution: Callable[[Sequence[int], int, int, float], Tensor]) -> None:
    """Check a function that gives the learning rate at each of some steps.

    Up in a line over the first `warm` steps, down along half a cosine to 0 at `end`, then 0.
    """

    def reference(steps: Sequence[int], warm: int, end: int, top: float) -> Tensor:
        rates = []
        for step in steps:
            done = min(max((step - warm) / (end - warm), 0), 1)
            rise = step + 1 <= warm
            rates.append(top * ((step + 1) / warm if rise else (1 + math.cos(math.pi * done)) / 2))
        return torch.tensor(rates, dtype=torch.float64)

    cases = [
        ([0, 1, 3, 4], 4, 12, 1.0),
        ([4, 6, 8, 12], 4, 12, 0.5),
        ([0, 5, 10], 0, 10, 1.0),
        ([10, 15, 100], 2, 10, 3.0),
    ]
    agree(solution, reference, cases)


def check_keep_likeliest(solution: Callable[[Tensor, int], Tensor]) -> None:
    """Check a function that rules out all but the k likeliest tokens of each row of logits."""

    def reference(logits: Tensor, k: int) -> Tensor:
        kept = torch.full_like(logits, -torch.inf)
        for row, new in zip(logits, kept, strict=True):
            for token in row.sort(descending=True).indices[:k]:
                new[token] = row[token]
        return kept

    cases = [
        (torch.tensor([[1.0, 3.0, 2.0]]), 2),
        (torch.tensor([[0.0, -5.0, -1.0, -2.0], [7.0, 8.0, 9.0, 6.0]]), 1),
        (torch.tensor([[2.0, 1.0]]), 5),
    ]
    agree(solution, reference, cases)


def check_perplexity_of_parts(solution: Callable[[Sequence[float], Sequence[int]], float]) -> None:
    """Check a function that joins the mean losses of parts of a text to one perplexity."""

    def reference(losses: Sequence[float], sizes: Sequence[int]) -> float:
        total = sum(loss * n for loss, n in zip(losses, sizes, strict=True))
        return math.exp(total / sum(sizes))

    cases = [
        ([0.0], [3]),
        ([1.0, 3.0], [64, 64]),
        ([1.0, 3.0], [64, 2]),
        ([2.0, 0.5, 2.5], [5, 0, 1]),
    ]
    agree(solution, reference, cases)
