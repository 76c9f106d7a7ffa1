"""What `python -m tests.steady` compares from run to run."""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests import steady

FIRST = {"loss": "2.45", "speed-up": "3.1"}


@pytest.mark.parametrize(
    ("later", "other"),
    [
        (FIRST, []),
        (FIRST | {"speed-up": "7.9"}, []),  # a time
        (FIRST | {"loss": "2.46"}, ["loss: first 2.45, now 2.46"]),
        (FIRST | {"speed-up": "1 (missed)"}, ["speed-up: first 3.1, now 1 (missed)"]),
        ({"loss": "2.45"}, ["speed-up: first 3.1, now not claimed"]),
        (FIRST | {"new": "1"}, ["new: first not claimed, now 1"]),
    ],
)
def test_only_times_may_differ_and_nothing_may_be_missed(later, other):
    assert steady.compare(FIRST, later, {"speed-up"}) == other


def test_what_both_runs_missed_is_told():
    missed = {"loss": "9 (missed)"}
    assert steady.compare(missed, missed, set()) == ["loss: first 9 (missed), now 9 (missed)"]


def test_claims_are_read_to_the_digits_that_are_printed(tmp_path):
    values = {"a": (1.483854345100477, True), "b": (1.4838543451004775, True), "c": (3.0, False)}
    claims = [{"name": name, "value": v, "held": held} for name, (v, held) in values.items()]
    (tmp_path / "claims.json").write_text(json.dumps(claims))
    read = steady.read_claims(tmp_path / "claims.json")
    assert read == {"a": "1.48385", "b": "1.48385", "c": "3 (missed)"}


def test_times_are_what_a_cell_tagged_machine_claims(tmp_path):
    cells = [new_code_cell("", execution_count=count) for count in (1, 2, 3)]
    for cell in cells[:2]:
        cell.metadata["tags"] = ["machine"]
    claims = {"speed-up": 1, "share": 2, "loss": 3, "elsewhere": None}
    made = [{"name": name, "cell": cell} for name, cell in claims.items()]
    notebook = new_notebook(cells=cells, metadata={"coursekit": {"claims": made}})
    nbformat.write(notebook, tmp_path / "a.ipynb")
    assert steady.find_timed([tmp_path / "a.ipynb"]) == {"speed-up", "share"}


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """A project whose notebook tests give the losses listed; None is a red run."""
    losses, orders = [], []

    def run_once(notebooks, *, backwards):
        orders.append(backwards)
        loss = losses.pop(0)
        claims = [{"name": "loss", "value": loss, "held": True}]
        (tmp_path / "build/test/claims.json").write_text(json.dumps(claims))
        return loss is not None, "what pytest says"

    (tmp_path / "build/test").mkdir(parents=True)
    monkeypatch.setattr(steady, "ROOT", tmp_path)
    monkeypatch.setattr(steady, "KEPT", tmp_path / "build/steady")
    monkeypatch.setattr(steady, "run_once", run_once)
    return losses, orders


def test_orders_alternate_and_a_later_call_goes_on(runs):
    losses, orders = runs
    losses += [2.5] * 4
    assert (steady.main(["3"]), steady.main(["1"])) == (0, 0)
    assert orders == [False, True, False, True]


def test_the_first_run_that_is_red_or_claims_something_else_ends_it(runs, capsys):
    losses, orders = runs
    losses += [2.5, 2.6, None]
    assert steady.main(["9"]) == 1
    assert "loss: first 2.5, now 2.6" in capsys.readouterr().out
    assert steady.main(["9"]) == 1
    assert len(orders) == 3
