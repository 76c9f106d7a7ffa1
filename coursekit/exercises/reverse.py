"""Checks for the exercises of notebook 10b."""

from collections.abc import Callable

import torch
from torch import Tensor

from coursekit.exercises.compare import agree


def check_shift_and_start(solution: Callable[[Tensor, int], Tensor]) -> None:
    """Check a function that returns what a decoder reads while it learns to write its targets."""
    cases = [
        (torch.tensor([[5, 6, 7], [8, 9, 2]]), 1),
        (torch.tensor([[4, 5, 6, 7]]), 3),
        (torch.tensor([[4], [5]]), 1),
    ]

    def reference(targets: Tensor, start: int) -> Tensor:
        return torch.tensor([[start, *row[:-1]] for row in targets.tolist()])

    agree(solution, reference, cases)
