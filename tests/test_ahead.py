"""A forecast beyond the last row: what the last window of a longer series would have been told."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from coursekit.evaluate.forecasts import score_forecasts
from coursekit.forecasting.ahead import forecast_ahead
from coursekit.forecasting.fitted import FittedForecaster
from coursekit.models.asked_again import AskedAgain
from coursekit.models.baselines import fit_linear, last_value, seasonal_naive
from coursekit.models.informer import Informer, InformerConfig
from coursekit.models.relative import RelativeToLast
from coursekit.windows.forecast import split_windows
from coursekit.windows.series import TimeSeries

pd = pytest.importorskip("pandas")

L, P, N = 14, 3, 150
ENDS = (80, 110, 143)


def series(n=N, seed=0, known=("holiday",)):
    """Hours of a load that falls on holidays, with a wind that nobody knows in advance."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(N, 3, generator=generator, dtype=torch.float64)
    holiday = (noise[:, 1] > 1).double()
    load = 40 + 3 * (torch.arange(N) * torch.pi / 6).sin() - 5 * holiday + noise[:, 0]
    values = torch.stack([load, holiday, 10 + noise[:, 2]], 1)[:n]
    hours = [datetime(2024, 5, 17) + timedelta(hours=k) for k in range(n)]
    columns = ("load", "holiday", "wind")
    return TimeSeries(
        name="grid", times=hours, values=values, columns=columns, known=known, unit="MW", time="at"
    )


def rows(whole, start=N - P):
    """Rows that are still to come, as a reader gives them."""
    some = slice(start, start + P)
    return pd.DataFrame({"at": whole.times[some], "holiday": whole.values[some, 1], "load": None})


class Listener(nn.Module):
    """Keep what is read; forecast the known holiday."""

    known = (1,)

    def forward(self, past, known, marks):
        self.read = past, known, marks
        return known[..., 1]


def test_what_is_read_is_the_window_that_a_longer_series_would_be_cut_into():
    whole, begun = series(), series(N - P)
    splits = split_windows(begun, L, P, ENDS)
    model = Listener()
    ahead = forecast_ahead(FittedForecaster.of(model, splits), begun, rows(whole))
    scaled = splits.scaler.scale(whole.values).float()
    longer = replace(splits.test, values=scaled, calendar=whole.calendar(), stop=N)
    inputs, _ = longer.take(torch.tensor([len(longer) - 1]))
    for mine, theirs in zip(model.read, inputs, strict=True):
        assert_close(mine, theirs, rtol=0, atol=0)
    assert ahead.times == whole.times[-P:]


def test_the_forecast_is_in_the_unit_of_the_series_with_times_and_ends_of_the_bands():
    begun = series(N - P, known=())
    splits = split_windows(begun, L, P, ENDS)
    ahead = forecast_ahead(FittedForecaster.of(seasonal_naive(12), splits, level=0.7), begun)
    frame = ahead.frame()
    assert [*frame.columns] == ["at", "load", "load_low", "load_high"]
    assert_close(torch.tensor(frame["load"]), begun.values[-12:-9, 0], rtol=0, atol=1e-5)
    score = score_forecasts(seasonal_naive(12), splits.valid).in_units(splits.scaler)
    n = len(splits.valid)
    for step in range(P):
        sizes = sorted(score.errors[:, step].abs().tolist())
        margin = next(size for i, size in enumerate(sizes) if (i + 1) / (n + 1) >= 0.7)
        assert frame["load_high"][step] - frame["load"][step] == pytest.approx(margin)
        assert frame["load"][step] - frame["load_low"][step] == pytest.approx(margin)
    assert str(ahead).startswith("load, MW, the next 3 rows\n")


def test_coverage_is_that_of_the_test_windows():
    splits = split_windows(series(), L, P, ENDS)
    fitted = FittedForecaster.of(last_value, splits)
    found = torch.stack([torch.cat(parts) for parts in zip(*forecasts(splits), strict=True)])
    within = (found[0] - found[1]).abs().double() <= fitted.bands.margin
    assert_close(fitted.coverage, within.double().mean(0))
    notes = forecast_ahead(fitted, series(N - P), rows(series())).notes
    assert f"of 80%, measured on {len(splits.valid)} validation windows" in notes[0]
    assert f"they held {within.double().mean():.0%} of the test targets" in notes[0]


def forecasts(splits):
    return [(last_value(*inputs), target) for inputs, target in splits.test.batches(8)]


def test_bands_may_be_left_out():
    begun = series(N - P, known=())
    splits = split_windows(begun, L, P, ENDS)
    ahead = forecast_ahead(FittedForecaster.of(last_value, splits, level=None), begun)
    assert [*ahead.frame().columns] == ["at", "load"]
    assert ahead.notes == ("no bands: none were measured",)


def test_a_network_is_put_in_evaluation_mode_and_left_as_it_was():
    begun = series(N - P)
    splits = split_windows(begun, L, P, ENDS)
    config = InformerConfig(
        **splits.train.sizes, label_len=5, n_head=2, d_model=8, n_encoder=1, dropout=0.5
    )
    model = RelativeToLast(Informer(config, head_std=0.3))
    fitted = FittedForecaster.of(model, splits)
    once, again = (forecast_ahead(fitted, begun, rows(series())).values for _ in range(2))
    assert once.equal(again)
    assert model.training
    assert config.n_channel == 3
    assert config.known == (1,)


@pytest.mark.parametrize("times", [2, 3])
def test_asking_again_is_the_same_as_rows_appended_by_hand(times):
    begun = series(120, known=()).only("load")
    splits = split_windows(begun, L, times * P, (60, 90, 120))
    inputs, target = split_windows(begun, L, P, (60, 90, 120)).train.take(torch.arange(40))
    once = fit_linear(inputs[0][..., 0], target, 1.0)
    fitted = FittedForecaster.of(AskedAgain(once, P), splits)
    ahead = forecast_ahead(fitted, begun)
    scaled, found = splits.scaler.scale(begun.values)[:, 0].tolist(), []
    for _ in range(times):
        past = torch.tensor(scaled[-L:], dtype=torch.float64)[None, :, None]
        made = once(past, torch.zeros(1, P, 1), torch.zeros(1, L + P, 3).long())[0].tolist()
        scaled, found = scaled + made, found + made
    expected = splits.scaler.unscale(torch.tensor(found, dtype=torch.float64))
    assert_close(ahead.values, expected, rtol=1e-5, atol=1e-4)
    assert "from step 4 on the forecaster read its own forecasts" in ahead.notes[1]


def test_what_is_known_is_read_on_when_a_model_is_asked_again():
    whole = series().only("load", "holiday")
    splits = split_windows(whole, L, 2 * P, ENDS)
    inputs, _ = splits.test.take(torch.arange(4))
    model = Listener()
    forecast = AskedAgain(model, P)(*inputs)
    past, known, marks = model.read
    assert forecast.equal(inputs[1][..., 1])
    assert past[:, -P:].equal(torch.stack([inputs[1][:, :P, 1]] * 2, -1))  # what it forecast
    assert known.equal(inputs[1][:, P:])
    assert marks.equal(inputs[2][:, P:])


@pytest.mark.parametrize(
    ("steps", "columns", "says"),
    [
        (4, 2, "4 steps are no multiple of the 3 that the model forecasts at once"),
        (6, 3, r"columns \[2\] of the later steps are neither known in advance nor forecast"),
    ],
)
def test_a_model_that_can_not_be_asked_again_is_refused(steps, columns, says):
    past, known = torch.zeros(2, L, columns), torch.zeros(2, steps, columns)
    with pytest.raises(ValueError, match=says):
        AskedAgain(Listener(), P)(past, known, torch.zeros(2, L + steps, 3).long())


def test_a_model_of_no_steps_can_not_be_asked_again():
    with pytest.raises(ValueError, match="horizon=0 must be at least 1 step"):
        AskedAgain(Listener(), 0)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (lambda s: s.only("load", "holiday"), r"fitted to the columns \('load', 'holiday', 'wind'"),
        (lambda s: s.only("load", "wind", "holiday"), r"grid has \('load', 'wind', 'holiday'\), k"),
        (lambda s: replace(s, known=()), r"known in advance \('holiday',\); grid has .*known \(\)"),
        (
            lambda s: replace(s, times=[s.times[0] + timedelta(days=k) for k in range(N)]),
            "fitted to steps of 1:00:00, those of grid are of 1 day, 0:00:00",
        ),
        (
            lambda s: replace(s, times=[*s.times[:-1], datetime(2025, 1, 1)]),
            "those of grid are of uneven length",
        ),
        (
            lambda s: replace(s, times=s.times[:13], values=s.values[:13]),
            "reads 14 rows, grid has 13: give more of its past",
        ),
    ],
)
def test_a_series_of_another_kind_is_refused(other, says):
    fitted = FittedForecaster.of(last_value, split_windows(series(), L, P, ENDS))
    with pytest.raises(ValueError, match=says):
        forecast_ahead(fitted, other(series()), rows(series()))


def test_a_series_just_as_long_as_is_read_is_enough():
    fitted = FittedForecaster.of(last_value, split_windows(series(), L, P, ENDS))
    short = replace(series(), times=series().times[:L], values=series().values[:L])
    ahead = forecast_ahead(fitted, short, rows(series(), L))
    assert_close(ahead.values, short.values[-1:, 0].expand(P), rtol=0, atol=1e-5)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_forecast_that_is_no_number_is_refused(bad):
    begun = series(N - P, known=())
    splits = split_windows(begun, L, P, ENDS)
    fitted = replace(
        FittedForecaster.of(last_value, splits), model=lambda *given: last_value(*given) * bad
    )
    with pytest.raises(ValueError, match="return 3 finite numbers"):
        forecast_ahead(fitted, begun)


def test_a_model_of_other_known_columns_is_refused():
    with pytest.raises(ValueError, match=r"reads the columns \(1,\) .* the windows show \(\)"):
        FittedForecaster.of(Listener(), split_windows(series(known=()), L, P, ENDS))
