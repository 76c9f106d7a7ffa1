"""Solutions of the exercises of notebook 09c, right and wrong."""

import torch

from coursekit.exercises import recurrence

# --- check_clip ----------------------------------------------------------------------------------


def clip_by_a_factor(gradient, most):
    return gradient * (most / gradient.norm()).clamp(max=1)


def clip_by_its_direction(gradient, most):
    return gradient / gradient.norm() * gradient.norm().clamp(max=most)


def clip_if_too_long(gradient, most):
    length = gradient.square().sum().sqrt()
    return gradient * (most / length if length > most else 1.0)


def clip_each_number(gradient, most):
    return gradient.clamp(-most, most)


def clip_each_row(gradient, most):
    return gradient * (most / gradient.norm(dim=-1, keepdim=True)).clamp(max=1)


def clip_by_the_square(gradient, most):
    return gradient * (most / gradient.square().sum()).clamp(max=1)


def clip_by_the_sum(gradient, most):
    return gradient * (most / gradient.abs().sum()).clamp(max=1)


def clip_always(gradient, most):
    return gradient * most / gradient.norm()


def clip_to_one(gradient, most):
    return gradient / gradient.norm().clamp(min=1)


def clip_without_dividing(gradient, most):
    return gradient * most if gradient.norm() > most else gradient


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


def step_that_cuts_the_graph(mixed, c):
    h, c = step_by_chunks(mixed, c)
    return h.detach(), c.detach()


def step_that_cuts_the_memory_off(mixed, c):
    return step_by_chunks(mixed, c.detach())


def step_that_reads_a_copy_of_the_numbers(mixed, c):
    return step_by_chunks(mixed.clone().detach(), c)


def step_that_returns_a_memory_without_gradients(mixed, c):
    h, c = step_by_chunks(mixed, c)
    return h, c.detach()


def step_that_writes(mixed, c):
    i, f, g, o = mixed.chunk(4, -1)
    c *= f.sigmoid()
    c += i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


ROWS = {
    recurrence.check_clip: (
        [clip_by_a_factor, clip_if_too_long],
        {
            clip_each_number: "([[3.0, 0.0], [0.0, 4.0]]",
            clip_each_row: "([[3.0, 0.0], [0.0, 4.0]]",
            clip_by_the_square: "([[3.0, 0.0], [0.0, 4.0]]",
            clip_by_the_sum: "([[3.0, 0.0], [0.0, 4.0]]",
            clip_without_dividing: "([[3.0, 0.0], [0.0, 4.0]]",
            clip_always: "([0.3",
            clip_to_one: "([6.0, -8.0]",
            clip_by_its_direction: "([0.0, 0.0]",
        },
    ),
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
            step_with_one_gate_for_both: "([[0.0, 0.0, 0.5, 30.0]]",
            step_that_keeps_half_at_most: "([[0.0, 0.0, 0.5, 30.0]]",
            step_that_says_all: "([[30.0, 30.0, 0.3, -1.0]]",
            step_by_interleaved_numbers: "([[1.92",
            step_that_cuts_the_graph: "([[30.0, -30.0, 2.0, 30.0]]",
            step_that_returns_a_memory_without_gradients: "([[30.0, -30.0, 2.0, 30.0]]",
            step_that_reads_a_copy_of_the_numbers: "([[30.0, -30.0, 2.0, 30.0]]",
            step_that_cuts_the_memory_off: "([[-30.0, 30.0, 2.0, 30.0]]",
            step_that_writes: "2.0, 30.0]], [[5.0]]) raised ValueError: it changed the memory",
        },
    ),
}
