"""Characters become ids and come back."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coursekit.tokens.vocabulary import Vocabulary

ROOT = Path(__file__).parent.parent


@given(st.text(min_size=1))
def test_decoding_undoes_encoding(text):
    vocabulary = Vocabulary.of(text)
    assert vocabulary.decode(vocabulary.encode(text)) == text


@given(st.text(min_size=1))
def test_ids_follow_the_order_of_characters(text):
    vocabulary = Vocabulary.of(text)
    in_order = "".join(sorted(set(text)))
    assert vocabulary.encode(in_order) == list(range(len(vocabulary)))


def test_the_order_given_is_the_order_of_ids():
    assert Vocabulary("cab").encode("abc") == [1, 2, 0]


def test_ids_are_the_same_in_every_process():
    code = "from coursekit.tokens.vocabulary import Vocabulary; print(Vocabulary.of('zebra'))"
    printed = {
        subprocess.check_output(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, cwd=ROOT, text=True
        )
        for seed in ("1", "2", "3")
    }
    assert printed == {"Vocabulary('aberz')\n"}


def test_equal_characters_make_equal_vocabularies():
    assert Vocabulary("ab") == Vocabulary.of("bab")
    assert hash(Vocabulary("ab")) == hash(Vocabulary.of("bab"))
    assert Vocabulary("ab") != Vocabulary("ba")
    assert Vocabulary("ab") != "ab"


def test_the_printed_form_makes_the_same_vocabulary_again():
    vocabulary = Vocabulary(".'\n")
    assert eval(repr(vocabulary)) == vocabulary


@pytest.mark.parametrize("characters", ["", "aba"])
def test_no_or_repeated_characters_are_refused(characters):
    with pytest.raises(ValueError, match=r"name each character once, or use Vocabulary\.of"):
        Vocabulary(characters)


def test_an_unknown_character_is_refused_by_name():
    with pytest.raises(ValueError, match=r"'é' is not one of 'ab': drop it from the text"):
        Vocabulary("ab").encode("abé")


@pytest.mark.parametrize("wrong", [-1, 3])
def test_an_id_outside_the_vocabulary_is_refused(wrong):
    with pytest.raises(ValueError, match=f"id {wrong} is not in 0 … 2"):
        Vocabulary("abc").decode([0, wrong])
