"""A start, and claims: what was measured, held against the bands of a file."""

import json
import math
import random

import numpy as np
import pytest
import torch

from coursekit.fetch import store
from coursekit.notebook import ClaimError, Score, claim, claim_order, setup
from coursekit.notebook.bands import read_bands
from coursekit.notebook.session import session

KEYS = ["name", "value", "low", "high", "held", "notebook", "cell", "data", "headline", "why"]
BANDS = """
[loss]
band = [2.0, 3.0]
why = "five seeds"
unit = "nats"
data = ["real"]
headline = true

[at-least]
band = [2.5, inf]
why = "measured"

[at-most]
band = [-inf, 2.5]
why = "café"

[spared]
band = [2.0, 3.0]
why = "five seeds"
data = ["real", "spare"]
stand-in = [4.0, 5.0]

[not-spared]
band = [2.0, 3.0]
why = "five seeds"
data = ["real"]
stand-in = [4.0, 5.0]

[count]
band = [228146, 228146]
why = "counted"

[exact]
band = [2.07, 2.08]
why = "five seeds"
form = ".4f"

[trains]
margin = 0.3
why = "five seeds: 0.5"
data = ["spare"]
stand-in-margin = 0.1

[gap]
band = [-inf, 1e-6]
why = "rounding"

[two-sided-gap]
band = [-1e-9, 1e-9]
why = "rounding"

[small]
band = [1e-6, 1e-5]
why = "three trials"

[unread]
band = [0, 1]
why = "x"
data = ["far"]
"""


@pytest.fixture
def bands(monkeypatch, tmp_path):
    """Let the bands be those above."""
    (tmp_path / "bands").mkdir()
    (tmp_path / "bands" / "07_test.toml").write_text(BANDS, "utf-8")
    monkeypatch.setenv("COURSEKIT_CLAIMS", str(tmp_path / "bands"))


@pytest.fixture
def begun(bare, bands, capsys):
    """Begin a notebook in which two data sets were read, one from a stand-in."""
    setup("07_test")
    store._used.update(real="canonical", spare="stand-in")
    capsys.readouterr()


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


@pytest.mark.parametrize(
    ("measured", "line"),
    [
        ({"loss": 2.5}, "✓ loss 2.5 nats (five seeds)"),
        ({"loss": 2.0}, "✓ loss 2 nats (five seeds)"),
        ({"loss": 2.99999}, "✓ loss 3 nats (five seeds)"),
        ({"loss": torch.tensor(2.25, requires_grad=True)}, "✓ loss 2.25 nats (five seeds)"),
        ({"loss": torch.tensor([[2.25]])}, "✓ loss 2.25 nats (five seeds)"),
        ({"at_least": 123456.7}, "✓ at least 123,457 (measured)"),
        ({"at-most": 0.000123456}, "✓ at most 0.0001235 (café)"),
        ({"count": 228_146}, "✓ count 228,146 (counted)"),
        ({"exact": 2.07361}, "✓ exact 2.0736 (five seeds)"),
        ({"spared": 4.5}, "✓ spared 4.5 (stand-in data)"),
        ({"gap": 2.98e-8}, "✓ gap at most 1e-06 (rounding)"),
        ({"two_sided_gap": -3e-10}, "✓ two sided gap at most 1e-09 (rounding)"),
        ({"small": 2.5e-6}, "✓ small 2.5e-06 (three trials)"),
        ({"not_spared": 2.5}, "✓ not spared 2.5 (five seeds)"),
        ({"new_thing": 2.123456}, "new thing 2.123"),
    ],
)
def test_a_value_is_printed_in_one_line(begun, capsys, measured, line):
    claim(**measured)
    assert capsys.readouterr().out == f"{line}\n"


def test_several_values_are_claimed_at_once(begun, capsys):
    claim(loss=2.5, count=228_146)
    assert capsys.readouterr().out.count("✓") == 2
    assert list(session.claims) == ["loss", "count"]


OUTSIDE = [
    ({"loss": 3.5}, "loss 3.5 nats: 0.5 above 2 to 3 (five seeds)"),
    ({"loss": 1.75}, "loss 1.75 nats: 0.25 below 2 to 3 (five seeds)"),
    ({"at_least": 1.5}, "at least 1.5: 1 below at least 2.5 (measured)"),
    ({"at_most": 3.5}, "at most 3.5: 1 above at most 2.5 (café)"),
    ({"at_most": math.inf}, "at most inf: inf above at most 2.5"),
    ({"spared": 2.5}, "spared 2.5: 1.5 below 4 to 5"),
    ({"not_spared": 4.5}, "not spared 4.5: 1.5 above 2 to 3"),
    ({"count": 228_147}, "count 228,147: 1 above 228146 to 228146"),
    ({"loss": math.nan}, "loss is not a number (nan): look for 0 / 0"),
    ({"at_most": math.nan}, "at most is not a number (nan): look for 0 / 0"),
]


@pytest.mark.parametrize(("measured", "fault"), OUTSIDE)
def test_outside_its_band_a_readers_own_notebook_says_so_and_goes_on(
    begun, capsys, measured, fault
):
    claim(**measured)
    said = capsys.readouterr().out
    assert said.startswith(f"✗ {fault}")
    assert said.count("\n") == 1
    assert math.nan in measured.values() or "if you changed something" in said


@pytest.mark.parametrize(("measured", "fault"), OUTSIDE)
def test_outside_its_band_a_run_with_a_ledger_fails(ledger, capsys, measured, fault):
    with pytest.raises(ClaimError) as refusal:
        claim(**measured)
    assert str(refusal.value).startswith(fault)
    assert not capsys.readouterr().out
    assert [one["held"] for one in ledger()] == [False]


def test_with_a_ledger_a_value_without_a_band_is_refused(ledger):
    with pytest.raises(ValueError, match=r"^claim 'new-thing' has no band: add one to 07_test\.to"):
        claim(new_thing=2.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: claim(loss=torch.ones(2, 3)),
            r"'loss': its value has the shape \(2, 3\); claim one",
        ),
        (lambda: claim(unread=0.5), "rests on far, which was not read: .*so far: real, spare"),
        (lambda: claim(trains=0.5), "'trains': the file has a margin, which is for claim_order"),
        (
            lambda: claim_order(loss=(score(1.0), score(2.0))),
            "'loss': the file has a band, which is for claim$",
        ),
    ],
)
def test_a_claim_that_says_nothing_is_refused_in_one_sentence(begun, call, words):
    with pytest.raises(ValueError, match=words):
        call()
    assert not session.claims


def test_a_cell_may_be_run_again_and_its_claim_takes_the_place_of_the_first(ledger):
    claim(loss=2.0, at_most=0.0)
    claim(loss=2.5)
    assert [(one["name"], one["value"]) for one in ledger()] == [("loss", 2.5), ("at-most", 0.0)]
    setup("07_test")
    claim(at_most=1.0)
    assert [one["value"] for one in ledger()] == [1.0]


def test_the_ledger_holds_every_claim_also_one_that_failed(ledger):
    claim(loss=2.5)
    with pytest.raises(ClaimError):
        claim(at_most=math.inf)
    loss, rare = ledger()
    assert list(loss) == list(rare) == KEYS
    values = ["loss", 2.5, 2.0, 3.0, True, "07_test", None, {"real": "canonical"}, True]
    assert list(loss.values()) == [*values, "five seeds"]
    values = ["at-most", None, None, 2.5, False, "07_test", None, {}, False, "café"]
    assert list(rare.values()) == values


def test_without_a_folder_no_claim_is_written(begun, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    claim(loss=2.5)
    assert sorted(tmp_path.rglob("*")) == before


# Comparisons

TARGETS = torch.arange(12).view(3, 4)


def score(value, on=TARGETS, **conditions):
    return Score(value, on=on, **conditions)


def test_the_better_of_two_scores_leads_by_its_margin(ledger, capsys):
    claim_order(trains=(score(2.25), score(torch.tensor(2.5))))
    assert capsys.readouterr().out == "✓ trains better by 0.25 (stand-in data)\n"
    (kept,) = ledger()
    assert (kept["value"], kept["low"], kept["high"], kept["held"]) == (0.25, 0.1, None, True)


@pytest.mark.parametrize("pair", [(2.5, 2.25), (2.25, 2.3), (math.nan, 2.5)])
def test_exchanged_or_too_near_scores_fail(ledger, pair):
    with pytest.raises(ClaimError, match=r"^trains (better by|is not a number)"):
        claim_order(trains=tuple(map(score, pair)))


@pytest.mark.parametrize(
    ("other", "fault"),
    [
        (score(2.5, on=TARGETS + 1, context=3), "on different targets"),
        (score(2.5, on=TARGETS[:2], context=3), "on different targets"),
        (score(2.5, context=8), "with context 3 and 8"),
        (score(2.5), "with context 3 and None"),
        (score(2.5, context=3, steps=9), "with steps None and 9"),
    ],
)
def test_scores_measured_on_different_things_are_not_compared(begun, other, fault):
    with pytest.raises(ValueError, match=rf"'trains' compares scores {fault}.*measure both alike"):
        claim_order(trains=(score(2.0, context=3), other))
    assert not session.claims


# The file


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            "band = [3.0, 2.0]\nwhy = 'x'",
            r"^07_test.toml, \[a\]: nothing lies in \[3, 2\]: low com",
        ),
        ("band = [-inf, inf]\nwhy = 'x'", "open on both sides"),
        ("band = [0, nan]\nwhy = 'x'", "an end of its band is nan"),
        ("band = [nan, 0]\nwhy = 'x'", "an end of its band is nan"),
        ("band = [1]\nwhy = 'x'", r"\[1\] is no band: give \[low, high\]"),
        ("band = 1\nwhy = 'x'", "1 is no band"),
        ("why = 'x'", r"give a band = \[low, high\], or the margin of an order"),
        ("band = [0, 1]\nmargin = 1\nwhy = 'x'", "or the margin of an order"),
        ("band = [0, 1]", "say in `why` where its band comes from"),
        ("band = [0, 1]\nwhy = ' '", "say in `why`"),
        ("band = [0, 1]\nwhy = 'x'\nstand_inn = [1, 2]", "stand_inn is not known; there are"),
        ("band = [0, 1]\nwhy = 'x'\nstand-in = [2, 1]", r"nothing lies in \[2, 1\]"),
        ("band = [0, 1", "^07_test.toml is not TOML: "),
    ],
)
def test_a_bad_entry_is_named_in_one_sentence(bands, tmp_path, entry, words):
    (tmp_path / "bands/07_test.toml").write_text(f"[a]\n{entry}\n")
    with pytest.raises(ValueError, match=words):
        read_bands("07_test")


def test_a_notebook_without_a_file_has_no_bands(bands):
    assert read_bands("99_none") == {}
