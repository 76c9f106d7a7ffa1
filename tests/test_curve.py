"""How many labels a score takes, against NumPy's interpolation, and how sure that is."""

import math
from itertools import product

import numpy as np
import pytest
import torch

from coursekit.evaluate.curve import bootstrap_labels, labels_for

LABELS = [30, 70, 200, 1100]


@pytest.mark.parametrize("target", [60.0, 61.5, 74.0, 74.25, 80.0, 89.9, 90.0])
def test_on_a_rising_curve_it_is_numpys_interpolation_over_the_logarithm(target):
    scores = [60.0, 74.0, 79.0, 90.0]
    expected = np.exp(np.interp(target, scores, np.log(LABELS)))
    assert labels_for(target, LABELS, scores) == pytest.approx(expected, rel=1e-12)


def test_a_curve_that_falls_is_read_where_it_first_comes_to_the_score():
    scores = [60.0, 80.0, 70.0, 90.0]
    assert labels_for(75.0, LABELS, scores) == pytest.approx(30 * (70 / 30) ** 0.75)
    late = [74.0, 70.0, 70.0, 90.0]
    assert labels_for(80.0, LABELS, late) == pytest.approx(200 * 5.5**0.5)


def test_a_score_that_is_reached_at_once_or_never():
    scores = [60.0, 80.0, 70.0, 90.0]
    assert labels_for(12.0, LABELS, scores) == labels_for(60.0, LABELS, scores) == 30
    assert labels_for(60.0, LABELS, [60.0, 50.0, 60.0, 90.0]) == 30
    assert labels_for(90.5, LABELS, scores) == math.inf


@pytest.mark.parametrize(
    ("labels", "scores", "says"),
    [
        ([], [], "0 numbers of labels and 0 scores: one for each"),
        ([1, 2], [60.0], "2 numbers of labels and 1 scores: one for each"),
        ([2, 1], [60.0, 70.0], r"labels=\[2, 1\]: sort them"),
        ([2, 2], [60.0, 70.0], r"labels=\[2, 2\]: sort them"),
        ([0, 2], [60.0, 70.0], r"labels=\[0, 2\]: sort them, each once and above 0"),
    ],
)
def test_bad_curves_are_refused(labels, scores, says):
    with pytest.raises(ValueError, match=says):
        labels_for(65.0, labels, scores)


def enumerate_labels(target, labels, scores):
    """Return what `labels_for` says in each possible draw, all as likely."""
    groups = target.shape[1]
    seeds = [[*product(range(len(one)), repeat=len(one))] for one in (target, *scores)]
    found = []
    for some in product(range(groups), repeat=groups):
        for drawn in product(*seeds):
            means = [
                one[list(rows)][:, list(some)].mean().item()
                for one, rows in zip((target, *scores), drawn, strict=True)
            ]
            found.append(labels_for(means[0], labels, means[1:]))
    return found


def test_the_bootstrap_finds_the_quantiles_of_all_possible_draws():
    """1 and 2 and 3 seeds, 2 groups: 432 draws, those at either end more likely than 2.5 %."""
    target = torch.tensor([[79.0, 85.0]])
    scores = [torch.tensor([[60.0, 68.0], [66.0, 62.0]])]
    scores += [torch.tensor([[88.0, 98.0], [94.0, 90.0], [99.0, 91.0]])]
    exact = enumerate_labels(target, [100, 400], scores)
    expected = np.quantile(exact, (0.025, 0.975), method="nearest")
    assert not np.allclose(expected, np.quantile(exact, (0.05, 0.95)), rtol=0.01)
    found = bootstrap_labels(target, [100, 400], scores, draws=4000, seed=3)
    assert found == pytest.approx(tuple(expected), rel=5e-3)
    assert found == bootstrap_labels(target, [100, 400], scores, draws=4000, seed=3)
    assert found != bootstrap_labels(target, [100, 400], scores, draws=3, seed=4)


def test_groups_that_are_as_hard_for_all_leave_no_doubt():
    """Four groups, on which each point of the curve and the target differ by the same."""
    hard = torch.tensor([0.0, -3.0, 5.0, 1.0])
    target = 80.0 + hard.expand(2, 4)
    scores = [one + hard.expand(3, 4) for one in (70.0, 90.0)]
    found = bootstrap_labels(target, [100, 400], scores, draws=20, seed=3)
    assert found == pytest.approx((200.0, 200.0), rel=1e-5)


def test_a_score_that_some_draws_never_reach_ends_at_infinity():
    target = torch.tensor([[70.0], [95.0]])
    low, high = bootstrap_labels(
        target, [100, 400], [torch.tensor([[60.0]]), torch.tensor([[80.0]])], draws=200, seed=3
    )
    assert low == pytest.approx(200.0)
    assert high == math.inf


@pytest.mark.parametrize(("draws", "groups"), [(0, 2), (-1, 2), (5, 3)])
def test_draws_that_cannot_be_made_are_refused(draws, groups):
    target, scores = torch.zeros(4, 2), [torch.zeros(5, 2), torch.zeros(5, groups)]
    with pytest.raises(ValueError, match=rf"draws={draws}, scores of .*\(5, {groups}\)"):
        bootstrap_labels(target, [100, 400], scores, draws=draws, seed=3)
