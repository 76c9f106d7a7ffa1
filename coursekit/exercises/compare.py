"""Compare a solution with a reference, case by case, and name the first that differs."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import wraps
from inspect import isroutine
from typing import Any

import torch
from torch import Tensor

from coursekit.exercises.stub import is_stub


class NotYet(AssertionError):  # noqa: N818 (a student reads the name)
    """A solution is not right yet; the message holds the first counter-example."""


def agree(
    solution: Callable[..., Any],
    reference: Callable[..., Any],
    cases: Iterable[tuple[Any, ...]],
    *,
    tolerance: float = 1e-6,
    names: Sequence[str] = (),
    same_dtype: bool = False,
) -> None:
    """Call both with the arguments of each case and compare what they return.

    Numbers and tensors may differ by `tolerance`, relative or absolute, whichever is larger.
    A stub is not compared: one line says that its answer is still to come.

    Args:
        names: of the arguments, for the message; where a case is more than a call of the solution.
        same_dtype: whether a tensor, or each of a dictionary, must have the type of the expected
            one, too.

    Raises:
        NotYet: at the first case where the solution fails or answers otherwise.
    """
    cases = list(cases)
    name = getattr(solution, "__name__", "your solution")
    if is_stub(solution):
        print(f"not yet: write {name}, then run this cell again")
        return
    for case in cases:
        labels = [f"{label}=" for label in names] or [""] * len(case)
        given = (label + _brief(one) for label, one in zip(labels, case, strict=True))
        call = f"{name}({', '.join(given)})"
        expected = reference(*_copies(case))
        try:
            answer = solution(*_copies(case))
        except Exception as problem:
            raise NotYet(
                f"{call} raised {type(problem).__name__}: {problem}\n  expected {_brief(expected)}"
            ) from problem
        fault = _difference(answer, expected, tolerance)
        if same_dtype and not fault:
            fault = _other_type(answer, expected)
        if fault:
            raise NotYet(
                f"{call}\n  gave     {_brief(answer)}\n  expected {_brief(expected)}\n  {fault}"
            )
    print(f"✓ {name}: right in all {len(cases)} cases")


def watch_arguments(solution: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """Let a solution fail if it changes one of its first arguments, tensors of these names."""

    @wraps(solution)
    def watched(*arguments: Any) -> Any:
        before = [one.detach().clone() for one in arguments[: len(names)]]
        answer = solution(*arguments)
        for name, one, old in zip(names, arguments, before, strict=False):
            if not torch.equal(one, old):
                raise ValueError(f"it changed the {name} it was given: make a new one")
        return answer

    return watched


def with_gradients(solution: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """Let a solution return, beside its output, the gradients of its first arguments.

    They are those of the sum of the squared outputs, as "gradient of NAME". An answer that is no
    tensor is returned as it is.

    Args:
        names: of those arguments, which are tensors that the solution may not change.
    """

    @wraps(solution)
    def both(*arguments: Any) -> Any:
        leaves = [one.clone().requires_grad_() for one in arguments[: len(names)]]
        given = [leaf.clone() for leaf in leaves]
        answer = watch_arguments(solution, *names)(*given, *arguments[len(names) :])
        if not isinstance(answer, Tensor):
            return answer
        if not answer.requires_grad:
            raise ValueError("no gradient goes through it: is it detached, or no floating point?")
        total = answer.square().sum()
        gradients = torch.autograd.grad(total, leaves, materialize_grads=True)
        named = zip((f"gradient of {name}" for name in names), gradients, strict=True)
        return {"output": answer.detach(), **dict(named)}

    return both


def draw_quarters(generator: torch.Generator, *shape: int) -> Tensor:
    """Draw numbers about as large as 1, all multiples of a quarter, short to print."""
    return torch.randn(*shape, generator=generator).mul(4).round() / 4


def _difference(answer: Any, expected: Any, tolerance: float) -> str:
    """Say how the answer differs, or nothing if it does not."""
    if isinstance(expected, Tensor):
        if not isinstance(answer, Tensor):
            return f"a tensor was expected, not {type(answer).__name__}"
        if answer.device != expected.device:
            return f"it lies on {answer.device}, not on {expected.device}"
        if answer.shape != expected.shape:
            return f"its shape is {tuple(answer.shape)}, not {tuple(expected.shape)}"
        if answer.is_complex():
            return "its numbers are complex"
        # A truth or an id that is wrong isn't wrong by a factor.
        measured = expected.dtype != torch.bool and (answer + expected).is_floating_point()
        answer, expected = answer.double(), expected.double()
        # Apart, because in one call isclose adds the two.
        close = torch.isclose(answer, expected, rtol=tolerance, atol=0.0, equal_nan=True)
        close |= torch.isclose(answer, expected, rtol=0.0, atol=tolerance)
        if close.all():
            return ""
        where = tuple(int(i) for i in (~close).nonzero()[0])
        fault = f"first at {list(where)}: {answer[where]:.6g}, not {expected[where]:.6g}"
        return fault + _factor(answer, expected, where, tolerance) if measured else fault
    if isinstance(expected, Mapping):
        if not isinstance(answer, Mapping):
            return f"a dictionary was expected, not {type(answer).__name__}"
        for key in [*expected, *sorted(set(answer) - set(expected), key=repr)]:
            if key not in answer:
                return f"{key!r} is missing"
            if key not in expected:
                return f"{key!r} should not be there"
            fault = _difference(answer[key], expected[key], tolerance)
            if fault:
                return f"first at {key!r}: {fault}"
        return ""
    if isinstance(expected, str):
        return "" if answer == expected else "it is another text"
    number = _read_number(answer)
    if number is None:
        return f"a number was expected, not {type(answer).__name__}"
    same = number == expected or math.isclose(
        number, expected, rel_tol=tolerance, abs_tol=tolerance
    )
    if same or isinstance(expected, bool) or not expected:
        return "" if same else f"not {expected}" if isinstance(expected, bool) else "not 0"
    factor = f"{number / expected + 0.0:.4g}"  # + 0.0: never -0
    return f"off by {number - expected:.1e}" if factor == "1" else f"off by a factor of {factor}"


def _other_type(answer: Any, expected: Any) -> str:
    """Say that a tensor, or one of a dictionary, has another type than expected, or nothing."""
    if isinstance(expected, Mapping):
        faults = ((key, _other_type(answer[key], one)) for key, one in expected.items())
        return next((f"first at {key!r}: {fault}" for key, fault in faults if fault), "")
    if answer.dtype == expected.dtype:
        return ""
    return f"its type is {answer.dtype}, not {expected.dtype}"


def _read_number(answer: Any) -> float | None:
    """Return a number, or a tensor that holds one, as a float; None for anything else."""
    if isinstance(answer, str | bytes):  # float() reads "2.0"
        return None
    if isinstance(answer, Tensor):
        answer = answer.detach()  # float() warns of a tensor with a gradient
    try:
        return float(answer)
    except (TypeError, ValueError, RuntimeError):
        return None


def _factor(answer: Tensor, expected: Tensor, where: tuple[int, ...], tolerance: float) -> str:
    """Say by which factor an element is off, if all of them are off by the same."""
    if not torch.isfinite(answer[where]) or not expected[where]:
        return ""
    factor = answer[where] / expected[where] + 0.0  # never -0
    if f"{factor:.4g}" == "1":
        return f", off by {answer[where] - expected[where]:.1e}"
    if not torch.allclose(answer, factor * expected, rtol=tolerance, atol=tolerance):
        return ""
    many = int((expected != 0).sum()) > 1
    return f", {'everywhere ' * many}off by a factor of {factor:.4g}"


def _copies(case: tuple[Any, ...]) -> list[Any]:
    """Copy the arguments, so that a solution that writes into them spoils nothing."""
    return [deepcopy(argument) for argument in case]


def _brief(value: Any) -> str:
    """Write a value in one short line, its numbers to six digits."""
    text = value.__name__ if isroutine(value) else repr(_rounded(value))
    return text if len(text) <= 120 else text[:117] + "…"


def _rounded(value: Any) -> Any:
    if isinstance(value, Tensor) and not value.is_meta:
        value = value.tolist()
    if type(value) in (list, tuple):
        return type(value)(map(_rounded, value))
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value
