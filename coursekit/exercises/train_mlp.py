"""Checks for the exercises of notebook 02b."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from coursekit.exercises.compare import agree
from coursekit.exercises.stub import is_stub

Step = tuple[Float[Tensor, "*N"], Float[Tensor, "*N"], Float[Tensor, "*N"]]
"""Weights and the two means, after a step."""


def check_paired(solution: Callable[[Tensor, Tensor], tuple[float, float]]) -> None:
    """Check a function that returns the mean difference of two models' losses, and its error."""
    a = torch.tensor([2.0, 0.5, 4.0, 1.5])
    cases = [
        (a, a - 0.25),
        (a, torch.tensor([1.0, 0.5, 2.5, 1.0])),
        (a, torch.tensor([2.5, 1.5, 3.5, 4.0])),
        (torch.arange(9.0) % 4, torch.full((9,), 2.0)),
    ]

    def compare(a: Tensor, b: Tensor) -> dict[str, Any]:
        return dict(zip(("mean", "error"), solution(a, b), strict=True))

    def reference(a: Tensor, b: Tensor) -> dict[str, float]:
        return dict(zip(("mean", "error"), mean_difference(a.double(), b.double()), strict=True))

    compare.__name__ = getattr(solution, "__name__", "your solution")
    agree(solution if is_stub(solution) else compare, reference, cases, tolerance=1e-5)


def mean_difference(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> tuple[float, float]:
    """Return the mean of a - b and its standard error, the pairs being independent."""
    difference = a - b
    return difference.mean().item(), difference.std().item() / len(difference) ** 0.5


def check_adamw_step(solution: Callable[..., Step]) -> None:
    """Check a function that takes one step of AdamW, from any step's means."""
    p, g = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.3, -0.02, 4.0])
    none, m, v = torch.zeros(3), torch.tensor([0.1, 0.2, -1.0]), torch.tensor([0.5, 0.01, 2.0])
    usual = (0.9, 0.99, 1e-8)
    cases = [
        (p, g, none, none, 1, 0.1, 0.0, *usual),
        (p, g, m, v, 3, 0.1, 0.0, *usual),
        (p, g, m, v, 3, 0.02, 0.5, *usual),
        (p, none, none, none, 1, 0.1, 0.0, *usual),
        (p, g, m, v, 2, 0.1, 0.0, 0.8, 0.95, 0.1),
    ]

    def step(p: Tensor, g: Tensor, *given: Any) -> dict[str, Tensor]:
        return dict(zip(("p", "m", "v"), solution(p, g, *given), strict=True))

    def reference(p: Tensor, g: Tensor, m: Tensor, v: Tensor, t: int, *how: float) -> Any:
        lr, decay, beta_1, beta_2, eps = how
        weights = torch.nn.Parameter(p.double())
        weights.grad, state = g.double(), {"exp_avg": m.double(), "exp_avg_sq": v.double()}
        optimiser = torch.optim.AdamW([weights], lr, (beta_1, beta_2), eps, decay)
        optimiser.state[weights] = {"step": torch.tensor(t - 1.0), **state}
        optimiser.step()
        return {"p": weights.data, "m": state["exp_avg"], "v": state["exp_avg_sq"]}

    step.__name__ = getattr(solution, "__name__", "your solution")
    names = ("p", "g", "m", "v", "t", "lr", "decay", "beta_1", "beta_2", "eps")
    ours = solution if is_stub(solution) else step
    agree(ours, reference, cases, tolerance=1e-5, names=names)
