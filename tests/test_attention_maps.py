"""Attention weights taken from outside, and drawn as lines."""

import matplotlib.pyplot as plt
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.inside.attention_maps import read_attention
from coursekit.layers.attention import MultiHeadAttention, attend_past, attention_weights
from coursekit.layers.position import SinusoidalPositions
from coursekit.layers.prob_sparse import prob_sparse
from coursekit.models.encoder import Encoder, EncoderConfig
from coursekit.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from coursekit.notebook.pictures import attention_lines
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw

B, T, S, H, C = 2, 5, 7, 3, 12


def test_the_weights_of_each_layer_are_those_that_mixed():
    torch.manual_seed(0)
    layer, x, memory = MultiHeadAttention(C, H), torch.randn(B, T, C), torch.randn(B, S, C)
    (weights,) = read_attention(layer, x, memory).values()
    expected = attention_weights(layer._split(layer.q(x)), layer._split(layer.k(memory)))
    assert weights.shape == (B, H, T, S)
    assert_close(weights, expected)


def test_a_causal_layer_gives_nothing_to_the_future():
    torch.manual_seed(0)
    (weights,) = read_attention(
        MultiHeadAttention(C, H, attend_past), torch.randn(B, T, C)
    ).values()
    assert not weights.triu(1).any()
    assert_close(weights.sum(-1), torch.ones(B, H, T))


def test_padding_gets_no_weight_and_the_model_is_left_as_it_was():
    sizes = {"vocab_size": 9, "context": 8, "n_layer": 2, "n_head": H, "d_model": C}
    model = Encoder(EncoderConfig(**sizes)).train()
    rules = [block.attention.rule for block in model.blocks]
    tokens, present = torch.randint(9, (B, T)), (torch.arange(T) < 3).expand(B, T)
    maps = read_attention(model, tokens, present)
    assert list(maps) == ["blocks.0.attention", "blocks.1.attention"]
    assert not any(weights[..., 3:].any() for weights in maps.values())
    assert model.training
    assert [block.attention.rule for block in model.blocks] == rules


def test_an_encoder_decoder_shows_its_three_kinds():
    sizes = {"vocab_size": 9, "n_encoder": 1, "n_decoder": 1, "n_head": H, "d_model": C}
    maps = read_attention(
        EncoderDecoder(EncoderDecoderConfig(**sizes)),
        torch.randint(9, (B, S)),
        torch.randint(9, (B, T)),
    )
    shapes = {name: tuple(weights.shape[2:]) for name, weights in maps.items()}
    assert shapes == {
        "encoder.0.attention": (S, S),
        "decoder.0.self_attention": (T, T),
        "decoder.0.cross_attention": (T, S),
    }


def test_a_rule_that_mixes_otherwise_is_refused_and_put_back():
    torch.manual_seed(0)
    rule = prob_sparse(1)
    layer = MultiHeadAttention(C, H, rule)
    with pytest.raises(ValueError, match="mixes by a rule of its own"):
        read_attention(layer, torch.randn(B, 40, C))
    assert layer.rule is rule


def test_a_model_without_attention_is_refused():
    with pytest.raises(ValueError, match="Linear has no MultiHeadAttention"):
        read_attention(nn.Linear(2, 2), torch.ones(1, 2))


def test_a_line_is_as_wide_as_its_weight():
    weights = [[0.5, 0.005, 0.495], [0.0, 1.0, 0.0]]
    ax = attention_lines(plt.figure().gca(), ["a", "b"], ["x", "y", "z"], weights)
    lines = {tuple(line.get_ydata()): line.get_linewidth() for line in ax.get_lines()}
    assert lines == pytest.approx({(0, 0): 3.5, (0, -2): 7 * 0.495, (-1, -1): 7.0})
    assert [text.get_text() for text in ax.texts] == ["a", "b", "x", "y", "z"]
    plt.close()


def test_lines_without_a_weight_for_each_pair_are_refused():
    with pytest.raises(ValueError, match="give a row for each reader"):
        attention_lines(plt.figure().gca(), ["a"], ["x", "y"], [[1.0]])
    plt.close()


class Follower(nn.Module):
    """Reads a series with one head, and says what another one that follows it does."""

    def __init__(self, d=32):
        super().__init__()
        self.content, self.positions = nn.Linear(1, d), SinusoidalPositions(32, d)
        self.attention, self.head = MultiHeadAttention(d, 1, attend_past), nn.Linear(d, 1)

    def forward(self, x):
        return self.head(self.attention(self.positions(self.content(x[..., None]))))[..., 0]


def weight_at_lags(model, x):
    weights = read_attention(model, x)["attention"][:, 0].mean(0)
    return torch.stack([weights.diagonal(-k)[16 - k :].mean() for k in range(13)])


@pytest.mark.parametrize("lag", [3, 9])
def test_attention_finds_the_lag_at_which_one_series_follows_another(lag):
    g = torch.Generator().manual_seed(42)
    x = torch.randn(300, 32, 32, generator=g)
    y = x.roll(lag, 2) + 0.3 * torch.randn(x.shape, generator=g)
    y[..., :lag] = 0  # nothing to follow yet
    torch.manual_seed(42)
    model = Follower()
    assert weight_at_lags(model, x[0]).max() < 0.1
    fit(model, adamw(model, 1e-2), [*zip(x, y, strict=True)], steps=300, loss=F.mse_loss)
    weights = weight_at_lags(model, x[0])
    assert weights.argmax() == lag
    assert weights[lag] > 0.8
