"""Labelled statements on how something turned out, made from templates written for this course."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

DOMAINS: dict[str, tuple[str, str, str]] = {
    "travel": ("train bus ferry", "punctual swift quiet", "late slow crowded"),
    "kitchen": ("soup cake stew", "fresh tasty tender", "burnt stale dry"),
    "delivery": ("parcel letter mirror", "whole complete correct", "broken wrong torn"),
    "weather": ("picnic walk parade", "sunny dry mild", "rainy foggy windy"),
}
"""For each domain its things, what is good about one, and what is bad: *dry* is both."""

OUTCOMES = (
    "the {s} was {x}",
    "it was a {x} {s}",
    "{w} had a {x} {s}",
    "{w} found the {s} {x}",
)
DENIALS = (
    "the {s} was not {o}",
    "it was not a {o} {s}",
    "{w} did not have a {o} {s}",
    "nobody found the {s} {o}",
)
EXPECTATIONS = (
    "{w} expected a {o} {s}",
    "the {s} should have been {o}",
    "{w} thought the {s} would be {o}",
)
"""Clauses. {s} is a thing, {x} how it was, {o} an opposite of that, {w} who says so."""

WHO = ["we", "they", "you"]
WHEN = "today", "this time"
REACTIONS = (
    ("everyone was pleased", "people smiled", "the guests came again"),
    ("everyone was annoyed", "people grumbled", "the guests went home"),
)
"""What people did after something good, and after something bad."""


@dataclass(frozen=True)
class Statement:
    """One statement: its words, its label, and what it was made from.

    Attributes:
        text: words and a full stop, with a space between them.
        label: 1 if it turned out well, 0 if not.
        template: the clauses that were filled in.
        domain: one of `DOMAINS`.
    """

    text: str
    label: int
    template: str
    domain: str


def templates() -> list[list[str]]:
    """List the templates in groups: one clause, an outcome and a reaction, and two clauses."""
    facts = OUTCOMES + DENIALS
    single = [f"{fact} {{t}} ." for fact in facts] + [f"{{t}} {fact} ." for fact in facts]
    caused = [f"{fact} so {{r}} ." for fact in facts] + [
        f"{{r}} because {fact} ." for fact in facts
    ]
    first = [f"{hope} but {fact} ." for hope in EXPECTATIONS for fact in OUTCOMES]
    last = [f"{fact} but {hope} ." for hope in EXPECTATIONS for fact in OUTCOMES]
    return [single, caused, first, last]


def fill_in(template: str) -> str:
    """Return the statement by which pictures name a template, without its full stop.

    Example:
        >>> fill_in("it was not a {o} {s} {t} .")
        'it was not a dry cake today'
    """
    words = {"s": "cake", "x": "tasty", "o": "dry", "w": "we", "t": "today", "r": "people smiled"}
    return template.format(**words).removesuffix(" .")


def statements(
    each: int = 64, split: int = 42
) -> tuple[list[Statement], list[Statement], list[Statement]]:
    """Make labelled statements: for training, for validation, and for the test.

    Every clause of `OUTCOMES` and `DENIALS` is joined with a time or with a reaction, and every
    outcome with an expectation that did not come true: 56 templates. Of each group about five
    eighths are for training, one for validation and two for the test, drawn with a fixed seed:
    what is tested is a new *combination* of known clauses. Each template is filled in `each`
    times, half of them with something good, and as often in each of the four domains. With an
    expectation, a word for good and one for bad occur: not which words there are makes the
    label, but which of them is the outcome.

    All was written for this course; no sentence was taken from elsewhere.

    Args:
        each: statements for each template; a multiple of 8, for four domains and two labels.
            Which templates are in which part does not depend on it.
        split: seed of the draw of templates.

    Raises:
        ValueError: if `each` is no multiple of 8, or so large that statements would repeat.
    """
    if not 8 <= each <= 64 or each % 8:
        raise ValueError(f"{each=} must be a multiple of 8 from 8 to 64")
    cut, chance = random.Random(split), random.Random(43)
    parts: tuple[list[Statement], ...] = ([], [], [])
    for group in templates():
        shuffled = cut.sample(group, len(group))
        cuts = 0, len(group) * 5 // 8, len(group) * 6 // 8, len(group)
        for part, (begin, end) in zip(parts, pairwise(cuts), strict=True):
            part += [one for form in shuffled[begin:end] for one in _fill(form, each, chance)]
    train, validation, test = parts
    return train, validation, test


def _fill(template: str, each: int, chance: random.Random) -> list[Statement]:
    """Fill in one template, and say nothing twice."""
    found: dict[str, Statement] = {}
    for domain, (things, good, bad) in DOMAINS.items():
        for label in (0, 1):
            words = (good, bad) if label else (bad, good)
            before = len(found)
            while len(found) < before + each // 8:
                text = template.format(
                    s=chance.choice(things.split()),
                    x=chance.choice(words[0].split()),
                    o=chance.choice(words[1].split()),
                    w=chance.choice(WHO),
                    t=chance.choice(WHEN),
                    r=chance.choice(REACTIONS[1 - label]),
                )
                found[text] = Statement(text, label, template, domain)
    return list(found.values())


SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[MASK]"]
"""Ids 0 to 3 of `number_words`, as BERT calls them; its own numbers are others."""


def number_words(texts: Sequence[str]) -> dict[str, int]:
    """Give each word of some texts an id, after those of `SPECIAL`, in the order of the alphabet.

    Example:
        >>> number_words(["b a", "a ."])
        {'[PAD]': 0, '[CLS]': 1, '[SEP]': 2, '[MASK]': 3, '.': 4, 'a': 5, 'b': 6}
    """
    words = sorted({word for text in texts for word in text.split()})
    return {word: i for i, word in enumerate(SPECIAL + words)}
