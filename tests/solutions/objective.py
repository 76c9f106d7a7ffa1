"""Solutions of the exercises of notebook 10d, right and wrong."""

import torch

from coursekit.exercises import objective

# --- check_pick_balanced ------------------------------------------------------------------------


def pick_by_order(topics, order, n):
    return torch.cat([order[topics[order] == topic][: n // 2] for topic in (0, 1)])


def pick_by_loop(topics, order, n):
    found = {0: [], 1: []}
    for i in order.tolist():
        some = found[int(topics[i])]
        if len(some) < n // 2:
            some.append(i)
    return torch.tensor(found[0] + found[1])


def pick_without_order(topics, order, n):
    return torch.cat([(topics == topic).nonzero()[: n // 2, 0] for topic in (0, 1)])


def pick_the_first(topics, order, n):
    return order[:n]


def pick_where_in_order(topics, order, n):
    return torch.cat([(topics[order] == topic).nonzero()[: n // 2, 0] for topic in (0, 1)])


def pick_by_unshuffled_topics(topics, order, n):
    return torch.cat([order[topics == topic][: n // 2] for topic in (0, 1)])


def pick_n_of_each(topics, order, n):
    return torch.cat([order[topics[order] == topic][:n] for topic in (0, 1)])


def pick_the_weather_first(topics, order, n):
    return torch.cat([order[topics[order] == topic][: n // 2] for topic in (1, 0)])


def pick_as_floats(topics, order, n):
    return pick_by_order(topics, order, n).float()


def pick_that_shuffles(topics, order, n):
    answer = pick_by_order(topics, order, n)
    order[:] = order.flip(0)
    return answer


def pick_a_pair(topics, order, n):
    return pick_by_order(topics, order, 2)


def pick_the_first_sorted(topics, order, n):
    some = order[:n]
    return some[topics[some].argsort(stable=True)]


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
            pick_by_unshuffled_topics: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_n_of_each: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_the_weather_first: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_as_floats: "([0, 1, 1, 0], [2, 0, 1, 3], 2)",
            pick_that_shuffles: " raised ValueError: it changed the order",
            pick_a_pair: "([1, 1, 0, 0, 1, 0], [5, 4, 3, 1, 2, 0], 4)",
            pick_the_first_sorted: "([0, 0, 0, 1, 1], [1, 0, 2, 4, 3], 2)",
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
