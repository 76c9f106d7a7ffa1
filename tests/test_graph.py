"""The drawing of a computation graph shows what its values hold."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

from coursekit.notebook.graph import draw_graph


class Number(SimpleNamespace):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


@pytest.fixture
def named():
    a = Number(data=2.0, grad=-3.0, inputs=[])
    b = Number(data=-0.5, grad=12.0, inputs=[])
    product = Number(data=-1.0, grad=-6.0, inputs=[(a, -0.5), (b, 2.25)])
    square = Number(data=1.0, grad=1.0, inputs=[(product, -1.0), (product, -1.25)])
    yield {"a": (a, (0, 0)), "b": (b, (1, 1)), "ab": (product, (1, 0)), "sq": (square, (2, 0))}
    plt.close("all")


def words(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_each_value_has_its_box_and_each_use_its_arrow(named):
    ax = draw_graph(named)
    names, numbers = ["a", "b", "ab", "sq"], ["2.00", "−0.50", "−1.00", "1.00"]
    local = ["−0.50", "2.25", "−1.00", "−1.25"]
    assert sorted(words(ax)) == sorted([*names, *numbers, *local])
    arrows = [note for note in ax.texts if getattr(note, "arrow_patch", None)]
    ends = [(note.xyann, note.xy) for note in arrows]
    assert len(set(ends)) == 4  # the two of the square, too, are apart
    # Straight, and in the direction of the computation: to the right, or up.
    assert all((x0 < x1 and y0 == y1) or (x0 == x1 and y0 < y1) for (x0, y0), (x1, y1) in ends)


def test_a_gradient_is_written_once_it_has_arrived(named):
    value = named["ab"][0]
    ax = draw_graph(named, arrived=[value])
    assert [text for text in words(ax) if "grad" in text] == ["−1.00\ngrad −6.00"]
    colors = {patch.get_facecolor() for patch in ax.patches}
    assert len(ax.patches) == 4
    assert len(colors) == 2
