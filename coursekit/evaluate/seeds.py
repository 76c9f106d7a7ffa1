"""How large a lead is, and how sure: over seeds, and over groups of questions that are alike."""

from collections.abc import Sequence
from itertools import combinations

import torch
from jaxtyping import Float
from torch import Tensor


def compare_means(a: Float[Tensor, " n"], b: Float[Tensor, " m"]) -> tuple[float, float]:
    """Return the mean of a minus that of b, and its standard error, the runs being independent.

    √(var a / n + var b / m), with n − 1 and m − 1 in the variances (Welch 1938). Of few runs the
    error itself is uncertain: of four, a difference should be three of them or more.

    Args:
        a, b: one score a run.

    Raises:
        ValueError: if there are fewer than two runs of either.

    Example:
        >>> import torch
        >>> compare_means(torch.tensor([3.0, 5.0]), torch.tensor([1.0, 1.0, 1.0]))
        (3.0, 1.0)
    """
    if min(len(a), len(b)) < 2:
        raise ValueError(f"{len(a)} and {len(b)} runs: an error takes two or more of each")
    a, b = a.double(), b.double()
    error = (a.var() / len(a) + b.var() / len(b)).sqrt()
    return (a.mean() - b.mean()).item(), error.item()


def compare_seeds(
    a: Float[Tensor, "... S"], b: Float[Tensor, "... R"]
) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """Return the means of a minus those of b, and standard errors: the larger of two.

    Runs of one seed may have something in common, their batches or their first weights. Then the
    error is that of the differences, else that of `compare_means`; of few runs one can't tell.

    Args:
        a, b: a score a seed, the seeds in the same order.

    Raises:
        ValueError: if there are fewer than two seeds, or of one more than of the other.

    Example:
        >>> compare_seeds(torch.tensor([3.0, 5.0]), torch.tensor([1.0, 1.0]))
        (tensor(3., dtype=torch.float64), tensor(1., dtype=torch.float64))
    """
    n, m = a.shape[-1], b.shape[-1]
    if n != m or n < 2:
        raise ValueError(f"{n} and {m} seeds: two or more, the same of each")
    a, b = a.double(), b.double()
    variance = torch.maximum(a.var(-1) + b.var(-1), (a - b).var(-1))
    return (a - b).mean(-1), (variance / n).sqrt()


def largest_difference(scores: Float[Tensor, "... K S"]) -> Float[Tensor, "..."]:
    """Return the largest difference of any two of K kinds, in standard errors.

    Args:
        scores: one for each kind and seed.

    Raises:
        ValueError: if there are fewer than two kinds or seeds.

    Example:
        >>> largest_difference(torch.tensor([[2.0, 2.0], [4.0, 6.0], [3.0, 5.0]]))
        tensor(3., dtype=torch.float64)
    """
    if scores.shape[-2] < 2:
        raise ValueError(f"{scores.shape[-2]} kinds: a difference takes two or more")
    found = []
    for a, b in combinations(scores.unbind(-2), 2):
        difference, error = compare_seeds(a, b)
        found.append((difference / error).abs())
    return torch.stack(found).amax(0)


def judge(ahead: float, error: float) -> str:
    """Say what a difference of a few runs is: "a lead", "a hint" or "can't tell".

    A lead is three standard errors or more, a hint two or more: of four runs the error itself is
    uncertain, and a rule that is stated before the runs can't be bent by them.

    Args:
        ahead: the difference, in either direction.
        error: its standard error.

    Raises:
        ValueError: if the error isn't above 0.

    Example:
        >>> judge(-8.6, 3.6)
        'a hint'
    """
    if not error > 0:
        raise ValueError(f"{error=} must be above 0: take runs that differ")
    size = abs(ahead / error)
    return "a lead" if size >= 3 else "a hint" if size >= 2 else "can't tell"


def proportion_error(p: float, n: int) -> float:
    """Return the standard error of a proportion p of n independent answers: √(p(1 − p)/n).

    Raises:
        ValueError: if p isn't from 0 to 1, or n isn't positive.

    Example:
        >>> proportion_error(0.9, 100)
        0.03
    """
    if not 0 <= p <= 1 or n < 1:
        raise ValueError(f"{p=} of {n=}: a proportion is from 0 to 1, of one answer or more")
    return (p * (1 - p) / n) ** 0.5


def odds_ratio(before: float, after: float) -> float:
    """Return by what factor the odds grow, the right answers for each wrong one (Cornfield 1951).

    Unlike a difference of proportions, this has no ceiling near 1. The other way round, it is one
    over this, and so it is for wrong answers.

    Args:
        before, after: proportions of right answers.

    Raises:
        ValueError: if a proportion isn't above 0 and below 1: its odds are 0, or infinite.

    Example:
        >>> odds_ratio(0.5, 0.75)
        3.0
    """
    if not (0 < before < 1 and 0 < after < 1):
        raise ValueError(f"{before=} and {after=} must be above 0 and below 1: count more answers")
    return after * (1 - before) / (before * (1 - after))


def mean_over_groups(values: Float[Tensor, " n"], groups: Sequence[str]) -> tuple[float, float]:
    """Return the mean of the groups' means, and its standard error, the groups being independent.

    Questions made in one way tend to be right or wrong together, and then many of them say little
    more than one: so each group counts once (clustered standard errors, Miller 2024, for groups
    of equal size).

    Args:
        values: a score, or a lead, of each question.
        groups: the name of each question's group.

    Raises:
        ValueError: if there are not as many names as values, or fewer than two groups.

    Example:
        >>> mean_over_groups(torch.tensor([1.0, 3.0, 4.0]), ["a", "a", "b"])
        (3.0, 1.0)
    """
    if len(values) != len(groups):
        raise ValueError(f"{len(values)} values and {len(groups)} groups: name the group of each")
    names = sorted({*groups})
    if len(names) < 2:
        raise ValueError(f"{len(names)} groups: an error takes two or more")
    means = torch.stack([values[[one == name for one in groups]].double().mean() for name in names])
    return means.mean().item(), (means.std() / len(means) ** 0.5).item()


def compare_seeds_and_groups(
    a: Float[Tensor, "S G"], b: Float[Tensor, "_ _"]
) -> tuple[float, float]:
    """Return the mean of a minus that of b, and its standard error over seeds and groups at once.

    Other seeds would give another difference, and so would questions of other groups. The variances
    of the two add. Where each answer has chance of its own, both contain it, so the error is rather
    too large than too small.

    Args:
        a, b: a score for each of S seeds and G groups, both in the same order.

    Raises:
        ValueError: if the shapes differ, or there are fewer than two seeds or groups.

    Example:
        >>> a, b = torch.tensor([[4.0, 10.0], [4.0, 10.0]]), torch.tensor([[0.0, 0.0], [8.0, 8.0]])
        >>> compare_seeds_and_groups(a, b)
        (3.0, 5.0)
    """
    if a.shape != b.shape or min(a.shape) < 2:
        shapes = tuple(a.shape), tuple(b.shape)
        raise ValueError(f"scores of {shapes}: two seeds and two groups or more, the same of each")
    difference, over_seeds = compare_seeds(a.mean(1), b.mean(1))
    by_group = (a.double() - b.double()).mean(0)
    over_groups = by_group.std() / len(by_group) ** 0.5
    return difference.item(), torch.hypot(over_seeds, over_groups).item()
