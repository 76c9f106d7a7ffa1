"""Controls that redraw a picture."""

import ipywidgets
import pytest

from coursekit.notebook import widgets
from coursekit.notebook.widgets import play, type_text


@pytest.fixture
def built(monkeypatch):
    """Collect the sliders that are built, and let no window open."""
    built, interact = {}, ipywidgets.interact

    def record(redraw, **sliders):
        built.update(sliders)
        return interact(redraw, **sliders)

    monkeypatch.delenv("COURSEKIT_PLAIN", raising=False)
    monkeypatch.setattr(widgets.ipywidgets, "interact", record)
    monkeypatch.setattr(widgets.plt, "show", lambda: None)
    return built


def test_play_draws_at_the_middle_and_again_at_each_move(built):
    drawn = []
    play(lambda **values: drawn.append(values), alpha=[0.0, 0.1, 1.0], order=[1, 2])
    assert drawn == [{"alpha": 0.1, "order": 2}]
    built["alpha"].value = 1.0
    assert drawn[1:] == [{"alpha": 1.0, "order": 2}]


def test_play_builds_one_slider_for_each_keyword(built):
    play(lambda **values: None, alpha=[0.0, 0.1, 1.0], order=range(1, 4))
    assert {name: slider.options for name, slider in built.items()} == {
        "alpha": (0.0, 0.1, 1.0),
        "order": (1, 2, 3),
    }
    assert [slider.description for slider in built.values()] == ["alpha", "order"]


def test_without_a_reader_the_start_is_drawn_and_no_control_is_sent(built, monkeypatch):
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    drawn = []
    play(lambda **values: drawn.append(values), alpha=[0.0, 0.1, 1.0], order=[1, 2])
    assert drawn == [{"alpha": 0.1, "order": 2}]
    assert not built


def test_a_keyword_without_choices_is_refused(built):
    with pytest.raises(ValueError, match="no choices for order, speed: give each control"):
        play(lambda **values: None, alpha=[1], order=[], speed=())
    assert not built


def test_what_is_typed_is_drawn(built):
    drawn = []
    type_text(drawn.append, "dog")
    assert drawn == ["dog"]
    built["typed"].value = "dogs"
    assert drawn == ["dog", "dogs"]


def test_without_a_reader_the_given_text_is_drawn_and_no_field_is_sent(built, monkeypatch):
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    drawn = []
    type_text(drawn.append, "dog")
    assert drawn == ["dog"]
    assert not built
