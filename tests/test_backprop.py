"""Gradients by hand against autograd, in float64."""

import ast
from inspect import getsource

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.inside import backprop
from coursekit.inside.backprop import (
    EPS,
    PARAMETERS,
    backward_softmax,
    batch_norm_gradient,
    cross_entropy_gradient,
    draw_parameters,
    largest_differences,
    pass_backward,
    pass_forward,
    scatter_rows,
    short_gradients,
)

N, K, M, H, V = 13, 3, 5, 7, 11  # mutually different
EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture
def problem():
    g = torch.Generator().manual_seed(0)
    p = draw_parameters(V, K, M, H, g)
    return p, torch.randint(V, (N, K), generator=g), torch.randint(V, (N,), generator=g)


def by_autograd(p, tokens, targets):
    p = {name: value.clone().requires_grad_() for name, value in p.items()}
    v = pass_forward(p, tokens, targets)
    everything = {name: value for name, value in v.items() if name != "loss"} | p
    gradients = torch.autograd.grad(v["loss"], list(everything.values()))
    return dict(zip(everything, gradients, strict=True))


def test_the_loss_is_that_of_pytorchs_modules(problem):
    p, tokens, targets = problem
    norm = nn.BatchNorm1d(H, eps=1e-14).double()
    norm.weight.data, norm.bias.data = p["bngain"], p["bnbias"]
    hidden = p["C"][tokens].view(N, -1) @ p["W1"] + p["b1"]
    # PyTorch divides by n; rescaling its result gives the n - 1 version.
    shrink = (hidden.var(0, correction=0) / (hidden.var(0) + EPS)).sqrt()
    h = (norm(hidden) - p["bnbias"]) * shrink + p["bnbias"]
    expected = F.cross_entropy(h.tanh() @ p["W2"] + p["b2"], targets)
    assert_close(pass_forward(p, tokens, targets)["loss"], expected, rtol=0, atol=1e-11)


def test_every_gradient_is_autograds(problem):
    p, tokens, targets = problem
    v = pass_forward(p, tokens, targets)
    mine = pass_backward(p, v, tokens, targets)
    assert set(mine) == set(PARAMETERS) | set(v) - {"loss"}
    assert max(largest_differences(mine, by_autograd(p, tokens, targets)).values()) < 1e-14


def test_no_gradient_is_zero_all_over(problem):
    p, tokens, targets = problem
    mine = pass_backward(p, pass_forward(p, tokens, targets), tokens, targets)
    for name, gradient in mine.items():
        if name not in ("b1", "logit_maxes"):  # these two are 0, up to rounding
            assert gradient.abs().max() > 1e-5, name
    assert mine["b1"].abs().max() < 1e-13
    assert mine["logit_maxes"].abs().max() < 1e-13


def test_the_largest_count_of_a_row_is_1_so_that_none_overflows(problem):
    p, tokens, targets = problem
    v = pass_forward(p | {"b2": p["b2"] + 1000}, tokens, targets)
    assert torch.equal(v["counts"].max(1).values, torch.ones(N, dtype=torch.float64))
    assert v["loss"].isfinite()


def test_the_branch_of_the_maxima_is_the_negative_row_sum(problem):
    p, tokens, targets = problem
    v = pass_forward(p, tokens, targets)
    v["counts"] = v["counts"] * 1.5  # no longer what the softmax needs: the sums are not 0
    g = backward_softmax(v, targets)
    assert_close(g["logit_maxes"], -g["norm_logits"].sum(1, keepdim=True), **EXACT)
    assert g["logit_maxes"].abs().max() > 1e-3
    routed = g["logits"] - g["norm_logits"]
    assert torch.equal(routed.nonzero()[:, 1], v["logits"].argmax(1))


def test_the_short_way_is_the_long_way(problem):
    p, tokens, targets = problem
    loss, short = short_gradients(p, tokens, targets)
    v = pass_forward(p, tokens, targets)
    assert_close(loss, v["loss"], **EXACT)
    long = pass_backward(p, v, tokens, targets)
    assert set(short) == set(PARAMETERS)
    assert max(largest_differences(short, long).values()) < 1e-14


def test_the_softmax_shortcut_is_autograds(problem):
    p, tokens, targets = problem
    logits = (3 * pass_forward(p, tokens, targets)["logits"]).requires_grad_()
    (oracle,) = torch.autograd.grad(F.cross_entropy(logits, targets), logits)
    mine = cross_entropy_gradient(logits.detach(), targets)
    assert_close(mine, oracle, **EXACT)
    assert mine.sum(1).abs().max() < 1e-13


@pytest.mark.parametrize("correction", [0, 1])
def test_the_batch_norm_shortcut_is_autograds(correction):
    g = torch.Generator().manual_seed(1)
    x, dy = (torch.randn(N, H, generator=g, dtype=torch.float64) for _ in range(2))
    gain = torch.rand(H, generator=g, dtype=torch.float64)
    x.requires_grad_()
    inverse = (x.var(0, correction=correction) + EPS).rsqrt()
    xhat = (x - x.mean(0)) * inverse
    (oracle,) = torch.autograd.grad((gain * xhat * dy).sum(), x)
    arguments = (dy, xhat.detach(), (gain * inverse).detach())
    assert_close(batch_norm_gradient(*arguments, correction), oracle, **EXACT)
    wrong = batch_norm_gradient(*arguments, 1 - correction)
    assert (wrong - oracle).abs().max() > 1e-3


def test_the_batch_norm_shortcut_serves_pytorchs_module():
    g = torch.Generator().manual_seed(1)
    x, dy = (torch.randn(N, H, generator=g, dtype=torch.float64) for _ in range(2))
    x.requires_grad_()
    (oracle,) = torch.autograd.grad((F.batch_norm(x, None, None, training=True) * dy).sum(), x)
    inverse = (x.var(0, correction=0) + 1e-5).rsqrt().detach()
    xhat = (x.detach() - x.detach().mean(0)) * inverse
    assert_close(batch_norm_gradient(dy, xhat, inverse), oracle, **EXACT)


def test_scattered_rows_are_the_double_loop_and_autograd():
    g = torch.Generator().manual_seed(2)
    rows = torch.randn(4, K, M, generator=g, dtype=torch.float64)
    tokens = torch.tensor([[0, 1, 1], [3, 3, 3], [0, 9, 1], [2, 2, 0]])
    loop = torch.zeros(V, M, dtype=torch.float64)
    for i in range(4):
        for k in range(K):
            loop[tokens[i, k]] += rows[i, k]
    table = torch.zeros(V, M, dtype=torch.float64, requires_grad=True)
    (oracle,) = torch.autograd.grad((table[tokens] * rows).sum(), table)
    assert_close(scatter_rows(rows, tokens, V), loop, **EXACT)
    assert_close(scatter_rows(rows, tokens, V), oracle, **EXACT)


@pytest.mark.parametrize("compute", [pass_forward, short_gradients])
def test_a_batch_of_one_is_refused(problem, compute):
    p, tokens, targets = problem
    with pytest.raises(ValueError, match="a batch of 1 has no variance: take two"):
        compute(p, tokens[:1], targets[:1])


def test_the_batch_norm_shortcut_refuses_a_batch_without_a_variance():
    one = torch.ones(1, H)
    assert not batch_norm_gradient(one, 0 * one, one).any()  # divisor n: one example, no gradient
    with pytest.raises(ValueError, match="a batch of 1 has no variance: take 2 examples"):
        batch_norm_gradient(one, 0 * one, one, correction=1)


@pytest.mark.parametrize(
    ("oracle", "found"), [({}, "nothing"), ({"a": torch.ones(2, 1)}, r"\(2, 1\)")]
)
def test_gradients_of_other_shapes_are_not_compared(oracle, found):
    with pytest.raises(ValueError, match=rf"a has shape \(2,\), the oracle has {found}"):
        largest_differences({"a": torch.ones(2)}, oracle)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_in_one_number_is_seen_whatever_its_sign(sign):
    mine = {"a": torch.zeros(2, 3), "b": torch.zeros(5), "c": torch.zeros(())}
    for name in mine:
        other = {key: value.clone() for key, value in mine.items()}
        other[name].flatten()[-1] = sign * 1e-9
        found = largest_differences(mine, other)
        assert {key: round(d.item(), 12) for key, d in found.items()} == {
            key: 1e-9 * (key == name) for key in mine
        }


@pytest.mark.parametrize("broken", [0, 1])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_nan_is_no_small_difference(broken, value):
    """Python's max would pass over a NaN that does not come first."""
    both = [{"a": torch.zeros(2), "b": torch.ones(3)} for _ in range(2)]
    both[broken]["b"][1] = value
    found = largest_differences(*both)
    assert max(found.values()) == torch.inf
    assert found["a"] == 0


def test_logits_far_apart_underflow_step_by_step_and_not_in_the_short_way(problem):
    p, tokens, targets = problem
    p["b2"][0] += 1000
    targets[0] = 1  # whose probability is 0, then
    v = pass_forward(p, tokens, targets)
    assert v["loss"] == torch.inf
    assert pass_backward(p, v, tokens, targets)["W2"].isnan().any()
    loss, short = short_gradients(p, tokens, targets)
    largest = v["logits"].max(1).values
    assert_close(loss, (largest - v["logits"][range(N), targets]).mean(), rtol=0, atol=1e-9)
    assert all(gradient.isfinite().all() for gradient in short.values())


def test_the_same_generator_draws_the_same_parameters():
    first, second = (draw_parameters(V, K, M, H, torch.Generator().manual_seed(3)) for _ in "ab")
    assert list(first) == list(PARAMETERS)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert all(value.ne(0).all() for value in first.values())
    shapes = [(V, M), (K * M, H), (H,), (H,), (H,), (H, V), (V,)]
    assert [tuple(value.shape) for value in first.values()] == shapes


def test_parameters_start_at_the_scale_of_a_good_start():
    p = draw_parameters(500, K, 50, 400, torch.Generator().manual_seed(3))
    assert_close(p["C"].std().item(), 1.0, rtol=0.05, atol=0)
    assert_close(p["W1"].std().item() * (K * 50) ** 0.5, 5 / 3, rtol=0.05, atol=0)
    assert_close(p["W2"].std().item(), 0.1, rtol=0.05, atol=0)
    assert_close(p["bngain"].mean().item(), 1.0, rtol=0.05, atol=0)
    for name in ("b1", "bnbias", "b2", "bngain"):
        assert_close(p[name].std().item(), 0.1, rtol=0.2, atol=0)


def test_nothing_of_the_package_is_needed():
    nodes = ast.walk(ast.parse(getsource(backprop)))
    homes = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {home.split(".")[0] for home in homes} == {"collections", "jaxtyping", "torch"}
