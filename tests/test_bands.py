"""Bands around a forecast: each margin by brute force, and what share of targets they hold."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from sklearn.metrics import mean_pinball_loss
from torch.testing import assert_close

from coursekit.evaluate.bands import (
    Bands,
    calibrate_bands,
    measure_coverage,
    quantile_loss,
    roll_margins,
)
from coursekit.evaluate.forecasts import score_errors
from coursekit.windows.forecast import Scaler


def score(n, horizon=3, seed=0, width=1.0):
    """Errors that are normal, wider at each step ahead."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(n, horizon, generator=generator, dtype=torch.float64)
    target = 5 + width * noise * torch.arange(1, horizon + 1)
    return score_errors(torch.full_like(target, 5.0), target, look_back=7)


@pytest.mark.parametrize(
    ("n", "level"),
    [*product([19, 40, 99], [0.5, 0.7, 0.8, 0.95]), (99, 0.55)],  # 100 · 0.55 is above 55 in floats
)
def test_a_margin_is_the_least_error_that_enough_windows_and_one_more_do_not_exceed(n, level):
    made = score(n)
    bands = calibrate_bands(made, level)
    for step in range(3):
        sizes = sorted(made.errors[:, step].abs().tolist())
        enough = [size for i, size in enumerate(sizes) if (i + 1) / (n + 1) >= level - 1e-12]
        assert bands.margin[step] == enough[0]
    assert (bands.level, bands.windows) == (level, n)


@pytest.mark.parametrize("level", [0.6, 0.8, 0.9])
def test_new_errors_lie_within_as_often_as_the_level_says(level):
    held = [
        measure_coverage(calibrate_bands(score(39, seed=i), level), score(101, seed=1000 + i))
        for i in range(300)
    ]
    coverage = torch.stack(held).mean(0)  # 300 times 101 targets a step
    assert coverage.shape == (3,)
    assert ((level - 0.01 < coverage) & (coverage < level + 1 / 40 + 0.01)).all()


def test_coverage_counts_each_step_by_itself():
    bands = Bands(level=0.8, margin=torch.tensor([1.0, 2.0, 0.0], dtype=torch.float64), windows=9)
    errors = torch.tensor([[1.0, -2.5, 0.0], [-1.5, 2.0, 0.1], [0.5, 0.0, -0.1], [3.0, -1.0, 7.0]])
    zeros = torch.zeros_like(errors)
    assert measure_coverage(bands, score_errors(errors, zeros, look_back=2)).tolist() == [
        *(0.5, 0.75, 0.25),
    ]


def test_bands_in_units_hold_the_same_share():
    scaler = Scaler.fit(torch.tensor([[10.0], [20.0], [60.0]], dtype=torch.float64))
    made, new = score(50), score(31, seed=1)
    bands = calibrate_bands(made)
    in_units = calibrate_bands(made.in_units(scaler))
    assert_close(bands.in_units(scaler).margin, in_units.margin)
    assert_close(
        measure_coverage(bands.in_units(scaler), new.in_units(scaler)), measure_coverage(bands, new)
    )


@pytest.mark.parametrize(
    ("n", "level", "says"),
    [
        (3, 0.8, r"3 windows .* of 80%: lengthen .* until 4 fit, or ask for level=0.75 or less"),
        (8, 0.9, r"8 windows .* of 90%: lengthen .* until 9 fit, or ask for level=0.88 or less"),
    ],
)
def test_too_few_windows_are_refused_until_what_is_said_is_done(n, level, says):
    with pytest.raises(ValueError, match=says):
        calibrate_bands(score(n), level)
    assert calibrate_bands(score(n + 1), level).windows == n + 1
    assert calibrate_bands(score(n), n / (n + 1) - 0.005).windows == n


@pytest.mark.parametrize("level", [0.0, 1.0, 80.0, -0.5, float("nan")])
def test_a_level_that_is_no_share_is_refused(level):
    with pytest.raises(ValueError, match=r"must lie between 0 and 1: 0.8 for four targets of five"):
        calibrate_bands(score(40), level)


def test_bands_of_another_horizon_are_refused():
    with pytest.raises(ValueError, match="bands of 3 steps for forecasts of 5: calibrate them"):
        measure_coverage(calibrate_bands(score(40)), score(20, horizon=5))


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_the_quantile_loss_is_scikit_learns_and_least_at_the_quantile(level):
    generator = torch.Generator().manual_seed(2)
    target, forecast = torch.randn(2, 37, 3, generator=generator, dtype=torch.float64)
    expected = mean_pinball_loss(target.flatten(), forecast.flatten(), alpha=level)
    assert quantile_loss(level)(forecast, target).item() == pytest.approx(expected)
    many = torch.randn(4001, generator=generator, dtype=torch.float64)
    losses = [
        quantile_loss(level)(torch.full_like(many, at), many).item()
        for at in many.quantile(torch.tensor([level - 0.03, level, level + 0.03]).double()).tolist()
    ]
    assert losses[1] == min(losses)


def test_a_quantile_of_no_share_or_other_shapes_is_refused():
    for level in (0.0, 1.0, 90):
        with pytest.raises(ValueError, match=r"must lie between 0 and 1: 0.9 for the upper end"):
            quantile_loss(float(level))
    with pytest.raises(ValueError, match="differ: give one number for each"):
        quantile_loss(0.9)(torch.zeros(3, 1), torch.zeros(3))


@pytest.mark.parametrize("memory", [9, 30, 1000])
def test_a_rolling_margin_is_that_of_the_last_windows_whose_outcome_is_known(memory):
    before, new = score(20), score(25, seed=1, width=2.0)
    margins = roll_margins(before, new, 0.7, memory)
    errors = [*before.errors.abs().tolist(), *new.errors.abs().tolist()]
    for i in range(25):
        # window j forecasts rows j, j + 1, j + 2; when window 20 + i is made, row 20 + i is ahead
        known = [j for j in range(45) if (j < 20 or j + 2 < 20 + i) and j < 20 + i][-memory:]
        for step in range(3):
            sizes = sorted(errors[j][step] for j in known)
            assert margins[i, step] == sizes[math.ceil(round((len(known) + 1) * 0.7, 9)) - 1]


def test_rolling_bands_follow_errors_that_shrink_and_fixed_ones_do_not():
    before, new = score(300, width=3.0), score(900, seed=1)
    fixed = measure_coverage(calibrate_bands(before), new).mean()
    rolling = (new.errors.abs() <= roll_margins(before, new, memory=100))[200:].double().mean()
    assert fixed > 0.98
    assert 0.77 < rolling < 0.83


def test_rolling_over_a_gap_or_another_horizon_is_refused():
    before, new = score(20), score(9, seed=1)
    with pytest.raises(ValueError, match="windows of 3 and 2 steps: score both at one horizon"):
        roll_margins(before, score(9, horizon=2))
    with pytest.raises(ValueError, match="before end at row 40, the others begin at 41"):
        roll_margins(replace(before, span=(18, 40)), replace(new, span=(41, 52)))
    with pytest.raises(ValueError, match=r"3 windows are too few for bands of 80%"):
        roll_margins(before, new, memory=3)
    with pytest.raises(ValueError, match=r"level=1.2 must lie between 0 and 1"):
        roll_margins(before, new, level=1.2)
