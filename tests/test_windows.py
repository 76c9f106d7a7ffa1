"""Windows over sequences and over words."""

import jaxtyping
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coursekit.data.windows import slide_windows, word_windows
from coursekit.tokens.vocabulary import Vocabulary

LETTERS = Vocabulary(".abc")
WORDS = st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=5)
LENGTHS = st.integers(1, 5)


def test_shapes_in_signatures_are_verified():
    with pytest.raises(jaxtyping.TypeCheckError):
        slide_windows(torch.zeros(3, 4, dtype=torch.long), 2)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.data())
def test_each_window_is_a_run_of_neighbours(tokens, data):
    length = data.draw(st.integers(1, len(tokens)))
    runs = [tokens[i : i + length] for i in range(len(tokens) - length + 1)]
    assert slide_windows(torch.tensor(tokens), length).tolist() == runs


@pytest.mark.parametrize("length", [0, 4])
def test_a_window_longer_than_the_sequence_or_empty_is_refused(length):
    with pytest.raises(ValueError, match=f"length={length} must be between 1 and the 3 tokens"):
        slide_windows(torch.arange(3), length)


@given(WORDS, LENGTHS)
def test_word_windows_are_those_of_each_word_padded_alone(words, length):
    expected = []
    for word in words:
        padded = "." * (length - 1) + word + "."
        expected += [padded[i : i + length] for i in range(len(word) + 1)]
    windows = word_windows(words, LETTERS, length).tolist()
    assert [LETTERS.decode(window) for window in windows] == expected


@given(WORDS, LENGTHS)
def test_every_letter_and_every_end_is_a_target_once(words, length):
    targets = word_windows(words, LETTERS, length)[:, -1].tolist()
    assert LETTERS.decode(targets) == "".join(f"{word}." for word in words)


@pytest.mark.parametrize("length", [2, 3, 4])
def test_no_window_reaches_into_the_next_word(length):
    both = word_windows(["aa", "bbb"], LETTERS, length).tolist()
    assert not any({1, 2} <= set(window) for window in both)


def test_words_may_come_from_a_generator():
    words = ["ab", "c"]
    once = word_windows((word for word in words), LETTERS, 3)
    assert once.equal(word_windows(words, LETTERS, 3))


def test_the_boundary_is_whichever_character_has_id_0():
    assert word_windows(["a."], Vocabulary("|.a"), 2).tolist() == [[0, 2], [2, 1], [1, 0]]


@pytest.mark.parametrize("words", [[], ["a", ""], ["a.b"]])
def test_words_that_hide_a_boundary_are_refused(words):
    with pytest.raises(ValueError, match=r"boundary '\.': remove such words, or choose another"):
        word_windows(words, LETTERS, 2)


def test_a_window_without_a_target_is_refused():
    with pytest.raises(ValueError, match="length=0 must be at least 1: the token to predict"):
        word_windows(["a"], LETTERS, 0)
