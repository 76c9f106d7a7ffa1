"""Series and pictures out of packages: checked, named, and refused if they are not the ones."""

import gzip
import hashlib
import subprocess
import sys
from datetime import date
from importlib.machinery import ModuleSpec

import pytest

from coursekit import data
from coursekit.data import series, store, text, vocabularies
from coursekit.data.store import MissingDataError, Packaged, kind, provenance, read_packaged


@pytest.fixture
def tiny(bare, monkeypatch, tmp_path):
    """A package with one file, and what is known about it."""
    content = gzip.compress(b"one,two\n", mtime=0)
    (tmp_path / "tiny.csv.gz").write_bytes(content)
    spec = ModuleSpec("tinypackage", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: {"tinypackage": spec}.get(name))
    return Packaged(
        name="tiny",
        package="tinypackage",
        file="tiny.csv.gz",
        sha256=hashlib.sha256(content).hexdigest(),
        about="two words",
        install="tiny-package",
    )


def test_a_packaged_file_is_canonical_and_named_once(tiny, capsys):
    assert read_packaged(tiny) == read_packaged(tiny) == "one,two\n"
    assert capsys.readouterr().out == "tiny: two words (canonical, package tiny-package)\n"
    assert provenance() == {"tiny": "canonical"}
    assert kind(tiny) == "canonical"


def test_another_content_is_refused(tiny, tmp_path):
    (tmp_path / "tiny.csv.gz").write_bytes(gzip.compress(b"one,three\n"))
    with pytest.raises(
        ValueError, match=r"not the canonical tiny.*another version of tiny-package"
    ):
        read_packaged(tiny)
    assert provenance() == {}


def test_a_missing_file_names_the_remedy(tiny, tmp_path):
    (tmp_path / "tiny.csv.gz").unlink()
    with pytest.raises(MissingDataError, match="run 'pip install tiny-package'"):
        read_packaged(tiny)


@pytest.mark.parametrize(
    ("load", "remedy"), [(data.sp500, "install arch"), (data.digits, "install scikit-learn")]
)
def test_without_its_package_a_loader_names_it(bare, monkeypatch, load, remedy):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDataError, match=f"run 'pip {remedy}'"):
        load()


def test_the_index_is_what_its_line_says(bare):
    days, closes = data.sp500()
    assert len(days) == len(closes) == 5031
    assert days == sorted(set(days))
    assert (days[0], closes[0]) == (date(1999, 1, 4), 1228.099976)
    assert (days[-1], closes[-1]) == (date(2018, 12, 31), 2506.850098)
    assert provenance() == {"sp500": "canonical"}


def test_the_digits_are_those_of_scikit_learn(bare):
    datasets = pytest.importorskip("sklearn.datasets")
    theirs = datasets.load_digits().data >= 8
    assert data.digits() == theirs.astype(int).tolist()
    assert provenance() == {"digits": "canonical"}


def test_all_data_sets_are_listed_under_their_names():
    assert series.DATASETS == {"sp500": series.SP500, "digits": series.DIGITS}
    assert data.DATASETS == text.DATASETS | series.DATASETS | vocabularies.DATASETS


def test_a_claim_may_rest_on_a_packaged_data_set(bare):
    from coursekit.notebook import claim

    store._used.update(sp500="canonical")
    claim("packaged-days", 5031.0, 5031.0, 5031.0, why="whole", data="sp500")


def test_reading_imports_neither_package():
    code = "from coursekit.data import sp500, digits; sp500(); digits(); import sys; "
    code += "assert not {'arch', 'sklearn', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
