r"""Patterns that cut a text into chunks before any pair is counted; no merge crosses a cut.

Both are those of the tokenizers that OpenAI published with GPT-2 (2019) and GPT-4 (2023). The
alternatives are tried from left to right at each position; the first one that matches is the chunk.

Contractions: `'(?:[sdmt]|ll|ve|re)`
    The endings of "don't" and "I'll" are chunks. GPT4 adds `i`, in capitals too: GPT2 cuts "I'LL"
    into "I", "'" and "LL". The price: "O'Malley" becomes "O", "'M", "alley".
Words: ` ?\p{L}+`
    Letters of any script, with the space before them, so that few tokens are spent on spaces.
    GPT4 lets any one mark lead that is no end of line (`[^\r\n\p{L}\p{N}]?`): a tab, or the
    point of ".append".
Numbers: ` ?\p{N}+`
    Digits never mix with letters. GPT4 takes one to three and no space (`\p{N}{1,3}`), so that
    a number is cut alike wherever it stands and few tokens are spent on numbers.
Marks: ` ?[^\s\p{L}\p{N}]+`
    Punctuation never sticks to the word before it, or "dog", "dog." and "dog!" would all be
    tokens. GPT4 adds the ends of line that follow (`[\r\n]*`), as after ";" in code.
Ends of line (GPT4 only): `\s*[\r\n]`
    White space up to the last end of line is a chunk: the next line's indentation is another.
White space: `\s+(?!\S)|\s+`
    A run of spaces leaves its last one to the word that follows; the others stay together, and
    merges make one token of an indentation if the training text had many.
"""

from collections.abc import Collection
from itertools import accumulate, pairwise

import regex

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern of GPT-2 and GPT-3."""

GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
"""The pattern of GPT-3.5 and GPT-4, whose vocabulary is called cl100k_base."""

_LATER = """
558 58B-58C 88F C5C CDC 208F 209D-209F A7CE-A7CF A7D2 A7D4 A7DD A7E2 A7F1 AB6C-AB6D 107BB-107BF
10940-10959 10EC5-10EC7 10ED9-10EEE 11B0A 11DB0-11DDB 11DE0-11DE9 11DF1 1246F 12475-1247F
12550-12686 16EA0-16EB8 16EBB-16ED3 16FF2-16FF6 187F8-187FF 18CD6-18CDA 18D09-18D20 18D80-18DF2
18E00-19191 191A0-191D2 1B123-1B128 1B168 1D6A6 1DF1F-1DF24 1DF2B-1DF81 1DF90-1DF96 1DFCD-1DFFF
1E6C0-1E6DE 1E6E0-1E6E2 1E6E4-1E6E5 1E6E7-1E6ED 1E6F0-1E6F4 1E6FE-1E6FF 2B73A-2B73F 2B81E
2CEA2-2CEAD 323B0-33479 3D000-3FC3F
"""
LATER = regex.compile(
    "[" + "".join(regex.sub(r"\w+", lambda code: rf"\U{code[0]:>08}", _LATER).split()) + "]"
)
"""Letters and numbers that Unicode has assigned since version 16.

What counts as a letter changes with each version of Unicode, and with it where a pattern cuts. A
tokenizer must not depend on which version is installed, so these are cut as what they are in
version 16, no characters at all; so does tiktoken 0.14.
"""


def compile_pattern(pattern: str | None) -> regex.Pattern | None:
    """Compile a pattern for `split_chunks`; one with an error or a group raises ValueError."""
    if pattern is None:
        return None
    try:
        compiled = regex.compile(pattern)
    except regex.error as problem:
        raise ValueError(f"pattern {pattern!r} can't be read, correct it: {problem}") from None
    if compiled.groups:
        raise ValueError(f"pattern {pattern!r} has a group: write (?:…) in place of (…)")
    return compiled


def split_chunks(text: str, compiled: regex.Pattern | None) -> list[str]:
    """Cut `text` into the matches of a pattern; None leaves it in one piece.

    Raises:
        ValueError: if the pattern leaves out a part of the text.
    """
    if compiled is None:
        return [text] if text else []
    # U+FFFF is no character and never will be one: a stand-in for those not yet assigned
    later = not text.isascii() and LATER.search(text)
    chunks = compiled.findall(LATER.sub("\uffff", text) if later else text)
    if sum(map(len, chunks)) < len(text):
        raise ValueError(
            f"pattern {compiled.pattern!r} leaves out a part of the text, which would be lost: "
            r"add an alternative for it, such as |\s+|."
        )
    if later:
        ends = list(accumulate(map(len, chunks), initial=0))
        chunks = [text[start:end] for start, end in pairwise(ends)]
    return chunks


def cut_out(text: str, special: Collection[str]) -> list[str]:
    """Split into text, special token, text, …; the longest token wins where several match."""
    names = sorted(special, key=lambda name: (-len(name), name))
    return regex.split("(" + "|".join(map(regex.escape, names)) + ")", text) if names else [text]
