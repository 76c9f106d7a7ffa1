"""The scoreboard, on committed values and samples made for it."""

import json

import pytest

from coursekit.notebook import keep_sample, scoreboard, setup
from coursekit.notebook.session import session

BOARDS = """
[names]
unit = "nats a letter"
sample = "five names"
form = ".3f"
rows = [
    { model = "pairs, counted", notebook = "01_pairs", claim = "count-nll", sample = "pairs" },
    { model = "network", notebook = "02_net", claim = "net-nll", sample = "net" },
    { model = "network, longer", notebook = "02_net", claim = "long-nll" },
    { model = "not claimed", notebook = "02_net", claim = "none" },
    { model = "of a lesson to come", notebook = "09_later", claim = "later" },
]
"""


@pytest.fixture
def kept(bare, monkeypatch, tmp_path):
    """Three committed lessons, the second of them running; return what is displayed."""
    monkeypatch.setenv("COURSEKIT_CLAIMS", str(tmp_path))
    (tmp_path / "boards.toml").write_text(BOARDS)
    pairs = {"claims": {"count-nll": 2.45401}, "samples": {"pairs": ["mor", "ax"]}}
    (tmp_path / "01_pairs.json").write_text(json.dumps(pairs))
    net = {"claims": {"net-nll": 2.1, "long-nll": 2.0}, "samples": {}}
    (tmp_path / "02_net.json").write_text(json.dumps(net))
    (tmp_path / "09_later.json").write_text(json.dumps({"claims": {"later": 1.0}, "samples": {}}))
    shown = []
    monkeypatch.setattr(
        "coursekit.notebook.board.display", lambda thing: shown.append(thing.data.splitlines())
    )
    setup("02_net")
    return shown


def test_a_board_has_a_row_for_each_model_of_the_lessons_so_far(kept):
    scoreboard("names")
    assert kept == [
        [
            "| model | nats a letter | five names |",
            "|:--|--:|:--|",
            "| pairs, counted | 2.454 | mor · ax |",
            "| **network** | 2.100 |  |",
            "| **network, longer** | 2.000 |  |",
        ]
    ]


def test_an_unknown_board_is_refused_and_the_boards_are_listed(kept):
    with pytest.raises(ValueError, match="no board 'words': there are names"):
        scoreboard("words")


def test_a_sample_is_kept_in_the_ledger(kept, monkeypatch, tmp_path):
    keep_sample(not_filed=["a"])
    monkeypatch.setenv("COURSEKIT_LEDGER", str(tmp_path / "ledger"))
    keep_sample(net=["émma"], longer_net=("a", "b"))
    kept_now = json.loads((tmp_path / "ledger/samples/02_net.json").read_text("utf-8"))
    assert kept_now == {"not-filed": ["a"], "net": ["émma"], "longer-net": ["a", "b"]}
    setup("02_net")
    assert session.samples == {}


@pytest.mark.parametrize("sample", ["emma", [], [1, 2]])
def test_a_sample_that_is_no_list_of_texts_is_refused(kept, sample):
    with pytest.raises(ValueError, match="sample 'net': give a list of texts"):
        keep_sample(net=sample)


def test_a_board_before_the_lesson_lacks_its_own_models(kept):
    scoreboard("names", own=False)
    assert kept[0][2:] == ["| pairs, counted | 2.454 | mor · ax |"]


def test_a_board_shows_what_the_running_lesson_has_measured_and_drawn(kept):
    session.claims["net-nll"] = {"value": 1.9}
    keep_sample(net=["lio"])
    scoreboard("names")
    assert kept[0][3:] == ["| **network** | 1.900 | lio |", "| **network, longer** | 2.000 |  |"]
