"""Windows to forecast from: none lost, none shared, and no look into the future."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coursekit.windows.forecast import (
    ForecastWindows,
    Scaler,
    draw_forecasts,
    shift_levels,
    split_windows,
)
from coursekit.windows.series import TimeSeries

ENDS = (40, 55, 75)


def series(n=80, seed=0, known=("holiday",)):
    """An hourly series of three columns; `holiday` is known in advance."""
    values = 3 * torch.randn(n, 3, generator=torch.Generator().manual_seed(seed)).double() + 20
    hours = [datetime(2024, 3, 30) + timedelta(hours=i) for i in range(n)]
    columns = ("load", "holiday", "wind")
    return TimeSeries(name="grid", times=hours, values=values, columns=columns, known=known)


def windows(n=30, past=5, horizon=3, start=10, stop=24, known=()):
    """Windows over rows that say their own number: row i is (i, i + 100)."""
    values = torch.arange(float(n))[:, None] + torch.tensor([0.0, 100.0])
    calendar = torch.arange(n)[:, None].expand(n, 3)
    return ForecastWindows(
        values=values,
        calendar=calendar,
        past=past,
        horizon=horizon,
        start=start,
        stop=stop,
        known=known,
    )


def test_a_window_is_a_past_then_a_horizon_and_the_calendar_of_both():
    (past, known, marks), target = windows(known=(1,)).take(torch.tensor([0, 4]))
    assert past.shape == (2, 5, 2)
    assert known.shape == (2, 3, 2)
    assert marks.shape == (2, 8, 3)
    assert target.tolist() == [[10, 11, 12], [14, 15, 16]]
    assert past[1, :, 0].tolist() == [9, 10, 11, 12, 13]
    assert past[1, :, 1].tolist() == [109, 110, 111, 112, 113]
    assert known[1].tolist() == [[0, 114], [0, 115], [0, 116]]
    assert marks[0, :, 2].tolist() == [5, 6, 7, 8, 9, 10, 11, 12]


def all_targets(some, size=7):
    return torch.cat([target for _, target in some.batches(size)])


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 12), st.integers(10, 18))
def test_every_run_of_target_rows_that_has_a_past_is_one_window(past, horizon, start, length):
    some = windows(past=past, horizon=horizon, start=start, stop=start + length)
    runs = [
        list(range(i, i + horizon)) for i in range(start, start + length - horizon + 1) if i >= past
    ]
    assert len(some) == len(runs)
    assert all_targets(some).tolist() == runs


@pytest.mark.parametrize("size", [1, 7, 32, 1024])
def test_every_window_comes_once_and_in_order_whatever_the_batch(size):
    some = split_windows(series(), 6, 4, ENDS).train
    whole_inputs, whole_target = some.take(torch.arange(len(some)))
    batches = list(some.batches(size))
    assert [len(target) for _, target in batches[:-1]] == [size] * (len(batches) - 1)
    assert torch.cat([target for _, target in batches]).equal(whole_target)
    for i, whole in enumerate(whole_inputs):
        assert torch.cat([inputs[i] for inputs, _ in batches]).equal(whole)


def target_rows(some):
    return {int(row) for row in all_targets(some).unique()}


def test_no_two_parts_share_a_target_and_each_row_is_in_one():
    n = 80
    own_number = TimeSeries(
        name="rows",
        times=[datetime(2024, 1, 1) + timedelta(days=i) for i in range(n)],
        values=torch.arange(float(n), dtype=torch.float64)[:, None],
        columns=("row",),
    )
    splits = split_windows(own_number, 6, 4, ENDS)
    parts = [splits.train, splits.valid, splits.test]
    rows = [
        splits.scaler.unscale(all_targets(part)).round().unique().int().tolist() for part in parts
    ]
    assert rows == [[*range(6, 40)], [*range(40, 55)], [*range(55, 75)]]
    first_past = splits.test.take(torch.tensor([0]))[0][0]
    assert splits.scaler.unscale(first_past[0, :, 0]).round().tolist() == [*range(49, 55)]


def test_the_fields_split_of_14400_hours_loses_no_window():
    values = torch.randn(14_424, 1, generator=torch.Generator().manual_seed(0)).double()
    hours = [datetime(2016, 7, 1) + timedelta(hours=i) for i in range(len(values))]
    hourly = TimeSeries(name="hourly", times=hours, values=values, columns=("OT",))
    splits = split_windows(hourly, 96, 24)
    assert splits.scaler.n_rows == 8640
    assert len(splits.train) == 8640 - 96 - 24 + 1
    assert len(splits.valid) == len(splits.test) == 2880 - 24 + 1
    assert (splits.valid.first, splits.test.first) == (8640, 11_520)


def test_the_scaler_sees_training_rows_only():
    first = series()
    changed = series()
    changed.values[ENDS[0] :] = 1e6
    before, after = (split_windows(one, 6, 4, ENDS) for one in (first, changed))
    assert before.scaler.mean.equal(after.scaler.mean)
    assert before.scaler.std.equal(after.scaler.std)
    for (inputs, target), (others, other) in zip(
        before.train.batches(8), after.train.batches(8), strict=True
    ):
        assert target.equal(other)
        assert all(one.equal(two) for one, two in zip(inputs, others, strict=True))


def test_training_rows_are_scaled_to_mean_0_and_deviation_1():
    splits = split_windows(series(), 6, 4, ENDS)
    rows = splits.train.values[: ENDS[0]]
    torch.testing.assert_close(rows.mean(0), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(rows.std(0, correction=0), torch.ones(3))


@pytest.mark.parametrize("column", [0, 1, 2])
def test_unscaling_undoes_scaling_column_by_column(column):
    values = series().values * torch.tensor([1.0, 1e-4, 1e4])
    scaler = Scaler.fit(values[:40])
    scaled = scaler.scale(values)
    torch.testing.assert_close(scaler.unscale(scaled[:, column], column), values[:, column])
    target_only = scaled[:12, column].view(3, 4)
    expected = values[:12, column].view(3, 4)
    torch.testing.assert_close(scaler.unscale(target_only, column), expected)


def test_unscaling_is_of_the_target_unless_told_otherwise():
    splits = split_windows(series(), 6, 4, ENDS)
    target = splits.scaler.unscale(splits.test.take(torch.tensor([3]))[1])[0]
    torch.testing.assert_close(target.double(), series().values[58:62, 0], atol=1e-5, rtol=0)


def test_a_column_that_never_changes_is_shifted_and_nothing_else():
    values = torch.tensor([[3.0, 1.0], [3.0, 2.0], [4.0, 3.0]], dtype=torch.float64)
    scaler = Scaler.fit(values[:2])
    assert scaler.scale(values)[:, 0].tolist() == [0.0, 0.0, 1.0]
    assert scaler.unscale(torch.tensor([0.0, 1.0])).tolist() == [3.0, 4.0]


@pytest.mark.parametrize("columns", [1, 3])
def test_a_constant_is_not_divided_by_the_rounding_of_its_mean(columns):
    constant = torch.full((8640, columns), 0.1, dtype=torch.float64)
    scaler = Scaler.fit(constant)
    assert scaler.std.tolist() == [1.0] * columns
    assert scaler.scale(constant + 0.1).max() == pytest.approx(0.1)


def test_of_the_future_only_known_columns_are_shown():
    splits = split_windows(series(), 6, 4, ENDS)
    (_, known, _), _ = splits.test.take(torch.arange(len(splits.test)))
    future = torch.stack([splits.test.values[i : i + 4] for i in range(55, 72)])
    assert known[..., 1].equal(future[..., 1])
    assert known[..., [0, 2]].count_nonzero() == 0
    (_, nothing, _), _ = split_windows(series(known=()), 6, 4, ENDS).test.take(torch.arange(5))
    assert nothing.count_nonzero() == 0


def test_another_future_leaves_the_inputs_as_they_are_bit_by_bit():
    splits = split_windows(series(), 6, 4, ENDS)
    last = torch.tensor([len(splits.test) - 1])
    inputs, target = splits.test.take(last)
    splits.test.values[ENDS[2] - 4 :, [0, 2]] += 5.0
    again, other = splits.test.take(last)
    assert not target.equal(other)
    assert all(one.equal(two) for one, two in zip(inputs, again, strict=True))


def test_a_batch_may_be_changed_without_changing_the_series():
    some = windows(known=(1,))
    kept = some.values.clone()
    (past, known, _), target = some.take(torch.tensor([2]))
    for part in (past, known, target):
        part += 1.0
    assert some.values.equal(kept)


def test_windows_on_a_device_are_the_same_windows():
    some = windows(known=(1,))
    (past, _, marks), target = some.to(torch.device("cpu")).take(torch.tensor([1]))
    assert past.equal(some.take(torch.tensor([1]))[0][0])
    (past, known, marks), target = some.to("meta").take(torch.tensor([1]))
    assert {part.device.type for part in (past, known, marks, target)} == {"meta"}


@pytest.mark.parametrize("rows", [[-1], [0, 12], [5, -1, 3]])
def test_a_window_that_is_not_there_is_refused(rows):
    with pytest.raises(ValueError, match="must be between 0 and 11"):
        windows().take(torch.tensor(rows))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"past": 0}, "past 0 and horizon 3 must be at least 1"),
        ({"horizon": 0}, "past 5 and horizon 0 must be at least 1"),
        ({"start": 24}, "rows 24 to 24 must lie in the 30 there are"),
        ({"stop": 31}, "rows 10 to 31 must lie in the 30"),
        ({"start": -1}, "rows -1 to 24 must lie in the 30"),
        ({"stop": 12}, "no window fits: target rows 10 to 12 .*choose horizon at most 2"),
        ({"past": 22}, "no window fits: target rows 10 to 24 with past 22.*choose past at most 21"),
        ({"known": (0,)}, r"known=\(0,\) must be columns from 1, 0 being the target, to 1"),
        ({"known": (2,)}, r"known=\(2,\) must be columns from 1, 0 being the target, to 1"),
        ({"known": (1, -1)}, r"known=\(1, -1\) must be columns from 1"),
    ],
)
def test_windows_that_can_not_be_are_refused(change, says):
    with pytest.raises(ValueError, match=says):
        windows(**change)


def test_a_batch_of_none_is_refused():
    with pytest.raises(ValueError, match="size=0 must be at least 1"):
        next(windows().batches(0))


def numbers_in(message, before):
    """Numbers that a refusal names after these words."""
    return [int(number) for number in re.findall(rf"{before} (\d+)", message)]


@given(st.integers(1, 40), st.integers(1, 20), st.integers(0, 20), st.integers(1, 12))
def test_where_no_window_fits_each_remedy_alone_gives_one(past, horizon, start, length):
    asked = {"past": past, "horizon": horizon, "start": start, "stop": start + length}
    count = start + length - horizon + 1 - max(start, past)  # it may be far below 0
    if count > 0:
        assert len(windows(n=64, **asked)) == count
        return
    with pytest.raises(ValueError, match=r"no window fits: target rows") as refused:
        windows(n=64, **asked)
    message = str(refused.value)
    assert "end the rows at" in message
    for name, words in {
        "past": "past at most",
        "horizon": "horizon at most",
        "stop": "the rows at",
    }.items():
        for number in numbers_in(message, words):
            assert len(windows(n=64, **asked | {name: number})) == 1
            worse = number + (-1 if name == "stop" else 1)
            with pytest.raises(ValueError, match="no window fits"):
                windows(n=64, **asked | {name: worse})


@pytest.mark.parametrize(
    ("past", "horizon"), [(96, 24), (40, 24), (37, 4), (6, 16), (50, 1), (1, 50), (1, 39)]
)
def test_a_part_too_short_for_a_window_is_refused_until_what_it_says_is_done(past, horizon):
    ends = (40, 55, 70)
    for _ in range(6):
        try:
            splits = split_windows(series(), past, horizon, ends)
        except ValueError as refused:
            message = str(refused)
            assert "no window fits: target rows" in message
            shorter = numbers_in(message, "past at most")
            if shorter:
                (past,) = shorter
            else:
                (horizon,) = numbers_in(message, "horizon at most")
        else:
            break
    assert min(len(splits.train), len(splits.valid), len(splits.test)) >= 1


@pytest.mark.parametrize(
    "ends",
    [
        *((40, 55), (40, 40, 75), (0, 55, 75), (40, 55, 81), (55, 40, 75), (-5, 55, 75)),
        *((40, 75, 75), (10, 20, 30, 40), (8640, 11_520, 14_400)),
    ],
)
def test_ends_that_are_no_split_are_refused_with_some_that_are(ends):
    with pytest.raises(
        ValueError, match=r"three rows, increasing, at most 80: the length of grid, or fractions"
    ) as refused:
        split_windows(series(), 6, 4, ends)
    assert str(refused.value).endswith("ends=(48, 64, 80)")
    splits = split_windows(series(), 6, 4, (48, 64, 80))
    assert [splits.train.stop, splits.valid.stop, splits.test.stop] == [48, 64, 80]


def stops(ends, **parts):
    splits = split_windows(replace(series(), **parts), 6, 4, ends)
    return [splits.train.stop, splits.valid.stop, splits.test.stop]


def test_ends_may_be_fractions_of_the_series():
    assert stops((0.5, 0.7, 1.0)) == stops((0.5, 0.7, 1)) == [40, 56, 80]
    assert stops((0.61, 0.79, 0.99)) == [49, 63, 79]


@pytest.mark.parametrize("form", [str, datetime.fromisoformat])
def test_ends_may_be_dates_each_the_first_one_after_its_part(form):
    # The rows are the hours from 2024-03-30 00:00 on.
    dates = [form(text) for text in ("2024-03-31 16:00", "2024-04-01 06:30", "2024-05-17")]
    assert stops(dates) == [40, 55, 80]
    assert stops([*dates[:2], 1.0]) == [40, 55, 80]


def test_dates_are_those_of_the_series_own_zone():
    start = datetime(2024, 3, 29, 23, tzinfo=UTC)
    moments = [start + timedelta(hours=i) for i in range(80)]
    berlin = [at.astimezone(ZoneInfo("Europe/Berlin")) for at in moments]
    fixed = [at.replace(tzinfo=timezone(at.utcoffset())) for at in berlin]
    dates = ("2024-03-31 01:00", "2024-04-01", "2024-04-02")  # a day of 23 hours between
    assert stops(dates, times=fixed, zone="Europe/Berlin") == [25, 47, 71]
    assert stops(dates, times=moments) == [26, 49, 73]
    zoned = [f"{date}+00:00" for date in ("2024-03-31T01:00", "2024-04-01T00:00", "2024-04-02T00")]
    assert stops(zoned, times=fixed, zone="Europe/Berlin") == [26, 49, 73]


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ((0.5, 0.4, 1.0), r"or fractions of it up to 1.0, .*, for instance, ends=\(48, 64, 80\)"),
        ((0.5, 0.8, 1.5), "fractions of it up to 1.0"),
        ((-0.5, 0.8, 1.0), "fractions of it up to 1.0"),
        ((0.001, 0.8, 1.0), "fractions of it up to 1.0"),
        (
            ("2023-01-01", "2024-04-01", "2024-05-01"),
            "or dates from 2024-03-30 00:00:00 to 2024-04",
        ),
        (
            ("2024-03-31", "soon", "2024-05-01"),
            "'soon' among the ends is no date as in '2024-05-17",
        ),
        (("2024-03-31T00+01:00", "2024-04-01", "2024-05-01"), "has a zone and grid has none"),
    ],
)
def test_fractions_and_dates_that_are_no_split_are_refused(ends, says):
    with pytest.raises(ValueError, match=says):
        split_windows(series(), 6, 4, ends)


def test_windows_name_the_sizes_of_a_model_of_theirs():
    sizes = split_windows(series(known=("wind",)), 6, 4, ENDS).test.sizes
    assert sizes == {"n_channel": 3, "context": 6, "horizon": 4, "known": (2,)}


def proposed_ends(n):
    with pytest.raises(ValueError, match="choose, for instance, ends=") as refused:
        split_windows(series(n), 1, 1)
    return tuple(int(end) for end in str(refused.value).split("ends=(")[1][:-1].split(", "))


@pytest.mark.parametrize("n", [4, 5, 7, 20, 100])
def test_the_ends_proposed_fit_a_series_of_any_length(n):
    splits = split_windows(series(n), 1, 1, proposed_ends(n))
    assert len(splits.train) + len(splits.valid) + len(splits.test) == n - 1


def test_three_rows_can_be_split_but_leave_no_past_to_learn_from():
    with pytest.raises(ValueError, match=r"rows 0 to 1 with past 1 .*: end the rows at 2 or later"):
        split_windows(series(3), 1, 1, proposed_ends(3))


def test_a_series_of_two_rows_can_not_be_split():
    with pytest.raises(ValueError, match=r"at most 2: the length of grid, .*; take 3 rows or more"):
        split_windows(series(2), 1, 1, (1, 2, 3))


def test_the_whole_series_and_a_single_window_are_admitted():
    assert len(split_windows(series(), 6, 4, (40, 55, 80)).test) == 80 - 55 - 4 + 1
    assert len(windows(past=7, horizon=14, start=10, stop=24)) == 1
    assert len(windows(past=21, horizon=3, start=10, stop=24)) == 1
    assert len(windows(past=5, horizon=3, start=0, stop=30)) == 30 - 3 + 1 - 5


def test_known_columns_are_shown_whatever_their_order():
    splits = split_windows(series(known=("wind", "holiday")), 6, 4, ENDS)
    assert splits.valid.known == (2, 1)
    (_, known, _), _ = splits.valid.take(torch.tensor([3, 0]))
    rows = torch.stack([splits.valid.values[i : i + 4] for i in (43, 40)])
    assert known[..., 1:].equal(rows[..., 1:])
    assert known[..., 0].count_nonzero() == 0


def test_drawn_windows_come_once_a_round_and_alike_for_the_same_generator():
    def draw(seed):  # two rounds of the 12 windows, in three batches each
        supply = draw_forecasts(windows(), 4, torch.Generator().manual_seed(seed))
        return torch.stack([next(supply)[1][:, 0].long() for _ in range(6)]).view(2, 12).tolist()

    state = torch.get_rng_state()
    rounds = draw(1)
    assert rounds == draw(1) != draw(2)
    assert torch.get_rng_state().equal(state)
    assert rounds[0] != rounds[1]
    assert [sorted(one) for one in rounds] == [list(range(10, 22))] * 2


def test_each_window_is_drawn_first_as_often_as_any_other():
    rounds, counts = 600, torch.zeros(12)
    supply = draw_forecasts(windows(), 12, torch.Generator().manual_seed(0))
    for _ in range(rounds):
        counts[next(supply)[1][0, 0].long() - 10] += 1
    expected = rounds / 12
    assert ((counts - expected).square() / expected).sum() < 31.3  # 11 degrees, p = 0.001


@pytest.mark.parametrize("size", [-1, 0, 13])
def test_a_drawn_batch_larger_than_all_windows_is_refused(size):
    with pytest.raises(ValueError, match="must be between 1 and the 12 windows"):
        next(draw_forecasts(windows(), size, torch.Generator()))


def test_a_shifted_window_is_moved_as_a_whole_and_each_by_another_amount():
    past, target = torch.randn(4, 7, 2), torch.randn(4, 3)
    known, marks = torch.zeros(4, 3, 2), torch.zeros(4, 10, 3).long()
    generator = torch.Generator().manual_seed(0)
    ((new, same, _), moved), *_ = shift_levels([((past, known, marks), target)], 0.5, generator)
    levels = moved - target
    torch.testing.assert_close(new[..., 0] - past[..., 0], levels[:, :1].expand(-1, 7))
    torch.testing.assert_close(levels, levels[:, :1].expand(-1, 3))
    assert torch.equal(new[..., 1], past[..., 1])  # another column has a level of its own
    assert torch.equal(same, known)
    assert len(levels[:, 0].unique()) == 4


def levels_of(size, seed, n=4000):
    """By how much the targets of n windows were moved."""
    batch = (torch.zeros(n, 2, 1), torch.zeros(n, 1, 1), torch.zeros(n, 3, 3).long())
    supply = shift_levels([(batch, torch.zeros(n, 1))], size, torch.Generator().manual_seed(seed))
    return next(supply)[1][:, 0]


@pytest.mark.parametrize("size", [0.5, 2.0])
def test_levels_are_normal_with_the_size_as_their_deviation(size):
    levels = levels_of(size, seed=0).sort().values / size
    # 1.95 / √n is what Kolmogorov's distance exceeds in one of 1000 samples.
    expected = torch.special.ndtr(levels)
    steps = torch.arange(1, 4001) / 4000
    assert (expected - steps).abs().max() < 1.95 / 4000**0.5
    assert abs(levels.mean()) < 3.3 / 4000**0.5
    assert abs(levels.std() - 1) < 3.3 / 8000**0.5


def test_levels_come_from_the_generator_alone():
    state = torch.get_rng_state()
    assert levels_of(0.5, seed=1).equal(levels_of(0.5, seed=1))
    assert not levels_of(0.5, seed=1).equal(levels_of(0.5, seed=2))
    assert torch.get_rng_state().equal(state)
    assert levels_of(0.0, seed=1).count_nonzero() == 0


def test_each_batch_gets_levels_of_its_own():
    batch = (torch.zeros(5, 2, 1), torch.zeros(5, 1, 1), torch.zeros(5, 3, 3).long())
    supply = shift_levels([(batch, torch.zeros(5, 1))] * 2, 0.5, torch.Generator().manual_seed(0))
    (_, first), (_, second) = supply
    assert not first.equal(second)


def test_windows_are_shifted_on_their_own_device():
    past, known = torch.zeros(4, 7, 2, device="meta"), torch.zeros(4, 3, 2, device="meta")
    marks = torch.zeros(4, 10, 3, dtype=torch.long, device="meta")
    batch = (past, known, marks), torch.zeros(4, 3, device="meta")
    (new, *_), moved = next(shift_levels([batch], 0.5, torch.Generator()))
    assert new.device == moved.device == past.device
