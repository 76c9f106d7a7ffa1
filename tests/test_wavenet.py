"""The tree, the same tree as convolutions, and gated blocks over a series."""

import math

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.evaluate.likelihood import compare_losses, gaussian_nll
from coursekit.inside.certify import dependence
from coursekit.layers.cache import Cache
from coursekit.models.baselines import ewma_variance, fit_ar, forecast_ar
from coursekit.models.wavenet import (
    DilatedFusion,
    PairFusion,
    PairFusionConfig,
    WaveNet,
    WaveNetConfig,
)
from coursekit.sample import sample_text
from coursekit.tokens.vocabulary import Vocabulary

LETTERS = Vocabulary(".abcdef")
V, B, T = len(LETTERS), 3, 13
WORDS = torch.tensor([[1, 2, 3, 4, 5, 6, 1, 3, 5, 2, 4, 6, 1]] * B) + torch.arange(B)[:, None]
TOKENS = WORDS % V


def grown_tree(context=8, seed=0):
    """A tree whose batch norms have seen data, so that their statistics are not 0 and 1."""
    torch.manual_seed(seed)
    config = PairFusionConfig(vocab_size=V, context=context, d_embedding=4, d_hidden=5)
    tree = PairFusion(config).double()
    tree(torch.randint(V, (50, context)))
    for part in tree.parameters():
        part.data += 0.3 * torch.randn_like(part)
    return tree.eval()


def grown_wavenet(seed=0, **sizes):
    torch.manual_seed(seed)
    net = WaveNet(WaveNetConfig(d_in=2, d_out=3, d_model=4, d_skip=5, **sizes)).double()
    net.output.weight.data = torch.randn_like(net.output.weight)
    return net


@pytest.mark.parametrize("context", [2, 4, 8, 16])
def test_levels_halve_the_steps(context):
    tree, steps = grown_tree(context), []
    for level in tree.levels:
        level.register_forward_hook(lambda module, given, out: steps.append(out.shape[1]))
    tree(torch.zeros(B, context, dtype=torch.long))
    assert steps == [context >> i for i in range(1, len(steps) + 1)]
    assert steps[-1] == 1


def test_the_parameters_are_those_of_the_formula():
    tree = PairFusion(PairFusionConfig(vocab_size=27))
    levels = 48 * 128 + 2 * 256 * 128 + 3 * 2 * 128  # matrices; gain and shift of three norms
    expected = 27 * 24 + levels + 128 * 27 + 27
    assert sum(p.numel() for p in tree.parameters()) == expected == 76_579


def test_the_first_guess_is_nearly_uniform():
    torch.manual_seed(0)
    tree = PairFusion(PairFusionConfig(vocab_size=27))
    tokens = torch.randint(27, (500, 8))
    loss = F.cross_entropy(tree(tokens), torch.randint(27, (500,)))
    assert loss.item() == pytest.approx(math.log(27), abs=0.03)


def test_one_batch_is_learnt():
    torch.manual_seed(0)
    tree = PairFusion(PairFusionConfig(vocab_size=V, d_embedding=8, d_hidden=32))
    tokens, targets = torch.randint(V, (20, 8)), torch.randint(V, (20,))
    optimiser = torch.optim.AdamW(tree.parameters(), lr=0.01)
    for _ in range(150):
        loss = F.cross_entropy(tree(tokens), targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.02


def test_only_the_last_tokens_count():
    tree, other = grown_tree(), TOKENS.clone()
    other[:, : T - 8] = 0
    assert tree(TOKENS).equal(tree(other))
    other[:, T - 8] = (other[:, T - 8] + 1) % V
    assert not tree(TOKENS).equal(tree(other))


@pytest.mark.parametrize("context", [0, 1, 3, 6, 12])
def test_a_context_that_is_no_power_of_two_is_refused(context):
    with pytest.raises(ValueError, match=f"context={context} is not 2, 4, 8"):
        PairFusionConfig(vocab_size=V, context=context)


def test_wrong_sizes_are_refused():
    with pytest.raises(ValueError, match="a size below 1"):
        PairFusionConfig(vocab_size=V, d_hidden=0)
    with pytest.raises(ValueError, match=r"7 tokens are fewer than the 8.*pad the start"):
        grown_tree()(TOKENS[:, :7])


@pytest.mark.parametrize("context", [2, 4, 8])
def test_the_convolutions_say_at_each_step_what_the_tree_says(context):
    tree = grown_tree(context)
    everywhere = DilatedFusion(tree).eval()(TOKENS)
    assert everywhere.shape == (B, T, V)
    for t in range(context - 1, T):
        assert_close(everywhere[:, t], tree(TOKENS[:, : t + 1]), rtol=0, atol=1e-12)


def test_the_convolutions_use_the_weights_of_the_tree():
    tree = grown_tree()
    stack = DilatedFusion(tree).eval()
    assert {id(p) for p in stack.parameters()} == {id(p) for p in tree.parameters()}
    tree.levels[1][1].weight.data *= 2
    assert_close(stack(TOKENS)[:, -1], tree(TOKENS), rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [lambda: DilatedFusion(grown_tree()).eval(), grown_wavenet])
@pytest.mark.parametrize("pieces", [(1,) * 13, (8, 1, 1, 3)])
def test_a_sequence_read_in_pieces_gives_what_the_whole_gives(make, pieces):
    model, cache, outputs = make(), Cache(), []
    whole = (
        TOKENS if isinstance(model, DilatedFusion) else TOKENS.double()[..., None].expand(B, T, 2)
    )
    for piece in whole.split(pieces, 1):
        outputs.append(model(piece, cache))
    assert_close(torch.cat(outputs, 1), model(whole), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_sampling_with_a_cache_draws_what_sampling_without_draws(seed):
    tree = grown_tree()
    generators = [torch.Generator().manual_seed(seed) for _ in range(2)]
    plain = sample_text(tree, LETTERS, "." * 8, 40, generators[0])
    assert (
        sample_text(DilatedFusion(tree), LETTERS, "." * 8, 40, generators[1], cached=True) == plain
    )
    assert len(plain) == 40


def test_cached_sampling_reads_each_token_once_and_stops():
    stack, read = DilatedFusion(grown_tree()), []
    stack.register_forward_pre_hook(lambda _, given: read.append(given[0].shape[1]))
    stack.train()
    sample_text(stack, LETTERS, "." * 8, 6, torch.Generator().manual_seed(0), cached=True)
    assert read == [8, 1, 1, 1, 1, 1]
    assert stack.training
    drawn = sample_text(
        stack, LETTERS, ".", 200, torch.Generator().manual_seed(0), ".", cached=True
    )
    assert "." not in drawn
    assert len(drawn) < 200
    with pytest.raises(ValueError, match="nothing to continue: begin with the boundary"):
        sample_text(stack, LETTERS, "", 2, torch.Generator())


@pytest.mark.parametrize("kernel", [2, 3])
@pytest.mark.parametrize("dilations", [(1,), (1, 2, 4), (3, 1)])
def test_no_step_of_a_wavenet_reads_the_future_nor_beyond_its_context(kernel, dilations):
    net = grown_wavenet(kernel=kernel, dilations=dilations)
    steps = net.context + 3
    x = torch.randn(4, steps, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = dependence(net, x)
    back = torch.arange(steps)[:, None] - torch.arange(steps)
    assert (found[(back < 0) | (back >= net.context)] == 0).all()
    assert found[-1, -net.context] > 0
    assert found[-1, -1] > 0


def test_the_context_of_a_wavenet_counts_its_first_convolution():
    sizes = {"d_in": 1, "d_out": 1}
    assert WaveNetConfig(kernel=2, dilations=(1, 2, 4, 8), **sizes).context == 17
    assert WaveNetConfig(kernel=3, dilations=(1, 2), **sizes).context == 9


def test_a_wavenet_is_its_blocks_and_skips():
    net = grown_wavenet(dilations=(1, 2))
    x = TOKENS.double()[..., None].expand(B, T, 2)
    level, total = net.input(x), torch.zeros(B, T, 5, dtype=torch.float64)
    for block in net.blocks:
        level, skip = block(level)
        total += skip
    hidden = (total.clamp(min=0) @ net.mix.weight.T + net.mix.bias).clamp(min=0)
    assert_close(net(x), hidden @ net.output.weight.T, rtol=0, atol=1e-12)


def test_a_wavenet_starts_at_the_same_output_everywhere_and_answers_twice_alike():
    torch.manual_seed(0)
    net = WaveNet(WaveNetConfig(d_in=1, d_out=2))
    x = torch.randn(B, T, 1)
    assert net(x).equal(torch.zeros(B, T, 2))
    tree = grown_tree()
    assert tree(TOKENS).equal(tree(TOKENS))


def make_series(n=400):
    noise = torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).tolist()
    series = [0.3, -0.2]
    for e in noise:
        series.append(0.1 + 0.5 * series[-1] - 0.3 * series[-2] + e)
    return torch.tensor(series, dtype=torch.float64)


@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_autoregression_agrees_with_statsmodels(order):
    from statsmodels.tsa.ar_model import AutoReg

    series = make_series()
    fitted = AutoReg(series.numpy(), order, trend="c").fit()
    ours = fit_ar(series, order)
    assert_close(ours, torch.tensor(fitted.params), rtol=1e-9, atol=1e-12)
    forecasts = forecast_ar(series, ours)
    assert len(forecasts) == len(series) - order + 1
    theirs = fitted.predict(start=order, end=len(series))
    assert_close(forecasts, torch.tensor(theirs), rtol=1e-9, atol=1e-12)


def test_a_series_too_short_for_its_order_is_refused():
    with pytest.raises(ValueError, match="order=2 needs more than 5 values, not 5"):
        fit_ar(torch.ones(5), 2)


def test_the_weighted_variance_is_a_sum_over_the_past_alone():
    returns, decay = make_series(30), 0.9
    found = ewma_variance(returns, 2.0, decay)
    for t, value in enumerate(found.tolist()):
        past = [0.1 * decay**k * returns[t - 1 - k].item() ** 2 for k in range(t)]
        assert value == pytest.approx(decay**t * 2.0 + sum(past), rel=1e-12)
    with pytest.raises(ValueError, match=r"decay=1.0 must lie between 0 and 1"):
        ewma_variance(returns, 1.0, 1.0)


def test_the_gaussian_loss_is_that_of_torch_distributions():
    y, mean, log_scale = make_series(8)[:5], torch.tensor(0.3), make_series(9)[-5:]
    theirs = -torch.distributions.Normal(mean.double(), log_scale.exp()).log_prob(y)
    assert_close(gaussian_nll(y, mean.double(), log_scale), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lags", [0, 3])
def test_losses_are_compared_as_a_regression_on_a_constant_compares_them(lags):
    from statsmodels.api import OLS

    first, second = make_series(60), make_series(60).flip(0) - 0.2
    fitted = OLS((first - second).numpy(), torch.ones(62, dtype=torch.float64).numpy()).fit(
        cov_type="HAC", cov_kwds={"maxlags": lags}
    )
    mean, ratio = compare_losses(first, second, lags)
    assert mean == pytest.approx(fitted.params[0], rel=1e-9)
    assert ratio == pytest.approx(fitted.tvalues[0], rel=1e-9)
    with pytest.raises(ValueError, match="lags=2 must be between 0 and the 2 losses"):
        compare_losses(first[:2], second[:2], 2)


@pytest.mark.parametrize("sizes", [{"dilations": ()}, {"d_skip": 0}, {"dilations": (1, 0)}])
def test_a_wavenet_without_blocks_or_channels_is_refused(sizes):
    with pytest.raises(ValueError, match="has a size below 1, or no block"):
        WaveNetConfig(d_in=1, d_out=2, **sizes)


def test_each_level_of_the_tree_starts_with_the_gain_of_tanh():
    torch.manual_seed(0)
    tree = PairFusion(PairFusionConfig(vocab_size=V, context=8, d_embedding=40, d_hidden=128))
    for level, d_in in zip(tree.levels, (80, 256, 256), strict=True):
        assert level[1].weight.std().item() * d_in**0.5 == pytest.approx(5 / 3, rel=0.03)
    assert tree.output.weight.std().item() * 128**0.5 == pytest.approx(0.1, rel=0.1)
