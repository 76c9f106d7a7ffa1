"""Checks for the exercises of notebook 00."""

import math
from collections.abc import Callable, Sequence
from functools import wraps
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from coursekit.exercises.compare import agree


def check_centre_rows(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that subtracts from each number of a table the mean of its row."""
    cases = [
        (torch.tensor([[1.0, 3.0], [5.0, 11.0]]),),  # square: a wrong axis raises nothing
        (torch.tensor([[10.0, 14.0, 18.0], [20.0, 20.0, 26.0]]),),
    ]
    agree(solution, lambda temps: temps - temps.mean(1, keepdim=True), cases)


def check_exp(solution: Callable[[Any], Any]) -> None:
    """Check an operation on values that returns e to the power of its input."""
    agree(_noted_by(solution), _noted(torch.exp), [([0.0],), ([2.0],)])


def check_log(solution: Callable[[Any], Any]) -> None:
    """Check an operation on values that returns the natural logarithm of its input."""
    agree(_noted_by(solution), _noted(torch.log), [([1.0],), ([4.0],)])


def check_divide(solution: Callable[[Any, Any], Any]) -> None:
    """Check an operation on values that returns the first input divided by the second."""
    agree(_noted_by(solution), _noted(torch.div), [([6.0, 2.0],), ([-1.0, 4.0],)])


def check_train_neuron(solution: Callable[..., Sequence[float]]) -> None:
    """Check a function that trains the weight and the bias of one tanh neuron."""

    @wraps(solution)
    def named(*arguments: Any) -> Any:
        """Name the two numbers, so that the first that differs is named, too."""
        answer = solution(*arguments)
        return answer if answer is None else dict(zip(["weight", "bias"], answer, strict=True))

    def reference(
        xs: list[float], ys: list[float], weight: float, bias: float, lr: float, steps: int
    ) -> dict[str, float]:
        for _ in range(steps):
            dweight = dbias = 0.0
            for x, y in zip(xs, ys, strict=True):
                h = math.tanh(weight * x + bias)
                dweight += 2 * (h - y) * (1 - h * h) * x / len(xs)
                dbias += 2 * (h - y) * (1 - h * h) / len(xs)
            weight, bias = weight - lr * dweight, bias - lr * dbias
        return {"weight": weight, "bias": bias}

    cases = [
        ([2.0], [0.8], -0.5, 0.5, 0.1, 1),
        ([-1.0, 0.5], [-0.9, 0.2], 0.3, 0.0, 0.5, 1),
        ([-1.0, 0.0, 2.0], [-0.5, 0.1, 0.9], 0.1, -0.2, 0.2, 3),
    ]
    agree(named, reference, cases)


def _noted_by(solution: Callable[..., Any]) -> Callable[[list[float]], Any]:
    """Call an operation with values of the reader's own class, and read what its result notes.

    An operation may be made of others: what counts is the sum over all paths to each input.
    """
    make = getattr(solution, "__globals__", {}).get("Value", SimpleNamespace)

    @wraps(solution)
    def call(numbers: list[float]) -> dict[str, Any]:
        inputs = [make(data=number, inputs=()) for number in numbers]
        answer = solution(*inputs)
        if not hasattr(answer, "data") or not hasattr(answer, "inputs"):
            raise TypeError(f"return a Value with its inputs, not {type(answer).__name__}")
        derivatives: list[Any] = [0.0 for _ in inputs]
        _push(answer, 1.0, inputs, derivatives)
        named = {f"derivative by input {n}": d for n, d in enumerate(derivatives, 1)}
        return {"its number": answer.data} | named

    return call


def _push(value: Any, derivative: Any, inputs: list[Any], derivatives: list[Any]) -> None:
    """Add to each input what reaches it along every path from a value."""
    for n, one in enumerate(inputs):
        if value is one:
            derivatives[n] += derivative
    for pair in value.inputs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("its inputs are pairs: a value, and the local derivative")
        source, local = pair
        _push(source, derivative * local, inputs, derivatives)


def _noted(operation: Callable[..., Tensor]) -> Callable[[list[float]], dict[str, float]]:
    """Let autograd say what the result of an operation should note."""

    def call(numbers: list[float]) -> dict[str, float]:
        inputs = [torch.tensor(n, dtype=torch.float64, requires_grad=True) for n in numbers]
        answer = operation(*inputs)
        gradients = torch.autograd.grad(answer, inputs)
        noted = {"its number": answer.item()}
        for position, gradient in enumerate(gradients, 1):
            noted[f"derivative by input {position}"] = gradient.item()
        return noted

    return call
