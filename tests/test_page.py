"""What a lesson displays: the library's source, and figures."""

import inspect
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from coursekit.layers import attention
from coursekit.models import ngram
from coursekit.notebook import figure, page, setup, show


@pytest.fixture
def shown(monkeypatch):
    """Collect what is displayed."""
    shown = []
    monkeypatch.setattr(page, "display", lambda thing, **more: shown.append((thing, more)))
    return shown


@pytest.fixture
def begun(bare, shown, capsys):
    setup("07_test")
    capsys.readouterr()
    yield shown
    plt.close("all")


@pytest.mark.parametrize("thing", [ngram.smooth, ngram.Bigram])
def test_show_prints_the_source_as_it_stands_in_the_file(shown, thing):
    show(thing)
    title, fence, *source, end = shown[0][0].data.split("\n")
    assert title == f"`coursekit/models/ngram.py` · `{thing.__qualname__}`"  # and no line number
    assert (fence, end) == ("```python", "```")
    assert len(source) > 5
    assert "\n".join(source) in Path(ngram.__file__).read_text("utf-8")


@pytest.mark.parametrize("thing", [attention.allow_past, attention.MultiHeadAttention])
def test_show_leaves_out_examples_and_nothing_else(shown, thing):
    show(thing)
    source = inspect.getsource(thing).rstrip()
    assert "Example:" in source
    left = shown[0][0].data.split("\n", 2)[2].removesuffix("\n```")
    begin, *rest = source.split("\n\n    Example:\n")
    assert len(rest) == 1
    example, end = rest[0].split('    """\n', 1)
    assert all(line.startswith(" " * 8) for line in example.splitlines())
    assert left == f'{begin}\n    """\n{end}'


def test_show_starts_a_method_at_the_margin(shown):
    show(ngram.NGram.forward, ngram.smooth)
    assert len(shown) == 2
    assert "`NGram.forward`\n```python\ndef forward(self" in shown[0][0].data
    assert '\n    """Return' in shown[0][0].data


def draw():
    plt.plot([1, 3, 2], label="loss")
    plt.legend()


def test_a_figure_is_displayed_with_its_text_and_closed(begun):
    draw()
    figure("curve", alt="A line")
    (data, more), *rest = begun
    assert not rest
    assert data["image/png"].startswith(b"\x89PNG")
    assert data["text/plain"] == more["metadata"]["image/png"]["alt"] == "A line"
    assert not plt.get_fignums()


def test_without_a_folder_no_figure_is_written(begun, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    draw()
    figure("curve", alt="A line")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_figure_is_saved_as_the_same_bytes_each_time(begun, monkeypatch, tmp_path):
    saved = []
    for folder in ("first", "second"):
        monkeypatch.setenv("COURSEKIT_FIGURES", str(tmp_path / folder))
        setup("07_test")
        draw()
        figure("curve", alt="A line")
        saved.append({file.name: file.read_bytes() for file in (tmp_path / folder).iterdir()})
    assert sorted(saved[0]) == ["07_test-curve.png", "07_test-curve.svg"]
    assert saved[0] == saved[1]


def test_figures_whose_names_have_dots_are_kept_apart(begun, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSEKIT_FIGURES", str(tmp_path / "figures"))
    for name in ("rate-0.1", "rate-0.2"):
        draw()
        figure(name, alt="A line")
    assert len(list((tmp_path / "figures").iterdir())) == 4


@pytest.mark.parametrize("alt", ["", " \n"])
def test_a_figure_without_text_is_refused(begun, alt):
    draw()
    with pytest.raises(ValueError, match="'curve' has no text: describe in `alt` what it shows"):
        figure("curve", alt=alt)


def test_a_figure_not_drawn_is_refused(begun):
    with pytest.raises(ValueError, match="'curve': nothing is drawn; plot in the same cell"):
        figure("curve", alt="A line")


def test_a_cell_with_a_figure_may_be_run_again(begun):
    for _ in range(2):
        draw()
        figure("curve", alt="A line")
    assert len(begun) == 2


def test_where_figures_are_saved_two_of_one_name_are_refused(begun, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSEKIT_FIGURES", str(tmp_path / "figures"))
    draw()
    figure("curve", alt="A line")
    draw()
    with pytest.raises(ValueError, match="two figures are called 'curve': give each a name of its"):
        figure("curve", alt="A line")
    setup("07_test")
    figure("curve", alt="A line")
