"""What lesson 02b states and no cell of it measures."""

import json
import re
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from coursekit.data import NEWS
from coursekit.models.mlp import MLP, MLPConfig
from coursekit.training.optimiser import adamw

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("n_hidden", "total"), [(1, 39_014), (2, 55_526)])
def test_a_second_hidden_layer_is_counted(n_hidden, total):
    sizes = {"context": 8, "d_embedding": 32, "d_hidden": 128}
    model = MLP(MLPConfig(vocab_size=38, n_hidden=n_hidden, **sizes))
    assert sum(p.numel() for p in model.parameters()) == total
    by_formula = 38 * 32 + 257 * 128 + (n_hidden - 1) * 129 * 128 + 129 * 38
    assert total == by_formula


def test_nothing_of_the_rest_is_copied_from_the_start():
    cut = int(0.8 * len(NEWS))
    start, rest = NEWS[:cut], NEWS[cut:]
    assert not any(rest[i : i + 12] in start for i in range(len(rest) - 11))
    assert start[100:112] in start


def test_the_lesson_quotes_the_benchmark_as_it_is():
    source = (ROOT / "notebooks/src/02b_training.py").read_text("utf-8")
    told = re.search(r"took ([\d.]+) seconds, our last rung ([\d.]+): a ninth", source)
    assert told is not None
    table = (ROOT / "benchmarks/names.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (.*?) \| ([\d,]+ \| .*?) \|$", table, re.M))
    (_, *lectures), (size, *ours) = (
        [float(cell.replace(",", "")) for cell in re.findall(r"[\d,]+\.?\d*", rows[name])]
        for name in ("lecture: one layer", "ours: MLP")
    )
    assert [float(one) for one in told.groups()] == [lectures[0], ours[0]]
    assert f"({lectures[2]:.2f} when we ran it)" in source
    assert ours[0] / lectures[0] == pytest.approx(1 / 9, abs=0.01)  # "a ninth"
    # The recipe that was timed is the lesson's last rung.
    rung = MLP(MLPConfig(vocab_size=27, d_embedding=24))
    assert size == sum(p.numel() for p in rung.parameters())
    claims = json.loads((ROOT / "coursekit/claims/02b_training.json").read_text("utf-8"))["claims"]
    assert ours[2:] == [round(claims[name], 4) for name in ("mlp-dev-loss", "test-loss")]


def test_without_a_gradient_matrices_and_vectors_shrink_and_biases_stay():
    model = MLP(MLPConfig(vocab_size=27))
    model.hidden[0].bias.data += 1
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimiser = adamw(model, lr=0.1, weight_decay=1.0)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    for _ in range(10):
        optimiser.step()
    for name, p in model.named_parameters():
        kept = 1.0 if name.endswith("bias") else 0.9**10
        torch.testing.assert_close(p.detach(), kept * before[name])


@pytest.mark.parametrize(("sign", "grows"), [(+1, 13_781), (-1, 2.7e-5)])
def test_a_penalty_with_the_wrong_sign_makes_weights_grow(sign, grows):
    torch.manual_seed(42)
    x, y = torch.randint(27, (500, 3)), torch.randint(27, (500,))
    model = MLP(MLPConfig(vocab_size=27))
    before = model.hidden[0].weight.norm().item()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, maximize=True)
    for _ in range(100):
        penalty = 0.5 * sum(p.square().sum() for p in model.parameters())
        optimiser.zero_grad()
        (sign * penalty - F.cross_entropy(model(x), y)).backward()
        optimiser.step()
    assert model.hidden[0].weight.norm().item() / before == pytest.approx(grows, rel=0.1)


def test_a_lower_temperature_is_always_more_certain():
    logits = 3 * torch.randn(149, 39, generator=torch.Generator().manual_seed(42))
    chances = [(logits / temperature).softmax(-1) for temperature in (0.5, 0.8, 1.0)]
    entropy = torch.stack([-(p * p.log()).sum(-1) for p in chances])
    assert (entropy.diff(dim=0) > 0).all()
