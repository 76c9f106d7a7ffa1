"""The benchmark's Informer: PyTorch's modules make the same model, and its training learns."""

from datetime import datetime, timedelta

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from benchmarks import informer
from coursekit.evaluate.forecasts import score_forecasts
from coursekit.layers.attention import attend
from coursekit.models.baselines import last_value
from coursekit.models.informer import Informer, InformerConfig
from coursekit.models.relative import RelativeToLast
from coursekit.windows.forecast import split_windows
from coursekit.windows.series import TimeSeries

CONFIG = InformerConfig(context=17, label_len=6, horizon=5, n_head=2, d_model=8, dropout=0.0)


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    torch.manual_seed(0)


def copy_weights(theirs, ours):
    """Give the model of PyTorch's modules our weights."""
    pairs = [
        (theirs.encoder_content, ours.encoder_embedding.content),
        (theirs.decoder_content, ours.decoder_embedding.content),
        (theirs.encoder_start, ours.encoder_embedding.norm),
        (theirs.decoder_start, ours.decoder_embedding.norm),
        (theirs.distil[0], ours.distils[0].conv),
        (theirs.encoder_norm, ours.encoder_norm),
        (theirs.decoder_norm, ours.decoder_norm),
        (theirs.head, ours.head),
    ]
    layers = [*zip(theirs.encoder, ours.encoder, strict=True), (theirs.decoder, ours.decoder[0])]
    for their, our in layers:
        attentions = [(their.self_attn, getattr(our, "self_attention", None) or our.attention)]
        if hasattr(our, "cross_attention"):
            attentions.append((their.multihead_attn, our.cross_attention))
        for attention, ourselves in attentions:
            qkv = (ourselves.q, ourselves.k, ourselves.v)
            attention.in_proj_weight.data = torch.cat([part.weight.data for part in qkv])
            attention.in_proj_bias.data = torch.cat([part.bias.data for part in qkv])
            pairs.append((attention.out_proj, ourselves.out))
        pairs += [(their.linear1, our.feed_forward.expand), (their.linear2, our.feed_forward.out)]
        norms = [name for name in ("norm_1", "norm_2", "norm_3") if hasattr(our, name)]
        pairs += [(getattr(their, name.replace("_", "")), getattr(our, name)) for name in norms]
    for their, our in pairs:
        their.load_state_dict(our.state_dict())


def test_our_informer_equals_one_of_pytorchs_modules():
    ours = Informer(CONFIG, rule=attend, calendar=None, head_std=1.0).double()
    theirs = informer.OfModules(CONFIG).double()
    assert sum(p.numel() for p in theirs.parameters()) == sum(p.numel() for p in ours.parameters())
    for weight in ours.parameters():
        weight.data += 0.1 * torch.randn_like(weight)
    copy_weights(theirs, ours)
    past, known = torch.randn(3, 17, 1).double(), torch.zeros(3, 5, 1).double()
    inputs = past, known, torch.zeros(3, 22, 3).long()
    assert_close(ours(*inputs), theirs(*inputs), rtol=0, atol=1e-12)


def small_splits():
    wave = TimeSeries(
        name="wave",
        times=[datetime(2024, 1, 1) + timedelta(hours=i) for i in range(900)],
        values=(torch.arange(900, dtype=torch.float64) * 0.5236).sin()[:, None],
        columns=("height",),
    )
    return split_windows(wave, 17, 5, ends=(600, 750, 900))


def test_training_beats_the_last_value_and_keeps_the_best_average():
    splits = small_splits()
    model = RelativeToLast(Informer(CONFIG, calendar=None))
    recipe = informer.Recipe(60, 16, every=20, thin=2, lift=0.1)
    best, seconds, curve = informer.train_forecaster(model, recipe, splits.train, splits.valid)
    assert seconds > 0
    assert best is not model
    parts = (splits.valid, splits.test)
    errors = [score_forecasts(best, part).mse for part in parts]
    assert max(errors) < 0.6 * min(score_forecasts(last_value, part).mse for part in parts)
    assert informer.thin_mse(best, splits.test, 1) == pytest.approx(errors[1])
    assert [step for step, _ in curve] == [20, 40, 60]
    assert min(error for _, error in curve) == informer.thin_mse(best, splits.valid, 2)


def test_the_mean_forecast_is_the_mean_of_forecasts():
    class Add(nn.Module):
        def __init__(self, number):
            super().__init__()
            self.number = number

        def forward(self, past, known, marks):
            return past[..., 0] + self.number

    inputs = (torch.arange(6.0).view(2, 3, 1), torch.zeros(2, 3, 1), torch.zeros(2, 6, 3))
    mean = informer.MeanForecast([Add(1.0), Add(4.0)])
    assert_close(mean(*inputs), inputs[0][..., 0] + 2.5)


def test_a_step_is_timed_for_each_model(monkeypatch):
    monkeypatch.setattr(informer, "CONTEXT", 12)
    models = {"a": nn.Linear(1, 1), "b": nn.Linear(1, 1)}

    class Level(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, past, known, marks):
            return self.layer(past[:, -1:]).expand(-1, known.shape[1], 1)[..., 0]

    models = {name: Level(layer) for name, layer in models.items()}
    costs = informer.costs_of_a_step(models, rounds=2, steps=1)
    assert [*costs] == ["a", "b"]
    assert all(0 < cost < 1000 for cost in costs.values())
