"""Solutions of the exercises of notebook 10d, right and wrong."""

import torch

from coursekit.exercises import objective

# --- check_look_inside --------------------------------------------------------------------------


def look_by_slice(x, blocks, depth, here):
    for block in blocks[:depth]:
        x = block(x)
    return x[here]


def look_by_count(x, blocks, depth, here):
    for k in range(depth):
        x = blocks[k](x)
    return torch.stack([x[row, step] for row, step in here.nonzero().tolist()])


def look_after_all(x, blocks, depth, here):
    return look_by_slice(x, blocks, len(blocks), here)


def look_before_any(x, blocks, depth, here):
    return x[here]


def look_one_later(x, blocks, depth, here):
    return look_by_slice(x, blocks, depth + 1, here)


def look_from_behind(x, blocks, depth, here):
    return look_by_slice(x, blocks[::-1], depth, here)


def look_through_the_rest(x, blocks, depth, here):
    return look_by_slice(x, blocks[depth:], len(blocks), here)


def look_at_these_alone(x, blocks, depth, here):
    return look_by_slice(x[here][None], blocks, depth, torch.ones(1, int(here.sum())).bool())[0]


def look_everywhere(x, blocks, depth, here):
    return look_by_slice(x, blocks, depth, here | True)


def look_and_set_to_zero(x, blocks, depth, here):
    for block in blocks[:depth]:
        x = block(x)
    return x * here[..., None]


def look_and_stop_late(x, blocks, depth, here):
    for k, block in enumerate(blocks):
        x = block(x)
        if k + 1 >= depth:
            break
    return x[here]


def look_up_to_the_last(x, blocks, depth, here):
    return look_by_slice(x, blocks[:-1], depth, here)


def look_by_position(x, blocks, depth, here):
    x = look_by_slice(x, blocks, depth, here | True).view_as(x)
    return x.transpose(0, 1)[here.T]


def look_and_write(x, blocks, depth, here):
    answer = look_by_slice(x, blocks, depth, here)
    x[here] = answer
    return answer


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
    objective.check_look_inside: (
        [look_by_slice, look_by_count],
        {
            look_after_all: "[block 1, block 2], 1,",
            look_before_any: "[block 1, block 2], 1,",
            look_one_later: "[block 1, block 2], 1,",
            look_from_behind: "[block 1, block 2], 1,",
            look_through_the_rest: "[block 1, block 2], 1,",
            look_at_these_alone: "[block 1, block 2], 1,",
            look_everywhere: "[block 1, block 2], 1,",
            look_and_set_to_zero: "[block 1, block 2], 1,",
            look_and_write: " raised ValueError: it changed the x",
            look_and_stop_late: "[block 1, block 2], 0,",
            look_up_to_the_last: "[block 1, block 2], 2,",
            look_by_position: "[block 3, block 1, block 2], 2,",
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
