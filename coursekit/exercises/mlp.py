"""Checks for the exercises of notebook 02."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from coursekit.exercises.compare import agree


def check_first_loss(solution: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check a function that returns the mean loss, in nats, of logits for the right tokens."""
    cases = [
        (torch.zeros(2, 3), torch.tensor([0, 2])),
        (torch.tensor([[1.0, 2.0, 4.0], [0.0, -1.0, 3.0]]), torch.tensor([2, 1])),
        (torch.tensor([[1000.0, 0.0], [0.0, 1000.0], [0.0, 1.0]]), torch.tensor([0, 0, 1])),
    ]
    agree(solution, lambda logits, targets: F.cross_entropy(logits, targets).item(), cases)


def check_passed_back(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that returns the mean derivative of each tanh unit, from its outputs."""
    cases = [
        (torch.tensor([[0.0, 0.5], [1.0, -0.5]]),),
        (torch.tensor([[0.2, 1.0, -0.3, 0.0], [0.4, 1.0, 0.6, -1.0], [-0.7, 1.0, 0.8, 0.5]]),),
    ]

    def reference(h: Tensor) -> Tensor:
        """Let autograd find the derivative at the input that gives each output."""
        x = h.double().atanh().clamp(-50, 50).requires_grad_()
        (derivative,) = torch.autograd.grad(x.tanh().sum(), x)
        return derivative.mean(0)

    agree(solution, reference, cases)


def check_normalise_batch(solution: Callable[[Tensor, float], Tensor]) -> None:
    """Check a function that normalises the columns of a batch as batch norm does in training."""
    cases = [
        (torch.tensor([[1.0, 10.0], [3.0, 30.0], [8.0, 20.0]]), 1e-5),
        (torch.tensor([[0.0, 1.0, 2.0], [0.01, -1.0, 7.0]]), 1e-3),
    ]

    def reference(x: Tensor, eps: float) -> Tensor:
        return F.batch_norm(x.double(), None, None, training=True, eps=eps)

    agree(solution, reference, cases, tolerance=1e-5)


def check_remember(solution: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    """Check a function that moves a running variance towards that of a batch."""
    cases = [
        (torch.ones(2), torch.tensor([[1.0, 10.0], [3.0, 30.0]]), 0.1),
        (torch.tensor([4.0, 0.5, 2.0]), torch.tensor([[1.0, 2.0, 3.0], [2.0, 2.0, 9.0]]), 0.3),
        (torch.zeros(2), torch.tensor([[1.0, 7.0], [2.0, 5.0], [6.0, 0.0], [3.0, 1.0]]), 1.0),
    ]

    def reference(running: Tensor, x: Tensor, momentum: float) -> Tensor:
        running = running.double()
        F.batch_norm(
            x.double(), torch.zeros_like(running), running, training=True, momentum=momentum
        )
        return running

    agree(solution, reference, cases)


def check_update_ratio(solution: Callable[[Tensor, Tensor], float]) -> None:
    """Check a function that compares the size of a step with that of the weights."""
    cases = [
        (torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.1, 2.0, 3.7])),
        (torch.tensor([[10.0, -10.0], [3.0, 0.0]]), torch.tensor([[10.01, -10.0], [3.0, 0.02]])),
    ]

    def reference(before: Tensor, after: Tensor) -> float:
        return ((after - before).std() / before.std()).log10().item()

    agree(solution, reference, cases, tolerance=1e-5)
