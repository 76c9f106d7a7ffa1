"""Solutions of the exercises of notebook 07 on series, right and wrong."""

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


def rotate_by_pairs(code, steps):
    angle = steps / 10_000 ** (torch.arange(0, len(code), 2) / len(code))
    sine, cosine = code[0::2], code[1::2]
    turned = [
        sine * angle.cos() + cosine * angle.sin(),
        cosine * angle.cos() - sine * angle.sin(),
    ]
    return torch.stack(turned, -1).flatten()


def rotate_by_matrix(code, steps):
    angle = steps / 10_000 ** (torch.arange(0, len(code), 2) / len(code))
    blocks = [
        torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])
        for a in angle
    ]
    return torch.block_diag(*blocks) @ code


def rotate_backwards(code, steps):
    return rotate_by_pairs(code, -steps)


def rotate_with_one_frequency(code, steps):
    angle = torch.tensor(float(steps))
    sine, cosine = code[0::2], code[1::2]
    turned = [
        sine * angle.cos() + cosine * angle.sin(),
        cosine * angle.cos() - sine * angle.sin(),
    ]
    return torch.stack(turned, -1).flatten()


def rotate_with_halves(code, steps):
    half = len(code) // 2
    swapped = torch.stack([code[:half], code[half:]], -1).flatten()
    return torch.cat([*rotate_by_pairs(swapped, steps).view(half, 2).T])


def rotate_with_doubled_exponents(code, steps):
    angle = steps / 10_000 ** (2 * torch.arange(0, len(code), 2) / len(code))
    sine, cosine = code[0::2], code[1::2]
    turned = [
        sine * angle.cos() + cosine * angle.sin(),
        cosine * angle.cos() - sine * angle.sin(),
    ]
    return torch.stack(turned, -1).flatten()


def rotate_by_finding_the_position(code, steps):
    position = torch.atan2(code[0], code[1])  # of the many positions with such a first pair
    angle = (position + steps) / 10_000 ** (torch.arange(0, len(code), 2) / len(code))
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


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    series.check_join_history: (
        [join_by_cat, join_by_pad],
        {
            join_without_a_shift: "[[1.0, 2.0, 3.0]]",
            join_in_a_circle: "[[1.0, 2.0, 3.0]]",
            join_with_late_covariates: "[[1.0, 2.0, 3.0]]",
            join_with_the_first_repeated: "[[1.0, 2.0, 3.0]]",
            join_across_the_series: "[[0.33669036626815796, 0.12880940735340118, 0.23",
        },
    ),
    series.check_rotate_code: (
        [rotate_by_pairs, rotate_by_matrix],
        {
            rotate_backwards: "[0.0, 1.0], 1",
            rotate_with_one_frequency: "[0.0, 1.0, 0.0, 1.0], 7",
            rotate_with_halves: "[0.0, 1.0, 0.0, 1.0], 7",
            rotate_with_doubled_exponents: "[0.0, 1.0, 0.0, 1.0], 7",
            rotate_by_finding_the_position: "0.9599999785423279], 0",
            rotate_step_by_step: "-0.800000011920929, 0.6000000238418579], -3",
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
}
