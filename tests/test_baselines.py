"""Baselines of a series."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch.testing import assert_close

from coursekit.models.baselines import (
    LinearForecast,
    fit_ar,
    fit_linear,
    forecast_ar,
    iterate_ar,
    last_value,
    seasonal_naive,
)

B, T, P, C = 3, 11, 5, 2


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def inputs(past, horizon=P):
    """What a forecaster is called with: a past, nothing known, some calendar."""
    batch, steps, channels = past.shape
    marks = torch.zeros(batch, steps + horizon, 3, dtype=torch.int64)
    return past, past.new_zeros(batch, horizon, channels), marks


def windows(n=40, seed=0):
    """Windows of a random walk."""
    series = draw(n + T + P - 1, seed=seed).cumsum(0)
    return series.unfold(0, T + P, 1).split([T, P], 1)


def test_the_last_value_is_repeated_for_every_step():
    past = draw(B, T, C)
    forecast = last_value(*inputs(past))
    assert forecast.shape == (B, P)
    assert (forecast == past[:, -1:, 0]).all()


@pytest.mark.parametrize("period", [1, 2, 3, 5, 7, 11])
def test_the_seasonal_naive_repeats_the_last_season(period):
    past = draw(B, T, C)
    forecast = seasonal_naive(period)(*inputs(past))
    for b in range(B):
        series = past[b, :, 0].tolist()
        for _ in range(P):
            series.append(series[-period])
        assert forecast[b].tolist() == series[T:]


def test_a_season_longer_than_the_past_is_refused():
    with pytest.raises(ValueError, match=r"a past of 11 steps is too short: cut windows of 12"):
        seasonal_naive(12)(*inputs(draw(B, T, C)))


def test_a_season_of_no_steps_is_refused():
    with pytest.raises(ValueError, match=r"period=0 must be at least 1: 24 for hours"):
        seasonal_naive(0)


@pytest.mark.parametrize("penalty", [0.01, 1.0, 100.0])
def test_the_absolute_fit_is_scikit_learns_ridge(penalty):
    past, target = windows()
    model = fit_linear(past, target, penalty, relative=False)
    ridge = Ridge(alpha=penalty, solver="svd").fit(past.numpy(), target.numpy())
    assert_close(model.weight.data, torch.from_numpy(ridge.coef_.T.copy()), rtol=0, atol=1e-9)
    assert_close(model.bias.data, torch.from_numpy(np.asarray(ridge.intercept_)))
    new = windows(seed=1)[0]
    assert_close(model(*inputs(new[..., None])), torch.from_numpy(ridge.predict(new.numpy())))


def test_the_relative_fit_is_least_squares_with_added_rows():
    (past, target), penalty = windows(), 2.0
    model = fit_linear(past, target, penalty, relative=True)
    x, y = past - past[:, -1:], target - past[:, -1:]
    # A column of ones, which has no price, then one row for the price of each weight.
    ones = torch.cat([torch.ones(len(x), 1), torch.zeros(T, 1)]).double()
    rows = torch.cat([x, penalty**0.5 * torch.eye(T, dtype=torch.float64)])
    solved = torch.linalg.lstsq(
        torch.cat([ones, rows], 1), torch.cat([y, torch.zeros(T, P, dtype=torch.float64)])
    ).solution
    assert_close(model.bias.data, solved[0], rtol=0, atol=1e-10)
    assert_close(model.weight.data, solved[1:], rtol=0, atol=1e-10)


def test_a_relative_forecast_rises_with_the_level():
    past, target = windows()
    relative, absolute = (fit_linear(past, target, 3.0, relative=way) for way in (True, False))
    new = windows(seed=1)[0][..., None]
    assert_close(relative(*inputs(new + 1000)), relative(*inputs(new)) + 1000)
    assert not torch.allclose(absolute(*inputs(new + 1000)), absolute(*inputs(new)) + 1000)


def with_known(n, seed=0):
    """Windows of four columns, of which the third and the second are known: past, known, target."""
    past, target = windows(n, seed)
    others = draw(n, T + P, 3, seed=seed + 20)
    target = target + 4 * others[:, T:, 0] - others[:, T:, 1] + others[:, :P, 1]
    known = torch.cat([torch.zeros(n, P, 1).double(), others[:, T:]], -1)
    known[..., 3] = 0.0
    return torch.cat([past[..., None], others[:, :T]], -1), known, target


KNOWN = (2, 1)


def told(past, known):
    return torch.cat([past, known], 1)[..., KNOWN]


@pytest.mark.parametrize("relative", [True, False])
def test_with_known_columns_each_step_is_scikit_learns_ridge_of_the_past_and_its_own(relative):
    (past, known, target), penalty = with_known(60), 2.5
    given = {"relative": relative, "known": told(past, known), "columns": KNOWN}
    model = fit_linear(past[..., 0], target, penalty, **given)
    new, new_known, _ = with_known(23, seed=1)
    found = model(new, new_known, torch.zeros(23, T + P, 3, dtype=torch.int64))
    level, new_level = (one[:, -1:, 0] * relative for one in (past, new))
    for step in range(P):
        x, new_x = (
            torch.cat([p[..., 0] - at, *p[..., KNOWN].unbind(1), k[:, step, KNOWN]], 1)
            for p, at, k in ((past, level, known), (new, new_level, new_known))
        )
        ridge = Ridge(alpha=penalty, solver="svd").fit(x, target[:, step] - level[:, 0])
        expected = new_level[:, 0] + torch.from_numpy(ridge.predict(new_x))
        assert_close(found[:, step], expected, rtol=0, atol=1e-9)
    assert model.known == KNOWN
    assert sum(p.numel() for p in model.parameters()) == T * P + P + (T + 1) * 2 * P


def test_a_holiday_that_is_over_is_not_taken_for_a_new_level():
    chance = draw(400 + T + P - 1, seed=3)
    holiday = (draw(len(chance), seed=4) > 1).double()
    load = 5 + 0.1 * chance - 7 * holiday
    both = torch.stack([load, holiday], -1).unfold(0, T + P, 1).mT
    past, target = both[:, :T, 0], both[:, T:, 0]
    model = fit_linear(past, target, 0.1, known=both[..., 1:], columns=(1,))
    new = torch.tensor([[5.0, 0.0]] * (T - 1) + [[-2.0, 1.0]], dtype=torch.float64)[None]
    quiet, marks = torch.zeros(1, P, 2, dtype=torch.float64), torch.zeros(1, T + P, 3).long()
    busy = quiet.clone()
    busy[0, 2, 1] = 1.0
    assert_close(model(new, quiet, marks), torch.full((1, P), 5.0).double(), rtol=0, atol=0.3)
    change = model(new, busy, marks) - model(new, quiet, marks)
    assert change[0, 2].item() == pytest.approx(-7, abs=0.3)
    assert change.count_nonzero() == 1


def test_known_columns_that_do_not_fit_are_refused():
    past, known, target = with_known(9)
    right = told(past, known)
    for given, columns, says in (
        (None, (1,), r"shape None a window instead of \(16, 1\): give a number for each step read"),
        (right, (1,), r"shape \(16, 2\) a window instead of \(16, 1\)"),
        (right[:, T:], KNOWN, r"shape \(5, 2\) a window instead of \(16, 2\)"),
        (right, (), r"shape \(16, 2\) a window instead of \(16, 0\)"),
    ):
        with pytest.raises(ValueError, match=says):
            fit_linear(past[..., 0], target, 1.0, known=given, columns=columns)


def test_a_large_penalty_leaves_the_mean_change():
    past, target = windows()
    model = fit_linear(past, target, 1e12, relative=True)
    change = (target - past[:, -1:]).mean(0)
    assert_close(model(*inputs(past[..., None])), past[:, -1:] + change, rtol=0, atol=1e-6)


def test_an_exact_rule_is_recovered_in_single_precision_data():
    past = draw(60, T).float()
    target = torch.stack([past[:, -1] - 2 * past[:, -3], past[:, 0]], 1)
    model = fit_linear(past, target, 1e-6, relative=False)
    assert model.weight.dtype == torch.float64
    forecast = model(*inputs(past[..., None], horizon=2))
    assert forecast.dtype == torch.float32
    assert_close(forecast, target, rtol=0, atol=1e-5)


def test_a_linear_forecast_reads_the_end_of_a_longer_past_and_channel_0_alone():
    past, target = windows()
    model = fit_linear(past, target, 1.0)
    longer = draw(B, T + 4, C)
    expected = model(*inputs(longer[:, 4:, :1]))
    assert_close(model(*inputs(longer)), expected, rtol=0, atol=0)


def test_its_numbers_move_with_the_module_and_get_no_gradients():
    model = LinearForecast(draw(T, P), draw(P), relative=True)
    assert {*model.state_dict()} == {"weight", "bias"}
    assert sum(p.numel() for p in model.parameters()) == T * P + P
    assert not any(p.requires_grad for p in model.parameters())


def test_a_past_or_horizon_that_does_not_fit_is_refused():
    model = LinearForecast(draw(T, P), draw(P), relative=True)
    with pytest.raises(ValueError, match=r"a past of 10 steps is too short: cut windows of 11"):
        model(*inputs(draw(B, T - 1, C)))
    with pytest.raises(ValueError, match=r"fitted for 5 steps ahead, not 6: fit anew"):
        model(*inputs(draw(B, T, C), horizon=6))


@pytest.mark.parametrize("penalty", [0.0, -1.0])
def test_a_fit_without_a_penalty_is_refused(penalty):
    with pytest.raises(ValueError, match=r"must be above 0: without one, weights may be undeter"):
        fit_linear(*windows(), penalty)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_an_iterated_autoregression_feeds_on_its_own_forecasts(order):
    coefficients = fit_ar(draw(80).cumsum(0), order)
    past = draw(B, T, C)
    forecast = iterate_ar(coefficients)(*inputs(past))
    for b in range(B):
        series = past[b, :, 0]
        for _ in range(P):
            series = torch.cat([series, forecast_ar(series, coefficients)[-1:]])
        assert_close(forecast[b], series[T:])


def test_an_autoregression_with_too_short_a_past_is_refused():
    with pytest.raises(ValueError, match=r"a past of 11 steps is too short: cut windows of 12"):
        iterate_ar(draw(13))(*inputs(draw(B, T, C)))
