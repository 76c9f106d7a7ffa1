"""A forecaster that was saved: it forecasts the same again, and no other model passes for it."""

import io
import pickle
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
import torch

from coursekit.forecasting.ahead import forecast_ahead
from coursekit.forecasting.fitted import FittedForecaster
from coursekit.forecasting.saved import load_forecaster, save_forecaster
from coursekit.models.baselines import LinearForecast, fit_linear, last_value, seasonal_naive
from coursekit.models.informer import Informer, InformerConfig
from coursekit.models.relative import RelativeToLast
from coursekit.windows.forecast import split_windows
from coursekit.windows.series import TimeSeries

L, P, N = 11, 4, 120


def series(columns=("load", "holiday", "wind"), known=("holiday",)):
    generator = torch.Generator().manual_seed(4)
    values = 7 + 2 * torch.randn(N, len(columns), generator=generator, dtype=torch.float64)
    hours = [datetime(2024, 5, 17) + timedelta(hours=k) for k in range(N)]
    return TimeSeries(name="grid", times=hours, values=values, columns=columns, known=known)


def cut(whole):
    return split_windows(whole, L, P, (60, 90, N))


def informer(splits, wrap=RelativeToLast, calendar=None, seed=0, width=8):
    torch.manual_seed(seed)
    sizes = splits.train.sizes | {"label_len": 3, "n_head": 2, "d_model": width, "n_encoder": 1}
    return wrap(Informer(InformerConfig(**sizes), calendar=calendar, head_std=0.5))


def ahead(fitted, whole):
    pd = pytest.importorskip("pandas")
    times = [whole.times[-1] + timedelta(hours=k) for k in range(1, P + 1)]
    rows = pd.DataFrame({"time": times, "holiday": [0.0, 9.0, 7.0, 5.0]})
    return forecast_ahead(fitted, whole, rows if whole.known else None)


def test_a_network_comes_back_with_its_scaler_columns_and_bands(tmp_path):
    whole = series()
    splits = cut(whole)
    fitted = FittedForecaster.of(informer(splits), splits, level=0.7)
    path = tmp_path / "deep" / "load.npz"
    save_forecaster(fitted, path)
    loaded = load_forecaster(path, informer(splits, seed=1))
    before, after = ahead(fitted, whole), ahead(loaded, whole)
    assert after.values.equal(before.values)
    assert after.margin.equal(before.margin)
    assert after.notes == before.notes
    assert loaded.step == timedelta(hours=1)
    assert loaded.scaler.n_rows == 60
    assert loaded.coverage.equal(fitted.coverage)


def test_a_linear_model_and_a_rule_come_back_without_bands(tmp_path):
    whole = series(("load",), ())
    splits = cut(whole)
    (past, _, _), target = splits.train.take(torch.arange(40))
    empty = LinearForecast(torch.zeros(L, P).double(), torch.zeros(P).double(), relative=True)
    for model, again in (
        (fit_linear(past[..., 0], target, 1.0), empty),
        (last_value, last_value),
    ):
        fitted = FittedForecaster.of(model, splits, level=None)
        save_forecaster(fitted, tmp_path / "one.npz")
        loaded = load_forecaster(tmp_path / "one.npz", again)
        assert ahead(loaded, whole).values.equal(ahead(fitted, whole).values)
        assert (loaded.bands, loaded.coverage) == (None, None)


def test_steps_of_uneven_length_come_back(tmp_path):
    splits = cut(series(("load",), ()))
    fitted = replace(FittedForecaster.of(last_value, splits), step=None)
    save_forecaster(fitted, tmp_path / "one.npz")
    assert load_forecaster(tmp_path / "one.npz", last_value).step is None


def test_known_columns_are_told_by_their_names():
    whole = series(("load", "wind", "sun", "holiday"), ("holiday", "wind"))
    fitted = FittedForecaster.of(last_value, cut(whole), level=None)
    assert fitted.known_columns == (3, 1)


def test_another_model_with_weights_of_the_same_shapes_is_refused(tmp_path):
    splits = cut(series())
    path = tmp_path / "one.npz"
    save_forecaster(FittedForecaster.of(informer(splits), splits), path)

    class Plain(torch.nn.Module):
        """Not relative, though its weights have the same names and shapes."""

        known = (1,)

        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, past, known, marks):
            return self.model(past, known, marks)

    with pytest.raises(ValueError, match="forecasts something else than the one in"):
        load_forecaster(path, informer(splits, wrap=Plain))
    with pytest.raises(ValueError, match=r"has shape \(8,\) in the checkpoint and \(16,\) in the"):
        load_forecaster(path, informer(splits, width=16))
    with pytest.raises(ValueError, match="forecasts something else"):
        load_forecaster(path, last_value)


def test_another_rule_is_refused(tmp_path):
    splits = cut(series(("load",), ()))
    save_forecaster(FittedForecaster.of(seasonal_naive(5), splits), tmp_path / "one.npz")
    for other in (last_value, seasonal_naive(6), seasonal_naive(12)):
        with pytest.raises(ValueError, match="forecasts something else than the one in"):
            load_forecaster(tmp_path / "one.npz", other)


def test_a_rule_that_reads_another_known_column_is_refused(tmp_path):
    splits = cut(series(known=("holiday", "wind")))
    saved, other = (lambda _, known, marks, i=i: known[..., i] for i in (1, 2))
    save_forecaster(FittedForecaster.of(saved, splits), tmp_path / "one.npz")
    load_forecaster(tmp_path / "one.npz", saved)
    with pytest.raises(ValueError, match="forecasts something else than the one in"):
        load_forecaster(tmp_path / "one.npz", other)


def test_a_file_that_is_no_forecaster_is_refused_and_nothing_in_it_is_run(tmp_path):
    splits = cut(series())
    path = tmp_path / "one.npz"
    save_forecaster(FittedForecaster.of(informer(splits), splits), path)
    whole = path.read_bytes()
    other = io.BytesIO()
    np.savez(other, about='{"kind": "a cake"}')
    array = io.BytesIO()
    np.save(array, np.ones(3))
    armed = io.BytesIO()
    np.savez(armed, about=np.array([Armed()], dtype="object"))
    for held in (
        *(b"", whole[:100], whole[: len(whole) // 2], whole[:-1], other.getvalue()),
        *(array.getvalue(), armed.getvalue(), pickle.dumps(Armed())),
    ):
        path.write_bytes(held)
        with pytest.raises(ValueError, match="is no whole forecaster: it was cut short or is"):
            load_forecaster(path, informer(splits))
    assert Armed.fired == 0


class Armed:
    """Does harm when it is unpickled."""

    fired = 0

    def __reduce__(self):
        return fire, ()


def fire():
    Armed.fired += 1
    return Armed()


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no forecaster .*one.npz: correct the"):
        load_forecaster(tmp_path / "one.npz", last_value)
