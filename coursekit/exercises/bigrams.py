"""Checks for the exercises of notebook 01."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from coursekit.exercises.compare import agree


def check_row_probabilities(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that turns a table of counts into probabilities, row by row."""
    cases = [
        (torch.tensor([[1, 3], [2, 2]]),),
        (torch.tensor([[0, 5, 5], [1, 0, 3], [7, 1, 2]]),),
        (torch.tensor([[10, 1, 1, 0], [4, 4, 0, 0]]),),
    ]
    agree(solution, lambda counts: counts / counts.sum(1, keepdim=True), cases)


def check_word_nll(solution: Callable[[Tensor, Sequence[int]], float]) -> None:
    """Check a function that scores a word: mean nats for each letter and for its end."""

    def reference(probabilities: Tensor, letters: Sequence[int]) -> float:
        steps = zip([0, *letters], [*letters, 0], strict=True)
        return -sum(math.log(probabilities[i, j]) for i, j in steps) / (len(letters) + 1)

    probabilities = torch.tensor([[0.0, 0.7, 0.3], [0.5, 0.1, 0.4], [0.2, 0.6, 0.2]])
    agree(
        solution,
        reference,
        [(probabilities, [1]), (probabilities, [1, 2]), (probabilities, [2, 1, 1, 2])],
    )


def check_faces(solution: Callable[[Tensor], float]) -> None:
    """Check a function that returns the perplexity of the probabilities that tokens were given."""
    cases = [
        (torch.tensor([0.25, 0.25, 0.25]),),
        (torch.tensor([1.0, 0.5, 0.1]),),
        (torch.full((1000,), 0.1, dtype=torch.float64),),  # their product is 0 in a computer
    ]
    agree(
        solution,
        lambda probabilities: probabilities.double().log().mean().neg().exp().item(),
        cases,
    )


def check_count_trigrams(solution: Callable[[list[str]], dict[str, int]]) -> None:
    """Check a function that counts the runs of three characters in words, boundaries included."""

    def reference(words: list[str]) -> dict[str, int]:
        padded = [f"..{word}." for word in words]
        return dict(Counter(w[i : i + 3] for w in padded for i in range(len(w) - 2)))

    agree(solution, reference, [(["ab"],), (["ava", "ada"],), (["a", "aaaa", "bo"],)])


def check_continuations(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that gives probability by how many tokens each one follows."""
    cases = [
        (torch.tensor([[0, 9], [1, 1]]),),
        (torch.tensor([[0, 50, 1], [0, 0, 2], [0, 0, 3]]),),
    ]
    agree(solution, lambda counts: (counts > 0).sum(0) / (counts > 0).sum(), cases)
