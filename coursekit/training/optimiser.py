"""Which parameters decay, how gradients become a step, how the learning rate changes."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Split the parameters into those that decay and those that don't.

    Matrices and tables shrink; biases, gains and shifts, which have one axis, don't. A bias only
    says where a unit's threshold lies, so there is no reason to pull it to 0 (Bengio et al.
    2003, section 2, decay the weights and the word features, not the biases).
    """
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]


def adamw(model: nn.Module, lr: float, *, weight_decay: float = 0.0) -> AdamW:
    """Return PyTorch's AdamW with `decay_groups` (Loshchilov and Hutter 2019).

    β₂ = 0.99 averages squared gradients over about 100 steps, which suits runs of a few thousand.
    """
    return AdamW(decay_groups(model, weight_decay), lr=lr, betas=(0.9, 0.99), fused=True)


def adam_direction(
    gradient: Float[Tensor, "*N"],
    memory: dict[str, Any],
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
) -> Float[Tensor, "*N"]:
    """Divide the mean of recent gradients by the root of their mean square, number by number.

    m̂ / (√v̂ + ε) with m ← β₁ m + (1 - β₁) g, v ← β₂ v + (1 - β₂) g², m̂ = m / (1 - β₁ᵗ) and
    v̂ = v / (1 - β₂ᵗ): Kingma and Ba 2015, algorithm 1. Both means start at 0; the divisors make
    up for that, so that the first direction is g / |g|.

    Args:
        gradient: g of step t.
        memory: keeps t, m and v from step to step; empty before the first.
    """
    if not memory:
        memory["step"] = torch.zeros(())
        memory["mean"] = torch.zeros_like(gradient)
        memory["square"] = torch.zeros_like(gradient)
    memory["step"] += 1
    t = memory["step"].item()
    beta_1, beta_2 = betas
    mean = memory["mean"].lerp_(gradient, 1 - beta_1)
    square = memory["square"].mul_(beta_2).addcmul_(gradient, gradient, value=1 - beta_2)
    root = (square / (1 - beta_2**t)).sqrt_().add_(eps)
    return mean / (1 - beta_1**t) / root


class PlainAdamW(Optimizer):
    """Do what PyTorch's AdamW does, written out.

    θ ← (1 - ηλ) θ - η · `adam_direction`: the decay stands beside the step and isn't divided by
    √v̂, so it is the same for all parameters (Loshchilov and Hutter 2019, algorithm 2).

    Args:
        groups: parameters, or groups of them with their own learning rate or decay.
        lr: η.
        weight_decay: λ.
    """

    def __init__(
        self,
        groups: Iterable[Any],
        lr: float,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        own = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(groups, own)

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # there is no closure to call
        """Move each parameter that has a gradient."""
        for group in self.param_groups:
            moved = [p for p in group["params"] if p.grad is not None]
            for p, direction in zip(moved, self.directions(moved, group), strict=True):
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(direction, alpha=group["lr"])

    def directions(self, moved: Sequence[Tensor], group: dict[str, Any]) -> list[Tensor]:
        """Return where to go, for each parameter of a group."""
        options = group["betas"], group["eps"]
        # mypy can't know that whatever is moved has a gradient.
        return [adam_direction(p.grad, self.state[p], *options) for p in moved]  # type: ignore[arg-type]


def orthogonalise(matrices: Float[Tensor, "*N R C"], rounds: int = 5) -> Float[Tensor, "*N R C"]:
    """Bring the singular values of each matrix near 1, within 0.68 … 1.21, and keep its axes.

    From U S Vᵀ to about U Vᵀ, by products alone: X = G / ‖G‖, then `rounds` times
    X ← a X + b (X Xᵀ) X + c (X Xᵀ)² X, which takes each singular value s to a s + b s³ + c s⁵
    (Jordan et al. 2024). The gradient a at 0 is large, so small ones grow fast; after five
    rounds only those below 1/660 of the norm are still short of 0.68.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    is_tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if is_tall else matrices  # so that X Xᵀ is the smaller of the two products
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(rounds):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if is_tall else x


class Muon(PlainAdamW):
    """Move matrices by the orthogonalised mean of their gradients, all else as AdamW does.

    m ← μ m + (1 - μ) g, then θ ← (1 - ηλ) θ - η √max(1, R/C) `orthogonalise`((1 - μ) g + μ m) for
    a matrix of R rows and C columns (Jordan et al. 2024). A step turns it as much along the
    directions in which gradients are always small as along the few in which they are large.

    Args:
        groups, lr, betas, weight_decay: as of `PlainAdamW`; groups with "momentum", which is μ,
            hold matrices.
    """

    def directions(self, moved: Sequence[Tensor], group: dict[str, Any]) -> list[Tensor]:
        """Return where to go, for each parameter; matrices of one shape are done together."""
        if "momentum" not in group:
            return super().directions(moved, group)
        ahead: dict[torch.Size, dict[Tensor, Tensor]] = {}
        found: dict[Tensor, Tensor] = {}
        for p in moved:
            mean = self.state[p].setdefault("mean", torch.zeros_like(p))
            mean.lerp_(p.grad, 1 - group["momentum"])
            lookahead = p.grad.lerp(mean, group["momentum"])  # type: ignore[union-attr]  # it has one
            ahead.setdefault(p.shape, {})[p] = lookahead
        for (rows, columns), same in ahead.items():
            turned = orthogonalise(torch.stack(list(same.values())))
            found |= zip(same, turned * max(1.0, rows / columns) ** 0.5, strict=True)
        return [found[p] for p in moved]


def muon(
    model: nn.Module,
    lr: float,
    *,
    rest_lr: float,
    momentum: float = 0.9,
    weight_decay: float = 0.0,
) -> Muon:
    """Return `Muon` for the matrices of the model's `blocks`, with AdamW for all else.

    Embeddings and the last layer are tables of one row a token: AdamW takes care of them, as of
    gains and biases. Of these, tables decay and the others don't (see `decay_groups`).

    Args:
        lr: of the matrices of the blocks; 0.02 suits many models.
        rest_lr: of the rest.
        momentum: μ. 0.9 averages over about 10 steps, which suits runs of a thousand; for longer
            ones 0.95 is usual.

    Raises:
        ValueError: if the model has no `blocks` with matrices.
    """
    blocks = getattr(model, "blocks", nn.ModuleList())
    matrices = [p for p in blocks.parameters() if p.ndim == 2 and p.requires_grad]
    if not matrices:
        raise ValueError("the model has no matrices in `blocks`: use adamw")
    known = set(matrices)
    rest = [
        group | {"params": [p for p in group["params"] if p not in known], "lr": rest_lr}
        for group in decay_groups(model, weight_decay)
    ]
    own = {"params": matrices, "momentum": momentum, "weight_decay": weight_decay}
    return Muon([own, *rest], lr, betas=(0.9, 0.99))


def warm_up_cosine(steps: int, warm: float = 0.1, floor: float = 0.0) -> Callable[[int], float]:
    """Return the factor on the learning rate at each step: up in a line, down along half a cosine.

    The first step already has a learning rate above 0, the top is reached at the end of the
    warm-up, `floor` at step `steps`, and it stays there (Loshchilov and Hutter 2017, eq. 5).

    Args:
        steps: length of the training.
        warm: fraction of the steps that the rise takes.
        floor: factor at the end.

    Raises:
        ValueError: if `steps` is below 1, or `warm` or `floor` is not a fraction.
    """
    if steps < 1 or not 0 <= warm <= 1 or not 0 <= floor <= 1:
        raise ValueError(f"{steps=} must be at least 1, {warm=} and {floor=} between 0 and 1")
    n_warm = warm * steps

    def factor(step: int) -> float:
        if step + 1 <= n_warm:
            return (step + 1) / n_warm
        done = min((step - n_warm) / max(steps - n_warm, 1), 1.0)
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * max(done, 0.0)))

    return factor
