"""The benchmark at many horizons: equal targets, choices by validation, no model trained twice."""

import json
import math
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import torch
from torch.testing import assert_close

from benchmarks import horizons, horizons_report
from benchmarks.horizons import TASKS, Task, past_of, rows_of
from benchmarks.informer import Recipe
from coursekit.evaluate.bands import roll_margins
from coursekit.evaluate.forecasts import mase, score_forecasts
from coursekit.models.baselines import last_value, seasonal_naive
from coursekit.windows.series import TimeSeries

ENDS = (500, 620, 740)


def hourly():
    """A series of a day's rhythm and noise, with two columns that run before it."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(800, 3, generator=generator, dtype=torch.float64)
    day = (torch.arange(800) * torch.pi / 12).sin()
    values = torch.stack([day + 0.3 * noise[:, 0], noise[:, 1], noise[:, 2]], 1)
    values[1:, 0] += values[:-1, 1]
    times = [datetime(2024, 1, 1) + timedelta(hours=hour) for hour in range(800)]
    return [TimeSeries(name="made", times=times, values=values, columns=("y", "a", "b"))]


def alone():
    return [hourly()[0].only("y")]


@pytest.fixture(autouse=True)
def _plain(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSEKIT_PLAIN", "1")
    monkeypatch.setattr(horizons, "BUILD", tmp_path)
    monkeypatch.setattr(horizons_report, "BUILD", tmp_path)
    monkeypatch.setattr(horizons, "recipe_of", lambda row, horizon: Recipe(3, 8, every=2))


def task(series=alone, **options):
    return Task(name="made", horizon=5, series=series, ends=ENDS, **options)


def test_all_rows_of_a_table_have_the_same_targets():
    for past in {past_of(row) for row in rows_of(task())}:
        (splits,) = task().cut(past)
        spans = [(part.first, part.stop) for part in (splits.valid, splits.test)]
        assert spans == [(500, 620), (620, 740)]
        assert splits.scaler.n_rows == 500


def test_a_series_without_hours_has_no_rows_that_need_them():
    exchange = next(one for one in TASKS if one.name == "exchange")
    assert not [row for row in rows_of(exchange) if "hour" in row or "day" in row]
    assert "seasonal naive, five rows" in rows_of(exchange)
    assert horizons.MEAN in rows_of(task())
    assert not {"ridge with holidays, 96", "Informer, all columns"} & {*rows_of(task())}


def test_what_a_row_reads_is_what_its_name_says():
    assert [past_of(row) for row in ("ridge, 96", "ridge, 336", "ridge with holidays, 96")] == [
        96,
        336,
        96,
    ]
    assert (past_of("PatchTST"), past_of(horizons.SEEDS_MEAN)) == (336, 336)
    assert past_of("Informer, relative") == past_of(horizons.MEAN) == 96
    assert past_of("seasonal naive, week") >= 168


def test_the_ridge_has_the_penalty_that_validation_likes_best(monkeypatch):
    (splits,) = task().cut(96)
    monkeypatch.setattr(horizons, "PENALTIES", (1e-3, 1e2, 1e6))
    found = score_forecasts(horizons.fit_ridge(task(), "ridge, 96"), splits.valid).mse
    alone = []
    for penalty in (1e-3, 1e2, 1e6):
        monkeypatch.setattr(horizons, "PENALTIES", (penalty,))
        model = horizons.fit_ridge(task(), "ridge, 96")
        alone.append(score_forecasts(model, splits.valid).mse)
    assert found == min(alone) < max(alone)


def test_a_ridge_of_all_columns_is_least_squares_on_changes(monkeypatch):
    monkeypatch.setattr(horizons, "PENALTIES", (1e-9,))
    short = replace(task(hourly), ends=(640, 700, 790))
    model = horizons.fit_ridge(short, "ridge with all columns, 96")
    (splits,) = short.cut(96)
    (past, known, marks), target = splits.train.take(torch.arange(len(splits.train)))
    design = (past - past[:, -1:]).double().flatten(1)
    design = torch.cat([design, torch.ones_like(design[:, :1])], 1)
    wanted = (target - past[:, -1:, 0]).double()
    best = design @ torch.linalg.lstsq(design, wanted, driver="gelsd").solution
    assert_close(model(past, known, marks), (best + past[:, -1:, 0]).float(), rtol=1e-3, atol=1e-3)
    changed = past.clone()
    changed[:, 40, 1] += 1.0
    assert not model(changed, known, marks).equal(model(past, known, marks))


def test_a_ridge_with_holidays_reads_that_of_the_hour_itself():
    (counts,) = hourly()
    is_holiday = (torch.arange(800) // 24 % 5 == 0).double()
    values = torch.stack([counts.values[:, 0] - 4 * is_holiday, is_holiday], 1)
    columns = {"columns": ("y", "holiday"), "known": ("holiday",)}
    with_holidays = task(lambda: [replace(counts, values=values, **columns)])
    (splits,) = with_holidays.cut(96)
    informed = horizons.fit_ridge(with_holidays, "ridge with holidays, 96")
    blind = horizons.fit_ridge(with_holidays, "ridge, 96")
    (past, known, marks), _ = splits.test.take(torch.arange(3))
    assert not informed(past, known + 1, marks).equal(informed(past, known, marks))
    assert blind(past, known + 1, marks).equal(blind(past, known, marks))
    better, worse = (score_forecasts(model, splits.test).mse for model in (informed, blind))
    assert better < 0.7 * worse


def test_holidays_are_whole_days_and_known_in_advance():
    (counts,) = horizons.street_and_holidays()
    assert counts.known == ("holiday",)
    holiday = counts.values[:, 1].tolist()
    days = {time.date() for time, value in zip(counts.times, holiday, strict=True) if value}
    assert len(days) * 24 == counts.values[:, 1].sum() == 21 * 24
    assert counts.times[0].date() in days  # Waitangi Day, observed
    assert datetime(2023, 7, 14).date() in days  # Matariki


def test_a_score_is_a_mean_over_series_and_its_bands_come_from_validation():
    both = task(lambda: [hourly()[0].only(column) for column in ("y", "a")])
    cuts = both.cut(96)
    found = horizons.judge(last_value, cuts)
    each = [score_forecasts(last_value, splits.test) for splits in cuts]
    assert found["test"] == pytest.approx(sum(one.mse for one in each) / 2)
    assert found["mae"] == pytest.approx(sum(one.mae for one in each) / 2)
    covered = []
    for splits, score in zip(cuts, each, strict=True):
        errors = score_forecasts(last_value, splits.valid).errors.abs().sort(0).values
        margin = errors[math.ceil((len(errors) + 1) * 0.8) - 1]
        covered.append((score.errors.abs() <= margin).double().mean().item())
    assert found["coverage"] == pytest.approx(sum(covered) / 2)


def test_a_moving_band_is_told_of_an_outcome_only_when_it_is_known():
    cuts = task(lambda: [hourly()[0].only(column) for column in ("y", "a")]).cut(96)
    covered = []
    for splits in cuts:
        valid, test = (score_forecasts(last_value, part) for part in (splits.valid, splits.test))
        within = test.errors.abs() <= roll_margins(valid, test)
        covered.append(within.double().mean().item())
    assert horizons.cover(last_value, cuts) == pytest.approx(sum(covered) / 2)
    assert 0.7 < horizons.cover(last_value, cuts) < 0.9


def test_the_last_rows_mase_is_that_of_the_rows_before_them():
    (splits,) = task().cut(336)
    values = splits.series.values[:740, 0]
    whole = splits.series
    shorter = replace(whole, values=values[:, None], times=whole.times[:740])
    cut_off = [replace(splits, series=shorter)]
    found = horizons.last_mase(seasonal_naive(24), cut_off, 24)
    forecast, insample = values[740 - 29 : 740 - 24], values[: 740 - 5]
    assert found == pytest.approx(mase(values[-5:], forecast, insample, 24), rel=1e-5)


def test_what_was_trained_is_kept_and_not_trained_again(monkeypatch):
    rows = ("last value", "NLinear", "Informer, relative", "PatchTST", horizons.SEEDS_MEAN)
    made = task(rows=rows)
    first = horizons.measure(made)
    assert [len(first[row]) for row in rows] == [1, 3, 3, 3, 1]
    assert [step for step, _ in first["PatchTST"][0]["curve"]] == [2, 3]

    def refuse(*_):
        raise AssertionError("trained again")

    monkeypatch.setattr(horizons, "train", refuse)
    assert horizons.measure(made) == json.loads(json.dumps(first))
    (horizons.BUILD / f"{made.key}.json").unlink()
    again = horizons.measure(made)  # from the weights alone
    assert [run["test"] for run in again["PatchTST"]] == [run["test"] for run in first["PatchTST"]]


def test_each_model_of_a_mean_is_trained_once(monkeypatch):
    made, train = [], horizons.train

    def counted(one, row, seed):
        made.append((row, seed))
        return train(one, row, seed)

    monkeypatch.setattr(horizons, "train", counted)
    parts = horizons.PARTS[horizons.MEAN]
    rows = horizons.measure(task(rows=(*parts, horizons.MEAN)))
    assert sorted(made) == sorted((row, seed) for row in parts for seed in horizons.SEEDS)
    assert len(rows[horizons.MEAN]) == 3


def test_the_confirmation_scores_the_last_rows_and_trains_nothing(monkeypatch):
    made = replace(task(rows=("last value", "NLinear")), name="ETTh1")
    monkeypatch.setattr(horizons, "TASKS", (made,))
    monkeypatch.setattr(horizons, "CONFIRMED", (740, 800))
    horizons.measure(made)
    monkeypatch.setattr(horizons, "train", lambda *_: pytest.fail("trained"))
    found = horizons.confirm()["ETTh1, 5"]
    (splits,) = made.cut(336)
    last = replace(splits.test, start=740, stop=800)
    assert found["last value"] == [score_forecasts(last_value, last).mse]
    assert len(found["NLinear"]) == 3


def run(valid, test, **more):
    return {"valid": valid, "test": test, "mae": 0.1, "coverage": 0.77, "windows": 9, **more}


def results():
    """Errors of every row; NLinear is best on the validation, PatchTST on the test."""
    found = {}
    for one in TASKS:
        rows = {name: [run(0.5, 0.4)] for name in rows_of(one)}
        for name in rows:
            if name in horizons.NETWORKS:
                curve = [[1, 0.3], [2, 0.2]]
                rows[name] = [run(0.4 + s / 100, 0.41, seconds=2.0, curve=curve) for s in range(3)]
        if "NLinear" in rows:
            rows["NLinear"] = [run(0.21, 0.4321, seconds=61.0, curve=[[1, 0.3]]) for _ in range(3)]
            rows["PatchTST"] = [run(0.31, 0.2345, seconds=7.0, curve=[[1, 0.3]]) for _ in range(3)]
        found[one.key] = rows
    return found


def test_the_report_marks_what_validation_chooses_and_not_what_the_test_likes():
    text = horizons_report.write_report(
        results(), {}, {"ETTh1, 24": {"PatchTST": 0.813}}, {"a step": 17.24}
    )
    assert "| → NLinear | 0.2100 ± 0.0000 | 0.4321 ± 0.0000 | 0.1000 ± 0.0000 |" in text
    assert "→ PatchTST" not in text
    assert "| NLinear | " + " | ".join(["→ 0.4321 ± 0.0000"] * 7) + " |" in text
    assert "validation likes **NLinear** best" in text
    assert "1.080 to 1.080 of the ridge's" in text
    assert "below it at no hours, more than 2 % above it at 24, 48, 96, 168, 192, 336, 720" in text
    assert "2 to 61 s" in text
    assert "(last value: ETTh1, 24; ETTh1, 48;" in text
    assert "costs most at ETTh1, 24: NLinear has 0.4321, where PatchTST has 0.2345." in text
    assert "| a step | 17.2 |" in text
    assert "larger on the validation than on the test in 11 of the 11 lines" in text
    assert "0.098 | 0.158 |  | 0.183 |  | 0.222 | 0.269" in text
    assert "| ETTh1, 24 | 0.77 | 0.77 | 0.77 |  |  | 0.81 |" in text


def test_a_confirmation_is_empty_until_it_was_measured():
    tasks = [one for one in TASKS if one.name == "ETTh1"]
    empty = horizons_report.confirmation_table(tasks, {})
    assert all(line.endswith(" |" + "  |" * 7) for line in empty[2:])
    assert "| NLinear |" + "  |" * 7 in empty
    filled = horizons_report.confirmation_table(tasks, {"ETTh1, 48": {"NLinear": [0.1, 0.3]}})
    assert "| NLinear |  | 0.2000 ± 0.1414 |" + "  |" * 5 in filled


def test_what_a_confirmation_says_is_what_it_found():
    tasks = [one for one in TASKS if one.name == "ETTh1"]
    found = {one.key: {name: [0.2, 0.4] for name in rows_of(one)} for one in tasks}
    assert horizons_report.say_confirmation(results(), tasks, {}) == []
    found["ETTh1, 720"] = found["ETTh1, 720"] | {"DLinear": [0.9], "Informer, relative": [0.31]}
    found["ETTh1, 48"] = found["ETTh1, 48"] | {"NLinear": [0.15, 0.15]}
    text, _ = horizons_report.say_confirmation(results(), tasks, found)
    assert text.startswith("NLinear, chosen before, has 1.000, 0.500, 1.000, 1.000, 1.000, 1.000, ")
    assert "at 720 hours DLinear has 3.00 of the ridge's error here and 1.02 there" in text
    assert text.endswith("behind the last value at 720 hours.")


def test_the_figure_is_drawn(tmp_path):
    horizons_report.draw(results(), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
