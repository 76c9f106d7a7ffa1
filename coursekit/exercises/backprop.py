"""Checks for the exercises of notebook 03: each is one gradient, and autograd is the judge."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from coursekit.exercises.compare import agree


def check_dhpreact(solution: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check a gradient through tanh: of the inputs, from that of the outputs and the outputs."""

    def reference(dh: Tensor, h: Tensor) -> Tensor:
        x = h.double().atanh().requires_grad_()
        return torch.autograd.grad(x.tanh(), x, dh.double())[0]

    cases = [
        (torch.tensor([[1.0, -2.0]]), torch.tensor([[0.5, 0.1]])),
        (torch.tensor([[3.0, 1.0, 0.5], [0.2, -1.0, 2.0]]), torch.tensor([[0.9, -0.9, 0.0]] * 2)),
    ]
    agree(solution, reference, cases)


def check_dcount_sum(solution: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check the gradient at the row sums s of `counts / s`, from that of the quotient."""

    def reference(dprobs: Tensor, counts: Tensor) -> Tensor:
        count_sum = counts.double().sum(1, keepdim=True).requires_grad_()
        return torch.autograd.grad(counts / count_sum, count_sum, dprobs.double())[0]

    cases = [
        (torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 1.0]])),
        (
            torch.tensor([[1.0, 0.0, -1.0], [2.0, 1.0, 0.5]]),
            torch.tensor([[1.0, 2.0, 4.0], [3.0, 0.5, 2.0]]),
        ),
    ]
    agree(solution, reference, cases)


def check_dlogits(solution: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check the gradient of the mean softmax loss at the logits."""

    def reference(logits: Tensor, targets: Tensor) -> Tensor:
        logits = logits.double().requires_grad_()
        return torch.autograd.grad(F.cross_entropy(logits, targets), logits)[0]

    cases = [
        (torch.tensor([[0.0, 1.0, 2.0]]), torch.tensor([1])),
        (torch.tensor([[0.0, 1.0], [3.0, -1.0], [0.5, 0.5]]), torch.tensor([0, 1, 1])),
        (torch.tensor([[500.0, 0.0, 1.0, 2.0], [0.0, 1.0, 500.0, 3.0]]), torch.tensor([1, 2])),
    ]
    agree(solution, reference, cases)


def check_dvariance(solution: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """Check the gradient at the variance of `centred / sqrt(variance + 1e-5)`."""

    def reference(dxhat: Tensor, centred: Tensor, variance: Tensor) -> Tensor:
        variance = variance.double().requires_grad_()
        xhat = centred * (variance + 1e-5) ** -0.5
        return torch.autograd.grad(xhat, variance, dxhat.double())[0]

    cases = [
        (torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [-1.0]]), torch.tensor([2.0])),
        (
            torch.tensor([[1.0, 0.5], [0.3, -1.0], [2.0, 1.0]]),
            torch.tensor([[1.0, 4.0], [-3.0, -1.0], [2.0, -3.0]]),
            torch.tensor([7.0, 13.0]),
        ),
        (torch.ones(2, 3), torch.tensor([[0.1, 1.0, 9.0]] * 2), torch.tensor([0.02, 1.0, 81.0])),
    ]
    agree(solution, reference, cases, tolerance=1e-5)


def check_dtable(solution: Callable[[Tensor, Tensor, int], Tensor]) -> None:
    """Check the gradient at a table, from the gradients at the rows that were looked up."""

    def reference(drows: Tensor, tokens: Tensor, vocab_size: int) -> Tensor:
        table = torch.zeros(vocab_size, drows.shape[-1], dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(table[tokens], table, drows.double())[0]

    one = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    cases = [
        (one, torch.tensor([[0, 2]]), 3),
        (one, torch.tensor([[1, 1]]), 4),
        (torch.arange(12.0).view(3, 2, 2), torch.tensor([[0, 4], [4, 4], [2, 0]]), 5),
    ]
    agree(solution, reference, cases)
