"""Solutions of the exercises of notebook 10d, right and wrong."""

import torch

from coursekit.exercises import objective

# --- check_pick_crossed -------------------------------------------------------------------------


def pick_by_kind(a, b, order):
    kinds = (2 * a + b)[order]
    return torch.stack([order[kinds == k][0] for k in range(4)])


def pick_by_loop(a, b, order):
    found = {}
    for i in order.tolist():
        found.setdefault((int(a[i]), int(b[i])), i)
    return torch.tensor([found[kind] for kind in sorted(found)])


def pick_without_order(a, b, order):
    kinds = 2 * a + b
    return torch.stack([(kinds == k).nonzero()[0, 0] for k in range(4)])


def pick_where_in_order(a, b, order):
    kinds = (2 * a + b)[order]
    return torch.stack([(kinds == k).nonzero()[0, 0] for k in range(4)])


def pick_by_unshuffled_kinds(a, b, order):
    return torch.stack([order[2 * a + b == k][0] for k in range(4)])


def pick_b_first(a, b, order):
    return pick_by_kind(b, a, order)


def pick_the_last(a, b, order):
    kinds = (2 * a + b)[order]
    return torch.stack([order[kinds == k][-1] for k in range(4)])


def pick_as_floats(a, b, order):
    return pick_by_kind(a, b, order).float()


def pick_that_shuffles(a, b, order):
    answer = pick_by_kind(a, b, order)
    order[:] = order.flip(0)
    return answer


def pick_that_adds(a, b, order):
    a *= 2
    a += b
    return torch.stack([order[a[order] == k][0] for k in range(4)])


def pick_in_order(a, b, order):
    return order[torch.isin(order, pick_by_kind(a, b, order))]


# --- check_transplant ---------------------------------------------------------------------------


def transplant_in_two_loops(x, other, blocks, at, depth):
    for block in blocks[:depth]:
        x, other = block(x), block(other)
    x = x.clone()
    x[:, at] = other[:, at]
    for block in blocks[depth:]:
        x = block(x)
    return x


def transplant_in_one_loop(x, other, blocks, at, depth):
    for k, block in enumerate([*blocks, None]):
        if k == depth:
            is_here = torch.zeros(x.shape[1], 1, dtype=torch.bool)
            is_here[at] = True
            x = other.where(is_here, x)
        if block is not None:
            x, other = block(x), block(other)
    return x


def transplant_nothing(x, other, blocks, at, depth):
    for block in blocks:
        x = block(x)
    return x


def transplant_everything(x, other, blocks, at, depth):
    return transplant_nothing(other, x, blocks, at, depth)


def transplant_at_the_start(x, other, blocks, at, depth):
    return transplant_in_two_loops(x, other, blocks, at, 0)


def transplant_at_the_end(x, other, blocks, at, depth):
    return transplant_in_two_loops(x, other, blocks, at, len(blocks))


def transplant_what_has_not_run(x, other, blocks, at, depth):
    x = transplant_nothing(x, other, blocks[:depth], at, depth).clone()
    x[:, at] = other[:, at]
    return transplant_nothing(x, other, blocks[depth:], at, depth)


def transplant_the_other_way(x, other, blocks, at, depth):
    return transplant_in_two_loops(other, x, blocks, at, depth)


def transplant_and_stop(x, other, blocks, at, depth):
    return transplant_in_two_loops(x, other, blocks[:depth], at, depth)


def transplant_a_channel(x, other, blocks, at, depth):
    for block in blocks[:depth]:
        x, other = block(x), block(other)
    x = x.clone()
    x[..., at] = other[..., at]
    return transplant_nothing(x, other, blocks[depth:], at, depth)


def transplant_before_a_block(x, other, blocks, at, depth):
    for k, block in enumerate(blocks):
        if k == depth:
            x = torch.cat([x[:, :at], other[:, at : at + 1], x[:, at + 1 :]], 1)
        x, other = block(x), block(other)
    return x


def transplant_after_a_block(x, other, blocks, at, depth):
    for k, block in enumerate(blocks, 1):
        x, other = block(x), block(other)
        if k == depth:
            x = torch.cat([x[:, :at], other[:, at : at + 1], x[:, at + 1 :]], 1)
    return x


def transplant_that_writes(x, other, blocks, at, depth):
    for block in blocks[:depth]:
        x, other = block(x), block(other)
    x[:, at] = other[:, at]
    return transplant_nothing(x, other, blocks[depth:], at, depth)


def transplant_of_the_first_text(x, other, blocks, at, depth):
    return transplant_in_two_loops(x, other[:1].expand_as(x), blocks, at, depth)


def transplant_in_the_first_text(x, other, blocks, at, depth):
    mixed = torch.cat([other[:1], x[1:]])
    return transplant_in_two_loops(x, mixed, blocks, at, depth)


def transplant_in_two_blocks(x, other, blocks, at, depth):
    return transplant_in_two_loops(x, other, blocks[-2:], at, min(depth, 2))


def transplant_one_vector(x, other, blocks, at, depth):
    first = at[0] if isinstance(at, list) else at
    return transplant_in_two_loops(x, other, blocks, first, depth)


ROWS = {
    objective.check_pick_crossed: (
        [pick_by_kind, pick_by_loop],
        {
            pick_where_in_order: "([0, 0, 1, 1], [0, 1, 0, 1], [3, 1, 0, 2])",
            pick_by_unshuffled_kinds: "([0, 0, 1, 1], [0, 1, 0, 1], [3, 1, 0, 2])",
            pick_b_first: "([0, 0, 1, 1], [0, 1, 0, 1], [3, 1, 0, 2])",
            pick_in_order: "([0, 0, 1, 1], [0, 1, 0, 1], [3, 1, 0, 2])",
            pick_as_floats: "([0, 0, 1, 1], [0, 1, 0, 1], [3, 1, 0, 2])",
            pick_that_shuffles: " raised ValueError: it changed the order",
            pick_that_adds: " raised ValueError: it changed the a",
            pick_without_order: "[3, 5, 6, 1, 0, 4, 2])",
            pick_the_last: "[3, 5, 6, 1, 0, 4, 2])",
        },
    ),
    objective.check_transplant: (
        [transplant_in_two_loops, transplant_in_one_loop],
        {
            transplant_nothing: "[block 1, block 2], 0, 1)",
            transplant_everything: "[block 1, block 2], 0, 1)",
            transplant_at_the_start: "[block 1, block 2], 0, 1)",
            transplant_at_the_end: "[block 1, block 2], 0, 1)",
            transplant_what_has_not_run: "[block 1, block 2], 0, 1)",
            transplant_the_other_way: "[block 1, block 2], 0, 1)",
            transplant_and_stop: "[block 1, block 2], 0, 1)",
            transplant_a_channel: "[block 1, block 2], 0, 1)",
            transplant_before_a_block: "[block 1, block 2], 1, 2)",
            transplant_after_a_block: "[block 1, block 2], 2, 0)",
            transplant_that_writes: " raised ValueError: it changed the x",
            transplant_of_the_first_text: "[block 3, block 1, block 2], 1, 2)",
            transplant_in_the_first_text: "[block 3, block 1, block 2], 1, 2)",
            transplant_one_vector: "[block 1, block 2], [0, 2], 1)",
            transplant_in_two_blocks: "[block 3, block 1, block 2], 1, 2)",
        },
    ),
}
