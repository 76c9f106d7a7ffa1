"""The correspondence between characters and their ids."""

from collections.abc import Iterable
from typing import SupportsIndex

from coursekit.tokens.ids import to_id


class Vocabulary:
    """Give each character an id and each id its character.

    The order is the one given, so that ids are the same in every process; a set of strings
    has no such order, and a model saved with ids taken from one cannot be read back.

    Args:
        characters: the distinct characters, id 0 first.

    Raises:
        ValueError: if there are none, or one occurs twice.

    Example:
        >>> Vocabulary(".ab").encode("ab.")
        [1, 2, 0]
    """

    def __init__(self, characters: Iterable[str]) -> None:
        self.characters = "".join(characters)
        self._ids = {character: i for i, character in enumerate(self.characters)}
        if not self.characters or len(self._ids) < len(self.characters):
            raise ValueError(
                f"{self.characters!r} is empty or repeats a character: "
                "name each character once, or use Vocabulary.of(text)"
            )

    @classmethod
    def of(cls, text: str) -> "Vocabulary":
        """Collect the characters of `text`, in sorted order."""
        return cls(sorted(set(text)))

    def encode(self, text: str) -> list[int]:
        """Replace each character by its id; one that has none raises ValueError."""
        try:
            return [self._ids[character] for character in text]
        except KeyError as unknown:
            raise ValueError(
                f"character {unknown} is not one of {self.characters!r}: "
                "drop it from the text, or build the vocabulary from a text that has it"
            ) from None

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """Replace each id by its character; an id outside 0 … V - 1 raises ValueError."""
        text = []
        for i in ids:
            known = to_id(i)
            if known is None or not 0 <= known < len(self.characters):
                raise ValueError(
                    f"id {i!r} is not a whole number in 0 … {len(self.characters) - 1}"
                )
            text.append(self.characters[known])
        return "".join(text)

    def __len__(self) -> int:
        return len(self.characters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.characters == other.characters

    def __hash__(self) -> int:
        return hash(self.characters)

    def __repr__(self) -> str:
        return f"Vocabulary({self.characters!r})"
