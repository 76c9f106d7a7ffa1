"""A short notebook runs whole, far from the clone; `python -m tests.away` runs all of them."""

import os
import subprocess
import sys
import zipfile

import pytest

from tests.away import ROOT, build_wheel, install, run_away


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    return install(wheel, tmp_path_factory.mktemp("away"))


@pytest.mark.lesson
def test_a_notebook_runs_far_from_the_clone_and_leaves_nothing_behind(site):
    assert run_away(ROOT / "notebooks/01_bigrams.ipynb", site) == ""


def test_the_wheel_holds_every_module_its_types_bands_and_recorded_runs_and_no_data(wheel):
    with zipfile.ZipFile(wheel) as file:
        inside = {name for name in file.namelist() if ".dist-info/" not in name}
    files = [*ROOT.glob("coursekit/**/*.py"), *ROOT.glob("coursekit/claims/*.*")]
    runs = {f"coursekit/recorded/{path.name}" for path in ROOT.glob("notebooks/recorded/*.json")}
    wanted = {path.relative_to(ROOT).as_posix() for path in files} | {"coursekit/py.typed"} | runs
    assert inside == wanted
    assert "coursekit/claims/boards.toml" in inside
    assert "coursekit/recorded/names-wild.json" in inside


def test_the_recorded_runs_are_found_far_from_the_clone(site):
    code = "from coursekit.notebook import read_record; print(read_record('names-wild').steps)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=site.parent,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("200000\n", "")
