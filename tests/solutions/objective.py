"""Solutions of the exercise of notebook 10d, right and wrong."""

import torch
from torch.nn import functional as F

from coursekit.exercises import objective

# --- check_next_targets -------------------------------------------------------------------------


def next_by_pad(tokens):
    after = F.pad(tokens[:, 1:], (0, 1))
    return after.where(after >= 4, -100)


def next_by_cat(tokens):
    last = torch.full_like(tokens[:, :1], -100)
    return torch.cat([tokens[:, 1:].masked_fill(tokens[:, 1:] < 4, -100), last], 1)


def next_is_the_same(tokens):
    return tokens.where(tokens >= 4, -100)


def next_is_the_one_before(tokens):
    return F.pad(next_is_the_same(tokens)[:, :-1], (1, 0), value=-100)


def next_goes_round(tokens):
    return next_is_the_same(tokens.roll(-1, 1))


def next_is_shorter(tokens):
    return next_is_the_same(tokens)[:, 1:]


def next_above_the_full_stop(tokens):
    after = F.pad(tokens[:, 1:], (0, 1))
    return after.where(after > 4, -100)


def next_as_floats(tokens):
    return next_by_pad(tokens).float()


def next_that_writes(tokens):
    tokens[:] = next_by_pad(tokens)
    return tokens


def next_with_padding(tokens):
    return F.pad(tokens[:, 1:], (0, 1), value=-100)


def next_with_the_mask(tokens):
    after = F.pad(tokens[:, 1:], (0, 1))
    return after.where(after > 0, -100)


def next_needs_two(tokens):
    return next_by_pad(tokens) if tokens.shape[1] > 1 else tokens


ROWS = {
    objective.check_next_targets: (
        [next_by_pad, next_by_cat],
        {
            next_is_the_same: "([[1, 7, 9, 4]])",
            next_is_the_one_before: "([[1, 7, 9, 4]])",
            next_is_shorter: "([[1, 7, 9, 4]])",
            next_above_the_full_stop: "([[1, 7, 9, 4]])",
            next_as_floats: "([[1, 7, 9, 4]])",
            next_that_writes: "([[1, 7, 9, 4]]) raised ValueError: it changed the tokens",
            next_with_padding: "([[1, 7, 9, 0, 0], [1, 5, 3, 8, 6]])",
            next_with_the_mask: "([[1, 7, 9, 0, 0], [1, 5, 3, 8, 6]])",
            next_goes_round: "([[4], [9], [0]])",
            next_needs_two: "([[4], [9], [0]])",
        },
    ),
}
