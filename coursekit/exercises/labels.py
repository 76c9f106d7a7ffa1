"""Checks for the exercises of notebook 10c."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from coursekit.evaluate.seeds import compare_means
from coursekit.exercises.compare import agree
from coursekit.models.encoder import POOLINGS, pool


def check_our_pool(solution: Callable[[Tensor, Tensor, str], Tensor]) -> None:
    """Check which vector stands for each text, padding aside."""
    vectors = torch.tensor(
        [[[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]], [[4.0, 0.0], [2.0, 2.0], [6.0, 7.0]]]
    )
    present = torch.tensor([[True, True, False], [True, True, True]])
    cases = [(vectors, present, pooling) for pooling in POOLINGS]
    agree(solution, pool, [*cases, (vectors[:1], present[:1], "last")])


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
