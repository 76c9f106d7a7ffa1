"""Attention: a rule for mixing positions, and a module that gives that rule its heads."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.cache import Cache

Rule = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]
"""Maps queries, keys, values and what is allowed to one mixed value for each query."""


def attention_weights(
    q: Float[Tensor, "*N T D"],
    k: Float[Tensor, "*N S D"],
    allowed: Bool[Tensor, "*#N T S"] | None = None,
) -> Float[Tensor, "*N T S"]:
    """Return how each query divides its attention among the keys: rows that sum to 1.

    softmax(q kᵀ / √D): Vaswani et al. 2017, eq. 1. The √D keeps the variance of a score at 1
    for any head width, so that the softmax does not saturate.

    `allowed[…, t, s]` says whether query t may read step s; None allows all. A query that may
    read nothing gets NaN.

    Example:
        >>> q, k = torch.tensor([[0.0]]), torch.tensor([[1.0], [2.0], [3.0]])
        >>> attention_weights(q, k, torch.tensor([[True, True, False]]))  # equal scores, one barred
        tensor([[0.5000, 0.5000, 0.0000]])
    """
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    return scores.softmax(-1)


def attend(
    q: Float[Tensor, "*N T D"],
    k: Float[Tensor, "*N S D"],
    v: Float[Tensor, "*N S E"],
    allowed: Bool[Tensor, "*#N T S"] | None = None,
) -> Float[Tensor, "*N T E"]:
    """Mix the rows of `v`, each weighted by how well its key answers the query.

    softmax(q kᵀ / √D) v: Vaswani et al. 2017, eq. 1; see `attention_weights`.

    Example:
        >>> q, k = torch.tensor([[0.0]]), torch.tensor([[1.0], [-1.0]])
        >>> attend(q, k, v=torch.tensor([[10.0], [20.0]]))  # equal scores: the mean of the values
        tensor([[15.]])
    """
    return attention_weights(q, k, allowed) @ v


def allow_past(n_query: int, n_key: int, device: torch.device | None = None) -> Bool[Tensor, "T S"]:
    """Say which steps a query may read that must not read the future: its own and earlier ones.

    With fewer queries than keys, the queries are the last steps.

    Raises:
        ValueError: if there are more queries than keys, for the first would read nothing.

    Example:
        >>> allow_past(2, 3).int().tolist()
        [[1, 1, 0], [1, 1, 1]]
    """
    if n_query > n_key:
        raise ValueError(f"{n_query} queries on {n_key} keys: the queries must be the last steps")
    everything = torch.ones(n_query, n_key, dtype=torch.bool, device=device)
    return everything.tril(n_key - n_query)


def allow_present(present: Bool[Tensor, "B T"]) -> Bool[Tensor, "B one T T"]:
    """Say which steps may be read where some are padding: all that are present, by every step.

    A step of padding reads, too, because a row that may read nothing is NaN; nobody reads it.

    Raises:
        ValueError: if a row has no step that is present.

    Example:
        >>> allow_present(torch.tensor([[True, True, False]])).int().tolist()
        [[[[1, 1, 0], [1, 1, 0], [1, 1, 0]]]]
    """
    if not present.any(-1).all():
        raise ValueError("a row is all padding, so nothing may be read: leave it out of the batch")
    rows, steps = present.shape
    return present[:, None, None].expand(rows, 1, steps, steps)


def forbid_reading(
    allowed: Bool[Tensor, "B one #T T"], reader: Bool[Tensor, "B T"], read: Bool[Tensor, "B T"]
) -> Bool[Tensor, "B one T T"]:
    """Forbid some steps to read some others, and leave all else as it was.

    To see what depends on it: attention knockout (Geva et al. 2023).

    Args:
        allowed: which steps may be read so far.
        reader: the steps that are forbidden something.
        read: the steps that these may no longer read.

    Example:
        >>> allowed = torch.ones(1, 1, 1, 2, dtype=torch.bool)
        >>> first, second = torch.tensor([[True, False]]), torch.tensor([[False, True]])
        >>> forbid_reading(allowed, first, second).int().tolist()
        [[[[1, 0], [1, 1]]]]
    """
    return allowed & ~(reader[:, None, :, None] & read[:, None, None])


def attend_past(
    q: Float[Tensor, "*N T D"],
    k: Float[Tensor, "*N S D"],
    v: Float[Tensor, "*N S E"],
    allowed: Bool[Tensor, "*#N T S"] | None = None,
) -> Float[Tensor, "*N T E"]:
    """Do what `attend` does, but let each step read itself and earlier steps only.

    With T < S the queries are the last T steps, as when the keys of earlier ones were kept.
    Runs PyTorch's fused kernel, which never stores the T · S weights (Dao et al. 2022) and gives
    0, not NaN, to a query that may read nothing.

    Example:
        >>> q = k = torch.zeros(3, 1)  # equal scores: running means
        >>> attend_past(q, k, v=torch.tensor([[3.0], [5.0], [10.0]])).flatten()
        tensor([3., 4., 6.])
    """
    steps, read = q.shape[-2], k.shape[-2]
    if allowed is None and steps == read:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    past = allow_past(steps, read, q.device)
    allowed = past if allowed is None else past & allowed
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)


def normalise_heads(rule: Rule, sharpness: float = 1.0) -> Rule:
    """Return `rule` with queries and keys brought to length √D first (QK-norm).

    A score q · k / √D then lies between -√D and √D however large the weights grow, so the
    softmax can't saturate (Henry et al. 2020, with √D for their trained factor).

    Args:
        rule: the rule that mixes.
        sharpness: factor on the scores.

    Example:
        >>> q, k = torch.tensor([[9.0]]), torch.tensor([[7.0], [-7.0]])
        >>> v = torch.tensor([[1.0], [0.0]])
        >>> attend(q, k, v), normalise_heads(attend)(q, k, v)  # σ(126) and σ(2): ±1 times 1
        (tensor([[1.]]), tensor([[0.8808]]))
    """

    def normalised(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        q, k = (F.rms_norm(x, x.shape[-1:], eps=1e-6) for x in (q, k))
        return rule(q * sharpness, k, v, allowed)

    return normalised


class MultiHeadAttention(nn.Module):
    """Apply one mixing rule in `n_head` subspaces at once, then blend the results.

    Vaswani et al. 2017, section 3.2.2.

    Args:
        d_model: channels C of the input and of the output; a multiple of `n_head`.
        rule: `attend`, `attend_past`, or any function with their signature.
        bias: whether the four linear maps add one.

    Raises:
        ValueError: if `d_model` does not split evenly into heads.

    Example:
        >>> layer = MultiHeadAttention(d_model=12, n_head=3, rule=attend_past)
        >>> layer(torch.randn(2, 5, 12)).shape
        torch.Size([2, 5, 12])
        >>> layer(torch.randn(2, 5, 12), memory=torch.randn(2, 7, 12)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(
        self, d_model: int, n_head: int, rule: Rule = attend, *, bias: bool = False
    ) -> None:
        super().__init__()
        if n_head < 1 or d_model % n_head:
            raise ValueError(f"{d_model=} is not a multiple of {n_head=}")
        self.n_head = n_head
        self.rule = rule
        self.q: nn.Module = nn.Linear(d_model, d_model, bias=bias)
        self.k: nn.Module = nn.Linear(d_model, d_model, bias=bias)
        self.v = nn.Linear(d_model, d_model, bias=bias)
        self.out = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        memory: Float[Tensor, "B S C"] | None = None,
        allowed: Bool[Tensor, "*#B T S"] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Let each step of `x` read `memory`, or `x` itself when there is none.

        `allowed` may differ from example to example, with shape (B, 1, T, S). With a `cache`, the
        keys and values of earlier steps are read too, and these are added.
        """
        source = x if memory is None else memory
        return self._mix(self.q(x), self.k(source), self.v(source), allowed, cache)

    def _mix(
        self,
        q: Float[Tensor, "B T C"],
        k: Float[Tensor, "B S C"],
        v: Float[Tensor, "B S C"],
        allowed: Bool[Tensor, "*#B T N"] | None,
        cache: Cache | None,
    ) -> Float[Tensor, "B T C"]:
        """Apply the rule in each head, and blend what the heads found."""
        q, k, v = self._split(q), self._split(k), self._split(v)
        if cache is not None:
            k, v = cache.extend(self, k, v)
        heads = self.rule(q, k, v, allowed)
        return self.out(heads.transpose(1, 2).flatten(-2))

    def _split(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B H T D"]:
        return x.unflatten(-1, (self.n_head, -1)).transpose(1, 2)
