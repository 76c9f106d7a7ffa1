"""Checks for the exercises of notebook 06."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from coursekit.exercises.compare import agree


def check_ask(solution: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """Check a function that mixes values (S, E) by how well keys (S, D) answer a query (D,)."""

    def reference(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        weights = [torch.exp(query @ key / len(query) ** 0.5) for key in keys]
        return sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)

    cases = [
        # One channel: no division is seen yet.
        (torch.tensor([1.0]), torch.tensor([[0.0], [2.0]]), torch.tensor([[1.0], [3.0]])),
        # Four channels, with more keys than channels of a value.
        (torch.tensor([2.0, 0.0, -1.0, 1.0]), _normal(3, 4), _normal(3, 2, seed=1)),
        (_normal(2), _normal(5, 2, seed=2), _normal(5, 3, seed=3)),
        # A single key gets everything.
        (_normal(3), _normal(1, 3, seed=4), torch.tensor([[7.0, -7.0]])),
    ]
    agree(solution, reference, cases, tolerance=1e-5)


def check_causal_weights(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that turns scores (…, T, T) into weights of the present and the past."""

    def reference(scores: Tensor) -> Tensor:
        weights = torch.zeros_like(scores)
        for t in range(scores.shape[-1]):
            weights[..., t, : t + 1] = scores[..., t, : t + 1].softmax(-1)
        return weights

    infinite = torch.tensor([[0.0, torch.inf], [1.0, 1.0]])
    cases = [
        (torch.zeros(3, 3),),
        (torch.tensor([[5.0, 9.0], [1.0, 3.0]]),),
        (_normal(2, 4, 4),),
        (infinite,),
    ]
    agree(solution, reference, cases, tolerance=1e-6)


def check_split_heads(solution: Callable[[Tensor, int], Tensor]) -> None:
    """Check a function that cuts the channels into heads: (B, T, C) to (B, H, T, D)."""

    def reference(x: Tensor, n_head: int) -> Tensor:
        return torch.stack(x.chunk(n_head, -1), 1)

    cases = [
        (torch.arange(4.0).view(1, 1, 4), 2),
        (torch.arange(12.0).view(1, 3, 4), 2),
        (torch.arange(60.0).view(2, 5, 6), 3),
    ]
    agree(solution, reference, cases)


def check_lr_at(solution: Callable[[Sequence[int], int, int, float], Tensor]) -> None:
    """Check a function that gives the learning rate at each of some steps.

    Up in a line over the first `warm` steps, down along half a cosine to 0 at `end`, then 0.
    """

    def reference(steps: Sequence[int], warm: int, end: int, top: float) -> Tensor:
        lrs = []
        for step in steps:
            done = min(max((step - warm) / (end - warm), 0), 1)
            rise = step + 1 <= warm
            lrs.append(top * ((step + 1) / warm if rise else (1 + math.cos(math.pi * done)) / 2))
        return torch.tensor(lrs, dtype=torch.float64)

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


def _normal(*shape: int, seed: int = 42) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
