"""How many labels a score takes, against NumPy's interpolation over logarithms."""

import math

import numpy as np
import pytest

from coursekit.evaluate.curve import labels_for

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
    assert labels_for(12.0, LABELS, scores) == 30
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
