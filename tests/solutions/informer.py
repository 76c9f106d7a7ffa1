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


def leaks_by_slopes(x, model):
    slopes = torch.autograd.functional.jacobian(
        lambda s: model(s[None, :, None])[0, :, 0], x[0, :, 0]
    )
    return slopes.triu(1).abs().amax(1) > 1e-6


def leaks_of_the_last_step(x, model):
    changed = x.clone()
    changed[:, -1] += 100
    moved = (model(changed) - model(x)).abs().amax((0, 2)) > 1e-6
    return moved & (torch.arange(x.shape[1]) < x.shape[1] - 1)


def leaks_to_larger_numbers(x, model):
    leaks = []
    for t in range(x.shape[1]):
        changed = x.clone()
        changed[:, t + 1 :] += 100
        leaks.append((model(changed) - model(x))[:, t].abs().max() > 1e-6)
    return torch.tensor(leaks)


def leaks_that_count_the_present(x, model):
    leaks = []
    for t in range(x.shape[1]):
        changed = x.clone()
        changed[:, t:] = 0
        leaks.append((model(changed) - model(x))[:, t].abs().max() > 1e-6)
    return torch.tensor(leaks)


def leaks_from_the_past(x, model):
    gradients = torch.autograd.functional.jacobian(
        lambda s: model(s[None, :, None])[0, :, 0], x[0, :, 0]
    )
    return gradients.tril(-1).abs().amax(1) > 1e-6


def leaks_by_reordering(x, model):
    leaks = []
    for t in range(x.shape[1]):
        changed = torch.cat([x[:, : t + 1], x[:, t + 1 :].flip(1)], 1)
        leaks.append((model(changed) - model(x))[:, t].abs().max() > 1e-6)
    return torch.tensor(leaks)


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


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    informer.check_find_leaks: (
        [leaks_by_trial, leaks_by_many_draws],
        {
            leaks_by_slopes: "Ranked()",
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
}
