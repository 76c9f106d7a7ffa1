"""The anchors are what the lecture published, and the benchmark runs."""

import pytest
import torch
from torch.testing import assert_close

from benchmarks import names
from benchmarks.anchors import ANCHORS, NormOverSteps, OneLayer, one_layer_of_modules, train_anchor


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("one layer", 11_897), ("six layers, batch norm", 47_024), ("WaveNet", 76_579)],
)
def test_an_anchor_has_the_published_size(name, parameters):
    assert sum(p.numel() for p in ANCHORS[name].make().parameters()) == parameters


def test_the_bare_tensors_and_the_modules_are_one_network():
    bare, modules = OneLayer(), one_layer_of_modules()
    weights = [bare.C, bare.W1.T, bare.b1, bare.W2.T, bare.b2]
    with torch.no_grad():
        for theirs, ours in zip(modules.parameters(), weights, strict=True):
            theirs.copy_(ours)
    tokens = torch.randint(27, (5, 3))
    assert_close(bare(tokens), modules(tokens))


def test_the_anchors_batch_norm_is_pytorchs_over_batch_and_steps():
    x = torch.randn(2, 5, 3)
    assert_close(NormOverSteps(3)(x), torch.nn.BatchNorm1d(3)(x.mT).mT)


def test_an_anchor_learns_and_is_measured_on_the_way():
    windows = torch.arange(400).view(100, 4) % 3
    anchor = ANCHORS["one layer"]
    losses = []

    def measure(model):
        with torch.no_grad():
            logits = model(windows[:, :3])
        losses.append(torch.nn.functional.cross_entropy(logits, windows[:, 3]).item())
        return losses[-1]

    _, curve = train_anchor(anchor, windows, measure, steps=60, points=3)
    assert [loss for _, loss in curve] == losses
    assert len(losses) == 3
    assert losses[-1] < losses[0] < 40
    assert sorted(seconds for seconds, _ in curve) == [seconds for seconds, _ in curve]


def test_the_report_has_every_figure():
    rows = [("ours: MLP", 1234, 4.5, "≤ 2.10", 2.0736, 2.0755)]
    text = names.report(rows, {"a step": 151.2}, {"share": 0.1567})
    for figure in ("1,234", "4.5", "2.0736", "2.0755", "≤ 2.10", "| 151 |", "0.157"):
        assert figure in text
