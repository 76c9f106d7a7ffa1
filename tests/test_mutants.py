"""The list of bugs to plant is up to date; `python -m tests.mutants` plants them."""

import re

import pytest

from tests.mutants import ROOT, read_mutants

MUTANTS = read_mutants()


def test_there_is_a_bug_for_every_part_of_the_package():
    assert len(MUTANTS) >= 14
    assert all(mutant.keys() == {"file", "old", "new", "test", "why"} for mutant in MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant["why"])
class TestMutant:
    def test_its_old_text_stands_exactly_once_in_its_file(self, mutant):
        assert (ROOT / mutant["file"]).read_text("utf-8").count(mutant["old"]) == 1
        assert mutant["new"] != mutant["old"]

    def test_its_test_exists(self, mutant):
        file, *classes, function = mutant["test"].split("::")
        text = (ROOT / file).read_text("utf-8")
        assert re.search(rf"^ *def {re.escape(function.partition('[')[0])}\(", text, re.MULTILINE)
        assert all(f"class {name}" in text for name in classes)
