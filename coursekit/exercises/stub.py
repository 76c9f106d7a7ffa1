"""Exercises that are not answered yet."""

import inspect
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def _empty(): ...  # type: ignore[no-untyped-def]


def is_stub(answer: Any) -> bool:
    """Tell whether an exercise is still unanswered: None, or a body that is only `...`.

    Of a class it is asked whether any of its own methods is.
    """
    if inspect.isclass(answer):
        return any(is_stub(one) for one in vars(answer).values() if inspect.isfunction(one))
    code = getattr(answer, "__code__", None)
    return answer is None or (code is not None and code.co_code == _empty.__code__.co_code)


def answer_or(answer: Answer | None, fallback: Answer) -> Answer:
    """Return the reader's answer; while there is none, what stands in for it."""
    return fallback if answer is None or is_stub(answer) else answer
