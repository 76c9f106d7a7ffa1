"""The anchors are what was published, and the benchmarks run."""

import pytest
import torch
from torch.testing import assert_close

from benchmarks import names, shakespeare
from benchmarks.anchors import (
    ANCHORS,
    NormOverSteps,
    OneLayer,
    OneLayerNormalised,
    one_layer_normalised_of_modules,
    one_layer_of_modules,
    train_anchor,
)
from benchmarks.nanogpt import (
    NanoGPT,
    OfEncoderLayers,
    draw,
    estimate_losses,
    lr_at,
    make_optimiser,
    train_nanogpt,
)
from coursekit.models.gpt import GPT, GPTConfig


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("one layer", 11_897),
        ("one layer, batch norm", 12_097),
        ("six layers, batch norm", 47_024),
        ("WaveNet", 76_579),
    ],
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


def test_the_normalised_layer_and_its_modules_are_one_network():
    bare, modules = OneLayerNormalised().eval(), one_layer_normalised_of_modules().eval()
    weights = [bare.C, bare.W1.T, bare.gain[0], bare.bias[0], bare.W2.T, bare.b2]
    with torch.no_grad():
        for theirs, ours in zip(modules.parameters(), weights, strict=True):
            theirs.copy_(ours)
        bare.std += 0.3 * torch.rand_like(bare.std)
        modules[3].running_var.copy_(bare.std[0] ** 2)
    tokens = torch.randint(27, (5, 3))
    assert_close(bare(tokens), modules(tokens), rtol=1e-4, atol=1e-5)


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


def test_nanogpts_recipe_is_as_documented():
    model = NanoGPT(65)
    # the read-me counts 0.80M, without the table of positions
    assert sum(p.numel() for p in model.parameters()) - model.positions.weight.numel() == 795_904
    learning_rates = [lr_at(step) for step in range(2_000)]
    assert learning_rates.index(max(learning_rates)) == 100
    assert max(learning_rates) == pytest.approx(1e-3)
    assert learning_rates[0] == pytest.approx(1e-3 / 101)
    assert learning_rates[-1] == pytest.approx(1e-4, rel=1e-3)
    decaying, others = make_optimiser(model).param_groups
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    assert len(decaying["params"]) == 2 + 4 * 4
    assert len(others["params"]) == 2 * 4 + 1  # gains; there are no biases


def test_the_anchors_weights_are_drawn_in_nanogpts_order():
    torch.manual_seed(3)
    model = NanoGPT(5, layers=2, heads=2, width=4)
    torch.manual_seed(3)
    table, positions = torch.nn.Embedding(5, 4), torch.nn.Embedding(64, 4)
    shapes = [(4, 12), (4, 4), (4, 16), (16, 4)] * 2  # in, out: attention's two, the network's two
    parts = [table, positions, *(torch.nn.Linear(*shape, bias=False) for shape in shapes)]
    parts.append(torch.nn.Linear(4, 5, bias=False))
    for part in parts:
        torch.nn.init.normal_(part.weight, std=0.02)
    for part in parts[3:10:2]:
        torch.nn.init.normal_(part.weight, std=0.02 / 2)
    mine = [model.head, model.positions]
    for layer in model.layers:
        mine += [layer.attention.inward, layer.attention.outward, layer.inner[0], layer.outward]
    for one, other in zip(mine, [parts[-1], *parts[1:-1]], strict=True):
        assert one.weight.equal(other.weight)


def test_a_batch_of_nanogpts_is_windows_and_the_same_one_character_later():
    inputs, targets = draw(torch.arange(70), torch.Generator().manual_seed(0))
    assert inputs.shape == targets.shape == (12, 64)
    assert targets.equal(inputs + 1)


def test_the_anchor_is_our_gpt_without_biases():
    theirs = NanoGPT(11, layers=2, heads=2, width=6)
    ours = GPT(
        GPTConfig(vocab_size=11, n_layer=2, n_head=2, d_model=6),
        bias=False,
        activation=torch.nn.functional.gelu,
    )
    with torch.no_grad():
        ours.embedding.weight.copy_(theirs.embedding.weight)
        ours.positions.weight.copy_(theirs.positions.weight)
        for mine, block in zip(ours.blocks, theirs.layers, strict=True):
            parts = block.attention.inward.weight.chunk(3)
            for layer, weight in zip(
                (mine.attention.q, mine.attention.k, mine.attention.v), parts, strict=True
            ):
                layer.weight.copy_(weight)
            mine.attention.out.weight.copy_(block.attention.outward.weight)
            mine.feed_forward.expand.weight.copy_(block.inner[0].weight)
            mine.feed_forward.out.weight.copy_(block.outward.weight)
    tokens = torch.randint(11, (3, 7))
    assert_close(ours(tokens), theirs(tokens))


def test_the_anchor_and_pytorchs_own_layers_have_the_same_numbers():
    theirs, bare = OfEncoderLayers(65), NanoGPT(65)
    assert sum(p.numel() for p in theirs.parameters()) == sum(p.numel() for p in bare.parameters())
    tokens = torch.randint(65, (2, 64))
    changed = tokens.clone()
    changed[:, 40:] = (changed[:, 40:] + 1) % 65
    with torch.no_grad():
        for model in (theirs, bare):  # neither reads the future
            assert_close(model(tokens)[:, :40], model(changed)[:, :40])


@pytest.mark.parametrize("name", ["anchor", *shakespeare.RECIPES])
def test_each_recipe_for_shakespeare_learns_and_is_measured_on_the_way(name):
    tokens, losses = torch.arange(400) % 7, []

    def measure(model):
        losses.append(shakespeare.text_nll(model, tokens[:130], context=64))
        return losses[-1]

    if name == "anchor":
        _, curve, times, estimates = train_nanogpt(
            tokens, tokens[:130], 7, measure, steps=20, points=2
        )
        assert estimates[1][0] == pytest.approx(losses[-1], abs=0.02)
    else:
        _, curve, times = shakespeare.train_ours(
            shakespeare.RECIPES[name], tokens, 7, measure, steps=10
        )
    assert [loss for _, loss in curve] == losses
    assert losses[-1] < losses[0] < 2.5
    assert curve[-1][0] == pytest.approx(sum(times))
    assert sorted(seconds for seconds, _ in curve) == [seconds for seconds, _ in curve]


def test_the_estimate_is_near_the_whole_and_the_same_each_time():
    torch.manual_seed(0)
    model, tokens = NanoGPT(7), torch.arange(4000) ** 2 % 7
    first, again = (
        estimate_losses(model, [tokens], torch.Generator().manual_seed(0)) for _ in range(2)
    )
    assert first == again
    ((mean, error),) = first
    assert mean == pytest.approx(shakespeare.text_nll(model, tokens), abs=5 * error + 1e-3)


def test_the_report_on_shakespeare_has_every_figure():
    rows = [
        ("nanoGPT's recipe", 804_224, 1_536_000, 65.5, 70.04, 1.8832, "published 1.88"),
        ("ours: plain", 612_345, 2_048_000, 58.95, 61.26, 1.6543, "≤ 1.75"),
    ]
    estimates = [(1.7712, 0.0101), (1.8912, 0.0123)]
    text = shakespeare.write_report(rows, {"the anchor": 35.24}, estimates, 111_539, 2.25)
    figures = (
        "804,224",
        "1,536,000",
        "70.0",
        "1.8832",
        "published 1.88",
        "0.87",
        "0.90",
        "65.5",
        "35.2",
        "2.2",
    )
    for figure in (*figures, "1.8912 ± 0.0123", "1.7712", "111,539", "612,345", "1.6543", "≤ 1.75"):
        assert figure in text


def test_the_curves_of_shakespeare_are_drawn(tmp_path):
    curves = {name: [(1.0, 2.5), (2.0, 2.0)] for name in ("anchor", "plain", "modern")}
    shakespeare.draw_curves(curves, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000
