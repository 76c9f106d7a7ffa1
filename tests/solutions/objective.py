"""Solutions of the exercises of notebook 10d, right and wrong."""

import torch

from coursekit.exercises import objective

# --- check_pick_balanced ------------------------------------------------------------------------


def pick_by_order(classes, order, n):
    kinds = classes.unique()
    return torch.cat([order[classes[order] == k][: n // len(kinds)] for k in kinds])


def pick_by_loop(classes, order, n):
    found = {kind: [] for kind in sorted(set(classes.tolist()))}
    for i in order.tolist():
        some = found[int(classes[i])]
        if len(some) < n // len(found):
            some.append(i)
    return torch.tensor([i for some in found.values() for i in some])


def pick_without_order(classes, order, n):
    return torch.cat([(classes == k).nonzero()[: n // 2, 0] for k in (0, 1)])


def pick_the_first(classes, order, n):
    return order[:n]


def pick_where_in_order(classes, order, n):
    return torch.cat([(classes[order] == k).nonzero()[: n // 2, 0] for k in (0, 1)])


def pick_by_unshuffled_classes(classes, order, n):
    return torch.cat([order[classes == k][: n // 2] for k in (0, 1)])


def pick_n_of_each(classes, order, n):
    return torch.cat([order[classes[order] == k][:n] for k in (0, 1)])


def pick_the_highest_first(classes, order, n):
    return torch.cat([order[classes[order] == k][: n // 2] for k in (1, 0)])


def pick_as_floats(classes, order, n):
    return pick_by_order(classes, order, n).float()


def pick_that_shuffles(classes, order, n):
    answer = pick_by_order(classes, order, n)
    order[:] = order.flip(0)
    return answer


def pick_a_pair(classes, order, n):
    return pick_by_order(classes, order, len(classes.unique()))


def pick_the_first_sorted(classes, order, n):
    some = order[:n]
    return some[classes[some].argsort(stable=True)]


def pick_of_two_classes(classes, order, n):
    return torch.cat([order[classes[order] == k][: n // 2] for k in (0, 1)])


def pick_halves(classes, order, n):
    return torch.cat([order[classes[order] == k][: n // 2] for k in classes.unique()])


def pick_from_a_range(classes, order, n):
    k = len(classes.unique())
    return torch.cat([order[classes[order] == kind][: n // k] for kind in range(k)])


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
    objective.check_pick_balanced: (
        [pick_by_order, pick_by_loop],
        {
            pick_without_order: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_the_first: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_where_in_order: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_by_unshuffled_classes: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_n_of_each: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_the_highest_first: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_as_floats: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_that_shuffles: " raised ValueError: it changed the order",
            pick_a_pair: "([1, 1, 0, 0, 1, 0], [5, 4, 3, 1, 2, 0], 4)",
            pick_the_first_sorted: "([0, 0, 0, 1, 1], [1, 0, 2, 4, 3], 2)",
            pick_of_two_classes: "([5, 0, 2, 2, 0, 5, 0, 2], [5, 7, 3, 6, 0, 1, 2, 4], 6)",
            pick_from_a_range: "([5, 0, 2, 2, 0, 5, 0, 2], [5, 7, 3, 6, 0, 1, 2, 4], 6)",
            pick_halves: "([5, 0, 2, 2, 0, 5, 0, 2], [5, 7, 3, 6, 0, 1, 2, 4], 6)",
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
