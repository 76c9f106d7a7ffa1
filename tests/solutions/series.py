"""Solutions of the exercises of notebook 07, right and wrong."""

import math

import torch
from torch.nn import functional as F

from coursekit.exercises import series

# --- check_join_history -------------------------------------------------------------------------


def join_by_cat(z, x):
    late = torch.cat([torch.zeros_like(z[:, :1]), z[:, :-1]], 1)
    return torch.cat([late[..., None], x], -1)


def join_by_pad(z, x):
    joined = F.pad(x, (1, 0))
    joined[:, 1:, 0] = z[:, :-1]
    return joined


def join_without_a_shift(z, x):
    return torch.cat([z[..., None], x], -1)


def join_in_a_circle(z, x):
    return torch.cat([z.roll(1, 1)[..., None], x], -1)


def join_with_late_covariates(z, x):
    return F.pad(torch.cat([z[..., None], x], -1), (0, 0, 1, 0))[:, :-1]


def join_with_the_first_repeated(z, x):
    return torch.cat([torch.cat([z[:, :1], z[:, :-1]], 1)[..., None], x], -1)


def join_across_the_series(z, x):
    late = F.pad(z.flatten(), (1, 0))[:-1].view_as(z)  # a series begins with the end of another
    return torch.cat([late[..., None], x], -1)


# --- check_rotate_code --------------------------------------------------------------------------


def turn(code, angle):
    sine, cosine = code[0::2], code[1::2]
    turned = [
        sine * angle.cos() + cosine * angle.sin(),
        cosine * angle.cos() - sine * angle.sin(),
    ]
    return torch.stack(turned, -1).flatten()


def angles_of(code, steps):
    return steps / 10_000 ** (torch.arange(0, len(code), 2) / len(code))


def rotate_by_pairs(code, steps):
    return turn(code, angles_of(code, steps))


def rotate_by_matrix(code, steps):
    blocks = [
        torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])
        for a in angles_of(code, steps)
    ]
    return torch.block_diag(*blocks) @ code


def rotate_backwards(code, steps):
    return rotate_by_pairs(code, -steps)


def rotate_with_one_frequency(code, steps):
    return turn(code, torch.tensor(float(steps)))


def rotate_with_halves(code, steps):
    half = len(code) // 2
    swapped = torch.stack([code[:half], code[half:]], -1).flatten()
    return torch.cat([*rotate_by_pairs(swapped, steps).view(half, 2).T])


def rotate_with_doubled_exponents(code, steps):
    return turn(code, steps / 10_000 ** (2 * torch.arange(0, len(code), 2) / len(code)))


def rotate_by_finding_the_position(code, steps):
    position = torch.atan2(code[0], code[1])  # of the many positions with such a first pair
    angle = angles_of(code, position + steps)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten()


def rotate_step_by_step(code, steps):
    for _ in range(steps):
        code = rotate_by_pairs(code, 1)
    return code


# --- check_compare_stretches --------------------------------------------------------------------


def stretches_by_slices(x, lags):
    padded = F.pad(x, (len(lags) - 1, 0))
    return sum(
        weight * padded[len(lags) - 1 - i : len(padded) - i] for i, weight in enumerate(lags)
    )


def stretches_by_conv1d(x, lags):
    padded = F.pad(x, (len(lags) - 1, 0))
    return F.conv1d(padded[None, None], lags.flip(0)[None, None])[0, 0]


def stretches_not_flipped(x, lags):
    padded = F.pad(x, (len(lags) - 1, 0))
    return F.conv1d(padded[None, None], lags[None, None])[0, 0]


def stretches_padded_on_both_sides(x, lags):
    side = len(lags) - 1
    padded = F.pad(x, (side - side // 2, side // 2))
    return F.conv1d(padded[None, None], lags.flip(0)[None, None])[0, 0]


def stretches_in_a_circle(x, lags):
    return sum(weight * x.roll(i) for i, weight in enumerate(lags))


def stretches_cut_from_the_end(x, lags):
    side = len(lags) - 1
    return F.conv1d(x[None, None], lags.flip(0)[None, None], padding=side)[0, 0, :-side]


def stretches_of_an_odd_number(x, lags):
    padded = F.pad(x, (len(lags) // 2 * 2, 0))
    return F.conv1d(padded[None, None], lags.flip(0)[None, None])[0, 0, : len(x)]


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


def average_of_reads(x, reads):
    return torch.stack([x[reads(t)].mean() for t in range(len(x))])


def average_without_itself(x):
    total, back = torch.zeros_like(x), 1
    count = torch.zeros(len(x))
    while back < len(x):
        total[back:] += x[:-back]
        count[back:] += 1
        back *= 2
    return total / count.clamp(min=1)


def average_of_positions(x):
    positions = [0] + [2**j for j in range(20)]
    return average_of_reads(x, lambda t: [s for s in positions if s <= t])


def average_over_all_steps(x):
    return average_by_shifts(x).cumsum(0) / len(x)


def average_with_one_back_too_few(x):
    return average_of_reads(x, lambda t: [t] + [t - 2**j for j in range(20) if 2**j < t])


def average_both_ways(x):
    return (average_by_shifts(x) + average_by_shifts(x.flip(0)).flip(0)) / 2


def average_of_the_past(x):
    return x.cumsum(0) / torch.arange(1, len(x) + 1)


def average_over_a_window(x):
    return average_of_reads(x, lambda t: slice(max(t - 2, 0), t + 1))


def average_up_to_8_steps_back(x):
    return average_of_reads(x, lambda t: [t - back for back in (0, 1, 2, 4, 8) if back <= t])


# --- check_gap_to_uniform -----------------------------------------------------------------------


def gap_by_logsumexp(scores):
    return scores.logsumexp(-1) - scores.mean(-1) - math.log(scores.shape[-1])


def gap_by_log_weights(scores):
    return -scores.log_softmax(-1).mean(-1) - math.log(scores.shape[-1])


def gap_the_other_way(scores):
    logs = scores.log_softmax(-1)
    return (logs.exp() * logs).sum(-1) + math.log(scores.shape[-1])


def gap_without_the_constant(scores):
    return scores.logsumexp(-1) - scores.mean(-1)


def gap_of_the_highest(scores):
    return scores.amax(-1) - scores.mean(-1)


def gap_that_overflows(scores):
    return scores.exp().sum(-1).log() - scores.mean(-1) - math.log(scores.shape[-1])


def gap_over_the_rows(scores):
    return gap_by_logsumexp(scores if scores.ndim == 1 else scores.T)


def gap_to_the_mean_of_all(scores):
    return scores.logsumexp(-1) - scores.mean() - math.log(scores.shape[-1])


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    series.check_join_history: (
        [join_by_cat, join_by_pad],
        {
            join_without_a_shift: "[[1.0, 2.0, 3.0]]",
            join_in_a_circle: "[[1.0, 2.0, 3.0]]",
            join_with_late_covariates: "[[1.0, 2.0, 3.0]]",
            join_with_the_first_repeated: "[[1.0, 2.0, 3.0]]",
            join_across_the_series: "[[0.33669, 0.128809, 0.23",
        },
    ),
    series.check_rotate_code: (
        [rotate_by_pairs, rotate_by_matrix],
        {
            rotate_backwards: "[0.0, 1.0], 1",
            rotate_with_one_frequency: "[0.0, 1.0, 0.0, 1.0], 7",
            rotate_with_halves: "[0.0, 1.0, 0.0, 1.0], 7",
            rotate_with_doubled_exponents: "[0.0, 1.0, 0.0, 1.0], 7",
            rotate_by_finding_the_position: "0.96], 0",
            rotate_step_by_step: "-0.8, 0.6], -3",
        },
    ),
    series.check_compare_stretches: (
        [stretches_by_slices, stretches_by_conv1d],
        {
            stretches_not_flipped: "[1.0, 2.0, 4.0, 8.0]",
            stretches_padded_on_both_sides: "[1.0, 2.0, 4.0, 8.0]",
            stretches_in_a_circle: "[1.0, 2.0, 4.0, 8.0]",
            stretches_cut_from_the_end: "[3.0, 5.0], [2.0]",
            stretches_of_an_odd_number: "[1.0, 0.0, 0.0], [0.5, 0.25]",
        },
    ),
    series.check_average_log_sparse: (
        [average_by_table, average_by_shifts],
        {
            average_without_itself: "[8.0]",
            average_of_positions: "[1.0, 2.0, 4.0, 8.0]",
            average_over_all_steps: "[1.0, 2.0, 4.0, 8.0]",
            average_with_one_back_too_few: "[1.0, 2.0, 4.0, 8.0]",
            average_both_ways: "[1.0, 2.0, 4.0, 8.0]",
            average_of_the_past: "[1.0, 2.0, 4.0, 8.0]",
            average_over_a_window: "16.0, 25.0, 36.0",
            average_up_to_8_steps_back: "-0.8101",
        },
    ),
    series.check_gap_to_uniform: (
        [gap_by_logsumexp, gap_by_log_weights],
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
