"""The benchmark on ETTh1: its plain model is ours, its training learns, its report is complete."""

from datetime import datetime, timedelta

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from benchmarks import etth1
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
    theirs = etth1.OfModules(CONFIG).double()
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
    recipe = etth1.Recipe(60, 16, every=20, thin=2, lift=0.1)
    best, seconds = etth1.train_informer(model, recipe, splits)
    assert seconds > 0
    assert best is not model
    naive = etth1.judge(last_value, splits)
    assert max(etth1.judge(best, splits)) < 0.6 * min(naive)
    assert etth1.thin_mse(best, splits.test, 1) == pytest.approx(etth1.judge(best, splits)[1])


def test_each_model_of_a_mean_is_trained_once(monkeypatch):
    trained = []

    def train(model, recipe, splits, seed):
        trained.append((type(model), recipe, seed))
        return nn.Identity(), 2.0

    monkeypatch.setattr(etth1, "train_informer", train)
    monkeypatch.setattr(etth1, "splits_of", lambda horizon: None)
    etth1.train_column.cache_clear()
    for name in etth1.OURS:
        model, seconds = etth1.train_column(48, name, 7)
        assert seconds == (4.0 if "mean" in name else 2.0)
    etth1.train_column.cache_clear()
    assert len(trained) == 3
    assert all(seed == 7 for *_, seed in trained)
    assert len(model.forecasters) == 2


def test_the_mean_forecast_is_the_mean_of_forecasts():
    class Add(nn.Module):
        def __init__(self, number):
            super().__init__()
            self.number = number

        def forward(self, past, known, marks):
            return past[..., 0] + self.number

    inputs = (torch.arange(6.0).view(2, 3, 1), torch.zeros(2, 3, 1), torch.zeros(2, 6, 3))
    mean = etth1.MeanForecast([Add(1.0), Add(4.0)])
    assert_close(mean(*inputs), inputs[0][..., 0] + 2.5)


def test_the_report_has_every_figure():
    runs = [(0.05, 0.03, 9.0), (0.06, 0.05, 12.0)]
    row = {"windows": 2857, "last value": [(0.0696, 0.0343, 0.0)], "ridge": [(0.051, 0.0265, 0.0)]}
    row |= dict.fromkeys(etth1.OURS, runs)
    text = etth1.write_report({24: row}, {"a step": 17.24})
    for figure in ("0.098", "2,857", "0.0343", "0.0265", "0.0400 ± 0.0141", "9 – 12", "| 17.2 |"):
        assert figure in text


def test_a_report_can_be_written_before_all_is_done():
    row = {"windows": 2857, "last value": [(0.0696, 0.0343, 0.0)], "ridge": [(0.051, 0.0265, 0.0)]}
    text = etth1.write_report({24: row | {"ours, plain": [(0.05, 0.0801, 3.0)]}})
    assert "0.0801" in text
    assert "median ms" not in text
