"""Checks for the exercises of notebook 10e, and what they ask for until the reader has it."""

from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor

from coursekit.data.statements import REACTIONS
from coursekit.exercises.compare import agree, watch_arguments
from coursekit.inside.occlusion import Tells, occlude


def check_our_effects(solution: Callable[[Tells, Tensor, Tensor], Tensor]) -> None:
    """Check what hiding each token changes, of an answer that is known."""
    cases = [
        (torch.tensor([[1, 7, 5]]), torch.tensor([[True, True, True]])),
        (torch.tensor([[2, 4, 6, 5, 3]]), torch.tensor([[True, True, True, True, False]])),
        (torch.tensor([[2, 4, 8, 9]]), torch.tensor([[True, False, True, True]])),
    ]

    @wraps(solution)
    def asked(tokens: Tensor, present: Tensor) -> Tensor:
        watched = watch_arguments(lambda *given: solution(_known_answer, *given), *NAMES)
        return watched(tokens, present)

    def effects(tokens: Tensor, present: Tensor) -> Tensor:
        return occlude(_known_answer, tokens, present)

    agree(asked, effects, cases, names=NAMES)


NAMES = "tokens", "present"


def _known_answer(tokens: Tensor, present: Tensor) -> Tensor:
    """Multiply the first token that is there by the last, and add what depends on the columns.

    So if one is hidden another steps in, and none may move.
    """
    steps = torch.arange(tokens.shape[1])
    first = steps.where(present, len(steps)).amin(1, keepdim=True)
    last = steps.where(present, -1).amax(1, keepdim=True)
    product = (tokens.gather(1, first) * tokens.gather(1, last)).flatten()
    return (product + (steps * tokens * present).sum(1)).float()


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
