"""Forecasts at many horizons: one-line rules, ridges, small networks, Informers; four series.

    python -m benchmarks.horizons            every task, one after the other (hours)
    python -m benchmarks.horizons ETTh1      the tasks whose names begin so: two at a time, say
    python -m benchmarks.horizons --bands    how many targets lie in bands of 80 %
    python -m benchmarks.horizons --costs    what a training step costs, ours and PyTorch's
    python -m benchmarks.horizons --confirm  ETTh1's last rows, once the rest is done
    python -m benchmarks.horizons_report     writes horizons.md and horizons.png

What was measured is kept in build/horizons after each training, and a run that was cut off goes on
from there; delete that folder to start from scratch. Everything is chosen on the validation.
"""

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.informer import (
    PLAIN,
    RELATIVE,
    HourEmbedding,
    MeanForecast,
    Recipe,
    informer,
    measure_costs,
    train_forecaster,
)
from coursekit import data
from coursekit.evaluate.bands import calibrate_bands, measure_coverage, roll_margins
from coursekit.evaluate.forecasts import mase, score_forecasts
from coursekit.models.baselines import fit_linear, last_value, seasonal_naive
from coursekit.models.decomposed import Decomposed, OneLayer
from coursekit.models.normalised import InstanceNorm
from coursekit.models.patch import PatchConfig, PatchTransformer
from coursekit.models.relative import RelativeToLast
from coursekit.windows.forecast import Forecaster, ForecastWindows, Splits, split_windows
from coursekit.windows.related import JoinedWindows
from coursekit.windows.series import TimeSeries

BUILD = Path(__file__).parent.parent / "build/horizons"
SHORT, LONG = 96, 336
SEEDS = (0, 1, 2)
PENALTIES = tuple(10.0**power for power in range(6))
"""Of a ridge for 8,000 windows; more windows get more in proportion."""

MEMORY = 720
"""Windows that a moving band looks back on: a month of hours, three years of trading days."""

ENDS = (8640, 11520, 14400)
CONFIRMED = (14400, 17420)
"""The rows of ETTh1 after the test's: no model, recipe or row was chosen by them."""

HOLIDAYS = {
    "2022": "02-07 04-15 04-18 04-25 06-06 06-24 09-26 10-24 12-25 12-26 12-27",
    "2023": "01-01 01-02 01-03 01-30 02-06 04-07 04-10 04-25 06-05 07-14",
}
"""Public holidays in Auckland during the counts (from the package holidays, version 0.109)."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A forecasting problem; every row of its table has the same targets.

    Attributes:
        name: of the series, and of what is known of it.
        horizon: steps to forecast.
        series: makes the series, each the target first; scores are means over them.
        ends: of training, validation and test.
        seasons: names of the seasons, and the steps in each.
        rows: which rows of `ROWS` are measured; None: all that fit.
    """

    name: str
    horizon: int
    series: Callable[[], Sequence[TimeSeries]]
    ends: tuple[float, ...] = ENDS
    seasons: tuple[tuple[str, int], ...] = (("day", 24), ("week", 168))
    rows: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """The name with the horizon."""
        return f"{self.name}, {self.horizon}"

    def cut(self, past: int) -> list[Splits]:
        """Cut the windows of each series."""
        return [split_windows(one, past, self.horizon, self.ends) for one in _read(self.series)]


@cache
def _read(series: Callable[[], Sequence[TimeSeries]]) -> Sequence[TimeSeries]:
    return series()


def oil() -> list[TimeSeries]:
    """Return ETTh1's oil temperature."""
    return [data.etth1().only("OT")]


def each_column() -> list[TimeSeries]:
    """Return ETTh1's seven columns, each a series of its own."""
    whole = data.etth1()
    return [whole.only(column) for column in whole.columns]


def oil_and_loads() -> list[TimeSeries]:
    """Return ETTh1's oil temperature with the six loads beside it."""
    return [data.etth1()]


def street() -> list[TimeSeries]:
    """Return the people counted in Queen Street."""
    whole = data.pedestrians()
    return [whole.only(whole.columns[0])]


def street_and_holidays() -> list[TimeSeries]:
    """Return the same with a column, known in advance, that is 1 on public holidays."""
    (counts,) = street()
    days = {f"{year}-{day}" for year, days in HOLIDAYS.items() for day in days.split()}
    holiday = torch.tensor([[float(f"{time:%Y-%m-%d}" in days)] for time in counts.times])
    return [
        replace(
            counts,
            values=torch.cat([counts.values, holiday.double()], 1),
            columns=(*counts.columns, "holiday"),
            known=("holiday",),
        )
    ]


def currencies() -> list[TimeSeries]:
    """Return the field's eight exchange rates, each a series of its own."""
    whole = data.exchange_rate_benchmark()
    return [whole.only(column) for column in whole.columns]


WITH_LOADS = ("ridge, 96", "ridge with all columns, 96", "Informer, all columns")
WITH_HOLIDAYS = ("ridge, 96", "ridge with holidays, 96", "Informer with holidays")
TASKS = (
    *(Task(name="ETTh1", horizon=h, series=oil) for h in (24, 48, 96, 168, 192, 336, 720)),
    Task(name="ETTh1, each column", horizon=96, series=each_column),
    *(Task(name="pedestrians", horizon=h, series=street) for h in (24, 168)),
    Task(
        name="exchange",
        horizon=30,
        series=currencies,
        ends=(0.7, 0.8, 1.0),  # as the field cuts it
        seasons=(("five rows", 5),),
    ),
    Task(name="ETTh1 and loads", horizon=24, series=oil_and_loads, rows=WITH_LOADS),
    Task(
        name="pedestrians and holidays",
        horizon=24,
        series=street_and_holidays,
        rows=WITH_HOLIDAYS,
    ),
)


def recipe_of(row: str, horizon: int) -> Recipe:
    """Return how the network of a row is trained for a horizon."""
    if row in ("NLinear", "DLinear"):
        return Recipe(1000, 64, lr=0.005 if row == "NLinear" else 0.002, weight_decay=0.0)
    if row == "PatchTST":
        return Recipe(300, 64, every=25, lr=0.002)
    table = PLAIN if row == "Informer, plain" else RELATIVE
    return table[max(known for known in table if known <= horizon)]


def _sizes(windows: dict[str, Any]) -> tuple[int, int]:
    return windows["context"], windows["horizon"]


def patch_tst(windows: dict[str, Any]) -> nn.Module:
    """Return a small PatchTST (Nie et al. 2023) with RevIN (Kim et al. 2022)."""
    context, horizon = _sizes(windows)
    config = PatchConfig(context=context, horizon=horizon, dropout=0.4)
    return InstanceNorm(PatchTransformer(config, norm=nn.LayerNorm, norm_first=True))


@dataclass(frozen=True)
class Network:
    """A row that is trained: its past, what makes it, and on which seasons it can stand."""

    past: int
    make: Callable[[dict[str, Any]], nn.Module]
    hourly: bool = False


NETWORKS = {
    "NLinear": Network(LONG, lambda sizes: RelativeToLast(OneLayer(*_sizes(sizes)))),
    "DLinear": Network(LONG, lambda sizes: Decomposed(*_sizes(sizes))),
    "PatchTST": Network(LONG, patch_tst),
    "Informer, plain": Network(SHORT, informer),
    "Informer, relative": Network(SHORT, lambda sizes: RelativeToLast(informer(sizes))),
    "Informer, relative, hour": Network(
        SHORT, lambda sizes: RelativeToLast(informer(sizes, HourEmbedding)), hourly=True
    ),
    "Informer, all columns": Network(SHORT, lambda sizes: RelativeToLast(informer(sizes))),
    "Informer with holidays": Network(SHORT, lambda sizes: RelativeToLast(informer(sizes))),
}
MEAN, SEEDS_MEAN = "Informer, mean of the last two", "PatchTST, mean of the seeds"
LONG_MEAN = "mean of NLinear and PatchTST"
PARTS = {
    LONG_MEAN: ("NLinear", "PatchTST"),
    MEAN: ("Informer, relative", "Informer, relative, hour"),
}
SPECIAL = {*WITH_LOADS[1:], *WITH_HOLIDAYS[1:]}


def rows_of(task: Task) -> list[str]:
    """List the rows of a task's table."""
    if task.rows:
        return list(task.rows)
    rules = ["last value", *(f"seasonal naive, {name}" for name, _ in task.seasons)]
    hourly = dict(task.seasons).get("day") == 24
    trained = [
        name for name, one in NETWORKS.items() if name not in SPECIAL and hourly >= one.hourly
    ]
    means = [SEEDS_MEAN, LONG_MEAN, *([MEAN] if hourly else [])]
    return [*rules, f"ridge, {SHORT}", f"ridge, {LONG}", *trained, *means]


def past_of(row: str) -> int:
    """Return the steps that the windows of a row offer."""
    if row in NETWORKS:
        return NETWORKS[row].past
    return SHORT if row.endswith(str(SHORT)) or row == MEAN else LONG


class LinearInColumns(nn.Module):
    """A linear map from the last T values of every column, counted from their last, to P steps."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = nn.Parameter(bias, requires_grad=False)

    def forward(self, past: Tensor, known: Tensor, marks: Tensor) -> Tensor:
        """Return the forecast of column 0."""
        changes = (past - past[:, -1:]).double().flatten(1)
        return (past[:, -1:, 0] + changes @ self.weight + self.bias).to(past.dtype)


def fit_ridge(task: Task, row: str) -> Forecaster:
    """Return the linear model of a row with the penalty that the validation likes best."""
    cuts = task.cut(past_of(row))
    train = JoinedWindows([splits.train for splits in cuts])
    (past, steps, _), target = train.take(torch.arange(len(train)))
    known, columns = None, ()
    if "holidays" in row:
        known, columns = torch.cat([past, steps], 1)[..., train.known], train.known
    best: tuple[float, Forecaster | None] = (math.inf, None)
    for penalty in PENALTIES:
        strength = penalty * len(train) / 8000
        model: Forecaster
        if "all columns" in row:
            level = past[:, -1:, 0]
            flat = (past - past[:, -1:]).flatten(1)
            fitted = fit_linear(flat, target - level, strength, relative=False)
            model = LinearInColumns(fitted.weight.data, fitted.bias.data)
        else:
            model = fit_linear(past[..., 0], target, strength, known=known, columns=columns)
        error = mean(score_forecasts(model, splits.valid).mse for splits in cuts)
        if error < best[0]:
            best = error, model
    assert best[1] is not None
    return best[1]


def judge(model: Forecaster, cuts: Sequence[Splits]) -> dict[str, float]:
    """Score a forecaster on validation and test; calibrate its bands on the one, test them."""
    valid = [score_forecasts(model, splits.valid) for splits in cuts]
    test = [score_forecasts(model, splits.test) for splits in cuts]
    bands = [calibrate_bands(score, 0.8) for score in valid]
    covered = [measure_coverage(*pair).mean().item() for pair in zip(bands, test, strict=True)]
    return {
        "valid": mean(score.mse for score in valid),
        "test": mean(score.mse for score in test),
        "mae": mean(score.mae for score in test),
        "coverage": mean(covered),
        "parameters": test[0].parameters,
        "windows": test[0].windows,
    }


def last_mase(model: Forecaster, cuts: Sequence[Splits], season: int) -> float:
    """Return the mean MASE of the forecasts of each series' last rows."""
    found = []
    for splits in cuts:
        test = splits.test
        inputs, target = test.take(torch.tensor([len(test) - 1]))
        with torch.no_grad():
            forecast = model(*inputs)
        before = splits.series.values[: -test.horizon, 0]
        unscaled = (splits.scaler.unscale(x.double()) for x in (target, forecast))
        found.append(mase(*unscaled, before, season))
    return mean(found)


def rule(row: str, task: Task) -> Forecaster:
    """Return a forecaster of one line."""
    if row == "last value":
        return last_value
    return seasonal_naive(dict(task.seasons)[row.partition(", ")[2]])


def train(task: Task, row: str, seed: int) -> tuple[nn.Module, dict[str, Any]]:
    """Train the network of a row; return it, and what is worth keeping of the training."""
    cuts = task.cut(NETWORKS[row].past)
    parts = ([splits.train for splits in cuts], [splits.valid for splits in cuts])
    windows, valid = (JoinedWindows(part) for part in parts)
    torch.manual_seed(seed)
    model = NETWORKS[row].make(windows.sizes)
    recipe = recipe_of(row, task.horizon)
    recipe = replace(recipe, thin=recipe.thin * len(cuts))
    model, seconds, curve = train_forecaster(model, recipe, windows, valid, seed)
    return model, {"seconds": seconds, "curve": curve}


def weights_file(task: Task, row: str, seed: int) -> Path:
    """Return where trained weights are kept."""
    name = f"{task.key} {row} {seed}".replace(", ", "-").replace(" ", "_")
    return BUILD / f"{name}.pt"


def trained(task: Task, row: str, seed: int) -> tuple[nn.Module, dict[str, Any]]:
    """Return a row's network, out of its file or trained now, and what was kept of the training."""
    file = weights_file(task, row, seed)
    model = NETWORKS[row].make(task.cut(NETWORKS[row].past)[0].train.sizes)
    if file.exists():
        kept = torch.load(file, weights_only=True)
        model.load_state_dict(kept["weights"])
        return model.eval(), kept["training"]
    model, training = train(task, row, seed)
    file.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"weights": model.state_dict(), "training": training}, file)
    return model, training


def forecasters(task: Task, row: str) -> Iterator[tuple[Forecaster, dict[str, Any]]]:
    """Yield the forecasters of a row, one for each seed, and what is known of their training."""
    if row.startswith("ridge"):
        yield fit_ridge(task, row), {}
    elif row in PARTS:
        for seed in SEEDS:
            yield MeanForecast([trained(task, part, seed)[0] for part in PARTS[row]]), {}
    elif row == SEEDS_MEAN:
        yield MeanForecast([trained(task, "PatchTST", seed)[0] for seed in SEEDS]), {}
    elif row in NETWORKS:
        for seed in SEEDS:
            yield trained(task, row, seed)
    else:
        yield rule(row, task), {}


def measure(task: Task) -> dict[str, list[dict[str, Any]]]:
    """Measure every row of a task that isn't there yet; keep the rows after each."""
    file = BUILD / f"{task.key}.json"
    rows = json.loads(file.read_text("utf-8")) if file.exists() else {}
    for row in rows_of(task):
        if row in rows:
            continue
        cuts, found = task.cut(past_of(row)), []
        for model, training in forecasters(task, row):
            run = judge(model, cuts) | training
            if task.name == "exchange":
                run["mase"] = last_mase(model, cuts, dict(task.seasons)["five rows"])
            found.append(run)
            print(task.key, row, *(f"{run[part]:.4f}" for part in ("valid", "test")), flush=True)
        rows[row] = found
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(rows), "utf-8")
    return rows


def cover(model: Forecaster, cuts: Sequence[Splits]) -> float:
    """Return how many test targets lie in bands of 80 % that move along, a mean over the series."""
    covered = []
    for splits in cuts:
        valid, test = (score_forecasts(model, part) for part in (splits.valid, splits.test))
        within = test.errors.abs() <= roll_margins(valid, test, 0.8, MEMORY)
        covered.append(within.double().mean().item())
    return mean(covered)


def measure_bands() -> dict[str, dict[str, float]]:
    """Return the coverage of bands that move along: a rule, a ridge and a network for each task."""
    found: dict[str, dict[str, float]] = {}
    for task in TASKS:
        if not task.rows:
            found[task.key] = {}
            for row in ("last value", f"ridge, {LONG}", "PatchTST"):
                model, _ = next(forecasters(task, row))  # of a network, the first seed
                found[task.key][row] = cover(model, task.cut(past_of(row)))
            print(task.key, found[task.key], flush=True)
    (BUILD / "bands.json").write_text(json.dumps(found), "utf-8")
    return found


def keep_costs() -> None:
    """Measure what a step costs, and keep it."""
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / "costs.json").write_text(json.dumps(measure_costs()), "utf-8")


def confirm() -> dict[str, dict[str, list[float]]]:
    """Score the rows of ETTh1's oil temperature on its last rows, which chose nothing."""
    found: dict[str, dict[str, list[float]]] = {}
    for task in TASKS:
        if task.name != "ETTh1":
            continue
        found[task.key] = {}
        for row in rows_of(task):
            (splits,) = task.cut(past_of(row))
            start, stop = CONFIRMED
            last: ForecastWindows = replace(splits.test, start=start, stop=stop)
            errors = [score_forecasts(model, last).mse for model, _ in forecasters(task, row)]
            found[task.key][row] = errors
            print(task.key, row, *(f"{error:.4f}" for error in errors), flush=True)
    (BUILD / "confirmation.json").write_text(json.dumps(found), "utf-8")
    return found


def main(arguments: Sequence[str]) -> None:
    """Run the tasks that were asked for."""
    os.environ["COURSEKIT_PLAIN"] = "1"
    torch.set_num_threads(1)
    extras = {"--confirm": confirm, "--bands": measure_bands, "--costs": keep_costs}
    if asked := [extra for option, extra in extras.items() if option in arguments]:
        for extra in asked:
            extra()
        return
    for task in TASKS:
        if not arguments or any(task.key.startswith(name) for name in arguments):
            measure(task)


if __name__ == "__main__":
    main(sys.argv[1:])
