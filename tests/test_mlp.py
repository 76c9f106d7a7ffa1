"""The multilayer perceptron, against the same network from PyTorch's modules."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.models.mlp import MLP, MLPConfig
from coursekit.models.wavenet import PairFusion, PairFusionConfig
from coursekit.training.engine import Engine

SIZES = {"vocab_size": 11, "context": 3, "d_embedding": 5, "d_hidden": 7, "n_hidden": 2}


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def pytorch_mlp(config: MLPConfig) -> nn.Sequential:
    parts = [nn.Embedding(config.vocab_size, config.d_embedding), nn.Flatten()]
    width = config.context * config.d_embedding
    for _ in range(config.n_hidden):
        parts.append(nn.Linear(width, config.d_hidden, bias=not config.normalised))
        parts += [nn.BatchNorm1d(config.d_hidden)] if config.normalised else []
        parts.append(nn.Tanh())
        width = config.d_hidden
    return nn.Sequential(*parts, nn.Linear(width, config.vocab_size)).double()


@pytest.mark.parametrize("normalised", [False, True])
def test_it_equals_the_same_network_of_pytorch_modules(normalised):
    config = MLPConfig(**SIZES, normalised=normalised)
    ours, theirs = MLP(config).double(), pytorch_mlp(config)
    assert len(ours.state_dict()) + normalised * config.n_hidden == len(theirs.state_dict())
    wanted = [name for name in theirs.state_dict() if "num_batches" not in name]
    theirs.load_state_dict(dict(zip(wanted, ours.state_dict().values(), strict=True)), strict=False)
    tokens = torch.randint(11, (4, 3))
    assert_close(ours(tokens), theirs(tokens), rtol=0, atol=1e-12)
    assert_close(ours.eval()(tokens), theirs.eval()(tokens), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_hidden", "total"), [(1, 39_014), (2, 55_526)])
def test_parameters_are_counted_by_the_formula(n_hidden, total):
    config = MLPConfig(vocab_size=38, context=8, d_embedding=32, d_hidden=128, n_hidden=n_hidden)
    assert sum(p.numel() for p in MLP(config).parameters()) == total


def test_it_starts_near_the_uniform_guess():
    model = MLP(MLPConfig(vocab_size=27))
    tokens = torch.randint(27, (1000, 4))
    loss = F.cross_entropy(model(tokens[:, :3]), tokens[:, 3])
    assert loss.item() == pytest.approx(math.log(27), abs=0.03)


def test_it_reads_the_last_letters_only():
    model = MLP(MLPConfig(**SIZES))
    tokens = torch.randint(11, (2, 6))
    assert torch.equal(model(tokens), model(tokens[:, 3:]))


def test_every_letter_of_the_context_matters():
    model = MLP(MLPConfig(**SIZES))
    tokens = torch.tensor([[1, 2, 3]])
    for t in range(3):
        other = tokens.clone()
        other[0, t] = 7
        assert not torch.equal(model(tokens), model(other))


def test_evaluating_twice_gives_the_same():
    model = MLP(MLPConfig(**SIZES, normalised=True)).eval()
    tokens = torch.randint(11, (4, 3))
    assert torch.equal(model(tokens), model(tokens))


def test_a_batch_is_learnt_by_heart():
    model = MLP(MLPConfig(**SIZES, normalised=True))
    tokens = torch.randperm(33).view(11, 3) % 11
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.02)
    for _ in range(300):
        loss = F.cross_entropy(model(tokens), torch.arange(11))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.02


@pytest.mark.parametrize(
    "model",
    [
        lambda: MLP(MLPConfig(**SIZES, normalised=True)),
        lambda: PairFusion(PairFusionConfig(vocab_size=11, context=4, d_embedding=5, d_hidden=7)),
    ],
)
def test_a_model_with_batch_norm_trains_in_bfloat16(model):
    exact, narrow = model(), model()
    narrow.load_state_dict(exact.state_dict())
    tokens, targets = torch.randint(11, (13, 4)), torch.randint(11, (13,))
    losses = []
    for network, precision in ((exact, None), (narrow, torch.bfloat16)):
        engine = Engine(precision).start(network, torch.optim.SGD(network.parameters(), lr=0.1))
        losses.append(engine.backward(F.cross_entropy, tokens, targets))
        assert engine.step(None)
    assert_close(losses[0], losses[1], rtol=0.01, atol=0)
    for one, other in zip(exact.buffers(), narrow.buffers(), strict=True):
        assert_close(one, other, rtol=0.05, atol=0.02)


def test_activation_and_gain_are_arguments():
    model = MLP(MLPConfig(**SIZES), activation=nn.ReLU, gain=100.0, output_gain=0.0)
    kinds = [type(part).__name__ for part in model.hidden]
    assert kinds == ["Linear", "ReLU", "Linear", "ReLU"]
    assert model.hidden[0].weight.std() > 10
    assert not model(torch.randint(11, (2, 3))).any()
    assert isinstance(MLP(MLPConfig(**SIZES)).hidden[1], nn.Tanh)


def test_a_short_context_is_refused():
    with pytest.raises(ValueError, match="2 tokens are fewer than the 3 of the context"):
        MLP(MLPConfig(**SIZES))(torch.zeros(1, 2, dtype=torch.long))


@pytest.mark.parametrize("wrong", [{"d_hidden": 0}, {"context": 0}, {"n_hidden": -1}])
def test_a_size_below_one_is_refused(wrong):
    with pytest.raises(ValueError, match="has a size below"):
        MLPConfig(**SIZES | wrong)
