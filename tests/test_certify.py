"""Every causal rule and model of the library looks back only; what was published does not."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from torch import nn

from coursekit.inside.certify import certify, dependence
from coursekit.layers.attention import (
    MultiHeadAttention,
    attend,
    attend_past,
    normalise_heads,
)
from coursekit.layers.convolution import CausalConv1d, ConvolvedAttention
from coursekit.layers.position import rotary
from coursekit.layers.sparse import (
    attend_log_sparse,
    choose_top,
    fill_mean,
    fill_running_mean,
    fill_running_sum,
    prob_sparse,
    prob_sparse_past,
    score_past,
    score_sample,
)
from coursekit.models.gpt import GPT, GPTConfig, modern_gpt
from coursekit.models.series_transformer import OneStep, SeriesTransformer, SeriesTransformerConfig
from coursekit.models.wavenet import WaveNet, WaveNetConfig
from coursekit.notebook.plot import draw_dependence

B, H, T, C, D = 2, 3, 48, 6, 4

CAUSAL = {
    "attend_past": attend_past,
    "rotary": rotary(attend_past),
    "normalise_heads": normalise_heads(attend_past),
    "attend_log_sparse": attend_log_sparse,
    "prob_sparse_past": prob_sparse_past(1),
    "rotary prob_sparse_past": rotary(prob_sparse_past(1)),
}
LEAKING = {
    "attend": attend,
    "prob_sparse": prob_sparse(1),
    "all three leaks": prob_sparse_past(1, score=score_sample, choose=choose_top, fill=fill_mean),
    "the paper's code": prob_sparse_past(
        1, score=score_sample, choose=choose_top, fill=fill_running_sum
    ),
    "running mean": prob_sparse_past(1, score=score_sample, choose=choose_top),
    "past scores": prob_sparse_past(1, score=score_past, choose=choose_top, fill=fill_running_mean),
    "future scores": prob_sparse_past(1, score=score_sample),
}


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def loose(model):
    """The same model in float64 and eval mode, with weights large enough to matter."""
    for weight in model.double().eval().parameters():
        weight.data.normal_(std=0.5)
    return model


@pytest.mark.parametrize("rule", CAUSAL.values(), ids=CAUSAL)
def test_a_causal_rule_does_not_depend_on_the_future(rule):
    found = certify(rule, *(normal(B, H, T, D) for _ in range(3)))
    assert found.slope == 0
    assert found.moved == 0
    assert found.change < 1e-12
    assert found.repeat == 0
    assert found.ones < 1e-12
    assert found.causal
    assert found.holds


@pytest.mark.parametrize("rule", LEAKING.values(), ids=LEAKING)
def test_a_leaking_rule_is_found_out(rule):
    found = certify(rule, *(normal(B, H, T, D) for _ in range(3)))
    assert found.moved > 0.01
    assert found.change > 0.1
    assert not found.causal
    assert not found.holds


def test_each_thing_that_is_mended_lets_fewer_outputs_move():
    names = ["all three leaks", "the paper's code", "running mean", "past scores"]
    q, k, v = (normal(4, H, 96, D) for _ in range(3))
    moved = [certify(LEAKING[name], q, k, v).moved for name in names]
    assert moved[0] > 0.8
    assert moved[1] == pytest.approx(moved[2])
    assert 0.2 > moved[2] > moved[3] > 0.01


def test_slopes_see_a_mean_over_the_future_but_not_a_choice_by_it():
    inputs = [normal(B, H, T, D) for _ in range(3)]
    assert certify(LEAKING["all three leaks"], *inputs).slope > 0
    assert certify(LEAKING["past scores"], *inputs).slope == 0


def test_values_of_1_show_a_sum_that_stands_for_a_mean():
    found = certify(LEAKING["the paper's code"], *(normal(B, H, T, D) for _ in range(3)))
    assert found.ones == pytest.approx(T - 1, abs=3)
    assert certify(LEAKING["all three leaks"], *(normal(B, H, T, D) for _ in range(3))).ones < 1e-12


@pytest.mark.parametrize("rule", CAUSAL.values(), ids=CAUSAL)
def test_multi_head_attention_with_a_causal_rule_is_causal(rule):
    assert certify(loose(MultiHeadAttention(H * D, H, rule)), normal(B, 20, H * D)).holds


@pytest.mark.parametrize("dilation", [1, 3])
def test_causal_convolutions_are_causal(dilation):
    model = loose(CausalConv1d(C, C, 3, dilation=dilation))
    assert certify(model, normal(B, 20, C)).holds


@pytest.mark.parametrize("rule", [attend_past, attend_log_sparse], ids=["past", "log_sparse"])
def test_attention_with_convolved_queries_and_keys_is_causal(rule):
    assert certify(loose(ConvolvedAttention(H * D, H, rule, 3)), normal(B, 20, H * D)).holds


@pytest.mark.parametrize("rule", [attend_past, attend_log_sparse], ids=["past", "log_sparse"])
def test_a_forecast_by_the_series_transformer_reads_neither_its_own_value_nor_later_ones(rule):
    config = SeriesTransformerConfig(n_column=2, n_layer=2, n_head=2, d_model=8)
    model, marks = loose(SeriesTransformer(config, rule=rule)), torch.zeros(B, 20, 3).long()
    found = certify(lambda values: OneStep(model)(values, marks), normal(B, 20, 2), own=False)
    assert found.holds
    assert (found.slopes.diagonal(-1) > 0).all()


def test_wavenet_is_causal():
    model = loose(WaveNet(WaveNetConfig(d_in=C, d_out=2, d_model=5)))
    assert certify(model, normal(B, 20, C)).holds


@pytest.mark.parametrize("build", [GPT, modern_gpt])
def test_gpt_is_causal(build):
    model = loose(build(GPTConfig(vocab_size=11, context=16, n_layer=2, n_head=2, d_model=8)))
    found = certify(model, torch.randint(11, (B, 16)))
    assert found.slopes is None
    assert found.holds


def test_the_slopes_are_where_the_jacobian_is_not_0():
    model, x = loose(MultiHeadAttention(H * D, H, attend_log_sparse)), normal(B, 9, H * D)
    assert torch.equal(certify(model, x).slopes > 0, dependence(model, x) > 0)


def test_what_must_not_read_itself_is_held_to_that():
    def shift(x):
        return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)

    x = normal(B, 7, C)
    assert certify(shift, x, own=False).holds
    found = certify(nn.Identity(), x, own=False)
    assert found.slope > 0
    assert found.moved > 0
    assert certify(nn.Identity(), x).holds


def test_one_step_that_looks_one_step_ahead_is_found_where_it_is():
    def peek(x):
        x = x.clone()
        x[:, 4] += x[:, 5]
        return x

    found = certify(peek, normal(B, 7, C))
    assert found.slopes.triu(1).nonzero().tolist() == [[4, 5]]
    assert found.moves.nonzero().tolist() == [[4, 5]]
    assert 0 < found.moved < 0.1


def test_tokens_are_replaced_by_tokens():
    def ahead(tokens):
        return tokens.roll(-1, 1).double()[..., None]

    found = certify(ahead, torch.randint(50, (B, 9)))
    assert found.moved > 0
    assert not found.causal


def test_tokens_that_are_all_0_certify_nothing():
    with pytest.raises(ValueError, match="every token is 0, so no other can be tried"):
        certify(nn.Embedding(4, 3), torch.zeros(B, 9, dtype=torch.long))


def test_a_model_that_draws_does_not_hold():
    found = certify(nn.Dropout(0.5), normal(B, 7, C))
    assert found.repeat > 0
    assert not found.holds
    assert certify(nn.Dropout(0.5).eval(), normal(B, 7, C)).holds


def test_the_inputs_and_the_global_generator_stay_as_they_are():
    x = normal(B, 7, C)
    before = x.clone()
    certify(loose(CausalConv1d(C, C)), x)
    torch.manual_seed(1)
    state = torch.random.get_rng_state()
    certify(nn.Identity(), x)
    certify(lambda tokens: tokens.double(), torch.arange(6).reshape(2, 3))
    assert torch.equal(x, before)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert x.grad is None


def test_a_certificate_is_read_in_one_line():
    inputs = [normal(B, H, T, D) for _ in range(3)]
    assert str(certify(attend_past, *inputs)).startswith("causal: slope 0 to later inputs, 0.0%")
    assert str(certify(attend, *inputs)).startswith("NOT causal: slope ")
    tokens = certify(lambda x: x.double()[..., None], torch.randint(5, (B, T)))
    assert str(tokens).startswith("causal: no slopes")


@pytest.mark.parametrize("n", [0, 2, 4])
def test_neither_a_model_nor_a_rule_is_refused(n):
    with pytest.raises(ValueError, match="give one x for a model, or q, k, v for a rule"):
        certify(attend, *[normal(T, D)] * n)


def test_other_steps_out_than_in_are_refused():
    with pytest.raises(ValueError, match="every input needs as many steps as come out"):
        certify(lambda x: x[:, 1:], normal(B, T, C))


def test_the_picture_shows_each_dependence_and_crosses_out_the_future():
    matrix = torch.tensor([[1.0, 0, 3], [0, -2, 0], [4, 0, 0]])
    ax = draw_dependence(matrix, label="slope")
    drawn = ax.images[0].get_array()
    assert drawn.mask.tolist() == (matrix == 0).tolist()
    assert np.array_equal(drawn.filled(0), matrix.abs())
    assert ax.collections[0].get_offsets().tolist() == [[2, 0]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("input step", "output step")
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first step on top
    plt.close("all")


def test_a_picture_without_a_future_has_no_crosses():
    assert not draw_dependence(torch.eye(4) > 0).collections
    plt.close("all")


def test_a_picture_needs_as_many_outputs_as_inputs():
    with pytest.raises(ValueError, match="give as many outputs as inputs"):
        draw_dependence(torch.ones(2, 3))
