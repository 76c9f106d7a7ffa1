"""Data sets, each checked, each saying where it came from."""

from coursekit.data import currencies, series, text, vocabularies
from coursekit.data.currencies import exchange_rate_benchmark, exchange_rates
from coursekit.data.series import digits, etth1, hourly, pedestrians, sp500, us_gdp
from coursekit.data.text import GEOMETRY, NEWS, SENTENCES, names, shakespeare, split_words
from coursekit.data.vocabularies import gpt2, gpt4, tiktoken_encoding
from coursekit.fetch.store import provenance

DATASETS = text.DATASETS | series.DATASETS | currencies.DATASETS | vocabularies.DATASETS
"""Every data set of the course by its name."""

__all__ = [
    "DATASETS",
    "GEOMETRY",
    "NEWS",
    "SENTENCES",
    "digits",
    "etth1",
    "exchange_rate_benchmark",
    "exchange_rates",
    "gpt2",
    "gpt4",
    "hourly",
    "names",
    "pedestrians",
    "provenance",
    "shakespeare",
    "sp500",
    "split_words",
    "tiktoken_encoding",
    "us_gdp",
]
