"""Several series in one table: each is read and scaled by itself, and no window lies across two."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from coursekit.windows.forecast import draw_forecasts, split_windows
from coursekit.windows.related import JoinedWindows, read_related

pd = pytest.importorskip("pandas")

ENDS = (0.5, 0.75, 1.0)
LENGTHS = {"north": 40, "south": 60, "west": 28}


def table():
    """Three shops of different sizes, their rows mixed."""
    parts = []
    for k, (shop, n) in enumerate(LENGTHS.items()):
        days = pd.date_range(f"2024-0{k + 1}-01", periods=n, freq="D")
        sales = [1000.0 * k + day for day in range(n)]
        parts.append(pd.DataFrame({"day": days, "shop": shop, "sales": sales, "holiday": k}))
    return pd.concat(parts).sort_values(["day", "shop"], kind="stable")


def read(frame=None, **options):
    options = {"by": "shop", "time": "day", "target": "sales", "known": ["holiday"]} | options
    return read_related(table() if frame is None else frame, **options)


def joined():
    return JoinedWindows([split_windows(one, 4, 2, ENDS).train for one in read().values()])


def test_each_series_has_its_own_rows_name_and_scaler():
    found = read()
    assert [(name, one.name, len(one)) for name, one in found.items()] == [
        (shop, shop, n) for shop, n in LENGTHS.items()
    ]
    for k, one in enumerate(found.values()):
        assert one.values[:, 0].tolist() == [1000.0 * k + day for day in range(len(one))]
        assert one.columns == ("sales", "holiday")
        scaler = split_windows(one, 4, 2, ENDS).scaler
        seen = one.values[: len(one) // 2, 0]
        assert_close(scaler.mean[0], seen.mean())


def test_the_joined_windows_are_those_of_each_series_one_after_the_other():
    windows = joined()
    sizes = [n // 2 - 4 - 2 + 1 for n in LENGTHS.values()]
    assert len(windows) == sum(sizes)
    (past, known, marks), target = windows.take(torch.arange(len(windows)))
    begin = 0
    for part, size in zip(windows.parts, sizes, strict=True):
        (own_past, own_known, own_marks), own_target = part.take(torch.arange(size))
        some = slice(begin, begin + size)
        assert past[some].equal(own_past)
        assert known[some].equal(own_known)
        assert marks[some].equal(own_marks)
        assert target[some].equal(own_target)
        begin += size


def test_windows_come_in_the_order_in_which_they_are_asked_for():
    windows = joined()
    rows = torch.tensor([30, 2, 22, 5, 2, 39, 14, 15])
    whole_inputs, whole_target = windows.take(torch.arange(len(windows)))
    inputs, target = windows.take(rows)
    assert target.equal(whole_target[rows])
    assert all(one.equal(whole[rows]) for one, whole in zip(inputs, whole_inputs, strict=True))


def test_no_window_lies_across_two_series():
    numbered = []
    for k, one in enumerate(read().values()):
        own = torch.full_like(one.values, float(k))
        part = split_windows(one, 4, 2, ENDS).train
        numbered.append(replace(part, values=own.float()))
    windows = JoinedWindows(numbered)
    (past, _, _), target = windows.take(torch.arange(len(windows)))
    every = torch.cat([past[..., 0], target], 1)
    assert (every == every[:, :1]).all()
    assert every[:, 0].unique().tolist() == [0, 1, 2]


def test_all_are_drawn_once_a_round():
    windows = joined()
    draws = draw_forecasts(windows, 8, torch.Generator().manual_seed(0))
    drawn = torch.cat([next(draws)[1] for _ in range(len(windows) // 8)])
    _, every = windows.take(torch.arange(len(windows)))
    found = {tuple(one) for one in drawn.tolist()}
    assert found <= {tuple(one) for one in every.tolist()}
    assert windows.sizes == {"n_channel": 2, "context": 4, "horizon": 2, "known": (1,)}
    assert windows.known == (1,)


def test_windows_of_different_sizes_are_not_joined():
    first, second, _ = read().values()
    for others in (
        [split_windows(second, 5, 2, ENDS).train],
        [split_windows(replace(second, known=()), 4, 2, ENDS).train],
    ):
        with pytest.raises(
            ValueError, match=r"windows of 2 series with the sizes .*: give some, al"
        ):
            JoinedWindows([split_windows(first, 4, 2, ENDS).train, *others])
    with pytest.raises(ValueError, match="windows of 0 series"):
        JoinedWindows([])


@pytest.mark.parametrize("rows", [[-1], [0, 999]])
def test_a_window_that_is_not_there_is_refused(rows):
    with pytest.raises(ValueError, match="must be between 0 and 48"):
        joined().take(torch.tensor(rows))


@pytest.mark.parametrize(
    ("frame", "options", "says"),
    [
        (table(), {"by": "store"}, r"there is no column 'store', only \['day', 'shop', 'sales'"),
        (table(), {"by": "sales"}, "'sales' names the series: it can't be a time, a target or k"),
        (table(), {"by": "holiday"}, "'holiday' names the series"),
        (table().assign(shop=None), {}, r"'shop' is empty in row 0.*frame\[frame\['shop'\].notna"),
        (
            table()[lambda t: (t["shop"] != "south") | (t["day"] != "2024-02-05")],
            {},
            r"shop 'south', rows counted in it alone: 1 row\(s\) are missing between 2024-02-04",
        ),
    ],
)
def test_a_table_that_holds_no_such_series_is_refused(frame, options, says):
    with pytest.raises(ValueError, match=says):
        read(frame, **options)
