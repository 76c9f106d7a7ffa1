"""The course's own installation, and the first cell as readers get it."""

import ast
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from coursekit import complete
from tests.test_first_cell import colab, pip, run_cell, versions  # noqa: F401 (a fixture)
from tests.test_rules import ROOT, imports_of
from tools.source import Lesson, load

SOURCE = "# %% [markdown]\n# # 1 · Made up\n\n# %%\n1 + 1\n"


def first_cell(folder, address=""):
    """Build a lesson of a course that has this address; return its first code cell."""
    (folder / "notebooks/src").mkdir(parents=True)
    (folder / "notebooks/src/01_made.py").write_text(SOURCE)
    (folder / "pyproject.toml").write_text(f'[tool.coursekit]\nrepository = "{address}"\n')
    return load(Lesson(folder, "01_made")).cells[1].source


ADDRESSES = ["", "git+https://host.org/owner/course"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_first_cell_has_at_most_six_lines_that_fit_a_page(tmp_path, address):
    lines = first_cell(tmp_path, address).splitlines()
    assert len(lines) <= 6
    assert max(map(len, lines)) <= 100
    assert address in "\n".join(lines)
    ast.parse("\n".join(lines))


def test_without_an_address_the_built_cell_says_so(tmp_path):
    done = run_cell(tmp_path / "empty", "-S", code=first_cell(tmp_path))
    said = "The course has no public address yet: open this notebook in a clone of it."
    assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", said)


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_built_cell_finds_a_clone(tmp_path, address):
    code = first_cell(tmp_path, address)
    (tmp_path / "coursekit").mkdir()
    (tmp_path / "coursekit/__init__.py").write_text("here = True")
    for folder in (tmp_path, tmp_path / "notebooks", tmp_path / "notebooks/src"):
        done = run_cell(folder, "-S", code=code, after="\nimport coursekit\ncoursekit.here")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_folder_that_only_has_the_name_is_not_looked_into(tmp_path):
    (tmp_path / "coursekit").mkdir()
    look = f"import sys; sys.path.append({str(ROOT)!r}); before = list(sys.path)\n"
    code = look + first_cell(tmp_path)
    done = run_cell(tmp_path / "notebooks", code=code, after="\nassert sys.path == before")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_if_a_needed_package_is_not_to_be_had_the_course_is_gone_again(colab, tmp_path):  # noqa: F811
    _, python, registry = colab
    before = versions(python)
    wheel = next(registry.glob("coursekit-*.whl"))
    code = first_cell(tmp_path, wheel.as_uri())
    done = run_cell(tmp_path / "empty", code=code, python=python, PIP_NO_INDEX="1")
    assert done.returncode == 1
    assert done.stderr.startswith("The course could not be installed. ")
    assert "jaxtyping" in done.stderr  # what pip says
    assert versions(python) == before


def test_the_built_cell_installs_what_is_missing(colab, tmp_path):  # noqa: F811
    _, python, registry = colab
    before = versions(python)
    wheel = next(registry.glob("coursekit-*.whl"))
    code = first_cell(tmp_path, wheel.as_uri())
    variables = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(registry)}
    after = "\nimport coursekit"
    done = run_cell(tmp_path / "empty", code=code, after=after, python=python, **variables)
    assert done.returncode == 0, done.stderr
    now = versions(python)
    assert {name: now[name] for name in before} == before
    assert "coursekit" in now.keys() - before.keys()
    pip(python, "uninstall", "-y", *sorted(now.keys() - before.keys()))


def test_the_requirements_are_the_packages_own_and_those_of_one_extra():
    lines = ["torch>=2.4", "arch>=7; extra == 'data'", 'nltk ; extra=="test"', "a; extra == 'dat'"]
    assert complete.needs(lines, "data") == ["torch>=2.4", "arch>=7"]
    assert complete.needs(lines, "other") == ["torch>=2.4"]


def test_only_what_is_there_and_to_be_kept_is_constrained():
    here = {"numpy": "2.0.2", "torch": "2.6.0+cu124", "tqdm": "4.67.1"}
    assert complete.constraints(here) == "torch==2.6.0+cu124\nnumpy==2.0.2\n"


def test_where_the_course_is_not_installed_it_says_so(monkeypatch):
    def refuse(name):
        raise PackageNotFoundError(name)

    removed = []
    monkeypatch.setattr(complete, "requires", refuse)
    monkeypatch.setattr(complete.subprocess, "run", lambda command, **_: removed.append(command))
    with pytest.raises(PackageNotFoundError):
        complete.install_missing()
    assert [command[3] for command in removed] == ["uninstall"]


def test_it_needs_nothing_but_the_standard_library():
    assert imports_of(ROOT / "coursekit/complete.py") <= sys.stdlib_module_names
