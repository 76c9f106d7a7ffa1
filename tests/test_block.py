"""The block of a transformer, against PyTorch's encoder layer."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from coursekit.inside.certify import dependence
from coursekit.layers.attention import MultiHeadAttention, attend, attend_past
from coursekit.layers.block import Block, DecoderBlock, FeedForward, gelu, relu_squared
from coursekit.layers.cache import Cache

B, T, H, C = 2, 5, 3, 12
EXACT = {"rtol": 0, "atol": 1e-12}
ORDERS = pytest.mark.parametrize("norm_first", [True, False])


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def block_of(rule=attend, norm=nn.LayerNorm, **options):
    """A block in float64 whose gains and biases are not 1 and 0."""
    attention = MultiHeadAttention(C, H, rule, bias=True)
    block = Block(attention, FeedForward(C), lambda: norm(C), **options).double()
    for weight in block.parameters():
        weight.data = 0.5 * torch.randn_like(weight)
    return block


def test_gelu_equals_pytorch_and_is_close_to_the_normal_distribution():
    x = torch.linspace(-6, 6, 4001, dtype=torch.float64)
    assert torch.equal(gelu(x), nn.GELU("tanh")(x))
    off = (gelu(x) - x * torch.distributions.Normal(0.0, 1.0).cdf(x)).abs().max().item()
    assert 4.7e-4 < off < 4.8e-4


def test_relu_squared_is_the_square_above_zero():
    x = torch.tensor([-2.0, -0.5, 0.0, 0.5, 3.0])
    assert relu_squared(x).tolist() == [0, 0, 0, 0.25, 9]


@pytest.mark.parametrize("bias", [True, False])
def test_feed_forward_is_the_formula(bias):
    network = FeedForward(C, relu_squared, expansion=3, bias=bias).double()
    shapes = {name: tuple(weight.shape) for name, weight in network.named_parameters()}
    assert shapes["expand.weight"] == (3 * C, C)
    assert len(shapes) == (4 if bias else 2)
    x, weights = normal(B, T, C), network.state_dict()
    inside = x @ weights["expand.weight"].T + weights.get("expand.bias", 0)
    expected = inside.clamp(min=0) ** 2 @ weights["out.weight"].T + weights.get("out.bias", 0)
    assert_close(network(x), expected, **EXACT)


def test_feed_forward_takes_every_step_by_itself():
    found = dependence(FeedForward(C).double(), normal(B, T, C))
    assert torch.equal(found != 0, torch.eye(T, dtype=torch.bool))


@ORDERS
@pytest.mark.parametrize("rule", [attend, attend_past])
def test_a_block_equals_pytorchs_encoder_layer(norm_first, rule):
    ours = block_of(rule, norm_first=norm_first)
    theirs = nn.TransformerEncoderLayer(
        C, H, 4 * C, dropout=0, activation=gelu, batch_first=True, norm_first=norm_first
    ).double()
    mine, attention = ours.state_dict(), ours.attention
    inner = [attention.q, attention.k, attention.v]
    theirs.load_state_dict(
        {
            f"self_attn.in_proj_{kind}": torch.cat([getattr(part, kind) for part in inner])
            for kind in ("weight", "bias")
        }
        | {
            f"{name}.{kind}": mine[f"{our_name}.{kind}"]
            for name, our_name in {
                "self_attn.out_proj": "attention.out",
                "linear1": "feed_forward.expand",
                "linear2": "feed_forward.out",
                "norm1": "norm_1",
                "norm2": "norm_2",
            }.items()
            for kind in ("weight", "bias")
        }
    )
    x = normal(B, T, C)
    future = torch.ones(T, T, dtype=torch.bool).triu(1) if rule is attend_past else None
    assert_close(ours(x), theirs(x, src_mask=future), **EXACT)


@ORDERS
@pytest.mark.parametrize("chunks", [(1, 1, 3), (4, 1)])
def test_a_block_that_goes_on_from_the_past_gives_the_same(norm_first, chunks):
    block, x, cache = block_of(attend_past, norm_first=norm_first), normal(B, T, C), Cache()
    found = [block(part, cache=cache) for part in x.split(chunks, 1)]
    assert_close(torch.cat(found, 1), block(x), **EXACT)


def test_without_positions_steps_may_swap():
    block, x, order = block_of(attend), normal(B, T, C), torch.tensor([3, 0, 4, 1, 2])
    assert_close(block(x[:, order]), block(x)[:, order], **EXACT)
    past = block_of(attend_past)
    assert not torch.allclose(past(x[:, order]), past(x)[:, order], atol=0.1)


def test_a_block_with_norm_first_hands_its_input_on_unchanged():
    block, x = block_of(attend), normal(B, T, C)
    for last in (block.attention.out, block.feed_forward.out):
        last.weight.data.zero_()
        last.bias.data.zero_()
    assert torch.equal(block(x), x)


@ORDERS
def test_dropout_acts_in_training_only(norm_first):
    block, x = block_of(attend, norm_first=norm_first, dropout=0.5), normal(B, T, C)
    assert not torch.allclose(block(x), block(x), atol=0.1)
    without = block_of(attend, norm_first=norm_first)
    without.load_state_dict(block.state_dict())
    assert torch.equal(block.eval()(x), without(x))


def test_dropout_spares_the_stream_itself():
    block, x = block_of(attend, dropout=0.999), normal(B, T, C)
    assert (block(x) == x).double().mean().item() > 0.9


def test_each_norm_of_a_block_has_weights_of_its_own():
    block = block_of(norm=nn.RMSNorm)
    assert block.norm_1.weight.data_ptr() != block.norm_2.weight.data_ptr()


def decoder_block_of(rule=attend_past, **options):
    """A decoder block in float64 whose gains and biases are not 1 and 0."""
    attentions = (MultiHeadAttention(C, H, one, bias=True) for one in (rule, attend))
    block = DecoderBlock(*attentions, FeedForward(C), lambda: nn.LayerNorm(C), **options).double()
    for weight in block.parameters():
        weight.data = 0.5 * torch.randn_like(weight)
    return block


def test_a_decoder_block_equals_pytorchs_decoder_layer():
    ours = decoder_block_of()
    theirs = nn.TransformerDecoderLayer(
        C, H, 4 * C, dropout=0.0, activation=gelu, batch_first=True, norm_first=True
    ).double()
    for their, our in (("self_attn", "self_attention"), ("multihead_attn", "cross_attention")):
        their, our = getattr(theirs, their), getattr(ours, our)
        their.in_proj_weight.data = torch.cat([our.q.weight, our.k.weight, our.v.weight])
        their.in_proj_bias.data = torch.cat([our.q.bias, our.k.bias, our.v.bias])
        their.out_proj.load_state_dict(our.out.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.expand.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.out.state_dict())
    for i in (1, 2, 3):
        getattr(theirs, f"norm{i}").load_state_dict(getattr(ours, f"norm_{i}").state_dict())
    x, memory = normal(B, T, C), normal(B, 7, C)
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    assert_close(ours(x, memory), theirs(x, memory, tgt_mask=hidden), **EXACT)


def test_a_decoder_block_that_adds_nothing_is_the_identity():
    block, x = decoder_block_of(dropout=0.5), normal(B, T, C)
    for part in (block.self_attention, block.cross_attention, block.feed_forward):
        for weight in part.out.parameters():
            weight.data.zero_()
    assert torch.equal(block(x, normal(B, 7, C)), x)


def test_a_decoder_block_reads_its_past_and_the_whole_memory():
    block, x, memory = decoder_block_of(), normal(B, T, C), normal(B, 7, C)
    to_x, to_memory = torch.autograd.functional.jacobian(block, (x, memory))
    past = torch.ones(T, T, dtype=torch.bool).tril()
    assert torch.equal(to_x.abs().amax((0, 2, 3, 5)) > 0, past)
    assert (to_memory.abs().amax((0, 2, 3, 5)) > 0).all()
