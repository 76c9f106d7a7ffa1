"""Checks for the exercises of notebook 10e, and the gap until the reader has written one."""

from collections.abc import Callable

import torch
from jaxtyping import Shaped
from torch import Tensor

from coursekit.exercises.compare import agree, watch_arguments


def insert_gap(x: Shaped[Tensor, "N T"], at: int, fill: int) -> Shaped[Tensor, "N T+1"]:
    """Return a table with one more column, number `at`, all `fill`, and of the same type.

    Example:
        >>> insert_gap(torch.tensor([[1, 5, 6]]), 1, 0)
        tensor([[1, 0, 5, 6]])
    """
    gap = torch.full_like(x[:, :1], fill)
    return torch.cat([x[:, :at], gap, x[:, at:]], 1)


def check_leave_gap(solution: Callable[[Tensor, int, int], Tensor]) -> None:
    """Check a gap at some position, in tokens and in what says where they are."""
    cases = [
        (torch.tensor([[1, 7, 5]]), 1, 0),
        (torch.tensor([[1, 7, 5, 4], [1, 8, 4, 0]]), 3, 2),
        (torch.tensor([[True, True, True], [True, True, False]]), 1, False),
        (torch.tensor([[1, 7]]), 2, 0),
    ]
    agree(watch_arguments(solution, "x"), insert_gap, cases, same_dtype=True)
