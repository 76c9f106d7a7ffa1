"""A bag of words: what is said, in whatever order. The baseline beside every classifier."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F


def count_words(
    tokens: Int[Tensor, "N T"], vocab_size: int, *, pairs: str | None = None, lowest: int = 0
) -> Float[Tensor, "N M"]:
    """Count how often each word stands in each text and, if asked, each pair of words.

    Args:
        tokens: ids; those below `lowest` are no words.
        vocab_size: ids V that there are.
        pairs: which pairs V² more columns count, the earlier word first: `"neighbours"`, or
            `"far"`, however many words stand between (skip-bigrams); None: none.
        lowest: first id that is a word.

    Raises:
        ValueError: if there are no such pairs.

    Example:
        >>> count_words(torch.tensor([[1, 2, 1]]), vocab_size=3).tolist()
        [[0.0, 2.0, 1.0]]
    """
    if pairs not in {None, "neighbours", "far"}:
        raise ValueError(f"{pairs=} must be 'neighbours', 'far' or None")
    words = F.one_hot(tokens, vocab_size) * (tokens >= lowest)[..., None].float()
    counts = words.sum(1)
    if pairs is None:
        return counts
    before = F.pad(words, (0, 0, 1, -1)) if pairs == "neighbours" else words.cumsum(1) - words
    return torch.cat([counts, torch.einsum("nta,ntb->nab", before, words).flatten(1)], 1)


def fit_logistic(
    counts: Float[Tensor, "N M"], labels: Int[Tensor, "N"], n_label: int, decay: float
) -> Float[Tensor, "M K"]:
    """Return the weights that minimise the cross-entropy plus `decay` times their squares.

    Logistic regression, by L-BFGS; convex, so the starting point doesn't matter.
    """
    weights = torch.zeros(counts.shape[1], n_label, device=counts.device, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=1000, line_search_fn="strong_wolfe")

    def loss() -> float:
        optimiser.zero_grad()
        value = F.cross_entropy(counts @ weights, labels) + decay * weights.square().sum()
        value.backward()
        return value.item()

    optimiser.step(loss)
    return weights.detach()


def fit_bag(
    tokens: Int[Tensor, "N T"],
    labels: Int[Tensor, "N"],
    *,
    vocab_size: int,
    pairs: str | None = "neighbours",
    lowest: int = 0,
    decay: float,
) -> Callable[[Int[Tensor, "M T"]], Float[Tensor, "M K"]]:
    """Return what gives texts their logits: a weight for each word and each pair of words seen.

    Args:
        tokens: ids; those below `lowest` are no words.
        labels: of each text, from 0 to K - 1.
        vocab_size: ids V that there are.
        pairs: which pairs of words count, see `count_words`.
        lowest: first id that is a word.
        decay: see `fit_logistic`.
    """

    def count(texts: Int[Tensor, "M T"]) -> Float[Tensor, "M W"]:
        return count_words(texts, vocab_size, pairs=pairs, lowest=lowest)

    counts = count(tokens)
    known = counts.any(0)
    seen = counts[:, known].to_sparse()  # mostly zeros
    weights = fit_logistic(seen, labels, int(labels.max()) + 1, decay)
    return lambda texts: count(texts)[:, known] @ weights


def choose_bag(
    known: tuple[Int[Tensor, "N T"], Int[Tensor, "N"]],
    held_out: tuple[Int[Tensor, "M S"], Int[Tensor, "M"]],
    *,
    decays: Sequence[float],
    **options: Any,
) -> Callable[[Int[Tensor, "_ _"]], Float[Tensor, "_ K"]]:
    """Return the bag that is most often right on held-out texts, of one for each decay.

    Args:
        known: the tokens and labels that all of them learn from.
        held_out: those that decide.
        decays: of which of equally good ones the first is taken.
        options: the others of `fit_bag`.

    Raises:
        ValueError: if there are no decays.
    """
    if not decays:
        raise ValueError("decays is empty: give one or more, such as [1e-4, 1e-2]")
    tokens, labels = held_out
    bags = [fit_bag(*known, decay=decay, **options) for decay in decays]
    return max(bags, key=lambda bag: (bag(tokens).argmax(1) == labels).sum().item())
