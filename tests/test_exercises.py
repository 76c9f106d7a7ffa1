"""Each check of an exercise: what it accepts, and what it tells those it rejects."""

import importlib
import math
import pkgutil
import re
from collections import Counter
from functools import partial

import pytest
import torch
from torch import Tensor

from coursekit import exercises
from coursekit.exercises import (
    encoder,
    labels,
    mlp,
    objective,
    recurrence,
    reverse,
    shortcuts,
    start,
)
from coursekit.exercises.compare import NotYet, agree, with_gradients
from tests import solutions

# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {}
for _module in pkgutil.iter_modules(solutions.__path__, "tests.solutions."):
    ROWS |= importlib.import_module(_module.name).ROWS
RIGHT = [(check, right) for check, (rights, _) in ROWS.items() for right in rights]
REFUSES_WRITING = {
    start.check_centre_rows,
    recurrence.check_lstm_step,
    encoder.check_encoder_layer,
    encoder.check_padding_mask,
    encoder.check_hide_tokens,
    encoder.check_forbid,
    labels.check_our_pool,
    labels.check_our_reading_loss,
    objective.check_look_inside,
    objective.check_transplant,
    reverse.check_cross_attention,
    shortcuts.check_our_effects,
}
WRONG = [(check, wrong, call) for check, (_, all_) in ROWS.items() for wrong, call in all_.items()]


def test_every_check_has_its_row():
    found = set()
    for module in pkgutil.iter_modules(exercises.__path__, "coursekit.exercises."):
        members = vars(importlib.import_module(module.name))
        found |= {value for name, value in members.items() if name.startswith("check_")}
    assert found == set(ROWS)
    assert all(len(right) >= 2 and len(wrong) >= 3 for right, wrong in ROWS.values())


@pytest.mark.parametrize(("check", "right"), RIGHT)
def test_a_right_solution_is_accepted(check, right, capsys):
    check(right)
    assert re.fullmatch(rf"✓ {right.__name__}: right in all \d+ cases\n", capsys.readouterr().out)


@pytest.mark.parametrize(("check", "wrong", "call"), WRONG)
def test_a_wrong_solution_is_told_its_first_counter_example(check, wrong, call, capsys):
    with pytest.raises(NotYet, match=r"\n  expected ") as rejection:
        check(wrong)
    first_line, then = str(rejection.value).split("\n", 1)
    assert first_line.startswith(f"{wrong.__name__}(")
    assert call in first_line
    # It answers, unless its row says that it raises: a slip in a wrong solution is not a mistake.
    assert then.startswith("  gave ") != (" raised " in call)
    assert not capsys.readouterr().out


@pytest.mark.parametrize("check", ROWS)
def test_each_case_is_the_first_counter_example_of_a_wrong_solution(check, monkeypatch):
    asked = []

    def record(solution, reference, cases, **options):
        asked.append((solution, reference, list(cases), options))

    monkeypatch.setattr(importlib.import_module(check.__module__), "agree", record)
    for wrong in ROWS[check][1]:
        check(wrong)
    told = {_first_rejected(*call[:3], **call[3]) for call in asked}
    # A case that no wrong solution is told first could be deleted: add a mistake that needs it.
    assert told == set(range(len(asked[0][2])))


def _first_rejected(solution, reference, cases, **options):
    for i, case in enumerate(cases):
        try:
            agree(solution, reference, [case], **options)
        except NotYet:
            return i
    return None


@pytest.mark.parametrize("check", ROWS)
def test_a_solution_that_raises_is_told_where(check):
    def unfinished(*arguments):
        raise NotImplementedError("your turn")

    with pytest.raises(
        NotYet,
        match=r"(?s)^unfinished\((\w+=)?(\[|\{|tanh|\d|').*raised NotImplementedError: your turn",
    ):
        check(unfinished)


@pytest.mark.parametrize(("check", "right"), RIGHT)
def test_a_solution_that_writes_into_its_argument_spoils_nothing(check, right):
    def spoil(*arguments):
        answer = right(*arguments)
        for argument in arguments:
            if isinstance(argument, Tensor):
                argument.zero_()
            elif isinstance(argument, list | dict):
                argument.clear()
        return answer

    if check in REFUSES_WRITING:
        with pytest.raises(NotYet, match=r"it changed the \w+ it was given"):
            check(spoil)
    else:
        check(spoil)


@pytest.mark.parametrize(
    ("answer", "expected", "fault"),
    [
        (None, torch.ones(2), "a tensor was expected, not NoneType"),
        (torch.ones(2, 1), torch.ones(2), r"its shape is \(2, 1\), not \(2,\)"),
        (torch.tensor([1.0, 2.5]), torch.tensor([1, 2]), r"first at \[1\]: 2.5, not 2"),
        (torch.tensor([math.nan]), torch.ones(1), r"first at \[0\]: nan, not 1$"),
        (torch.tensor([math.inf]), torch.ones(1), r"first at \[0\]: inf, not 1$"),
        (torch.tensor([4.0, 2.0]), torch.tensor([2.0, 2.0]), r"first at \[0\]: 4, not 2$"),
        (torch.tensor([6.0]), torch.tensor([2.0]), r"not 2, off by a factor of 3$"),
        (torch.tensor([0.0]), torch.tensor([-2.0]), r"not -2, off by a factor of 0$"),
        (torch.tensor([2.00001]), torch.tensor([2.0]), r"not 2, off by 1.0e-05$"),
        (
            torch.tensor([-1.0, -2, 0]),
            torch.tensor([1, 2, 0]),
            r"everywhere off by a factor of -1$",
        ),
        (torch.tensor([1.0, 5.0]), torch.tensor([0.0, 5.0]), r"first at \[0\]: 1, not 0$"),
        (torch.tensor([6]), torch.tensor([2]), r"first at \[0\]: 6, not 2$"),
        (torch.tensor([0.5]), torch.tensor([True]), r"first at \[0\]: 0.5, not 1$"),
        ([("a", 1)], {"a": 1}, "a dictionary was expected, not list"),
        ({"a": 1}, {"a": 1, "b": 2}, "'b' is missing"),
        ({"a": 1, "b": 2}, {"a": 1}, "'b' should not be there"),
        (torch.tensor([0.0]), torch.tensor([-math.inf]), r"first at \[0\]: 0, not -inf$"),
        (torch.ones(1), torch.tensor([math.nan]), r"first at \[0\]: 1, not nan$"),
        (torch.ones(2, device="meta"), torch.ones(2), "it lies on meta, not on cpu"),
        ("two", 2.0, "a number was expected, not str"),
        ("2.0", 2.0, "a number was expected, not str"),
        (b"2", 2.0, "a number was expected, not bytes"),
        (torch.ones(2), 1.0, "a number was expected, not Tensor"),
        (None, 2.0, "a number was expected, not NoneType"),
        (3.0, 2.0, "off by a factor of 1.5"),
        (0.0, -2.0, "off by a factor of 0$"),
        (math.nan, 2.0, "off by a factor of nan"),
        (0.1, 0.0, "not 0"),
        (False, True, "not True$"),
        (True, False, "not False$"),
        (torch.tensor([False]), torch.tensor([True]), r"first at \[0\]: 0, not 1$"),
        (2.00001, 2.0, "off by 1.0e-05"),
    ],
)
def test_a_difference_is_put_into_words(answer, expected, fault):
    with pytest.raises(NotYet, match=fault):
        agree(lambda: answer, lambda: expected, [()])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (torch.tensor([2]), torch.tensor([2.0])),
        (torch.tensor([math.nan, 1.0]), torch.tensor([math.nan, 1.0000001])),
        (Counter("aab"), {"b": 1, "a": 2}),
        (torch.tensor(2.0), 2.0000001),
        (2 * torch.ones((), requires_grad=True), 2.0),
        (2 * torch.ones(3, requires_grad=True), torch.full((3,), 2.0)),
        (math.inf, math.inf),
    ],
)
def test_equal_answers_of_other_types_agree(answer, expected):
    agree(lambda: answer, lambda: expected, [()])


def _as_tensor(number):
    return torch.tensor([5.0, number], dtype=torch.float64)


def _as_entry(number):
    return {"a": 5.0, "b": number}


@pytest.mark.parametrize("tolerance", [1e-6, 1e-3])
@pytest.mark.parametrize("expected", [-2000.0, 0.003, 0.0, 1.0, 30.0])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("form", [float, _as_tensor, _as_entry])
def test_an_error_may_be_as_large_as_the_tolerance_and_no_larger(form, sign, expected, tolerance):
    largest = tolerance * max(abs(expected), 1)  # relative or absolute, whichever is larger
    inside, beyond = (form(expected + sign * factor * largest) for factor in (0.99, 1.01))
    agree(lambda: inside, lambda: form(expected), [()], tolerance=tolerance)
    with pytest.raises(NotYet):
        agree(lambda: beyond, lambda: form(expected), [()], tolerance=tolerance)


def test_without_a_tolerance_one_part_in_a_million_is_allowed():
    agree(lambda: 1 + 0.99e-6, lambda: 1.0, [()])
    with pytest.raises(NotYet):
        agree(lambda: 1 - 1.01e-6, lambda: 1.0, [()])


def _times(factor, answer):
    """Multiply an answer: each of several, and what a layer says when it is called."""
    if isinstance(answer, dict):
        return {key: factor * value for key, value in answer.items()}
    if isinstance(answer, tuple):
        return tuple(factor * value for value in answer)
    if callable(answer):
        return lambda *arguments, **options: _times(factor, answer(*arguments, **options))
    if isinstance(answer, str):  # a text can't be wrong by a factor
        return answer.replace(" the ", " a ") if " the " in answer else f"{answer} {factor}"
    return factor * (torch.tensor(answer).double() if isinstance(answer, list) else answer)


def _leave_times(factor, result):
    """Multiply what an answer that returns nothing left as gradients of a value and its inputs."""
    for value in (result, *(source for source, _ in result.inputs)):
        value.grad *= factor


@pytest.mark.parametrize("factor", [0.99, 1.01, -1, math.nan])
@pytest.mark.parametrize("check", ROWS)
def test_every_check_sees_one_per_cent_a_lost_sign_and_what_is_no_number(check, factor):
    (right, *_), _ = ROWS[check]

    def off(*arguments):
        answer = right(*arguments)
        return _leave_times(factor, *arguments) if answer is None else _times(factor, answer)

    with pytest.raises(NotYet, match="gave"):
        check(off)


@pytest.mark.parametrize("check", ROWS)
def test_every_check_refuses_one_value_too_many(check):
    (right, *_), _ = ROWS[check]

    def more(*arguments):
        answer = right(*arguments)
        if answer is None:  # what it found stands in its arguments
            return _leave_times(2, *arguments)
        return (*answer, 0.0) if isinstance(answer, tuple) else (answer, 0.0)

    with pytest.raises(NotYet):
        check(more)


def test_gradients_beside_an_output_are_those_of_its_squares():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
    found = with_gradients(lambda x, y, factor: factor * x * y, "x", "y")(x, y, 2)
    assert found["output"].tolist() == [6, 20]
    assert found["gradient of x"].tolist() == (8 * x * y**2).tolist()
    assert found["gradient of y"].tolist() == (8 * y * x**2).tolist()
    only = with_gradients(lambda x, y: y * 1, "x", "y")(x, y)
    assert only["gradient of x"].tolist() == [0, 0]
    assert with_gradients(lambda x: "none", "x")(x) == "none"


def test_a_reference_that_writes_into_its_argument_spoils_nothing():
    x = torch.tensor([1.0, 2.0, 3.0])
    agree(lambda x: x + 1, lambda x: x.add_(1), [(x,), (x,)])
    assert x.tolist() == [1, 2, 3]


def test_an_answer_that_is_the_argument_itself_is_compared_by_its_numbers():
    x = torch.tensor([1.0, 2.0, 3.0])
    agree(lambda x: x, lambda x: 1 * x, [(x,)])
    with pytest.raises(NotYet, match=r"gave     \[2.0, 4.0, 6.0\]\n  expected \[3.0"):
        agree(lambda x: x.mul_(2), lambda x: x.mul_(3), [(x,)])


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"a": 1, "z": None}, "'z' should not be there"),
        ({}, "'a' is missing"),
        ({"a": torch.ones(2)}, "a number was expected"),
    ],
)
def test_a_dictionary_is_compared_key_by_key(answer, fault):
    with pytest.raises(NotYet, match=fault):
        agree(lambda: answer, lambda: {"a": 1}, [()])


def test_a_dictionary_is_compared_in_the_order_of_the_right_one():
    with pytest.raises(NotYet, match="first at 'output'"):
        agree(lambda: {"gradient": 1, "output": 1}, lambda: {"output": 2, "gradient": 2}, [()])


def test_arguments_are_named_if_they_have_names():
    with pytest.raises(NotYet, match=r"twice\(times=2, x=3\)\n"):
        agree(twice, lambda times, x: times + x, [(2, 3)], names=["times", "x"])


def twice(times, x):
    return times * x


def test_a_solution_without_a_name_is_judged_like_any_other(capsys):
    agree(partial(pow, 2), lambda power: 2**power, [(3,), (5,)])
    assert "right in all 2 cases" in capsys.readouterr().out


def test_our_own_answers_are_right():
    mlp.check_fold(mlp.fold_batch_norm)
