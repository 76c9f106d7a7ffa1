"""Diagrams: straight arrows from edge to edge, nothing on another, letters that can be read."""

import io
import re
from itertools import combinations, pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib import colors as mcolors
from matplotlib.patches import Ellipse, FancyBboxPatch, Polygon
from matplotlib.transforms import Bbox

from coursekit.notebook.diagram import COLORS, WIDEST, Diagram, text_size
from coursekit.notebook.layout import Layout
from coursekit.notebook.plot import use_house_style


@pytest.fixture(autouse=True)
def _house():
    use_house_style()
    yield
    plt.close("all")


def block() -> Diagram:
    """A residual stream with one branch, in a group."""
    d = Diagram()
    d.box("x", 0, 4, kind="data")
    d.box("norm", 0, 3, kind="parameters")
    d.box("attention", 0, 2, kind="parameters")
    d.box("add", 0, 1, text="+")
    d.box("y", 0, 0, kind="data")
    for tail, head in pairwise(["x", "norm", "attention", "add", "y"]):
        d.arrow(tail, head, "B × T × 64" if tail == "x" else "")
    d.arrow("x", "add", route="skip")
    d.group("× 6", "norm", "attention", "add")
    return d


def fan() -> Diagram:
    """All routes, a box that spans three columns, two boxes on one level."""
    d = Diagram()
    d.box("X", 0, 3, columns=3, kind="data")
    for column, name in enumerate("QKV"):
        d.box(name, column, 2, kind="parameters", text=f"to {name}")
        d.arrow("X", name, "B × T × C" if name == "V" else "")
    d.box("scores", 0, 1, columns=2)
    d.box("late", 2, 1)
    d.box("sum", 1, 0)
    d.box("memory", 2, 0, kind="data")
    d.arrow("Q", "scores")
    d.arrow("K", "scores")
    d.arrow("memory", "sum", "96 × 64")
    d.arrow("V", "late")
    d.arrow("late", "sum", route="|-|")
    d.group("one head", "Q", "K", "V", "scores", "late", "sum", "memory")
    d.group("inner", "scores", "sum")
    return d


def grid_of(d):
    return Layout([*d.boxes.values()], d.arrows, d.groups, text_size)


def is_on_edge(point, edges):
    (x, y), (left, top, right, bottom) = point, edges
    inside = left <= x <= right and top <= y <= bottom
    return inside and (x in (left, right) or y in (top, bottom))


@pytest.mark.parametrize("make", [block, fan])
def test_no_arrow_is_slanted_and_each_leads_from_edge_to_edge(make):
    d = make()
    grid = grid_of(d)
    for arrow in d.arrows:
        line = grid.route(arrow)
        assert all((x == x2) != (y == y2) for (x, y), (x2, y2) in pairwise(line))
        assert is_on_edge(line[0], arrow.tail.edges)
        assert is_on_edge(line[-1], arrow.head.edges)


@pytest.mark.parametrize("make", [block, fan])
def test_each_box_each_shape_and_each_title_is_written(make):
    d = make()
    written = [text.get_text() for text in d.draw().texts]
    wanted = [b.text for b in d.boxes.values()] + [a.shape for a in d.arrows if a.shape]
    assert sorted(written) == sorted([*wanted, *(g.title for g in d.groups), *COLORS])


def test_a_box_has_the_colour_of_its_kind_and_an_operation_of_one_letter_is_round():
    d = block()
    patches = [p for p in d.draw().patches if isinstance(p, FancyBboxPatch | Ellipse)]
    colors = [mcolors.to_hex(p.get_facecolor()) for p in patches]
    frame, boxes, key = colors[:1], colors[1:6], colors[6:]
    assert frame == ["#f5f5f5"]
    assert boxes == [COLORS[b.kind] for b in d.boxes.values()]
    assert key == list(COLORS.values())
    assert [isinstance(p, Ellipse) for p in patches[1:6]] == [False, False, False, True, False]


def test_kinds_can_be_told_apart_in_grey():
    light = sorted(np.dot(mcolors.to_rgb(c), (0.299, 0.587, 0.114)) for c in COLORS.values())
    assert all(b - a > 0.03 for a, b in pairwise(light))


def test_one_kind_needs_no_key():
    d = Diagram()
    d.box("a", 0, 0)
    assert [text.get_text() for text in d.draw().texts] == ["a"]


def test_boxes_that_face_each_other_are_joined_straight_and_others_in_right_angles():
    d = fan()
    grid = grid_of(d)
    assert [len(grid.route(a)) for a in d.arrows] == [2, 2, 2, 2, 2, 2, 2, 4]
    (x, _), (x2, _) = grid.route(d.arrows[0])
    assert x == x2 == d.boxes["Q"].middle[0]  # of the narrower one


@pytest.mark.parametrize("route", ["-|", "|-", "|-|"])
def test_a_route_leaves_and_arrives_as_it_is_drawn(route):
    d = Diagram()
    d.box("a", 0, 1)
    d.box("b", 1, 0)
    d.arrow("a", "b", route=route)
    line = grid_of(d).route(d.arrows[0])
    is_level = [y == y2 for (_, y), (_, y2) in pairwise(line)]
    assert (
        is_level == {"-|": [True, False], "|-": [False, True], "|-|": [False, True, False]}[route]
    )


def test_a_skip_goes_around_what_is_between_and_arrives_at_the_side():
    d = block()
    grid = grid_of(d)
    line = grid.route(d.arrows[-1])
    lane = line[2][0]
    assert lane < min(d.boxes[name].edges[0] for name in ("norm", "attention"))
    assert line[-1] == (d.boxes["add"].edges[0], d.boxes["add"].middle[1])


@pytest.mark.parametrize("make", [block, fan])
def test_a_frame_holds_its_boxes_its_skips_and_smaller_frames_and_nothing_else(make):
    d = make()
    grid = grid_of(d)
    frames = {group.title: grid.frame(group) for group in d.groups}
    for group in d.groups:
        left, top, right, bottom = frames[group.title]
        for b in d.boxes.values():
            held = left < b.edges[0] < b.edges[2] < right and top < b.edges[1] < b.edges[3] < bottom
            apart = b.edges[0] > right or b.edges[1] > bottom or b.edges[3] < top
            assert held == (b in group.members)
            assert held or apart or b.edges[2] < left
        for arrow in d.arrows:
            if arrow.route == "skip":
                assert left < min(x for x, _ in grid.route(arrow))
    if make is fan:
        outer, inner = frames["one head"], frames["inner"]
        assert outer[0] < inner[0]
        assert outer[1] < inner[1]
        assert outer[2] > inner[2]
        assert outer[3] > inner[3]


@pytest.mark.parametrize("make", [block, fan])
def test_no_text_lies_on_another_or_beyond_the_canvas(make):
    d = make()
    ax = d.draw()
    ax.figure.canvas.draw()
    for text in ax.texts:
        for b in d.boxes.values():
            box = Bbox(ax.transData.transform(np.reshape(b.edges, (2, 2))))
            assert text.get_text() == b.text or not text.get_window_extent().overlaps(box)
    rooms = [text.get_window_extent() for text in ax.texts]
    for one, other in combinations(rooms, 2):
        assert not one.overlaps(other)
    whole = ax.figure.bbox
    assert all(whole.x0 <= r.x0 and r.x1 <= whole.x1 for r in rooms)
    assert all(whole.y0 <= r.y0 and r.y1 <= whole.y1 for r in rooms)


@pytest.mark.parametrize("make", [block, fan])
def test_the_drawing_fills_its_canvas(make):
    ax = make().draw()
    ax.figure.canvas.draw()
    parts = [p.get_window_extent() for p in ax.patches] + [t.get_window_extent() for t in ax.texts]
    box, margin = ax.figure.bbox, 0.15 * ax.figure.dpi
    assert min(p.x0 for p in parts) < margin
    assert min(p.y0 for p in parts) < margin
    assert max(p.x1 for p in parts) > box.x1 - margin
    assert max(p.y1 for p in parts) > box.y1 - margin


@pytest.mark.parametrize("make", [block, fan])
def test_its_letters_are_nine_pixels_high_on_a_phone(make):
    ax = make().draw()
    smallest = min(text.get_size() for text in ax.texts)
    assert smallest / 72 * 360 / ax.figure.get_size_inches()[0] >= 9


def test_an_arrow_ends_in_a_head_whose_tip_touches_the_box():
    d = Diagram()
    d.box("a", 0, 0)
    d.box("b", 1, 0)
    d.arrow("a", "b", "7")
    ax = d.draw()
    (head,) = [p for p in ax.patches if isinstance(p, Polygon)]
    assert head.get_xy()[0].tolist() == [d.boxes["b"].edges[0], d.boxes["b"].middle[1]]
    room = ax.get_window_extent()
    assert room.width / ax.get_xlim()[1] == pytest.approx(room.height / ax.get_ylim()[0])


def test_two_drawings_are_the_same_to_the_byte():
    pictures = []
    for _ in range(2):
        picture = io.BytesIO()
        fan().draw().figure.savefig(picture, format="png", metadata={"Software": None})
        pictures.append(picture.getvalue())
    assert pictures[0] == pictures[1]


def test_a_drawing_that_a_phone_can_not_show_is_refused_and_closed():
    d = Diagram()
    for column in range(9):
        d.box(f"column {column}", column, 0)
    with pytest.raises(ValueError, match=rf"points wide, and a phone shows {WIDEST}: use fewer"):
        d.draw()
    assert not plt.get_fignums()


def made() -> Diagram:
    d = Diagram()
    d.box("a", 0, 0)
    d.box("wide", 0, 1, columns=2)
    d.box("b", 0, 2)
    d.box("right", 1, 3)
    return d


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda d: d.box("c", 1, 1), "'wide' and 'c' are both on column 1, row 1: move one"),
        (lambda d: d.box("c", 0, 3, columns=2), "'right' and 'c' are both on column 1, row 3"),
        (lambda d: d.box("a", 5, 5), "two boxes are called 'a': rename one"),
        (lambda d: d.box("c", 0, 3, kind="layer"), "box 'c' has no kind 'layer': there are param"),
        (lambda d: d.box("c", -1, 0), "box 'c' is off the grid: columns and rows count from 0"),
        (lambda d: d.box("c", 0, 3, rows=0), "box 'c' is off the grid"),
        (lambda d: d.arrow("a", "z"), "there is no box 'z': there are a, wide, b, right"),
        (lambda d: d.arrow("a", "a"), "'a' → 'a' by '|-|': name two boxes and one of"),
        (lambda d: d.arrow("a", "b", route="/"), "'a' → 'b' by '/': name two boxes and one of"),
        (lambda d: d.group("× 6", "a", "z"), "there is no box 'z'"),
        (lambda d: d.group("× 6"), "group '× 6' is empty: name the boxes in it"),
        (lambda d: [d.arrow("a", "b"), d.draw()], "the arrow from 'a' to 'b' runs through 'wide'"),
        (lambda d: [d.boxes.clear(), d.draw()], "nothing to draw: name a box first"),
    ],
)
def test_a_mistake_is_refused_in_one_sentence(mistake, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        mistake(made())
    assert not plt.get_fignums()


def test_it_is_saved_twice_and_stays_where_it_is():
    ax = fan().draw()
    for _ in range(2):
        ax.figure.savefig(io.BytesIO(), format="png")
    assert ax.get_position().bounds == (0, 0, 1, 1)
