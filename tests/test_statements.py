"""The labelled statements: how many, how they are cut, and what they give away."""

import re
from collections import Counter
from itertools import product

import pytest

from coursekit.data.statements import (
    DOMAINS,
    REACTIONS,
    fill_in,
    number_words,
    statements,
    templates,
)

PARTS = statements()


def test_there_are_enough_of_them_and_none_twice():
    texts = [one.text for part in PARTS for one in part]
    assert [len(part) for part in PARTS] == [2176, 512, 896]
    assert len(set(texts)) == len(texts) >= 400


def test_no_template_is_in_two_parts_and_no_word_in_a_later_part_only():
    forms = [{one.template for one in part} for part in PARTS]
    assert [len(one) for one in forms] == [34, 8, 14]
    assert len(set().union(*forms)) == 56 == len([t for group in templates() for t in group])
    words = [{word for one in part for word in one.text.split()} for part in PARTS]
    assert words[1] | words[2] <= words[0]


def test_half_turned_out_well_in_each_domain_and_template():
    for part in PARTS:
        counts = Counter((one.template, one.domain, one.label) for one in part)
        assert set(counts.values()) == {8}
        assert {domain for _, domain, _ in counts} == set(DOMAINS)


def test_the_outcome_makes_the_label():
    for one in (one for part in PARTS for one in part):
        things, good, bad = (set(words.split()) for words in DOMAINS[one.domain])
        pattern = re.escape(one.template)
        for slot, some in (("x", good | bad), ("o", good | bad), ("s", things)):
            pattern = pattern.replace(rf"\{{{slot}\}}", f"(?P<{slot}>{'|'.join(some)})", 1)
            pattern = pattern.replace(rf"\{{{slot}\}}", f"(?:{'|'.join(some)})")
        pattern = re.sub(r"\\\{[wtr]\\\}", "[a-z ]+", pattern)
        found = re.fullmatch(pattern, one.text)
        assert found, (one.text, one.template)
        named = found.groupdict()
        if "x" in named:
            assert (named["x"] in good) == one.label
        if "o" in named:
            assert (named["o"] in bad) == one.label


def test_people_react_to_what_turned_out_well_or_not():
    reacted = [one for part in PARTS for one in part if "{r}" in one.template]
    assert len(reacted) == 16 * 64
    for one in reacted:
        pleased, annoyed = (any(said in one.text for said in group) for group in REACTIONS)
        assert (pleased, annoyed) == (one.label == 1, one.label == 0)


def test_dry_is_bad_for_food_and_good_for_a_walk():
    assert "dry" in DOMAINS["kitchen"][2].split()
    assert "dry" in DOMAINS["weather"][1].split()
    words = [word for group in DOMAINS.values() for words in group for word in words.split()]
    assert [word for word, n in Counter(words).items() if n > 1] == ["dry"]


def test_no_word_needs_another_article():
    words = [word for group, k in product(DOMAINS.values(), range(3)) for word in group[k].split()]
    assert not [word for word in words if word[0] in "aeiou"]


def test_they_are_the_same_each_time():
    assert statements() == PARTS


@pytest.mark.parametrize("each", [0, 7, 12, 72])
def test_numbers_that_do_not_split_are_refused(each):
    with pytest.raises(ValueError, match=f"each={each} must be a multiple of 8"):
        statements(each)


def test_words_are_numbered_after_the_special_tokens():
    ids = number_words([one.text for one in PARTS[0]])
    assert list(ids.values()) == list(range(len(ids)))
    assert list(ids)[:4] == ["[PAD]", "[CLS]", "[SEP]", "[MASK]"]
    assert list(ids)[4:] == sorted(list(ids)[4:])


def test_another_seed_draws_other_templates():
    forms = [[{one.template for one in part} for part in statements(8, split)] for split in (42, 0)]
    assert forms[0] == [{one.template for one in part} for part in PARTS]
    assert [len(one) for one in forms[1]] == [34, 8, 14]
    assert forms[0][2] != forms[1][2]


def test_more_of_them_are_cut_by_the_same_templates():
    for few, many in zip(statements(16), PARTS, strict=True):
        assert {one.template for one in few} == {one.template for one in many}
        assert len(many) == 4 * len(few) == len({one.text for one in many})


def test_training_says_nobody_in_two_templates_with_the_adjective_at_5_or_later():
    """What lesson 10 says of them; [CLS] is position 0."""
    found = {}
    for one in PARTS[0]:
        words = one.text.split()
        if "nobody" in words:
            adjective = words.index("nobody") + 5
            found.setdefault(one.template, set()).add((words.index("nobody") + 1, adjective))
            _, good, bad = DOMAINS[one.domain]
            assert words[adjective - 1] in (good + " " + bad).split()
    positions = {"nobody found the {s} {o} so {r} .": {(1, 5)}}
    assert found == positions | {"{t} nobody found the {s} {o} .": {(2, 6), (3, 7)}}
    (asked,) = {one.template for one in PARTS[2] if "nobody" in one.template}
    assert asked == "nobody found the {s} {o} {t} ."


def test_a_template_is_named_by_a_statement_that_can_be_made_from_it():
    _, good, bad = DOMAINS["kitchen"]
    for form in {one.template for part in PARTS for one in part}:
        name = fill_in(form)
        pattern = re.escape(form.removesuffix(" .")).replace(r"\{", "{").replace(r"\}", "}")
        words = {"s": "cake", "x": f"({'|'.join(good.split())})", "o": f"({'|'.join(bad.split())})"}
        words |= {"w": "we", "t": "today", "r": f"({'|'.join(REACTIONS[0])})"}
        assert re.fullmatch(pattern.format(**words), name), form
