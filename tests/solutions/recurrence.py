"""Solutions of the exercises of notebook 09c, right and wrong."""

import torch

from coursekit.exercises import recurrence

# --- check_lstm_step ----------------------------------------------------------------------------


def step_by_chunks(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def step_by_slices(mixed, c):
    n = c.shape[1]
    gates = torch.sigmoid(mixed)
    new = torch.tanh(mixed[:, 2 * n : 3 * n])
    c = gates[:, n : 2 * n] * c + gates[:, :n] * new
    return gates[:, 3 * n :] * torch.tanh(c), c


def step_in_another_order(mixed, c):
    i, f, o, g = mixed.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def step_without_tanh_of_the_new(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g
    return o.sigmoid() * c.tanh(), c


def step_without_tanh_of_the_memory(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c, c


def step_that_forgets_afterwards(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c = f.sigmoid() * (c + i.sigmoid() * g.tanh())
    return o.sigmoid() * c.tanh(), c


def step_that_replaces(mixed, c):
    i, _, g, o = mixed.chunk(4, -1)
    c = i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def step_with_one_gate_for_both(mixed, c):
    i, _, g, o = mixed.chunk(4, -1)
    c = (1 - i.sigmoid()) * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def step_that_keeps_what_it_says(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c = o.sigmoid() * (f.sigmoid() * c + i.sigmoid() * g.tanh()).tanh()
    return c, c


def step_that_saturates_the_memory(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c = (f.sigmoid() * c + i.sigmoid() * g.tanh()).tanh()
    return o.sigmoid() * c, c


def step_that_says_all(mixed, c):
    i, f, g, _ = mixed.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return c.tanh(), c


def step_that_keeps_half_at_most(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    f = (f > 0).float()
    c = f * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def step_by_interleaved_numbers(mixed, c):
    i, f, g, o = mixed.unflatten(-1, (-1, 4)).unbind(-1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


ROWS = {
    recurrence.check_lstm_step: (
        [step_by_chunks, step_by_slices],
        {
            step_in_another_order: "([[30.0, -30.0, 2.0, 30.0]]",
            step_without_tanh_of_the_new: "([[30.0, -30.0, 2.0, 30.0]]",
            step_without_tanh_of_the_memory: "([[30.0, -30.0, 2.0, 30.0]]",
            step_that_keeps_what_it_says: "([[30.0, -30.0, 2.0, 30.0]]",
            step_that_saturates_the_memory: "([[30.0, -30.0, 2.0, 30.0]]",
            step_that_forgets_afterwards: "([[30.0, -30.0, 2.0, 30.0]]",
            step_that_replaces: "([[-30.0, 30.0, 2.0, 30.0]]",
            step_with_one_gate_for_both: "([[30.0, 30.0, 0.30000001192092896, -1.0]]",
            step_that_keeps_half_at_most: "([[0.0, 0.0, 0.5, 30.0]]",
            step_that_says_all: "([[30.0, 30.0, 0.30000001192092896, -1.0]]",
            step_by_interleaved_numbers: "([[1.92",
        },
    ),
}
