"""Checks for the exercises of notebook 02."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from coursekit.exercises.compare import agree
from coursekit.exercises.stub import is_stub


def check_gain(solution: Callable[[Callable[[Tensor], Tensor]], float]) -> None:
    """Check a function that returns the gain which a nonlinearity needs to keep a signal's size."""

    def double(z: Tensor) -> Tensor:
        return 2 * z

    points, weights = np.polynomial.hermite_e.hermegauss(200)

    def reference(nonlinearity: Callable[[Tensor], Tensor]) -> float:
        squares = nonlinearity(torch.from_numpy(points)).square().numpy()
        return float((weights @ squares / weights.sum()) ** -0.5)

    agree(solution, reference, [(torch.tanh,), (torch.relu,), (double,)], tolerance=5e-3)


def check_batch_norm(solution: Callable[..., Any]) -> None:
    """Check a class that is batch norm as a layer, called with a batch and whether it trains.

    A case gives the batches of training, the numbers to normalise after them, whether that is
    training, too, and the γ and β (`gamma`, `beta`) that the layer then has. In training, the
    gradients at the numbers, at γ and at β count as well.
    """
    first = torch.tensor([[1.0, 10.0], [3.0, 30.0], [8.0, 20.0]])
    second = torch.tensor([[2.0, -1.0], [0.0, 4.0], [7.0, 0.0]])
    none, ones, zeros = torch.zeros(0, 3, 2), torch.ones(2), torch.zeros(2)
    gamma, beta = torch.tensor([2.0, -1.0]), torch.tensor([0.5, 3.0])
    cases = [
        (none, first, True, ones, zeros, 0.1, 1e-5),
        (none, torch.tensor([[0.0, 1.0], [0.01, 1.02]]), True, ones, zeros, 0.1, 1e-5),
        (none, first, True, gamma, beta, 0.1, 0.01),
        (none, second, False, ones, zeros, 0.1, 1e-5),
        (first[None], torch.tensor([[2.0, 3.0]]), False, ones, zeros, 0.1, 1e-5),
        (torch.stack([first, second]), first, False, gamma, beta, 0.25, 1e-5),
        (0.1 * first[None, :2], first, False, ones, zeros, 1.0, 0.5),
    ]

    def build_and_call(
        batches: Tensor,
        last: Tensor,
        training: bool,
        gamma: Tensor,
        beta: Tensor,
        momentum: float,
        eps: float,
    ) -> dict[str, Tensor]:
        layer = solution(len(gamma), momentum, eps)
        trained = (getattr(layer, name, None) for name in ("gamma", "beta"))
        if not all(getattr(one, "requires_grad", True) for one in trained):
            raise ValueError("gamma and beta can't be trained: requires_grad is False")
        for batch in batches:
            layer(batch.clone().requires_grad_(), training=True)
            kept = (getattr(layer, name, None) for name in ("mean", "variance"))
            if any(getattr(one, "requires_grad", False) for one in kept):
                raise ValueError("its running statistics keep the graph of each batch: detach them")
        layer(torch.full((2, len(gamma)), 9.0), training=False)  # must leave no trace
        leaves = {"x": last.clone().requires_grad_()}
        if not (gamma.eq(1).all() and beta.eq(0).all()):  # else as they start
            leaves |= {"gamma": gamma.requires_grad_(), "beta": beta.requires_grad_()}
            layer.gamma, layer.beta = gamma, beta
        return with_gradients(layer(leaves["x"], training=training), leaves, training)

    def with_gradients(
        answer: Tensor, leaves: dict[str, Tensor], training: bool
    ) -> dict[str, Tensor]:
        found = {"output": answer.detach()}
        if training:
            weights = torch.arange(answer.numel()).view_as(answer) + 1.0
            gradients = torch.autograd.grad(
                (weights * answer**2).sum(),
                list(leaves.values()),
                allow_unused=True,
                materialize_grads=True,
            )
            found |= {f"gradient at {k}": g for k, g in zip(leaves, gradients, strict=True)}
        return found

    def reference(
        batches: Tensor,
        last: Tensor,
        training: bool,
        gamma: Tensor,
        beta: Tensor,
        momentum: float,
        eps: float,
    ) -> dict[str, Tensor]:
        mean, variance = torch.zeros(len(gamma)).double(), torch.ones(len(gamma)).double()
        for batch in batches:
            F.batch_norm(batch.double(), mean, variance, training=True, momentum=momentum)
        leaves = {"x": last.double().requires_grad_()}
        weight, bias = gamma.double().requires_grad_(), beta.double().requires_grad_()
        if not (gamma.eq(1).all() and beta.eq(0).all()):
            leaves |= {"gamma": weight, "beta": bias}
        x = leaves["x"]
        answer = F.batch_norm(x, mean, variance, weight, bias, training=training, eps=eps)
        return with_gradients(answer, leaves, training)

    build_and_call.__name__ = getattr(solution, "__name__", "your class")
    names = ("trained_on", "x", "training", "gamma", "beta", "momentum", "eps")
    ours = solution if is_stub(solution) else build_and_call
    agree(ours, reference, cases, tolerance=1e-4, names=names)


def fold_batch_norm(
    weights: Float[Tensor, "n d"],
    mean: Float[Tensor, " d"],
    variance: Float[Tensor, " d"],
    gamma: Float[Tensor, " d"],
    beta: Float[Tensor, " d"],
    eps: float = 1e-5,
) -> tuple[Float[Tensor, "n d"], Float[Tensor, " d"]]:
    """Fold a batch norm in evaluation into the matrix before it: return its matrix and bias.

    Args:
        weights: a column for each unit; the inputs stand on their left.
    """
    factor = gamma / (variance + eps).sqrt()
    return weights * factor, beta - mean * factor


def check_fold(solution: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Check a function that folds a trained batch norm into the matrix before it.

    A case gives the inputs that both are tried on, then what the function is called with.
    """
    x = torch.tensor([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]])
    square = torch.tensor([[0.5, -1.0], [2.0, 0.25]])
    ones, zeros = torch.ones(2), torch.zeros(2)
    tall = torch.tensor([[0.5, -1.0], [2.0, 0.25], [1.0, 3.0]])
    cases = [
        (x, square, zeros, torch.tensor([4.0, 0.25]), ones, zeros, 1e-5),
        (x, square, torch.tensor([3.0, -1.0]), ones, ones, zeros, 1e-5),
        (x, square, torch.tensor([3.0, -1.0]), ones, torch.tensor([2.0, 0.5]), ones, 1e-5),
        (x, square, zeros, torch.tensor([1e-5, 3e-5]), ones, zeros, 1e-5),
        (x @ tall.T, tall, zeros, ones, ones, zeros, 0.25),
        (x, square, torch.tensor([3.0, -1.0]), torch.tensor([4.0, 0.25]), ones, zeros, 1e-5),
        (x, square, torch.tensor([3.0, -1.0]), torch.tensor([4.0, 0.25]), ones, 2 * ones, 1e-5),
    ]

    def fold_and_apply(x: Tensor, weights: Tensor, *numbers: Tensor | float) -> Tensor:
        folded, bias = solution(weights, *numbers)
        return x @ folded + bias

    def reference(x: Tensor, weights: Tensor, *numbers: Tensor | float) -> Tensor:
        mean, variance, gamma, beta = (one.double() for one in numbers if isinstance(one, Tensor))
        z = (x @ weights).double()
        return F.batch_norm(z, mean, variance, gamma, beta, eps=float(numbers[-1]))

    fold_and_apply.__name__ = getattr(solution, "__name__", "your solution")
    agree(solution if is_stub(solution) else fold_and_apply, reference, cases, tolerance=1e-4)
