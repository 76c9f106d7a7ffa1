"""Each remedy that a refused table is given is code: run, it mends the table.

What follows a remedy is a series with the right values, or the refusal of what is wrong besides.
"""

import datetime as dt
import decimal
import re

import pytest

from coursekit.windows.series import from_frame

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")

LOAD = [5.0, 7.5, 6.25, 8.0, 9.0, 4.0]
HOURS = [f"2024-05-17 0{i}:00" for i in range(6)]
NAN, INF = float("nan"), float("inf")
BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def table(hour=HOURS, load=LOAD, **columns):
    """Six hours of a load and a holiday; columns replace or add."""
    return pd.DataFrame({"hour": hour, "holiday": [0, 0, 0, 0, 1, 1], "load": load} | columns)


def read(frame):
    return from_frame(frame, time="hour", target="load")


def objects(values):
    return pd.Series(list(values), dtype="object")


def span(start, freq="h", n=6, tz=None):
    return pd.date_range(start, periods=n, freq=freq, tz=tz)


def refusal(frame):
    with pytest.raises(ValueError, match=r".") as refused:
        read(frame)
    return str(refused.value)


def run(code, frame):
    """Do what a remedy says, as a reader would, on a table that is called `frame`."""
    names = {"pd": pd, "frame": frame.copy() if hasattr(frame, "copy") else frame}
    exec(code, names)
    return names["frame"]


def remedies(message):
    return re.findall("`([^`]+)`", message)


def accepted(first, last, load=LOAD, columns=("load", "holiday")):
    return first, last, load, columns


SAME = accepted("2024-05-17 00:00:00", "2024-05-17 05:00:00")
SHORTER = accepted("2024-05-17 00:00:00", "2024-05-17 04:00:00", LOAD[:5])
ALONE = accepted("2024-05-17 00:00:00", "2024-05-17 05:00:00", columns=("load",))
DAYS = accepted("2024-03-29 00:00:00", "2024-04-03 00:00:00")
UNEVEN = "but .* elsewhere: pass even=False, so that a step is a row, as with months"
NOTHING = "in every row: there is nothing to forecast"


def holding(load):
    return accepted("2024-05-17 00:00:00", "2024-05-17 05:00:00", load)


# A table and what comes of each remedy in its message, in their order.
TIMES = {
    "years": (table(range(2000, 2006)), [UNEVEN]),
    "years as floats, one missing": (table([2e3, 2001, 2002, 2003, 2004, NAN]), ["holds NaT in"]),
    "years as objects": (table(objects(range(2000, 2006))), [UNEVEN]),
    "months as numbers": (table(range(202401, 202407)), [UNEVEN]),
    "days as one number": (
        table([20240329, 20240330, 20240331, 20240401, 20240402, 20240403]),
        [DAYS],
    ),
    "hours as one number": (table([2024051700 + i for i in range(6)]), [SAME]),
    "minutes as one number": (table([202405170000 + 100 * i for i in range(6)]), [SAME]),
    "seconds": (table([1715904000 + 3600 * i for i in range(6)]), [SAME]),
    "milliseconds": (table([1715904000000.0 + 3600000 * i for i in range(6)]), [SAME]),
    "microseconds": (table([10**6 * (1715904000 + 3600 * i) for i in range(6)]), [SAME]),
    "nanoseconds": (table([10**9 * (1715904000 + 3600 * i) for i in range(6)]), [SAME]),
    "row numbers": (table(range(6)), [SAME]),
    "fractions that look like years": (
        table([2000.5 + i for i in range(6)]),
        [accepted("2024-08-08 08:30:00", "2024-08-08 13:30:00")],
    ),
    "periods": (table(pd.period_range("2024-05-17", periods=6, freq="h")), [SAME]),
    "months as periods": (table(pd.period_range("2024-01", periods=6, freq="M")), [UNEVEN]),
    "lengths of time": (table(pd.to_timedelta(range(6), unit="h")), [SAME]),
    "lengths of time as objects": (table(objects(pd.to_timedelta(range(6), unit="h"))), [SAME]),
    "times of day": (table([dt.time(i) for i in range(6)]), [SAME]),
    "times of day as text": (table([f"0{i}:00" for i in range(6)]), [SAME]),
    "objects of two zones": (
        table(
            objects(
                pd.Timestamp("2024-05-17", tz=zone) + pd.Timedelta(hours=hour)
                for zone, hour in zip(["UTC", BERLIN] * 3, [0, 3, 2, 5, 4, 7], strict=True)
            )
        ),
        [accepted("2024-05-17 00:00:00+00:00", "2024-05-17 05:00:00+00:00")],
    ),
    "text of two zones": (
        table([f"2024-05-17 0{i + i % 2}:00+0{i % 2}:00" for i in range(6)]),
        [accepted("2024-05-17 00:00:00+00:00", "2024-05-17 05:00:00+00:00")],
    ),
    "a day and a month that may be either": (
        table([f"0{i}/05/2024" for i in range(1, 7)]),
        [accepted("2024-05-01 00:00:00", "2024-05-06 00:00:00"), UNEVEN],
    ),
    "a day that becomes no month later": (
        table([f"{i}/05/2024" for i in range(11, 17)]),
        [accepted("2024-05-11 00:00:00", "2024-05-16 00:00:00")],
    ),
    "a day that is no month": (
        table([f"{i}/05/2024 13:00" for i in range(13, 19)]),
        [accepted("2024-05-13 13:00:00", "2024-05-18 13:00:00")],
    ),
    "the month first": (
        table([f"05/17/2024 {i}:00 AM" for i in (12, *range(1, 6))]),
        [SAME],
    ),
    "a month with its name": (
        table([f"{i} May 2024" for i in range(1, 7)]),
        [accepted("2024-05-01 00:00:00", "2024-05-06 00:00:00")],
    ),
    "a word": (table([*HOURS[:5], "noon"]), [SHORTER]),
    "a word for the present": (table([*HOURS[:5], "now"]), [SHORTER]),
    "another": (table([*HOURS[:5], "today"]), [SHORTER]),
    "a missing time": (table([*HOURS[:5], None]), [SHORTER]),
    "300 ns too late": (
        table(span("2024-05-17") + pd.to_timedelta([0, 300, 0, 0, -300, 0], unit="ns")),
        [SAME],
    ),
    "300 ns too late, as text": (
        table([*HOURS[:5], "2024-05-17 05:00:00.000000300"]),
        [SAME],
    ),
    "steps of 1500 ns": (
        table(span("2024-05-17", "1500ns")),
        [accepted("2024-05-17 00:00:00", "2024-05-17 00:00:00.007500")],
    ),
    "steps of 1 ns": (
        table(span("2024-05-17", "1ns")),
        [accepted("2024-05-17 00:00:00", "2024-05-17 00:00:00.000005")],
    ),
}
STEPS = {
    "unsorted": (
        table(HOURS[:3] + HOURS[4:2:-1] + HOURS[5:]),
        [holding([5.0, 7.5, 6.25, 9.0, 8.0, 4.0])],
    ),
    "a time twice": (table([*HOURS[:5], HOURS[4].replace(" ", "T")]), [SHORTER]),
    "missing rows": (
        table([*HOURS[:4], "2024-05-17 06:00", "2024-05-17 07:00"]),
        [
            accepted(
                "2024-05-17 00:00:00",
                "2024-05-17 07:00:00",
                [5.0, 7.5, 6.25, 8.0, 8.0, 8.0, 9.0, 4.0],
            )
        ],
    ),
    "missing rows at half past": (
        table(span("2024-05-17 00:30", "90min", 8).delete([2, 3])),
        [
            accepted(
                "2024-05-17 00:30:00",
                "2024-05-17 11:00:00",
                [5.0, 7.5, 7.5, 7.5, 6.25, 8.0, 9.0, 4.0],
            )
        ],
    ),
    "missing rows at most steps": (
        table([f"2024-05-17 {i:02}:00" for i in (0, 1, 2, 4, 7, 11)]),
        [
            accepted(
                "2024-05-17 00:00:00",
                "2024-05-17 11:00:00",
                [5.0, 7.5, 6.25, 6.25, 8.0, 8.0, 8.0, 9.0, 9.0, 9.0, 9.0, 4.0],
            )
        ],
    ),
    "a row 10 minutes late": (table([*HOURS[:4], "2024-05-17 04:10", HOURS[5]]), [SAME]),
    "each row some seconds off": (
        table(span("2024-05-17") + pd.to_timedelta([0, 3, 1, 7, -5, 11], unit="s")),
        [SAME],
    ),
    "a row half an hour late": (table([*HOURS[:3], "2024-05-17 03:30", *HOURS[4:]]), [SAME]),
    "no step at all": (
        table(
            [f"2024-05-17 {at}" for at in ("00:00", "00:40", "02:10", "02:20", "05:00", "05:55")]
        ),
        ["3 value.* of column 'load' are missing"],
    ),
    "days of a zone in spring": (table(span("2024-03-29", "D", tz=BERLIN)), [DAYS]),
    "days of a zone in autumn": (
        table(span("2024-11-01", "D", tz=NEW_YORK)),
        [accepted("2024-11-01 00:00:00", "2024-11-06 00:00:00")],
    ),
    "days of a zone, one missing": (
        table(span("2024-03-29", "D", 7, BERLIN).delete(4)),
        ["1 row.* missing between 2024-04-01 00:00:00 and 2024-04-03"],
    ),
    "days that begin at 1 where clocks are changed at midnight": (
        table(span("2024-09-06", "D").tz_localize("America/Santiago", nonexistent="shift_forward")),
        [accepted("2024-09-06 00:00:00", "2024-09-11 00:00:00")],
    ),
    "local days in UTC": (table(span("2024-03-29", "D", tz=BERLIN).tz_convert("UTC")), [DAYS]),
    "local days of London in UTC": (
        table(span("2024-03-29", "D", tz="Europe/London").tz_convert("UTC")),
        [DAYS],
    ),
    "local days as text": (
        table([str(day) for day in span("2024-03-29", "D", tz=BERLIN)]),
        ["by local time it is even"],
    ),
    "six hours of local time": (
        table(span("2024-03-30 12:00", "6h").tz_localize(BERLIN)),
        [accepted("2024-03-30 12:00:00", "2024-03-31 18:00:00")],
    ),
    "the hour that is none in spring": (
        table(span("2024-03-31", n=7).delete(2)),
        [
            accepted("2024-03-31 00:00:00+01:00", "2024-03-31 06:00:00+02:00"),
            accepted("2024-03-31 00:00:00", "2024-03-31 06:00:00", [5, 7.5, 7.5, 6.25, 8, 9, 4]),
        ],
    ),
    "that hour in New York, as text": (
        table(span("2024-03-10", n=7).delete(2).astype(str)),
        [
            accepted("2024-03-10 00:00:00-05:00", "2024-03-10 06:00:00-04:00"),
            accepted("2024-03-10 00:00:00", "2024-03-10 06:00:00", [5, 7.5, 7.5, 6.25, 8, 9, 4]),
        ],
    ),
    "the hour that comes twice in autumn": (
        table(span("2024-10-27", tz=BERLIN).tz_localize(None)),
        [
            accepted("2024-10-27 00:00:00+02:00", "2024-10-27 04:00:00+01:00"),
            accepted("2024-10-27 00:00:00", "2024-10-27 04:00:00", [5, 7.5, 6.25, 9, 4]),
        ],
    ),
    "both halves of it": (
        table(span("2024-10-27 01:30", "30min", tz=BERLIN).tz_localize(None)),
        [
            accepted("2024-10-27 01:30:00+02:00", "2024-10-27 03:00:00+01:00"),
            "two rows are of 2024-10-27 02:00:00: keep the first",
        ],
    ),
}
NUMBERS = {
    "whole numbers beyond 2**53": (
        table(load=[2**62 + i for i in range(6)]),
        [holding([0, 1, 2, 3, 4, 5]), NOTHING],
    ),
    "whole numbers below -2**53": (
        table(load=[-(2**62) + i for i in range(6)]),
        [holding([0, 1, 2, 3, 4, 5]), NOTHING],
    ),
    "nanoseconds as a covariate": (
        table(holiday=[10**18 + 1, 10**18 + 2, 3 * 10**18, 4, 5, 6]),
        [SAME],
    ),
    "whole numbers beyond 2**63": (
        table(load=np.array([2**63 + 1 + i for i in range(6)], dtype="uint64")),
        [holding([0, 1, 2, 3, 4, 5]), NOTHING],
    ),
    "complex numbers": (
        table(load=[3 + 4j, 1, 2, 3, 4, 5]),
        [holding([5, 1, 2, 3, 4, 5]), holding([3, 1, 2, 3, 4, 5])],
    ),
    "a complex covariate": (table(holiday=[1j, 2, 3, 4, 5, 6]), [SAME, SAME]),
    "infinite and missing": (
        table(load=[5, 1, INF, NAN, 7, -INF]),
        [holding([5, 1, 1, 1, 7, 7])],
    ),
    "infinite and sparse": (
        table(load=pd.Series([5, 1, INF, NAN, 0, 8]).astype("Sparse[float]")),
        [holding([5, 1, 1, 1, 0, 8])],
    ),
    "missing in half precision": (
        table(load=np.array([5, 1, NAN, 2, INF, 8], dtype="float16")),
        [holding([5, 1, 1, 2, 2, 8])],
    ),
    "missing whole numbers": (
        table(load=pd.array([0, 1, None, 4, 1, 0], dtype="Int64")),
        [holding([0, 1, 1, 4, 1, 0])],
    ),
    "missing from the first row": (
        table(load=[NAN, INF, 6, 1, 2, 3]),
        [accepted("2024-05-17 02:00:00", "2024-05-17 05:00:00", [6, 1, 2, 3])],
    ),
    "missing at both ends": (
        table(load=[NAN, 5, 6, 1, 2, NAN]),
        ["1 value.* the first at 2024-05-17 05:00:00: fill them"],
    ),
    "a column of nothing": (table(holiday=[NAN] * 6), [ALONE]),
    "objects of nothing": (table(holiday=[None] * 6), [ALONE]),
    "a target of nothing": (table(load=[INF] * 6), []),
    "numbers as text": (table(load=list("123456")), [holding([1, 2, 3, 4, 5, 6])]),
    "numbers as objects": (table(holiday=objects([0.0, 1, 0, 1, 0, 1])), [SAME]),
    "decimals": (
        table(load=[decimal.Decimal(i) / 4 for i in range(6)]),
        [holding([0, 0.25, 0.5, 0.75, 1, 1.25])],
    ),
    "categories of numbers": (table(holiday=pd.Categorical([0, 1, 0, 1, 0, 1])), [SAME]),
    "whole numbers beyond 64 bits": (
        table(load=objects(2**70 * i for i in range(6))),
        [holding([2.0**70 * i for i in range(6)])],
    ),
    "a decimal comma": (
        table(load=["1,5", "2,25", "3", "-4,5", ",5", "6"]),
        [holding([1.5, 2.25, 3, -4.5, 0.5, 6])],
    ),
    "a comma that may be either": (
        table(load=["1,500", "2,000", "3", "4,250", "5", "6"]),
        [holding([1.5, 2, 3, 4.25, 5, 6]), holding([1500, 2000, 3, 4250, 5, 6])],
    ),
    "commas between thousands": (
        table(load=["1,500.5", "2", "3", "1,000,000", "5", "6"]),
        [holding([1500.5, 2, 3, 1e6, 5, 6])],
    ),
    "points between thousands": (
        table(load=["1.500,5", "2", "3", "1.000.000", "5", "6"]),
        [holding([1500.5, 2, 3, 1e6, 5, 6])],
    ),
    "a word among numbers": (
        table(load=["1", "2", "n/a", "4", "5", "6"]),
        ["1 value.* of column 'load' are missing.*2024-05-17 02:00:00"],
    ),
    "a word among commas": (
        table(load=["1,5", "2,5", "n/a", "4,5", "5,5", "6,5"]),
        ["1 value.* of column 'load' are missing.*2024-05-17 02:00:00"],
    ),
    "two words": (table(load=["no", "yes"] * 3), [holding([0, 1] * 3)]),
    "two words and none": (table(load=["no", "yes", None] * 2), []),  # None is not false
    "one word": (table(holiday=["no"] * 6), [ALONE]),
    "three words": (
        table(holiday=["no", "half", "yes"] * 2),
        [
            accepted(
                "2024-05-17 00:00:00",
                "2024-05-17 05:00:00",
                columns=("load", "holiday_half", "holiday_no", "holiday_yes"),
            )
        ],
    ),
    "three words as the target": (table(load=["no", "half", "yes"] * 2), []),
    "a second column of times": (table(holiday=span("2024-01-01")), [ALONE]),
    "dates": (table(holiday=[dt.date(2024, 1, 1 + i) for i in range(6)]), [ALONE]),
    "lists": (table(holiday=[[i] for i in range(6)]), [ALONE]),
    "durations": (
        table(load=pd.to_timedelta([3, 1, 4, 1, 5, 9], unit="min")),
        [holding([180, 60, 240, 60, 300, 540])],
    ),
}
NAMES = {
    "a saved index": (
        table(**{"Unnamed: 0": range(6)}),
        [SAME, accepted(*SAME[:3], columns=("load", "holiday", "sun"))],
    ),
    "one name for two columns": (
        pd.concat([table(), table(load=range(6))[["load"]]], axis=1),
        [SAME],
    ),
    "times as the index": (table().set_index("hour"), [SAME]),
    "times as an index without a name": (table().set_index("hour").rename_axis(None), [SAME]),
    "another name for the times": (table().rename(columns={"hour": "time"}), []),
    "a series": (table().set_index("hour")["load"].rename("MW"), [ALONE]),
    "a dictionary": ({"hour": HOURS, "load": LOAD}, [ALONE]),
}
BROKEN = TIMES | STEPS | NUMBERS | NAMES


def assert_is(series, outcome):
    first, last, load, columns = outcome
    assert (str(series.times[0]), str(series.times[-1])) == (first, last)
    assert series.values[:, 0].tolist() == load
    assert series.columns == columns
    assert series.step is not None


@pytest.mark.parametrize(("frame", "outcomes"), BROKEN.values(), ids=BROKEN)
def test_each_remedy_does_what_it_says(frame, outcomes):
    message = refusal(frame)
    for code, outcome in zip(remedies(message), outcomes, strict=True):
        mended = run(code, frame)
        if isinstance(outcome, str):
            assert re.search(outcome, refusal(mended))
        else:
            assert_is(read(mended), outcome)


@pytest.mark.parametrize(("frame", "outcomes"), BROKEN.values(), ids=BROKEN)
def test_one_sentence_says_it(frame, outcomes):
    message = refusal(frame)
    assert "\n" not in message
    assert len(message.split()) < 50


@pytest.mark.parametrize(("frame", "outcomes"), BROKEN.values(), ids=BROKEN)
def test_no_road_of_remedies_leads_back_to_where_it_began(frame, outcomes):
    def follow(frame, before):
        try:
            read(frame)
        except ValueError as refused:
            message = str(refused)
            assert message not in before
            for code in remedies(message):
                follow(run(code, frame), [*before, message])

    follow(frame, [])
