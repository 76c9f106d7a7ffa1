"""How sure a mean or a lead is: over seeds, and over groups of questions that are alike."""

from collections.abc import Sequence

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
