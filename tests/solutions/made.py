"""Solutions of the exercises of notebook 09, right and wrong."""

import math

import torch
from torch.nn import functional as F

from coursekit.exercises import made
from coursekit.layers.masked import MaskedConv2d

# --- check_average_models -----------------------------------------------------------------------


def average_by_logsumexp(nlls):
    return math.log(len(nlls)) - torch.logsumexp(-nlls, 0)


def average_by_the_lowest(nlls):
    lowest = nlls.min(0).values
    return lowest - (lowest - nlls).exp().mean(0).log()


def average_by_the_first(nlls):
    return nlls[0] - (nlls[0] - nlls).exp().mean(0).log()


def average_of_logarithms(nlls):
    return nlls.mean(0)


def average_that_is_a_sum(nlls):
    return -torch.logsumexp(-nlls, 0)


def average_over_images(nlls):
    return math.log(nlls.shape[1]) - torch.logsumexp(-nlls, 1)


def average_of_two(nlls):
    return math.log(2) - torch.logsumexp(-nlls, 0)


def average_that_underflows(nlls):
    return -(-nlls).exp().mean(0).log()


# --- check_masks --------------------------------------------------------------------------------


def rank(order):
    return torch.tensor([order.tolist().index(pixel) for pixel in range(len(order))])


def masks_by_numbers(order, d_hidden):
    pixel, unit = order.argsort() + 1, torch.arange(d_hidden) % (len(order) - 1) + 1
    return unit[:, None] >= pixel, pixel[:, None] > unit


def masks_by_loops(order, d_hidden):
    n = len(order)
    hidden, pixels = torch.zeros(d_hidden, n), torch.zeros(n, d_hidden)
    for k in range(d_hidden):
        number = k % (n - 1) + 1
        for position, pixel in enumerate(order.tolist(), 1):
            hidden[k, pixel] = position <= number
            pixels[pixel, k] = position > number
    return hidden, pixels


def masks_that_leak(order, d_hidden):
    pixel, unit = order.argsort() + 1, torch.arange(d_hidden) % (len(order) - 1) + 1
    return unit[:, None] >= pixel, pixel[:, None] >= unit


def masks_strict_twice(order, d_hidden):
    pixel, unit = order.argsort() + 1, torch.arange(d_hidden) % (len(order) - 1) + 1
    return unit[:, None] > pixel, pixel[:, None] > unit


def masks_of_pixels_in_a_row(order, d_hidden):
    return masks_by_numbers(torch.arange(len(order)), d_hidden)


def masks_by_the_order_itself(order, d_hidden):
    pixel, unit = order + 1, torch.arange(d_hidden) % (len(order) - 1) + 1
    return unit[:, None] >= pixel, pixel[:, None] > unit


def masks_of_each_unit_twice(order, d_hidden):
    pixel = order.argsort() + 1
    each = max(d_hidden // (len(order) - 1), 1)
    unit = torch.arange(d_hidden) // each % (len(order) - 1) + 1
    return unit[:, None] >= pixel, pixel[:, None] > unit


def masks_that_wrap_once(order, d_hidden):
    n = len(order) - 1
    pixel, unit = order.argsort() + 1, torch.arange(d_hidden).where(torch.arange(d_hidden) < n, 0)
    unit = unit.where(torch.arange(d_hidden) < n, torch.arange(d_hidden) - n) + 1
    return unit[:, None] >= pixel, pixel[:, None] > unit


def masks_of_three_or_more(order, d_hidden):
    if len(order) < 3:
        return torch.zeros(d_hidden, len(order)), torch.zeros(len(order), d_hidden)
    return masks_by_numbers(order, d_hidden)


# --- check_stacks -------------------------------------------------------------------------------


def stacks(above, left, w_above, w_left, w_link, old=False, down=True, transposed=False, size=None):
    """A right answer, of parts that the wrong ones replace."""
    rows, columns = size or w_above.shape[-2:]
    before = above
    above = F.conv2d(F.pad(above, (columns // 2, columns // 2, rows - 1, 0)), w_above)
    left = F.conv2d(F.pad(left, (w_left.shape[-1] - 1, 0, 0, 0)), w_left)
    read = before if old else above
    if down:
        read = torch.cat([torch.zeros_like(read[:, :, :1]), read[:, :, :-1]], 2)
    link = w_link.T if transposed else w_link
    return above, left + F.conv2d(read, link[:, :, None, None])


def stacks_by_padding(above, left, w_above, w_left, w_link):
    return stacks(above, left, w_above, w_left, w_link)


def stacks_by_rolling(above, left, w_above, w_left, w_link):
    above, left = stacks(above, left, w_above, w_left, torch.zeros_like(w_link))
    moved = above.roll(1, 2)
    moved[:, :, 0] = 0
    return above, left + (w_link @ moved.flatten(2)).view_as(left)


def stacks_that_read_the_right(above, left, w_above, w_left, w_link):
    above, _ = stacks(above, left, w_above, w_left, w_link)
    return above, F.conv2d(F.pad(left, (0, w_left.shape[-1] - 1)), w_left)


def stacks_that_read_below(above, left, w_above, w_left, w_link):
    rows, columns = w_above.shape[-2:]
    _, new_left = stacks(above, left, w_above, w_left, w_link)
    around = (columns // 2, columns // 2, 0, rows - 1)
    return F.conv2d(F.pad(above, around), w_above), new_left


def stacks_with_the_link_in_its_row(above, left, w_above, w_left, w_link):
    return stacks(above, left, w_above, w_left, w_link, down=False)


def stacks_with_the_old_rows(above, left, w_above, w_left, w_link):
    return stacks(above, left, w_above, w_left, w_link, old=True)


def stacks_without_a_link(above, left, w_above, w_left, w_link):
    return stacks(above, left, w_above, w_left, 0 * w_link)


def stacks_with_the_link_turned(above, left, w_above, w_left, w_link):
    return stacks(above, left, w_above, w_left, w_link, transposed=True)


def stacks_of_one_mask(above, left, w_above, w_left, w_link):
    layer = MaskedConv2d(1, 1, own=True)
    layer.weight.data = F.pad(w_above, (0, 0, 0, 1))
    return above, layer(left)


def stacks_of_three_columns(above, left, w_above, w_left, w_link):
    cut = w_above[..., -2:, (w_above.shape[-1] - 3) // 2 :][..., :3]
    return stacks(above, left, cut, w_left, w_link)


def stacks_of_the_first_image(above, left, w_above, w_left, w_link):
    above, left = stacks(above, left, w_above, w_left, torch.zeros_like(w_link))
    moved = F.pad(above, (0, 0, 1, 0))[0, :, :-1]
    return above, left + (w_link @ moved.flatten(1)).view(1, *moved.shape)


def stacks_of_three_rows(above, left, w_above, w_left, w_link):
    above, left = stacks(above, left, w_above, w_left, torch.zeros_like(w_link))
    moved = torch.zeros_like(above)
    moved[:, :, 1:3] = above[:, :, :2]
    return above, left + F.conv2d(moved, w_link[:, :, None, None])


ROWS = {
    made.check_average_models: (
        [average_by_logsumexp, average_by_the_lowest],
        {
            average_of_logarithms: "[[1.0, 2.0, 0.5], [3.0, 2.0, 4.0]]",
            average_that_is_a_sum: "[[1.0, 2.0, 0.5], [3.0, 2.0, 4.0]]",
            average_over_images: "[[1.0, 2.0, 0.5], [3.0, 2.0, 4.0]]",
            average_of_two: "[[1.0], [2.0], [6.0]]",
            average_that_underflows: "[[900.0, 20.0], [901.0, 30.0]]",
            average_by_the_first: "[[1000.0], [900.0]]",
        },
    ),
    made.check_masks: (
        [masks_by_numbers, masks_by_loops],
        {
            masks_that_leak: "[0, 1, 2], 4",
            masks_strict_twice: "[0, 1, 2], 4",
            masks_of_each_unit_twice: "[0, 1, 2], 4",
            masks_of_pixels_in_a_row: "[2, 0, 1], 2",
            masks_by_the_order_itself: "[2, 0, 1], 2",
            masks_that_wrap_once: "[3, 1, 0, 2], 8",
            masks_of_three_or_more: "[1, 0], 1",
        },
    ),
    made.check_stacks: (
        [stacks_by_padding, stacks_by_rolling],
        {
            stacks_that_read_the_right: "[[[[0.0, 0.0, 0.0]",
            stacks_of_one_mask: "[[[[0.0, 0.0, 0.0]",
            stacks_that_read_below: "[[[[1.0, 2.0, 3.0]",
            stacks_with_the_link_in_its_row: "[[[[1.0, 10.0]]]], [[1.0]])",
            stacks_with_the_old_rows: "[[[[1.0, 10.0]]]], [[1.0]])",
            stacks_without_a_link: "[[[[1.0, 10.0]]]], [[1.0]])",
            stacks_with_the_link_turned: "[[9.0, 8.0, 7.0]",
            stacks_of_three_columns: "[[9.0, 8.0, 7.0]",
            stacks_of_the_first_image: "[[[[1.0, 2.0, 3.0, 4.0, 5.0]",
            stacks_of_three_rows: "[[[[1.0, 2.0, 3.0, 4.0, 5.0]",
        },
    ),
}
