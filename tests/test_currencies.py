"""The field's benchmark of exchange rates: a published figure, and what its rows are."""

import os
from datetime import datetime, timedelta

import pytest
import torch

from coursekit import data
from coursekit.data.currencies import EXCHANGE_RATE_BENCHMARK
from coursekit.fetch.dataset import MissingDataError
from coursekit.fetch.store import kind, provenance
from coursekit.models.baselines import seasonal_naive

REAL = os.environ.get("COURSEKIT_DATA")
needs_folder = pytest.mark.skipif(not REAL, reason="COURSEKIT_DATA names no folder")


@pytest.fixture
def benchmark_series(bare, monkeypatch):
    monkeypatch.setenv("COURSEKIT_DATA", REAL)
    return data.exchange_rate_benchmark()


@needs_folder
def test_seasonal_naive_scores_what_was_published(benchmark_series):
    """1.7401824: MASE of the seasonal naive forecast in the results of Ansari et al. 2024.

    Its season is 5 rows, for the divisor, too: the mean error of the same forecast, one season
    ahead, on all rows before the last 30.
    """
    past, future = benchmark_series.values[:-30], benchmark_series.values[-30:]
    inputs = past.mT[..., None], future.mT[..., None], torch.zeros(8, len(past) + 30, 3).long()
    errors = (seasonal_naive(5)(*inputs) - future.mT).abs().mean(1)
    divisors = (past[5:] - past[:-5]).abs().mean(0)
    assert (errors / divisors).mean().item() == pytest.approx(1.7401824, abs=2e-6)


@needs_folder
def test_the_benchmark_is_what_its_line_says(benchmark_series):
    found = benchmark_series
    assert (len(found), found.step, found.unit) == (7588, timedelta(days=1), "US dollars")
    assert found.columns == ("AUD", "GBP", "CAD", "CHF", "CNY", "JPY", "NZD", "SGD")
    assert found.known == ()
    first = [0.7855, 1.611, 0.861698, 0.634196, 0.211242, 0.006838, 0.593, 0.525486]
    assert found.values[0].tolist() == first
    assert provenance() == {"exchange_rate_benchmark": "canonical"}


@needs_folder
def test_the_days_of_the_benchmark_are_counted_not_known(benchmark_series):
    """The European Central Bank's rates say when a row was: the day on which all eight fit best."""
    theirs = data.exchange_rates()
    assert theirs.columns == benchmark_series.columns
    dated = []
    for row in (3800, 5600, 7500):
        off = (theirs.values / benchmark_series.values[row]).log().abs().amax(1)
        assert off.min() < 0.005
        dated.append(theirs.times[off.argmin()])
    assert [(day.year, day.month) for day in dated] == [(2005, 5), (2011, 3), (2016, 10)]
    pace = [1800 / (dated[1] - dated[0]).days * 7, 1900 / (dated[2] - dated[1]).days * 7]
    assert 5.5 < pace[0] < 6.2 < pace[1] < 6.8  # rows a week
    counted = benchmark_series.times
    assert (counted[0], counted[7500]) == (datetime(1990, 1, 1), datetime(2010, 7, 15))


def test_without_its_file_the_remedy_is_named(bare):
    with pytest.raises(
        MissingDataError,
        match=r"no exchange_rate.txt.gz .*laiguokun/multivariate-time-series-data in a folder",
    ):
        data.exchange_rate_benchmark()
    assert kind(EXCHANGE_RATE_BENCHMARK) == "missing"
    assert provenance() == {}
