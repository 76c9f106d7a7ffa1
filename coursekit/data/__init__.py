"""Data sets, each checked, each saying where it came from."""

from coursekit.data import series, text
from coursekit.data.series import digits, sp500
from coursekit.data.store import provenance
from coursekit.data.text import NEWS, names, shakespeare, split_words

DATASETS = text.DATASETS | series.DATASETS
"""Every data set of the course by its name."""

__all__ = [
    "DATASETS",
    "NEWS",
    "digits",
    "names",
    "provenance",
    "shakespeare",
    "sp500",
    "split_words",
]
