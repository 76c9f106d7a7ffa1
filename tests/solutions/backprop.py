"""Solutions of the exercises of notebook 03, right and wrong."""

import torch
from torch.nn import functional as F

from coursekit.exercises import backprop

# --- check_dhpreact -----------------------------------------------------------------------------


def tanh_by_square(dh, h):
    return dh * (1 - h**2)


def tanh_by_cosh(dh, h):
    return dh / h.atanh().cosh() ** 2


def tanh_forgets_the_chain(dh, h):
    return 1 - h**2


def tanh_twice(dh, h):
    return dh * (1 - h.tanh() ** 2)


def tanh_without_square(dh, h):
    return dh * (1 - h)


def tanh_with_a_two(dh, h):
    return 2 * dh * (1 - h**2)


def tanh_averaged(dh, h):
    return dh * (1 - h**2) / len(h)


# --- check_dcount_sum ---------------------------------------------------------------------------


def sum_by_square(dprobs, counts):
    return -(dprobs * counts).sum(1, keepdim=True) / counts.sum(1, keepdim=True) ** 2


def sum_by_probabilities(dprobs, counts):
    total = counts.sum(1, keepdim=True)
    return -(dprobs * (counts / total)).sum(1, keepdim=True) / total


def sum_with_a_plus(dprobs, counts):
    return -sum_by_square(dprobs, counts)


def sum_without_keepdim(dprobs, counts):
    return sum_by_square(dprobs, counts)[:, 0]


def sum_not_summed(dprobs, counts):
    return -(dprobs * counts) / counts.sum(1, keepdim=True) ** 2


def sum_without_square(dprobs, counts):
    return -(dprobs * counts).sum(1, keepdim=True) / counts.sum(1, keepdim=True)


def sum_over_the_whole_table(dprobs, counts):
    return -(dprobs * counts).sum() / counts.sum(1, keepdim=True) ** 2


# --- check_dlogits ------------------------------------------------------------------------------


def logits_by_one_hot(logits, targets):
    return (logits.softmax(1) - F.one_hot(targets, logits.shape[1])) / len(logits)


def logits_by_subtraction(logits, targets):
    gradient = logits.log_softmax(1).exp()
    gradient[range(len(targets)), targets] -= 1
    return gradient / len(targets)


def logits_not_divided(logits, targets):
    return len(logits) * logits_by_one_hot(logits, targets)


def logits_with_the_wrong_sign(logits, targets):
    return -logits_by_one_hot(logits, targets)


def logits_without_y(logits, targets):
    return logits.softmax(1) / len(logits)


def logits_that_overflow(logits, targets):
    p = logits.exp() / logits.exp().sum(1, keepdim=True)
    return (p - F.one_hot(targets, logits.shape[1])) / len(logits)


# --- check_dvariance ----------------------------------------------------------------------------


def variance_by_power(dxhat, centred, variance):
    return (dxhat * centred).sum(0) * -0.5 * (variance + 1e-5) ** -1.5


def variance_by_steps(dxhat, centred, variance):
    root = (variance + 1e-5).sqrt()
    dinverse = (dxhat * centred).sum(0)
    droot = -dinverse / root**2
    return droot / (2 * root)


def variance_not_summed(dxhat, centred, variance):
    return dxhat * centred * -0.5 * (variance + 1e-5) ** -1.5


def variance_with_a_plus(dxhat, centred, variance):
    return -variance_by_power(dxhat, centred, variance)


def variance_without_half(dxhat, centred, variance):
    return 2 * variance_by_power(dxhat, centred, variance)


def variance_with_the_wrong_power(dxhat, centred, variance):
    return (dxhat * centred).sum(0) * -0.5 * (variance + 1e-5) ** -0.5


def variance_summed_over_channels_too(dxhat, centred, variance):
    return (dxhat * centred).sum() * -0.5 * (variance + 1e-5) ** -1.5


def variance_without_eps(dxhat, centred, variance):
    return (dxhat * centred).sum(0) * -0.5 * variance**-1.5


# --- check_dtable -------------------------------------------------------------------------------


def table_by_index_add(drows, tokens, vocab_size):
    table = torch.zeros(vocab_size, drows.shape[-1])
    return table.index_add(0, tokens.flatten(), drows.flatten(0, 1))


def table_by_loop(drows, tokens, vocab_size):
    table = torch.zeros(vocab_size, drows.shape[-1], dtype=torch.float64)
    for i, row in enumerate(tokens.tolist()):
        for k, token in enumerate(row):
            table[token] += drows[i, k]
    return table


def table_overwritten(drows, tokens, vocab_size):
    table = torch.zeros(vocab_size, drows.shape[-1])
    table[tokens] = drows
    return table


def table_added_once(drows, tokens, vocab_size):
    table = torch.zeros(vocab_size, drows.shape[-1])
    table[tokens] += drows  # a repeated index counts once
    return table


def table_of_means(drows, tokens, vocab_size):
    times = torch.bincount(tokens.flatten(), minlength=vocab_size).clamp(min=1)
    return table_by_index_add(drows, tokens, vocab_size) / times[:, None]


def table_too_short(drows, tokens, vocab_size):
    return table_by_index_add(drows, tokens, int(tokens.max()) + 1)


def table_never_added_to(drows, tokens, vocab_size):
    table = torch.zeros(vocab_size, drows.shape[-1])
    table.index_add(0, tokens.flatten(), drows.flatten(0, 1))  # the sum is returned, and lost
    return table


def table_averaged_over_examples(drows, tokens, vocab_size):
    return table_by_index_add(drows, tokens, vocab_size) / len(tokens)


ROWS = {
    backprop.check_dhpreact: (
        [tanh_by_square, tanh_by_cosh],
        {
            tanh_forgets_the_chain: "[[1.0, -2.0]]",
            tanh_twice: "[[1.0, -2.0]]",
            tanh_without_square: "[[1.0, -2.0]]",
            tanh_with_a_two: "[[1.0, -2.0]]",
            tanh_averaged: "[[3.0, 1.0, 0.5]",
        },
    ),
    backprop.check_dcount_sum: (
        [sum_by_square, sum_by_probabilities],
        {
            sum_with_a_plus: "[[1.0, 2.0]]",
            sum_without_keepdim: "[[1.0, 2.0]]",
            sum_not_summed: "[[1.0, 2.0]]",
            sum_without_square: "[[1.0, 2.0]]",
            sum_over_the_whole_table: "[[1.0, 0.0, -1.0], [2.0, 1.0, 0.5]]",
        },
    ),
    backprop.check_dlogits: (
        [logits_by_one_hot, logits_by_subtraction],
        {
            logits_not_divided: "[[0.0, 1.0], [3.0, -1.0], [0.5, 0.5]]",  # 1/n is 1 for one row
            logits_with_the_wrong_sign: "[[0.0, 1.0, 2.0]]",
            logits_without_y: "[[0.0, 1.0, 2.0]]",
            logits_that_overflow: "[[500.0, 0.0, 1.0, 2.0]",
        },
    ),
    backprop.check_dvariance: (
        [variance_by_power, variance_by_steps],
        {
            variance_not_summed: "[[1.0], [2.0]]",
            variance_with_a_plus: "[[1.0], [2.0]]",
            variance_without_half: "[[1.0], [2.0]]",
            variance_with_the_wrong_power: "[[1.0], [2.0]]",
            variance_summed_over_channels_too: "[7.0, 13.0]",
            variance_without_eps: "[0.02",
        },
    ),
    backprop.check_dtable: (
        [table_by_index_add, table_by_loop],
        {
            table_overwritten: "[[1, 1]], 4",
            table_added_once: "[[1, 1]], 4",
            table_of_means: "[[1, 1]], 4",
            table_too_short: "[[1, 1]], 4",
            table_never_added_to: "[[0, 2]], 3",
            table_averaged_over_examples: "[[0, 4], [4, 4], [2, 0]], 5",
        },
    ),
}
