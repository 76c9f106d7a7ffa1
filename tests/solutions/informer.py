"""Solutions of the exercises of notebook 08, right and wrong."""

import torch

from coursekit.exercises import informer

# --- check_find_leaks ---------------------------------------------------------------------------


def leaks_by_trial(x, model):
    y, leaks = model(x), []
    for t in range(x.shape[1]):
        later = [x.clone() for _ in range(3)]
        for changed, factor in zip(later, (0, 10, -10), strict=True):
            changed[:, t + 1 :] *= factor
        leaks.append(any((model(changed) - y)[:, t].abs().max() > 1e-6 for changed in later))
    return torch.tensor(leaks)


def leaks_by_many_draws(x, model):
    generator = torch.Generator().manual_seed(0)
    y, leaks = model(x), torch.zeros(x.shape[1], dtype=torch.bool)
    for start in range(1, x.shape[1]):
        for _ in range(30):
            changed = x.clone()
            changed[:, start:] = 10 * torch.randn(x[:, start:].shape, generator=generator)
            leaks[:start] |= (model(changed) - y)[:, :start].abs().amax((0, 2)) > 1e-6
    return leaks


def gradients_of(x, model):
    return torch.autograd.functional.jacobian(
        lambda s: model(s[None, :, None])[0, :, 0], x[0, :, 0]
    )


def leaks_by_gradients(x, model):
    return gradients_of(x, model).triu(1).abs().amax(1) > 1e-6


def leaks_of_the_last_step(x, model):
    changed = x.clone()
    changed[:, -1] += 100
    moved = (model(changed) - model(x)).abs().amax((0, 2)) > 1e-6
    return moved & (torch.arange(x.shape[1]) < x.shape[1] - 1)


def leaks_after(change, x, model, first=1):
    leaks = []
    for t in range(x.shape[1]):
        changed = x.clone()
        changed[:, t + first :] = change(x[:, t + first :])
        leaks.append((model(changed) - model(x))[:, t].abs().max() > 1e-6)
    return torch.tensor(leaks)


def leaks_to_larger_numbers(x, model):
    return leaks_after(lambda later: later + 100, x, model)


def leaks_that_count_the_present(x, model):
    return leaks_after(torch.zeros_like, x, model, first=0)


def leaks_from_the_past(x, model):
    return gradients_of(x, model).tril(-1).abs().amax(1) > 1e-6


def leaks_by_reordering(x, model):
    return leaks_after(lambda later: later.flip(1), x, model)


# --- check_distilled_length ---------------------------------------------------------------------


def length_by_halving(steps, n_layer):
    steps = steps.clone()
    for _ in range(n_layer - 1):
        steps = (steps + 1) // 2
    return steps


def length_at_once(steps, n_layer):
    return (steps / 2 ** (n_layer - 1)).ceil()


def length_rounded_down(steps, n_layer):
    return steps // 2 ** (n_layer - 1)


def length_after_every_layer(steps, n_layer):
    return (steps / 2**n_layer).ceil()


def length_of_a_copied_padding(steps, n_layer):
    for _ in range(n_layer - 1):
        steps = steps // 2 + 1
    return steps


def length_with_odd_starts_rounded_up(steps, n_layer):
    return steps // 2 ** (n_layer - 1) + (steps % 2) * (n_layer > 1)


# --- check_mask_future --------------------------------------------------------------------------


def mask_by_copy(future, known):
    masked = torch.zeros_like(future)
    masked[..., known] = future[..., known]
    return masked


def mask_by_choice(future, known):
    shown = torch.tensor([column in known for column in range(future.shape[-1])])
    return torch.where(shown, future, 0.0)


def mask_of_the_target_only(future, known):
    masked = future.clone()
    masked[..., 0] = 0
    return masked


def mask_by_a_product(future, known):
    shown = torch.zeros(future.shape[-1])
    shown[known] = 1
    return future * shown


def mask_of_what_is_known(future, known):
    masked = future.clone()
    masked[..., known] = 0
    return masked


def mask_by_an_index_tensor(future, known):
    masked, columns = torch.zeros_like(future), torch.tensor(known)  # of floats if it is empty
    masked[..., columns] = future[..., columns]
    return masked


def mask_of_the_last_known_only(future, known):
    masked = torch.zeros_like(future)
    for column in known:
        masked = torch.zeros_like(future)
        masked[..., column] = future[..., column]
    return masked


# --- check_repeat_season ------------------------------------------------------------------------


def season_by_index(past, horizon, period):
    ahead = torch.arange(horizon) % period
    return past[:, past.shape[1] - period + ahead]


def season_by_tiles(past, horizon, period):
    return past[:, -period:].repeat(1, -(-horizon // period))[:, :horizon]


def season_of_the_start(past, horizon, period):
    return past[:, torch.arange(horizon) % period]


def season_backwards(past, horizon, period):
    return past[:, -1 - torch.arange(horizon) % period]


def season_once(past, horizon, period):
    last = past[:, -period:]
    return torch.cat([last, last[:, -1:].expand(-1, horizon)], 1)[:, :horizon]


def last_value_for_ever(past, horizon, period):
    return past[:, -1:].expand(-1, horizon)


def season_cut_from_the_end(past, horizon, period):
    tiles = -(-horizon // period)
    surplus = tiles * period - horizon
    return past[:, -period:].repeat(1, tiles)[:, :-surplus]  # all of it if nothing is to be cut


# --- check_fraction_dropped ---------------------------------------------------------------------


def dropped_by_remainder(horizons, rows, batch_size):
    windows = rows - torch.tensor(horizons) + 1
    return windows % batch_size / windows


def dropped_by_batches(horizons, rows, batch_size):
    fractions = []
    for horizon in horizons:
        batches = torch.arange(rows - horizon + 1).split(batch_size)
        lost = sum(len(batch) for batch in batches if len(batch) < batch_size)
        fractions.append(lost / (rows - horizon + 1))
    return torch.tensor(fractions)


def dropped_without_the_first(horizons, rows, batch_size):
    windows = rows - torch.tensor(horizons)
    return windows % batch_size / windows


def dropped_of_all_rows(horizons, rows, batch_size):
    return (rows - torch.tensor(horizons) + 1) % batch_size / rows


def dropped_counts(horizons, rows, batch_size):
    return ((rows - torch.tensor(horizons) + 1) % batch_size).float()


def kept_by_remainder(horizons, rows, batch_size):
    return 1 - dropped_by_remainder(horizons, rows, batch_size)


def dropped_with_the_last_batch(horizons, rows, batch_size):
    fractions = []
    for horizon in horizons:
        batches = torch.arange(rows - horizon + 1).split(batch_size)
        fractions.append(len(batches[-1]) / (rows - horizon + 1))  # full as it may be
    return torch.tensor(fractions)


def dropped_after_one_batch_at_least(horizons, rows, batch_size):
    windows = rows - torch.tensor(horizons) + 1
    batches = (windows // batch_size).clamp(min=1)
    return (windows - batches * batch_size).clamp(min=0) / windows


def dropped_in_whole_per_cent(horizons, rows, batch_size):
    return dropped_by_remainder(horizons, rows, batch_size).round(decimals=2)


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    informer.check_find_leaks: (
        [leaks_by_trial, leaks_by_many_draws],
        {
            leaks_by_gradients: "Ranked()",
            leaks_of_the_last_step: "Smoothed()",
            leaks_to_larger_numbers: "Ranked()",
            leaks_that_count_the_present: "RankedOnArrival()",
            leaks_from_the_past: "[[2.0], [1.0], [3.0]]], RunningMean()",
            leaks_by_reordering: "MeanOfAll()",
        },
    ),
    informer.check_distilled_length: (
        [length_by_halving, length_at_once],
        {
            length_rounded_down: "[7, 1, 22], 2",
            length_after_every_layer: "[96, 48], 1",
            length_of_a_copied_padding: "[96, 336, 720], 3",
            length_with_odd_starts_rounded_up: "[97, 100, 5], 4",
        },
    ),
    informer.check_mask_future: (
        [mask_by_copy, mask_by_choice],
        {
            mask_of_the_target_only: "[10.0, 11.0, 12.0]]], [2]",
            mask_by_a_product: "[nan, 11.0, 12.0]]], [1]",
            mask_of_what_is_known: "[10.0, 11.0, 12.0]]], [2]",
            mask_by_an_index_tensor: "[10.0, 11.0, 12.0]]], []) raised IndexError",
            mask_of_the_last_known_only: "[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], [1, 2]",
        },
    ),
    informer.check_repeat_season: (
        [season_by_index, season_by_tiles],
        {
            season_of_the_start: "[[1.0, 2.0, 3.0, 4.0]], 2, 3",
            season_backwards: "[[1.0, 2.0, 3.0, 4.0]], 2, 3",
            season_once: "[[1.0, 2.0, 3.0], [4.0, 6.0, 5.0]], 5, 2",
            last_value_for_ever: "[[1.0, 2.0, 3.0, 4.0]], 2, 3",
            season_cut_from_the_end: "[[3.0, 1.0, 2.0]], 3, 1",
        },
    ),
    informer.check_fraction_dropped: (
        [dropped_by_remainder, dropped_by_batches],
        {
            dropped_without_the_first: "[3], 10, 3",
            dropped_of_all_rows: "[3], 10, 3",
            dropped_counts: "[3], 10, 3",
            kept_by_remainder: "[3], 10, 3",
            dropped_with_the_last_batch: "[1, 3], 10, 4",
            dropped_after_one_batch_at_least: "[2], 6, 100",
            dropped_in_whole_per_cent: "[24, 720], 2880, 512",
        },
    ),
}
