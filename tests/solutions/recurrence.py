"""Solutions of the exercises of notebook 09c, right and wrong."""

import math

import torch

from coursekit.exercises import recurrence

# --- check_forget_bias --------------------------------------------------------------------------


def bias_by_logarithms(steps, left):
    gate = left ** (1 / steps)
    return math.log(gate / (1 - gate))


def bias_by_torch(steps, left):
    return torch.logit(torch.tensor(left).double() ** (1 / steps))


def bias_that_is_the_gate(steps, left):
    return left ** (1 / steps)


def bias_that_is_never_negative(steps, left):
    return max(bias_by_logarithms(steps, left), 0.0)


def bias_by_tanh(steps, left):
    return math.atanh(2 * left ** (1 / steps) - 1)


def bias_of_the_opposite(steps, left):
    gate = left ** (1 / steps)
    return math.log((1 - gate) / gate)


def bias_for_one_step(steps, left):
    return math.log(left / (1 - left))


def bias_by_dividing(steps, left):
    gate = 1 - (1 - left) / steps
    return math.log(gate / (1 - gate))


def bias_by_the_root(steps, left):
    gate = left**0.5 if steps > 1 else left
    return math.log(gate / (1 - gate))


def bias_of_chrono(steps, left):
    return math.log(steps - 1) if steps > 2 else bias_by_logarithms(steps, left)


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
    recurrence.check_forget_bias: (
        [bias_by_logarithms, bias_by_torch],
        {
            bias_that_is_the_gate: "(1, 0.1)",
            bias_that_is_never_negative: "(1, 0.1)",
            bias_by_tanh: "(1, 0.1)",
            bias_of_the_opposite: "(1, 0.1)",
            bias_for_one_step: "(2, 0.25)",
            bias_by_dividing: "(2, 0.25)",
            bias_by_the_root: "(50, 0.4)",
            bias_of_chrono: "(50, 0.4)",
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
