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


# --- check_answer_greedily ----------------------------------------------------------------------


def write_by_cat(source, present, model, start, steps):
    written = torch.full_like(source[:, :1], start)
    for _ in range(steps):
        best = model(source, written, present)[:, -1].argmax(-1)
        written = torch.cat([written, best[:, None]], 1)
    return written[:, 1:]


def write_into_rows(source, present, model, start, steps):
    written = torch.full((len(source), steps + 1), start)
    for k in range(steps):
        written[:, k + 1] = model(source, written[:, : k + 1], present)[:, k].argmax(-1)
    return written[:, 1:]


def write_with_the_start(source, present, model, start, steps):
    written = write_by_cat(source, present, model, start, steps)
    return torch.cat([torch.full_like(source[:, :1], start), written[:, :-1]], 1)


def write_from_the_last_only(source, present, model, start, steps):
    last, found = torch.full_like(source[:, :1], start), []
    for _ in range(steps):
        last = model(source, last, present)[:, -1:].argmax(-1)
        found.append(last)
    return torch.cat(found, 1)


def write_by_the_first_row(source, present, model, start, steps):
    written = torch.full_like(source[:, :1], start)
    for _ in range(steps):
        best = model(source, written, present)[:, 0].argmax(-1)
        written = torch.cat([written, best[:, None]], 1)
    return written[:, 1:]


def write_all_at_once(source, present, model, start, steps):
    written = torch.full((len(source), steps), start)
    return model(source, written, present).argmax(-1)


def write_after_start_one(source, present, model, start, steps):
    return write_by_cat(source, present, model, 1, steps)


def write_reading_padding(source, present, model, start, steps):
    return write_by_cat(source, torch.ones_like(present), model, start, steps)


ROWS = {
    reverse.check_answer_greedily: (
        [write_by_cat, write_into_rows],
        {
            write_with_the_start: "([[3, 5]], [[True, True]], model, 1, 3)",
            write_from_the_last_only: "([[3, 5]], [[True, True]], model, 1, 3)",
            write_by_the_first_row: "([[3, 5]], [[True, True]], model, 1, 3)",
            write_all_at_once: "([[3, 5]], [[True, True]], model, 1, 3)",
            write_after_start_one: "([[3, 5]], [[True, True]], model, 2, 1)",
            write_reading_padding: "([[3, 5, 0], [4, 6, 6]]",
        },
    ),
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
