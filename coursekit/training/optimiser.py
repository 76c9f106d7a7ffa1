"""Which parameters decay, and how the learning rate changes over the steps."""

import math
from collections.abc import Callable

from torch import nn
from torch.optim import AdamW


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


def adamw(model: nn.Module, rate: float, *, weight_decay: float = 0.0) -> AdamW:
    """Return PyTorch's AdamW with `decay_groups` (Loshchilov and Hutter 2019).

    β₂ = 0.99 averages squared gradients over about 100 steps, which suits runs of a few thousand.
    """
    return AdamW(decay_groups(model, weight_decay), lr=rate, betas=(0.9, 0.99), fused=True)


def warm_up_cosine(steps: int, warm: float = 0.1, floor: float = 0.0) -> Callable[[int], float]:
    """Return the factor on the rate at each step: up in a line, down along half a cosine.

    The first step already has a rate above 0, the top is reached at the end of the warm-up,
    `floor` at step `steps`, and it stays there (Loshchilov and Hutter 2017, eq. 5).

    Args:
        steps: length of the training.
        warm: share of the steps that the rise takes.
        floor: factor at the end.

    Raises:
        ValueError: if `steps` is below 1, or `warm` or `floor` is not a share.
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
