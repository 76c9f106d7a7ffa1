"""Layers that may read some of their inputs only."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.layers.masked import (
    MaskedConv2d,
    MaskedLinear,
    TwoStackConv2d,
    count_parameters,
    earlier,
    rank_pixels,
    raster_mask,
    two_stacks,
)

B, ROWS, COLUMNS, D = 2, 5, 9, 3  # mutually different


def normal(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g, dtype=torch.float64)


def test_a_masked_layer_is_pytorchs_with_a_masked_matrix():
    allowed = normal(7, 5) > 0
    layer = MaskedLinear(allowed, gain=2.0).double()
    layer.bias.data = normal(7)
    oracle = nn.Linear(5, 7).double()
    oracle.weight.data, oracle.bias.data = layer.weight.where(allowed, 0.0), layer.bias
    x = normal(B, 3, 5)
    assert_close(layer(x), oracle(x), rtol=0, atol=1e-14)
    layer(x).square().sum().backward()
    assert (layer.weight.grad[~allowed] == 0).all()
    assert (layer.weight.grad[allowed] != 0).all()


def test_what_is_earlier_follows_the_order():
    order = torch.tensor([3, 0, 2, 1])
    assert rank_pixels(order).tolist() == [1, 3, 2, 0]
    assert earlier(order).int().tolist() == [[0, 0, 0, 1], [1, 0, 1, 1], [1, 0, 0, 1], [0] * 4]


@pytest.mark.parametrize("order", [[0, 0, 1], [1, 2, 3], [0, 2]])
def test_an_order_with_a_pixel_missing_or_twice_is_refused(order):
    with pytest.raises(ValueError, match=r"holds each number below . once: torch.randperm"):
        earlier(torch.tensor(order))


@pytest.mark.parametrize(("own", "middle"), [(False, 0), (True, 1)])
@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_a_raster_mask_ends_at_the_middle(kernel, own, middle):
    mask = raster_mask(kernel, own=own).flatten().int()
    half = kernel**2 // 2
    assert mask.tolist() == [1] * half + [middle] + [0] * half


@pytest.mark.parametrize("kernel", [0, 2, 4])
def test_a_kernel_without_a_middle_is_refused(kernel):
    with pytest.raises(ValueError, match=f"kernel={kernel} has no pixel in the middle"):
        MaskedConv2d(1, 2, kernel, own=True)
    with pytest.raises(ValueError, match=f"kernel={kernel} has no pixel in the middle"):
        TwoStackConv2d(2, kernel)


@pytest.mark.parametrize("own", [False, True])
def test_a_masked_convolution_is_a_sum_over_the_pixels_before(own):
    layer = MaskedConv2d(2, D, 3, own=own).double()
    layer.bias.data = normal(D)
    x = normal(B, 2, ROWS, COLUMNS)
    y = layer(x)
    around = F.pad(x, (1, 1, 1, 1))
    for row in range(ROWS):
        for column in range(COLUMNS):
            window = around[:, :, row : row + 3, column : column + 3].flatten(2)
            weight = layer.weight.flatten(2)[..., : 4 + own]
            sums = torch.einsum("oik,bik->bo", weight, window[..., : 4 + own])
            assert_close(y[:, :, row, column], sums + layer.bias, rtol=0, atol=1e-13)


@pytest.mark.parametrize("own", [False, True])
def test_the_convolutions_start_so_that_the_variance_stays(own):
    torch.manual_seed(0)
    x = torch.randn(40, 8, ROWS, COLUMNS)
    found = [MaskedConv2d(8, 200, 3, own=own)(x), *TwoStackConv2d(8)(x, x)]
    for y in found:
        assert y[..., 1:, 1:-1][..., :-1, :].var().item() == pytest.approx(1, rel=0.15)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_two_stacks_are_sums_over_what_lies_above_and_to_the_left(rows):
    above, left = normal(B, D, ROWS, COLUMNS), normal(B, D, ROWS, COLUMNS, seed=1)
    w_above, w_left = normal(D, D, rows, 3), normal(D, D, 1, 4, seed=2)
    w_link = normal(D, D, seed=3)
    new_above, new_left = two_stacks(above, left, w_above, w_left, w_link)
    beside, before = F.pad(above, (1, 1, rows - 1, 0)), F.pad(left, (3, 0))
    for row in range(ROWS):
        for column in range(COLUMNS):
            window = beside[:, :, row : row + rows, column : column + 3]
            assert_close(
                new_above[:, :, row, column], torch.einsum("oirk,birk->bo", w_above, window)
            )
            taps = before[:, :, row, column : column + 4]
            wanted = torch.einsum("oik,bik->bo", w_left[:, :, 0], taps)
            if row:
                wanted = wanted + new_above[:, :, row - 1, column] @ w_link.T
            assert_close(new_left[:, :, row, column], wanted)


def test_a_layer_of_two_stacks_adds_its_biases():
    torch.manual_seed(0)
    layer, x = TwoStackConv2d(D, 5).double(), normal(B, D, ROWS, COLUMNS)
    bare = two_stacks(x, 2 * x, layer.w_above, layer.w_left, layer.w_link)
    layer.bias.data = normal(2, D, 1, 1)
    for stack, without, bias in zip(layer(x, 2 * x), bare, layer.bias, strict=True):
        assert_close(stack, without + bias)
    assert layer.w_above.shape == (D, D, 3, 5)
    assert layer.w_left.shape == (D, D, 1, 3)


def reads(model, row, column, size=9):
    """Which pixels an output reads, when no weight is negative and no path cancels another."""
    x = torch.ones(1, 1, size, size, requires_grad=True)
    return torch.autograd.grad(model(x)[0, 0, row, column], x)[0][0, 0] > 0


def test_one_stack_has_a_blind_spot_and_two_have_none():
    def one(x):
        for own in [False, *[True] * 9]:
            x = F.conv2d(x, raster_mask(3, own=own).float().view(1, 1, 3, 3), padding=1)
        return x

    def two(x):
        above, left = x, F.pad(x, (1, -1))
        for _ in range(10):
            weights = torch.ones(1, 1, 2, 3), torch.ones(1, 1, 1, 2), torch.ones(1, 1)
            above, left = two_stacks(above, left, *weights)
        return left

    seen, all_seen = reads(one, 5, 4), reads(two, 5, 4)
    assert seen.sum() == 49 - 6
    assert not any(seen[row, column] for row, column in [(4, 6), (4, 7), (4, 8), (3, 7), (3, 8)])
    assert all_seen.flatten().tolist() == [True] * 49 + [False] * 32


def test_what_a_mask_cuts_is_stored_but_not_live():
    layers = nn.Sequential(
        MaskedConv2d(2, 4, 3, own=False),  # 4 of 9 weights, for 2 × 4 channels; 4 biases
        MaskedLinear(earlier(torch.arange(5))),  # 10 of 25; 5
        nn.Linear(5, 2),  # all 10; 2
    )
    assert count_parameters(layers) == (72 + 4 + 25 + 5 + 12, 32 + 4 + 10 + 5 + 12)
