"""Controls that redraw a picture while the reader moves them. They need a running kernel."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt

from coursekit import settings


def play(draw: Callable[..., None], **choices: Sequence[Any]) -> None:
    """Show one slider for each keyword, and what `draw` draws at the values it stands on.

    The slider starts in the middle of its choices. Put a still picture before it: where no
    kernel runs, and on a printed page, there is nothing to see here. A run without a reader
    (COURSEKIT_PLAIN) draws the start once and sends no controls.

    Raises:
        ValueError: if a keyword has no choices.
    """
    empty = [name for name, values in choices.items() if not len(values)]
    if empty:
        raise ValueError(f"no choices for {', '.join(empty)}: give each control its values")
    sliders = {
        name: ipywidgets.SelectionSlider(
            options=list(values), value=values[len(values) // 2], description=name
        )
        for name, values in choices.items()
    }

    def redraw(**values: Any) -> None:
        draw(**values)
        plt.show()

    if settings.is_plain():
        redraw(**{name: slider.value for name, slider in sliders.items()})
    else:
        ipywidgets.interact(redraw, **sliders)


def type_text(draw: Callable[[str], None], text: str) -> None:
    """Show a field that holds `text`, and what `draw` draws of it: anew when the reader types.

    As with `play`, put a still picture before it; a run without a reader (COURSEKIT_PLAIN) draws
    once and sends no field.
    """
    field = ipywidgets.Textarea(value=text, layout={"width": "90%", "height": "5em"})

    def redraw(typed: str) -> None:
        draw(typed)
        plt.show()

    if settings.is_plain():
        redraw(text)
    else:
        ipywidgets.interact(redraw, typed=field)
