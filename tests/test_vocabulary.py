"""Characters and words become ids and come back."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coursekit.data import GEOMETRY, SENTENCES
from coursekit.tokens.bpe import BPE
from coursekit.tokens.vocabulary import Vocabulary
from coursekit.tokens.words import Lexicon, Special, split_at_spaces

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


@pytest.mark.parametrize("wrong", [-1, 3, True, 1.0])
def test_an_id_outside_the_vocabulary_is_refused(wrong):
    with pytest.raises(ValueError, match=f"id {wrong} is not a whole number in 0 … 2"):
        Vocabulary("abc").decode(iter([0, wrong]))


@given(st.text())
def test_a_lexicon_gives_back_the_text_whose_characters_it_has(text):
    lexicon = Lexicon.of(text)
    assert lexicon.decode(lexicon.encode(text)) == text


@given(st.text(alphabet="ab ."))
def test_words_cut_at_spaces_are_joined_to_the_same_text(text):
    lexicon = Lexicon.of(text, split_at_spaces, " ")
    assert lexicon.decode(lexicon.encode(text)) == text


@given(st.text(), st.text())
def test_no_text_spells_a_special_token(seen, text):
    for name in ("BOS", "<EOS>", "[PAD]", "<|UNK|>"):
        ids = Lexicon.of(seen).encode(text + name)
        assert not {Special.BOS, Special.EOS, Special.PAD} & set(ids)


def test_the_first_piece_comes_after_the_special_tokens():
    lexicon = Lexicon.of("b a b", split_at_spaces, " ")
    assert len(set(Special)) == 4
    assert lexicon.encode("a b") == [4, 5]
    assert len(lexicon) == 6


def test_an_unknown_piece_is_unk_and_decodes_to_the_replacement_character():
    lexicon = Lexicon.of("the problem", split_at_spaces, " ")
    assert lexicon.encode("the  problem, problem") == [5, 3, 3, 4]
    assert lexicon.decode([5, 3, 4]) == "the � problem"


def test_decoding_leaves_out_what_stands_for_no_text():
    lexicon = Lexicon("ab")
    assert lexicon.decode([Special.BOS, 4, 5, Special.EOS, Special.PAD]) == "ab"


@pytest.mark.parametrize("wrong", [-1, 6, True, 4.0])
def test_an_id_outside_a_lexicon_is_refused(wrong):
    with pytest.raises(ValueError, match=f"id {wrong} is not a whole number in 0 … 5"):
        Lexicon("ab").decode(iter([4, wrong]))


def test_a_piece_that_occurs_twice_is_refused():
    with pytest.raises(ValueError, match=r"name each once, or use Lexicon\.of"):
        Lexicon(["a", "b", "a"])


def test_a_lexicon_is_the_same_in_every_process():
    code = (
        "from coursekit.tokens.words import Lexicon; "
        "print(Lexicon.of('to be or not', str.split, ' ').pieces)"
    )
    printed = {
        subprocess.check_output(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, cwd=ROOT, text=True
        )
        for seed in ("1", "2", "3")
    }
    assert printed == {"('be', 'not', 'or', 'to')\n"}


def test_our_texts_are_plain_and_of_the_size_they_say():
    assert len(SENTENCES) == 10
    assert len(set("".join(SENTENCES))) == 35
    assert all(sentence.isascii() and sentence.endswith(".") for sentence in SENTENCES)
    assert GEOMETRY.isascii()
    assert GEOMETRY.count("\n\n") == 1
    assert len(GEOMETRY) == pytest.approx(950, abs=10)


def test_ids_may_come_straight_from_tensors_and_arrays():
    letters, pieces = Vocabulary("abc"), Lexicon(["ab", "c"])
    byte_pairs = BPE({bytes([i]): i for i in range(256)} | {b"ab": 256})
    for ids in (torch.tensor([2, 0]), np.array([2, 0]), [np.int64(2), torch.tensor(0)]):
        assert letters.decode(ids) == "ca"
    assert pieces.decode(torch.tensor([4, 5])) == "abc"
    assert byte_pairs.decode(torch.tensor([256, 99])) == "abc"
    for decode in (letters.decode, pieces.decode, byte_pairs.decode):
        with pytest.raises(ValueError, match="whole number"):
            decode(torch.tensor([1.0]))
