"""Cut sequences into windows: a context and the token that follows it."""

from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from coursekit.tokens.vocabulary import Vocabulary


def slide_windows(tokens: Int[Tensor, "T"], length: int) -> Int[Tensor, "N length"]:
    """Return every run of `length` neighbours, in order: T - length + 1 of them.

    The last column is the token to predict, the columns before it are its context.

    Raises:
        ValueError: if `length` is below 1 or the sequence is shorter than that.
    """
    if not len(tokens):
        raise ValueError(f"there are no tokens to cut windows of {length=} from: take more")
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


def pad_words(
    words: Iterable[str], vocabulary: Vocabulary, no_target: int
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Return one row for each whole word: the boundary and its letters; and what follows each.

    Id 0 of the vocabulary is the boundary, which ends the targets of a word, too, and fills up the
    inputs of short ones. There the targets are `no_target`. The targets, row by row, are those of
    `word_windows`.

    Example:
        >>> inputs, targets = pad_words(["ab", "b"], Vocabulary(".ab"), no_target=-100)
        >>> inputs.tolist(), targets.tolist()
        ([[0, 1, 2], [0, 2, 0]], [[1, 2, 0], [2, 0, -100]])

    Raises:
        ValueError: as for `word_windows`.
    """
    spelt = [vocabulary.encode(word) for word in words]
    if not spelt or any(not ids or 0 in ids for ids in spelt):
        raise ValueError(
            f"each word needs a letter and none may contain the boundary "
            f"{vocabulary.decode([0])!r}: remove such words, or choose another boundary as id 0"
        )
    inputs = torch.zeros(len(spelt), max(map(len, spelt)) + 1, dtype=torch.long)
    targets = torch.full_like(inputs, no_target)
    for row, target, ids in zip(inputs, targets, spelt, strict=True):
        row[1 : len(ids) + 1] = target[: len(ids)] = torch.tensor(ids)
        target[len(ids)] = 0
    return inputs, targets


def group_windows(
    windows: Int[Tensor, "N n"], vocab_size: int
) -> tuple[Int[Tensor, "K T"], Int[Tensor, "K V"]]:
    """List each different context once, and count the tokens that followed it.

    The mean loss over the N windows is the mean over the K contexts weighted with their counts
    (`score.table_nll`); short contexts repeat, so K is much smaller than N.

    Raises:
        ValueError: if the windows hold no context, or an id is not in 0 … `vocab_size` - 1.
    """
    if windows.shape[-1] < 2 or not len(windows):
        raise ValueError(
            f"windows of shape {tuple(windows.shape)} need a context and a target: cut one window "
            "or more of length 2 or more"
        )
    if not 0 <= windows.min() <= windows.max() < vocab_size:
        raise ValueError(
            f"windows hold ids from {windows.min()} to {windows.max()}, which must be from 0 and "
            f"below {vocab_size=}: use their own vocabulary, of {windows.max() + 1} ids or more"
        )
    contexts, row = torch.unique(windows[:, :-1], dim=0, return_inverse=True)
    cells = torch.bincount(row * vocab_size + windows[:, -1], minlength=len(contexts) * vocab_size)
    return contexts, cells.view(-1, vocab_size)


def draw_batches(
    windows: Int[Tensor, "N n"], batch_size: int, generator: Generator
) -> Iterator[tuple[Int[Tensor, "B T"], Int[Tensor, "B"]]]:
    """Yield contexts and targets without end, each window once before any comes again.

    The windows that are left at the end of a round, fewer than a batch, are skipped in it.
    """
    _refuse_batch(batch_size, len(windows))
    while True:
        shuffled = torch.randperm(len(windows), generator=generator)
        for picked in shuffled.split(batch_size)[: len(windows) // batch_size]:
            batch = windows[picked]
            yield batch[:, :-1], batch[:, -1]


def draw_groups(
    contexts: Int[Tensor, "K T"],
    counts: Int[Tensor, "K V"],
    batch_size: int,
    generator: Generator,
    often: int = 20,
) -> Iterator[tuple[Int[Tensor, "B T"], Int[Tensor, "B V"]]]:
    """Yield contexts with their counts without end: the frequent ones always, the others in turn.

    A context seen `often` times or more weighs so much that leaving it to chance would make the
    loss jump; there are few of them, so each batch has them all. To them come `batch_size` of the
    rest, shuffled. Their counts are multiplied by the batches of a round, so that they stand for
    all the rest but the last few, which are skipped in the round as in `draw_batches`.

    Raises:
        ValueError: if fewer than `batch_size` contexts are rare.
    """
    total = counts.sum(-1)
    always, rest = (total >= often).nonzero()[:, 0], (total < often).nonzero()[:, 0]
    if not 1 <= batch_size <= len(rest):
        raise ValueError(
            f"{batch_size=} must be between 1 and the {len(rest)} contexts seen less than {often} "
            f"times: {_say_what_draws(batch_size, often, total)}"
        )
    n_batches = len(rest) // batch_size
    while True:
        shuffled = rest[torch.randperm(len(rest), generator=generator)]
        for picked in shuffled.split(batch_size)[:n_batches]:
            weighted = torch.cat([counts[always], counts[picked] * n_batches])
            yield torch.cat([contexts[always], contexts[picked]]), weighted


def _say_what_draws(batch_size: int, often: int, total: Int[Tensor, "K"]) -> str:
    """List what to change so that there are enough rare contexts, each enough alone."""
    n_rare = int((total < often).sum())
    ways = ["pass all contexts at once in each step"]
    if 1 <= batch_size <= len(total):
        enough = int(total.sort().values[batch_size - 1]) + 1
        ways.insert(0, f"choose often={enough} or more")
    if n_rare:
        ways.insert(0, f"choose batch_size from 1 to {n_rare}")
    return ", or ".join(ways)


def _refuse_batch(batch_size: int, available: int) -> None:
    if not available:
        raise ValueError("there are no windows to draw from: cut some first")
    if not 1 <= batch_size <= available:
        raise ValueError(f"{batch_size=} must be between 1 and the {available} there are")


def draw_spans(
    tokens: Int[Tensor, "N"], length: int, batch_size: int, generator: Generator
) -> Iterator[tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]]:
    """Yield random stretches of a text without end, and the same stretches one token later.

    Every start is as likely as any other, the last one included, so each token but the first
    can be a target.

    Raises:
        ValueError: if the text is not longer than a stretch, or the batch is empty.
    """
    if not 1 <= length < len(tokens) or batch_size < 1:
        raise ValueError(
            f"stretches of {length=} and their targets need a text of {length + 1} tokens or "
            f"more, not {len(tokens)}, and {batch_size=} must be at least 1"
        )
    steps = torch.arange(length + 1, device=tokens.device)
    while True:
        starts = torch.randint(len(tokens) - length, (batch_size,), generator=generator)
        stretch = tokens[starts.to(tokens.device)[:, None] + steps]
        yield stretch[:, :-1], stretch[:, 1:]
