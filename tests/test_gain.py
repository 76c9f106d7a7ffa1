"""What lesson 02 says of gains: exactly, where the lesson measures."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from coursekit.inside.diagnose import UpdateLog, log_ratio, take_snapshot
from coursekit.layers.basic import BatchNorm1d
from coursekit.models.mlp import MLP, MLPConfig

POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(100)


def variance_after(v, gain):
    """Return the variance of tanh(gain · x) for normal x of variance v, by quadrature."""
    return float(WEIGHTS @ np.tanh(gain * v**0.5 * POINTS) ** 2 / WEIGHTS.sum())


def after_layers(gain, layers=50):
    v = 1.0
    for _ in range(layers):
        v = variance_after(v, gain)
    return v


def test_tanh_keeps_two_fifths_of_the_variance_and_its_gain_is_not_five_thirds():
    assert variance_after(1, 1) == pytest.approx(0.3943, abs=1e-4)
    assert variance_after(1, 1) ** -0.5 == pytest.approx(1.5925, abs=1e-4)


@pytest.mark.parametrize(("gain", "left"), [(1, 0.010), (1.5925, 0.3943), (5 / 3, 0.424)])
def test_after_fifty_layers_of_tanh(gain, left):
    assert after_layers(gain) == pytest.approx(left, abs=5e-4)


def test_no_gain_gives_outputs_of_tanh_the_variance_one():
    assert all(variance_after(1, gain) < 0.97 for gain in (1, 5 / 3, 10))


def test_a_sigmoid_passes_a_quarter_at_most_and_a_dead_relu_nothing():
    z = torch.linspace(-6, 6, 2401, dtype=torch.float64, requires_grad=True)
    (derivative,) = torch.autograd.grad(z.sigmoid().sum(), z)
    assert derivative.max().item() == pytest.approx(0.25, abs=1e-12)
    weights = torch.full((7,), 0.1, requires_grad=True)
    (dead,) = torch.autograd.grad(torch.relu(torch.randn(100, 7) @ weights - 50).sum(), weights)
    assert not dead.any()


def test_pytorchs_linear_layer_starts_with_a_gain_of_one_over_root_three():
    weights = torch.nn.Linear(400, 400).weight
    assert weights.std().item() * 400**0.5 == pytest.approx(3**-0.5, rel=0.01)


def test_a_network_grows_as_a_plane_in_vocabulary_and_context():
    for vocab_size in (27, 100, 1000):
        for context in (1, 2, 4, 8):
            sizes = {"vocab_size": vocab_size, "context": context}
            model = MLP(MLPConfig(**sizes, d_embedding=5, d_hidden=7))
            found = sum(p.numel() for p in model.parameters())
            assert found == 7 + 13 * vocab_size + 35 * context


def test_two_layers_of_zeros_never_get_a_gradient():
    model = MLP(MLPConfig(vocab_size=5, d_hidden=6), gain=0.0, output_gain=0.0)
    tokens, targets = torch.randint(5, (9, 3)), torch.randint(5, (9,))
    for _ in range(3):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(tokens), targets).backward()
        gradients = {name: p.grad.abs().max().item() for name, p in model.named_parameters()}
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert gradients.pop("output.bias") > 0
    assert set(gradients.values()) == {0.0}


def test_with_a_last_layer_of_zeros_the_rest_learns_one_step_later():
    model = MLP(MLPConfig(vocab_size=5, d_hidden=6), output_gain=0.0)
    tokens, targets = torch.randint(5, (9, 3)), torch.randint(5, (9,))
    for step in (1, 2):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(tokens), targets).backward()
        assert model.output.weight.grad.abs().max() > 0
        assert bool(model.hidden[0].weight.grad.any()) == (step == 2)
        torch.optim.SGD(model.parameters(), lr=0.1).step()


def test_a_bias_before_batch_norm_has_no_effect_and_no_gradient():
    x, weights = torch.randn(8, 4).double(), torch.randn(4, 6).double()
    bias = torch.full((6,), 5.0, dtype=torch.float64, requires_grad=True)
    norm = BatchNorm1d(6).double()
    assert_close(norm(x @ weights + bias), norm(x @ weights), rtol=0, atol=1e-6)
    loss = (norm(x @ weights + bias) - torch.randn(8, 6)).square().sum()
    (gradient,) = torch.autograd.grad(loss, bias)
    assert gradient.abs().max() < 1e-8


def test_gain_and_shift_of_batch_norm_can_give_the_input_back():
    x, norm = 3 + 5 * torch.randn(8, 4).double(), BatchNorm1d(4).double()
    norm.weight.data, norm.bias.data = (x.var(0, correction=0) + norm.eps).sqrt(), x.mean(0)
    assert_close(norm(x), x, rtol=0, atol=1e-12)


def test_at_a_learning_rate_of_a_tenth_update_and_gradient_are_a_decade_apart():
    model = MLP(MLPConfig(vocab_size=5, d_hidden=6))
    tokens, targets = torch.randint(5, (9, 3)), torch.randint(5, (9,))
    snapshot = take_snapshot(model, tokens, targets, watch=torch.nn.Tanh)
    log = UpdateLog(model)
    torch.nn.functional.cross_entropy(model(tokens), targets).backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    log()
    for name, weights in snapshot.weights.items():
        gradient = log_ratio(snapshot.weight_gradients[name], weights)
        assert gradient - log.ratios[name][0] == pytest.approx(1, abs=1e-3)
