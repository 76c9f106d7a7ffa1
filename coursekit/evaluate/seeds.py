"""How sure a lead is: two kinds of model, each trained with several seeds."""

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
