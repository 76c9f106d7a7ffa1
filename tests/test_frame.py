"""A table becomes a series, or one sentence says why it can't."""

import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import torch

from coursekit.windows.series import TimeSeries, from_frame

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")


def table(n=6, **columns):
    """Six hours of a load with a forecastable companion; columns replace or add."""
    basis = {
        "hour": pd.date_range("2024-05-17 20:00", periods=n, freq="h"),
        "holiday": [0, 0, 0, 0, 1, 1][:n],
        "load": [5.0, 7.5, 6.25, 8.0, 9.0, 4.0][:n],
    }
    return pd.DataFrame(basis | columns)


def read(frame, **options):
    return from_frame(frame, **{"time": "hour", "target": "load"} | options)


def series(n=5, **options):
    hours = [datetime(2024, 1, 31, 22) + timedelta(hours=i) for i in range(n)]
    parts = {"name": "tiny", "times": hours, "columns": ("load", "holiday", "wind")}
    values = torch.arange(3.0 * n, dtype=torch.float64).view(n, 3)
    return TimeSeries(**parts | {"values": values} | options)


def test_the_target_comes_first_and_the_other_columns_keep_their_order():
    found = read(table(wind=[3, 1, 4, 1, 5, 9]), known=["holiday"], unit="MW", name="grid")
    assert (found.name, found.unit, len(found)) == ("grid", "MW", 6)
    assert found.columns == ("load", "holiday", "wind")
    assert found.known == ("holiday",)
    assert found.values.dtype == torch.float64
    assert found.values[1].tolist() == [7.5, 0.0, 1.0]
    assert found.times[:2] == [datetime(2024, 5, 17, 20), datetime(2024, 5, 17, 21)]
    assert found.step == timedelta(hours=1)


def test_one_column_beside_the_times_is_enough():
    found = read(table()[["hour", "load"]])
    assert found.columns == ("load",)
    assert found.values.shape == (6, 1)


def test_times_may_be_iso_text_and_numbers_of_any_numeric_kind():
    dates = [f"2024-02-{day}" for day in (27, 28, 29)] + ["2024-03-01", "2024-03-02", "2024-03-03"]
    found = read(table(hour=dates, holiday=[False] * 5 + [True], load=range(6)))
    assert found.times[2:4] == [datetime(2024, 2, 29), datetime(2024, 3, 1)]
    assert found.values[5].tolist() == [5.0, 1.0]


def test_the_table_stays_as_it_was():
    frame = table(hour=[f"2024-05-17 0{i}:00" for i in range(6)])
    before = frame.copy()
    read(frame).values[0] = 99.0
    assert frame.equals(before)


def test_the_hour_that_a_change_of_clocks_repeats_is_even_in_its_time_zone():
    hours = pd.date_range("2024-10-27 00:00", periods=6, freq="h", tz="Europe/Berlin")
    found = read(table(hour=hours))
    assert found.step == timedelta(hours=1)
    assert found.calendar()[:, 0].tolist() == [0, 1, 2, 2, 3, 4]


HOURS = [f"2024-05-17 0{i}:00" for i in range(6)]
REFUSALS = {
    "a missing column": (table(), {"target": "lod"}, "no column 'lod', only .*name one of those"),
    "a missing time column": (
        table().set_index("hour"),
        {},
        r"'hour'.*by `frame = frame.reset_index\(\)`",
    ),
    "a missing known column": (table(), {"known": ["sun"]}, "no column 'sun'"),
    "a known target": (table(), {"known": ["load"]}, "after the target 'load'"),
    "a name twice": (
        pd.concat([table(), table()[["load"]]], axis=1),
        {},
        "repeat a name: rename one",
    ),
    "missing values": (
        table(load=[5, None, 6, None, 7, 8]),
        {},
        r"2 value.* of column 'load' are .* first at 2024-05-17 21:00:00: fill them by "
        r"`frame\['load'\] = frame\['load'\].ffill\(\)`, which looks only back",
    ),
    "missing whole numbers": (
        table(holiday=pd.array([0, 1, None, 0, 1, 0], dtype="Int64")),
        {},
        r"1 value.* of column 'holiday' are .* first at 2024-05-17 22:00:00",
    ),
    "infinite values": (
        table(load=[5, 1, 6, 2, float("inf"), 8]),
        {},
        r"1 value\(s\) of column 'load' are missing or infinite",
    ),
    "a constant target": (
        table(load=[3.5] * 6),
        {},
        r"'load' is 3.5 in every row.*choose another target",
    ),
    "too few rows": (table(2), {}, "2 rows are too few.*take 3 or more"),
    "no rows": (table(0), {}, "0 rows are too few"),
    "rows out of order": (
        table(hour=HOURS[:3] + HOURS[4:2:-1] + HOURS[5:]),
        {},
        r"row 4 is of 2024-05-17 03:00:00, earlier than .* by .*frame.sort_values\('hour'\)`",
    ),
    "a time twice": (
        table(hour=[*HOURS[:5], HOURS[4]]),
        {},
        r"two rows are of 2024-05-17 04:00:00: keep the first by .*drop_duplicates",
    ),
    "missing rows": (
        table(hour=[*HOURS[:4], "2024-05-17 06:00", "2024-05-17 07:00"]),
        {},
        r"2 row\(s\) are missing between 2024-05-17 03:00:00 and 2024-05-17 06:00:00, the step "
        r"being 1:00:00: repeat the row before by .*resample.*even=False",
    ),
    "uneven steps": (
        table(hour=[*HOURS[:4], "2024-05-17 04:10", "2024-05-17 05:00"]),
        {},
        r"the step is 1:10:00 between 2024-05-17 03:00:00 and 2024-05-17 04:10:00 but 1:00:00 "
        r"elsewhere: .*even=False",
    ),
    "text among the numbers": (
        table(holiday=["no"] * 5 + ["yes"]),
        {},
        r"'holiday' holds 'no', which is no number: make it true and false by .* == 'yes'`, or",
    ),
    "the rarer word last": (
        table(holiday=["yes"] + ["no"] * 5),
        {},
        r"'holiday' holds 'yes', which is no number: make it true and false by .* == 'yes'`, or",
    ),
    "an unreadable time": (
        table(hour=[*HOURS[:4], "noon", HOURS[5]]),
        {},
        r"'hour' holds 'noon' in row 4, which is no time as in '2024-05-17 13:00': correct it, "
        "leave it out by",
    ),
    "an ambiguous date": (
        table(hour=[f"0{i}/05/2024" for i in range(1, 7)]),
        {},
        "'01/05/2024' in row 0, which is no time",
    ),
    "a missing time": (table(hour=[*HOURS[:5], None]), {}, "in row 5, which is no time"),
    "numbers as times": (
        table(hour=range(6)),
        {},
        r"'hour' holds numbers such as 0, not times: say what they count, and from when.*unit='h'",
    ),
    "one name for several": (
        table(),
        {"known": "wind"},
        r"known='wind' is one .* known=\['wind'\]",
    ),
    "several time zones": (
        table(hour=[f"2024-05-17 0{i}:00+0{i % 2}:00" for i in range(6)]),
        {},
        "'hour' mixes time zones: write .*utc=True",
    ),
}


@pytest.mark.parametrize(("frame", "options", "says"), REFUSALS.values(), ids=REFUSALS)
def test_a_table_that_is_no_series_is_refused_in_one_sentence(frame, options, says):
    with pytest.raises(ValueError, match=says) as refused:
        read(frame, **options)
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert len(sentence.split()) < 50


@pytest.mark.parametrize(
    "hours",
    [
        ["2024-05-16", "2024-05-17", "2024-05-20", "2024-05-21", "2024-05-22", "2024-05-23"],
        ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01", "2024-05-01", "2024-06-01"],
    ],
    ids=["trading days", "months"],
)
def test_uneven_steps_are_admitted_when_asked_for(hours):
    with pytest.raises(ValueError, match="even=False"):
        read(table(hour=hours))
    found = read(table(hour=hours), even=False)
    assert (len(found), found.step) == (6, None)


@pytest.mark.parametrize("reason", ["rows out of order", "a time twice"])
def test_order_and_repeats_are_refused_with_uneven_steps_too(reason):
    frame, _, says = REFUSALS[reason]
    with pytest.raises(ValueError, match=says):
        read(frame, even=False)


def test_the_calendar_has_hour_weekday_and_month():
    # 2024-01-31 was a Wednesday, and the day after it a Thursday in February.
    assert series(3).calendar().tolist() == [[22, 2, 0], [23, 2, 0], [0, 3, 1]]
    assert series(3).calendar().dtype == torch.int64


def test_a_choice_of_columns_makes_the_first_the_target():
    found = series(known=("wind",)).only("holiday", "wind")
    assert (found.columns, found.known) == (("holiday", "wind"), ("wind",))
    assert found.values[1].tolist() == [4.0, 5.0]
    assert series(known=("wind",)).only("holiday").known == ()
    assert found.times == series().times


def test_columns_may_be_chosen_in_another_order_than_they_stand():
    found = series(known=("holiday",)).only("wind", "load", "holiday")
    assert found.columns == ("wind", "load", "holiday")
    assert found.values[1].tolist() == [5.0, 3.0, 4.0]
    assert found.known == ("holiday",)
    assert series().only("holiday", "load").values[4].tolist() == [13.0, 12.0]


def test_the_order_of_the_table_and_of_the_known_columns_may_be_any():
    frame = table(wind=[3, 1, 4, 1, 5, 9])[["wind", "load", "hour", "holiday"]]
    found = read(frame, known=["holiday", "wind"])
    assert found.columns == ("load", "wind", "holiday")
    assert found.known == ("holiday", "wind")
    assert found.values[2].tolist() == [6.25, 4.0, 0.0]


def test_three_rows_are_enough():
    assert read(table(3)).values[:, 0].tolist() == [5.0, 7.5, 6.25]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "Australia/Lord_Howe"])
def test_each_time_keeps_the_offset_of_its_moment(zone):
    hours = pd.date_range("2024-10-05 11:30", periods=900, freq="h", tz=zone)
    frame = pd.DataFrame({"hour": hours, "load": range(900)})
    found = read(frame)
    assert [at.isoformat() for at in found.times] == [at.isoformat() for at in hours]
    assert found.step == timedelta(hours=1)
    assert found.calendar()[:, 0].tolist() == hours.hour.tolist()


def test_times_from_year_1500_to_9999_are_read():
    years = [np.datetime64(f"{year}-01-01", "s") for year in (1500, 1969, 1970, 9999)]
    found = read(table(4, hour=np.array(years)), even=False)
    assert [at.year for at in found.times] == [1500, 1969, 1970, 9999]


def test_a_saved_index_may_be_the_time_or_be_known():
    frame = table().rename(columns={"hour": "Unnamed: 0", "holiday": "Unnamed: 3"})
    found = read(frame, time="Unnamed: 0", known=["Unnamed: 3"])
    assert found.columns == ("load", "Unnamed: 3")


def test_whole_numbers_beyond_2_53_that_are_float64_are_read():
    found = read(table(load=[2**60 * i for i in range(6)]))
    assert found.values[:, 0].tolist() == [2.0**60 * i for i in range(6)]


def test_a_covariate_may_stand_still():
    assert read(table(holiday=[0] * 6)).values[:, 1].tolist() == [0.0] * 6


def test_the_column_of_times_can_not_be_the_target():
    with pytest.raises(ValueError, match="'hour' is the column of times: choose another target"):
        read(table(), target="hour")


@pytest.mark.parametrize(
    "hours", [[True] * 6, [1j] * 6, [None] * 6, [[1]] * 6], ids=["bool", "complex", "none", "list"]
)
def test_a_column_that_holds_no_times_is_refused(hours):
    with pytest.raises(ValueError, match="name another as time"):
        read(table(hour=hours))


@pytest.mark.parametrize("n", [10, 400])
def test_local_hours_over_both_changes_of_clocks_are_even_in_utc_too(n):
    hours = pd.date_range("2024-03-30", periods=24 * n, freq="h", tz="Europe/Berlin")
    load = [i % 7 for i in range(24 * n)]
    frame = pd.DataFrame({"hour": hours.tz_localize(None), "load": load})
    frame["hour"] = frame["hour"].dt.tz_localize("Europe/Berlin", ambiguous="infer")
    assert read(frame).step == timedelta(hours=1)
    assert read(frame.assign(hour=hours.tz_convert("UTC"))).step == timedelta(hours=1)


@pytest.mark.parametrize("day", ["2024-03-30", "2024-05-17", "2024-12-24"])
def test_clocks_are_not_blamed_where_none_were_changed(day):
    hours = pd.date_range(day, periods=7, freq="h")
    for times in (hours.delete(2), hours.insert(2, hours[2])[:6]):
        with pytest.raises(ValueError, match=r"missing between|two rows") as refused:
            read(table(hour=times))
        assert "clocks" not in str(refused.value)


def test_the_unit_stays_with_its_column():
    measured = replace(series(), unit="MW")
    target, other = measured.columns[:2]
    assert measured.only(target).unit == "MW"
    assert measured.only(other, target).unit == ""


@pytest.mark.parametrize(
    ("columns", "missing"),
    [((), r"\[\]"), (("sun",), r"\['sun'\]"), (("load", "sun"), r"\['sun'\]")],
)
def test_a_column_that_is_not_there_can_not_be_chosen(columns, missing):
    with pytest.raises(
        ValueError, match=f"tiny has no {missing}: take one or more of .*'load', 'holiday"
    ):
        series().only(*columns)


def test_the_last_rows_are_kept_with_their_times():
    found = series(5).last(2)
    assert found.times == series(5).times[3:]
    assert found.values[:, 0].tolist() == [9.0, 12.0]
    assert series(5).last(5).values.equal(series(5).values)
    for n in (0, 6):
        with pytest.raises(ValueError, match=f"{n} rows of tiny: take from 1 to 5"):
            series(5).last(n)


def test_a_column_known_in_advance_can_not_become_the_target():
    with pytest.raises(ValueError, match="must be among those after the target 'wind'"):
        series(known=("wind",)).only("wind", "load")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"times": [datetime(2024, 1, 1)]}, "1 times and 3 columns do not fit values of shape"),
        ({"columns": ("load", "wind")}, r"shape \(5, 3\): give a time a row, a name a column"),
        ({"columns": ("load", "wind", "wind")}, "needs a name of its own"),
        ({"known": ("sun",)}, "must be among those after the target 'load'"),
        ({"values": torch.full((5, 3), torch.nan, dtype=torch.float64)}, "fill or cut them first"),
        ({"values": torch.tensor([[0.0, torch.inf, 0.0]] * 5).double()}, "missing or infinite"),
        ({"values": torch.tensor([[0.0, 0.0, -torch.inf]] * 5).double()}, "missing or infinite"),
        ({"times": [datetime(2024, 1, 1)] * 5}, "times must increase: sort the rows"),
        ({"times": [datetime(2024, 1, 6 - i) for i in range(5)]}, "times must increase"),
        ({"times": [datetime(2024, 1, i) for i in (1, 2, 3, 5, 4)]}, "times must increase"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(change, says):
    with pytest.raises(ValueError, match=says):
        series(**change)


def test_a_series_without_rows_is_refused():
    nothing = torch.zeros(0, 3, dtype=torch.float64)
    with pytest.raises(ValueError, match="0 times and 3 columns do not fit"):
        series(times=[], values=nothing)


def test_the_step_is_none_where_rows_are_unevenly_apart():
    hours = [datetime(2024, 1, 1, hour) for hour in (0, 1, 2, 3, 5)]
    assert series().step == timedelta(hours=1)
    assert series(times=hours).step is None


def test_a_series_of_ones_own_needs_no_pandas():
    code = "import coursekit.windows.series, sys; assert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
