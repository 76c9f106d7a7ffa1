"""Distilling: the sums and the largest of the equation, index by index, and PyTorch's modules."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.layers.convolution import Distil

B, T, C = 2, 9, 3
EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def test_it_equals_pytorch_modules_in_a_row():
    distil, x = Distil(C).double(), normal(B, T, C)
    modules = nn.Sequential(distil.conv, nn.ELU(), nn.MaxPool1d(3, stride=2, padding=1))
    assert_close(distil(x), modules(x.mT).mT, **EXACT)


@pytest.mark.parametrize("steps", [1, 2, 8, 9])
def test_each_number_is_the_largest_of_three_bent_sums(steps):
    distil, x = Distil(C).double(), normal(B, steps, C)
    weight, bias = distil.conv.weight, distil.conv.bias

    def bent(b, t, c):
        taps = [(x[b, t + k - 1], weight[c, :, k]) for k in range(3) if 0 <= t + k - 1 < steps]
        y = bias[c] + sum(read @ tap for read, tap in taps)
        return y if y > 0 else y.exp() - 1

    expected = torch.full((B, math.ceil(steps / 2), C), -torch.inf, dtype=torch.float64)
    for b, s, c in torch.cartesian_prod(*(torch.arange(n) for n in expected.shape)).tolist():
        window = [t for t in (2 * s - 1, 2 * s, 2 * s + 1) if 0 <= t < steps]
        expected[b, s, c] = max(bent(b, t, c) for t in window)
    assert_close(distil(x), expected, **EXACT)


def test_every_length_is_halved_and_rounded_up():
    distil = Distil(2)
    for steps in range(1, 300):
        assert distil(torch.zeros(1, steps, 2)).shape == (1, math.ceil(steps / 2), 2)


def test_what_is_below_zero_is_not_raised_to_zero_at_the_ends():
    distil = Distil(1).double()
    distil.conv.weight.data.zero_()
    distil.conv.bias.data.fill_(-3.0)
    low = torch.full((1, 3, 1), math.exp(-3) - 1, dtype=torch.float64)
    assert_close(distil(normal(1, 5, 1)), low, **EXACT)


def test_a_largest_number_gets_a_gradient_for_each_window_that_it_wins():
    distil = Distil(1).double()
    distil.conv.weight.data.copy_(torch.tensor([[[0.0, 1.0, 0.0]]]))
    distil.conv.bias.data.zero_()
    x = torch.tensor([1.0, 4.0, 2.0, 3.0, 9.0, 5.0], dtype=torch.float64).view(1, 6, 1)
    x.requires_grad_()
    distil(x).sum().backward()  # windows: (1 4), (4 2 3), (3 9 5)
    assert x.grad.flatten().tolist() == [0, 2, 0, 0, 1, 0]


def test_neither_an_example_nor_a_mode_changes_another_example():
    distil, x = Distil(C).double(), normal(B, T, C)
    y = distil(x)
    other = torch.cat([x[:1], normal(B - 1, T, C)])
    assert torch.equal(distil(other)[0], y[0])
    assert torch.equal(distil.eval()(x), y)


def test_a_step_is_made_of_two_steps_on_either_side():
    distil, x = Distil(C).double(), normal(64, T, C)
    jacobian = torch.autograd.functional.jacobian(lambda x: distil(x).sum(0), x)
    reads = jacobian.abs().amax((1, 2, 4)) > 0  # (S, T)
    near = (2 * torch.arange(5)[:, None] - torch.arange(T)).abs() <= 2
    assert torch.equal(reads, near)


def test_elu_tends_towards_minus_one():
    assert F.elu(torch.tensor(-100.0)).item() == pytest.approx(-1.0, abs=1e-6)
