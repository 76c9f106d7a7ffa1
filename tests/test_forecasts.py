"""Scores of forecasts: all windows, each once."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from coursekit.evaluate.forecasts import (
    ForecastScore,
    mase,
    score_errors,
    score_forecasts,
    walk_forward,
)
from coursekit.models.baselines import fit_linear, last_value, seasonal_naive
from coursekit.windows.forecast import ForecastWindows, Scaler

T, C, L, P = 90, 2, 7, 3


def series(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(T, C, generator=generator, dtype=torch.float64).cumsum(0)


def cut(values=None, start=40, stop=T, past=L):
    values = series() if values is None else values
    calendar = torch.zeros(len(values), 3, dtype=torch.int64)
    return ForecastWindows(
        values=values, calendar=calendar, past=past, horizon=P, start=start, stop=stop
    )


class Unsteady(nn.Module):
    """Forecast the last value; while training, with noise, and count the calls."""

    def __init__(self):
        super().__init__()
        self.gain, self.drop = nn.Parameter(torch.ones(())), nn.Dropout(0.5)

    def forward(self, past, known, marks):
        return self.drop(last_value(past, known, marks)) * self.gain


def test_errors_are_numpys():
    windows, values = cut(), series()[:, 0].numpy()
    score = score_forecasts(last_value, windows, batch_size=5)
    errors = np.array([values[t - 1] - values[t : t + P] for t in range(40, T - P + 1)])
    assert (score.windows, score.horizon, score.look_back) == (len(errors), P, L)
    assert score.mse == pytest.approx((errors**2).mean(), rel=1e-14)
    assert score.mae == pytest.approx(abs(errors).mean(), rel=1e-14)
    assert_close(score.mse_by_step, torch.from_numpy((errors**2).mean(0)))
    assert_close(score.mae_by_step, torch.from_numpy(abs(errors).mean(0)))
    assert_close(score.squared, torch.from_numpy((errors**2).mean(1)))


def test_the_mean_of_the_targets_is_kept():
    values = series()[:, 0].numpy()
    targets = np.array([values[t : t + P] for t in range(40, T - P + 1)])
    assert score_forecasts(last_value, cut(), 5).target_mean == pytest.approx(targets.mean())


@pytest.mark.parametrize("size", [7, 32, 1024])
def test_a_score_is_the_same_for_every_batch_size(size):
    one, many = (score_forecasts(last_value, cut(), batch_size=n) for n in (1, size))
    assert one.windows == many.windows == T - 40 - P + 1
    for name in ("squared", "mse_by_step", "mae_by_step"):
        assert_close(getattr(one, name), getattr(many, name), rtol=0, atol=0)
    assert one.mse == many.mse


@pytest.mark.parametrize("size", [1, 7, 32, 1024])
def test_a_fitted_score_hardly_depends_on_the_batch_size(size):
    windows = cut(start=40)
    (past, _, _), target = cut(start=0, stop=40).take(torch.arange(31))
    model = fit_linear(past[..., 0], target, 1.0)
    expected = score_forecasts(model, windows, 256).mse
    assert score_forecasts(model, windows, size).mse == pytest.approx(expected, rel=1e-12)


def test_errors_of_single_precision_forecasts_are_added_in_double():
    values = series()
    values[:, 0] += 1e4
    score = score_forecasts(lambda past, known, marks: past[:, -P:, 0], cut(values.float()))
    assert score.mse_by_step.dtype == score.squared.dtype == torch.float64


def test_a_model_is_scored_in_evaluation_mode_without_gradients_and_left_as_it_was():
    model = Unsteady()
    model.drop.eval()
    score = score_forecasts(model, cut(), batch_size=8)
    assert score.mse == score_forecasts(last_value, cut(), batch_size=8).mse
    assert score.mse_by_step.requires_grad is False
    assert (model.training, model.drop.training) == (True, False)


def test_parameters_are_counted():
    (past, _, _), target = cut(start=0, stop=40).take(torch.arange(31))
    assert score_forecasts(fit_linear(past[..., 0], target, 1.0), cut()).parameters == L * P + P
    assert score_forecasts(last_value, cut()).parameters == 0


def test_errors_in_units_are_those_of_the_unscaled_series():
    values = 20 + 3 * series()
    scaler = Scaler.fit(values[:40])
    scaled = score_forecasts(seasonal_naive(2), cut(scaler.scale(values))).in_units(scaler)
    plain = score_forecasts(seasonal_naive(2), cut(values))
    assert scaled.mse == pytest.approx(plain.mse, rel=1e-12)
    assert scaled.mae == pytest.approx(plain.mae, rel=1e-12)
    assert scaled.target_mean == pytest.approx(plain.target_mean, rel=1e-12)
    for name in ("squared", "mse_by_step", "mae_by_step"):
        assert_close(getattr(scaled, name), getattr(plain, name))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda past, known, marks: past[:, -1:, 0],  # would be broadcast
        lambda past, known, marks: past[:, -P:, :1],
        lambda past, known, marks: past[:, -P:, 0] * torch.nan,
    ],
)
def test_a_misshapen_or_endless_forecast_is_refused(wrong):
    with pytest.raises(ValueError, match="return one finite number for each"):
        score_forecasts(wrong, cut())


@pytest.mark.parametrize("kept", [slice(None, -1), slice(1, None), slice(0)])
def test_windows_that_lose_a_batch_are_refused(kept, monkeypatch):
    batches = list(cut().batches(10))
    monkeypatch.setattr(ForecastWindows, "batches", lambda self, size: iter(batches[kept]))
    with pytest.raises(ValueError, match=r"scored \d+ of 48 windows: each must come, once"):
        score_forecasts(last_value, cut(), 10)


@pytest.mark.parametrize("period", [1, 3, 24])
def test_mase_of_the_seasonal_naive_is_1_in_sample(period):
    x = series()[:, 0]
    assert mase(x[period:], x[:-period], x, period) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("factor", [0.001, 7.0, -2.0])
def test_mase_does_not_depend_on_unit_or_level(factor):
    x, generator = series()[:, 0], torch.Generator().manual_seed(1)
    forecast = x[60:] + torch.randn(T - 60, generator=generator).double()
    changed = (factor * one + 5 for one in (x[60:], forecast, x[:60]))
    assert mase(*changed, 2) == pytest.approx(mase(x[60:], forecast, x[:60], 2), rel=1e-10)


def test_mase_takes_its_divisor_from_training_alone():
    x = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0])
    target = torch.tensor([100.0, -100.0, 100.0])
    assert mase(target, target - 3, x, 1) == pytest.approx(3)


def test_mase_counts_each_number_of_a_batch_once():
    x = torch.tensor([0.0, 2.0, 0.0])
    target, forecast = torch.zeros(2, 3), torch.tensor([[1.0, 0, 0], [3.0, 0, 2]])
    assert mase(target, forecast, x, 1) == pytest.approx((6 / 6) / 2)


def test_a_series_that_repeats_itself_has_no_mase():
    with pytest.raises(ValueError, match=r"repeats itself every 1 steps.*report the MAE"):
        mase(torch.ones(2), torch.zeros(2), torch.full((9,), 4.0), 1)
    with pytest.raises(ValueError, match=r"repeats itself every 2 steps.*another period"):
        mase(torch.ones(2), torch.zeros(2), torch.tensor([1.0, 5.0] * 4), 2)


@pytest.mark.parametrize("period", [0, 9, 20])
def test_a_period_that_the_training_series_lacks_is_refused(period):
    with pytest.raises(ValueError, match=r"must be between 1 and 8"):
        mase(torch.ones(2), torch.zeros(2), torch.arange(9.0), period)


def test_a_score_is_frozen():
    score = score_forecasts(last_value, cut())
    assert isinstance(replace(score, look_back=1), ForecastScore)
    with pytest.raises(AttributeError):
        score.look_back = 3


def test_forecasts_that_pytorch_would_pair_each_with_each_are_refused():
    wide, flat = torch.randn(9, 1), torch.randn(9)
    bare_errors, bare_mase = inspect.unwrap(score_errors), inspect.unwrap(mase)
    with pytest.raises(ValueError, match=r"shapes \(9, 1\) and \(9,\) differ"):
        bare_errors(wide, flat, look_back=3, parameters=0)
    with pytest.raises(ValueError, match=r"shapes \(9,\) and \(9, 1\) differ"):
        bare_mase(flat, wide, torch.arange(7.0), 1)


# One step at a time


def test_each_forecast_of_a_walk_is_made_from_the_past_alone():
    values = series()[:9]
    seen = []

    def forecast(past):
        seen.append(past.clone())
        made = past[-1, 0] + past[0, 1]
        past.zero_()  # spoils its own copy, nothing else
        return made

    found = walk_forward(forecast, values, 4)
    assert_close(found, torch.stack([values[t - 1, 0] + values[0, 1] for t in range(4, 9)]))
    assert [len(past) for past in seen] == [4, 5, 6, 7, 8]
    assert all(past.equal(values[: len(past)]) for past in seen)


def test_a_walk_is_in_the_precision_of_its_series():
    found = walk_forward(lambda past: 0.1, series()[:, 0], T - 1)
    assert_close(found, torch.tensor([0.1], dtype=torch.float64), rtol=0, atol=0)


@pytest.mark.parametrize("start", [0, T, -1])
def test_a_walk_without_a_past_or_a_step_is_refused(start):
    with pytest.raises(ValueError, match=rf"start={start} must be between 1 and {T - 1}"):
        walk_forward(lambda past: 0.0, series(), start)


@pytest.mark.parametrize("made", [float("nan"), float("inf"), torch.zeros(2)])
def test_a_walk_asks_for_one_finite_number(made):
    with pytest.raises(ValueError, match=r"forecast for step 7 is .*return one finite number"):
        walk_forward(lambda past: made, series(), 7)
