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
    gradients = torch.autograd.grad(loss, [first, second, model[3].weight])
    assert snapshot.loss == pytest.approx(loss.item(), rel=1e-6)
    assert list(snapshot.outputs) == ["2", "4"]
    assert_close(snapshot.outputs["4"], second.detach())
    assert_close(snapshot.gradients["2"], gradients[0])
    assert_close(snapshot.gradients["4"], gradients[1])
    assert list(snapshot.weights) == ["0.weight", "3.weight", "5.weight"]
    assert_close(snapshot.weight_gradients["3.weight"], gradients[2])


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


class Fails(nn.Module):
    def forward(self, x):
        raise RuntimeError("no more")


@pytest.mark.parametrize("training", [True, False])
def test_a_model_that_fails_on_the_way_is_left_as_it_was_too(setting, training):
    model, x, y = setting
    model[5] = Fails()
    model.train(training)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(RuntimeError, match="no more"):
        take_snapshot(model, x, y, nn.Tanh)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert not any(part._forward_hooks for part in model.modules())
    assert all(part.training == training for part in model.modules())


@pytest.mark.parametrize("training", [True, False])
def test_a_snapshot_is_taken_in_the_mode_of_the_model(setting, training):
    model, x, y = setting
    model.train(training)
    model[1].running_mean += 2  # so that the modes differ
    snapshot = take_snapshot(model, x, y, nn.BatchNorm1d)
    hidden = model[0](x)
    expected = F.batch_norm(hidden, None, None, training=True)
    if not training:
        expected = (hidden - 2) / (1 + model[1].eps) ** 0.5
    assert_close(snapshot.outputs["1"], expected.detach())
    assert all(part.training == training for part in model.modules())


def test_a_snapshot_stays_as_it_was_when_the_model_changes(setting):
    model, x, y = setting
    snapshot = take_snapshot(model, x, y, (nn.Linear, nn.Tanh))
    parts = ("outputs", "gradients", "weights", "weight_gradients")
    before = {part: {n: t.clone() for n, t in getattr(snapshot, part).items()} for part in parts}
    with torch.no_grad():
        for p in model.parameters():
            p.add_(1)
    x.add_(1)
    take_snapshot(model, x, y, (nn.Linear, nn.Tanh))
    for part in parts:
        for name, tensor in getattr(snapshot, part).items():
            assert torch.equal(tensor, before[part][name]), (part, name)
            assert not tensor.requires_grad


def test_an_output_is_kept_from_a_later_layer_that_works_in_place():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(inplace=True), nn.Linear(5, 2))
    x, y = torch.randn(11, 3), torch.randint(2, (11,))
    snapshot = take_snapshot(model, x, y, nn.Linear)
    first = model[0](x)
    (gradient,) = torch.autograd.grad(F.cross_entropy(model[2](first.relu()), y), first)
    assert_close(snapshot.outputs["0"], first.detach())
    assert_close(snapshot.gradients["0"], gradient)


def test_a_frozen_layer_is_watched_and_its_input_left_alone(setting):
    model, x, y = setting
    whole = take_snapshot(model, x, y, nn.Tanh)
    for part in model[:2]:
        part.requires_grad_(False)
    snapshot = take_snapshot(model, x, y, nn.Tanh)
    assert torch.equal(snapshot.outputs["2"], whole.outputs["2"])
    assert torch.equal(snapshot.gradients["2"], whole.gradients["2"])
    take_snapshot(nn.Sequential(nn.Identity(), model[:2]), x, y, nn.Identity)
    assert not x.requires_grad


def test_a_layer_used_twice_or_with_more_than_a_tensor_is_refused(setting):
    model, x, y = setting
    model[4] = model[2]
    with pytest.raises(ValueError, match=r"uses its layer 2 twice.* give each place a layer"):
        take_snapshot(model, x, y, nn.Tanh)
    recurrent = nn.Sequential(nn.GRU(3, 4))
    with pytest.raises(ValueError, match="layer 0 gives a tuple: watch layers that give a tensor"):
        take_snapshot(recurrent, x, y, nn.GRU)
    assert not any(part._forward_hooks for part in recurrent.modules())


def test_a_snapshot_needs_no_gradients_switched_on(setting):
    model, x, y = setting
    with torch.no_grad():
        snapshot = take_snapshot(model, x, y, nn.Tanh)
    assert torch.equal(snapshot.gradients["2"], take_snapshot(model, x, y, nn.Tanh).gradients["2"])


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
    at = torch.tensor([[0.97, -0.97, 0.97001, -0.97001]])
    assert find_saturated(at).tolist() == [[False, False, True, True]]
    late = torch.full((9, 1), -0.99)
    late[8] = 0.5  # one example of many is enough to let a gradient through
    assert not find_dead(late).any()
    late[8] = 0.99
    assert find_dead(late).all()


def test_a_thousandth_is_minus_three():
    data = torch.randn(50)
    assert log_ratio(data * -1e-3, data) == pytest.approx(-3, abs=1e-5)
    assert log_ratio(data * 1e-3, -data) == pytest.approx(-3, abs=1e-5)


def test_a_ratio_is_one_of_spreads_whatever_the_means():
    change, data = torch.tensor([1.0, 3.0]), torch.tensor([[10.0, 40.0], [70.0, 100.0]])
    expected = math.log10(2**0.5 / 1500**0.5)
    assert log_ratio(change, data) == pytest.approx(expected, abs=1e-6)
    assert log_ratio(change + 7, data - 200) == pytest.approx(expected, abs=1e-5)
    assert log_ratio(torch.full((3,), 0.5), data) == -math.inf
    assert math.isnan(log_ratio(torch.tensor([1.0, torch.nan]), data))


def test_the_log_takes_no_part_in_training_and_notes_each_matrix_alone(setting):
    model, _, _ = setting
    log = UpdateLog(model)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    with torch.no_grad():
        model[3].weight[0, 0] -= 0.125
    log()
    log()
    step = before["3.weight"] * 0
    step[0, 0] = -0.125
    expected = math.log10(step.std() / before["3.weight"].std())
    assert log.ratios["3.weight"] == [pytest.approx(expected, abs=1e-5), -math.inf]
    assert log.ratios["0.weight"] == [-math.inf] * 2
    assert all(p.grad is None for p in model.parameters())


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


class Faces(nn.Module):
    """Gives the last token of (i, 0) a loss of i nats, nearly."""

    def forward(self, context):
        loss = context[:, 0].double()
        return torch.stack([-loss, (-(-loss).exp()).log1p().clamp(min=-99)], 1)


def test_a_batch_may_hold_each_window_and_more_than_there_are():
    windows = torch.tensor([[1, 0], [1, 0], [1, 0], [5, 0]])  # only the last one differs

    def draw(seed, sizes=(1, 8)):
        generator = torch.Generator().manual_seed(seed)
        return measure_batch_noise(Faces(), windows, sizes, generator, draws=4000)

    spread = 4 * (1 / 4 * 3 / 4) ** 0.5
    assert draw(0) == [pytest.approx(spread, rel=0.05), pytest.approx(spread / 8**0.5, rel=0.05)]
    assert draw(0) == draw(0)
    assert draw(0) != draw(1)


@pytest.mark.parametrize(("sizes", "n", "draws"), [([2, 0], 4, 9), ([2], 0, 9), ([2], 4, 1)])
def test_noise_of_nothing_is_refused(sizes, n, draws):
    windows, generator = torch.ones(n, 2).long(), torch.Generator()
    with pytest.raises(ValueError, match=f"{draws} draws of .* of {n} windows: take two draws"):
        measure_batch_noise(Faces(), windows, sizes, generator, draws=draws)
