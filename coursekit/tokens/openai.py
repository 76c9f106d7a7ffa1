"""The vocabularies that OpenAI published, read from their files, and our own in its library."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from coursekit.tokens.bpe import BPE
from coursekit.tokens.patterns import GPT2

if TYPE_CHECKING:
    import tiktoken


def byte_characters() -> dict[int, str]:
    """Give each of the 256 bytes the character that stands for it in GPT-2's files.

    A byte that prints in Latin-1 stands for itself; the others, the space among them, take the
    characters from 256 on, in order. So a space is written Ġ and a line break Ċ.
    """
    printed = [b for b in range(256) if chr(b).isprintable() and chr(b) != " "]
    others = [b for b in range(256) if b not in printed]
    return {b: chr(b) for b in printed} | {b: chr(256 + n) for n, b in enumerate(others)}


def read_gpt2(encoder_json: str | bytes, vocab_bpe: str | bytes) -> BPE:
    """Build GPT-2's tokenizer from its two files: ids of tokens, and merges in their order.

    A name in `encoder_json` that no merge makes is a special token.

    Raises:
        ValueError: if a merge's token has no id there, or ids do not follow the merges.
    """
    bytes_of = {character: b for b, character in byte_characters().items()}
    ids: dict[str, int] = json.loads(encoder_json)
    lines = (vocab_bpe.decode() if isinstance(vocab_bpe, bytes) else vocab_bpe).split("\n")
    names = [*byte_characters().values(), *(line.replace(" ", "") for line in lines[1:] if line)]
    if [ids.get(name) for name in names] != list(range(len(names))):
        raise ValueError("the two files disagree: take encoder.json and vocab.bpe of one model")
    ranks = {bytes(bytes_of[character] for character in name): ids.pop(name) for name in names}
    return BPE(ranks, pattern=GPT2, special=ids)


def read_tiktoken(
    content: str | bytes, *, pattern: str | None, special: Mapping[str, int] = {}
) -> BPE:
    """Build a tokenizer from a .tiktoken file: on each line a token in base 64 and its id.

    Such a file holds neither the pattern nor the special tokens.

    Raises:
        ValueError: if a line has another form.
    """
    ranks = {}
    lines: Sequence[str | bytes] = content.splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            token, i = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(i)
        except ValueError:
            raise ValueError(
                f"line {number} is {line[:40]!r}, not a token in base 64 and its id: "
                "take a file that ends in .tiktoken"
            ) from None
    return BPE(ranks, pattern=pattern, special=special)


def to_tiktoken(bpe: BPE, name: str = "coursekit") -> "tiktoken.Encoding":
    """Run a tokenizer in OpenAI's library tiktoken, written in Rust: the same ids."""
    import tiktoken

    return tiktoken.Encoding(
        name,
        pat_str=r"[\s\S]+" if bpe.pattern is None else bpe.pattern,
        mergeable_ranks=bpe.ranks,
        special_tokens=bpe.special,
    )
