"""Checks for the exercises of notebook 07."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from coursekit.exercises.compare import agree


def check_join_history(solution: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check a function that joins each step's covariates to the value of the step before."""

    def reference(z: Tensor, x: Tensor) -> Tensor:
        joined = torch.zeros(*z.shape, x.shape[-1] + 1)
        for t in range(z.shape[1]):
            joined[:, t, 0] = z[:, t - 1] if t else 0.0
            joined[:, t, 1:] = x[:, t]
        return joined

    cases = [
        (torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[[7.0], [8.0], [9.0]]])),
        (_draw(3, 4), _draw(3, 4, 2, seed=1)),
    ]
    agree(solution, reference, cases)


def check_rotate_code(solution: Callable[[Tensor, int], Tensor]) -> None:
    """Check a function that turns the sinusoidal code of a position into that of a later one."""

    def reference(code: Tensor, steps: int) -> Tensor:
        turned, width = torch.empty_like(code), len(code)
        for i in range(width // 2):
            angle = steps / 10_000 ** (2 * i / width)
            sine, cosine = code[2 * i], code[2 * i + 1]
            turned[2 * i] = sine * math.cos(angle) + cosine * math.sin(angle)
            turned[2 * i + 1] = cosine * math.cos(angle) - sine * math.sin(angle)
        return turned

    cases = [
        (torch.tensor([0.0, 1.0]), 1),
        (torch.tensor([0.0, 1.0, 0.0, 1.0]), 7),
        (torch.tensor([0.6, 0.8, -0.8, 0.6, 0.28, 0.96]), 0),
        (torch.tensor([0.6, 0.8, -0.8, 0.6]), -3),
    ]
    agree(solution, reference, cases, tolerance=1e-5)


def check_compare_stretches(solution: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check a function that weighs each value and those before it, lag by lag."""

    def reference(x: Tensor, lags: Tensor) -> Tensor:
        mixed = torch.zeros_like(x)
        for t in range(len(x)):
            for i in range(min(len(lags), t + 1)):
                mixed[t] += x[t - i] * lags[i]
        return mixed

    cases = [
        (torch.tensor([1.0, 2.0, 4.0, 8.0]), torch.tensor([1.0, 10.0, 100.0])),
        (torch.tensor([3.0, 5.0]), torch.tensor([2.0])),
        (torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.5, 0.25])),
    ]
    agree(solution, reference, cases)


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
    """Check a function that says how far uniform weights are from those of scores (…, K).

    KL(uniform ‖ softmax of the scores) in nats, one number a row.
    """

    def reference(scores: Tensor) -> Tensor:
        highest = scores.amax(-1, keepdim=True)
        total = (scores - highest).exp().sum(-1).log()
        return total - (scores - highest).mean(-1) - math.log(scores.shape[-1])

    cases = [
        (torch.tensor([0.0, 0.0, 3.0]),),
        (torch.full((2, 4), 2.5),),
        (torch.tensor([[0.0, -4.0, 0.0, 0.0, 1.0], [5.0, 0.0, -9.0, 0.0, 2.0]]),),
        (torch.tensor([[400.0, 0.0], [-100.0, -99.0]]),),
    ]
    agree(solution, reference, cases, tolerance=1e-5)


def _draw(*shape: int, seed: int = 42) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
