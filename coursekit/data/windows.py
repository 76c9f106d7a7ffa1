"""Cut sequences into windows: a context and the token that follows it."""

from collections.abc import Iterable

import torch
from jaxtyping import Int
from torch import Tensor

from coursekit.tokens.vocabulary import Vocabulary


def slide_windows(tokens: Int[Tensor, "T"], length: int) -> Int[Tensor, "N length"]:
    """Return every run of `length` neighbours, in order: T - length + 1 of them.

    The last column is the token to predict, the columns before it are its context.

    Raises:
        ValueError: if `length` is below 1 or the sequence is shorter than that.
    """
    if not 1 <= length <= len(tokens):
        raise ValueError(f"{length=} must be between 1 and the {len(tokens)} tokens there are")
    return tokens.unfold(0, length, 1)


def word_windows(
    words: Iterable[str], vocabulary: Vocabulary, length: int
) -> Int[Tensor, "N length"]:
    """Return one window for each letter of each word, and one for its end.

    Id 0 of the vocabulary is the boundary: a word's first context holds nothing else, and its
    last target is one. No window reaches from one word into another.

    Example:
        >>> word_windows(["ab"], Vocabulary(".ab"), 3).tolist()
        [[0, 0, 1], [0, 1, 2], [1, 2, 0]]
    """
    words = list(words)
    boundary = vocabulary.decode([0])
    if not words or any(not word or boundary in word for word in words):
        raise ValueError(
            f"each word needs a letter and none may contain the boundary {boundary!r}: "
            "remove such words, or choose another boundary as id 0"
        )
    if length < 1:
        raise ValueError(f"{length=} must be at least 1: the token to predict")
    span = max(length, 2)
    gap = boundary * (span - 1)
    tokens = torch.tensor(vocabulary.encode(gap + gap.join(words) + gap))
    windows = slide_windows(tokens, span)
    # A boundary after a boundary fills the gap between words; nothing is predicted there.
    return windows[(windows[:, -2:] != 0).any(-1), -length:]
