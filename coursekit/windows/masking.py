"""Masked tokens: hide some tokens of a text, to be predicted from those on both sides."""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F

NOT_CHOSEN = -100
"""The target where nothing is to be predicted: `evaluate.likelihood.NO_TARGET`."""


def mask_drawn(
    tokens: Int[Tensor, "B T"],
    draw: Float[Tensor, "B T"],
    kind: Float[Tensor, "B T"],
    word: Int[Tensor, "B T"],
    *,
    mask: int = 3,
    chosen: float = 0.15,
    lowest: int = 4,
) -> dict[str, Tensor]:
    """Choose tokens to predict, and change most of them, by numbers that were drawn before.

    Of the chosen ones 80 % become the mask, 10 % a token drawn at random, and 10 % stay as they
    are (Devlin et al. 2019, section 3.1). Elsewhere the target is `NOT_CHOSEN`.

    Args:
        tokens: ids.
        draw: numbers from 0 to 1; a token is chosen where it is below `chosen`.
        kind: numbers from 0 to 1 that say what happens to a chosen token.
        word: the token drawn at random for each position.
        mask: id of the mask.
        chosen: probability of being chosen.
        lowest: ids below it are never chosen.

    Example:
        >>> draw, kind = torch.tensor([[0.1, 0.1, 0.9]]), torch.tensor([[0.5, 0.85, 0.5]])
        >>> found = mask_drawn(torch.tensor([[7, 8, 9]]), draw, kind, torch.tensor([[4, 5, 6]]))
        >>> found["inputs"].tolist(), found["targets"].tolist()
        ([[3, 5, 9]], [[7, 8, -100]])
    """
    picked = (draw < chosen) & (tokens >= lowest)
    inputs = tokens.masked_fill(picked & (kind < 0.8), mask)
    inputs = torch.where(picked & (kind >= 0.8) & (kind < 0.9), word, inputs)
    return {"inputs": inputs, "targets": tokens.masked_fill(~picked, NOT_CHOSEN)}


def mask_tokens(
    tokens: Int[Tensor, "B T"],
    mask: int,
    vocab_size: int,
    generator: Generator,
    *,
    maskable: Bool[Tensor, "B T"] | None = None,
    chosen: float = 0.15,
    lowest: int = 0,
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Choose tokens to predict, and change most of them: return inputs and targets.

    Each token is chosen with the probability `chosen`, and changed as `mask_drawn` says, so that
    a model can't tell by the mask where it is asked.

    Args:
        tokens: ids.
        mask: id of the mask.
        vocab_size: ids that there are.
        generator: where the chance comes from, on the CPU.
        maskable: which tokens may be chosen, as padding may not; None: all.
        chosen: probability of being chosen.
        lowest: first id that is drawn at random, if special ones come before.

    Raises:
        ValueError: if `chosen` is not a probability, or there is no id to draw.
    """
    if not 0 <= chosen <= 1 or not 0 <= lowest < vocab_size:
        raise ValueError(
            f"{chosen=} must be between 0 and 1, and {lowest=} from 0 and below {vocab_size=}"
        )
    draw, kind = torch.rand(2, *tokens.shape, generator=generator).to(tokens.device)
    word = torch.randint(lowest, vocab_size, tokens.shape, generator=generator).to(tokens.device)
    if maskable is not None:
        draw = draw.masked_fill(~maskable, 1.0)  # below no probability
    found = mask_drawn(tokens, draw, kind, word, mask=mask, chosen=chosen, lowest=0)
    return found["inputs"], found["targets"]


def targets_after(tokens: Int[Tensor, "B T"], lowest: int = 4) -> Int[Tensor, "B T"]:
    """Return the next token at each position, as a causal model predicts it.

    It is `NOT_CHOSEN` after the last, and where the next is no word.

    Args:
        tokens: ids.
        lowest: ids below it are no words.

    Example:
        >>> targets_after(torch.tensor([[1, 7, 9, 0]])).tolist()
        [[7, 9, -100, -100]]
    """
    after = F.pad(tokens[:, 1:], (0, 1), value=lowest - 1)
    return after.masked_fill(after < lowest, NOT_CHOSEN)


def pad_texts(
    texts: list[list[int]], pad: int = 0, *, multiple_of: int = 1
) -> tuple[Int[Tensor, "N T"], Bool[Tensor, "N T"]]:
    """Put texts of different lengths into one tensor, and say which tokens are present.

    Args:
        texts: the ids of each.
        pad: id that fills up what is shorter than the longest.
        multiple_of: of what number T is a multiple; with 8 a step may be computed much faster.

    Raises:
        ValueError: if there are no texts, or one is empty, or T can't be such a multiple.

    Example:
        >>> tokens, present = pad_texts([[5, 6, 7], [8]])
        >>> tokens.tolist(), present.tolist()
        ([[5, 6, 7], [8, 0, 0]], [[True, True, True], [True, False, False]])
        >>> pad_texts([[5, 6, 7], [8]], multiple_of=4)[0].tolist()
        [[5, 6, 7, 0], [8, 0, 0, 0]]
    """
    if not texts or not all(texts):
        raise ValueError(f"{len(texts)} texts, or an empty one: give each text a token or more")
    if multiple_of < 1:
        raise ValueError(f"{multiple_of=} must be at least 1")
    lengths = torch.tensor([len(text) for text in texts])
    n_step = math.ceil(int(lengths.max()) / multiple_of) * multiple_of
    present = torch.arange(n_step) < lengths[:, None]
    tokens = torch.full(present.shape, pad)
    tokens[present] = torch.tensor([token for text in texts for token in text])
    return tokens, present


def draw_masked(
    tokens: Int[Tensor, "N T"],
    present: Bool[Tensor, "N T"],
    mask: int,
    vocab_size: int,
    batch_size: int,
    generator: Generator,
    *,
    lowest: int = 0,
) -> Iterator[tuple[tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]], Int[Tensor, "B T"]]]:
    """Yield batches of masked texts without end: inputs, what is present of them, and targets.

    Texts are drawn at random and masked anew each time. The token at position 0 is never chosen.
    A batch in which nothing was chosen is drawn again.

    Args:
        tokens, present: as `pad_texts` gives them.
        mask, vocab_size, lowest: as of `mask_tokens`.
        batch_size: texts in a batch.
        generator: where the chance comes from, on the CPU.

    Raises:
        ValueError: if the batch is empty, or no text has a token to choose.
    """
    maskable = present.clone()
    maskable[:, 0] = False
    if batch_size < 1 or not maskable.any():
        raise ValueError(f"{batch_size=} must be at least 1, and some text longer than a token")
    while True:
        rows = torch.randint(len(tokens), (batch_size,), generator=generator).to(tokens.device)
        inputs, targets = mask_tokens(
            tokens[rows], mask, vocab_size, generator, maskable=maskable[rows], lowest=lowest
        )
        if (targets != NOT_CHOSEN).any():
            yield (inputs, present[rows]), targets
