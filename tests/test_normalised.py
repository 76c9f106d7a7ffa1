"""Windows in units of their own: what the model sees, what comes back, what may not be read."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from coursekit.evaluate.forecasts import score_forecasts
from coursekit.models.baselines import last_value
from coursekit.models.decomposed import OneLayer
from coursekit.models.normalised import InstanceNorm
from coursekit.windows.forecast import ForecastWindows

B, L, P, K = 2, 5, 3, 4
EXACT = {"rtol": 0, "atol": 1e-12}
SCALES = torch.tensor([0.5, 2.0, 3.0, 40.0], dtype=torch.float64)


def draw(seed=0):
    generator = torch.Generator().manual_seed(seed)
    past, known = (torch.randn(B, n, K, dtype=torch.float64, generator=generator) for n in (L, P))
    known[..., [0, 1, 3]] = 0  # column 2 is known in advance
    return 7 + SCALES * past, known, torch.zeros(B, L + P, 3, dtype=torch.long)


def nothing(past, known, marks):
    return torch.zeros_like(known[..., 0])


def bent(past, known, marks):
    """A forecast that no straight line through the past gives."""
    bumps = past[..., 0].cos().sum(1, keepdim=True) + past[:, :P, 0] ** 2
    return bumps + known[..., 2] + past[:, -1:, 1]


class Spy(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = None

    def forward(self, past, known, marks):
        self.seen = past, known, marks
        return past[:, -1:, 0].expand(-1, P)


def test_the_model_sees_a_target_of_mean_0_and_deviation_1():
    spy, inputs = Spy(), draw()
    InstanceNorm(spy, eps=0.0)(*inputs)
    x = spy.seen[0][..., 0]
    assert_close(x.mean(1), torch.zeros(B).double(), **EXACT)
    assert_close(x.square().mean(1), torch.ones(B).double(), **EXACT)


def test_everything_else_is_passed_on_as_it_is():
    spy, (past, known, marks) = Spy(), draw()
    before = past.clone()
    InstanceNorm(spy)(past, known, marks)
    assert torch.equal(spy.seen[0][..., 1:], past[..., 1:])
    assert torch.equal(spy.seen[1], known)
    assert spy.seen[2] is marks
    assert torch.equal(past, before), "the caller's tensor was changed"


def test_a_window_worked_out_by_hand():
    """1, 2, 6 has mean 3 and variance 14/3; with ε = 13/3 the deviation is 3."""
    past = torch.tensor([[[1.0], [2.0], [6.0]]], dtype=torch.float64)
    known, spy = torch.zeros(1, P, 1, dtype=torch.float64), Spy()
    norm = InstanceNorm(spy, eps=13 / 3)
    found = norm(past, known, torch.zeros(1, 3 + P, 3, dtype=torch.long))
    expected = torch.tensor([[-2 / 3, -1 / 3, 1.0]], dtype=torch.float64)
    assert_close(spy.seen[0][..., 0], expected, **EXACT)
    assert_close(found, torch.full((1, P), 6.0, dtype=torch.float64), **EXACT)


def test_a_forecast_of_0_is_the_mean_of_the_past():
    past, known, marks = draw()
    expected = past[..., 0].mean(1, keepdim=True).expand(-1, P)
    assert_close(InstanceNorm(nothing)(past, known, marks), expected, **EXACT)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(("factor", "level"), [(3.0, 0.0), (1.0, -50.0), (0.01, 8.0), (700.0, 2.0)])
def test_a_series_that_is_stretched_and_raised_is_forecast_so(factor, level, affine):
    model, (past, known, marks) = InstanceNorm(bent, affine, eps=0.0), draw()
    other = past.clone()
    other[..., 0] = factor * past[..., 0] + level
    expected = factor * model(past, known, marks) + level
    assert_close(model(other, known, marks), expected, rtol=1e-10, atol=1e-10)


def test_a_window_without_much_variance_is_stretched_less():
    """√(1e-6 + 1e-5) for ε as published: the deviation that the model sees is 0.302, not 1."""
    past, known, marks = draw()
    target = past[..., :1]
    still = 1e-3 * (target - target.mean(1, True)) / target.std(1, correction=0, keepdim=True)
    spy = Spy()
    InstanceNorm(spy)(torch.cat([still, past[..., 1:]], -1), known, marks)
    seen = spy.seen[0][..., 0].square().mean(1).sqrt()
    assert seen.tolist() == pytest.approx([(1 / 11) ** 0.5] * B, rel=1e-9)


@pytest.mark.parametrize("affine", [False, True])
def test_a_constant_window_is_forecast_by_numbers(affine):
    past, known, marks = draw()
    past[..., 0] = torch.tensor([[3.0], [-900.0]])
    layer = OneLayer(L, P).double()
    model = InstanceNorm(layer, affine).double()
    found = model(past, known, marks)
    assert_close(found, past[:, :P, 0], **EXACT)
    found.sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_the_trained_scale_and_shift_are_seen_and_taken_back():
    spy, inputs = Spy(), draw()
    plain, model = InstanceNorm(spy), InstanceNorm(spy, affine=True).double()
    plain(*inputs)
    x = spy.seen[0][..., 0]
    model(*inputs)
    assert_close(spy.seen[0][..., 0], x, **EXACT)  # 1 and 0 at the start
    model.gain.data.fill_(-1.7)
    model.shift.data.fill_(0.4)
    found = model(*inputs)
    assert_close(spy.seen[0][..., 0], 0.4 - 1.7 * x, **EXACT)
    assert_close(found, last_value(*inputs), **EXACT)


def test_scale_and_shift_are_trained_with_the_model():
    model = InstanceNorm(OneLayer(L, P), affine=True).double()
    assert len(list(model.parameters())) == 4
    for p in model.parameters():
        p.data += 0.1 * torch.rand_like(p)
    model(*draw()).square().sum().backward()
    assert all(p.grad.abs().max() > 0 for p in model.parameters())
    assert len(list(InstanceNorm(OneLayer(L, P)).parameters())) == 2


def test_no_gradient_goes_through_the_mean_and_the_deviation():
    past, known, marks = draw()
    past.requires_grad_()
    assert not InstanceNorm(nothing)(past, known, marks).requires_grad
    (gradient,) = torch.autograd.grad(InstanceNorm(last_value)(past, known, marks).sum(), past)
    expected = torch.zeros_like(past)
    expected[:, -1, 0] = P
    assert_close(gradient, expected, **EXACT)


def test_no_window_and_no_target_to_come_is_read_but_its_own_past():
    model, (past, known, marks) = InstanceNorm(OneLayer(L, P).double()), draw()
    leak = known.clone()
    leak[..., 0] = 100.0
    found = model(past, known, marks)
    assert torch.equal(model(past, leak, marks), found)
    assert_close(model(past[:1], known[:1], marks[:1]), found[:1], **EXACT)


@pytest.mark.parametrize("column", range(1, K))
def test_mean_and_deviation_are_those_of_the_target(column):
    past, known, marks = draw()
    other = past.clone()
    other[..., column] = 5 * past[..., column] - 3
    model = InstanceNorm(last_value)
    assert torch.equal(model(other, known, marks), model(past, known, marks))


def test_what_the_model_knows_in_advance_is_compared_with_the_windows():
    class Reads(Spy):
        known = (1,)

    values, marks = torch.randn(60, 3), torch.zeros(60, 3, dtype=torch.long)
    sizes = {"past": L, "horizon": P, "start": L, "stop": 60, "values": values, "calendar": marks}
    shown, hidden = (ForecastWindows(**sizes, known=columns) for columns in ((1,), ()))
    score_forecasts(InstanceNorm(Reads()), shown)
    with pytest.raises(ValueError, match="as known in advance, the windows show"):
        score_forecasts(InstanceNorm(Reads()), hidden)
    for windows in (shown, hidden):
        score_forecasts(InstanceNorm(OneLayer(L, P)), windows)


@pytest.mark.parametrize("eps", [-1e-9, float("nan")])
def test_a_negative_eps_is_refused(eps):
    with pytest.raises(ValueError, match="is added to a variance: give 0 or more"):
        InstanceNorm(last_value, eps=eps)
