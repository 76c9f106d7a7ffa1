"""Checks for the exercises of notebook 07 on cheaper attention."""

from collections.abc import Callable
from math import log

import torch
from torch import Tensor

from coursekit.exercises.compare import agree


def check_average_log_sparse(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that gives each step the mean of the steps it reads in LogSparse.

    One series (T,) in, one out: step t reads itself and those 1, 2, 4, 8, … steps before.
    """

    def reference(x: Tensor) -> Tensor:
        means = []
        for t in range(len(x)):
            backs = [0, *(1 << j for j in range(t.bit_length()))]
            means.append(torch.stack([x[t - back] for back in backs]).mean())
        return torch.stack(means)

    cases = [
        (torch.tensor([8.0]),),
        (torch.tensor([1.0, 2.0, 4.0, 8.0]),),
        (torch.arange(1, 10).float().square(),),
        (torch.linspace(-1, 1, 37).sin(),),
    ]
    agree(solution, reference, cases)


def check_gap_to_uniform(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that says how far uniform shares are from those of scores (…, K).

    KL(uniform ‖ softmax of the scores) in nats, one number a row.
    """

    def reference(scores: Tensor) -> Tensor:
        highest = scores.amax(-1, keepdim=True)
        total = (scores - highest).exp().sum(-1).log()
        return total - (scores - highest).mean(-1) - log(scores.shape[-1])

    cases = [
        (torch.tensor([0.0, 0.0, 3.0]),),
        (torch.full((2, 4), 2.5),),
        (torch.tensor([[0.0, -4.0, 0.0, 0.0, 1.0], [5.0, 0.0, -9.0, 0.0, 2.0]]),),
        (torch.tensor([[400.0, 0.0], [-100.0, -99.0]]),),
    ]
    agree(solution, reference, cases, tolerance=1e-5)
