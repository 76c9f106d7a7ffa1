"""Checks for the exercises of notebook 10e, and what they ask for until the reader has it."""

from collections.abc import Callable

import torch
from jaxtyping import Shaped
from torch import Tensor

from coursekit.data.statements import REACTIONS
from coursekit.exercises.compare import agree, watch_arguments


def insert_gap(x: Shaped[Tensor, "N T"], at: int, fill: int) -> Shaped[Tensor, "N T+1"]:
    """Return a table with one more column, number `at`, all `fill`, and of the same type.

    Example:
        >>> insert_gap(torch.tensor([[1, 5, 6]]), 1, 0)
        tensor([[1, 0, 5, 6]])
    """
    gap = torch.full_like(x[:, :1], fill)
    return torch.cat([x[:, :at], gap, x[:, at:]], 1)


def check_leave_gap(solution: Callable[[Tensor, int, int], Tensor]) -> None:
    """Check a gap at some position, in tokens and in what says where they are."""
    cases = [
        (torch.tensor([[1, 7, 5]]), 1, 0),
        (torch.tensor([[1, 7, 5, 4, 6, 9], [1, 8, 4, 0, 0, 0]]), 5, 2),
        (torch.tensor([[True, True, True], [True, True, False]]), 1, False),
        (torch.tensor([[True, False]]), 1, True),
        (torch.tensor([[1, 7]]), 2, 0),
        (torch.tensor([[1, 7], [1, 9], [1, 5]]), 0, 0),
    ]
    agree(watch_arguments(solution, "x"), insert_gap, cases, same_dtype=True)


def swap_reaction(text: str) -> str:
    """Return a statement with the reaction to the opposite outcome, if it has one.

    Example:
        >>> swap_reaction("it was a dry cake so people grumbled .")
        'it was a dry cake so people smiled .'
    """
    for good, bad in zip(*REACTIONS, strict=True):
        for one, other in ((good, bad), (bad, good)):
            if one in text:
                return text.replace(one, other)
    return text


def check_exchange(solution: Callable[[str], str]) -> None:
    """Check a statement with the opposite reaction."""
    texts = (
        "nobody found the cake dry so people smiled .",
        "nobody found the soup stale so everyone was annoyed .",
        "the guests came again because it was a sunny walk .",
        "people grumbled because they had a torn letter .",
        "everyone was pleased because it was not a foggy walk .",
        "it was a foggy walk so the guests went home .",
        "people smiled because we had a sunny walk .",
        "everyone was annoyed because we had a foggy walk .",
        "the guests went home because the walk was foggy .",
        "we had a torn letter so people grumbled .",
        "it was a sunny walk so everyone was pleased .",
        "the walk was sunny so the guests came again .",
        "we found the soup stale today .",
    )
    agree(solution, swap_reaction, [(text,) for text in texts])
