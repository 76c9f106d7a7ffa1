"""The filter of a level that wanders, against statsmodels' and against least squares."""

import math

import pytest
import torch
from statsmodels.regression.recursive_ls import RecursiveLS
from statsmodels.tsa.statespace.structural import UnobservedComponents
from torch.testing import assert_close

from coursekit.data import us_gdp
from coursekit.models.local_level import (
    RATIOS,
    filter_local_level,
    fit_local_level,
    local_level_nll,
    step_level,
)

T = 37


def series(seed=0):
    generator = torch.Generator().manual_seed(seed)
    steps, noise = torch.randn(2, T, generator=generator, dtype=torch.float64)
    return 3 + (0.4 * steps).cumsum(0) + noise


def model_of(values):
    model = UnobservedComponents(values.numpy(), "llevel", loglikelihood_burn=0)
    model.ssm.tolerance = 0  # else it stops updating the variance when it hardly changes
    return model


@pytest.mark.parametrize("level_var", [0.0, 0.3, 5.0])
def test_it_is_the_kalman_filter_of_statsmodels(level_var):
    model = model_of(series())
    model.ssm.initialize_known([0.6], [[0.9]])
    found = model.filter([0.7, level_var])
    means, variances = filter_local_level(
        series(), noise_var=0.7, level_var=level_var, mean=0.6, variance=0.9
    )
    assert_close(means, torch.tensor(found.predicted_state[0]), rtol=1e-12, atol=1e-12)
    assert_close(variances, torch.tensor(found.predicted_state_cov[0, 0]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("variance", [1e-20, 1e-9, 2.0, 1e20])
def test_a_step_keeps_its_digits_however_sure_it_was(variance):
    mean, left = step_level(0.0, variance, 3.0, 4.0, 0.0)
    gain = variance / (variance + 4)
    assert (mean, left) == pytest.approx((3 * gain, 4 * gain), rel=1e-12, abs=0)


def test_a_level_that_is_known_stays_and_one_of_which_nothing_is_known_is_the_value():
    assert step_level(1.0, 0.0, 3.0, 4.0, 0.5) == (1.0, 0.5)
    assert step_level(1.0, math.inf, 3.0, 4.0, 0.5) == (3.0, 4.5)


def test_who_knows_nothing_believes_the_first_value():
    model = model_of(series())
    model.ssm.initialize_diffuse()
    found = torch.tensor(model.filter([1.7, 0.3]).predicted_state[0])
    means, variances = filter_local_level(series(), noise_var=1.7, level_var=0.3)
    assert_close(means, found, rtol=1e-12, atol=1e-12)
    assert (means[1], variances[1]) == (series()[0], 2.0)
    assert variances[0] == math.inf


def test_a_level_that_stands_still_is_followed_by_recursive_least_squares():
    values = series()
    means, variances = filter_local_level(values, noise_var=1.7, level_var=0.0)
    counts = torch.arange(1, T + 1)
    assert_close(means[1:], values.cumsum(0) / counts, rtol=1e-12, atol=0)
    assert_close(variances[1:], 1.7 / counts.double(), rtol=1e-12, atol=0)
    fitted = RecursiveLS(values.numpy(), torch.ones(T).numpy()).fit()
    # Its first estimate starts from a large variance where ours starts from an infinite one.
    found = torch.tensor(fitted.recursive_coefficients.filtered[0])
    assert_close(means[2:], found[1:], rtol=1e-8, atol=1e-8)


def test_in_the_long_run_the_filter_forgets_at_a_steady_pace():
    noise_var, level_var = 2.0, 0.5
    _, variances = filter_local_level(series(), noise_var=noise_var, level_var=level_var)
    ratio = level_var / noise_var
    steady = noise_var * (ratio + math.sqrt(ratio**2 + 4 * ratio)) / 2  # P = P r / (P + r) + q
    assert variances[-1].item() == pytest.approx(steady, rel=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"noise_var": 0.0},
        {"noise_var": math.inf},
        {"level_var": -0.1},
        {"level_var": math.inf},
        {"variance": 0.0},
        {"variance": math.nan},
    ],
)
def test_a_variance_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match=r"must be above 0, level_var=.* at least 0"):
        filter_local_level(series(), **({"noise_var": 1.0, "level_var": 1.0} | wrong))


def likelihood(values, noise_var, level_var):
    model = model_of(values)
    model.ssm.initialize_diffuse()
    return model.loglike([noise_var, level_var])


@pytest.mark.parametrize("ratio", [0.0, 0.05, 3.0])
def test_the_likelihood_is_that_of_statsmodels_with_the_best_noise(ratio):
    nll, noise_var = local_level_nll(series(), ratio)
    # Theirs counts the first value, too: as one of variance 1 that came as expected.
    first = 0.5 * math.log(2 * math.pi)
    assert nll == pytest.approx(-likelihood(series(), noise_var, ratio * noise_var) - first)
    for other in (0.9 * noise_var, 1.1 * noise_var):
        assert nll < -likelihood(series(), other, ratio * other) - first


@pytest.mark.parametrize("seed", range(5))
def test_nothing_on_the_grid_is_likelier_than_what_is_found(seed):
    found = likelihood(series(seed), *fit_local_level(series(seed)))
    for ratio in RATIOS[::4]:
        for noise_var in (0.3, 0.6, 1.0, 1.7, 3.0):
            assert likelihood(series(seed), noise_var, ratio * noise_var) <= found + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_as_good_as_that_of_statsmodels(seed):
    theirs = model_of(series(seed)).fit(disp=0).params
    found = likelihood(series(seed), *fit_local_level(series(seed)))
    assert found > likelihood(series(seed), *theirs) - 0.02  # a grid, eight to a factor of ten


def test_of_two_maxima_the_higher_one_is_found():
    growth = 400 * us_gdp().values[:, 0].log().diff()[:138]
    theirs = model_of(growth).fit(disp=0).params
    found = fit_local_level(growth)
    assert likelihood(growth, *found) > likelihood(growth, *theirs) + 0.4
    assert found[1] / found[0] < 0.01 < theirs[1] / theirs[0]
    assert min(abs(found[1] / found[0] - ratio) for ratio in RATIOS) < 1e-12


@pytest.mark.parametrize("values", [[1.0, 2.0], [3.0] * 5])
def test_a_series_that_says_nothing_of_its_noise_is_refused(values):
    with pytest.raises(ValueError, match="give three or more that differ"):
        fit_local_level(torch.tensor(values))
    with pytest.raises(ValueError, match="give three or more that differ"):
        local_level_nll(torch.tensor(values), 0.1)
