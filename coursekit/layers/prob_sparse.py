"""ProbSparse attention: only the queries with most to gain read all keys, the rest get a mean."""

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


def max_minus_mean(scores: Float[Tensor, "*N K"]) -> Float[Tensor, "*N"]:
    """Return how far the highest score of each query stands above their mean.

    Zhou et al. 2021, eq. 4. Scores twice as large change no ranking: it needs no √D.

    Example:
        >>> max_minus_mean(torch.tensor([[1.0, 1.0, 1.0], [0.0, 0.0, 6.0]]))
        tensor([0., 4.])
    """
    return scores.amax(-1) - scores.mean(-1)


def lse_minus_mean(scores: Float[Tensor, "*N K"]) -> Float[Tensor, "*N"]:
    """Return log Σ exp of each query's scores minus their mean: KL(uniform ‖ weights) + log K.

    Zhou et al. 2021, eq. 2. At least log K, and that for equal scores only.

    Example:
        >>> lse_minus_mean(torch.zeros(1, 4))  # equal scores: log 4
        tensor([1.3863])
    """
    return scores.logsumexp(-1) - scores.mean(-1)


def fill_mean(v: Float[Tensor, "*N S E"], steps: int) -> Float[Tensor, "*N T E"]:
    """Give each query the mean of all values.

    Example:
        >>> fill_mean(torch.tensor([[1.0], [2.0], [6.0]]), steps=2).tolist()
        [[3.0], [3.0]]
    """
    return v.mean(-2, keepdim=True).expand(*v.shape[:-2], steps, v.shape[-1])


def fill_running_sum(v: Float[Tensor, "*N S E"], steps: int) -> Float[Tensor, "*N T E"]:
    """Give each query the sum of its value and all earlier ones, as the paper's code does.

    It grows with the position: T values of 1 come back as 1, 2, …, T instead of 1.

    Example:
        >>> fill_running_sum(torch.tensor([[1.0], [2.0], [6.0]]), steps=3).flatten()
        tensor([1., 3., 9.])
    """
    return v.cumsum(-2)[..., v.shape[-2] - steps :, :]


def fill_running_mean(v: Float[Tensor, "*N S E"], steps: int) -> Float[Tensor, "*N T E"]:
    """Give each query the mean of its value and all earlier ones.

    Example:
        >>> fill_running_mean(torch.tensor([[1.0], [2.0], [6.0]]), steps=3).flatten()
        tensor([1.0000, 1.5000, 3.0000])
    """
    count = torch.arange(1, v.shape[-2] + 1, device=v.device, dtype=v.dtype)
    return fill_running_sum(v, steps) / count[len(count) - steps :, None]


def count_active(steps: int, factor: float | int = 5) -> int:
    """Return ⌈factor · ln T⌉, at least 1 and at most T: how many keys or queries ProbSparse takes.

    Zhou et al. 2021, section 3.2; their code rounds ln T up before it multiplies.

    Raises:
        ValueError: if `factor` is not above 0.

    Example:
        >>> count_active(96)  # ⌈5 · 4.564⌉
        23
    """
    if factor <= 0:
        raise ValueError(f"{factor=} leaves no key and no query: take one above 0, such as 5")
    return min(max(ceil(factor * log(steps)), 1), steps)


def sample_keys(n_key: int, count: int, seed: int = 0) -> Int[Tensor, "K"]:
    """Return `count` different positions among `n_key`; for one seed always the same ones.

    Example:
        >>> sample_keys(n_key=100, count=3, seed=0).equal(sample_keys(100, 3, 0))
        True
    """
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(n_key, generator=generator)[:count].sort().values


def sample_growing(n_key: int, factor: float | int = 5, seed: int = 0) -> Int[Tensor, "K"]:
    """Return sampled positions such that the first t hold about factor · ln t, whatever follows.

    Position s is taken with probability factor / (s + 1): a longer sequence only adds positions.

    Example:
        >>> few, more = sample_growing(50), sample_growing(100)
        >>> more[: len(few)].equal(few)
        True
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
    """Return each query's scores on ⌈factor · ln S⌉ keys, the same sample for all queries.

    Example:
        >>> score_sample(torch.randn(2, 96, 4), torch.randn(2, 96, 4)).shape  # 23 of 96 keys
        torch.Size([2, 96, 23])
    """
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

    Example:
        >>> q, k = torch.randn(96, 4), torch.randn(96, 4)
        >>> gain, early = (max_minus_mean(score_past(q[:n], k[:n])) for n in (96, 48))
        >>> (gain[:48] > 0).equal(early > 0)
        True
    """
    keys = sample_growing(k.shape[-2], factor, seed).to(k.device)
    scores = q @ k[..., keys, :].mT / q.shape[-1] ** 0.5
    seen = keys <= torch.arange(q.shape[-2], device=k.device)[:, None]
    mean = (scores * seen).sum(-1, keepdim=True) / seen.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(seen, scores - mean, 0.0)


def choose_top(gain: Float[Tensor, "*N T"], factor: float | int = 5) -> Bool[Tensor, "*N T"]:
    """Choose the ⌈factor · ln T⌉ highest of all: a later query can push an earlier one out.

    Example:
        >>> choose_top(torch.tensor([0.0, 3.0, 1.0, 2.0]), factor=1)  # ⌈ln 4⌉ = 2 of them
        tensor([False,  True, False,  True])
    """
    top = gain.topk(count_active(gain.shape[-1], factor)).indices
    return torch.zeros_like(gain, dtype=torch.bool).scatter(-1, top, value=True)


def choose_on_arrival(gain: Float[Tensor, "*N T"], factor: float | int = 5) -> Bool[Tensor, "*N T"]:
    """Choose each query by those before it, so that no later one matters.

    From step 2ʲ to 2ʲ⁺¹ - 1 it must beat the u-th highest of the steps before 2ʲ, with
    u = ⌈factor · ln 2ʲ⌉: if the order is by chance, about u of these 2ʲ queries do. The first 2u
    that do are taken: O(log² T) queries in all, whatever comes.

    Example:
        >>> choose_on_arrival(torch.tensor([0.0, 3.0, 1.0, 2.0]), factor=1)  # 0; above 0; above 3
        tensor([ True,  True, False, False])
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

    Example:
        >>> rule, (q, k, v) = prob_sparse(factor=2), torch.randn(3, 96, 4)
        >>> lazy = (rule(q, k, v) - v.mean(0)).abs().amax(-1) < 1e-5
        >>> int(lazy.sum())  # all but ⌈2 · ln 96⌉ = 10
        86
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
        # Adding, unlike writing, passes all gradients on without a copy of T · D numbers.
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

    Example:
        >>> rule, (q, k, v) = prob_sparse_past(factor=2), torch.randn(3, 96, 4)
        >>> whole, half = rule(q, k, v), rule(q[:48], k[:48], v[:48])
        >>> whole[:48].allclose(half, atol=1e-5)  # the later half makes no difference
        True
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
