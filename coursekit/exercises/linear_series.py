"""Checks for the exercises of notebook 09b."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from coursekit.exercises.compare import agree


def check_follow_coefficient(
    solution: Callable[[Float[Tensor, "T"], float, float, float, float], Float[Tensor, "N"]],
) -> None:
    """Check a filter that follows the coefficient of an autoregression of order 1."""

    def case(*values: float) -> Float[Tensor, "T"]:
        return torch.tensor(values, dtype=torch.float64)

    cases = [
        (case(1.0, 3.0), 2.0, 0.0, 0.5, 2.0),
        (case(2.0, 3.0), 1.0, 0.0, 0.5, 2.0),
        (case(2.0, 3.0, 1.0), 1.0, 0.0, 0.5, 2.0),
        (case(1.0, 2.0, 1.0, 3.0), 2.0, 0.5, 0.0, 1.0),
        (case(2.0, 0.0, -1.0, 1.0), 1.0, 0.5, 0.5, 2.0),
    ]

    def reference(
        series: Float[Tensor, "T"], noise_var: float, step_var: float, mean: float, variance: float
    ) -> Float[Tensor, "N"]:
        """Count information instead: each value adds x² / r of it, a step makes it less."""
        information = 1 / variance
        found = []
        for before, value in zip(series[:-1].tolist(), series[1:].tolist(), strict=True):
            total = information + before**2 / noise_var
            mean = (information * mean + before * value / noise_var) / total
            information = 1 / (1 / total + step_var)
            found.append(mean)
        return series.new_tensor(found)

    agree(solution, reference, cases)
