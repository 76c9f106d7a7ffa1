"""Series and pictures that ship inside packages: read by path, checked, never imported."""

from datetime import date, datetime

from coursekit.data.store import Packaged, read_packaged

SP500 = Packaged(
    name="sp500",
    package="arch",
    file="data/sp500/sp500.csv.gz",
    sha256="1e028cbb9c400cc018c816ccc439b33c919387e726c3ed5ca2c05c82746059de",
    about="5,031 daily closes of the S&P 500, 1999-01-04 to 2018-12-31",
)

DIGITS = Packaged(
    name="digits",
    package="sklearn",
    install="scikit-learn",
    file="datasets/data/digits.csv.gz",
    sha256="09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
    about="1,797 handwritten digits of 8 × 8 pixels",
)

DATASETS = {dataset.name: dataset for dataset in (SP500, DIGITS)}


def sp500() -> tuple[list[date], list[float]]:
    """Return the trading days, in order, and the closing level of the S&P 500 on each.

    Adjusted closes; for an index they are the closes.
    """
    header, *rows = (line.split(",") for line in read_packaged(SP500).splitlines())
    day, close = header.index("Date"), header.index("Adj Close")
    days = [datetime.strptime(row[day], "%m/%d/%Y").date() for row in rows]
    return days, [float(row[close]) for row in rows]


def digits() -> list[list[int]]:
    """Return each digit as 64 pixels, row by row from the top left: 1 is ink, 0 is paper.

    A pixel of the original has a grey value from 0 to 16; those of 8 and above count as ink.
    """
    rows = (line.split(",") for line in read_packaged(DIGITS).splitlines())
    return [[int(int(grey) >= 8) for grey in row[:64]] for row in rows]  # row[64] is the class
