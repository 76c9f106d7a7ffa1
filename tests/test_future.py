"""The rows beyond the last one: their times by pandas and by hand, and what they may hold."""

from datetime import datetime, timedelta, timezone

import pytest
import torch

from coursekit.windows.future import continue_times, read_future
from coursekit.windows.series import TimeSeries, from_frame

pd = pytest.importorskip("pandas")

BERLIN = "Europe/Berlin"


def series(times=None, known=("holiday",), even=True, **columns):
    """A load with a holiday that is known in advance and a wind that is not."""
    times = pd.date_range("2024-05-17 20:00", periods=9, freq="h") if times is None else times
    basis = {"at": times, "holiday": [0, 1, 0] * 3, "load": range(9), "wind": [3.5] * 9}
    frame = pd.DataFrame(basis | columns)
    return from_frame(frame, time="at", target="load", known=known, even=even)


def rows(n=4, **columns):
    """The rows that follow."""
    basis = {"at": pd.date_range("2024-05-18 05:00", periods=n, freq="h"), "holiday": [1, 0, 2, 0]}
    return pd.DataFrame(basis | columns)


def test_known_columns_come_in_the_order_of_the_series_and_all_else_is_zero():
    future = read_future(series(), 3, rows())
    assert future.values.tolist() == [[0, 1, 0], [0, 0, 0], [0, 2, 0]]
    assert future.times == [datetime(2024, 5, 18, hour) for hour in (5, 6, 7)]


def test_known_columns_come_in_their_own_place():
    frame = rows(wind=[7.0, 8.0, 9.0, 6.0])
    found = read_future(series(known=("wind", "holiday")), 2, frame).values
    assert found.tolist() == [[0, 1, 7], [0, 0, 8]]


def test_an_empty_target_may_stand_there_and_times_may_be_text():
    frame = rows(load=[None] * 4, wind=[float("nan")] * 4)
    frame["at"] = frame["at"].astype("str")
    assert read_future(series(), 4, frame).values[:, 1].tolist() == [1, 0, 2, 0]


def test_without_known_columns_no_table_is_needed_and_one_may_be_given():
    plain = series(known=())
    assert read_future(plain, 2).times == read_future(plain, 2, rows()[["at"]]).times
    assert read_future(plain, 2).values.count_nonzero() == 0


@pytest.mark.parametrize(
    "start", ["2024-10-26 12:00", "2024-03-30 12:00", "2024-05-17 20:00", "2024-10-26 19:00"]
)
def test_hours_of_a_zone_go_on_as_its_clocks_do(start):
    hours = pd.date_range(start, periods=9 + 30, freq="h", tz=BERLIN)
    found = continue_times(series(hours[:9]), 30)
    assert [at.isoformat() for at in found] == [at.isoformat() for at in hours[9:]]


def test_without_the_name_of_a_zone_the_offset_stays():
    fixed = timezone(timedelta(hours=2))
    hours = [datetime(2024, 10, 26, 18 + k, tzinfo=fixed) for k in range(3)]
    plain = TimeSeries(
        name="plain", times=hours, values=torch.eye(3, dtype=torch.float64), columns=(*"abc",)
    )
    assert continue_times(plain, 9)[-1] == datetime(2024, 10, 27, 5, tzinfo=fixed)


@pytest.mark.parametrize("rule", ["MS", "ME", "QS", "YS", "B"])
def test_months_quarters_years_and_working_days_go_on_by_their_rule(rule):
    times = pd.date_range("2023-01-01", periods=9 + 15, freq=rule)
    found = continue_times(series(times[:9], even=False), 15)
    assert found == times[9:].to_pydatetime().tolist()


def test_days_of_23_and_25_hours_go_on_at_midnight():
    for start in ("2024-03-20", "2024-10-16", "2024-03-28"):
        days = pd.date_range(start, periods=9 + 16, freq="D", tz=BERLIN)
        found = continue_times(series(days[:9], even=False), 16)
        assert [at.isoformat() for at in found] == [at.isoformat() for at in days[9:]]


def test_steps_of_24_hours_go_on_by_hours_that_pass():
    times = pd.date_range("2024-10-22 12:00", periods=9 + 170, freq="24h", tz=BERLIN)
    assert {at.hour for at in times[:9]} == {at.hour for at in times[9:]} == {11, 12}
    found = continue_times(series(times[:9]), 170)
    assert [at.isoformat() for at in found] == [at.isoformat() for at in times[9:]]


def test_trading_days_come_from_the_table():
    days = pd.to_datetime([f"2024-05-{day:02}" for day in (2, 3, 6, 7, 8, 10, 13, 14, 15)])
    traded = series(days, even=False)
    with pytest.raises(ValueError, match=r"differ and follow no rule: give the next 2 rows as a"):
        continue_times(traded, 2)
    given = pd.DataFrame({"at": ["2024-05-16", "2024-05-21"], "holiday": [0, 1]})
    assert read_future(traded, 2, given).times == [datetime(2024, 5, 16), datetime(2024, 5, 21)]
    for at, earlier in ((["2024-05-15", "2024-05-16"], 0), (["2024-05-17", "2024-05-16"], 1)):
        with pytest.raises(ValueError, match=f"future row {earlier} is of .* not later than"):
            read_future(traded, 2, given.assign(at=at))


def test_future_times_of_another_zone_are_the_same_moments():
    hours = pd.date_range("2024-10-26 19:00", periods=13, freq="h", tz=BERLIN)
    frame = rows(at=hours[9:].tz_convert("America/New_York"))
    found = read_future(series(hours[:9]), 4, frame).times
    assert [at.isoformat() for at in found] == [at.isoformat() for at in hours[9:]]


def test_uneven_times_of_another_zone_are_told_by_the_clocks_of_the_series():
    days = pd.date_range("2024-03-28", periods=9, freq="D", tz=BERLIN)
    given = pd.date_range("2024-04-06", periods=4, freq="D", tz=BERLIN).tz_convert("UTC")
    found = read_future(series(days, even=False), 3, rows(at=given)).times
    assert [at.isoformat()[10:] for at in found] == ["T00:00:00+02:00"] * 3


LATE = pd.date_range("2024-05-18 06:00", periods=4, freq="h")
REFUSALS = {
    "none": (None, r"\['holiday'\] are known in advance: give the 4 rows from 2024-05-18 05:00:00"),
    "a list": ([1], "future rows are a list: give a table with the columns"),
    "a column missing": (rows()[["at"]], r"have the columns \['at'\]: \['at', 'holiday'\] are"),
    "too few": (rows()[:3], "3 future rows are too few: give the next 4"),
    "no rows": (rows()[:0], "0 future rows are too few"),
    "a gap": (rows(at=LATE), "row 0 is of 2024-05-18 06:00:00 instead of 2024-05-18 05:00:00"),
    "a target": (rows(load=[None, 7, None, None]), "'load' holds 7.0 for 2024-05-18 06:00:00, wh"),
    "a wind": (rows(wind=[1] * 4), "'wind' holds 1 for 2024-05-18 05:00:00, which is to come"),
    "a holiday unknown": (
        rows(holiday=[0, 1, None, 0]),
        "'holiday' has no number for 2024-05-18 07:00:00: fill it in",
    ),
    "words": (
        rows(holiday=["no"] * 3 + ["yes"]),
        "'holiday' holds 'no', which is no number: write numbers as .* they go from 0 to 1$",
    ),
    "commas": (rows(holiday=["0,5"] * 4), "'holiday' holds '0,5': say what is a comma in a number"),
    "a zone": (rows(at=LATE.tz_localize(BERLIN)), "must both have a time zone or both none"),
    "no times": (rows(at=["soon"] * 4), "'at' holds 'soon' in row 0, which is no time"),
}


@pytest.mark.parametrize(("frame", "says"), REFUSALS.values(), ids=REFUSALS)
def test_rows_that_can_not_follow_are_refused(frame, says):
    with pytest.raises(ValueError, match=says):
        read_future(series(), 4, frame)


def test_a_future_of_no_rows_is_refused():
    with pytest.raises(ValueError, match="horizon=0 must be at least 1 row"):
        read_future(series(), 0, rows())


def test_the_series_remembers_its_column_of_times_and_its_zone():
    hours = pd.date_range("2024-10-26 19:00", periods=9, freq="h", tz=BERLIN)
    assert (series(hours).time, series(hours).zone) == ("at", BERLIN)
    assert series().zone == ""
    assert series(hours).only("wind", "holiday").zone == BERLIN
