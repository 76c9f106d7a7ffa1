"""Pictures of several lessons: what they draw, not how they look."""

from datetime import datetime, timedelta, timezone

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from coursekit.forecasting.ahead import AheadForecast
from coursekit.inside.diagnose import UpdateLog, take_snapshot
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.notebook.percent import draw_percent
from coursekit.notebook.pictures import (
    FIVE,
    draw_ahead,
    draw_images,
    draw_numbers,
    draw_reached,
    name_lines,
    ridges,
    start_pictures,
    step_pictures,
    tile_images,
)
from coursekit.windows.series import TimeSeries


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def studied(n_hidden):
    """Look into a small network and train it for two steps."""
    model = MLP(MLPConfig(vocab_size=5, d_hidden=6, n_hidden=n_hidden))
    tokens, targets = torch.randint(5, (9, 3)), torch.randint(5, (9,))
    snapshot = take_snapshot(model, tokens, targets, watch=torch.nn.Tanh)
    log = UpdateLog(model)
    for _ in range(2):
        for p in model.parameters():
            p.data += 0.001 * torch.randn_like(p)
        log()
    return snapshot, log.ratios, [3.0, 2.5]


@pytest.mark.parametrize(("n_hidden", "shown"), [(2, [1, 2]), (8, [1, 5, 8])])
def test_the_five_pictures_show_layers_weights_updates_and_loss(n_hidden, shown):
    snapshot, updates, losses = studied(n_hidden)
    axes = plt.subplots(1, 5)[1]
    start_pictures(axes[:3], snapshot, rows=3, names="above")
    step_pictures(axes[3:], updates, losses, names="above")
    for ax in axes[:2]:
        assert len(ax.patches) == len(shown)
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels == [f"layer {k}" for k in shown]
    assert len(axes[2].lines[0].get_ydata()) == n_hidden + 2  # embedding, layers, output
    *ratios, rule = axes[3].lines
    assert [list(line.get_ydata()) for line in ratios] == list(updates.values())[1:-1]
    assert set(rule.get_ydata()) == {-3}
    assert axes[4].lines[0].get_ydata() == pytest.approx([2.75])
    assert [ax.get_title() for ax in axes] == list(FIVE)


def test_two_networks_are_drawn_on_the_same_axes():
    grid = plt.subplots(2, 5)[1]
    for axes, n_hidden in zip(grid, (2, 4), strict=True):
        snapshot, *training = studied(n_hidden)
        start_pictures(axes[:3], snapshot, names="left")
        step_pictures(axes[3:], *training, names="left")
    for above, below in zip(grid[0, 2:], grid[1, 2:], strict=True):
        assert above.get_ylim() == below.get_ylim()
        assert above.get_ylabel() == below.get_ylabel() != ""


def test_ridges_stand_under_one_another_and_count_what_lies_outside():
    ax = ridges(plt.gca(), [[0.1, 0.1, 0.1, 0.9], [-7.0, 9.0]], np.array([0.0, 0.5, 1.0]))
    first, second = (patch.get_data() for patch in ax.patches)
    assert list(first.values) == pytest.approx([0.9, 0.3])
    assert list(second.values + 1) == pytest.approx([0.9, 0.9])
    assert (first.baseline, second.baseline) == (0, -1)


def test_each_line_has_its_name_at_its_end_and_no_two_touch():
    ax = plt.gca()
    ax.plot([0, 1], [0, 5], label="up")
    ax.plot([0, 1], [9, 5.1], label="down")
    ax.plot([0, 1], [0, 0])
    ax.set(xlim=(0, 1), ylim=(0, 10))
    name_lines(ax, gap=0.1)
    spots = {text.get_text(): text.get_position() for text in ax.texts}
    assert spots == {"up": (1.015, 0.5), "down": (1.015, pytest.approx(0.6))}
    assert [text.get_color() for text in ax.texts] == [line.get_color() for line in ax.lines[:2]]


def test_a_line_that_leaves_the_axes_is_named_where_it_was_last_seen():
    ax = plt.gca()
    ax.semilogy(range(5), [1, 10, 100, 1e9, 1e12], label="explodes")
    ax.set(xlim=(0, 4), ylim=(1, 100))
    name_lines(ax, gap=0.1)
    assert ax.texts[0].get_position() == (pytest.approx(0.515), pytest.approx(0.95))


def test_images_are_laid_side_by_side_in_a_frame():
    tiled = tile_images(np.arange(24).reshape(3, 8), columns=2, shape=(2, 4))
    assert tiled.shape == (7, 11)
    assert tiled[1:3, 1:5].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert tiled[1:3, 6:10].tolist() == [[8, 9, 10, 11], [12, 13, 14, 15]]
    assert tiled[4:6, 1:5].tolist() == [[16, 17, 18, 19], [20, 21, 22, 23]]
    assert (tiled[[0, 3, 6]] == 0.5).all()
    assert (tiled[:, [0, 5, 10]] == 0.5).all()
    assert (tiled[3:, 5:] == 0.5).all()


def test_crosses_mark_what_is_not_read_and_what_comes_later_and_is():
    reached = np.array([[1, 0, 1], [1, 0, 1]], bool)
    ax = draw_reached(plt.figure().gca(), reached, row=1, column=1)
    marks = {(text.get_position(), text.get_color()) for text in ax.texts}
    assert marks == {((1, 0), "C3"), ((2, 1), "C1")}
    assert ax.lines[0].get_xydata().tolist() == [[1, 1]]


def test_each_number_that_is_not_zero_is_written():
    ax = draw_numbers(plt.figure().gca(), torch.tensor([[0.0, 2.0, 0.0], [7.0, 0.0, 0.0]]))
    assert {(text.get_position(), text.get_text()) for text in ax.texts} == {
        ((1, 0), "2"),
        ((0, 1), "7"),
    }
    assert [
        [text.get_text() for text in axis.get_ticklabels()] for axis in (ax.xaxis, ax.yaxis)
    ] == [
        ["0", "1", "2"],
        ["0", "1"],
    ]


def test_rows_and_columns_have_the_names_that_are_given():
    ax = draw_numbers(plt.figure().gca(), torch.ones(2, 3), rows="ab", columns=[2, 0, 1])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "0", "1"]


def test_a_table_of_per_cent_is_white_at_chance():
    ax = draw_percent(plt.figure().gca(), [[50.0, 0.0], [98.6, 21.0], [60.0, 79.0]], "abc", [3, 1])
    (image,) = ax.images
    assert image.get_clim() == (0, 100)
    assert image.cmap(image.norm(50.0))[:3] == pytest.approx([0.97] * 3, abs=0.02)
    written = {text.get_position(): (text.get_text(), text.get_color()) for text in ax.texts}
    assert written == {
        (0, 0): ("50", "black"),
        (1, 0): ("0", "white"),
        (0, 1): ("99", "white"),
        (1, 1): ("21", "black"),
        (0, 2): ("60", "black"),
        (1, 2): ("79", "black"),
    }
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "c"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["3", "1"]


def test_ink_is_black_whatever_there_is():
    ax = draw_images(plt.figure().gca(), torch.zeros(3, 8), columns=2, shape=(2, 4))
    assert ax.images[0].get_clim() == (0, 1)
    assert ax.images[0].get_array().shape == (7, 11)


def ahead_of(n, zone=None, margin=True):
    """A series of n hours and a forecast of the three that follow."""
    hours = [datetime(2024, 5, 17, tzinfo=zone) + timedelta(hours=k) for k in range(n + 3)]
    values = torch.arange(float(n), dtype=torch.float64)[:, None]
    series = TimeSeries(name="s", times=hours[:n], values=values, columns=("load",), unit="MW")
    ahead = AheadForecast(
        target="load",
        time="time",
        unit="MW",
        times=hours[n:],
        values=torch.tensor([7.0, 8.0, 3.0], dtype=torch.float64),
        margin=torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64) if margin else None,
    )
    return ahead, series


@pytest.mark.parametrize("zone", [None, timezone(timedelta(hours=-7))])
def test_a_forecast_is_drawn_from_the_last_row_on_by_the_clocks_of_its_place(zone):
    ax = draw_ahead(*ahead_of(40, zone))
    past, later = ax.get_lines()
    assert past.get_ydata().tolist() == [*range(28, 40)]
    assert later.get_ydata().tolist() == [39, 7, 8, 3]
    first = mdates.date2num(datetime(2024, 5, 17))
    np.testing.assert_allclose(24 * (later.get_xdata() - first), [39, 40, 41, 42], atol=1e-6)
    band = ax.collections[0].get_paths()[0].vertices
    assert {(round(24 * (x - first)), y) for x, y in band} == {
        *((39, 39), (40, 6), (40, 8), (41, 6), (41, 10), (42, -1), (42, 7)),
    }
    assert ax.get_ylabel() == "MW"
    assert ax.collections[0].get_label() == "its band"
    ax = draw_ahead(*ahead_of(40, zone), band="80% band", ax=plt.figure().gca())
    assert [text.get_text() for text in ax.get_legend().get_texts()][1:] == ["forecast", "80% band"]


def test_a_forecast_without_bands_and_of_a_short_series_is_drawn_too():
    ax = draw_ahead(*ahead_of(5, margin=False), rows=90)
    assert [len(line.get_ydata()) for line in ax.get_lines()] == [5, 4]
    assert not ax.collections
