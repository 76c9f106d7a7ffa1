"""Checks for the exercises of notebook 10b."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

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


class _Summing:
    """Names the sum of all that was read and written, modulo 7: it needs each token of both."""

    def __repr__(self) -> str:
        return "model"

    def __call__(self, source: Tensor, written: Tensor, present: Tensor) -> Tensor:
        read = source.masked_fill(~present, 0).sum(1, keepdim=True)
        return F.one_hot((read + written.cumsum(1)) % 7, 7).float()


def check_answer_greedily(solution: Callable[..., Tensor]) -> None:
    """Check a function that writes the likeliest token, step by step, and feeds it back in."""
    one = torch.tensor([[3, 5]])
    two = torch.tensor([[3, 5, 0], [4, 6, 6]])
    padded = torch.tensor([[True, True, False], [True, False, False]])
    cases = [
        (one, one > 0, _Summing(), 1, 3),
        (one, one > 0, _Summing(), 2, 1),
        (two, padded, _Summing(), 1, 4),
    ]

    def reference(
        source: Tensor, present: Tensor, model: _Summing, start: int, steps: int
    ) -> Tensor:
        rows = []
        for read, there in zip(source, present, strict=True):
            total, row = start + int(read[there].sum()), []
            for _ in range(steps):
                row.append(total % 7)
                total += row[-1]
            rows.append(row)
        return torch.tensor(rows)

    agree(solution, reference, cases)
