"""The decoder-only forecaster: one step late, blind to the future, the same with a cache."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from coursekit.evaluate.likelihood import gaussian_nll
from coursekit.layers.attention import MultiHeadAttention, attend, attend_past
from coursekit.layers.block import relu_squared
from coursekit.layers.cache import Cache
from coursekit.layers.convolution import ConvolvedAttention
from coursekit.layers.position import CalendarEmbedding, LearnedPositions, rotary
from coursekit.models.series_transformer import (
    IteratedForecast,
    OneStep,
    SeriesTransformer,
    SeriesTransformerConfig,
    augment,
)
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw

B, L, P, C = 2, 7, 4, 3
SIZES = {"context": 12, "n_layer": 2, "n_head": 2, "d_model": 12}
VARIANTS = {
    "plain": {},
    "convolved": {"attention": partial(ConvolvedAttention, kernel=3)},
    "calendar": {"calendar": partial(CalendarEmbedding, 4)},
    "relative": {"relative": True},
    "rotary, learned, RMS": {
        "attention": partial(MultiHeadAttention, bias=True),
        "rule": rotary(attend_past),
        "positions": LearnedPositions,
        "norm": nn.RMSNorm,
        "activation": relu_squared,
    },
    "no places": {"positions": None},
}


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def draw_marks(batch, steps, seed=0):
    return torch.randint(7, (batch, steps, 3), generator=torch.Generator().manual_seed(seed))


def build(n_column=C, known=(), n_layer=2, **options):
    torch.manual_seed(0)
    config = SeriesTransformerConfig(n_column=n_column, known=known, **SIZES | {"n_layer": n_layer})
    return SeriesTransformer(config, **options).double().eval()


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def model(request):
    return build(known=(2,), **request.param)


def test_the_augmented_history_is_a_step_late_except_for_what_is_known():
    values = torch.arange(1.0, 13.0).view(1, 4, 3)
    expected = [[[0, 0, 3], [1, 2, 6], [4, 5, 9], [7, 8, 12]]]
    assert augment(values, (2,)).tolist() == expected
    assert augment(values)[:, 1:].equal(values[:, :-1])
    assert values.flatten().tolist() == list(range(1, 13))  # as it was


def test_a_value_is_in_the_next_augmented_vector_and_not_in_its_own():
    values = draw(B, L, C)
    moved = values.clone()
    moved[:, 3] += 1
    differs = (augment(values) != augment(moved)).any(0).any(-1)
    assert differs.tolist() == [False] * 4 + [True] + [False] * 2


def test_no_forecast_reads_its_own_step_or_a_later_one(model):
    values, marks = draw(B, L, C), draw_marks(B, L)
    jacobian = torch.autograd.functional.jacobian(lambda x: OneStep(model)(x, marks), values)
    found = jacobian[:, :, :2].abs().amax((0, 2, 3))[..., :2].amax(-1)  # of z, not of what is known
    assert (found.triu() == 0).all()
    assert (found.tril(-1) > 0).sum() == L * (L - 1) / 2


def test_no_change_of_the_future_moves_a_forecast(model):
    values, marks = draw(B, L, C), draw_marks(B, L)
    before = OneStep(model)(values, marks)
    for step in range(L):
        moved = values.clone()
        moved[:, step:, :2] += 100 * draw(B, L - step, 2, seed=1)
        after = OneStep(model)(moved, marks)
        assert after[:, : step + 1, :2].equal(before[:, : step + 1, :2])


def test_a_known_column_is_read_in_time_and_returned_as_it_is(model):
    values, marks = draw(B, L, C), draw_marks(B, L)
    moved = values.clone()
    moved[:, 4, 2] += 1
    before, after = OneStep(model)(values, marks), OneStep(model)(moved, marks)
    assert after[..., 2].equal(moved[..., 2])
    assert after[:, :4].equal(before[:, :4])
    assert (after[:, 4:, :2] != before[:, 4:, :2]).all()


def test_with_a_cache_it_forecasts_what_it_forecasts_without(model):
    past, known, marks = draw(B, L, C), torch.zeros(B, P, C).double(), draw_marks(B, L + P)
    known[..., 2] = draw(B, P, seed=1)
    values = torch.cat([past, known], 1)
    for t in range(L, L + P):  # anew for each step, from its own forecasts
        values[:, t, :2] = OneStep(model)(values[:, : t + 1], marks[:, : t + 1])[:, -1, :2]
    forecaster = IteratedForecast(model)
    assert_close(forecaster.forecast_all(past, known, marks), values[:, L:], rtol=0, atol=1e-12)
    assert_close(forecaster(past, known, marks), values[:, L:, 0], rtol=0, atol=1e-12)


def test_a_history_read_in_pieces_gives_what_the_whole_gives(model):
    inputs, marks = draw(B, 11, C), draw_marks(B, 11)
    whole = model(inputs, marks)
    cache, outputs = Cache(), []
    for some, when in zip(inputs.split((1, 4, 0, 6), 1), marks.split((1, 4, 0, 6), 1), strict=True):
        outputs.append(model(some, when, cache=cache))
    assert cache.steps == 11
    assert_close(torch.cat(outputs, 1), whole, rtol=0, atol=1e-12)


def test_what_stands_in_unknown_columns_of_the_steps_to_come_is_not_read(model):
    past, known, marks = draw(B, L, C), draw(B, P, C, seed=1), draw_marks(B, L + P)
    cleared = known.clone()
    cleared[..., :2] = 0
    forecaster = IteratedForecast(model)
    assert forecaster(past, known, marks).equal(forecaster(past, cleared, marks))


def test_one_step_terms_add_up_to_the_likelihood_of_a_gaussian_path():
    a, steps = 0.8, 6  # z_t = a z_{t-1} + noise, from 0: the joint density is known
    model = build(n_column=1, n_layer=0, positions=None, norm=lambda width: nn.Identity())
    for part in (model.input, model.head):
        nn.init.eye_(part.weight)
        nn.init.zeros_(part.bias)
    model.head.weight.data *= a
    path = draw(1, steps, 1)
    lag = (torch.arange(steps)[:, None] - torch.arange(steps)).double()
    mixing = torch.where(lag >= 0, a**lag, torch.zeros(()).double())
    joint = torch.distributions.MultivariateNormal(
        torch.zeros(steps).double(), covariance_matrix=mixing @ mixing.T
    )
    mean = OneStep(model)(path, draw_marks(1, steps))
    terms = gaussian_nll(path, mean, torch.zeros_like(mean))
    assert_close(-terms.sum(), joint.log_prob(path[0, :, 0]), rtol=0, atol=1e-12)


def test_the_densities_of_all_paths_add_up_to_1():
    model = build(n_column=1)
    for part in model.parameters():  # far from linear
        part.data *= 2
    at = torch.linspace(-12, 12, 121).double()
    paths = torch.cartesian_prod(at, at)[..., None]
    with torch.no_grad():
        mean = OneStep(model)(paths, draw_marks(1, 2).expand(len(paths), -1, -1))
    density = (-gaussian_nll(paths, mean, torch.zeros_like(mean)).sum(1)).exp()
    assert mean[:, 1].std() > 0.1
    assert density.sum() * (at[1] - at[0]) ** 2 == pytest.approx(1, abs=1e-4)


def test_relative_forecasts_start_from_the_value_before():
    model, values = build(relative=True), draw(B, L, C)
    for part in model.head.parameters():
        nn.init.zeros_(part)
    assert OneStep(model)(values, draw_marks(B, L)).equal(augment(values))


def test_the_calendar_changes_a_forecast_only_through_its_embedding():
    values = draw(B, L, C)
    some, other = draw_marks(B, L), draw_marks(B, L, seed=1)
    blind, reading = build(), build(calendar=partial(CalendarEmbedding, 4))
    assert OneStep(blind)(values, some).equal(OneStep(blind)(values, other))
    assert not OneStep(reading)(values, some).allclose(OneStep(reading)(values, other))


def test_without_positions_the_order_of_what_was_read_long_ago_makes_no_difference():
    # Each step mixes itself with a set of earlier ones; with one block nothing tells their order.
    torch.manual_seed(0)
    config = SeriesTransformerConfig(context=12, n_layer=1, n_head=2, d_model=10)
    blind = SeriesTransformer(config, positions=None).double()
    placed = SeriesTransformer(config).double()
    values, marks = draw(B, L, 1), draw_marks(B, L)
    swapped = values.clone()
    swapped[:, :4] = values[:, [2, 0, 3, 1]]
    assert_close(OneStep(blind)(values, marks)[:, 5:], OneStep(blind)(swapped, marks)[:, 5:])
    difference = OneStep(placed)(values, marks) - OneStep(placed)(swapped, marks)
    assert difference[:, 5:].abs().max() > 1e-3


def test_it_takes_any_rule_and_an_uncausal_one_is_found_out():
    values, marks = draw(B, L, 1), draw_marks(B, L)
    leaky = build(n_column=1, rule=attend)
    jacobian = torch.autograd.functional.jacobian(lambda x: OneStep(leaky)(x, marks), values)
    assert (jacobian.abs().amax((0, 2, 3, 5)).triu()[:, :-1] > 0).any()


def test_fit_trains_it_by_one_step_and_it_forecasts_a_wave():
    torch.manual_seed(0)
    config = SeriesTransformerConfig(context=40, n_layer=1, n_head=2, d_model=16)
    model, chance = SeriesTransformer(config), torch.Generator().manual_seed(0)

    def waves():
        while True:
            phase = 12 * torch.rand(16, 1, generator=chance)
            values = torch.sin(2 * torch.pi * (torch.arange(36) + phase) / 12)[..., None]
            yield (values, torch.zeros(16, 36, 3, dtype=torch.long)), values

    fit(OneStep(model), adamw(model, 0.01), waves(), steps=150, loss=F.mse_loss)
    (values, marks), _ = next(waves())
    with torch.no_grad():
        forecast = IteratedForecast(model.eval())(values[:, :24], torch.zeros(16, 12, 1), marks)
    last = values[:, 23:24, 0].expand(-1, 12)
    target = values[:, 24:, 0]
    assert F.mse_loss(forecast, target) < 0.1 * F.mse_loss(last, target)


def test_it_remembers_its_sizes_and_draws_no_numbers_of_its_own():
    model = build(known=(1, 2))
    assert model.context == 12
    assert model.config == SeriesTransformerConfig(n_column=C, known=(1, 2), **SIZES)
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize(
    ("sizes", "remedy"),
    [
        ({"n_column": 0}, "size below 1"),
        ({"d_model": 0}, "size below 1"),
        ({"dropout": 1.0}, "dropout outside"),
        ({"n_column": 3, "known": (0,)}, "column 0 is the target"),
        ({"n_column": 3, "known": (3,)}, "must be columns from 1 to 2"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(sizes, remedy):
    with pytest.raises(ValueError, match=remedy):
        SeriesTransformerConfig(**sizes)


def test_a_horizon_of_no_steps_and_one_beyond_the_context_are_refused():
    model = IteratedForecast(build())
    past = draw(B, L, C)
    with pytest.raises(ValueError, match="no step to forecast: give `known` a row for each"):
        model(past, past[:, :0], draw_marks(B, L))
    with pytest.raises(ValueError, match="build the model with a longer context"):
        model(past, draw(B, 6, C), draw_marks(B, L + 6))
