"""Solutions of the exercises of notebook 10b, right and wrong."""

import torch

from coursekit.exercises import reverse

# --- check_cross_attention ----------------------------------------------------------------------


def _heads(x, n_head):
    return x.unflatten(-1, (n_head, -1)).transpose(1, 2)


def cross_by_softmax(x, memory, readable, layer):
    q, k, v = layer.q(x), layer.k(memory), layer.v(memory)
    q, k, v = (_heads(one, layer.n_head) for one in (q, k, v))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~readable, -torch.inf)
    return layer.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(-2))


def cross_by_exp(x, memory, readable, layer):
    q, k, v = (_heads(one, layer.n_head) for one in (layer.q(x), layer.k(memory), layer.v(memory)))
    weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).exp() * readable
    mixed = weights / weights.sum(-1, keepdim=True) @ v
    return layer.out(mixed.transpose(1, 2).reshape(x.shape))


def cross_to_itself(x, memory, readable, layer):
    return cross_by_softmax(x, x, torch.ones(1, 1, 1, 1, dtype=torch.bool), layer)


def cross_the_other_way(x, memory, readable, layer):
    return cross_by_softmax(memory, x, torch.ones(1, 1, 1, 1, dtype=torch.bool), layer)


def cross_with_one_map(x, memory, readable, layer):
    q, k = _heads(layer.q(x), layer.n_head), _heads(layer.q(memory), layer.n_head)
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~readable, -torch.inf)
    mixed = scores.softmax(-1) @ _heads(layer.v(memory), layer.n_head)
    return layer.out(mixed.transpose(1, 2).flatten(-2))


def cross_without_out(x, memory, readable, layer):
    q, k, v = (_heads(one, layer.n_head) for one in (layer.q(x), layer.k(memory), layer.v(memory)))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~readable, -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)


def cross_by_one_head(x, memory, readable, layer):
    q, k, v = layer.q(x), layer.k(memory), layer.v(memory)
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~readable[:, 0], -torch.inf)
    return layer.out(scores.softmax(-1) @ v)


def cross_heads_not_put_back(x, memory, readable, layer):
    q, k, v = (_heads(one, layer.n_head) for one in (layer.q(x), layer.k(memory), layer.v(memory)))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~readable, -torch.inf)
    return layer.out((scores.softmax(-1) @ v).reshape(x.shape))


def cross_to_padding(x, memory, readable, layer):
    return cross_by_softmax(x, memory, torch.ones_like(readable), layer)


def cross_by_the_first_mask(x, memory, readable, layer):
    return cross_by_softmax(x, memory, readable[:1], layer)


def cross_masked_by_minus_fifty(x, memory, readable, layer):
    q, k, v = (_heads(one, layer.n_head) for one in (layer.q(x), layer.k(memory), layer.v(memory)))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~readable, -50)
    return layer.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(-2))


def cross_that_trains_no_encoder(x, memory, readable, layer):
    return cross_by_softmax(x, memory.detach(), readable, layer)


def cross_that_trains_nothing(x, memory, readable, layer):
    return cross_by_softmax(x, memory, readable, layer).detach()


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
    reverse.check_cross_attention: (
        [cross_by_softmax, cross_by_exp],
        {
            cross_to_itself: "layer of 1 heads)",
            cross_the_other_way: "layer of 1 heads)",
            cross_with_one_map: "layer of 1 heads)",
            cross_without_out: "layer of 1 heads)",
            cross_by_one_head: "layer of 2 heads)",
            cross_heads_not_put_back: "layer of 2 heads)",
            cross_to_padding: "[[[[True, True, False]]]",
            cross_by_the_first_mask: "[[[[True, True, False]]]",
            cross_that_trains_no_encoder: "layer of 1 heads)",
            cross_that_trains_nothing: " raised ValueError: no gradient goes through it",
            cross_masked_by_minus_fifty: "[[[[True, True, False]]]], layer of 1 heads)",
        },
    ),
}
