"""The command `compare`: a reader's numbers beside the course's."""

import json

import pytest

from coursekit.__main__ import main

COMMITTED = {"loss": 2.0736, "count": 228146, "gap": 3e-12, "ratio": 0.5, "gone": 1.0}
HERE = {"loss": 2.0741, "count": 228146, "gap": 9e-11, "ratio": 0.9, "new": 7.0, "nan": None}


@pytest.fixture
def file(bare, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSEKIT_CLAIMS", str(tmp_path))
    text = json.dumps({"claims": COMMITTED, "samples": {}})
    (tmp_path / "02_net.json").write_text(text)
    claims = [
        {"name": name, "value": value, "held": name != "ratio", "notebook": "02_net"}
        for name, value in HERE.items()
    ]
    (tmp_path / "claims.json").write_text(json.dumps(claims))
    return tmp_path / "claims.json"


def test_what_differs_is_set_beside_the_course_and_its_band(file, capsys):
    assert main(["compare", str(file)]) == 1
    head, *rows, end = capsys.readouterr().out.splitlines()
    assert head.split("  ")[0] == "notebook"
    assert [row.split() for row in rows] == [
        ["02_net", "loss", "2.0736", "2.0741", "+0.0005", "within"],
        ["02_net", "ratio", "0.5", "0.9", "+0.4", "outside"],
        ["02_net", "new", "-", "7", "-", "within"],
    ]
    assert end == "6 compared: 3 differ, 1 of these lie outside their band"


def test_a_run_that_gives_the_same_says_so(file, capsys):
    claims = [one for one in json.loads(file.read_text()) if one["name"] in ("count", "gap")]
    file.write_text(json.dumps(claims))
    assert main(["compare", str(file)]) == 0
    assert capsys.readouterr().out == "2 compared: 0 differ, 0 of these lie outside their band\n"


@pytest.mark.parametrize("text", ["[]", "{}", None])
def test_without_claims_one_sentence_says_what_to_do(file, capsys, text):
    file.unlink() if text is None else file.write_text(text)
    assert main(["compare", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "run 'make course' first" in said
