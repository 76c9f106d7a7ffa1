"""A short notebook runs whole, far from the clone; `python -m tests.away` runs all of them."""

import zipfile

import pytest

from tests.away import ROOT, build_wheel, install, run_away


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    return install(wheel, tmp_path_factory.mktemp("away"))


def test_a_notebook_runs_far_from_the_clone_and_leaves_nothing_behind(site):
    assert run_away(ROOT / "notebooks/01_bigrams.ipynb", site) == ""


def test_the_wheel_holds_every_module_its_types_and_bands_and_no_data(wheel):
    with zipfile.ZipFile(wheel) as file:
        inside = {name for name in file.namelist() if ".dist-info/" not in name}
    files = [*ROOT.glob("coursekit/**/*.py"), *ROOT.glob("coursekit/claims/*.*")]
    assert inside == {path.relative_to(ROOT).as_posix() for path in files} | {"coursekit/py.typed"}
    assert "coursekit/claims/boards.toml" in inside
