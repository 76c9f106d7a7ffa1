"""Windows over sequences and over words."""

import re
from collections import Counter

import jaxtyping
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coursekit.tokens.vocabulary import Vocabulary
from coursekit.windows.tokens import (
    draw_batches,
    draw_groups,
    draw_spans,
    group_windows,
    slide_windows,
    word_windows,
)

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


@pytest.mark.parametrize("length", [-1, 0, 4])
def test_a_window_longer_than_the_sequence_or_empty_is_refused(length):
    with pytest.raises(ValueError, match=f"length={length} must be between 1 and the 3 tokens"):
        slide_windows(torch.arange(3), length)


def test_a_sequence_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no tokens to cut windows of length=2 from: take more"):
        slide_windows(torch.arange(0), 2)


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


@given(WORDS, LENGTHS)
def test_groups_hold_every_window(words, length):
    windows = word_windows(words, LETTERS, length + 1)
    contexts, counts = group_windows(windows, 4)
    found = Counter()
    for context, row in zip(contexts.tolist(), counts.tolist(), strict=True):
        for token, count in enumerate(row):
            if count:
                found[*context, token] += count
    assert found == Counter(map(tuple, windows.tolist()))
    assert len(set(map(tuple, contexts.tolist()))) == len(contexts)


@pytest.mark.parametrize("windows", [[[1], [2]], [[]], torch.zeros(0, 3).long()])
def test_windows_without_a_context_can_not_be_grouped(windows):
    with pytest.raises(ValueError, match=r"need a context and a target: cut one window or more"):
        group_windows(torch.as_tensor(windows).long(), 4)


@pytest.mark.parametrize(
    ("windows", "least"), [([[1, 4]], 5), ([[7, 0]], 8), ([[0, 3], [4, 1], [2, 2]], 5)]
)
def test_ids_beyond_the_vocabulary_are_refused_with_its_least_size(windows, least):
    with pytest.raises(ValueError, match=f"below vocab_size=4: .* of {least} ids or more"):
        group_windows(torch.tensor(windows), 4)
    assert group_windows(torch.tensor(windows), least)[1].shape[1] == least
    with pytest.raises(ValueError, match=f"must be from 0 and below vocab_size={least - 1}"):
        group_windows(torch.tensor(windows), least - 1)


@pytest.mark.parametrize("windows", [[[0, 1], [1, -1]], [[-2, 1]]])
def test_negative_ids_are_refused(windows):
    with pytest.raises(ValueError, match=r"windows hold ids from -.*, which must be from 0"):
        group_windows(torch.tensor(windows), 4)


def batches_of(n, size, seed=0):
    windows = torch.arange(2 * n).view(n, 2)
    return draw_batches(windows, size, torch.Generator().manual_seed(seed))


def test_each_window_comes_once_a_round():
    supply = batches_of(12, 4)
    for _ in range(2):
        rounds = [next(supply) for _ in range(3)]
        firsts = torch.cat([contexts[:, 0] for contexts, _ in rounds])
        assert sorted(firsts.tolist()) == list(range(0, 24, 2))
        assert all(torch.equal(c[:, 0] + 1, targets) for c, targets in rounds)


def test_rounds_differ_and_the_same_generator_repeats_them():
    first, second = ([next(s)[1].tolist() for _ in range(6)] for s in (batches_of(12, 4),) * 2)
    assert first != second
    again = batches_of(12, 4)
    assert first == [next(again)[1].tolist() for _ in range(6)]


def test_what_is_less_than_a_batch_is_skipped():
    supply = batches_of(11, 4)
    assert [len(next(supply)[1]) for _ in range(5)] == [4] * 5


def test_all_windows_may_be_one_batch():
    contexts, _ = next(batches_of(12, 12))
    assert sorted(contexts[:, 0].tolist()) == list(range(0, 24, 2))


def test_each_window_comes_first_as_often_as_any_other():
    rounds, counts, supply = 600, Counter(), batches_of(6, 6)
    for _ in range(rounds):
        counts[next(supply)[0][0, 0].item()] += 1
    expected = rounds / 6
    found = sum((counts[first] - expected) ** 2 / expected for first in range(0, 12, 2))
    assert found < 20.5  # 5 degrees of freedom, p = 0.001


def test_batches_are_drawn_with_their_generator_alone():
    before = torch.get_rng_state()
    assert next(batches_of(12, 4, seed=1))[1].tolist() != next(batches_of(12, 4))[1].tolist()
    assert torch.get_rng_state().equal(before)


def test_no_batch_is_drawn_from_nothing():
    with pytest.raises(ValueError, match="there are no windows to draw from: cut some first"):
        next(batches_of(0, 1))


@pytest.mark.parametrize("size", [-1, 0, 13])
def test_a_batch_that_is_empty_or_too_large_is_refused(size):
    with pytest.raises(ValueError, match="must be between 1 and the 12 there are"):
        next(batches_of(12, size))


def test_frequent_contexts_are_in_every_batch_and_the_rest_stand_for_all():
    contexts = torch.arange(7)[:, None]
    counts = torch.tensor([[30, 0], [1, 2], [0, 3], [2, 0], [1, 0], [50, 9], [1, 1]])
    supply = draw_groups(contexts, counts, 2, torch.Generator().manual_seed(0))
    seen = []
    for _ in range(2):  # five rare contexts give two batches of two a round
        drawn, weighted = next(supply)
        assert drawn[:2, 0].tolist() == [0, 5]
        assert torch.equal(weighted[:2], counts[[0, 5]])
        assert torch.equal(weighted[2:], 2 * counts[drawn[2:, 0]])
        seen += drawn[2:, 0].tolist()
    assert len(set(seen)) == 4
    assert set(seen) <= {1, 2, 3, 4, 6}


TOTALS = [19, 20, 21, 3, 7, 5]


def groups_of(totals, size, seed=0, **options):
    counts = torch.tensor([[total - 1, 1] for total in totals])
    generator = torch.Generator().manual_seed(seed)
    return draw_groups(torch.arange(len(totals))[:, None], counts, size, generator, **options)


@pytest.mark.parametrize(
    ("options", "frequent"),
    [({}, [1, 2]), ({"often": 19}, [0, 1, 2]), ({"often": 21}, [2]), ({"often": 22}, [])],
)
def test_a_context_seen_just_that_often_is_in_every_batch(options, frequent):
    supply = groups_of(TOTALS, 1, **options)
    n_rare = len(TOTALS) - len(frequent)
    seen = []
    for _ in range(n_rare):  # a round
        drawn, weighted = next(supply)
        assert drawn[:-1, 0].tolist() == frequent
        assert weighted.sum(-1).tolist() == [
            *(TOTALS[i] for i in frequent),
            n_rare * TOTALS[drawn[-1, 0]],
        ]
        seen.append(drawn[-1, 0].item())
    assert sorted([*frequent, *seen]) == list(range(len(TOTALS)))


def test_each_rare_context_is_left_out_as_often_as_any_other():
    rounds, counts, supply = 600, Counter(), groups_of(TOTALS, 3)
    for _ in range(rounds):  # the 4 rare ones give one batch of 3 a round
        counts.update(next(supply)[0][2:, 0].tolist())
    expected = rounds / 4
    found = sum((rounds - counts[i] - expected) ** 2 / expected for i in (0, 3, 4, 5))
    assert found < 16.3  # 3 degrees of freedom, p = 0.001


def test_the_same_generator_draws_the_same_contexts():
    def draw(seed):
        supply = groups_of(TOTALS, 2, seed)
        return [next(supply)[0][:, 0].tolist() for _ in range(6)]

    before = torch.get_rng_state()
    assert draw(1) == draw(1) != draw(2)
    assert torch.get_rng_state().equal(before)


@pytest.mark.parametrize(
    ("size", "options", "says"),
    [
        (2, {"often": 4}, "and the 1 contexts seen less than 4 times: choose batch_size from 1 to"),
        (5, {}, "between 1 and the 4 contexts seen less than 20 times"),
        (1, {"often": 3}, "between 1 and the 0 contexts seen less than 3 times: choose often=4"),
        (7, {}, "batch_size=7 must be between 1 and the 4"),
        (0, {}, "batch_size=0 must be between 1 and the 4"),
        (-2, {}, "batch_size=-2 must be between 1 and the 4"),
        (1, {"often": 0}, "between 1 and the 0 .* or pass all contexts at once in each step"),
    ],
)
def test_too_few_rare_contexts_are_refused_with_numbers_that_do(size, options, says):
    with pytest.raises(ValueError, match=says) as refused:
        next(groups_of(TOTALS, size, **options))
    message = str(refused.value)
    for most in re.findall(r"batch_size from 1 to (\d+)", message):
        next(groups_of(TOTALS, int(most), **options))
        with pytest.raises(ValueError, match="must be between"):
            next(groups_of(TOTALS, int(most) + 1, **options))
    for least in re.findall(r"often=(\d+) or more", message):
        next(groups_of(TOTALS, size, often=int(least)))
        with pytest.raises(ValueError, match="must be between"):
            next(groups_of(TOTALS, size, often=int(least) - 1))


@pytest.mark.parametrize(("n", "length"), [(2, 1), (6, 5), (7, 5), (9, 3)])
def test_every_start_of_a_span_is_as_likely_as_any_other(n, length):
    text, n_starts, draws = 10 + torch.arange(n), n - length, 600
    inputs, targets = next(draw_spans(text, length, draws, torch.Generator().manual_seed(0)))
    assert inputs.shape == targets.shape == (draws, length)
    seen = Counter(inputs[:, 0].tolist())
    assert seen.keys() == set(range(10, 10 + n_starts))
    expected = draws / n_starts
    found = sum((count - expected) ** 2 / expected for count in seen.values())
    assert found < 20.5  # 5 degrees of freedom at most, p = 0.001


def test_targets_of_a_span_are_one_token_later():
    text = torch.randint(1000, (50,))
    runs = {tuple(text[i : i + 8].tolist()) for i in range(43)}
    supply = draw_spans(text, 7, 3, torch.Generator().manual_seed(0))
    for _ in range(40):
        inputs, targets = next(supply)
        assert inputs[:, 1:].equal(targets[:, :-1])
        assert set(map(tuple, torch.cat([inputs, targets[:, -1:]], 1).tolist())) <= runs


def spans_from(seed, n=5):
    supply = draw_spans(torch.arange(90), 4, 3, torch.Generator().manual_seed(seed))
    return [next(supply)[0].tolist() for _ in range(n)]


def test_the_same_generator_draws_the_same_spans():
    before = torch.get_rng_state()
    first = spans_from(1)
    assert first == spans_from(1)
    assert first != spans_from(2)
    assert first[0] != first[1]
    assert torch.get_rng_state().equal(before)


@pytest.mark.parametrize(
    ("length", "batch_size", "remedy"),
    [
        (9, 2, "need a text of 10 tokens or more, not 9"),
        (0, 2, "stretches of length=0"),
        (3, 0, "batch_size=0 must be at least 1"),
        (3, -1, "batch_size=-1 must be at least 1"),
        (-1, 2, "stretches of length=-1"),
        (10, 2, "need a text of 11 tokens or more, not 9"),
    ],
)
def test_spans_that_do_not_fit_the_text_are_refused(length, batch_size, remedy):
    with pytest.raises(ValueError, match=remedy):
        next(draw_spans(torch.arange(9), length, batch_size, torch.Generator()))
