"""n-gram models: a table of counts, made into probabilities, read as a model.

A context of T tokens is a row of the table: the number that its ids spell in base V, oldest
token first. So a table for order n has V^(n-1) rows, and that growth is its limit.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from coursekit.layers.basic import take_context

LARGEST_TABLE = 50_000_000
"""Cells beyond which `count_ngrams` refuses; at 8 bytes each, 400 MB."""


def count_ngrams(windows: Int[Tensor, "N n"], vocab_size: int) -> Int[Tensor, "K V"]:
    """Count how often each token follows each context of n - 1 tokens.

    Raises:
        ValueError: if the table would be too large, a window is empty, or an id is not below V.
    """
    _refuse_what_cannot_be_counted(windows, vocab_size)
    cells = _row(windows, vocab_size)
    return torch.bincount(cells, minlength=vocab_size ** windows.shape[-1]).view(-1, vocab_size)


def smooth(counts: Int[Tensor, "K V"], alpha: float) -> Float[Tensor, "K V"]:
    """Turn counts into probabilities after adding `alpha` fake counts to every cell.

    (count + α) / (row sum + α V): alpha 0 is maximum likelihood, 1 is Laplace's rule (1814).
    A context never seen gets 1 / V, also at alpha 0. Computed in float64.

    Raises:
        ValueError: if `alpha` is negative.
    """
    if alpha < 0:
        raise ValueError(f"{alpha=} is negative: fake counts are at least 0")
    faked = counts.double() + alpha  # not counts + alpha, which would be float32
    n_total = faked.sum(-1, keepdim=True)
    return torch.where(n_total > 0, faked / n_total, 1 / counts.shape[-1])


def kneser_ney(counts: Int[Tensor, "K V"], discount: float = 0.75) -> Float[Tensor, "K V"]:
    """Turn counts into probabilities, backed by every shorter context.

    Each count that was seen gives up `discount`; the row spends what was collected on the
    table of the context without its oldest token. That table counts not how often a token
    came but after how many different tokens: a token bound to one partner says little
    elsewhere. Kneser and Ney 1995, interpolated as in Chen and Goodman 1999; below the
    shortest context stands 1 / V.

    Raises:
        ValueError: if `discount` is not between 0 and 1, or the rows are not those of
            `count_ngrams`: V^(n-1) of them.
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"{discount=} is not between 0 and 1: no cell can give more than it has")
    n_contexts, vocab_size = counts.shape
    _context_of(n_contexts, vocab_size)
    if n_contexts == 1:
        shorter = torch.full_like(counts, 1 / vocab_size, dtype=torch.float64)
    else:
        n_before = (counts.view(vocab_size, -1, vocab_size) > 0).sum(0)
        shorter = kneser_ney(n_before, discount).repeat(vocab_size, 1)
    n_seen = counts.sum(-1, keepdim=True)
    kept = (counts.double() - discount).clamp(min=0)
    freed = discount * (counts > 0).sum(-1, keepdim=True).double()
    return torch.where(n_seen > 0, (kept + freed * shorter) / n_seen, shorter)


class NGram(nn.Module):
    """Predict the next token by looking its context up in a table of probabilities.

    Args:
        probabilities: one row a context, one column a token, as `smooth` returns it.

    Raises:
        ValueError: if the number of rows is not a power of the number of columns.
    """

    log_table: Tensor

    def __init__(self, probabilities: Float[Tensor, "K V"]) -> None:
        super().__init__()
        n_contexts, self.vocab_size = probabilities.shape
        self.context = _context_of(n_contexts, self.vocab_size)
        self.register_buffer("log_table", probabilities.log())

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return the log-probabilities after the last `context` of the T tokens.

        They are logits that happen to be normalised; an impossible token has -inf.

        Raises:
            ValueError: if there are fewer tokens, or an id is not one of the table's.
        """
        read = take_context(tokens, self.context)
        _refuse_unknown_ids(read, self.vocab_size)
        return self.log_table[_row(read, self.vocab_size)]


class Bigram(nn.Module):
    """Predict the next token from the last one with a single layer of weights.

    A one-hot row times a matrix is a row of that matrix, so the layer is a look-up; row i holds
    the logits after token i. Weights start as N(0, 1) draws.
    """

    context = 1

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(vocab_size, vocab_size))

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return the logits after the last of the T tokens.

        Raises:
            ValueError: if its id is not one of the matrix's.
        """
        last = tokens[:, -1]
        _refuse_unknown_ids(last, len(self.weights))  # -1 would read the last row
        return self.weights[last]


def _context_of(n_contexts: int, vocab_size: int) -> int:
    """Return how many tokens a row of a table stands for."""
    context = round(math.log(n_contexts, max(vocab_size, 2)))
    if vocab_size**context != n_contexts:
        raise ValueError(
            f"{n_contexts} rows are no power of {vocab_size} columns: "
            "make the table with count_ngrams and smooth"
        )
    return context


def _row(tokens: Int[Tensor, "N T"], vocab_size: int) -> Int[Tensor, "N"]:
    """Read each row of ids as a number in base `vocab_size`; no ids spell 0."""
    row = tokens.new_zeros(len(tokens))
    for column in tokens.unbind(-1):
        row = row * vocab_size + column
    return row


def _refuse_what_cannot_be_counted(windows: Int[Tensor, "N n"], vocab_size: int) -> None:
    order = windows.shape[-1]
    if order < 1:
        raise ValueError("windows of 0 tokens have no token to count: cut them to length 1 or more")
    if vocab_size**order > LARGEST_TABLE:
        raise ValueError(
            f"{vocab_size} tokens and order {order} need {vocab_size**order:,} cells, "
            f"more than {LARGEST_TABLE:,}: lower the order, or merge rare tokens"
        )
    _refuse_unknown_ids(windows, vocab_size)


def _refuse_unknown_ids(tokens: Int[Tensor, "*N"], vocab_size: int) -> None:
    if tokens.numel() and not 0 <= tokens.min() <= tokens.max() < vocab_size:
        raise ValueError(
            f"ids run from {tokens.min()} to {tokens.max()}, "
            f"outside 0 … {vocab_size - 1}: was another vocabulary used?"
        )
