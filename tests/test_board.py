"""The scoreboard, on committed values and samples made for it."""

import json
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from coursekit.notebook import keep_sample, scoreboard, setup
from coursekit.notebook.board import write_board
from coursekit.notebook.session import session
from tools.publish import boards_of, refresh_boards, shown_by
from tools.source import find_lessons

ROOT = Path(__file__).parents[1]

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


@pytest.mark.parametrize("lesson", find_lessons(ROOT), ids=lambda lesson: lesson.name)
def test_committed_boards_show_what_the_lessons_before_measured_last(lesson):
    for cell, text in boards_of(nbformat.read(lesson.notebook, 4), lesson.name):
        assert shown_by(cell) == text, "run `python -m tools build` on any lesson"


def test_a_lesson_built_anew_moves_its_row_in_the_others(kept, tmp_path):
    session.notebook = ""
    (tmp_path / "notebooks" / "src").mkdir(parents=True)
    (tmp_path / "notebooks" / "src" / "09_later.py").write_text("# %%\n1\n")
    cells = [
        v4.new_code_cell(source, metadata={"tags": [tag]}, outputs=[_displayed(shown)])
        for source, tag, shown in (
            ('scoreboard("names", own=False)', "scoreboard", "old"),
            ('print("no board")', "show", "as it was"),
        )
    ]
    path = tmp_path / "notebooks" / "09_later.ipynb"
    path.write_text(nbformat.writes(v4.new_notebook(cells=cells)), "utf-8")
    refresh_boards(tmp_path)
    board, other = nbformat.read(path, 4).cells
    assert shown_by(board) == write_board("names", "09_later", own=False)
    assert "| network | 2.100 |" in shown_by(board)
    assert "of a lesson to come" not in shown_by(board)
    assert shown_by(other) == "as it was"


def _displayed(text):
    return v4.new_output("display_data", data={"text/markdown": text})
