"""Checks for the exercises of notebook 10d."""

from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor

from coursekit.exercises.compare import agree, draw_quarters
from coursekit.models.bag import latent_lists


def check_word_lists(solution: Callable[[Tensor, int], Tensor]) -> None:
    """Check lists of words that occur together; their signs are free."""
    g = torch.Generator().manual_seed(10)
    cases = [
        (torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 3, 1], [0, 0, 1]]), 1),
        (torch.tensor([[2.0, 1, 0, 0], [1, 0, 0, 3], [1, 1, 0, 0]]), 2),
        (draw_quarters(g, 7, 5).abs().round(), 3),
    ]

    @wraps(solution)
    def signed(counts: Tensor, n: int) -> Tensor:
        lists = solution(counts, n)
        if not isinstance(lists, Tensor):
            raise TypeError(f"return a tensor, not {type(lists).__name__}")
        if lists.shape != (counts.shape[1], n):
            raise ValueError(f"its shape is {tuple(lists.shape)}, not {(counts.shape[1], n)}")
        signs = lists.gather(0, lists.abs().argmax(0, keepdim=True)).sign()
        return lists * signs  # the largest of each list is positive

    def reference(counts: Tensor, n: int) -> Tensor:
        lists = latent_lists(counts, n)
        return lists * lists.gather(0, lists.abs().argmax(0, keepdim=True)).sign()

    agree(signed, reference, cases, tolerance=1e-4)
