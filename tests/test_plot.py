"""Pictures: what they draw, not how they look."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from coursekit.plot import draw_boxes, layer_histograms, ratio_curves


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_a_diagram_has_each_box_and_each_arrow():
    ax = draw_boxes({"a": (0, 0), "b\nc": (1, 0), "d": (2, 1)}, [("a", "b\nc"), ("b\nc", "d")])
    texts = [text.get_text() for text in ax.texts]
    assert [text for text in texts if text] == ["a", "b\nc", "d"]
    assert texts.count("") == 2


def test_an_arrow_to_nowhere_is_refused():
    with pytest.raises(ValueError, match=r"arrows lead to \['z'\]"):
        draw_boxes({"a": (0, 0)}, [("a", "z")])


def test_each_layer_has_its_outline_and_its_note():
    generator = np.random.default_rng(0)
    layers = {"first": generator.normal(size=(50, 4)), "second": generator.normal(size=(50, 4)) / 9}
    ax = layer_histograms(layers, xlabel="x", note=lambda values: f"{values.std():.2f}")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"{k}: {v.std():.2f}" for k, v in enumerate(layers.values(), 1)]
    shares = [patch.get_data().values for patch in ax.patches]
    assert all(0.97 < share.sum() <= 1 for share in shares)
    assert shares[1].max() > 3 * shares[0].max()  # the narrow one is higher
    assert ax.get_yscale() == "linear"


def test_a_layer_without_a_note_is_named_by_its_number():
    ax = layer_histograms({"a": [1.0, 2.0, 4.0]}, xlabel="x", yscale="log")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1"]
    assert ax.get_yscale() == "log"


def test_update_ratios_are_smoothed_and_guided():
    ratios = {"a": [-2.0] * 30, "b": list(np.linspace(-4, -2, 30))}
    ax = ratio_curves(ratios, ["first", "second"], smooth=10)
    first, second, guide = ax.lines
    assert list(first.get_xdata()) == list(range(10, 31))
    assert np.allclose(first.get_ydata(), -2)
    assert second.get_ydata()[0] == pytest.approx(np.mean(ratios["b"][:10]))
    assert set(guide.get_ydata()) == {-3.0}
