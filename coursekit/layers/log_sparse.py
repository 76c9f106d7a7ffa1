"""LogSparse attention: each step reads itself and the steps 1, 2, 4, 8, … before it."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F


def allow_log_sparse(n: int, device: torch.device | None = None) -> Bool[Tensor, "T T"]:
    """Say which steps each of `n` reads in LogSparse: itself and those 1, 2, 4, 8, … before.

    At most ⌊log₂ t⌋ + 2 of the steps 0 … t (Li et al. 2019, section 4.2). After about log₂ n
    layers every step has heard of every earlier one.

    Example:
        >>> allow_log_sparse(5).int()[-1].tolist()  # 4, 4 - 1, 4 - 2, 4 - 4
        [1, 0, 1, 1, 1]
    """
    step = torch.arange(n, device=device)
    back = step[:, None] - step
    return (back == 0) | ((back > 0) & (back & (back - 1) == 0))  # a power of 2 has one bit


def attend_log_sparse(
    q: Float[Tensor, "*N T D"],
    k: Float[Tensor, "*N S D"],
    v: Float[Tensor, "*N S E"],
    allowed: Bool[Tensor, "*#N T S"] | None = None,
) -> Float[Tensor, "*N T E"]:
    """Do what `attend` does, but let each step read itself and the steps 1, 2, 4, … before it.

    Equals `attend` with `allow_log_sparse`, with T · (log₂ S + 2) scores instead of T · S: all
    queries read their key at one distance together. With T < S the queries are the last T steps.

    Example:
        >>> q, k, v = torch.randn(3, 5, 4)
        >>> q, k, v = q.double(), k.double(), v.double()
        >>> from coursekit.layers.attention import attend
        >>> attend_log_sparse(q, k, v).allclose(attend(q, k, v, allow_log_sparse(5)))
        True
    """
    steps = q.shape[-2]
    gap = k.shape[-2] - steps
    if gap < 0:
        raise ValueError(
            f"{steps} queries on {k.shape[-2]} keys: the queries are the last steps of the keys, "
            "so give at least as many keys"
        )
    backs = [0, *(1 << j for j in range((k.shape[-2] - 1).bit_length()))]
    scores = []
    parts = []
    for back in backs:
        first = max(back - gap, 0)  # of the queries
        start = max(gap - back, 0)  # of their keys
        part = slice(start, start + steps - first)
        score = (q[..., first:, :] * k[..., part, :]).sum(-1) / q.shape[-1] ** 0.5
        if allowed is not None:
            score = score.masked_fill(~allowed.diagonal(gap - back, -2, -1), -torch.inf)
        scores.append(F.pad(score, (first, 0), value=-torch.inf))
        parts.append((first, part))
    weights = torch.stack(scores).softmax(0)
    mixed = v.new_zeros(*q.shape[:-1], v.shape[-1])
    for weight, (first, part) in zip(weights, parts, strict=True):
        mixed = mixed + F.pad(weight[..., first:, None] * v[..., part, :], (0, 0, first, 0))
    return mixed
