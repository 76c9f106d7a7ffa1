"""LogSparse and ProbSparse, against dense attention and against what was published."""

from math import ceil, log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.testing import assert_close

from benchmarks import probsparse
from coursekit.layers.attention import MultiHeadAttention, allow_past, attend, attend_past
from coursekit.layers.cache import Cache
from coursekit.layers.log_sparse import allow_log_sparse, attend_log_sparse
from coursekit.layers.prob_sparse import (
    choose_on_arrival,
    choose_top,
    count_active,
    fill_mean,
    fill_running_mean,
    fill_running_sum,
    lse_minus_mean,
    max_minus_mean,
    prob_sparse,
    prob_sparse_past,
    sample_growing,
    sample_keys,
    score_past,
    score_sample,
)

B, H, T, S, D, E = 2, 3, 40, 56, 4, 6  # mutually different
EXACT = {"rtol": 0, "atol": 1e-12}
measures = pytest.mark.parametrize("measure", [max_minus_mean, lse_minus_mean])


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def three(steps=T, read=S):
    return normal(B, H, steps, D), normal(B, H, read, D), normal(B, H, read, E)


def differing(found, expected):
    """Which rows are not equal."""
    return (found - expected).abs().amax(-1) > 1e-9


# LogSparse


def test_a_step_reads_itself_and_the_steps_that_lie_a_power_of_2_before_it():
    rows = [[s == t or t - s in (1, 2, 4, 8, 16, 32) for s in range(S)] for t in range(S)]
    assert allow_log_sparse(S).tolist() == rows


@given(st.integers(1, 300))
def test_the_number_of_steps_read_is_the_logarithm_of_the_position(n):
    counts = allow_log_sparse(n).sum(-1).tolist()
    assert counts == [t.bit_length() + 1 for t in range(n)]
    assert all(count <= log(t, 2) + 2 for t, count in enumerate(counts[1:], 1))


@pytest.mark.parametrize(("n", "layers"), [(8, 3), (16, 4), (64, 6), (128, 7)])
def test_after_log_n_layers_every_step_has_heard_of_every_earlier_one(n, layers):
    reads = allow_log_sparse(n).double()
    heard = [torch.linalg.matrix_power(reads, power) > 0 for power in (layers - 1, layers)]
    assert [torch.equal(x, allow_past(n, n)) for x in heard] == [False, True]


@pytest.mark.parametrize("steps", [1, 2, T, S])
@pytest.mark.parametrize("masked", [False, True])
def test_log_sparse_is_dense_attention_with_that_mask(steps, masked):
    q, k, v = three(steps)
    allowed = torch.rand(B, 1, steps, S) < 0.5 if masked else torch.ones(B, 1, steps, S) > 0
    allowed = allowed | torch.eye(S, dtype=torch.bool)[-steps:]  # itself, always
    found = attend_log_sparse(q, k, v, allowed.expand(B, 1, steps, S) if masked else None)
    assert_close(found, attend(q, k, v, allowed & allow_log_sparse(S)[-steps:]), **EXACT)


def test_log_sparse_refuses_more_queries_than_keys():
    with pytest.raises(ValueError, match=r"57 queries on 56 keys.*so give at least as many keys"):
        attend_log_sparse(*three(S + 1))


@pytest.mark.parametrize("chunks", [(1,) * 9, (4, 5), (1, 7, 1)])
def test_log_sparse_goes_on_from_a_past(chunks):
    attention = MultiHeadAttention(H * D, H, attend_log_sparse).double()
    x, cache = normal(B, 9, H * D), Cache()
    found = [attention(part, cache=cache) for part in x.split(chunks, 1)]
    assert_close(torch.cat(found, 1), attention(x), **EXACT)


def test_log_sparse_never_holds_a_number_for_every_pair():
    q, k, v = (torch.randn(2048, 2, requires_grad=True) for _ in range(3))
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda x: sizes.append(x.untyped_storage().nbytes()) or x, lambda x: x
    ):
        attend_log_sparse(q, k, v).sum().backward()
    assert max(sizes) <= 4 * 2048 * 13
    assert k.grad.abs().sum() > 0


# What ranks the queries


def test_the_measure_is_the_divergence_of_the_uniform_weights_from_the_true_ones():
    scores = 2 * normal(B, T, S)
    uniform, weights = torch.full_like(scores, 1 / S), scores.softmax(-1)
    divergence = F.kl_div(weights.log(), uniform, reduction="none").sum(-1)
    assert_close(lse_minus_mean(scores) - log(S), divergence, **EXACT)
    other = F.kl_div(uniform.log(), weights, reduction="none").sum(-1)
    assert (divergence - other).abs().max() > 0.3


def test_one_measure_lies_within_the_logarithm_of_the_keys_above_the_other():
    scores = 5 * normal(1000, S)
    low, middle = max_minus_mean(scores), lse_minus_mean(scores)
    assert (low <= middle).all()
    assert (middle <= low + log(S)).all()
    assert_close(lse_minus_mean(torch.full((2, S), 7.0)), torch.full((2,), log(S)))


def test_the_measure_takes_the_highest_score_not_the_largest_in_absolute_value():
    scores = torch.tensor([-9.0, 0.1, 0.2, 0.3])
    assert max_minus_mean(scores).item() == pytest.approx(0.3 + 2.1)


@pytest.mark.parametrize(
    ("steps", "factor", "count"),
    [(4096, 5, 42), (96, 5, 23), (8, 5, 8), (1, 5, 1), (2, 0.1, 1), (1000, 0.5, 4)],
)
def test_the_number_of_active_queries_stays_between_1_and_all(steps, factor, count):
    assert count_active(steps, factor) == count == min(max(ceil(factor * log(steps)), 1), steps)


@pytest.mark.parametrize("factor", [0, -1.0])
def test_a_factor_that_leaves_nothing_is_refused(factor):
    with pytest.raises(ValueError, match="take one above 0, such as 5"):
        prob_sparse(factor)(*three())


def test_a_sample_is_fixed_by_its_seed_and_has_no_position_twice():
    keys = sample_keys(S, 20, 3)
    assert torch.equal(keys, sample_keys(S, 20, 3))
    assert not torch.equal(keys, sample_keys(S, 20, 4))
    assert len(keys.unique()) == 20
    assert 0 <= keys.min() < keys.max() < S


@pytest.mark.parametrize("sample", [lambda: sample_keys(S, 20, 3), lambda: sample_growing(S, 2, 3)])
def test_a_caller_may_change_the_sample_that_he_got(sample):
    keys = sample()
    before = keys.clone()
    keys += 100
    assert torch.equal(sample(), before)


@pytest.mark.parametrize("score", [score_sample, score_past])
def test_scores_have_gradients_after_a_first_use_in_inference_mode(score):
    q, k, _ = three(T - 1, T - 1)  # a length that no other test has drawn for
    with torch.inference_mode():
        score(q, k, 3, 7)
    score(q.requires_grad_(), k.requires_grad_(), 3, 7).square().sum().backward()
    assert q.grad.abs().sum() > 0


# ProbSparse


@measures
@pytest.mark.parametrize("read", [T, S])
def test_with_a_large_factor_it_is_dense_attention(measure, read):
    q, k, v = three(T, read)
    assert_close(prob_sparse(100, measure=measure)(q, k, v), attend(q, k, v), rtol=0, atol=1e-6)


@measures
@pytest.mark.parametrize("read", [T, S])
def test_active_rows_are_dense_and_lazy_rows_the_mean(measure, read):
    q, k, v = three(T, read)
    found, dense = prob_sparse(2, measure=measure)(q, k, v), attend(q, k, v)
    lazy = differing(found, dense)
    u = ceil(2 * log(T))
    assert (lazy.sum(-1) == T - u).all()
    mean = v.mean(-2, keepdim=True).expand_as(found)
    assert_close(found[lazy], mean[lazy], **EXACT)
    keys = sample_keys(read, ceil(2 * log(read)))
    gain = measure(torch.einsum("bhtd,bhsd->bhts", q, k)[..., keys] / D**0.5)
    top = gain.topk(u).indices
    assert not lazy.gather(-1, top).any()


def test_a_single_step_is_read_as_it_is():
    q, k, v = three(1, 1)
    assert_close(prob_sparse()(q, k, v), v, **EXACT)


def test_two_calls_are_equal_and_another_seed_is_another_sample():
    q, k, v = three()
    rule = prob_sparse(2)
    state = torch.random.get_rng_state()
    assert torch.equal(rule(q, k, v), rule(q, k, v))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert differing(rule(q, k, v), prob_sparse(2, seed=1)(q, k, v)).any()


def test_each_head_and_example_ranks_for_itself():
    q, k, v = three()
    whole = prob_sparse(2)(q, k, v)
    assert_close(whole[1, 2], prob_sparse(2)(q[1, 2], k[1, 2], v[1, 2]), **EXACT)
    assert_close(whole[:, 1:2], prob_sparse(2)(q[:, 1:2], k[:, 1:2], v[:, 1:2]), **EXACT)


def test_the_scale_of_the_scores_changes_no_choice_by_the_largest_score():
    gain = max_minus_mean(score_sample(*three()[:2]))
    q, k, _ = three()
    for scale in (1e-3, 1e3):
        gain, scaled = (max_minus_mean(score_sample(x, k)) for x in (q, scale * q))
        assert torch.equal(choose_top(gain), choose_top(scaled))


@pytest.mark.parametrize("rule", [prob_sparse(1), prob_sparse(100), attend_log_sparse])
def test_gradients_are_those_of_finite_differences(rule):
    inputs = [x[:1, :2].requires_grad_() for x in three(9, 11)]
    assert torch.autograd.gradcheck(rule, inputs)


def test_gradients_of_the_past_rule_are_those_of_finite_differences():
    inputs = [x[:1, :2].requires_grad_() for x in three(9, 9)]
    assert torch.autograd.gradcheck(prob_sparse_past(1), inputs)


def test_lazy_queries_have_no_gradient_and_all_values_have_one():
    q, k, v = (x.requires_grad_() for x in three())
    found = prob_sparse(2)(q, k, v)
    lazy = differing(found, attend(q, k, v))
    found.square().sum().backward()
    assert torch.equal(q.grad.abs().amax(-1) == 0, lazy)
    assert (v.grad != 0).all()


def test_one_lazy_row_can_be_written_without_the_others():
    lazy = prob_sparse(1)(*three())
    before = lazy.clone()
    lazy[0, 0, 0] = 7.0
    assert_close(lazy[0, 0, 1:], before[0, 0, 1:])


def test_prob_sparse_says_what_to_do_about_a_mask():
    with pytest.raises(ValueError, match="use attend for this `allowed`"):
        prob_sparse()(*three(), torch.ones(T, S, dtype=torch.bool))


def test_uniform_rows_lose_nothing():
    q, k, v = three()
    assert_close(prob_sparse(1)(0 * q, k, v), attend(0 * q, k, v), **EXACT)


# Causal ProbSparse


def test_the_fillings_are_a_mean_a_running_sum_and_a_running_mean():
    v = normal(B, 5, E)
    assert_close(fill_mean(v, 7), torch.stack([v.mean(1)] * 7, 1))
    sums = torch.stack([v[:, : t + 1].sum(1) for t in range(5)], 1)
    means = torch.stack([v[:, : t + 1].mean(1) for t in range(5)], 1)
    for steps in (5, 2):
        assert_close(fill_running_sum(v, steps), sums[:, 5 - steps :], **EXACT)
        assert_close(fill_running_mean(v, steps), means[:, 5 - steps :], **EXACT)


@given(st.integers(1, 300), st.integers(0, 20))
def test_a_growing_sample_keeps_what_it_has(n, seed):
    keys = sample_growing(300, 5, seed)
    assert torch.equal(sample_growing(n, 5, seed), keys[keys < n])


def test_a_growing_sample_holds_about_the_logarithm_of_the_positions():
    for n in (64, 4096):
        counts = [len(sample_growing(n, 5, seed)) for seed in range(40)]
        expected = sum(min(5 / t, 1) for t in range(1, n + 1))
        assert abs(sum(counts) / 40 - expected) < 3 * (expected / 40) ** 0.5


@pytest.mark.parametrize(("factor", "seed"), [(5, 0), (2, 3)])
def test_scores_on_the_past_measure_by_what_a_query_may_read(factor, seed):
    q, k, _ = three(T, T)
    keys = sample_growing(T, factor, seed)
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / D**0.5
    for t in range(T):
        seen = scores[..., t, :][..., keys[keys <= t]]
        expected = seen.amax(-1) - seen.mean(-1)
        found = max_minus_mean(score_past(q, k, factor, seed))[..., t]
        assert_close(found, expected, **EXACT)
        if len(seen[0, 0]) == 1:
            assert (found == 0).all()


def test_who_arrives_is_judged_by_those_before():
    gain = normal(B, H, 300)
    chosen = choose_on_arrival(gain, 1.5)
    for t in range(300):
        start = 1 << max(t.bit_length() - 1, 0)
        u = count_active(start, 1.5)
        bar = gain[..., :start].sort(-1, descending=True).values[..., u - 1]
        beats = (gain[..., t] > bar) & (chosen[..., start:t].sum(-1) < 2 * u)
        assert torch.equal(chosen[..., t], beats if t else torch.ones(B, H, dtype=torch.bool))


def test_however_the_measure_grows_few_are_chosen():
    rising = torch.arange(4096.0)
    assert choose_on_arrival(rising).sum() <= 1 + sum(2 * count_active(1 << j) for j in range(12))
    assert choose_on_arrival(torch.randn(8, 4096)).sum(-1).double().mean() < 400


def test_with_a_large_factor_the_past_rule_is_attend_past():
    q, k, v = three(T, T)
    rule = prob_sparse_past(100, choose=choose_top)
    assert_close(rule(q, k, v), attend_past(q, k, v), **EXACT)


def test_active_rows_read_their_past_and_lazy_rows_get_its_mean():
    q, k, v = three(T, T)
    found, dense = prob_sparse_past(1)(q, k, v), attend_past(q, k, v)
    chosen = choose_on_arrival(max_minus_mean(score_past(q, k, 1)), 1)
    assert 0 < chosen.sum() < chosen.numel() / 2
    mean = v.cumsum(-2) / torch.arange(1, T + 1)[:, None]
    assert_close(found, torch.where(chosen[..., None], dense, mean), **EXACT)


@pytest.mark.parametrize(
    ("factor", "given"),
    [
        (2, {}),
        (1, {"seed": 3}),
        (1, {"score": score_sample}),
        (1, {"choose": choose_top}),
        (1, {"fill": fill_running_sum}),
        (1, {"seed": 3, "score": score_sample, "choose": choose_top, "fill": fill_mean}),
    ],
)
def test_each_argument_of_the_past_rule_has_its_effect(factor, given):
    q, k, v = three(T, T)
    score, choose = given.get("score", score_past), given.get("choose", choose_on_arrival)
    gain = max_minus_mean(score(q, k, factor, given.get("seed", 0)))
    active = choose(gain, factor)[..., None]
    lazy = given.get("fill", fill_running_mean)(v, T)
    found = prob_sparse_past(factor, **given)(q, k, v)
    assert_close(found, torch.where(active, attend_past(q, k, v), lazy), **EXACT)
    assert differing(found, prob_sparse_past(1)(q, k, v)).any()


def test_a_longer_sequence_changes_nothing_that_was():
    q, k, v = three(T, T)
    short = prob_sparse_past(2)(q[..., :23, :], k[..., :23, :], v[..., :23, :])
    assert_close(prob_sparse_past(2)(q, k, v)[..., :23, :], short, **EXACT)


@pytest.mark.parametrize("masked", [False, True])
def test_the_past_rule_says_what_it_needs(masked):
    allowed = allow_past(T, T) if masked else None
    with pytest.raises(ValueError, match="or use attend_past"):
        prob_sparse_past()(*three(T, T if masked else S), allowed)


# What the benchmark measures against


def test_the_published_sampling_is_stated_faithfully(monkeypatch):
    q, k, v = three()
    index = torch.randint(S, (T, 5 * ceil(log(S))))
    monkeypatch.setattr(probsparse, "sample_each", lambda *_: index)
    found = probsparse.published(q, k, v)
    assert_close(
        probsparse.score_each(q, k, index), (q @ k.mT).gather(-1, index.expand(B, H, -1, -1))
    )
    for b in range(B):
        for h in range(H):
            scores = torch.stack([k[b, h, index[t]] @ q[b, h, t] for t in range(T)])
            top = (scores.amax(-1) - scores.sum(-1) / S).topk(5 * ceil(log(T))).indices
            expected = v[b, h].mean(0).repeat(T, 1)
            expected[top] = attend(q[b, h, top], k[b, h], v[b, h])
            assert_close(found[b, h], expected, **EXACT)


def test_the_lean_statement_differs_from_ours_by_its_sample_alone(monkeypatch):
    q, k, v = three()
    keys = sample_keys(S, count_active(S))
    monkeypatch.setattr(probsparse, "sample_each", lambda steps, *_: keys.expand(steps, -1))
    assert_close(probsparse.lean(q, k, v), prob_sparse()(q, k, v), **EXACT)


def test_the_benchmark_runs_and_says_what_it_found():
    times = probsparse.measure(64, rounds=2)
    assert {name: len(took) for name, took in times.items()} == dict.fromkeys(probsparse.RULES, 2)
    text = probsparse.report({64: times, 128: times, 4096: times})
    assert "published : ours at 4,096" in text
    growing = probsparse.measure_growth((32, 64), rounds=1)
    assert "all lengths in turn" in probsparse.report({64: times}, growing)
    assert probsparse.exponent([1, 10, 100], [2.0, 20.0, 200.0]) == pytest.approx(1)
