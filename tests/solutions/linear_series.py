"""Solutions of the exercises of notebook 09b, right and wrong."""

from itertools import pairwise

import torch

from coursekit.exercises import linear_series

# --- check_follow_coefficient -------------------------------------------------------------------


def follow_by_gain(series, noise_var, step_var, mean, variance):
    found = []
    for before, value in pairwise(series):
        gain = variance * before / (variance * before**2 + noise_var)
        mean = mean + gain * (value - mean * before)
        variance = (1 - gain * before) * variance + step_var
        found.append(mean)
    return torch.stack(found)


def follow_by_conditioning(series, noise_var, step_var, mean, variance):
    """The joint normal distribution of coefficient and value, conditioned on the value."""
    found = torch.zeros(len(series) - 1, dtype=series.dtype)
    for t in range(1, len(series)):
        x = series[t - 1].item()
        covariance, total = variance * x, variance * x * x + noise_var
        mean += covariance / total * (series[t].item() - x * mean)
        variance += step_var - covariance**2 / total
        found[t - 1] = mean
    return found


def _follow(series, noise_var, step_var, mean, variance, gain_of, shrink, before_of=None):
    found = []
    for t in range(1, len(series)):
        before, value = series[t - 1], series[t]
        gain = gain_of(variance, before, noise_var)
        read = before if before_of is None else before_of(before, value)
        mean = mean + gain * (value - mean * read)
        variance = shrink(variance, gain, before) + step_var
        found.append(mean)
    return torch.stack(found)


def _gain(variance, before, noise_var):
    return variance * before / (variance * before**2 + noise_var)


def _shrink(variance, gain, before):
    return (1 - gain * before) * variance


def follow_with_the_value_itself(series, noise_var, step_var, mean, variance):
    def read_the_value(before, value):
        return value

    return _follow(series, noise_var, step_var, mean, variance, _gain, _shrink, read_the_value)


def follow_with_the_gain_of_a_level(series, noise_var, step_var, mean, variance):
    def gain_of(variance, before, noise_var):
        return variance / (variance + noise_var)

    return _follow(series, noise_var, step_var, mean, variance, gain_of, _shrink)


def follow_without_the_square(series, noise_var, step_var, mean, variance):
    def gain_of(variance, before, noise_var):
        return variance * before / (variance * before + noise_var)

    return _follow(series, noise_var, step_var, mean, variance, gain_of, _shrink)


def follow_with_the_variance_of_a_level(series, noise_var, step_var, mean, variance):
    def shrink(variance, gain, before):
        return (1 - gain) * variance

    return _follow(series, noise_var, step_var, mean, variance, _gain, shrink)


def follow_without_steps(series, noise_var, step_var, mean, variance):
    return follow_by_gain(series, noise_var, 0.0, mean, variance)


def follow_with_a_step_first(series, noise_var, step_var, mean, variance):
    return follow_by_gain(series, noise_var, step_var, mean, variance + step_var)


def follow_by_ratios(series, noise_var, step_var, mean, variance):
    found = []
    for before, value in pairwise(series):
        trust = variance * before**2 / (variance * before**2 + noise_var)
        mean = mean + trust * (value / before - mean)
        variance = (1 - trust) * variance + step_var
        found.append(mean)
    return torch.stack(found)


ROWS = {
    linear_series.check_follow_coefficient: (
        [follow_by_gain, follow_by_conditioning],
        {
            follow_with_the_value_itself: "[1.0, 3.0], 2.0",
            follow_with_the_gain_of_a_level: "[2.0, 3.0], 1.0",
            follow_without_the_square: "[2.0, 3.0], 1.0",
            follow_with_the_variance_of_a_level: "[2.0, 3.0, 1.0], 1.0",
            follow_without_steps: "[1.0, 2.0, 1.0, 3.0], 2.0",
            follow_with_a_step_first: "[1.0, 2.0, 1.0, 3.0], 2.0",
            follow_by_ratios: "[2.0, 0.0, -1.0, 1.0], 1.0",
        },
    ),
}
