"""Checks for the first part of notebook 06: one query, causal shares, heads."""

from collections.abc import Callable

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


def check_share_past(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that turns scores (…, T, T) into shares of the present and the past."""

    def reference(scores: Tensor) -> Tensor:
        shares = torch.zeros_like(scores)
        for t in range(scores.shape[-1]):
            shares[..., t, : t + 1] = scores[..., t, : t + 1].softmax(-1)
        return shares

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


def _normal(*shape: int, seed: int = 42) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
