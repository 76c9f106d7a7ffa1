"""Attention rules and heads, against PyTorch's own."""

from itertools import product

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.inside.certify import dependence
from coursekit.layers.attention import (
    MultiHeadAttention,
    allow_past,
    allow_present,
    attend,
    attend_past,
    attention_weights,
    forbid_reading,
    normalise_heads,
)
from coursekit.layers.cache import Cache
from coursekit.layers.position import rotary

B, H, T, S, D, E = 2, 3, 5, 7, 4, 6  # mutually different
C = H * D
EXACT = {"rtol": 0, "atol": 1e-12}
CAUSAL = {
    "attend_past": attend_past,
    "rotary": rotary(attend_past),
    "normalise_heads": normalise_heads(attend_past),
    "both": rotary(normalise_heads(attend_past)),
}
causal = pytest.mark.parametrize("rule", CAUSAL.values(), ids=CAUSAL)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def some_allowed(*shape):
    """What may be read, by chance; the first step always."""
    allowed = torch.rand(shape) < 0.5
    allowed[..., 0] = True
    return allowed


def loose(attention):
    """The same module in float64, with weights and biases large enough to matter."""
    for weight in attention.double().parameters():
        weight.data.normal_()
    return attention


@pytest.mark.parametrize("shape", [(), (B,), (B, H)])
@pytest.mark.parametrize("masked", [False, True])
def test_attend_equals_pytorch(shape, masked):
    q, k, v = normal(*shape, T, D), normal(*shape, S, D), normal(*shape, S, E)
    allowed = some_allowed(T, S) if masked else None
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    assert_close(attend(q, k, v, allowed), theirs, **EXACT)


@pytest.mark.parametrize("shape", [(B, 1, T, S), (1, H, T, S), (B, H, T, S), (B, 1, 1, S)])
def test_what_is_allowed_may_differ_by_example_and_head(shape):
    q, k, v = normal(B, H, T, D), normal(B, H, S, D), normal(B, H, S, E)
    allowed = some_allowed(*shape).expand(*shape[:2], T, S)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    assert_close(attend(q, k, v, allowed), theirs, **EXACT)
    one = attend(q[1, 2], k[1, 2], v[1, 2], allowed.expand(B, H, T, S)[1, 2])
    assert_close(attend(q, k, v, allowed)[1, 2], one, **EXACT)


def test_a_step_that_is_not_allowed_has_no_influence():
    q, k, v = normal(B, T, D), normal(B, S, D), normal(B, S, E)
    allowed = some_allowed(T, S)
    allowed[:, 3] = False
    before = attend(q, k, v, allowed)
    k[:, 3], v[:, 3] = 1e3 * normal(B, D), 1e3 * normal(B, E)
    assert torch.equal(attend(q, k, v, allowed), before)
    assert not torch.equal(attend(q, k, v), before)


def test_weights_sum_to_1_over_the_keys():
    weights = attention_weights(normal(B, H, T, D), normal(B, H, S, D), some_allowed(T, S))
    assert_close(weights.sum(-1), torch.ones(B, H, T, dtype=torch.float64), **EXACT)
    assert (weights >= 0).all()


def test_equal_keys_are_weighed_equally_among_what_is_allowed():
    allowed = torch.tensor([[True, False, True, True], [True, True, False, False]])
    weights = attention_weights(normal(2, D), torch.ones(4, D).double(), allowed)
    assert_close(weights, allowed / allowed.double().sum(-1, keepdim=True), **EXACT)


def test_a_query_that_may_read_nothing_gets_nan():
    allowed = torch.ones(T, S, dtype=torch.bool)
    allowed[2] = False
    mixed = attend(normal(T, D), normal(S, D), normal(S, E), allowed)
    assert mixed.isnan().all(-1).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("n_channel", [4, 64, 1024])
def test_a_score_has_variance_1_for_any_width(n_channel):
    q, k = normal(500, n_channel), normal(400, n_channel)
    logs = attention_weights(q, k).log()  # scores, moved row by row
    assert logs.var(-1).mean().item() == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(("n_query", "n_key"), [(1, 1), (4, 4), (2, 5), (1, 6)])
def test_the_past_is_one_step_more_for_each_query(n_query, n_key):
    rows = [[s <= n_key - n_query + t for s in range(n_key)] for t in range(n_query)]
    assert allow_past(n_query, n_key).tolist() == rows


def test_more_queries_than_keys_are_refused():
    with pytest.raises(ValueError, match="3 queries on 2 keys: the queries must be the last"):
        allow_past(3, 2)
    with pytest.raises(ValueError, match="the queries must be the last steps"):
        attend_past(normal(3, D), normal(2, D), normal(2, E))


@pytest.mark.parametrize("read", [T, S])
@pytest.mark.parametrize("masked", [False, True])
def test_attend_past_is_attend_to_the_past(read, masked):
    q, k, v = normal(B, H, T, D), normal(B, H, read, D), normal(B, H, read, E)
    allowed = some_allowed(B, 1, T, read) if masked else None
    past = allow_past(T, read) & (allowed if masked else True)
    assert_close(attend_past(q, k, v, allowed), attend(q, k, v, past), **EXACT)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=past)
    assert_close(attend_past(q, k, v, allowed), theirs, **EXACT)


@causal
def test_fewer_queries_than_keys_are_the_last_steps(rule):
    q, k, v = normal(B, H, S, D), normal(B, H, S, D), normal(B, H, S, E)
    assert_close(rule(q[..., 2:, :], k, v, None), rule(q, k, v, None)[..., 2:, :], **EXACT)


@causal
def test_no_position_reads_the_future(rule):
    attention, x = loose(MultiHeadAttention(C, H, rule)), normal(B, T, C)
    before = attention(x)
    for t in range(T):
        changed = x.clone()
        changed[:, t:] = 10 * normal(B, T - t, C)
        after = attention(changed)
        assert torch.equal(after[:, :t], before[:, :t])
        assert (after[:, t:] != before[:, t:]).all()


@causal
def test_every_position_depends_on_all_the_past_and_on_nothing_else(rule):
    found = dependence(loose(MultiHeadAttention(C, H, rule)), normal(B, T, C))
    assert torch.equal(found != 0, allow_past(T, T))


def test_attend_reads_everything():
    assert (dependence(loose(MultiHeadAttention(C, H)), normal(B, T, C)) != 0).all()


@pytest.mark.parametrize("sharpness", [1.0, 2.5])
def test_normalised_heads_follow_the_formula(sharpness):
    q, k, v = normal(B, H, T, D), normal(B, H, S, D), normal(B, H, S, E)
    by_length = [x * D**0.5 / x.norm(dim=-1, keepdim=True) for x in (q, k)]
    cosine = torch.einsum("bhtd,bhsd->bhts", *by_length) / D
    expected = (sharpness * D**0.5 * cosine).softmax(-1) @ v
    ours = normalise_heads(attend, sharpness)(q, k, v)
    assert_close(ours, expected, rtol=0, atol=1e-5)  # 1e-6 is added to the mean square
    assert not torch.allclose(ours, attend(q, k, v), atol=1e-2)


@pytest.mark.parametrize("factor", [0.1, 30.0])
def test_the_length_of_queries_and_keys_does_not_matter_once_normalised(factor):
    q, k, v = normal(B, H, T, D), normal(B, H, S, D), normal(B, H, S, E)
    rule = normalise_heads(attend)
    assert_close(rule(factor * q, k, v), rule(q, k, v), rtol=0, atol=1e-3)
    assert_close(rule(q, factor * k, v), rule(q, k, v), rtol=0, atol=1e-3)
    assert not torch.allclose(rule(q, k, factor * v), rule(q, k, v), atol=1e-3)


def test_normalised_scores_are_bounded_by_the_root_of_the_width():
    q, k = 1e4 * normal(400, D), 1e4 * normal(300, D)
    each = torch.eye(300, dtype=torch.float64)  # values that show the weights
    scores = normalise_heads(attend)(q, k, each).log()  # up to a constant in each row
    spread = (scores.amax(-1) - scores.amin(-1)).max().item()
    assert spread <= 2 * D**0.5 + 1e-9
    assert spread > 1.9 * D**0.5


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("crossed", [False, True])
def test_multi_head_attention_equals_pytorch(bias, masked, crossed):
    ours = loose(MultiHeadAttention(C, H, bias=bias))
    theirs = nn.MultiheadAttention(C, H, bias=bias, batch_first=True).double()
    theirs.in_proj_weight.data = torch.cat([ours.q.weight, ours.k.weight, ours.v.weight])
    theirs.out_proj.weight.data = ours.out.weight.data
    if bias:
        theirs.in_proj_bias.data = torch.cat([ours.q.bias, ours.k.bias, ours.v.bias])
        theirs.out_proj.bias.data = ours.out.bias.data
    x, memory = normal(B, T, C), normal(B, S, C) if crossed else None
    source = x if memory is None else memory
    allowed = some_allowed(T, source.shape[1]) if masked else None
    forbidden = None if allowed is None else ~allowed
    expected, _ = theirs(x, source, source, attn_mask=forbidden, need_weights=False)
    assert_close(ours(x, memory, allowed), expected, **EXACT)


def test_padding_that_differs_by_example_equals_pytorch():
    ours = loose(MultiHeadAttention(C, H))
    theirs = nn.MultiheadAttention(C, H, bias=False, batch_first=True).double()
    theirs.in_proj_weight.data = torch.cat([ours.q.weight, ours.k.weight, ours.v.weight])
    theirs.out_proj.weight.data = ours.out.weight.data
    x, memory = normal(B, T, C), normal(B, S, C)
    present = torch.arange(S) < torch.tensor([[S - 2], [S]])
    expected, _ = theirs(x, memory, memory, key_padding_mask=~present, need_weights=False)
    allowed = present[:, None, None].expand(B, 1, T, S)
    assert_close(ours(x, memory, allowed), expected, **EXACT)


@causal
@pytest.mark.parametrize("chunks", [(1, 1, 1, 1, 1), (3, 2), (1, 4), (5,)])
def test_going_on_from_the_past_gives_what_reading_at_once_gives(rule, chunks):
    attention, x, cache = loose(MultiHeadAttention(C, H, rule)), normal(B, T, C), Cache()
    found = [attention(part, cache=cache) for part in x.split(chunks, 1)]
    assert_close(torch.cat(found, 1), attention(x), **EXACT)


@pytest.mark.parametrize("n_head", [5, 0])
def test_a_width_that_does_not_split_into_heads_is_refused(n_head):
    with pytest.raises(ValueError, match=f"d_model=12 is not a multiple of n_head={n_head}"):
        MultiHeadAttention(C, n_head)


def test_what_is_forbidden_is_not_read_and_nothing_else_changes():
    q, k = torch.randn(2, B, H, T, D)
    present = torch.arange(T) < torch.tensor([[5], [4]])
    reader, read = torch.zeros(2, B, T, dtype=torch.bool)
    reader[0, 1] = reader[1, 2] = read[0, 3] = read[1, 0] = read[1, 2] = True
    before = attention_weights(q, k, allow_present(present))
    after = attention_weights(q, k, forbid_reading(allow_present(present), reader, read))
    for b, h, t in product(range(B), range(H), range(T)):
        rest = before[b, h, t] * ~(reader[b, t] & read[b])
        assert_close(after[b, h, t], rest / rest.sum())
    assert_close(
        forbid_reading(present[:, None, None], reader, read),
        forbid_reading(allow_present(present), reader, read),
    )
