"""Solutions of the exercises on cheaper attention in notebook 07, right and wrong."""

from math import log

import torch

from coursekit.exercises import sparse

# --- check_average_log_sparse -------------------------------------------------------------------


def average_by_table(x):
    step = torch.arange(len(x))
    back = step[:, None] - step
    reads = ((back == 0) | torch.isin(back, 2 ** torch.arange(20))).float()
    return reads @ x / reads.sum(1)


def average_by_shifts(x):
    total, count, back = x.clone(), torch.ones(len(x)), 1
    while back < len(x):
        total[back:] += x[:-back]
        count[back:] += 1
        back *= 2
    return total / count


def average_without_itself(x):
    total, back = torch.zeros_like(x), 1
    count = torch.zeros(len(x))
    while back < len(x):
        total[back:] += x[:-back]
        count[back:] += 1
        back *= 2
    return total / count.clamp(min=1)


def average_of_places(x):
    places = [0] + [2**j for j in range(20)]
    return torch.stack([x[[s for s in places if s <= t]].mean() for t in range(len(x))])


def average_over_all_steps(x):
    return average_by_shifts(x).cumsum(0) / len(x)


def average_with_one_back_too_few(x):
    rows = []
    for t in range(len(x)):
        backs = [0] + [2**j for j in range(20) if 2**j < t]
        rows.append(torch.stack([x[t - back] for back in backs]).mean())
    return torch.stack(rows)


def average_both_ways(x):
    return (average_by_shifts(x) + average_by_shifts(x.flip(0)).flip(0)) / 2


def average_of_the_past(x):
    return x.cumsum(0) / torch.arange(1, len(x) + 1)


def average_over_a_window(x):
    return torch.stack([x[max(t - 2, 0) : t + 1].mean() for t in range(len(x))])


def average_up_to_8_steps_back(x):
    rows = []
    for t in range(len(x)):
        backs = [back for back in (0, 1, 2, 4, 8) if back <= t]
        rows.append(torch.stack([x[t - back] for back in backs]).mean())
    return torch.stack(rows)


# --- check_gap_to_uniform -----------------------------------------------------------------------


def gap_by_logsumexp(scores):
    return scores.logsumexp(-1) - scores.mean(-1) - log(scores.shape[-1])


def gap_by_log_shares(scores):
    return -scores.log_softmax(-1).mean(-1) - log(scores.shape[-1])


def gap_the_other_way(scores):
    logs = scores.log_softmax(-1)
    return (logs.exp() * logs).sum(-1) + log(scores.shape[-1])


def gap_without_the_constant(scores):
    return scores.logsumexp(-1) - scores.mean(-1)


def gap_of_the_highest(scores):
    return scores.amax(-1) - scores.mean(-1)


def gap_that_overflows(scores):
    return scores.exp().sum(-1).log() - scores.mean(-1) - log(scores.shape[-1])


def gap_over_the_rows(scores):
    return gap_by_logsumexp(scores if scores.ndim == 1 else scores.T)


def gap_to_the_mean_of_all(scores):
    return scores.logsumexp(-1) - scores.mean() - log(scores.shape[-1])


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    sparse.check_average_log_sparse: (
        [average_by_table, average_by_shifts],
        {
            average_without_itself: "[8.0]",
            average_of_places: "[1.0, 2.0, 4.0, 8.0]",
            average_over_all_steps: "[1.0, 2.0, 4.0, 8.0]",
            average_with_one_back_too_few: "[1.0, 2.0, 4.0, 8.0]",
            average_both_ways: "[1.0, 2.0, 4.0, 8.0]",
            average_of_the_past: "[1.0, 2.0, 4.0, 8.0]",
            average_over_a_window: "16.0, 25.0, 36.0",
            average_up_to_8_steps_back: "-0.8101",
        },
    ),
    sparse.check_gap_to_uniform: (
        [gap_by_logsumexp, gap_by_log_shares],
        {
            gap_the_other_way: "[0.0, 0.0, 3.0]",
            gap_without_the_constant: "[0.0, 0.0, 3.0]",
            gap_of_the_highest: "[0.0, 0.0, 3.0]",
            gap_that_overflows: "[[400.0, 0.0]",
            gap_over_the_rows: "[[2.5, 2.5, 2.5, 2.5]",
            gap_to_the_mean_of_all: "[[0.0, -4.0, 0.0, 0.0, 1.0]",
        },
    ),
}
