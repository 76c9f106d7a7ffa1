"""Byte-pair encoding: a vocabulary learnt by merging the most frequent pair, again and again.

Sennrich, Haddow and Birch 2016, on bytes instead of characters (Radford et al. 2019), so that
no text is ever unknown. `train_bpe` learns; `BPE` encodes and decodes.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import SupportsIndex

from coursekit.tokens.ids import to_id
from coursekit.tokens.merges import Pair, count_pairs, learn_merges, merge_pair, merge_ranked
from coursekit.tokens.patterns import GPT4, compile_pattern, cut_out, split_chunks

__all__ = ["BPE", "Pair", "count_pairs", "learn_merges", "merge_pair", "merge_ranked", "train_bpe"]


class BPE:
    """Encode any text as ids of byte strings, and decode it again.

    Args:
        ranks: the id of each token's bytes; where several pairs of neighbours could be merged,
            the one with the lowest id goes first. Each of the 256 bytes needs an id.
        pattern: a regular expression that cuts a text into chunks, which never merge with each
            other; None leaves the text in one piece.
        special: tokens outside the text, such as "<|endoftext|>", and their ids.

    Raises:
        ValueError: if a byte has no id, two tokens share one, or the pattern has a group.
    """

    def __init__(
        self,
        ranks: Mapping[bytes, int],
        *,
        pattern: str | None = None,
        special: Mapping[str, int] = {},
    ) -> None:
        self.ranks = dict(ranks)
        self.pattern = pattern
        self.special = dict(special)
        named = {name.encode(): i for name, i in self.special.items()}
        self._tokens = {i: token for token, i in chain(self.ranks.items(), named.items())}
        missing = [i for i in range(256) if bytes([i]) not in self.ranks]
        if missing:
            raise ValueError(f"bytes {missing} have no id: give each of the 256 bytes one")
        if len(self._tokens) < len(self.ranks) + len(self.special) or min(self._tokens) < 0:
            raise ValueError("two tokens share an id, or one is negative: count ids from 0")
        if "" in self.special or b"" in self.ranks:
            raise ValueError("a token is empty: give it a spelling, or leave it out")
        self._regex = compile_pattern(pattern)
        self._known = _Known(self.ranks)

    def encode(
        self,
        text: str,
        *,
        allowed_special: Collection[str] = (),
        disallowed_special: Collection[str] | None = None,
    ) -> list[int]:
        """Turn `text` into ids; no text becomes a special token unless you allow it.

        Args:
            text: any text.
            allowed_special: special tokens that become their id where they stand in `text`.
            disallowed_special: those that raise an error if they stand in `text`; None means
                all that are not allowed. What is in neither is encoded as ordinary text.

        Raises:
            ValueError: if `text` holds a disallowed special token or half of a surrogate pair,
                or if a name is no special token.
        """
        for name in chain(allowed_special, disallowed_special or ()):
            if name not in self.special:
                raise ValueError(f"{name!r} is no special token: take from {[*self.special]}")
        if disallowed_special is None:
            disallowed_special = self.special.keys() - set(allowed_special)
        for name in sorted(disallowed_special):
            if name in text:
                raise ValueError(
                    f"the text holds the special token {name!r}: put it into allowed_special if "
                    "you trust the text, or pass disallowed_special=() to encode it as text"
                )
        if not allowed_special:
            return self._encode_ordinary(text)
        ids = []
        for i, part in enumerate(cut_out(text, allowed_special)):
            ids += [self.special[part]] if i % 2 else self._encode_ordinary(part)
        return ids

    def _encode_ordinary(self, text: str) -> list[int]:
        return list(chain.from_iterable(map(self._known.__getitem__, self.split(text))))

    def split(self, text: str) -> list[str]:
        """Cut `text` into the chunks within which tokens merge.

        Raises:
            ValueError: if the pattern leaves out a part of the text.
        """
        return split_chunks(text, self._regex)

    def token(self, i: SupportsIndex) -> bytes:
        """Return the bytes of token `i`, a special token's name; ValueError if there is none."""
        return self._look_up(i)

    def _look_up(self, i: object) -> bytes:
        wanted = to_id(i)
        if wanted in self._tokens:
            return self._tokens[wanted]
        known = sorted(self._tokens)
        if wanted is None:
            raise ValueError(f"{i!r} is no id of a token: take a whole number, such as {known[0]}")
        nearest = min(known, key=lambda other: abs(other - wanted))
        raise ValueError(
            f"no token has the id {wanted}: take one of the {len(known)} ids from {known[0]} to "
            f"{known[-1]}, such as {nearest}"
        )

    def decode_bytes(self, ids: Iterable[SupportsIndex]) -> bytes:
        """Return the bytes of the tokens, side by side."""
        return b"".join(map(self._look_up, ids))

    def decode(self, ids: Iterable[SupportsIndex], errors: str = "replace") -> str:
        """Return the text of the ids.

        Bytes that are no UTF-8 (a character cut in two) become "�", or an error with
        errors="strict".
        """
        return self.decode_bytes(ids).decode("utf-8", errors)

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, in the order of ids."""
        ranks = sorted(self.ranks.items(), key=lambda item: item[1])
        content = {
            "pattern": self.pattern,
            "special": self.special,
            "ranks": {token.decode("utf-8", "surrogateescape"): i for token, i in ranks},
        }
        Path(path).write_text(json.dumps(content, indent=1), "utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "BPE":
        """Read what `save` wrote: an equal tokenizer."""
        try:
            content = json.loads(Path(path).read_text("utf-8"))
            ranks = {
                token.encode("utf-8", "surrogateescape"): i for token, i in content["ranks"].items()
            }
            return cls(ranks, pattern=content["pattern"], special=content["special"])
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{path} is not a tokenizer: write it with BPE.save") from None

    def __len__(self) -> int:
        return max(self._tokens) + 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BPE) and (self.ranks, self.pattern, self.special) == (
            other.ranks,
            other.pattern,
            other.special,
        )

    __hash__ = None  # type: ignore[assignment]  # as Python does for a class with __eq__

    def __repr__(self) -> str:
        return f"BPE({len(self)} tokens, pattern={self.pattern!r}, special={self.special})"


class _Known(dict[str, list[int]]):
    """The ids of each chunk met so far: a text repeats most of its chunks."""

    def __init__(self, ranks: Mapping[bytes, int]) -> None:
        super().__init__()
        self.ranks = ranks

    def __missing__(self, chunk: str) -> list[int]:
        content = _to_bytes(chunk)
        whole = self.ranks.get(content)  # some vocabularies hold tokens that no merges reach
        ids = merge_ranked(content, self.ranks) if whole is None else [whole]
        if len(self) < 2**18 and len(chunk) < 2**8:  # or a long stream would fill the memory
            self[chunk] = ids
        return ids


def train_bpe(
    text: str | Iterable[str],
    vocab_size: int,
    *,
    pattern: str | None = GPT4,
    special: Sequence[str] = (),
) -> BPE:
    """Learn `vocab_size` tokens: the 256 bytes, merges, and then the special tokens.

    Each merge makes a token of the most frequent pair of neighbours; among equally frequent
    ones, of the pair with the smallest ids. So the ids are the same in every process.

    Args:
        text: one text, or several, between which nothing merges.
        vocab_size: how many tokens to end with.
        pattern: how to cut a text into chunks, between which nothing merges either.
        special: tokens outside the text; where one stands in it, the text is cut there.

    Raises:
        ValueError: if `vocab_size` leaves no room for bytes and special tokens, or the text
            has too few pairs for it.
    """
    if isinstance(special, str) or len(set(special)) < len(special):
        raise ValueError(f"{special=} is one text or repeats a name: pass a list of names")
    size = vocab_size - 256 - len(special)
    if size < 0:
        raise ValueError(
            f"{vocab_size=} is less than 256 bytes and {len(special)} special tokens: "
            f"take at least {256 + len(special)}"
        )
    compiled = compile_pattern(pattern)
    chunks: Counter[str] = Counter()
    for document in [text] if isinstance(text, str) else text:
        for part in cut_out(document, special)[::2]:
            chunks.update(split_chunks(part, compiled))
    tokens = [bytes([i]) for i in range(256)]
    for a, b in learn_merges({_to_bytes(chunk): n for chunk, n in chunks.items()}, size):
        tokens.append(tokens[a] + tokens[b])
    return BPE(
        {token: i for i, token in enumerate(tokens)},
        pattern=pattern,
        special={name: len(tokens) + i for i, name in enumerate(special)},
    )


def _to_bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as problem:
        raise ValueError(
            f"{text[problem.start]!r} is half of a surrogate pair and no character: mend the text "
            "with text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        ) from None
