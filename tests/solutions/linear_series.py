"""Solutions of the exercises of notebook 09b, right and wrong."""

import torch

from coursekit.exercises import linear_series

# --- check_autocovariance -----------------------------------------------------------------------


def _products(d, k):
    centred = d - d.mean()
    return centred[k:] * centred[: len(d) - k]


def gamma_by_formula(d, k):
    return _products(d, k).sum() / len(d)


def gamma_one_by_one(d, k):
    mean = (sum(d) / len(d)).item()
    pairs = zip(d.tolist()[k:], d.tolist(), strict=False)
    return sum((late - mean) * (early - mean) for late, early in pairs) / len(d)


def gamma_of_nothing_for_0(d, k):
    centred = d - d.mean()
    return (centred[k:][: len(centred[:-k])] * centred[:-k]).sum() / len(d)


def gamma_without_the_mean(d, k):
    return (d[k:] * d[: len(d) - k]).sum() / len(d)


def gamma_by_the_number_of_pairs(d, k):
    return _products(d, k).mean()


def gamma_as_a_correlation(d, k):
    return _products(d, k).sum() / _products(d, 0).sum()


def gamma_of_neighbours_alone(d, k):
    return gamma_by_formula(d, min(k, 1))


# --- check_careful_error ------------------------------------------------------------------------


def _careful(first, second, lags, weight, factor=2, begin=1, divisor_lag=None, centre=True):
    difference = first - second
    n = len(difference)
    centred = difference - difference.mean() if centre else difference
    variance = centred.square().mean()
    for k in range(begin, lags + 1):
        lag = k if divisor_lag is None else divisor_lag
        pairs = centred[lag:] * centred[: n - lag]
        variance = variance + factor * weight(k, lags) * pairs.sum() / n
    return (variance / n).sqrt()


def _falling(k, lags):
    return 1 - k / (lags + 1)


def careful_by_lags(first, second, lags):
    return _careful(first, second, lags, _falling)


def careful_by_a_kernel(first, second, lags):
    centred = (first - second) - (first - second).mean()
    steps = torch.arange(len(centred))
    kernel = (1 - (steps[:, None] - steps).abs() / (lags + 1)).clamp(min=0).to(centred.dtype)
    return (centred @ kernel @ centred).sqrt().item() / len(centred)


def careful_from_lag_0(first, second, lags):
    return _careful(first, second, lags, _falling, begin=0)


def careful_on_one_side(first, second, lags):
    return _careful(first, second, lags, _falling, factor=1)


def careful_without_weights(first, second, lags):
    return _careful(first, second, lags, lambda k, lags: 1)


def careful_down_to_0(first, second, lags):
    return _careful(first, second, lags, lambda k, lags: 1 - k / lags)


def careful_up_to_the_lag_before(first, second, lags):
    return _careful(first, second, lags - 1, lambda k, before: 1 - k / (before + 2))


def careful_by_the_number_of_pairs(first, second, lags):
    n = len(first)
    return _careful(first, second, lags, lambda k, lags: _falling(k, lags) * n / (n - k))


def careful_without_the_mean(first, second, lags):
    return _careful(first, second, lags, _falling, centre=False)


def careful_with_halves(first, second, lags):
    return _careful(first, second, lags, lambda k, lags: 0.5)


def careful_with_the_first_lag_alone(first, second, lags):
    return _careful(first, second, lags, _falling, divisor_lag=1)


def careful_with_two_lags_at_most(first, second, lags):
    return careful_by_lags(first, second, min(lags, 2))


# --- check_kalman_step --------------------------------------------------------------------------


def kalman_by_gain(mean, variance, x, r, q):
    k = variance / (variance + r)
    return mean + k * (x - mean), (1 - k) * variance + q


def kalman_by_both_weights(mean, variance, x, r, q):
    k = variance / (variance + r)
    return (1 - k) * mean + k * x, (1 - k) ** 2 * variance + k**2 * r + q


def kalman_on_top_of_the_mean(mean, variance, x, r, q):
    k = variance / (variance + r)
    return mean + k * x, k * r + q


def kalman_of_a_level_at_rest(mean, variance, x, r, q):
    return kalman_by_gain(mean, variance, x, r, 0)


def kalman_divided_by_the_variance(mean, variance, x, r, q):
    k = 1 / (1 + r / variance)
    return mean + k * (x - mean), k * r + q


def kalman_with_the_other_weight(mean, variance, x, r, q):
    k = r / (variance + r)
    return mean + k * (x - mean), k * r + q


def kalman_that_steps_first(mean, variance, x, r, q):
    return kalman_by_gain(mean, variance + q, x, r, 0)


def kalman_that_takes_r_for_1(mean, variance, x, r, q):
    return kalman_by_gain(mean, variance, x, 1.0, q)


def kalman_with_the_gain_as_variance(mean, variance, x, r, q):
    k = variance / (variance + r)
    return mean + k * (x - mean), k + q


def kalman_never_surer(mean, variance, x, r, q):
    return kalman_by_gain(mean, variance, x, r, q)[0], variance + q


ROWS = {
    linear_series.check_kalman_step: (
        [kalman_by_gain, kalman_by_both_weights],
        {
            kalman_on_top_of_the_mean: "1.0, 2.0, 3.0, 4.0, 0.0",
            kalman_of_a_level_at_rest: "0.0, 2.0, 3.0, 4.0, 0.5",
            kalman_that_steps_first: "0.0, 2.0, 3.0, 4.0, 0.5",
            kalman_divided_by_the_variance: "0.0, 0.0, 3.0, 4.0, 0.0) raised ZeroDivisionError",
            kalman_with_the_other_weight: "1.0, 2.0, 3.0, 4.0, 0.0",
            kalman_never_surer: "1.0, 2.0, 3.0, 4.0, 0.0",
            kalman_that_takes_r_for_1: "1.0, 2.0, 3.0, 4.0, 0.0",
            kalman_with_the_gain_as_variance: "1.0, 2.0, 3.0, 4.0, 0.0",
        },
    ),
    linear_series.check_autocovariance: (
        [gamma_by_formula, gamma_one_by_one],
        {
            gamma_of_nothing_for_0: "[1.0, -1.0]",
            gamma_without_the_mean: "[4.0, 0.0, 5.0]",
            gamma_by_the_number_of_pairs: "[4.0, 0.0, 5.0]",
            gamma_as_a_correlation: "[4.0, 0.0, 5.0]",
            gamma_of_neighbours_alone: "[2.0, -1.0, -2.0, 1.0]",
        },
    ),
    linear_series.check_careful_error: (
        [careful_by_lags, careful_by_a_kernel],
        {
            careful_from_lag_0: "[4.0, 0.0]",
            careful_on_one_side: "[5.0, 3.0, 0.0, 2.0]",
            careful_without_weights: "[5.0, 3.0, 0.0, 2.0]",
            careful_down_to_0: "[5.0, 3.0, 0.0, 2.0]",
            careful_up_to_the_lag_before: "[5.0, 3.0, 0.0, 2.0]",
            careful_by_the_number_of_pairs: "[5.0, 3.0, 0.0, 2.0]",
            careful_without_the_mean: "[4.0, 3.0, 0.0, 2.0], [1.0, 1.0",
            careful_with_halves: "[4.0, 3.0, 0.0, 2.0, 1.0]",
            careful_with_the_first_lag_alone: "[4.0, 3.0, 0.0, 2.0, 1.0]",
            careful_with_two_lags_at_most: "[6.0, 5.0, 2.0, 3.0, 1.0",
        },
    ),
}
