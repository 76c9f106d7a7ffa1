"""Data sets, each checked, each saying where it came from."""

from coursekit.data.store import provenance
from coursekit.data.text import NEWS, names, shakespeare, split_words

__all__ = ["NEWS", "names", "provenance", "shakespeare", "split_words"]
