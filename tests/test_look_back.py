"""How far back a forecaster reads, by trial."""

from functools import partial

import pytest
import torch
from torch import nn

from coursekit.evaluate.forecasts import score_errors, score_forecasts
from coursekit.evaluate.look_back import measure_look_back
from coursekit.models.baselines import (
    fit_ar,
    fit_linear,
    iterate_ar,
    last_value,
    seasonal_naive,
)
from coursekit.models.informer import Informer, InformerConfig
from coursekit.models.relative import RelativeToLast
from coursekit.windows.forecast import ForecastWindows

L, P = 24, 4
VALUES = torch.randn(90, 2, generator=torch.Generator().manual_seed(0)).cumsum(0)


def cut(past=L, stop=90, values=VALUES):
    calendar = torch.zeros(len(values), 3, dtype=torch.int64)
    return ForecastWindows(
        values=values, calendar=calendar, past=past, horizon=P, start=40, stop=stop
    )


def mean_of(n, past, known, marks):
    return past[:, past.shape[1] - n :, 0].mean(1, keepdim=True).expand(-1, known.shape[1])


def linear(n):
    past = VALUES[:, 0].unfold(0, n + P, 1)
    return fit_linear(past[:, :n], past[:, n:], 1.0)


def informer(trained=True):
    torch.manual_seed(0)
    sizes = {"n_channel": 2, "context": L, "horizon": P, "label_len": 4, "dropout": 0.5}
    net = Informer(InformerConfig(**sizes, n_head=2, d_model=8), calendar=None)
    if trained:
        nn.init.normal_(net.head.weight)  # it starts at 0, so that nothing is read
    return net


@pytest.mark.parametrize(
    ("forecaster", "reads"),
    [
        (last_value, 1),
        *((seasonal_naive(n), n) for n in (1, 5, L)),
        *((partial(mean_of, n), n) for n in (1, 2, 11, L - 1, L)),
        (linear(10), 10),
        (linear(L), L),
        (iterate_ar(fit_ar(VALUES[:40, 0], 3)), 3),
        (lambda past, known, marks: 0 * known[..., 0], 0),
        (lambda past, known, marks: past[:, -6:-5, 1].expand(-1, P), 6),
        (lambda past, known, marks: past[:, -9:, 0].amax(1, keepdim=True).expand(-1, P), 9),
        (lambda past, known, marks: past[:, :1, 0].expand(-1, P), L),
        (informer(), L),
        (RelativeToLast(informer()), L),
        (RelativeToLast(informer(trained=False)), 1),
    ],
)
def test_it_is_the_oldest_step_that_a_forecast_depends_on(forecaster, reads):
    assert measure_look_back(forecaster, cut()) == reads
    assert score_forecasts(forecaster, cut()).reads == reads


def test_it_does_not_grow_with_the_windows():
    assert [measure_look_back(seasonal_naive(5), cut(past=n)) for n in (5, 6, 39)] == [5, 5, 5]


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_it_does_not_depend_on_the_unit(scale):
    assert measure_look_back(partial(mean_of, 11), cut(values=scale * VALUES + 3 * scale)) == 11


def test_windows_that_never_change_can_be_measured():
    assert measure_look_back(partial(mean_of, 7), cut(values=torch.ones(90, 2))) == 7


def test_a_lone_window_is_enough():
    windows = cut(stop=44)
    assert len(windows) == 1
    assert measure_look_back(partial(mean_of, 7), windows) == 7


def test_what_differs_from_call_to_call_is_not_measured():
    calls = iter(range(99))
    assert measure_look_back(lambda *given: last_value(*given) + next(calls), cut()) is None
    assert score_forecasts(lambda *given: last_value(*given) + next(calls), cut()).reads is None


def test_a_model_is_measured_in_evaluation_mode_and_left_as_it_was():
    model = informer().train()
    assert measure_look_back(model, cut()) == L
    assert all(part.training for part in model.modules())


def test_no_random_number_is_taken_from_others():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    measure_look_back(lambda *given: last_value(*given) + torch.rand(()), cut())
    assert torch.get_rng_state().equal(before)


def test_a_score_says_of_which_rows_it_is_and_errors_alone_say_nothing():
    score = score_forecasts(last_value, cut())
    assert (score.look_back, score.reads, score.span) == (L, 1, (40, 90))
    assert score_forecasts(last_value, cut(past=50)).span == (50, 90)
    alone = score_errors(torch.zeros(3, 2), torch.ones(3, 2), look_back=9)
    assert (alone.look_back, alone.reads, alone.span) == (9, None, None)
