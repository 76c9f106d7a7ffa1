"""Attention that reads few keys, or for few queries: LogSparse and ProbSparse as rules."""

from collections.abc import Callable
from math import ceil, log

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from coursekit.layers.attention import Rule

Measure = Callable[[Tensor], Tensor]
"""Maps scores (…, T, K) to one number for each query, (…, T): the higher, the more to gain."""

Fill = Callable[[Tensor, int], Tensor]
"""Maps values (…, S, E) and a number T of queries to what lazy queries get, (…, T, E)."""

Score = Callable[[Tensor, Tensor, float | int, int], Tensor]
"""Maps queries (…, T, D), keys (…, S, D), factor and seed to scores on a sample, (…, T, K)."""

Choose = Callable[[Tensor, float | int], Tensor]
"""Maps each query's measure (…, T) and the factor to who is active: booleans (…, T)."""


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
    shares = torch.stack(scores).softmax(0)
    mixed = 0
    for share, (first, part) in zip(shares, parts, strict=True):
        mixed = mixed + F.pad(share[..., first:, None] * v[..., part, :], (0, 0, first, 0))
    return mixed


def max_minus_mean(scores: Float[Tensor, "*N K"]) -> Float[Tensor, "*N"]:
    """Return how far the highest score of each query stands above their mean.

    Zhou et al. 2021, eq. 4. Scores twice as large change no ranking: it needs no √D.
    """
    return scores.amax(-1) - scores.mean(-1)


def lse_minus_mean(scores: Float[Tensor, "*N K"]) -> Float[Tensor, "*N"]:
    """Return log Σ exp of each query's scores minus their mean: KL(uniform ‖ shares) + log K.

    Zhou et al. 2021, eq. 2. At least log K, and that for equal scores only.
    """
    return scores.logsumexp(-1) - scores.mean(-1)


def fill_mean(v: Float[Tensor, "*N S E"], steps: int) -> Float[Tensor, "*N T E"]:
    """Give each query the mean of all values."""
    return v.mean(-2, keepdim=True).expand(*v.shape[:-2], steps, v.shape[-1])


def fill_running_sum(v: Float[Tensor, "*N S E"], steps: int) -> Float[Tensor, "*N T E"]:
    """Give each query the sum of its value and all earlier ones, as the paper's code does.

    It grows with the place: T values of 1 come back as 1, 2, …, T instead of 1.
    """
    return v.cumsum(-2)[..., v.shape[-2] - steps :, :]


def fill_running_mean(v: Float[Tensor, "*N S E"], steps: int) -> Float[Tensor, "*N T E"]:
    """Give each query the mean of its value and all earlier ones."""
    count = torch.arange(1, v.shape[-2] + 1, device=v.device, dtype=v.dtype)
    return fill_running_sum(v, steps) / count[len(count) - steps :, None]


def count_active(steps: int, factor: float | int = 5) -> int:
    """Return ⌈factor · ln T⌉, at least 1 and at most T: how many keys or queries ProbSparse takes.

    Zhou et al. 2021, section 3.2; their code rounds ln T up before it multiplies.

    Raises:
        ValueError: if `factor` is not above 0.
    """
    if factor <= 0:
        raise ValueError(f"{factor=} leaves no key and no query: take one above 0, such as 5")
    return min(max(ceil(factor * log(steps)), 1), steps)


def sample_keys(n_key: int, count: int, seed: int = 0) -> Int[Tensor, "K"]:
    """Return `count` different places among `n_key`; for one seed always the same ones."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(n_key, generator=generator)[:count].sort().values


def sample_growing(n_key: int, factor: float | int = 5, seed: int = 0) -> Int[Tensor, "K"]:
    """Return sampled places such that the first t hold about factor · ln t, whatever follows.

    Place s is taken with probability factor / (s + 1): a longer sequence only adds places.
    """
    generator = torch.Generator().manual_seed(seed)
    chance = factor / torch.arange(1, n_key + 1)
    return (torch.rand(n_key, generator=generator) < chance).nonzero().squeeze(-1)


def score_sample(
    q: Float[Tensor, "*N T D"],
    k: Float[Tensor, "*N S D"],
    factor: float | int = 5,
    seed: int = 0,
) -> Float[Tensor, "*N T K"]:
    """Return each query's scores on ⌈factor · ln S⌉ keys, the same sample for all queries."""
    keys = sample_keys(k.shape[-2], count_active(k.shape[-2], factor), seed).to(k.device)
    sampled = k[..., keys, :] / q.shape[-1] ** 0.5
    return (sampled @ q.mT).mT  # laid out key by key: a maximum over keys is then fastest


def score_past(
    q: Float[Tensor, "*N T D"],
    k: Float[Tensor, "*N T D"],
    factor: float | int = 5,
    seed: int = 0,
) -> Float[Tensor, "*N T K"]:
    """Return each query's scores on the sampled keys that are not later than itself.

    Each row is moved to a mean of 0, and later keys get that mean: `max_minus_mean` notices
    neither.
    """
    keys = sample_growing(k.shape[-2], factor, seed).to(k.device)
    scores = q @ k[..., keys, :].mT / q.shape[-1] ** 0.5
    seen = keys <= torch.arange(q.shape[-2], device=k.device)[:, None]
    mean = (scores * seen).sum(-1, keepdim=True) / seen.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(seen, scores - mean, 0.0)


def choose_top(gain: Float[Tensor, "*N T"], factor: float | int = 5) -> Bool[Tensor, "*N T"]:
    """Choose the ⌈factor · ln T⌉ highest of all: a later query can push an earlier one out."""
    top = gain.topk(count_active(gain.shape[-1], factor)).indices
    return torch.zeros_like(gain, dtype=torch.bool).scatter(-1, top, value=True)


def choose_on_arrival(gain: Float[Tensor, "*N T"], factor: float | int = 5) -> Bool[Tensor, "*N T"]:
    """Choose each query by those before it, so that no later one matters.

    From step 2ʲ to 2ʲ⁺¹ - 1 it must beat the u-th highest of the steps before 2ʲ, with
    u = ⌈factor · ln 2ʲ⌉: if the order is by chance, about u of these 2ʲ queries do. The first 2u
    that do are taken: O(log² T) queries in all, whatever comes.
    """
    steps = gain.shape[-1]
    chosen = [torch.ones_like(gain[..., :1], dtype=torch.bool)]
    for start in (1 << j for j in range((steps - 1).bit_length())):
        u = count_active(start, factor)
        bar = gain[..., :start].topk(u).values[..., -1:]
        beats = gain[..., start : 2 * start] > bar
        chosen.append(beats & (beats.cumsum(-1) <= 2 * u))
    return torch.cat(chosen, -1)


def prob_sparse(
    factor: float | int = 5, *, seed: int = 0, measure: Measure = max_minus_mean
) -> Rule:
    """Return a rule that lets only the u queries with most to gain read all keys.

    ProbSparse (Zhou et al. 2021, section 3.2): u = ⌈factor · ln T⌉ queries are active, those that
    `measure` ranks first by their scores on ⌈factor · ln S⌉ sampled keys; the others are lazy and
    get the mean of the values. Not causal: see `prob_sparse_past`.

    The paper samples keys for each query and anew in each call. Here one sample serves all
    queries, heads and calls on S keys: two calls are equal, and the scores are one matrix
    product. `max_minus_mean` needs no exponentials and ranks the same at any scale.

    Args:
        factor: for 4,096 steps, 5 gives 42 queries; one large enough gives `attend`.
        seed: of the sample.
        measure: what ranks the queries, from their scores on the sampled keys.

    Raises:
        ValueError: if the rule is given `allowed`.
    """

    def attend_active(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        if allowed is not None:
            raise ValueError(
                "prob_sparse ranks queries against each other, so what one may not read still "
                "changes what it gets: use attend for this `allowed`, attend_past for the past"
            )
        with torch.no_grad():
            gain = measure(score_sample(q, k, factor, seed))
        active = gain.topk(count_active(q.shape[-2], factor), sorted=False).indices[..., None]
        chosen = F.pad(_take(q, active), (0, 0, 0, 1))  # a query of zeros gets the mean
        mixed = F.scaled_dot_product_attention(chosen, k, v)
        mean = mixed[..., -1:, :]
        mixed = mixed[..., :-1, :]
        lazy = mean.expand(*q.shape[:-1], v.shape[-1])
        # Adding, unlike writing, passes all slopes on without a copy of T · D numbers.
        return lazy.scatter_add(-2, active.expand_as(mixed), mixed - mean)

    return attend_active


def prob_sparse_past(
    factor: float | int = 5,
    *,
    seed: int = 0,
    score: Score = score_past,
    choose: Choose = choose_on_arrival,
    fill: Fill = fill_running_mean,
) -> Rule:
    """Return ProbSparse in which no step depends on a later one: active queries read the past.

    A mask on what active queries read is not enough. Three more things read the future in the
    published versions, and each of the last three arguments mends one: `fill_mean` gives lazy
    queries the later values, `score_sample` measures by later keys, `choose_top` ranks against
    later queries. A version you will meet has all three; the paper's code has the last two, and
    `fill_running_sum`. With the defaults about factor · ln²T / 1.4 queries are active.

    Raises:
        ValueError: if queries and keys differ in number (a step's rank needs all earlier
            queries), or `allowed` is given.
    """

    def attend_active_past(
        q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None
    ) -> Tensor:
        steps = q.shape[-2]
        if allowed is not None or steps != k.shape[-2]:
            raise ValueError(
                f"prob_sparse_past ranks {steps} queries on {k.shape[-2]} keys by their own past: "
                "give a whole sequence and no `allowed`, or use attend_past"
            )
        with torch.no_grad():
            chosen = choose(max_minus_mean(score(q, k, factor, seed)), factor)
        most = int(chosen.sum(-1).max())  # heads differ: the others get rows they don't use
        used, rows = chosen.int().topk(most)
        active = rows[..., None]
        used = used[..., None].bool()
        allowed = torch.arange(steps, device=q.device) <= active
        mixed = F.scaled_dot_product_attention(_take(q, active), k, v, attn_mask=allowed)
        lazy = fill(v, steps)
        mixed = torch.where(used, mixed, _take(lazy, active))
        return lazy.scatter(-2, active.expand_as(mixed), mixed)

    return attend_active_past


def _take(x: Float[Tensor, "*N T D"], rows: Int[Tensor, "*N U 1"]) -> Float[Tensor, "*N U D"]:
    return x.gather(-2, rows.expand(*rows.shape[:-1], x.shape[-1]))
