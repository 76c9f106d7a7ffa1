"""A learning curve read sideways: how many labels a score takes."""

import math
from collections.abc import Sequence
from itertools import pairwise


def labels_for(target: float, labels: Sequence[int], scores: Sequence[float]) -> float:
    """Return how many labels a learning curve takes to come to a score for the first time.

    From one number of labels to the next the score is a straight line over the logarithm of their
    number. If the first number is enough, that is returned, and if no number is, infinity. What
    one curve takes for a score of another tells how many labels the other's advantage is worth;
    less those that it has itself, it is the effective data transferred of Hernandez et al. (2021).

    Args:
        target: a score, in the unit of `scores`.
        labels: numbers of labels, above 0 and rising.
        scores: what is reached with each; they may fall in between.

    Raises:
        ValueError: if the labels don't rise from above 0, or there are not as many scores.

    Example:
        >>> labels_for(80.0, [100, 400], [70.0, 90.0])
        200.0
    """
    if len(labels) != len(scores) or not labels:
        raise ValueError(f"{len(labels)} numbers of labels and {len(scores)} scores: one for each")
    if labels[0] <= 0 or any(a >= b for a, b in pairwise(labels)):
        raise ValueError(f"labels={list(labels)}: sort them, each once and above 0")
    if scores[0] >= target:
        return float(labels[0])
    for (few, low), (many, high) in pairwise(zip(labels, scores, strict=True)):
        if high >= target:
            return float(few * (many / few) ** ((target - low) / (high - low)))
    return math.inf
