"""Linear forecasts: sums worked out one by one, a moving average by brute force, what they read."""

import math

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.models.baselines import fit_linear, last_value
from coursekit.models.decomposed import Decomposed, OneLayer, moving_average
from coursekit.models.relative import RelativeToLast
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw

B, L, T, P, K = 3, 11, 9, 4, 2
EXACT = {"rtol": 0, "atol": 1e-12}
MODELS = {
    "OneLayer": lambda: OneLayer(T, P),
    "Decomposed": lambda: Decomposed(T, P, width=5),
    "NLinear": lambda: RelativeToLast(OneLayer(T, P)),
}
every_model = pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def draw():
    past, known = (torch.randn(B, n, K, dtype=torch.float64) for n in (L, P))
    known[..., 0] = 0
    return past, known, torch.randint(7, (B, L + P, 3))


def shaken(model):
    for p in model.parameters():
        p.data = torch.randn(p.shape, dtype=torch.float64)
    return model.eval()


def weighted_sums(layer, x):
    """W x + b, a product at a time."""
    weight, bias = layer.weight.tolist(), layer.bias.tolist()
    return torch.tensor(
        [
            [bias[p] + sum(weight[p][t] * row[t] for t in range(T)) for p in range(P)]
            for row in x.tolist()
        ],
        dtype=torch.float64,
    )


def brute_average(x, width):
    """The mean of the values around each step; steps beyond an end count as that end."""
    last, half = len(x) - 1, width // 2
    around = [[min(max(t + i, 0), last) for i in range(-half, half + 1)] for t in range(len(x))]
    return [sum(x[t] for t in steps) / width for steps in around]


def test_one_layer_is_a_weighted_sum_for_each_step_ahead():
    model, (past, known, marks) = shaken(OneLayer(T, P)), draw()
    expected = weighted_sums(model.layer, past[:, L - T :, 0])
    assert_close(model(past, known, marks), expected, **EXACT)


def test_relative_to_the_last_value_it_is_nlinear():
    layer, (past, known, marks) = shaken(OneLayer(T, P)), draw()
    last = past[:, -1:, 0]
    expected = weighted_sums(layer.layer, past[:, L - T :, 0] - last) + last
    assert_close(RelativeToLast(layer)(past, known, marks), expected, **EXACT)


@pytest.mark.parametrize("relative", [False, True])
def test_with_the_weights_of_least_squares_it_is_that_forecast(relative):
    past, known, marks = draw()
    fitted = fit_linear(torch.randn(40, T), torch.randn(40, P), 0.1, relative=relative)
    layer = OneLayer(T, P).double()
    layer.layer.weight.data, layer.layer.bias.data = fitted.weight.data.T, fitted.bias.data
    model = RelativeToLast(layer) if relative else layer
    assert_close(model(past, known, marks), fitted(past, known, marks), **EXACT)


@pytest.mark.parametrize("width", [1, 3, 7, 25])
def test_the_moving_average_is_the_mean_around_each_step(width):
    x = torch.randn(B, T, dtype=torch.float64)
    found = moving_average(x, width)
    assert_close(found.tolist(), [brute_average(row, width) for row in x.tolist()], **EXACT)
    half = width // 2
    padded = F.pad(x[:, None], (half, half), mode="replicate")
    assert_close(found, F.avg_pool1d(padded, width, stride=1)[:, 0], **EXACT)


def test_a_constant_is_its_own_average_and_so_is_a_line_between_its_ends():
    line = torch.arange(T, dtype=torch.float64)
    assert_close(moving_average(torch.full((T,), 3.0).double(), 5), torch.full((T,), 3.0).double())
    assert_close(moving_average(line, 5)[2:-2], line[2:-2], **EXACT)
    assert moving_average(line, 5)[0] == pytest.approx(0.6)  # (0 + 0 + 0 + 1 + 2) / 5


def test_trend_and_rest_are_forecast_by_a_layer_each():
    model, (past, known, marks) = shaken(Decomposed(T, P, width=5)), draw()
    x = past[:, L - T :, 0]
    trend = torch.tensor([brute_average(row, 5) for row in x.tolist()], dtype=torch.float64)
    expected = weighted_sums(model.trend, trend) + weighted_sums(model.season, x - trend)
    assert_close(model(past, known, marks), expected, **EXACT)


def test_with_equal_layers_nothing_is_decomposed():
    model, inputs = shaken(Decomposed(T, P)), draw()
    model.season.weight.data = model.trend.weight.data
    one = OneLayer(T, P)
    one.layer.weight.data = model.trend.weight.data
    one.layer.bias.data = model.trend.bias.data + model.season.bias.data
    assert_close(model(*inputs), one(*inputs), **EXACT)


def test_the_average_is_over_25_steps_unless_told_otherwise():
    assert Decomposed(T, P).width == 25


@every_model
def test_the_first_forecast_is_the_mean_of_what_is_read_whatever_the_seed(build):
    past, known, marks = draw()
    expected = past[:, L - T :, 0].mean(1, keepdim=True).expand(-1, P)
    for seed in (0, 1):
        torch.manual_seed(seed)
        found = build().double()(past, known, marks)
        assert_close(found, expected, rtol=0, atol=1e-7)  # 1/9 as a float32


@every_model
def test_the_last_values_of_the_target_are_read_and_nothing_else(build):
    model, (past, known, marks) = shaken(build()), draw()
    other = past.clone()
    other[..., 1] += 1
    other[:, : L - T] += 1
    assert torch.equal(model(other, known + 100, marks + 1), model(past, known, marks))
    jacobian = torch.autograd.functional.jacobian(lambda past: model(past, known, marks), past)
    assert (jacobian[:, :, :, L - T :, 0].diagonal(dim1=0, dim2=2).abs() > 1e-9).all()


@every_model
def test_windows_of_another_size_are_refused(build):
    model, (past, known, marks) = build().double(), draw()
    with pytest.raises(ValueError, match="8 steps of past and 4 to come instead of 9 or more and"):
        model(past[:, 3:], known, marks[:, 3:])
    with pytest.raises(ValueError, match="more and 4: cut the windows to these sizes"):
        model(past, known[:, 1:], marks[:, 1:])


@pytest.mark.parametrize("width", [4, 0, -1])
def test_a_width_without_a_middle_is_refused(width):
    with pytest.raises(ValueError, match=f"width={width} must be odd and at least 1"):
        Decomposed(T, P, width)


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0)])
@pytest.mark.parametrize("kind", [OneLayer, Decomposed])
def test_sizes_below_1_are_refused(kind, sizes):
    with pytest.raises(ValueError, match="must be at least 1"):
        kind(*sizes)


@every_model
def test_it_learns_a_wave_that_the_last_value_misses(build, monkeypatch):
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    windows = (torch.arange(300) * math.tau / 8).sin().unfold(0, T + P, 1)

    def take(rows):
        past, future = windows[rows].split([T, P], 1)
        marks = torch.zeros(len(rows), T + P, 3, dtype=torch.long)
        return (past[..., None], torch.zeros(len(rows), P, 1), marks), future

    model = build()
    batches = (take(torch.randint(200, (16,))) for _ in range(150))
    fit(model, adamw(model, 3e-2), batches, steps=150, loss=F.mse_loss)
    inputs, target = take(torch.arange(200, 288))
    with torch.no_grad():
        error = F.mse_loss(model(*inputs), target)
    assert error < 0.05 * F.mse_loss(last_value(*inputs), target)
