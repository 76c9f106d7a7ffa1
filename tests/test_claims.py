"""Setup, the library's source, claims and figures."""

import inspect
import json
import math
import random
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from coursekit.fetch import store
from coursekit.layers import attention
from coursekit.models import ngram
from coursekit.notebook import ClaimError, claim, figure, setup, show
from coursekit.notebook import claims as notebook

KEYS = ["name", "value", "low", "high", "held", "notebook", "cell", "data", "headline", "why"]


@pytest.fixture
def shown(monkeypatch):
    """Collect what is displayed."""
    shown = []
    monkeypatch.setattr(notebook, "display", lambda thing, **more: shown.append((thing, more)))
    return shown


@pytest.fixture
def begun(bare, shown, capsys):
    """Begin a notebook in which two data sets were read, one from a stand-in."""
    setup("07_test")
    store._used.update(real="canonical", spare="stand-in")
    capsys.readouterr()
    yield shown
    plt.close("all")


@pytest.fixture
def ledger(begun, monkeypatch, tmp_path):
    """Turn the ledger on; return a function that reads it strictly."""
    monkeypatch.setenv("COURSEKIT_LEDGER", str(tmp_path / "new" / "ledger"))

    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    def read():
        text = (tmp_path / "new/ledger/07_test.json").read_text("utf-8")
        return json.loads(text, parse_constant=refuse)

    return read


def test_two_setups_draw_the_same_numbers(bare):
    def draw():
        setup("07_test")
        return random.random(), np.random.rand(), torch.rand(3).tolist()  # noqa: NPY002

    assert draw() == draw()


def test_another_seed_is_another_draw(bare):
    drawn = []
    for seed in (3, 4):
        setup("07_test", seed=seed)
        drawn.append((random.random(), np.random.rand(), torch.rand(1).item()))  # noqa: NPY002
    assert all(one != other for one, other in zip(*drawn, strict=True))


def test_a_device_that_is_named_is_the_one_that_setup_returns(bare, monkeypatch, capsys):
    monkeypatch.setenv("COURSEKIT_DEVICE", "meta")
    assert setup("07_test", device="cpu") == torch.device("cpu")
    assert "device cpu" in capsys.readouterr().out


def test_setup_says_what_runs_where(bare, capsys):
    assert setup("07_test", seed=3) == torch.device("cpu")
    said = capsys.readouterr().out
    assert f"torch {torch.__version__.split('+')[0]}" in said
    assert "notebook 07_test · seed 3 · device cpu" in said


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


@pytest.mark.parametrize(
    ("band", "words"),
    [
        ({"low": 2.0, "high": 3.0}, "in [2, 3]"),
        ({"low": 2.5}, "at least 2.5"),
        ({"high": 2.5}, "at most 2.5"),
    ],
)
def test_a_value_in_its_band_is_printed(begun, capsys, band, words):
    claim("loss", 2.5, **band, why="measured")
    assert capsys.readouterr().out == f"✓ loss = 2.5 is {words}\n"


def test_a_loss_that_still_has_its_graph_can_be_claimed(begun, capsys):
    claim("loss", torch.tensor(2.5, requires_grad=True), 2.0, 3.0, why="measured")
    assert capsys.readouterr().out == "✓ loss = 2.5 is in [2, 3]\n"


@pytest.mark.parametrize(
    ("value", "band", "words"),
    [
        (3.5, {"low": 2.0, "high": 3.0}, r"loss = 3\.5 is not in \[2, 3\] \(five seeds\)"),
        (1.5, {"low": 2.0, "high": 3.0}, r"loss = 1\.5 is not in \[2, 3\] \(five seeds\)"),
        (1.5, {"low": 2.0}, r"loss = 1\.5 is not at least 2 \(five seeds\)"),
        (3.5, {"high": 3.0}, r"loss = 3\.5 is not at most 3 \(five seeds\)"),
        (math.inf, {"high": 3.0}, r"loss = inf is not at most 3 \(five seeds\)"),
        (math.nan, {"low": 2.0, "high": 3.0}, r"loss is not a number \(nan\): look for 0 / 0"),
        (math.nan, {"high": 3.0}, r"loss is not a number \(nan\): look for 0 / 0"),
    ],
)
def test_a_value_outside_its_band_fails(begun, capsys, value, band, words):
    with pytest.raises(ClaimError, match=words):
        claim("loss", value, **band, why="five seeds")
    assert not capsys.readouterr().out


def test_a_claim_that_fails_says_what_to_do(begun):
    with pytest.raises(
        ClaimError, match=r"if you changed something, .*; if not, restart the kernel"
    ):
        claim("loss", 3.5, 2.0, 3.0, why="five seeds")


def test_a_cell_may_be_run_again_and_its_claim_takes_the_place_of_the_first(begun, capsys):
    claim("loss", 1.0, high=2.0, why="")
    claim("other", 0.0, high=2.0, why="")
    with pytest.raises(ClaimError):  # after a change, say
        claim("loss", 9.0, high=2.0, why="")
    claim("loss", 1.5, high=2.0, why="")
    kept = [(one["name"], one["value"]) for one in notebook._session.claims.values()]
    assert kept == [("loss", 1.5), ("other", 0.0)]
    assert capsys.readouterr().out.endswith("✓ loss = 1.5 is at most 2\n")


def test_with_a_ledger_two_claims_of_one_name_are_refused(ledger):
    claim("loss", 1.0, high=2.0, why="")
    with pytest.raises(ValueError, match="two claims are called 'loss': give each a name of its"):
        claim("loss", 1.5, high=2.0, why="")
    assert [one["value"] for one in ledger()] == [1.0]
    setup("07_test")
    claim("loss", 1.5, high=2.0, why="")
    assert [one["value"] for one in ledger()] == [1.5]


NAN = math.nan


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "claim 'loss' has no band and can't fail: give low, high or both"),
        ({"low": 3.0, "high": 2.0}, r"claim 'loss': nothing lies in \[3, 2\]: low comes first"),
        ({"low": NAN}, "claim 'loss': an end of its band is nan; give numbers"),
        ({"low": 0.0, "high": NAN}, "claim 'loss': an end of its band is nan; give numbers"),
        ({"low": 0.0, "stand_in": (3.0, 2.0)}, r"nothing lies in \[3, 2\]: low comes first"),
        ({"low": 0.0, "data": "far"}, r"rests on far, which was not read: .*so far: real, spare\)"),
        ({"low": 0.0, "data": ["real", "a", "b"]}, "rests on a, b, which was not read: load it"),
        (
            {"low": 0.0, "value": torch.ones(2, 3)},
            r"has the shape \(2, 3\); claim one number, such",
        ),
    ],
)
def test_a_claim_that_says_nothing_is_refused_in_one_sentence(begun, given, words):
    with pytest.raises(ValueError, match=words) as refusal:
        claim("loss", **({"value": 2.5, "why": ""} | given))
    assert str(refusal.value).count("loss") == 1
    assert not notebook._session.claims


@pytest.mark.parametrize(("data", "holds"), [(["real"], False), (["real", "spare"], True)])
def test_the_stand_in_band_holds_only_for_a_stand_in(begun, data, holds):
    arguments = {"low": 2.0, "high": 3.0, "why": "", "data": data, "stand_in": (4.0, 5.0)}
    claim("own", 4.5 if holds else 2.5, **arguments)
    with pytest.raises(ClaimError):
        claim("other", 2.5 if holds else 4.5, **arguments)


def test_the_ledger_holds_every_claim_also_one_that_failed(ledger):
    claim("loss", 2.5, 2.0, 3.0, why="five seeds", data=["real"], headline=True)
    with pytest.raises(ClaimError):
        claim("rare", math.inf, high=1.0, why="café")
    loss, rare = ledger()
    assert list(loss) == list(rare) == KEYS
    values = ["loss", 2.5, 2.0, 3.0, True, "07_test", None, {"real": "canonical"}, True]
    assert list(loss.values()) == [*values, "five seeds"]
    values = ["rare", None, None, 1.0, False, "07_test", None, {}, False, "café"]
    assert list(rare.values()) == values


def test_without_a_folder_no_claim_is_written(begun, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    claim("loss", 2.5, 2.0, 3.0, why="")
    assert sorted(tmp_path.rglob("*")) == before


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
