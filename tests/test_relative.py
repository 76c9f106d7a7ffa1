"""Forecasts of changes: the last value goes out before the model and comes back after it."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from coursekit.models.baselines import fit_linear, last_value
from coursekit.models.relative import RelativeToLast

B, L, P, K = 2, 5, 3, 4
EXACT = {"rtol": 0, "atol": 1e-12}


def draw(seed=0):
    generator = torch.Generator().manual_seed(seed)
    past, known = (torch.randn(B, n, K, dtype=torch.float64, generator=generator) for n in (L, P))
    known[..., [0, 1, 3]] = 0  # column 2 is known in advance
    return past, known, torch.zeros(B, L + P, 3, dtype=torch.long)


class Reads:
    """A forecaster that reads column 2 as known in advance."""

    known = (2,)

    def __init__(self, forecast):
        self.forecast = forecast

    def __call__(self, *inputs):
        return self.forecast(*inputs)


def nothing(past, known, marks):
    return torch.zeros_like(known[..., 0])


def mean_of_all(past, known, marks):
    return (past.mean(1).sum(-1) + known.mean(1).sum(-1))[:, None].expand(-1, P)


def test_a_model_that_returns_zero_forecasts_the_last_value():
    inputs = draw()
    assert torch.equal(RelativeToLast(nothing)(*inputs), last_value(*inputs))


def test_what_the_model_reads_is_counted_from_the_last_step():
    seen, (past, known, marks) = [], draw()
    RelativeToLast(lambda *inputs: seen.extend(inputs) or nothing(*inputs))(past, known, marks)
    assert_close(seen[0], past - past[:, -1:], **EXACT)
    assert torch.equal(seen[0][:, -1], torch.zeros(B, K, dtype=torch.float64))
    assert torch.equal(seen[1], known)
    assert seen[2] is marks


def test_a_column_known_in_advance_is_counted_from_its_last_value_too():
    seen, (past, known, marks) = [], draw()
    kept = known.clone()
    model = RelativeToLast(Reads(lambda *inputs: seen.extend(inputs) or nothing(*inputs)))
    model(past, known, marks)
    assert_close(seen[1][..., 2], known[..., 2] - past[:, -1:, 2], **EXACT)
    assert torch.equal(seen[1][..., [0, 1, 3]], torch.zeros(B, P, 3, dtype=torch.float64))
    assert torch.equal(known, kept), "the caller's tensor was changed"


def test_a_model_that_names_no_known_columns_may_be_given_any():
    (past, known, marks), chance = draw(), torch.Generator().manual_seed(1)
    windows = (torch.randn(30, n, generator=chance) for n in (L, P))
    line = fit_linear(*windows, penalty=0.1, relative=False)
    model = RelativeToLast(line)
    assert model.known is RelativeToLast(nothing).known is None
    expected = line(past - past[:, -1:], known, marks) + past[:, -1:, 0]
    assert_close(model(past, known, marks), expected, **EXACT)


def test_a_series_that_is_higher_is_forecast_as_much_higher():
    model, (past, known, marks) = RelativeToLast(Reads(mean_of_all)), draw()
    step = torch.tensor([5.0, -2.0, 3.0, 7.0], dtype=torch.float64)
    raised = known.clone()
    raised[..., 2] += step[2]
    expected = model(past, known, marks) + step[0]
    assert_close(model(past + step, raised, marks), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("column", range(K))
def test_only_the_targets_own_last_value_is_added_back(column):
    past, known, marks = draw()
    past[:, :, column] += 10
    expected = past[:, -1:, 0].expand(-1, P)
    assert torch.equal(RelativeToLast(nothing)(past, known, marks), expected)


def test_the_wrapped_models_parameters_are_its_own():
    class Bias(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = nn.Parameter(torch.ones(()))

        def forward(self, past, known, marks):
            return nothing(past, known, marks) + self.bias

    past, known, marks = draw()
    model = RelativeToLast(Bias())
    model(past, known, marks).sum().backward()
    assert [p.grad.item() for p in model.parameters()] == [B * P]
