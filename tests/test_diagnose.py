"""What the diagnostics report, against autograd and arithmetic."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.inside.diagnose import (
    UpdateLog,
    find_dead,
    find_saturated,
    log_ratio,
    measure_batch_noise,
    take_snapshot,
)
from coursekit.models.mlp import MLP, MLPConfig


@pytest.fixture
def setting():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2)
    )
    return model, torch.randn(11, 3), torch.randint(2, (11,))


def test_a_snapshot_holds_what_autograd_finds(setting):
    model, x, y = setting
    snapshot = take_snapshot(model, x, y, nn.Tanh)
    first = model[2](model[1](model[0](x)))
    second = model[4](model[3](first))
    loss = F.cross_entropy(model[5](second), y)
    slopes = torch.autograd.grad(loss, [first, second, model[3].weight])
    assert snapshot.loss == pytest.approx(loss.item(), rel=1e-6)
    assert list(snapshot.outputs) == ["2", "4"]
    assert_close(snapshot.outputs["4"], second.detach())
    assert_close(snapshot.gradients["2"], slopes[0])
    assert_close(snapshot.gradients["4"], slopes[1])
    assert list(snapshot.weights) == ["0.weight", "3.weight", "5.weight"]
    assert_close(snapshot.weight_gradients["3.weight"], slopes[2])


def test_a_snapshot_leaves_the_model_as_it_was(setting):
    model, x, y = setting
    model[0].weight.grad = torch.ones(5, 3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    take_snapshot(model, x, y, nn.Tanh)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert model[0].weight.grad.eq(1).all()
    assert model[3].weight.grad is None
    assert not any(part._forward_hooks for part in model.modules())
    assert model.training


def test_hooks_go_also_when_the_model_fails(setting):
    model, x, y = setting
    with pytest.raises(RuntimeError):
        take_snapshot(model, x[:, :2], y, nn.Tanh)
    assert not any(part._forward_hooks for part in model.modules())


def test_a_frozen_matrix_is_not_watched(setting):
    model, x, y = setting
    model[3].weight.requires_grad_(False)
    assert list(take_snapshot(model, x, y, nn.Tanh).weights) == ["0.weight", "5.weight"]


def test_a_model_without_such_layers_is_refused(setting):
    model, x, y = setting
    with pytest.raises(ValueError, match="no layer to watch: the model has BatchNorm1d, Linear"):
        take_snapshot(model, x, y, nn.ReLU)


def test_a_layer_that_is_not_used_is_named(setting):
    model, x, y = setting
    model.spare = nn.Tanh()
    model.forward = lambda inputs: model[5](model[4](model[3](model[:3](inputs))))
    with pytest.raises(ValueError, match="did not use its layers spare"):
        take_snapshot(model, x, y, nn.Tanh)


def test_saturated_and_dead_units_are_found():
    h = torch.tensor([[0.98, 0.5, -0.99], [-0.98, 0.99, 0.1]])
    assert find_saturated(h).tolist() == [[True, False, True], [True, True, False]]
    assert find_dead(h).tolist() == [True, False, False]
    assert find_dead(h[None]).tolist() == [True, False, False]
    assert find_saturated(h, 0.4).sum() == 5


def test_a_thousandth_is_minus_three():
    data = torch.randn(50)
    assert log_ratio(data * -1e-3, data) == pytest.approx(-3, abs=1e-5)


@pytest.mark.parametrize("optimiser", [torch.optim.SGD, torch.optim.Adam])
def test_the_log_notes_the_step_that_was_taken(setting, optimiser):
    model, x, y = setting
    log = UpdateLog(model)
    steps = optimiser(model.parameters(), lr=0.01)
    expected = []
    for _ in range(2):
        before = model[3].weight.detach().clone()
        steps.zero_grad()
        F.cross_entropy(model(x), y).backward()
        steps.step()
        log()
        expected.append(log_ratio(model[3].weight.detach() - before, before))
    assert log.ratios["3.weight"] == expected
    assert list(log.ratios) == ["0.weight", "3.weight", "5.weight"]


def test_batch_noise_is_the_standard_error_of_the_mean():
    torch.manual_seed(0)
    model = MLP(MLPConfig(vocab_size=5, normalised=True), output_gain=5.0)
    windows = torch.randint(5, (300, 4))
    model.eval()
    with torch.no_grad():
        each = F.cross_entropy(model(windows[:, :3]), windows[:, 3], reduction="none")
    model.train()
    generator = torch.Generator().manual_seed(1)
    noise = measure_batch_noise(model, windows, [1, 9, 100], generator, draws=4000)
    for size, measured in zip((1, 9, 100), noise, strict=True):
        assert measured == pytest.approx(each.std().item() / math.sqrt(size), rel=0.05)
    assert model.training
    assert not model.hidden[1].running_mean.any()
