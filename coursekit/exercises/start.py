"""Checks for the exercises of notebook 00, and a backward pass until the reader has written one."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from coursekit.exercises.compare import agree, watch_arguments

EXACT = 1e-13
"""What rounding in float64 leaves, and no quotient of differences reaches."""


def check_centre_rows(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that subtracts from each number of a table the mean of its row."""
    cases = [
        (torch.tensor([[1.0, 3.0], [5.0, 11.0]]),),  # square: a wrong axis raises nothing
        (torch.tensor([[10.5, 14.0, 18.0, 11.5], [20.0, 20.0, 26.0, 18.0], [1.0, 2.0, 4.0, 3.0]]),),
    ]
    agree(
        watch_arguments(solution, "table"), lambda temps: temps - temps.mean(1, keepdim=True), cases
    )


def walk_back(result: Any) -> None:
    """Set the gradient of a result, which is 1, and of every value that it was computed from.

    Each value waits until all that use it have reported, and then passes its gradient on, once.
    """
    uses = _count_uses(result)
    for value in uses:
        value.grad = 0.0
    result.grad = 1.0
    ready = [result]
    while ready:
        value = ready.pop()
        for source, local in value.inputs:
            source.grad += local * value.grad
            uses[source] -= 1
            if uses[source] == 0:
                ready.append(source)


def _count_uses(result: Any) -> dict[Any, int]:
    """Count for each value that a result was computed from how often it was used."""
    uses, waiting = {result: 0}, [result]
    while waiting:
        for source, _ in waiting.pop().inputs:
            if source not in uses:
                uses[source] = 0
                waiting.append(source)
            uses[source] += 1
    return uses


def check_backward(solution: Callable[[Any], None]) -> None:
    """Check a function that sets the gradient of every value that a result was computed from.

    A case is the computation, line by line; its last value is the result. All paths, each walked
    on its own as by the lesson's `push`, are the judge.
    """
    make = _class_of(solution)

    @wraps(solution)
    def left_by_solution(lines: list[str]) -> dict[str, Any]:
        named = _compute(lines, make, solution)
        result = [*named.values()][-1]
        _watch(result)
        solution(result)
        return {f"{name}.grad": value.grad for name, value in named.items()}

    def left_by_push(lines: list[str]) -> dict[str, Any]:
        named = _compute(lines, _Value, lambda result: None)
        reached = _push([*named.values()][-1])
        return {f"{name}.grad": reached[id(value)] for name, value in named.items()}

    cases = [
        (["a = 3", "b = 4", "c = a * b"],),
        (["a = 3", "b = a * a"],),
        (["a = 2", "b = a * a", "c = b * b", "d = b + a", "e = d + a", "f = e + a", "g = f * c"],),
        (["a = 3", "b = a * a", "b.backward()", "c = b + a"],),
        (["a = 1", "b = a + a", "15 times: b = b + b"],),
        (["a = 1", "b = a + a", "3000 times: b = b + a"],),
    ]
    agree(left_by_solution, left_by_push, cases)


def check_exp(solution: Callable[[Any], Any]) -> None:
    """Check an operation on values that returns e to the power of its input."""
    agree(_noted_by(solution), _noted(torch.exp), [([0.0],), ([2.0],)], tolerance=EXACT)


def check_log(solution: Callable[[Any], Any]) -> None:
    """Check an operation on values that returns the natural logarithm of its input."""
    agree(_noted_by(solution), _noted(torch.log), [([1.0],), ([4.0],)], tolerance=EXACT)


def check_divide(solution: Callable[[Any, Any], Any]) -> None:
    """Check an operation on values that returns the first input divided by the second."""
    cases = [([6.0, 2.0],), ([-1.0, 4.0],), ([3.0, -2.0],)]
    agree(_noted_by(solution), _noted(torch.div), cases, tolerance=EXACT)


def check_train_neuron(solution: Callable[..., Sequence[float]]) -> None:
    """Check a function that trains the weight and the bias of one tanh neuron.

    Gradients by finite differences are not near enough.
    """

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
    agree(named, reference, cases, tolerance=EXACT)


class _Value:
    """A number and its inputs, where a solution has no class of its own."""

    def __init__(self, data: float, inputs: Sequence[Any] = ()) -> None:
        self.data = data
        self.inputs = inputs
        self.grad = 0.0


def _class_of(solution: Callable[..., Any]) -> Callable[..., Any]:
    """Return the class of values that a solution works with: the reader's, if there is one."""
    make: Callable[..., Any] = getattr(solution, "__globals__", {}).get("Value", _Value)
    return make


def _compute(
    lines: Sequence[str], make: Callable[..., Any], backward: Callable[[Any], None]
) -> dict[str, Any]:
    """Compute line by line, and return the values by name; only the newest is ever replaced.

    A line is such as "a = 3", "b = a * a", "20 times: b = b + a", or "b.backward()".
    """
    named: dict[str, Any] = {}
    for line in lines:
        times, _, formula = line.rpartition(" times: ")
        name, is_formula, right = formula.partition(" = ")
        if not is_formula:
            backward(named[name.removesuffix(".backward()")])
            continue
        for _ in range(int(times or 1)):
            named[name] = _evaluate(right.split(), named, make)
    return named


def _evaluate(words: list[str], named: dict[str, Any], make: Callable[..., Any]) -> Any:
    """Make a value of a number, or of two names with the sign between them."""
    if len(words) == 1:
        return make(float(words[0]), [])
    a, b = named[words[0]], named[words[2]]
    if words[1] == "*":
        return make(a.data * b.data, [(a, b.data), (b, a.data)])
    return make(a.data + b.data, [(a, 1.0), (b, 1.0)])


def _watch(result: Any) -> None:
    """Let the inputs of all values refuse to be read far more often than any sort would."""
    values = [*_count_uses(result)]
    reads = iter(range(10 * len(values) ** 2))
    for value in values:
        value.inputs = _Watched(value.inputs, reads)


class _Watched(list[Any]):
    """A list that takes one of a common store of tickets whenever somebody walks through it."""

    def __init__(self, pairs: Sequence[Any], reads: Iterator[int]) -> None:
        super().__init__(pairs)
        self.reads = reads

    def __iter__(self) -> Iterator[Any]:
        self._take_ticket()
        return super().__iter__()

    def __reversed__(self) -> Iterator[Any]:
        self._take_ticket()
        return super().__reversed__()

    def __getitem__(self, k: Any) -> Any:
        self._take_ticket()
        return super().__getitem__(k)

    def _take_ticket(self) -> None:
        if next(self.reads, None) is None:
            raise RuntimeError("it walks every path on its own: let each value pass on once")


def _noted_by(solution: Callable[..., Any]) -> Callable[[list[float]], Any]:
    """Call an operation with values of the reader's own class, and read what its result notes.

    An operation may be made of others: what counts is the sum over all paths to each input.
    """
    make = _class_of(solution)

    @wraps(solution)
    def call(numbers: list[float]) -> dict[str, Any]:
        inputs = [make(number, []) for number in numbers]
        answer = solution(*inputs)
        if not hasattr(answer, "data") or not hasattr(answer, "inputs"):
            raise TypeError(f"return a Value with its inputs, not {type(answer).__name__}")
        reached = _push(answer)
        named = {
            f"derivative with respect to input {n}": reached.get(id(one), 0.0)
            for n, one in enumerate(inputs, 1)
        }
        return {"its number": answer.data} | named

    return call


def _push(result: Any) -> dict[int, Any]:
    """Return by its id what reaches each value along all paths from a result."""
    reached: dict[int, Any] = {}
    waiting = [(result, 1.0)]
    while waiting:
        value, amount = waiting.pop()
        reached[id(value)] = reached.get(id(value), 0.0) + amount
        for pair in value.inputs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError("its inputs are pairs: a value, and the local derivative")
            source, local = pair
            waiting.append((source, amount * local))
    return reached


def _noted(operation: Callable[..., Tensor]) -> Callable[[list[float]], dict[str, float]]:
    """Let autograd say what the result of an operation should note."""

    def call(numbers: list[float]) -> dict[str, float]:
        inputs = [torch.tensor(n, dtype=torch.float64, requires_grad=True) for n in numbers]
        answer = operation(*inputs)
        gradients = torch.autograd.grad(answer, inputs)
        noted = {"its number": answer.item()}
        for position, gradient in enumerate(gradients, 1):
            noted[f"derivative with respect to input {position}"] = gradient.item()
        return noted

    return call
