"""The commands `doctor` and `data`: what works, what doesn't, and what to do about it."""

import hashlib
import os
import sys
from dataclasses import replace

import pytest
import torch

from coursekit.__main__ import main
from coursekit.commands import doctor
from coursekit.data import DATASETS
from coursekit.data.vocabularies import GPT2_IDS, GPT2_MERGES
from coursekit.device import compare_with_cpu
from coursekit.fetch import download as module
from coursekit.fetch import store
from tests.server import CONTENT, Server


def findings():
    return {found.topic: found for found in doctor.examine()}


def test_it_looks_at_all_that_a_notebook_needs(bare):
    found = findings()
    topics = ["Python", "packages", "torch", "device", "cache", "data", "vocabularies"]
    assert list(found) == topics
    assert not any(one.hinders for one in found.values())
    assert torch.__version__ in found["torch"].says
    assert "stand-in: names, shakespeare" in found["data"].says
    assert found["data"].remedy.endswith("run 'python -m coursekit data --fetch'")


@pytest.mark.parametrize(
    ("lacking", "remedy"),
    [
        (["digits", "sp500"], "run 'pip install arch scikit-learn'"),
        (["names"], "run 'python -m coursekit data --fetch'"),
        (["digits", "etth1"], "run 'python -m coursekit data --fetch' and run 'pip install sciki"),
        ([], ""),
    ],
)
@pytest.mark.parametrize("instead", ["missing", "stand-in"])
def test_data_out_of_a_package_come_with_it_and_others_by_a_download(
    bare, monkeypatch, instead, lacking, remedy
):
    monkeypatch.delenv("COURSEKIT_OFFLINE")
    by_name = {id(one): name for name, one in DATASETS.items()}
    found = {True: instead, False: "canonical"}
    monkeypatch.setattr(doctor, "kind", lambda one: found[by_name[id(one)] in lacking])
    said = findings()["data"].remedy
    assert said.startswith(remedy)
    assert bool(said) == bool(lacking)


@pytest.mark.parametrize(("name", "bound"), [("no-such-package", ""), ("numpy", ">=99")])
def test_a_package_that_is_missing_or_too_old_is_named_with_the_remedy(
    bare, monkeypatch, capsys, name, bound
):
    needs = [f"{name}{bound}", "torch", "unheard-of; extra == 'offline'"]
    monkeypatch.setattr(doctor, "requires", lambda _: needs)
    assert main(["doctor"]) == 1
    said = f"✗ packages    missing or too old: {name} → run 'pip install \"{name}{bound}\"'\n"
    assert said in capsys.readouterr().out


def test_without_torch_the_rest_is_still_examined(bare, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    found = findings()
    assert found["torch"].hinders
    assert found["torch"].says.startswith("can't be imported: ")
    assert {"cache", "data", "vocabularies"} <= found.keys()


def test_offline_the_remedy_begins_with_that(bare, capsys):
    remedy = "unset COURSEKIT_OFFLINE and run 'python -m coursekit data --fetch'"
    assert findings()["data"].remedy == remedy
    assert main(["data", "--fetch"]) == 2
    assert "COURSEKIT_OFFLINE is set, so nothing is downloaded: unset" in capsys.readouterr().err


def test_a_device_that_is_not_there_is_said(bare, monkeypatch):
    monkeypatch.setenv("COURSEKIT_DEVICE", "nonsense")
    found = findings()["device"]
    assert found.hinders
    assert "nonsense" in found.says
    assert "unset COURSEKIT_DEVICE" in found.remedy


def test_a_device_that_computes_something_else_is_said(bare, monkeypatch):
    monkeypatch.setattr("coursekit.device.pick_device", lambda: torch.device("meta"))
    monkeypatch.setattr("coursekit.device.compare_with_cpu", lambda device: 0.3)
    found = findings()["device"]
    assert found.hinders
    assert "differ from the CPU's by at most 3.0e-01" in found.says


def test_the_cpu_agrees_with_itself_and_a_wrong_device_does_not(monkeypatch):
    assert compare_with_cpu("cpu") == 0
    real, calls = torch.nn.functional.layer_norm, []

    def drift(x, shape):
        calls.append(x)
        return real(x, shape) * (1 + 0.01 * (len(calls) == 2))

    monkeypatch.setattr(torch.nn.functional, "layer_norm", drift)
    assert compare_with_cpu("cpu") > 5e-3


def test_a_data_folder_that_is_missing_is_said(bare, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSEKIT_DATA", str(tmp_path / "nowhere"))
    found = findings()["data"]
    assert found.hinders
    assert "nowhere is not a folder: correct it, or unset it" in found.says


def test_a_cache_that_cannot_be_written_is_said(bare, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(doctor, "cache_folder", lambda: tmp_path / "file")
    found = findings()["cache"]
    assert "can't be written to (File exists)" in found.says
    assert found.remedy == "set COURSEKIT_CACHE to a folder of yours"


def test_every_data_set_is_listed_with_source_size_and_licence(bare, capsys):
    assert main(["data"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["data", "set", "now", "from", "cache", "size", "licence"]
    assert [row.split()[0] for row in rows] == list(DATASETS)
    assert all(" MB  " in row and not row.endswith("MB") for row in rows)
    assert "stand-in" in rows[0]
    assert "nowhere" in next(row for row in rows if row.startswith("etth1"))


def test_what_the_cache_holds_is_listed(bare, monkeypatch):
    def listed(name):
        head, *rows = doctor.list_datasets()
        return next(row for row in rows if row[0] == name)[head.index("cache")]

    own = replace(DATASETS["names"], sha256=hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(doctor, "DATASETS", DATASETS | {"names": own})
    assert (listed("names"), listed("gpt4"), listed("digits")) == ("nothing", "nothing", "–")
    (bare / "names.txt").write_bytes(CONTENT)
    assert listed("names") == "verified"
    (bare / "names.txt").write_bytes(CONTENT[1:])
    assert listed("names") == "damaged"
    (bare / DATASETS["gpt4"].address_key).write_bytes(b"")
    assert listed("gpt4") == "damaged"


def test_gpt2_counts_as_one_data_set_of_two_files(bare, monkeypatch):
    ids, merges = b"the ids", b"the merges"
    companion = replace(
        GPT2_IDS, package="none_such", size=1_000_000, sha256=hashlib.sha256(ids).hexdigest()
    )
    both = replace(GPT2_MERGES, package="none_such", size=700_000, companion=companion)
    both = replace(both, sha256=hashlib.sha256(merges).hexdigest())
    monkeypatch.setattr(doctor, "DATASETS", {"gpt2": both})
    _, row = doctor.list_datasets()
    assert row == ["gpt2", "stand-in", "facts recorded here", "nothing", "1.7 MB", "MIT"]
    (bare / both.address_key).write_bytes(merges)
    _, row = doctor.list_datasets()
    assert row[1:4] == ["stand-in", "facts recorded here", "in part"]
    (bare / companion.address_key).write_bytes(ids)
    _, row = doctor.list_datasets()
    assert row[1:4] == ["canonical", "cache", "verified"]
    (bare / companion.address_key).write_bytes(ids[1:])
    _, row = doctor.list_datasets()
    assert row[1:4] == ["stand-in", "facts recorded here", "damaged"]


@pytest.mark.parametrize(("is_clone", "says"), [(True, "missing"), (False, "a notebook needs")])
def test_what_runs_the_course_is_wanted_in_a_clone_only(
    bare, monkeypatch, tmp_path, is_clone, says
):
    if is_clone:
        (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(doctor.coursekit, "__file__", str(tmp_path / "coursekit/__init__.py"))
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    found = findings()["packages"]
    assert found.says.endswith(says)
    assert bool(found.remedy) == is_clone


def test_what_can_be_had_is_fetched_and_the_rest_said(bare, monkeypatch, capsys):
    server = Server()
    monkeypatch.delenv("COURSEKIT_OFFLINE")
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    monkeypatch.setenv("COURSEKIT_CACHE", str(bare))
    monkeypatch.setenv("COURSEKIT_MIRROR", server.address.removesuffix("/names.txt"))
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.0)
    own = replace(DATASETS["names"], sha256=hashlib.sha256(CONTENT).hexdigest())
    few = {"names": own, "shakespeare": DATASETS["shakespeare"]}
    monkeypatch.setattr(doctor, "DATASETS", few)
    assert main(["data"]) == 0
    assert not server.asked
    assert main(["data", "--fetch"]) == 1
    out, err = capsys.readouterr()
    assert "names        canonical" in out
    assert (bare / "names.txt").read_bytes() == CONTENT
    assert "shakespeare was not downloaded: 127.0.0.1" in err
    assert "sends another tinyshakespeare.txt than the canonical one" in err
    assert store.provenance() == {}
    server.close()


def test_the_doctor_looks_and_fetches_nothing(bare, monkeypatch):
    asked = []
    monkeypatch.delenv("COURSEKIT_OFFLINE")
    monkeypatch.setattr(store, "download", lambda address, *_: asked.append(address))
    before = dict(os.environ)
    findings()
    doctor.list_datasets()
    assert (asked, store.problems()) == ([], {})
    assert dict(os.environ) == before
