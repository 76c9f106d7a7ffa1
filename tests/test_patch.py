"""The transformer of patches: where they are cut, whose forecast it equals, what it reads."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.layers.attention import attend
from coursekit.layers.basic import BatchNorm1d
from coursekit.models.baselines import last_value
from coursekit.models.normalised import InstanceNorm
from coursekit.models.patch import PatchConfig, PatchTransformer, cut_patches
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw

B, K = 3, 4
SIZES = {"context": 23, "horizon": 7, "patch_len": 5, "stride": 3}
WIDTHS = {"n_layer": 2, "n_head": 3, "d_model": 12, "d_ff": 24}
CONFIG = PatchConfig(**SIZES, **WIDTHS, dropout=0.0)
L, P, N = CONFIG.context, CONFIG.horizon, 8
EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def draw():
    past, known = (torch.randn(B, n, K, dtype=torch.float64) for n in (L, P))
    known[..., 0] = 0
    return past, known, torch.randint(7, (B, L + P, 3))


def build(config=CONFIG, **options):
    """A model in float64 of which no weight and no running statistic is 0 or 1."""
    model = PatchTransformer(config, **options).double().eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.4 * torch.randn_like(p))
        for name, kept in model.named_buffers():
            kept.copy_(torch.rand_like(kept) + 0.5 * name.endswith("var"))
    return model


# Patches


def test_the_last_value_is_repeated_and_patches_are_cut_from_the_first_step_on():
    x = torch.tensor([[1.0, 2, 3, 4, 5, 6, 7], [9, 8, 7, 6, 5, 4, 3]])
    expected = [
        [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 7]],  # the padding is 7, 7, of which one fits
        [[9, 8, 7, 6], [7, 6, 5, 4], [5, 4, 3, 3]],
    ]
    assert cut_patches(x, patch_len=4, stride=2).tolist() == expected


@pytest.mark.parametrize("steps", [5, 6, 7, 8, 23])
@pytest.mark.parametrize("stride", [1, 2, 3, 5])
def test_patches_are_as_many_as_the_paper_says_and_leave_no_step_out(steps, stride):
    x = torch.arange(1.0, steps + 1)
    padded = x.tolist() + [float(steps)] * stride
    starts = range(0, len(padded) - 5 + 1, stride)
    found = cut_patches(x[None], 5, stride)[0]
    assert found.tolist() == [padded[start : start + 5] for start in starts]
    config = PatchConfig(**SIZES | {"context": steps, "stride": stride})
    assert len(found) == config.n_patch == math.floor((steps - 5) / stride) + 2
    assert set(found.flatten().tolist()) == set(x.tolist())


def test_the_published_sizes_give_42_patches():
    """PatchTST/42 of the paper: 336 steps, patches of 16, a stride of 8."""
    assert PatchConfig().n_patch == 42
    assert replace(PatchConfig(), context=512).n_patch == 64


# The same forecast as Hugging Face's


def hugging_face(ours, norm=BatchNorm1d, norm_first=False, scaling=None):
    """Their model with our weights; it doesn't pad, so its past is longer by the stride."""
    from transformers import PatchTSTConfig, PatchTSTForPrediction

    config = ours.config
    settings = PatchTSTConfig(
        num_input_channels=1,
        context_length=config.context + config.stride,
        prediction_length=config.horizon,
        patch_length=config.patch_len,
        patch_stride=config.stride,
        num_hidden_layers=config.n_layer,
        num_attention_heads=config.n_head,
        d_model=config.d_model,
        ffn_dim=config.d_ff,
        norm_type="layernorm" if norm is nn.LayerNorm else "batchnorm",
        pre_norm=norm_first,
        positional_encoding_type="random",
        pooling_type=None,
        share_projection=True,
        scaling=scaling,
    )
    theirs = PatchTSTForPrediction(settings).double().eval()
    encoder = theirs.model.encoder
    encoder.positional_encoder.position_enc.data = ours.positions.weight.data
    pairs = [
        (encoder.embedder.input_embedding, ours.embedding),
        (theirs.head.projection, ours.head),
    ]
    for their, our in zip(encoder.layers, ours.blocks, strict=True):
        attention = our.attention
        pairs += [(getattr(their.self_attn, f"{n}_proj"), getattr(attention, n)) for n in "qkv"]
        pairs += [(their.self_attn.out_proj, attention.out)]
        pairs += [(their.ff[0], our.feed_forward.expand), (their.ff[3], our.feed_forward.out)]
        both = (their.norm_sublayer1, our.norm_1), (their.norm_sublayer3, our.norm_2)
        pairs += [(getattr(other, "batchnorm", other), own) for other, own in both]
    for their, our in pairs:
        missing = their.load_state_dict(our.state_dict(), strict=False)
        assert not missing.unexpected_keys
        assert set(missing.missing_keys) <= {"num_batches_tracked"}
    return theirs


def pad(past):
    return torch.cat([past[..., :1], past[:, -1:, :1].expand(-1, CONFIG.stride, 1)], 1)


FORMS = pytest.mark.parametrize(
    ("norm", "norm_first"),
    [(BatchNorm1d, False), (BatchNorm1d, True), (nn.LayerNorm, False), (nn.LayerNorm, True)],
)


@FORMS
def test_with_copied_weights_the_forecast_is_hugging_faces(norm, norm_first):
    ours, (past, known, marks) = build(norm=norm, norm_first=norm_first), draw()
    theirs = hugging_face(ours, norm, norm_first)
    found = theirs(pad(past)).prediction_outputs
    assert_close(ours(past, known, marks), found[..., 0], **EXACT)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())


def test_in_training_batch_statistics_are_hugging_faces_too():
    ours, (past, known, marks) = build().train(), draw()
    theirs = hugging_face(ours).train()
    assert_close(ours(past, known, marks), theirs(pad(past)).prediction_outputs[..., 0], **EXACT)
    for our, their in zip(ours.blocks, theirs.model.encoder.layers, strict=True):
        assert_close(our.norm_1.running_var, their.norm_sublayer1.batchnorm.running_var, **EXACT)
        assert_close(our.norm_2.running_mean, their.norm_sublayer3.batchnorm.running_mean, **EXACT)


def test_normalised_by_window_it_is_hugging_faces_with_its_scaler():
    """Their mean and deviation are those of the steps that are said to be observed."""
    ours, (past, known, marks) = build(), draw()
    past[..., 0] = 300 + 5 * past[..., 0]
    observed = torch.ones_like(pad(past))
    observed[:, L:] = 0
    found = hugging_face(ours, scaling="std")(pad(past), past_observed_mask=observed)
    theirs = found.prediction_outputs[..., 0]
    assert_close(InstanceNorm(ours)(past, known, marks), theirs, rtol=0, atol=1e-11)


# What it reads


def test_the_other_columns_what_is_known_and_the_calendar_change_nothing():
    model, (past, known, marks) = build(), draw()
    moved = past.clone()
    moved[..., 1:] += 1
    assert torch.equal(model(moved, known + 100, marks + 1), model(past, known, marks))


def test_every_forecast_depends_on_every_step_of_the_past():
    model, (past, known, marks) = build(), draw()
    jacobian = torch.autograd.functional.jacobian(lambda past: model(past, known, marks), past)
    assert (jacobian[..., 0].abs().amax((0, 2)) > 0).all()


@FORMS
def test_no_example_depends_on_another(norm, norm_first):
    model, inputs = build(norm=norm, norm_first=norm_first), draw()
    alone = model(*(one[:1] for one in inputs))
    assert_close(alone, model(*inputs)[:1], **EXACT)


def test_the_rule_mixes_the_patches():
    def read_first(q, k, v, allowed):
        return attend(q, k[..., :1, :], v[..., :1, :], allowed)

    inputs, model = draw(), build()
    other = PatchTransformer(CONFIG, rule=read_first).double().eval()
    other.load_state_dict(model.state_dict())
    assert (other(*inputs) - model(*inputs)).abs().min() > 1e-6


def test_every_weight_gets_a_gradient():
    model = build()
    model(*draw()).square().sum().backward()
    without = [name for name, p in model.named_parameters() if not p.grad.abs().max() > 1e-12]
    # A bias of the keys shifts all scores of a query alike, so the softmax does not see it.
    assert all(name.endswith(".k.bias") for name in without), without


def test_the_parameters_are_as_many_as_the_formula_says():
    c, f = CONFIG.d_model, CONFIG.d_ff
    block = 4 * (c * c + c) + (c * f + f) + (f * c + c) + 2 * 2 * c
    expected = (5 * c + c) + N * c + 2 * block + (N * c * P + P)
    assert sum(p.numel() for p in PatchTransformer(CONFIG).parameters()) == expected


@pytest.mark.parametrize("dropped", [0.0, 0.5])
def test_dropout_reaches_the_embedding_and_what_blocks_add(dropped):
    config = replace(CONFIG, context=203, dropout=dropped)
    model, seen = PatchTransformer(config).train(), []
    model.blocks[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model(torch.randn(B, 203, 1), torch.zeros(B, P, 1), torch.zeros(B, 210, 3).long())
    assert (seen[0] == 0).double().mean().item() == pytest.approx(dropped, abs=0.05)
    assert {block.drop.p for block in model.blocks} == {dropped}


def test_it_learns_a_wave_that_the_last_value_misses(monkeypatch):
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    wave = (torch.arange(400) * math.tau / 12).sin()
    windows = wave.unfold(0, 30, 1)

    def take(rows):
        past, future = windows[rows].split([24, 6], 1)
        marks = torch.zeros(len(rows), 30, 3, dtype=torch.long)
        return (past[..., None], torch.zeros(len(rows), 6, 1), marks), future

    sizes = {"context": 24, "horizon": 6, "patch_len": 6, "stride": 3, "d_ff": 32}
    model = PatchTransformer(PatchConfig(**sizes, n_layer=1, dropout=0.0))
    generator = torch.Generator().manual_seed(0)
    batches = (take(torch.randint(300, (16,), generator=generator)) for _ in range(80))
    fit(model, adamw(model, 1e-2), batches, steps=80, loss=F.mse_loss)
    inputs, target = take(torch.arange(300, 371))
    with torch.no_grad():
        error = F.mse_loss(model.eval()(*inputs), target)
    assert error < 0.1 * F.mse_loss(last_value(*inputs), target)


# Refusals


def test_windows_of_another_length_are_refused():
    past, known, marks = draw()
    with pytest.raises(ValueError, match="22 steps of past and 7 to come instead of 23 and 7"):
        build()(past[:, 1:], known, marks[:, 1:])
    with pytest.raises(ValueError, match="cut the windows to the sizes of the config"):
        build()(past, known[:, 1:], marks[:, 1:])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"horizon": 0}, "has a size below 1"),
        ({"n_layer": 0}, "has a size below 1"),
        ({"d_ff": 0}, "has a size below 1"),
        ({"dropout": 1.0}, "or a dropout outside 0 … 1"),
        ({"stride": 0}, "stride=0 and patch_len=5 must increase from 1"),
        ({"stride": 6}, "stride=6 and patch_len=5 .* would leave steps out"),
        ({"patch_len": 24}, "patch_len=24 must increase from 1 to context=23"),
        ({"d_ff": 30}, "d_ff=30 is not a multiple of d_model=12"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        PatchConfig(**SIZES | WIDTHS | wrong)


def test_channels_that_do_not_split_into_heads_are_refused():
    with pytest.raises(ValueError, match="d_model=12 is not a multiple of n_head=5"):
        PatchTransformer(replace(CONFIG, n_head=5))
