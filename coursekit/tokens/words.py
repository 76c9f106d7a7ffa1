"""Vocabularies of words or characters that know what they don't know."""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import SupportsIndex

from coursekit.tokens.ids import to_id

Split = Callable[[str], Iterable[str]]


class Special(IntEnum):
    """The four tokens that stand for no piece of text: they have an id, and no spelling."""

    BOS = 0
    """The beginning of a text."""
    EOS = 1
    """The end of a text."""
    PAD = 2
    """Nothing: it fills short texts up to the length of their batch."""
    UNK = 3
    """A piece that is not in the vocabulary."""


class Lexicon:
    """Give each piece of a text an id, all unknown pieces one id, and no text BOS, EOS or PAD.

    A piece is what `split` cuts: a character with `list`, a word with `split_at_spaces`; `joiner`
    is what stood between two pieces. Ids 0 … 3 are `Special`'s, the first piece has id 4.

    Example:
        >>> Lexicon.of("to be or not to be", split_at_spaces, " ").encode("to do")
        [7, 3]
    """

    def __init__(self, pieces: Iterable[str], split: Split = list, joiner: str = "") -> None:
        self.pieces = tuple(pieces)
        self.split = split
        self.joiner = joiner
        self._ids = {piece: i for i, piece in enumerate(self.pieces, len(Special))}
        if len(self._ids) < len(self.pieces):
            raise ValueError("a piece occurs twice: name each once, or use Lexicon.of(text)")

    @classmethod
    def of(cls, text: str, split: Split = list, joiner: str = "") -> "Lexicon":
        """Collect the pieces of `text` in sorted order: the same ids in every process."""
        return cls(sorted(set(split(text))), split, joiner)

    def encode(self, text: str) -> list[int]:
        """Replace each piece by its id, or by UNK if it has none."""
        return [self._ids.get(piece, int(Special.UNK)) for piece in self.split(text)]

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """Join the pieces; BOS, EOS and PAD vanish, UNK becomes "�"; no such id: ValueError."""
        pieces = []
        for i in ids:
            known = to_id(i)
            if known is None or not 0 <= known < len(self):
                raise ValueError(f"id {i!r} is not a whole number in 0 … {len(self) - 1}")
            if known >= Special.UNK:
                pieces.append("�" if known == Special.UNK else self.pieces[known - len(Special)])
        return self.joiner.join(pieces)

    def __len__(self) -> int:
        return len(Special) + len(self.pieces)


def split_at_spaces(text: str) -> list[str]:
    """Cut at each single space: two in a row leave an empty word between them.

    Example:
        >>> split_at_spaces("a  b.")
        ['a', '', 'b.']
    """
    return text.split(" ")
