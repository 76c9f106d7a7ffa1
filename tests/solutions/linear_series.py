"""Solutions of the exercises of notebook 09b, right and wrong."""

import torch

from coursekit.exercises import linear_series

# --- check_paired_error -------------------------------------------------------------------------


def pair_by_formula(first, second):
    difference = first - second
    return (difference - difference.mean()).square().mean().sqrt() / len(difference) ** 0.5


def pair_by_covariance(first, second):
    table = torch.cov(torch.stack([first, second]), correction=0)
    return ((table[0, 0] + table[1, 1] - 2 * table[0, 1]) / len(first)).sqrt().item()


def pair_with_n_minus_1(first, second):
    return (first - second).std() / len(first) ** 0.5


def pair_without_the_root_of_n(first, second):
    return (first - second).std(correction=0)


def pair_the_squares_again(first, second):
    return pair_by_formula(first.square(), second.square())


def pair_each_with_its_own_error(first, second):
    return ((first.var(correction=0) + second.var(correction=0)) / len(first)).sqrt()


def pair_without_the_mean(first, second):
    return (first - second).square().mean().sqrt() / len(first) ** 0.5


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


ROWS = {
    linear_series.check_paired_error: (
        [pair_by_formula, pair_by_covariance],
        {
            pair_with_n_minus_1: "[4.0, 0.0]",
            pair_without_the_root_of_n: "[4.0, 0.0]",
            pair_the_squares_again: "[4.0, 0.0]",
            pair_each_with_its_own_error: "[4.0, 0.0, 5.0]",
            pair_without_the_mean: "[4.0, 0.0, 5.0]",
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
