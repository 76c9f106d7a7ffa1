"""Checks for the exercises of notebooks 10c and 10f to 10i, and what one falls back on."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from coursekit.data.statements import REACTIONS
from coursekit.evaluate.curve import labels_for
from coursekit.evaluate.likelihood import next_token_loss
from coursekit.evaluate.seeds import (
    compare_means,
    largest_difference,
    mean_over_groups,
    odds_ratio,
    proportion_error,
)
from coursekit.exercises.compare import agree, draw_quarters, watch_arguments, with_gradients
from coursekit.models.bag import count_words
from coursekit.models.encoder import POOLINGS, pool
from coursekit.training.checkpoint import matching_weights
from coursekit.windows.masking import targets_after


def check_our_pool(solution: Callable[[Tensor, Tensor, str], Tensor]) -> None:
    """Check which vector stands for each text, padding aside."""
    vectors = torch.tensor(
        [
            [[1.0, 2.0], [3.0, 6.0], [9.0, 9.0], [8.0, 5.0]],
            [[4.0, 0.0], [2.0, 2.0], [6.0, 7.0], [5.0, 1.0]],
            [[5.0, 7.0], [1.0, 8.0], [3.0, 6.0], [2.0, 9.0]],
        ]
    )
    present = torch.arange(4) < torch.tensor([[2], [4], [3]])
    cases = [(vectors[:n], present[:n], pooling) for n in (3, 1) for pooling in POOLINGS]
    agree(with_gradients(solution, "vectors"), with_gradients(pool, "vectors"), cases)


def check_difference(solution: Callable[[Tensor, Tensor], tuple[float, float]]) -> None:
    """Check a difference of two means, and its standard error."""
    cases = [
        (torch.tensor([90.0, 80.0]), torch.tensor([70.0, 70.0])),
        (torch.tensor([73.0, 83.0, 78.0, 87.0]), torch.tensor([90.0, 96.0, 80.0, 65.0])),
        (torch.tensor([95.0, 91.0, 97.0]), torch.tensor([74.0, 75.0, 77.0, 84.0])),
    ]
    agree(
        _named(solution, "difference"), _named(compare_means, "difference"), cases, tolerance=1e-5
    )


def check_largest_difference(solution: Callable[[Tensor], Tensor]) -> None:
    """Check the largest difference of any two kinds, in standard errors."""
    both = [[[80.0, 84.0, 91.0], [70.0, 73.0, 82.0]], [[90.0, 94.0, 98.0], [88.0, 86.0, 81.0]]]
    behind = [[[60.0, 66.0, 63.0], [90.0, 89.0, 94.0]]]
    rows = torch.tensor([[69.0, 87, 92, 74], [75, 71, 97, 62], [98, 69, 62, 96], [75, 85, 82, 72]])
    orders = [(0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 3, 1), (2, 0, 1, 3), (2, 0, 3, 1), (2, 3, 0, 1)]
    each = [rows[list(order)] for order in orders]  # each of the six pairs is the largest once
    apart = [
        [96.0, 89, 91, 66, 92],
        [78, 77, 94, 74, 70],
        [70, 91, 64, 93, 79],
        [62, 73, 60, 82, 61],
    ]
    cases = [torch.tensor(both), torch.tensor(behind), torch.stack(each), torch.tensor([apart])]
    agree(solution, largest_difference, [(one,) for one in cases], tolerance=1e-5)


def check_proportion_error(solution: Callable[[float, int], float]) -> None:
    """Check the standard error of a proportion."""
    agree(solution, proportion_error, [(0.5, 100), (0.9, 400), (1.0, 64)], tolerance=1e-5)


def check_over_templates(solution: Callable[[Tensor, list[str]], tuple[float, float]]) -> None:
    """Check a mean over groups, and its standard error."""
    cases = [
        (torch.tensor([90.0, 80.0, 50.0, 70.0]), ["a", "a", "b", "b"]),
        (torch.tensor([100.0, 0.0, 90.0, 50.0]), ["b", "a", "b", "a"]),
        (torch.tensor([10.0, 20.0, 70.0, 60.0]), ["a", "a", "b", "a"]),
        (torch.tensor([10.0, -90.0, 0.0, 0.0]), ["ab", "ac", "b", "c"]),
    ]
    agree(_named(solution, "mean"), _named(mean_over_groups, "mean"), cases, tolerance=1e-5)


def check_our_pairs(solution: Callable[[Tensor, int], Tensor]) -> None:
    """Check counts of pairs of words, in order and however far apart."""
    cases = [
        (torch.tensor([[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]]), 12),
        (torch.tensor([[2, 2, 1, 2]]), 3),
        (torch.arange(16)[None], 16),
        (torch.tensor([[0, 3, 1], [3, 0, 0], [2, 1, 3]]), 5),
    ]
    agree(solution, count_far_pairs, cases)


def count_far_pairs(tokens: Int[Tensor, "N T"], size: int) -> Tensor:
    """Count in each text how often a word stands before another: (N, V, V), V being `size`.

    Example:
        >>> count_far_pairs(torch.tensor([[1, 0, 1]]), 2).tolist()
        [[[0.0, 1.0], [1.0, 1.0]]]
    """
    return count_words(tokens, size, pairs="far")[:, size:].unflatten(1, (size, size))


def tell_by_reaction(text: str) -> float:
    """Return the probability that it turned out well, if nothing is known but the reactions.

    Example:
        >>> tell_by_reaction("it was a dry cake so people grumbled .")
        0.0
        >>> tell_by_reaction("it was a dry cake today .")
        0.5
    """
    good, bad = (any(one in text for one in reactions) for reactions in REACTIONS)
    return 1.0 if good else 0.0 if bad else 0.5


def check_by_reaction(solution: Callable[[str], float]) -> None:
    """Check what a reaction tells, wherever it stands, and that nothing else does."""
    texts = (
        "it was a tasty cake so people smiled .",
        "everyone was annoyed because we had a late train .",
        "you found the parcel whole this time .",
        "the guests came again because it was not a windy walk .",
        "it was not a whole letter so the guests went home .",
        "everyone was pleased because we did not have a torn mirror .",
        "we found the soup burnt so people grumbled .",
        "today nobody found the ferry late .",
        "we had a slow ferry because it was foggy .",
        "people smiled because we had a tasty cake .",
        "people grumbled because it was a late train .",
        "it was a windy walk so everyone was annoyed .",
        "it was not a torn mirror so everyone was pleased .",
        "the guests went home because we had a burnt soup .",
        "we had a fresh cake so the guests came again .",
        "we had a tasty cake but we thought the cake would be dry .",
        "today people grumbled because it was a torn mirror .",
        "people smiled .",
        "we came home with a torn mirror again .",
        "today the guests came again because the walk was not windy .",
        "the guests went for a slow walk .",
        "we smiled , were pleased , and nobody grumbled or was annoyed .",
    )
    agree(solution, tell_by_reaction, [(text,) for text in texts])


def check_our_reading_loss(solution: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check the loss of predicting each next word of padded texts, and its gradient."""
    texts = [
        [[1, 5, 6, 7]],
        [[1, 5, 7, 6], [1, 6, 5, 5]],
        [[1, 7, 5, 6, 0]],
        [[1, 6, 0, 0, 0], [1, 5, 6, 7, 5]],
        [[1, 7, 4]],
        [[1, 6, 5, 7]],
    ]
    g = torch.Generator().manual_seed(0)
    cases = []
    for size, tokens in enumerate(map(torch.tensor, texts), start=8):
        cases.append((draw_quarters(g, *tokens.shape, size), tokens))
    cases[-1] = (200 * cases[-1][0], cases[-1][1])
    watched = watch_arguments(solution, "logits", "tokens")
    agree(with_gradients(watched, "logits"), with_gradients(reading_loss, "logits"), cases)


def reading_loss(logits: Float[Tensor, "B T V"], tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """Return the mean loss of each next word of the texts, in nats a word, padding aside.

    Args:
        logits: for each position those of the word after it.
        tokens: ids; below 4 they are no words.

    Example:
        >>> reading_loss(torch.zeros(1, 4, 8), torch.tensor([[1, 5, 6, 0]]))  # the log of 8
        tensor(2.0794)
    """
    return next_token_loss(logits, targets_after(tokens))


def check_our_matching(
    solution: Callable[[dict[str, Tensor], dict[str, Tensor]], dict[str, Tensor]],
) -> None:
    """Check which weights of another model a model can take over."""
    w, x, y = torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0], [5.0, 6.0]]), torch.ones(1, 2)
    a, b, row = (torch.zeros_like(one) for one in (w, x, y))
    cases = [
        ({"a": a, "b": b}, {"a": w, "b": x}),
        ({"a": a}, {"a": w, "b": x}),
        ({"a": a, "b": b}, {"a": w}),
        ({"a": a, "head": row}, {"a": w, "head": x}),
        ({"a": a, "b": row}, {"a": w, "b": y.mT}),
        ({"a": a, "b": row}, {"a": w, "b": torch.ones(1, 3)}),
        ({"a": a, "b": row}, {"c": w, "b": y}),
        ({"a": a, "b": row}, {"a": y, "b": w}),
        ({"body.a": a, "a": a}, {"body.a": w, "a": 2 * w}),
        ({"a": a, "head.weight": row}, {"a": w, "head.weight": y}),
        ({"body.a": a}, {"a": w}),
        ({"a": b}, {"a": w}),
        ({"a": torch.zeros(2, 1, 2)}, {"a": torch.ones(2, 3, 2)}),
        ({"a": torch.zeros(2, 2, 3)}, {"a": torch.ones(2, 3, 2)}),
    ]
    agree(solution, matching_weights, cases)


def check_our_odds_ratio(solution: Callable[[float, float], float]) -> None:
    """Check by what factor the odds of a right answer grow."""
    agree(solution, odds_ratio, [(0.5, 0.8), (0.8, 0.9), (0.75, 0.5)])


def check_our_labels_for(
    solution: Callable[[float, list[int], list[float]], float],
) -> None:
    """Check how many labels a learning curve takes to come to a score."""
    cases = [
        (80.0, [100, 400], [70.0, 90.0]),
        (75.0, [100, 200, 800], [60.0, 70.0, 80.0]),
        (75.0, [30, 70, 200, 1100], [60.0, 80.0, 70.0, 90.0]),
        (80.0, [30, 70, 200, 1100], [74.0, 76.0, 70.0, 90.0]),
        (80.0, [100, 200, 800], [60.0, 70.0, 80.0]),
        (83.0, [30, 70, 200, 1100], [76.0, 91.0, 72.0, 79.0]),
        (70.0, [100, 200, 400, 800], [60.0, 70.0, 65.0, 90.0]),
        (55.0, [100, 400], [70.0, 90.0]),
        (80.0, [100, 400], [90.0, 70.0]),
        (70.0, [100, 200, 400], [70.0, 60.0, 90.0]),
        (95.0, [100, 400], [70.0, 90.0]),
    ]
    agree(solution, labels_for, cases)


def _named(one: Callable[..., tuple[float, float]], first: str) -> Callable[..., Any]:
    """Let a function that returns a number and its error say which is which."""

    @wraps(one)
    def both(*arguments: Any) -> Any:
        return dict(zip((first, "error"), one(*arguments), strict=True))

    return both
