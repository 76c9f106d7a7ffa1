"""What lesson 09b says and doesn't show: two ways to one estimate, a series without an order."""

from itertools import pairwise

import pytest
import torch
from torch.testing import assert_close

from coursekit import data
from coursekit.evaluate.forecasts import walk_forward
from coursekit.evaluate.likelihood import compare_losses, gaussian_nll
from coursekit.models.baselines import fit_ar, forecast_ar

TRUTH = 0.25, 1.5, -0.75  # c, a_1, a_2


def swing(n=20_000):
    c, a1, a2 = TRUTH
    series = [1.0, 1.0]
    for pea in torch.randn(n, generator=torch.Generator().manual_seed(42)).tolist():
        series.append(c + a1 * series[-1] + a2 * series[-2] + pea)
    return torch.tensor(series, dtype=torch.float64)


def test_a_fit_explains_of_the_pendulum_what_its_equation_leaves_to_no_pea():
    """R² = 1 - σ² / Var(x), the variance of an AR(2) with σ = 1: Box and Jenkins, chapter 3."""
    _, a1, a2 = TRUTH
    x, half = swing(), 10_000
    c, b1, b2 = fit_ar(x[:half], 2)
    errors = x[half:] - (c + b1 * x[half - 1 : -1] + b2 * x[half - 2 : -2])
    r2 = 1 - errors.square().mean() / (x[half:] - x[:half].mean()).square().mean()
    wanted = 1 - (1 + a2) * ((1 - a2) ** 2 - a1**2) / (1 - a2)
    assert_close(r2.item(), wanted, rtol=0, atol=0.01)


def test_gradient_descent_on_the_likelihood_finds_least_squares():
    x = swing()
    lags = torch.stack([torch.ones_like(x[2:]), x[1:-1], x[:-2]], 1)
    parameters = torch.zeros(4, dtype=torch.float64, requires_grad=True)  # and ln σ
    for _ in range(1500):
        loss = gaussian_nll(x[2:], lags @ parameters[:3], parameters[3]).mean()
        (gradient,) = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            parameters -= 0.05 * gradient
    by_squares = fit_ar(x, 2)
    assert_close(parameters.detach()[:3], by_squares, rtol=0, atol=1e-8)
    errors = x[2:] - lags @ by_squares
    assert_close(parameters.detach()[3].exp(), errors.std(correction=0), rtol=1e-6, atol=0)
    assert_close(by_squares, x.new_tensor(TRUTH), rtol=0, atol=0.02)


def test_a_hidden_markov_model_has_no_order():
    """However many symbols are given, one more before them lowers the entropy of the next."""
    switch = torch.tensor([[0.95, 0.05], [0.05, 0.95]], dtype=torch.float64)  # mood → next mood
    shows = torch.tensor([[0.8, 0.2], [0.2, 0.8]], dtype=torch.float64)  # mood → symbol
    paths = torch.tensor([[0.5, 0.5]], dtype=torch.float64)  # p(symbols so far, mood)
    entropy = [0.0]
    for _ in range(12):  # 4,096 sequences in the end
        paths = torch.cat([(paths * shows[:, symbol]) @ switch for symbol in (0, 1)])
        p = paths.sum(1)
        entropy.append(-(p * p.log()).sum().item())
    given = torch.tensor(entropy, dtype=torch.float64).diff()  # of the next symbol, given k
    wanted = torch.tensor([0.6931, 0.6397, 0.6184, 0.6069], dtype=torch.float64)
    assert_close(given[:4], wanted, rtol=0, atol=5e-5)
    assert_close(given[11].item(), 0.59605, rtol=0, atol=5e-6)
    gains = -given.diff()
    assert gains.min() > 4e-5
    assert (gains.diff() < 0).all()  # each adds less than the one before


def clark_and_west(actual, mean, model, lags):
    adjusted = (actual - model).square() - (mean - model).square()
    return compare_losses((actual - mean).square(), adjusted, lags)[1]


def test_clark_and_west_say_what_the_coins_say():
    """With the price of fitting given back, both leads pass 1.65: Clark and West 2007, eq. 3.1."""
    gdp = data.us_gdp()
    growth = 400 * gdp.values[:, 0].log().diff()
    start = [time.year for time in gdp.times[1:]].index(1985)
    mean, model = (
        walk_forward(one, growth, start)
        for one in (torch.mean, lambda past: forecast_ar(past, fit_ar(past, 2))[-1])
    )
    assert clark_and_west(growth[start:], mean, model, 4) == pytest.approx(1.718, abs=0.005)
    days, closes = data.sp500()
    returns = torch.tensor(closes, dtype=torch.float64).log().diff()[19:]
    year = torch.tensor([day.year for day in days[20:]])
    ends = [int((year < first).sum()) for first in (2008, 2011, 2014, 2017, 2019)]
    mean = torch.cat([returns[:i].mean().expand(j - i) for i, j in pairwise(ends)])
    fits = [fit_ar(returns[:i], 1) for i in ends[:-1]]
    parts = zip(fits, pairwise(ends), strict=True)
    model = torch.cat([c + a * returns[i - 1 : j - 1] for (c, a), (i, j) in parts])
    assert clark_and_west(returns[ends[0] :], mean, model, 10) == pytest.approx(2.327, abs=0.005)


def forecasts_of_returns(order):
    """Days, returns from 2008 on, and what the mean and an AR forecast, refitted four times."""
    days, closes = data.sp500()
    returns = torch.tensor(closes, dtype=torch.float64).log().diff()[19:]
    year = torch.tensor([day.year for day in days[20:]])
    ends = [int((year < first).sum()) for first in (2008, 2011, 2014, 2017, 2019)]
    mean = torch.cat([returns[:i].mean().expand(j - i) for i, j in pairwise(ends)])
    model = torch.cat(
        [
            forecast_ar(returns[: j - 1], fit_ar(returns[:i], order))[i - order :]
            for i, j in pairwise(ends)
        ]
    )
    return days[20 + ends[0] :], returns[ends[0] :], mean, model


def test_the_lead_on_returns_was_won_in_panics():
    days, returns, mean, model = forecasts_of_returns(1)
    base, error = (returns - mean).square(), (returns - model).square()
    saved = base - error
    years = torch.tensor([day.year for day in days])
    parts = [(years >= a) & (years < b) for a, b in ((2008, 2010), (2010, 2012), (2012, 2019))]
    fractions = [(saved[part].sum() / saved.sum()).item() for part in parts]
    assert fractions == pytest.approx([0.932, 0.340, -0.272], abs=0.002)


def test_a_week_of_falls_is_followed_by_wilder_days():
    """What lesson 9b says of its three numbers: the weight of the signed week is negative."""
    days, closes = data.sp500()
    returns = torch.tensor(closes, dtype=torch.float64).log().diff()[19:]
    size = returns.abs()
    ten, week = size.unfold(0, 10, 1).mean(1)[:-1], returns.unfold(0, 5, 1).mean(1)[5:-1]
    reads = torch.stack([torch.ones_like(ten), ten, week], 1)
    end = sum(day.year < 2008 for day in days[20:]) - 10
    weights = torch.linalg.lstsq(reads[:end], size[10 : 10 + end]).solution
    assert weights.tolist() == pytest.approx([0.0023, 0.7218, -0.3009], abs=1e-4)


def test_of_six_orders_the_first_has_the_highest_ratio():
    ratios = {}
    for order in (1, 2, 3, 5, 10, 20):
        _, returns, mean, model = forecasts_of_returns(order)
        losses = ((returns - one).square() for one in (mean, model))
        ratios[order] = compare_losses(*losses, 10)[1]
    first, second = sorted(ratios.values(), reverse=True)[:2]
    assert first == ratios[1]
    assert second == pytest.approx(1.317, abs=0.002)
