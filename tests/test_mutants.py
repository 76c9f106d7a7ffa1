"""The list of bugs to plant is up to date; `python -m tests.mutants` plants them."""

import re
import shutil

import pytest

from tests.mutants import FAILED, PASSED, ROOT, Nursery, plant, read_mutants

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


@pytest.fixture
def nursery(tmp_path):
    """A nursery of a project with one function and its test."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/__init__.py").touch()
    shutil.copy(ROOT / "tests/mutants.py", tmp_path / "tests")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "double.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "tests/test_double.py").write_text(
        "from hypothesis import given\nfrom double import double\n"
        "def test_twice():\n    assert double(3) == 6\n"
    )
    nursery = Nursery(tmp_path)
    yield nursery
    nursery.close()


def test_a_bug_is_told_from_a_change_that_is_none(nursery):
    mutant = {"file": "double.py", "old": "2 * x", "test": "tests/test_double.py::test_twice"}
    assert nursery.run(mutant["test"]) == PASSED
    assert plant(nursery, mutant | {"new": "3 * x"}) == "caught"
    assert plant(nursery, mutant | {"new": "x * 2"}) == "SURVIVED"
    assert plant(nursery, mutant | {"new": "2 +* x"}).startswith("SURVIVED: the test did not run")
    assert plant(nursery, mutant | {"old": "x"}) == "old text not found exactly once"
    assert nursery.run(mutant["test"]) == PASSED
    (nursery.copy / "tests/test_double.py").write_text("def test_twice():\n    assert False\n")
    assert nursery.run(mutant["test"]) == FAILED
