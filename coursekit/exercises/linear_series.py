"""Checks for the exercises of notebook 09b."""

from collections.abc import Callable
from functools import wraps

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from coursekit.exercises.compare import agree


def _losses(*values: float) -> Float[Tensor, "N"]:
    return torch.tensor(values, dtype=torch.float64)


def check_autocovariance(
    solution: Callable[[Float[Tensor, "N"], int], float | Float[Tensor, ""]],
) -> None:
    """Check the covariance of a series with itself k steps later, for k = 0 its variance."""
    cases = [
        (_losses(1.0, -1.0), 0),
        (_losses(4.0, 0.0, 5.0), 1),
        (_losses(2.0, -1.0, -2.0, 1.0), 2),
    ]

    def reference(d: Float[Tensor, "N"], k: int) -> float:
        """Read it from the diagonal of all products, k off the middle one."""
        centred = d - d.mean()
        return (torch.outer(centred, centred).diagonal(k).sum() / len(d)).item()

    agree(solution, reference, cases)


def check_careful_error(
    solution: Callable[[Float[Tensor, "N"], Float[Tensor, "N"], int], float | Float[Tensor, ""]],
) -> None:
    """Check that error where neighbouring differences may be alike (Newey and West 1987)."""
    cases = [
        (_losses(4.0, 0.0), _losses(2.0, 2.0), 0),
        (_losses(5.0, 3.0, 0.0, 2.0), _losses(3.0, 2.0, 1.0, 4.0), 1),
        (_losses(4.0, 3.0, 0.0, 2.0), _losses(1.0, 1.0, 0.0, 1.0), 1),
        (_losses(4.0, 3.0, 0.0, 2.0, 1.0), _losses(1.0, 1.0, 0.0, 5.0, 1.0), 2),
        # More neighbours than two, as the lesson needs.
        (
            _losses(6.0, 5.0, 2.0, 3.0, 1.0, 0.0, 0.0, 1.0),
            _losses(1.0, 1.0, 1.0, 1.0, 0.0, 2.0, 3.0, 5.0),
            4,
        ),
    ]

    def reference(first: Float[Tensor, "N"], second: Float[Tensor, "N"], lags: int) -> float:
        """Square the sums of lags + 1 neighbours instead: each pair is in as many as it weighs."""
        centred = (first - second) - (first - second).mean()
        sums = F.pad(centred, (lags, lags)).unfold(0, lags + 1, 1).sum(-1)
        return (sums.square().sum() / (lags + 1)).sqrt().item() / len(first)

    agree(solution, reference, cases)


def check_kalman_step(
    solution: Callable[[float, float, float, float, float], tuple[float, float]],
) -> None:
    """Check how a value moves what is believed of a level, and how sure that is afterwards."""
    cases = [
        (1.0, 2.0, 3.0, 4.0, 0.0),
        (0.0, 2.0, 3.0, 4.0, 0.5),  # the level takes a step
        (0.0, 0.0, 3.0, 4.0, 0.0),  # it was known exactly
    ]

    @wraps(solution)
    def step(mean: float, variance: float, x: float, r: float, q: float) -> dict[str, float]:
        return dict(zip(("mean", "variance"), solution(mean, variance, x, r, q), strict=True))

    def reference(mean: float, variance: float, x: float, r: float, q: float) -> dict[str, float]:
        """Weigh belief and value by how far off the other may be (Bayes' rule for two normals)."""
        total = variance + r
        return {"mean": (r * mean + variance * x) / total, "variance": r * variance / total + q}

    agree(step, reference, cases)
