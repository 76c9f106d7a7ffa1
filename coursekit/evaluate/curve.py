"""How many labels an advantage is worth, read off a learning curve."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


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


def bootstrap_labels(
    target: Float[Tensor, "S K"],
    labels: Sequence[int],
    scores: Sequence[Float[Tensor, "_ _"]],
    *,
    draws: int,
    seed: int,
) -> tuple[float, float]:
    """Return between which numbers of labels `labels_for` lies in 95 of 100 draws (Efron 1979).

    Each draw resamples, with replacement, the seeds of each point on its own, and the groups of
    test questions, the same ones for all points: other groups would have been asked of each.

    Args:
        target: what is to be reached: a score for each of S seeds and K groups.
        labels: as of `labels_for`.
        scores: for each of `labels` what is reached, for each of some seeds and the K groups.
        draws: how many; a thousand will do.
        seed: of the draws.

    Returns:
        The 2.5 % and 97.5 % quantiles, each a drawn one; infinity where no number was enough.

    Raises:
        ValueError: as `labels_for`; if there are no draws, or groups differ in number.
    """
    groups = target.shape[1]
    if draws < 1 or any(one.shape[1] != groups for one in scores):
        shapes = [tuple(one.shape) for one in (target, *scores)]
        raise ValueError(f"{draws=}, scores of {shapes}: 1 draw or more, the same groups for all")
    g = torch.Generator().manual_seed(seed)

    def draw(n: int) -> Tensor:
        return torch.randint(n, (n,), generator=g)

    found = []
    for _ in range(draws):
        some = draw(groups)
        means = [one[draw(len(one))][:, some].mean().item() for one in (target, *scores)]
        found.append(labels_for(means[0], labels, means[1:]))
    low, high = np.quantile(found, (0.025, 0.975), method="nearest")
    return float(low), float(high)
