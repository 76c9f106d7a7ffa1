"""Pictures: what they draw, not how they look."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from coursekit.notebook.plot import (
    SEQUENTIAL,
    color_tokens,
    draw_boxes,
    layer_histograms,
    letter_table,
    ratio_curves,
)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_a_diagram_has_each_box_and_each_arrow():
    ax = draw_boxes({"a": (0, 0), "b\nc": (1, 0), "d": (2, 1)}, [("a", "b\nc"), ("b\nc", "d")])
    texts = [text.get_text() for text in ax.texts]
    assert [text for text in texts if text] == ["a", "b\nc", "d"]
    assert texts.count("") == 2


def test_a_table_over_letters_has_a_row_for_each_letter_before():
    table = np.array([[0.0, 1.0], [2.0, 3.0]])
    ax = letter_table(table, "xy", label="how often")
    (mesh,) = ax.collections
    assert np.array_equal(mesh.get_array().reshape(2, 2), table)
    assert mesh.get_cmap().name == plt.get_cmap(SEQUENTIAL).name
    assert [text.get_text() for text in ax.get_yticklabels()] == ["x", "y"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("next letter", "previous letter")
    assert mesh.colorbar.ax.get_ylabel() == "how often"


def test_the_options_of_a_table_win_over_the_houses():
    mask = [[True, False], [False, False]]
    options = {"cmap": "Greys", "cbar_kws": {"label": "other"}, "vmax": 9, "mask": mask}
    (mesh,) = letter_table(np.ones((2, 2)), "xy", label="how often", **options).collections
    assert mesh.get_cmap().name == "Greys"
    assert mesh.colorbar.ax.get_ylabel() == "other"
    assert mesh.get_clim()[1] == 9
    assert mesh.get_array().mask.reshape(2, 2).tolist() == mask


def test_an_arrow_to_nowhere_is_refused():
    with pytest.raises(ValueError, match=r"arrows lead to \['z'\]"):
        draw_boxes({"a": (0, 0)}, [("a", "z")])


def test_each_layer_has_its_outline_and_its_note():
    generator = np.random.default_rng(0)
    layers = {"first": generator.normal(size=(50, 4)), "second": generator.normal(size=(50, 4)) / 9}
    ax = layer_histograms(layers, xlabel="x", note=lambda values: f"{values.std():.2f}")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"{k}: {v.std():.2f}" for k, v in enumerate(layers.values(), 1)]
    fractions = [patch.get_data().values for patch in ax.patches]
    assert all(0.97 < fraction.sum() <= 1 for fraction in fractions)
    assert fractions[1].max() > 3 * fractions[0].max()  # the narrow one is higher
    assert ax.get_yscale() == "linear"


def test_a_layer_without_a_note_is_named_by_its_number():
    ax = layer_histograms({"a": [1.0, 2.0, 4.0]}, xlabel="x", yscale="log")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1"]
    assert ax.get_yscale() == "log"


def test_update_ratios_are_smoothed_and_have_a_reference():
    ratios = {"a": [-2.0] * 30, "b": list(np.linspace(-4, -2, 30))}
    ax = ratio_curves(ratios, ["first", "second"], smooth=10)
    first, second, reference = ax.lines
    assert list(first.get_xdata()) == list(range(10, 31))
    assert np.allclose(first.get_ydata(), -2)
    assert second.get_ydata()[0] == pytest.approx(np.mean(ratios["b"][:10]))
    assert set(reference.get_ydata()) == {-3.0}


def test_fewer_steps_than_are_averaged_give_one_point_their_mean():
    line, _ = ratio_curves({"a": [-4.0, -3.0, -2.0]}, ["first"], smooth=20).lines
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([3], [pytest.approx(-3)])


def spelled(ax):
    """What `color_tokens` has written: a headline for each tokenizer, and its letters."""
    heads = [text.get_text() for text in ax.texts if text.get_ha() == "left"]
    return heads, "".join(text.get_text() for text in ax.texts if text.get_ha() == "center")


def test_each_tokenizer_shows_the_whole_text_in_one_box_a_token():
    ax = color_tokens({"words": [b"two", b" dogs"], "bytes": [b"d", b"o"]})
    assert spelled(ax) == (["words: 2 tokens", "bytes: 2 tokens"], "two·dogsdo")
    assert [patch.get_width() for patch in ax.patches] == [3, 5, 1, 1]
    assert [patch.get_x() for patch in ax.patches] == [0, 3, 0, 1]
    first, second = (patch.get_facecolor() for patch in ax.patches[:2])
    assert first != second


def test_part_of_a_character_and_a_missing_glyph_are_shown_as_bytes():
    ax = color_tokens({"": [b" \xe6\xbc", b"\xa2", "ü".encode(), "漢".encode()]})
    assert spelled(ax)[1] == "·e6bca2üe6bca2"


def test_a_token_that_does_not_fit_goes_to_the_next_line_and_a_long_one_is_broken():
    ax = color_tokens({"": [b"ab", b"cdef", b"g\n", b"h", b"ijklmnop"]}, columns=5)
    boxes = [(round(p.get_y() + 0.45), p.get_x(), p.get_width()) for p in ax.patches]
    assert boxes == [(1, 0, 2), (2, 0, 4), (3, 0, 2), (4, 0, 1), (5, 0, 5), (6, 0, 3)]
    assert spelled(ax)[1] == "abcdefg↵hijklmnop"


def test_nothing_to_colour_is_refused():
    with pytest.raises(ValueError, match="name at least one, with its tokens"):
        color_tokens({})
