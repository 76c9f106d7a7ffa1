"""Solutions of the exercises of notebook 10b, right and wrong."""

import torch

from coursekit.exercises import reverse

# --- check_shift_and_start ----------------------------------------------------------------------


def shift_by_cat(targets, start):
    first = torch.full((len(targets), 1), start)
    return torch.cat([first, targets[:, :-1]], 1)


def shift_by_roll(targets, start):
    shifted = targets.roll(1, 1)
    shifted[:, 0] = start
    return shifted


def shift_not_at_all(targets, start):
    return targets


def shift_to_the_left(targets, start):
    shifted = targets.roll(-1, 1)
    shifted[:, -1] = start
    return shifted


def shift_and_keep_the_last(targets, start):
    return torch.cat([torch.full((len(targets), 1), start), targets], 1)


def shift_around(targets, start):
    return targets.roll(1, 1)


def shift_with_start_one(targets, start):
    return shift_by_cat(targets, 1)


def shift_but_the_shortest(targets, start):
    return shift_by_cat(targets, start) if targets.shape[1] > 1 else targets


ROWS = {
    reverse.check_shift_and_start: (
        [shift_by_cat, shift_by_roll],
        {
            shift_not_at_all: "[[5, 6, 7], [8, 9, 2]], 1",
            shift_to_the_left: "[[5, 6, 7], [8, 9, 2]], 1",
            shift_and_keep_the_last: "[[5, 6, 7], [8, 9, 2]], 1",
            shift_around: "[[5, 6, 7], [8, 9, 2]], 1",
            shift_with_start_one: "[[4, 5, 6, 7]], 3",
            shift_but_the_shortest: "[[4], [5]], 1",
        },
    ),
}
