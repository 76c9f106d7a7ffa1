"""The field's words in names: whoever leaves us must read PyTorch and the papers at sight."""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("coursekit", "tools", "benchmarks", "tests")
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
SAY = {
    "slope": "gradient",
    "rate": "learning_rate or lr",
    "share": "probability, weight or fraction",
    "place": "position",
    "guide": "label_len",
    "widen": "expand",
    "widening": "expansion",
    "squash": "activation",
    "bend": "activation",
    "reach": "receptive_field",
}
"""What stands for a word that our names don't have."""

INTEREST = {"rate", "rates", "RATES"}  # in percent a year, which notebook 05 turns into tokens
CURRENCIES = {"exchange_rates", "EXCHANGE_RATES"}
CURRENCIES |= {"exchange_rate_benchmark", "EXCHANGE_RATE_BENCHMARK"}

ALLOWED = {
    "benchmarks/probsparse.py": {"slope"},  # a line has one
    "benchmarks/horizons.py": {"exchange_rate_benchmark"},
    "coursekit/data/__init__.py": {"exchange_rates", "exchange_rate_benchmark"},
    "coursekit/data/currencies.py": CURRENCIES | {"_cut_rates"},
    "tests/test_currencies.py": CURRENCIES - {"EXCHANGE_RATES"},
    "tests/test_series.py": CURRENCIES - {"exchange_rate_benchmark"} | {"_cut_rates"},
    "tests/test_patch.py": {"share_projection"},  # as Hugging Face calls it
    "coursekit/exercises/tokens.py": {"check_quantise_rates"},
    "tests/solutions/tokens.py": {"rates", "check_quantise_rates"},
    "tests/test_numbers.py": INTEREST,
    "tools/recipes/brief.py": {"place"},  # of a pair of labels among four; no token's position
}


def unusual_names(text, allowed=frozenset()):
    """Map each name that isn't the field's to what to say; a test's own name is a sentence."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    names = {token.string for token in tokens if token.type == tokenize.NAME}
    found = {}
    for name in names - allowed:
        words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", re.sub("(?i:learning_rates?)", "", name))
        bare = {word.lower() for word in words} | {word.lower().removesuffix("s") for word in words}
        if bare & SAY.keys() and not name.startswith("test_"):
            found[name] = SAY[min(bare & SAY.keys())]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_are_the_fields(path):
    allowed = ALLOWED.get(path.relative_to(ROOT).as_posix(), frozenset())
    found = unusual_names(path.read_text("utf-8"), allowed)
    assert not found, ", ".join(f"{name}: say {word}" for name, word in sorted(found.items()))


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("slopes = attention_shares(q)", ["attention_shares", "slopes"]),
        ("def f(rate): ...", ["rate"]),
        ("class WideningLayer: ...", ["WideningLayer"]),
        ("learning_rate, gradients, replaced, shared, sharex = 1, 2, 3, 4, 5", []),
        ("LEARNING_RATE, FALLING_RATE = 1, 2", ["FALLING_RATE"]),
        ("def test_it_is_in_its_place(): ...", []),
        ("x = 'a place' # a share", []),
    ],
)
def test_an_unusual_name_is_found(code, names):
    assert sorted(unusual_names(code)) == names


@pytest.mark.parametrize(("path", "names"), ALLOWED.items())
def test_what_is_allowed_is_used(path, names):
    assert names <= unusual_names((ROOT / path).read_text("utf-8")).keys()
