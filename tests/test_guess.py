"""Guesses beside what came out, and exercises that are not answered yet."""

from functools import wraps

import matplotlib.pyplot as plt
import pytest
import torch

from coursekit.exercises import answer_or
from coursekit.exercises.compare import agree
from coursekit.exercises.stub import is_stub
from coursekit.notebook import compare_guess, mark_guess


def stub(x): ...


def stub_with_words(x):
    """Say what is wanted."""
    ...


def answered(x):
    x = x + 1


@wraps(stub)
def stub_as_a_check_calls_it(x):
    return [stub(x)]


class Stub(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 1

    def forward(self, x): ...


class Answered(Stub):
    def forward(self, x):
        return x


class AnsweredWithAPass(Answered):
    def __call__(self, x):
        return x

    def reset(self):
        pass


STUBS = [None, stub, stub_with_words, stub_as_a_check_calls_it, Stub, lambda x: None]


@pytest.mark.parametrize("answer", STUBS)
def test_a_stub_is_known_by_its_empty_body(answer):
    assert is_stub(answer)
    assert answer_or(answer, len) is len


@pytest.mark.parametrize("answer", [answered, Answered, AnsweredWithAPass, lambda: ..., max, torch.zeros(2), 0, ""])
def test_an_answer_is_taken(answer):
    assert not is_stub(answer)
    assert answer_or(answer, len) is answer


def test_a_check_says_not_yet_to_a_stub_and_compares_what_returns_nothing(capsys):
    agree(stub, lambda x: x, [(1,)])
    assert capsys.readouterr().out == "not yet: write stub, then run this cell again\n"
    with pytest.raises(AssertionError, match="a number was expected, not NoneType"):
        agree(answered, lambda x: x, [(1,)])


@pytest.mark.parametrize(
    ("guess", "found", "unit", "line"),
    [
        (2.5, 28.0632, "nats", "your guess 2.5 nats · measured 28.06 nats\n"),
        ("trains", "does not", "", "your guess trains · measured does not\n"),
        (0, 3, "", "your guess 0 · measured 3\n"),
        (None, 28.0, "nats", ""),
    ],
)
def test_a_guess_is_set_beside_what_was_found(capsys, guess, found, unit, line):
    compare_guess(guess, found, unit)
    assert capsys.readouterr().out == line


def test_a_guess_is_a_line_with_its_name_in_a_figure():
    ax = plt.subplots()[1]
    mark_guess(None)
    assert (len(ax.lines), len(ax.texts)) == (0, 0)
    mark_guess(2.5)
    assert list(ax.lines[0].get_ydata()) == [2.5, 2.5]
    assert [(text.get_text(), text.get_position()[1]) for text in ax.texts] == [("your guess", 2.5)]
    other = plt.subplots()[1]
    mark_guess(0.0, ax)
    assert (len(ax.lines), len(other.lines)) == (2, 0)
    mark_guess(244, x=0)
    assert other.lines[0].get_xydata().tolist() == [[0, 244]]
    assert [text.get_text() for text in other.texts] == ["your guess"]
    plt.close("all")
