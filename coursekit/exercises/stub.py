"""Exercises that are not answered yet."""

import dis
import inspect
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def is_stub(answer: Any) -> bool:
    """Tell whether an exercise is still unanswered: None, or a function that only returns None.

    Of a class it is asked of its own `forward` and special methods, such as `__call__`, for another
    may rightly do nothing; of a function that `wraps` another, as a check may do with an answer, of
    that one.
    """
    answer = inspect.unwrap(answer) if callable(answer) else answer
    if inspect.isclass(answer):
        return any(
            is_stub(method)
            for name, method in vars(answer).items()
            if inspect.isfunction(method) and (name.startswith("__") or name == "forward")
        )
    code = getattr(answer, "__code__", None)
    if code is None:
        return answer is None
    steps = [one for one in dis.get_instructions(code) if one.opname not in ("RESUME", "NOP")]
    returns = {"LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}
    return all(one.opname in returns and one.argval is None for one in steps)


def answer_or(answer: Answer | None, fallback: Answer) -> Answer:
    """Return the reader's answer; while there is none, what stands in for it."""
    return fallback if answer is None or is_stub(answer) else answer
