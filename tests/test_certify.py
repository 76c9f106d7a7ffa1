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
from coursekit.layers.log_sparse import attend_log_sparse
from coursekit.layers.position import rotary
from coursekit.layers.prob_sparse import (
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
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]

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
    assert found.gradient == 0
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


def test_gradients_see_a_mean_over_the_future_but_not_a_choice_by_it():
    inputs = [normal(B, H, T, D) for _ in range(3)]
    assert certify(LEAKING["all three leaks"], *inputs).gradient > 0
    assert certify(LEAKING["past scores"], *inputs).gradient == 0


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
    found = certify(lambda values: OneStep(model)(values, marks), normal(B, 20, 2), strict=True)
    assert found.holds
    assert (found.gradients.diagonal(-1) > 0).all()


def test_wavenet_is_causal():
    model = loose(WaveNet(WaveNetConfig(d_in=C, d_out=2, d_model=5)))
    assert certify(model, normal(B, 20, C)).holds


@pytest.mark.parametrize("build", [GPT, modern_gpt])
def test_gpt_is_causal(build):
    model = loose(build(GPTConfig(vocab_size=11, context=16, n_layer=2, n_head=2, d_model=8)))
    found = certify(model, torch.randint(11, (B, 16)))
    assert found.gradients is None
    assert found.holds


def test_the_gradients_are_where_the_jacobian_is_not_0():
    model, x = loose(MultiHeadAttention(H * D, H, attend_log_sparse)), normal(B, 9, H * D)
    assert torch.equal(certify(model, x).gradients > 0, dependence(model, x) > 0)


def test_what_must_not_read_itself_is_held_to_that():
    def shift(x):
        return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)

    x = normal(B, 7, C)
    assert certify(shift, x, strict=True).holds
    found = certify(nn.Identity(), x, strict=True)
    assert found.gradient > 0
    assert found.moved > 0
    assert certify(nn.Identity(), x).holds


def test_one_step_that_looks_one_step_ahead_is_found_where_it_is():
    def peek(x):
        x = x.clone()
        x[:, 4] += x[:, 5]
        return x

    found = certify(peek, normal(B, 7, C))
    assert found.gradients.triu(1).nonzero().tolist() == [[4, 5]]
    assert found.moves.nonzero().tolist() == [[4, 5]]
    assert 0 < found.moved < 0.1


def test_tokens_are_replaced_by_tokens():
    def ahead(tokens):
        return tokens.roll(-1, 1).double()[..., None]

    found = certify(ahead, torch.randint(50, (B, 9)))
    assert found.moved > 0
    assert not found.causal


def planted(model, at, by):
    """`model` plus `by` of its inputs at one element of its output."""

    def leaking(*inputs):
        y = model(*inputs).clone()
        y[at] += by(*inputs)
        return y

    return leaking


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("gain", [1.0, -1.0, 1e-8, -1e-8])
def test_a_single_number_of_any_later_step_is_found_where_it_is_read(strict, gain):
    """Whatever its sign and size; first and last steps, too; from one example into another."""
    steps, x = 5, normal(B, 5, C)
    for s in range(steps):
        for t in range(s + 1 - strict, steps):
            model = planted(
                torch.zeros_like, (0, s, 1), lambda x, t=t: gain * (1e6 * x[1, t, 2]).floor()
            )
            found = certify(model, x, strict=strict)
            moved = torch.zeros(steps, steps, dtype=torch.bool)
            moved[s, s + 1 - strict : t + 1] = True
            assert torch.equal(found.moves > 0, moved), (s, t)
            smooth = planted(torch.zeros_like, (0, s, 1), lambda x, t=t: gain * x[1, t, 2])
            assert certify(smooth, x, strict=strict).gradients.nonzero().tolist() == [[s, t]]
            assert not found.causal
            assert not certify(smooth, x, strict=strict).causal


@pytest.mark.parametrize("which", [0, 1, 2], ids=["q", "k", "v"])
@pytest.mark.parametrize("choice", [True, False])
def test_one_head_that_reads_one_later_query_key_or_value_is_found(which, choice):
    def later(*inputs):
        read = inputs[which][0, 1, 4, 2]
        return (1e6 * read).floor() if choice else -1e-7 * read

    rule = planted(attend_past, (1, 2, 3, 0), lambda *inputs: later(*inputs[:3]))
    found = certify(rule, *(normal(B, H, 5, D) for _ in range(3)))
    assert found.moves.nonzero().tolist() == [[3, 4]]
    assert found.gradients.triu(1).nonzero().tolist() == ([] if choice else [[3, 4]])
    assert not found.causal


def test_moved_is_the_fraction_of_steps_of_examples_and_of_heads():
    """Of T (T - 1) / 2 outputs of an example, t - s read a step t that was replaced."""
    steps, fraction = 5, 2 / 10
    model = planted(nn.Identity(), (0, 1, 2), lambda x: x[1, 3, 0])
    assert certify(model, normal(B, steps, C)).moved == pytest.approx(fraction / B)
    two_axes = planted(nn.Identity(), (0, 1, 2, 1), lambda x: x[1, 3, 0, 0])
    assert certify(two_axes, normal(B, steps, C, D)).moved == pytest.approx(fraction / B)
    rule = planted(attend_past, (1, 0, 1, 2), lambda q, k, v, allowed: v[1, 0, 3, 0])
    inputs = [normal(B, H, steps, D) for _ in range(3)]
    assert certify(rule, *inputs).moved == pytest.approx(fraction / (B * H))
    rule = planted(attend_past, (1, 2), lambda q, k, v, allowed: v[3, 0])
    assert certify(rule, *(normal(steps, D) for _ in range(3))).moved == pytest.approx(fraction)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rule", CAUSAL.values(), ids=CAUSAL)
def test_rounding_is_no_leak_in_any_dtype(rule, dtype):
    found = certify(rule, *(normal(B, H, 20, D).to(dtype) for _ in range(3)))
    assert found.holds
    assert found.tolerance == 64 * torch.finfo(dtype).eps


@pytest.mark.parametrize(("dtype", "size"), [(torch.float64, 1e-12), (torch.float32, 1e-3)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_small_leak_is_told_from_rounding(dtype, size, sign):
    inputs = [normal(B, H, 20, D).to(dtype) for _ in range(3)]
    rule = planted(
        attend_past,
        (1, 2, 9, 3),
        lambda q, k, v, allowed: sign * size * v[0, 1, 18, 0].sign(),
    )
    assert not certify(rule, *inputs).causal
    assert certify(rule, *inputs, tolerance=100 * size).causal


@pytest.mark.parametrize("sign", [1, -1])
def test_values_of_1_that_come_back_larger_or_smaller_are_found(sign):
    inputs = [normal(B, H, 5, D) for _ in range(3)]
    rule = planted(attend_past, (1, 2, 4, 3), lambda q, k, v, allowed: sign * 0.25 * v[1, 2, 0, 0])
    found = certify(rule, *inputs)
    assert found.causal
    assert found.ones == pytest.approx(0.25, abs=1e-12)
    assert not found.holds
    assert certify(rule, *inputs, tolerance=0.26).holds


def test_a_change_as_large_as_the_tolerance_is_none():
    x = normal(B, 5, C)
    model = planted(torch.zeros_like, (0, 1, 2), lambda now: 0.25 * (now[1, 3, 0] != x[1, 3, 0]))
    found = certify(model, x, tolerance=0.25)
    assert (found.change, found.moved, found.causal) == (0.25, 0, True)
    found = certify(model, x, tolerance=0.2499)
    assert found.moved == pytest.approx(2 / 10 / B)
    assert not found.causal


def test_whole_numbers_may_not_move_at_all():
    found = certify(lambda tokens: tokens.cumsum(1), torch.arange(10).reshape(2, 5))
    assert (found.tolerance, found.gradients, found.holds) == (0, None, True)
    assert not certify(lambda tokens: tokens.flip(1), torch.arange(10).reshape(2, 5)).causal


def test_a_model_that_looks_back_but_never_repeats_itself_does_not_hold():
    calls = []

    def model(x):
        calls.append(x)
        return x + 1e-9 * len(calls)

    found = certify(model, normal(B, 5, C), tolerance=1e-3)
    assert found.causal
    assert found.repeat == pytest.approx(1e-9, rel=1e-3)
    assert not found.holds


def test_a_leak_by_the_largest_token_alone_is_found():
    tokens = torch.randint(7, (B, 9))
    tokens[:, 0] = 7  # it stands nowhere else, so that it has to be drawn
    before = torch.arange(9)

    def model(tokens):
        return tokens.eq(7).flip(1).cumsum(1).flip(1).double() * (before > 0)

    found = certify(model, tokens)
    assert found.moved > 0.1
    assert not found.causal


def test_replacements_are_larger_draws_of_the_seed_and_tokens_of_the_vocabulary():
    seen = []

    def keep(x):
        seen.append(x.double())
        return x

    x, tokens = normal(90, 2, 70), torch.randint(5, (9_000, 2))
    for seed in (0, 1, 0):
        certify(keep, x, seed=seed)
        certify(keep, tokens, seed=seed)
    replaced = [each for each in seen if not torch.equal(each[:, 1], seen[0][:, 1])]
    draws = [each[:, 1] for each in replaced if each.ndim == 3]
    assert torch.equal(draws[0], draws[2])
    assert not torch.equal(draws[0], draws[1])
    assert draws[0].mean().abs() < 0.1
    assert draws[0].std() == pytest.approx(3, rel=0.03)
    drawn = [
        each[:, 1]
        for each in replaced
        if each.ndim == 2 and not torch.equal(each[:, 1], tokens[:, 1])
    ]
    assert torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], drawn[1])
    fractions = drawn[0].long().bincount(minlength=5) / 9_000
    assert fractions.tolist() == pytest.approx([0.2] * 5, abs=0.02)


def test_nan_by_a_later_input_is_a_leak():
    def broken(x):
        return torch.where(x[1, 3, 0] == later, 0.0, torch.nan)

    x = normal(B, 5, C)
    later = x[1, 3, 0].clone()
    found = certify(planted(nn.Identity(), (0, 1, 2), broken), x)
    assert not found.causal
    assert (found.change, found.moves[1, 3].item()) == (torch.inf, torch.inf)
    assert found.moved == pytest.approx(2 / 10 / B)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_outputs_that_are_not_finite_are_not_compared(value):
    model = planted(nn.Identity(), (0, 1, 2), lambda x: value)
    with pytest.raises(
        ValueError, match=r"1 of 60 outputs are NaN or infinite.* certify what comes"
    ):
        certify(model, normal(B, 5, C))


def test_nan_in_a_second_call_or_from_ones_does_not_hold():
    calls, inputs = [], [normal(B, H, 5, D) for _ in range(3)]

    def second(q, k, v, allowed):
        calls.append(q)
        return torch.nan if len(calls) == 2 else 0.0

    found = certify(planted(attend_past, (0, 1, 2, 3), second), *inputs)
    assert (found.causal, found.repeat, found.holds) == (True, torch.inf, False)
    of_ones = planted(
        attend_past, (0, 1, 2, 3), lambda q, k, v, allowed: torch.nan if v.eq(1).all() else 0.0
    )
    found = certify(of_ones, *inputs)
    assert (found.causal, found.ones, found.holds) == (True, torch.inf, False)


class Broken(torch.autograd.Function):
    """The identity; its gradient at the last step is NaN."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return torch.cat([g[:, :-1], torch.full_like(g[:, -1:], torch.nan)], 1)


def test_a_gradient_of_nan_is_never_taken_for_none():
    x = normal(B, 5, C)
    found = certify(Broken.apply, x)
    assert found.gradients[:, -1].eq(torch.inf).all()
    assert not found.causal
    assert dependence(Broken.apply, x)[:, -1].eq(torch.inf).all()


def test_an_infinite_gradient_to_the_past_is_no_leak():
    def steep(x):  # the root has no end of a gradient at 0
        first = x[:, :1].clamp(min=0).sqrt()
        return torch.cat([torch.zeros_like(first), first.expand(-1, 4, -1)], 1)

    x = normal(B, 5, C)
    x[:, 0] = 0
    found = certify(steep, x)
    assert found.gradients.isinf().any()
    assert found.causal


def test_where_no_gradient_arrives_trials_decide():
    x = normal(B, 9, C)
    found = certify(lambda x: x.argsort(1).double(), x)
    assert found.gradients is None
    assert not found.causal
    assert certify(lambda x: x.sign().cumsum(1).detach(), x).causal


def test_a_certificate_is_the_same_where_gradients_are_switched_off():
    x = normal(B, 5, C)
    with torch.no_grad():
        found = certify(nn.Identity(), x, strict=True)
    assert torch.equal(found.gradients, certify(nn.Identity(), x, strict=True).gradients)
    assert found.gradient > 0


def test_a_single_step_has_no_later_one():
    with pytest.raises(ValueError, match="1 step has no later one to replace: give two or more"):
        certify(nn.Identity(), normal(B, 1, C))
    assert not certify(nn.Identity(), normal(B, 1, C), strict=True).causal


@pytest.mark.parametrize("sign", [1, -1])
def test_a_dependence_of_one_channel_of_one_example_is_seen(sign):
    x = normal(B, 5, C)
    model = planted(torch.zeros_like, (1, 4, 5), lambda x: sign * 1e-7 * x[1, 0, 3])
    before = x.clone()
    found = dependence(model, x)
    assert found.nonzero().tolist() == [[4, 0]]
    assert found[4, 0] == pytest.approx(1e-7)
    assert torch.equal(x, before)
    assert not x.requires_grad


def test_dependence_takes_the_model_in_its_mode():
    norm, x = nn.BatchNorm1d(5).double(), normal(7, 5, C)
    assert (dependence(norm, x) != 0).sum() == 5  # each channel of it, by itself
    joined = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Unflatten(1, (5, C)))
    torch.manual_seed(0)
    in_training = dependence(joined, x).diagonal()
    assert in_training.eq(2).all()
    assert joined.training
    assert dependence(joined.eval(), x).diagonal().eq(1).all()
    assert not joined.training


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
    assert str(certify(attend_past, *inputs)).startswith("causal: gradient 0 to later inputs, 0.0%")
    assert str(certify(attend, *inputs)).startswith("NOT causal: gradient ")
    tokens = certify(lambda x: x.double()[..., None], torch.randint(5, (B, T)))
    assert str(tokens).startswith("causal: no gradients")


@pytest.mark.parametrize("n", [0, 2, 4])
def test_neither_a_model_nor_a_rule_is_refused(n):
    with pytest.raises(ValueError, match="give one x for a model, or q, k, v for a rule"):
        certify(attend, *[normal(T, D)] * n)


def test_other_steps_out_than_in_are_refused():
    with pytest.raises(ValueError, match="every input needs as many steps as come out"):
        certify(lambda x: x[:, 1:], normal(B, T, C))


def test_the_picture_shows_each_dependence_and_crosses_out_the_future():
    matrix = torch.tensor([[1.0, 0, 3], [0, -2, 0], [4, 0, 0]])
    ax = draw_dependence(matrix, label="gradient")
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


@pytest.mark.parametrize("bad", [torch.nan, -torch.inf])
def test_a_picture_of_what_is_no_number_is_refused(bad):
    matrix = torch.eye(3)
    matrix[1, 2] = bad
    with pytest.raises(ValueError, match=r"row 1, column 2 is (nan|-inf): give .* finite inputs"):
        draw_dependence(matrix)
