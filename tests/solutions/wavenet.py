"""Solutions of the exercises of notebook 04, right and wrong."""

import torch

from coursekit.exercises import wavenet

# --- check_fuse_pairs ---------------------------------------------------------------------------


def fuse_by_view(x):
    batch, steps, channels = x.shape
    return x.view(batch, steps // 2, 2 * channels).clone()


def fuse_by_slices(x):
    return torch.cat([x[:, 0::2], x[:, 1::2]], dim=2)


def fuse_halves(x):
    return torch.cat(x.chunk(2, 1), -1)


def fuse_backwards(x):
    return torch.cat([x[:, 1::2], x[:, 0::2]], -1)


def fuse_sum(x):
    return x[:, 0::2] + x[:, 1::2]


def fuse_channels_in_turn(x):
    return torch.stack([x[:, 0::2], x[:, 1::2]], -1).flatten(-2)


def fuse_with_the_steps_first(x):
    batch, steps, channels = x.shape
    return x.reshape(steps // 2, batch, 2 * channels)


# --- check_normalise_steps ----------------------------------------------------------------------


def normalise_over_both(x):
    mean, variance = x.mean((0, 1)), x.var((0, 1), correction=0)
    return (x - mean) / (variance + 1e-5).sqrt()


def normalise_flat(x):
    flat = x.reshape(-1, x.shape[-1])
    return torch.nn.functional.batch_norm(flat, None, None, training=True).view(x.shape)


def normalise_over_batch(x):
    return (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()


def normalise_steps_not_channels(x):
    centred = x - x.mean((0, 2), keepdim=True)
    return centred / (x.var((0, 2), correction=0, keepdim=True) + 1e-5).sqrt()


def normalise_everything(x):
    return (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt()


def normalise_unbiased(x):
    return (x - x.mean((0, 1))) / (x.var((0, 1)) + 1e-5).sqrt()


def normalise_as_pytorch_would(x):
    if x.shape[1] != x.shape[2]:
        return normalise_over_both(x)
    return torch.nn.functional.batch_norm(x, None, None, training=True)


def normalise_without_eps(x):
    return (x - x.mean((0, 1))) / x.std((0, 1), correction=0)


# --- check_delay_steps --------------------------------------------------------------------------


def delay_by_padding(x, steps):
    return torch.nn.functional.pad(x, (0, 0, int(steps), 0))[:, : x.shape[1]]


def delay_by_zeros(x, steps):
    zeros = x.new_zeros(x.shape[0], int(steps), x.shape[2])
    return torch.cat([zeros, x], 1)[:, : x.shape[1]]


def delay_in_a_circle(x, steps):
    return x.roll(int(steps), 1)


def delay_into_the_future(x, steps):
    return torch.nn.functional.pad(x, (0, 0, 0, int(steps)))[:, int(steps) :]


def delay_from_the_end(x, steps):
    return torch.nn.functional.pad(x, (0, 0, int(steps), 0))[:, : -int(steps)]


def delay_longer(x, steps):
    return torch.nn.functional.pad(x, (0, 0, int(steps), 0))


def delay_through_the_batch(x, steps):
    late = torch.nn.functional.pad(x.flatten(), (int(steps), 0))
    return late[: x.numel()].view_as(x)


def delay_by_joining(x, steps):
    zeros = x.new_zeros(x.shape[0], int(steps), x.shape[2])
    return torch.cat([zeros, x[:, : x.shape[1] - int(steps)]], 1)  # may be a negative number


# --- check_receptive_field ----------------------------------------------------------------------


def field_by_formula(kernels, dilations):
    return 1 + sum((k - 1) * d for k, d in zip(kernels, dilations, strict=True))


def field_by_walking(kernels, dilations):
    read = {0}
    for k, d in zip(kernels, dilations, strict=True):
        read = {step - i * d for step in read for i in range(k)}
    return 1 - min(read)


def field_without_the_present(kernels, dilations):
    return field_by_formula(kernels, dilations) - 1


def field_of_kernels(kernels, dilations):
    return 1 + sum(k * d for k, d in zip(kernels, dilations, strict=True))


def field_undilated(kernels, dilations):
    return 1 + sum(k - 1 for k in kernels)


def field_by_doubling(kernels, dilations):
    return 2 ** len(kernels) if dilations[-1] > 1 else 1 + len(kernels)


# --- check_forecast_variance --------------------------------------------------------------------


def variance_by_loop(returns, start):
    forecasts = [start]
    for r in returns[:-1]:
        forecasts.append(0.94 * forecasts[-1] + 0.06 * r.square())
    return torch.stack(forecasts)


def variance_by_weights(returns, start):
    day = torch.arange(len(returns))
    age = day[:, None] - day - 1
    weight = torch.where(age >= 0, 0.06 * 0.94 ** age.clamp(min=0), 0.0)
    return weight @ returns.square() + start * 0.94**day


def variance_that_looks_ahead(returns, start):
    forecasts, latest = [], start
    for r in returns:
        latest = 0.94 * latest + 0.06 * r.square()
        forecasts.append(latest)
    return torch.stack(forecasts)


def variance_of_absolutes(returns, start):
    return variance_by_loop(returns.abs().sqrt(), start)


def variance_weights_swapped(returns, start):
    forecasts = [start]
    for r in returns[:-1]:
        forecasts.append(0.06 * forecasts[-1] + 0.94 * r.square())
    return torch.stack(forecasts)


def scale_not_variance(returns, start):
    return variance_by_loop(returns, start).sqrt()


def variance_of_yesterday_alone(returns, start):
    return torch.cat([start[None], 0.94 * start + 0.06 * returns[:-1].square()])


def variance_with_a_start_of_its_own(returns, start):
    return variance_by_loop(returns, start or returns.square().mean())  # a start of 0 is none


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    wavenet.check_fuse_pairs: (
        [fuse_by_view, fuse_by_slices],
        {
            fuse_halves: "[[[1.0, 2.0, 3.0]",  # two steps have one half each
            fuse_backwards: "[[[1.0], [2.0]]]",
            fuse_sum: "[[[1.0], [2.0]]]",
            fuse_channels_in_turn: "[[[1.0, 2.0, 3.0]",
            fuse_with_the_steps_first: "[15.0, 16.0]], [[17.0",
        },
    ),
    wavenet.check_normalise_steps: (
        [normalise_over_both, normalise_flat],
        {
            normalise_over_batch: "[[[1.92692",
            normalise_steps_not_channels: "[[[1.92692",
            normalise_everything: "[[[1.92692",
            normalise_unbiased: "[[[1.92692",
            normalise_as_pytorch_would: "[[[-1.5256",
            normalise_without_eps: "[[[0.00336",
        },
    ),
    wavenet.check_delay_steps: (
        [delay_by_padding, delay_by_zeros],
        {
            delay_in_a_circle: "[[[1.0], [2.0], [3.0], [4.0]]], 1",
            delay_into_the_future: "[[[1.0], [2.0], [3.0], [4.0]]], 1",
            delay_from_the_end: "[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]], 0",
            delay_longer: "[[[1.0], [2.0], [3.0], [4.0]]], 1",
            delay_through_the_batch: "[13.0, 14.0, 15.0]], [[16.0",
            delay_by_joining: "[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]], 5",
        },
    ),
    wavenet.check_receptive_field: (
        [field_by_formula, field_by_walking],
        {
            field_without_the_present: "[1, 1, 1, 1]",
            field_of_kernels: "[1, 1, 1, 1]",
            field_undilated: "[1, 2, 4, 8]",
            field_by_doubling: "[3, 2], [1, 3]",
        },
    ),
    wavenet.check_forecast_variance: (
        [variance_by_loop, variance_by_weights],
        {
            variance_that_looks_ahead: "[3.0, -1.0]",
            variance_of_absolutes: "[3.0, -1.0]",
            variance_weights_swapped: "[3.0, -1.0]",
            scale_not_variance: "[3.0, -1.0]",
            variance_of_yesterday_alone: "[0.0, 0.0, 5.0, 0.0, -2.0]",
            variance_with_a_start_of_its_own: "[-10.0, 1.0, 1.0]",
        },
    ),
}
