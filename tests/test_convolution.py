"""Causal convolutions: equal to PyTorch's, blind to the future, and resumable."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.inside.certify import dependence
from coursekit.layers.attention import MultiHeadAttention, attend_past
from coursekit.layers.basic import BatchNorm1d
from coursekit.layers.cache import Cache
from coursekit.layers.convolution import (
    CausalConv1d,
    ConvolvedAttention,
    GatedBlock,
    convolve,
    receptive_field,
)

B, T, C, D = 2, 11, 3, 5
STACKS = [
    ((2, 2, 2, 2), (1, 1, 1, 1)),
    ((2, 2, 2, 2), (1, 2, 4, 8)),
    ((3, 3), (1, 3)),
    ((4,), (2,)),
]


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def torch_causal(x, weight, bias, dilation):
    padded = F.pad(x.mT, ((weight.shape[-1] - 1) * dilation, 0))
    return F.conv1d(padded, weight, bias, dilation=dilation).mT


@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2, 5])
@pytest.mark.parametrize("bias", [True, False])
def test_it_equals_pytorch_with_padding_on_the_left(kernel, dilation, bias):
    layer, x = CausalConv1d(C, D, kernel, dilation=dilation, bias=bias).double(), draw(B, T, C)
    if bias:
        layer.bias.data = draw(D, seed=1)
    expected = torch_causal(x, layer.weight, layer.bias, dilation)
    assert_close(layer(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pieces", [(11,), (1,) * 11, (4, 0, 1, 6)])
def test_a_sequence_read_in_pieces_gives_what_the_whole_gives(pieces):
    layer, x = CausalConv1d(C, D, 3, dilation=2).double(), draw(B, T, C)
    cache = Cache()
    outputs = [layer(piece, cache) for piece in x.split(pieces, 1)]
    assert_close(torch.cat(outputs, 1), layer(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("length", [0, 3, 5])
def test_a_past_of_another_length_is_refused(length):
    with pytest.raises(ValueError, match=f"{length} past steps instead of 4: give just those"):
        convolve(draw(B, T, C), draw(D, C, 3), 2, draw(B, length, C))


@pytest.mark.parametrize("sizes", [{"kernel": 0}, {"dilation": 0}])
def test_a_size_below_1_is_refused(sizes):
    with pytest.raises(ValueError, match="must all be at least 1"):
        CausalConv1d(C, D, **sizes)


def test_unit_inputs_give_unit_outputs():
    torch.manual_seed(0)
    layer = CausalConv1d(64, 200, 4)
    variance = layer(torch.randn(8, 50, 64))[:, 3:].var().item()
    assert variance == pytest.approx(1, rel=0.03)


@pytest.mark.parametrize(("kernels", "dilations"), STACKS)
def test_the_formula_counts_the_steps_that_a_gradient_finds(kernels, dilations):
    pairs = list(zip(kernels, dilations, strict=True))
    stack = nn.Sequential(*(CausalConv1d(C, C, k, dilation=d) for k, d in pairs)).double()
    field = receptive_field(kernels, dilations)
    found = dependence(stack, draw(1, 20, C)) > 0
    back = torch.arange(20)[:, None] - torch.arange(20)
    read = (back >= 0) & (back < field)
    assert not found[~read].any()
    assert found[read & (back % min(dilations) == 0)].all()
    assert found[-1].sum() == read[-1, back[-1] % min(dilations) == 0].sum()


def test_receptive_fields_known_by_heart():
    assert receptive_field([2] * 4, [1] * 4) == 5
    assert receptive_field([2] * 4, [1, 2, 4, 8]) == 16
    assert receptive_field([], []) == 1
    with pytest.raises(ValueError, match="must all be at least 1"):
        receptive_field([2], [0])


def test_away_from_the_start_a_shifted_input_gives_a_shifted_output():
    layer, x = CausalConv1d(C, D, 3, dilation=2).double(), draw(B, T, C)
    shifted = layer(x[:, 2:])
    assert_close(shifted[:, 4:], layer(x)[:, 6:], rtol=0, atol=1e-12)
    assert not torch.allclose(shifted[:, :4], layer(x)[:, 2:6])  # zeros stand before the start


def test_a_gated_block_is_what_its_formula_says():
    block, x = GatedBlock(C, D, 2, 3).double(), draw(B, T, C)
    weight, bias = block.filter_and_gate.weight, draw(2 * C, seed=1)
    block.filter_and_gate.bias.data = bias
    signal = torch_causal(x, weight[:C], bias[:C], 3)
    gate = torch_causal(x, weight[C:], bias[C:], 3)
    z = signal.tanh() / (1 + (-gate).exp())
    after, skip = block(x)
    assert_close(after, x + z @ block.residual.weight.T, rtol=0, atol=1e-12)
    assert_close(skip, z @ block.skip.weight.T, rtol=0, atol=1e-12)


def test_dependence_is_the_largest_entry_of_a_known_jacobian():
    mix = draw(4, T, seed=3)
    mix[1, 2] = 0
    found = dependence(_MixSteps(mix), draw(B, T, C))
    assert_close(found, 2 * mix.abs(), rtol=0, atol=1e-12)
    assert found[1, 2] == 0


class _MixSteps(nn.Module):
    def __init__(self, mix):
        super().__init__()
        self.mix = mix

    def forward(self, x):
        return torch.cat([self.mix @ x, -2 * self.mix @ x], -1)


def test_batch_norm_over_steps_equals_pytorch_on_flattened_steps():
    ours, theirs = BatchNorm1d(C).double(), nn.BatchNorm1d(C).double()
    x = draw(B, T, C)
    assert_close(ours(x).flatten(0, 1), theirs(x.flatten(0, 1)), rtol=0, atol=1e-12)
    assert_close(ours.running_var, theirs.running_var, rtol=0, atol=1e-12)
    assert ours.running_mean.shape == (C,)


def test_in_training_mode_batch_norm_lets_the_future_in_and_in_evaluation_mode_not():
    stack = nn.Sequential(CausalConv1d(C, C), BatchNorm1d(C)).double()
    future = torch.ones(6, 6).triu(1).bool()
    assert (dependence(stack, draw(B, 6, C))[future] > 0).all()
    stack.eval()
    assert (dependence(stack, draw(B, 6, C))[future] == 0).all()


HEADS, WIDTH = 3, 12


def convolved(kernel, bias=True):
    torch.manual_seed(0)
    return ConvolvedAttention(WIDTH, HEADS, kernel=kernel, bias=bias).double()


@pytest.mark.parametrize("bias", [True, False])
def test_convolved_attention_with_kernel_1_is_plain_attention(bias):
    layer, x = convolved(1, bias), draw(B, T, WIDTH)
    plain = MultiHeadAttention(WIDTH, HEADS, attend_past, bias=bias).double()
    weights = layer.state_dict()
    plain.load_state_dict({name: w.squeeze(-1) for name, w in weights.items()})
    assert_close(layer(x), plain(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", [2, 3, 5])
def test_its_queries_and_keys_are_pytorch_convolutions_padded_on_the_left(kernel):
    layer, x = convolved(kernel), draw(B, T, WIDTH)
    for part in (layer.q, layer.k):
        part.bias.data = draw(WIDTH, seed=1)
    heads = [
        part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        for part in (
            torch_causal(x, layer.q.weight, layer.q.bias, 1),
            torch_causal(x, layer.k.weight, layer.k.bias, 1),
            layer.v(x),
        )
    ]
    mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
    assert_close(layer(x), layer.out(mixed.transpose(1, 2).flatten(-2)), rtol=0, atol=1e-12)


def test_lag_i_has_the_last_tap_but_i():
    layer, x = convolved(3, bias=False), draw(B, T, WIDTH)
    lag = {i: layer.q.weight[..., 3 - 1 - i].T for i in range(3)}
    written_out = x[:, 2:] @ lag[0] + x[:, 1:-1] @ lag[1] + x[:, :-2] @ lag[2]
    assert_close(layer.q(x)[:, 2:], written_out, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", [1, 2, 4])
def test_convolved_attention_reads_all_of_the_past_and_nothing_of_the_future(kernel):
    found = dependence(convolved(kernel), draw(B, T, WIDTH))
    assert (found.triu(1) == 0).all()
    assert (found.tril() > 0).sum() == T * (T + 1) / 2


@pytest.mark.parametrize("kernel", [1, 2, 4])
@pytest.mark.parametrize("pieces", [(11,), (1,) * 11, (2, 0, 3, 6)])
def test_convolved_attention_in_pieces_gives_what_the_whole_gives(kernel, pieces):
    layer, x = convolved(kernel), draw(B, T, WIDTH)
    cache = Cache()
    outputs = [layer(piece, cache=cache) for piece in x.split(pieces, 1)]
    assert_close(torch.cat(outputs, 1), layer(x), rtol=0, atol=1e-12)


def test_values_of_convolved_attention_are_point_wise():
    # Where every step may read itself only, shares are 1, and nothing but its own value counts.
    layer, x, own = convolved(3), draw(B, T, WIDTH), torch.eye(T, dtype=torch.bool)
    moved = x.clone()
    moved[:, 4] += 1
    differs = (layer(x, allowed=own) - layer(moved, allowed=own)).abs().amax((0, 2)) > 1e-9
    assert differs.nonzero().flatten().tolist() == [4]


@pytest.mark.parametrize(
    ("sizes", "remedy"),
    [((12, 5, attend_past, 3), "not a multiple"), ((12, 3, attend_past, 0), "at least 1")],
)
def test_convolved_attention_refuses_sizes_that_do_not_fit(sizes, remedy):
    with pytest.raises(ValueError, match=remedy):
        ConvolvedAttention(*sizes)
