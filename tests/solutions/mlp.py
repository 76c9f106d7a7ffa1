"""Solutions of the exercises of notebook 02, right and wrong."""

import math

import torch
from torch.nn import functional as F

from coursekit.exercises import mlp

# --- check_first_loss ---------------------------------------------------------------------------


def loss_by_logsumexp(logits, targets):
    return (logits.logsumexp(1) - logits.gather(1, targets[:, None])[:, 0]).mean()


def loss_by_loop(logits, targets):
    total = 0.0
    for row, target in zip(logits.tolist(), targets.tolist(), strict=True):
        top = max(row)
        total += math.log(sum(math.exp(v - top) for v in row)) + top - row[target]
    return total / len(targets)


def loss_that_overflows(logits, targets):
    p = logits.exp() / logits.exp().sum(1, keepdim=True)
    return -p[range(len(targets)), targets].log().mean()


def loss_summed(logits, targets):
    return F.cross_entropy(logits, targets, reduction="sum")


def loss_without_sign(logits, targets):
    return -F.cross_entropy(logits, targets)


def loss_in_bits(logits, targets):
    return F.cross_entropy(logits, targets) / math.log(2)


def loss_over_the_wrong_axis(logits, targets):
    return -logits.log_softmax(0)[range(len(targets)), targets].mean()


def loss_of_all_pairs(logits, targets):
    return -logits.log_softmax(1)[:, targets].mean()


# --- check_passed_back --------------------------------------------------------------------------


def derivative_by_square(h):
    return 1 - h.square().mean(0)


def derivative_by_factors(h):
    return ((1 - h) * (1 + h)).sum(0) / len(h)


def derivative_of_outputs(h):
    return (1 - h.tanh() ** 2).mean(0)


def derivative_by_example(h):
    return (1 - h**2).mean(1)


def derivative_in_all(h):
    return (1 - h**2).mean()


def derivative_of_mean(h):
    return 1 - h.mean(0) ** 2


def derivative_divided_by_units(h):
    return (1 - h**2).sum(0) / h.shape[1]


# --- check_normalise_batch ----------------------------------------------------------------------


def normalise_by_var(x, eps):
    return (x - x.mean(0)) / (x.var(0, correction=0) + eps) ** 0.5


def normalise_by_column(x, eps):
    columns = []
    for column in x.double().T:
        mean = column.sum() / len(column)
        variance = ((column - mean) ** 2).sum() / len(column)
        columns.append((column - mean) / math.sqrt(variance + eps))
    return torch.stack(columns, dim=1)


def normalise_unbiased(x, eps):
    return (x - x.mean(0)) / (x.var(0) + eps) ** 0.5


def normalise_rows(x, eps):
    return normalise_by_var(x.T, eps).T


def normalise_eps_outside(x, eps):
    return (x - x.mean(0)) / (x.std(0, correction=0) + eps)


def normalise_all_together(x, eps):
    return (x - x.mean()) / (x.var(correction=0) + eps) ** 0.5


# --- check_remember -----------------------------------------------------------------------------


def remember_by_lerp(running, x, momentum):
    return running.lerp(x.var(0), momentum)


def remember_by_hand(running, x, momentum):
    centred = x - x.mean(0)
    return running + momentum * (centred.square().sum(0) / (len(x) - 1) - running)


def remember_biased(running, x, momentum):
    return (1 - momentum) * running + momentum * x.var(0, correction=0)


def remember_swapped(running, x, momentum):
    return momentum * running + (1 - momentum) * x.var(0)


def remember_deviation(running, x, momentum):
    return (1 - momentum) * running + momentum * x.std(0)


def remember_added(running, x, momentum):
    return running + momentum * x.var(0)


def remember_a_tenth(running, x, momentum):
    return 0.9 * running + 0.1 * x.var(0)


def remember_a_sum(running, x, momentum):
    squares = (x - x.mean(0)).square().sum(0)
    return (1 - momentum) * running + momentum * squares


# --- check_update_ratio -------------------------------------------------------------------------


def ratio_by_logs(before, after):
    return (after - before).std().log10() - before.std().log10()


def ratio_by_math(before, after):
    return math.log10((after - before).std().item() / before.std().item())


def ratio_natural(before, after):
    return ((after - before).std() / before.std()).log()


def ratio_without_log(before, after):
    return (after - before).std() / before.std()


def ratio_upside_down(before, after):
    return (before.std() / (after - before).std()).log10()


def ratio_to_after(before, after):
    return ((after - before).std() / after.std()).log10()


def ratio_of_each_column(before, after):
    return ((after - before).std(0) / before.std(0)).log10()


ROWS = {
    mlp.check_first_loss: (
        [loss_by_logsumexp, loss_by_loop],
        {
            loss_that_overflows: "[[1000.0, 0.0]",
            loss_summed: "[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]",
            loss_without_sign: "[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]",
            loss_in_bits: "[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]",
            loss_over_the_wrong_axis: "[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]",
            loss_of_all_pairs: "[[1.0, 2.0, 4.0], [0.0, -1.0, 3.0]], [2, 1]",
        },
    ),
    mlp.check_passed_back: (
        [derivative_by_square, derivative_by_factors],
        {
            derivative_of_outputs: "[[0.0, 0.5], [1.0, -0.5]]",
            derivative_by_example: "[[0.0, 0.5], [1.0, -0.5]]",
            derivative_in_all: "[[0.0, 0.5], [1.0, -0.5]]",
            derivative_of_mean: "[[0.0, 0.5], [1.0, -0.5]]",
            derivative_divided_by_units: "[[0.2",
        },
    ),
    mlp.check_normalise_batch: (
        [normalise_by_var, normalise_by_column],
        {
            normalise_unbiased: "[[1.0, 10.0], [3.0, 30.0], [8.0, 20.0]]",
            normalise_rows: "[[1.0, 10.0], [3.0, 30.0], [8.0, 20.0]]",
            normalise_eps_outside: "[[0.0, 1.0, 2.0]",
            normalise_all_together: "[[1.0, 10.0], [3.0, 30.0], [8.0, 20.0]]",
        },
    ),
    mlp.check_remember: (
        [remember_by_lerp, remember_by_hand],
        {
            remember_biased: "[1.0, 1.0], [[1.0, 10.0], [3.0, 30.0]], 0.1",
            remember_swapped: "[1.0, 1.0], [[1.0, 10.0], [3.0, 30.0]], 0.1",
            remember_deviation: "[1.0, 1.0], [[1.0, 10.0], [3.0, 30.0]], 0.1",
            remember_added: "[1.0, 1.0], [[1.0, 10.0], [3.0, 30.0]], 0.1",
            remember_a_tenth: "[4.0, 0.5, 2.0]",
            remember_a_sum: "[3.0, 1.0]], 1.0",
        },
    ),
    mlp.check_update_ratio: (
        [ratio_by_logs, ratio_by_math],
        {
            ratio_natural: "[1.0, 2.0, 4.0]",
            ratio_without_log: "[1.0, 2.0, 4.0]",
            ratio_upside_down: "[1.0, 2.0, 4.0]",
            ratio_to_after: "[1.0, 2.0, 4.0]",
            ratio_of_each_column: "[[10.0, -10.0], [3.0, 0.0]]",
        },
    ),
}
