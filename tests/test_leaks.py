"""The small models of the exercise "find the leak": which of them read the future."""

import pytest
import torch

from coursekit.exercises.small_models import (
    MeanOfAll,
    Ranked,
    RankedOnArrival,
    RunningMean,
    Smoothed,
)
from coursekit.inside.certify import certify


def draw(steps=7):  # many examples, for a rank moves rarely
    generator = torch.Generator().manual_seed(3)
    return torch.randn(64, steps, 1, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("model", [RunningMean(), RankedOnArrival()])
def test_a_clean_model_is_certified(model):
    assert certify(model, draw()).holds


@pytest.mark.parametrize(
    ("model", "gradient_finds_it"),
    [(MeanOfAll(), True), (Smoothed(), True), (Ranked(), False)],
)
def test_a_leaking_model_is_found_out_and_a_rank_by_trial_only(model, gradient_finds_it):
    found = certify(model, draw())
    assert not found.causal
    assert (found.gradient > 0) == gradient_finds_it


def test_no_model_can_read_beyond_the_last_step():
    x = draw()
    for model in (MeanOfAll(), Smoothed(), Ranked()):
        assert certify(model, x).moves[-1].max() == 0
