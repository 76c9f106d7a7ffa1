"""What `python -m coursekit forecast` does: from a table to a card, a picture and the next rows."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from matplotlib.figure import Figure
from torch import Generator, nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from coursekit.commands.read_table import TableOptions, read_coming, read_series
from coursekit.device import device_of, seed_everything
from coursekit.evaluate.card import HonestyCard
from coursekit.evaluate.forecasts import score_forecasts
from coursekit.forecasting.ahead import AheadForecast, forecast_ahead
from coursekit.forecasting.fitted import FittedForecaster
from coursekit.models.baselines import LinearForecast, fit_linear, last_value, seasonal_naive
from coursekit.models.informer import Informer, InformerConfig
from coursekit.models.relative import RelativeToLast
from coursekit.notebook.pictures import draw_ahead
from coursekit.notebook.plot import use_house_style
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.forecast import (
    Forecaster,
    ForecastWindows,
    Splits,
    draw_forecasts,
    split_windows,
)
from coursekit.windows.future import read_future
from coursekit.windows.season import find_season
from coursekit.windows.series import TimeSeries

if TYPE_CHECKING:
    import pandas  # noqa: ICN001 (annotations name it in full)

ENDS = (0.6, 0.8, 1.0)
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Of the ridge, for each window."""
MOST_ROWS, MOST_WINDOWS, FEWEST_WINDOWS = 30_000, 10_000, 32
LINEAR, NETWORK = "linear", "Informer, relative"


@dataclass(frozen=True, kw_only=True)
class ForecastOptions:
    """How a table is forecast.

    Attributes:
        horizon: rows to come.
        past: rows that are read for it; None: seven seasons, fewer if there are not enough rows.
        level: of the bands.
        steps: of the network's training.
        seed: where its random numbers start.
    """

    horizon: int
    past: int | None = None
    level: float = 0.8
    steps: int = 400
    seed: int = 0

    def __post_init__(self) -> None:
        if (
            min(self.horizon, self.steps, 1 if self.past is None else self.past) < 1
            or not 0 < self.level < 1
        ):
            raise ValueError(
                f"horizon {self.horizon}, steps {self.steps} and past {self.past} must be at least "
                f"1, level {self.level} between 0 and 1, as in 0.8"
            )


def forecast_table(
    file: Path, table: TableOptions, options: ForecastOptions, out: Path, future: Path | None = None
) -> AheadForecast:
    """Compare baselines, a ridge and an Informer; forecast with what the validation prefers.

    Prints the card; writes it, the forecast and its picture into the folder `out`.

    Args:
        file: the table, as text with a head.
        future: a table of the rows to come, with the columns known in advance.

    Raises:
        ValueError: if the table is no series, or too short.
    """
    series = read_series(file, table)
    if len(series) > MOST_ROWS:
        print(f"the last {MOST_ROWS:,} of {len(series):,} rows are read")
        series = series.last(MOST_ROWS)
    coming = None if future is None else read_coming(future, table)
    _refuse_future(series, options.horizon, coming, future)
    season = find_season(series)
    past = options.past or choose_past(len(series), options.horizon, season)
    splits = split_windows(series, past, options.horizon, ENDS)
    models = fit_all(splits, season, options)
    card = write_card(splits, models, season)
    chosen = min(models, key=lambda name: score_forecasts(models[name], splits.valid).mse)
    notes = (
        f"the validation prefers {chosen!r}, so that makes the forecast; "
        f"it was fitted to the first {ENDS[0]:.0%} of {len(series):,} rows",
    )
    ahead = _forecast(models[chosen], splits, options.level, coming)
    _write(out, card, ahead, series, notes)
    return ahead


def _refuse_future(
    series: TimeSeries, horizon: int, coming: "pandas.DataFrame | None", file: Path | None
) -> None:
    """Refuse rows to come that are not there or don't follow: now, not after the training."""
    try:
        read_future(series, horizon, coming)
    except ValueError as problem:
        raise ValueError(f"{file or '--future is needed'}: {problem}") from None


def choose_past(n_rows: int, horizon: int, season: int | None) -> int:
    """Return how many rows to read: seven seasons or two horizons, at most 720 unless one has more.

    Fewer, if not enough windows were left to learn from.

    Raises:
        ValueError: if the training part is too short for a season and `FEWEST_WINDOWS` windows.
    """
    most = round(ENDS[0] * n_rows) - horizon - FEWEST_WINDOWS + 1
    least = season or 1
    if most < least:
        needed = -(-(least + horizon + FEWEST_WINDOWS - 1) * 100 // round(ENDS[0] * 100))
        raise ValueError(
            f"{n_rows} rows are too few for a horizon of {horizon}: give about {needed} or more, "
            f"or ask for a shorter horizon"
        )
    return min(most, max(least, min(720, max(7 * least, 2 * horizon))))


def fit_all(splits: Splits, season: int | None, options: ForecastOptions) -> dict[str, Forecaster]:
    """Return the baselines that make sense, a ridge and a trained Informer, by name."""
    models: dict[str, Forecaster] = {"last value": last_value}
    if season:
        models[f"seasonal naive, {season} rows"] = seasonal_naive(season)
    models[f"{LINEAR}, {splits.train.past} rows"] = fit_best_ridge(splits)
    models[NETWORK] = fit_informer(splits, options)
    return models


def fit_best_ridge(splits: Splits) -> LinearForecast:
    """Return the linear model with the penalty that the validation prefers."""
    train = splits.train
    rows = torch.arange(0, len(train), -(-len(train) // MOST_WINDOWS))
    (past, steps, _), target = train.take(rows)
    known = torch.cat([past, steps], 1)[..., train.known] if train.known else None
    fitted = [
        fit_linear(past[..., 0], target, len(rows) * price, known=known, columns=train.known)
        for price in PENALTIES
    ]
    return min(fitted, key=lambda model: score_forecasts(model, splits.valid).mse)


def fit_informer(splits: Splits, options: ForecastOptions) -> nn.Module:
    """Train a small relative Informer; return its averaged weights where the validation is best."""
    seed_everything(options.seed)
    windows = splits.train
    own: dict[str, Any] = {"n_head": 2, "d_model": 16, "dropout": 0.0}
    config = InformerConfig(**windows.sizes, **own, label_len=min(windows.past, 48))
    model = RelativeToLast(Informer(config, calendar=None))
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.98))
    best: tuple[float, nn.Module] = (float("inf"), model)

    def measure() -> float:
        nonlocal best
        error = _thin_mse(average.module, splits.valid)
        if error < best[0]:
            best = (error, deepcopy(average.module))
        return error

    generator = Generator().manual_seed(options.seed)
    fit(
        model,
        adamw(model, 0.01, weight_decay=0.1),
        draw_forecasts(windows, min(32, len(windows)), generator),
        steps=options.steps,
        loss=F.mse_loss,
        schedule=warm_up_cosine(options.steps),
        clip=1.0,
        measure=measure,
        every=max(options.steps // 8, 1),
        after_step=lambda: average.update_parameters(model),
    )
    return best[1].eval()


def _thin_mse(model: nn.Module, windows: ForecastWindows, most: int = 256) -> float:
    """Return the mean squared error on windows that lie evenly among all."""
    inputs, target = windows.take(torch.arange(0, len(windows), -(-len(windows) // most)))
    with torch.no_grad():
        forecast = model(*(x.to(device_of(model)) for x in inputs))
    return F.mse_loss(forecast.cpu(), target).item()


def write_card(splits: Splits, models: dict[str, Forecaster], season: int | None) -> HonestyCard:
    """Score all on the test windows."""
    scores = {name: score_forecasts(model, splits.test) for name, model in models.items()}
    network = {NETWORK: scores.pop(NETWORK)}
    kinds = {name.partition(",")[0]: name for name in scores}
    without = {} if season else {"seasonal naive": "the steps have no usual season"}
    series = splits.series
    return HonestyCard(
        title=f"{series.name}: {series.columns[0]}, {splits.test.horizon} rows ahead",
        baselines=scores,
        models=network,
        scaler=splits.scaler,
        unit=series.unit,
        kinds=kinds,
        without=without,
    )


def _forecast(
    model: Forecaster, splits: Splits, level: float, coming: "pandas.DataFrame | None"
) -> AheadForecast:
    """Forecast with bands, or without them if there are too few windows, which the notes say."""
    try:
        fitted = FittedForecaster.of(model, splits, level)
    except ValueError as too_few:
        print(f"no bands: {too_few}")
        fitted = FittedForecaster.of(model, splits, None)
    return forecast_ahead(fitted, splits.series, coming)


def _write(
    out: Path, card: HonestyCard, ahead: AheadForecast, series: TimeSeries, notes: tuple[str, ...]
) -> None:
    """Print the card and the notes; keep them with the forecast and its picture."""
    text = "\n".join([str(card), *notes, *ahead.notes])
    print(text)
    out.mkdir(parents=True, exist_ok=True)
    (out / "card.txt").write_text(text + "\n", "utf-8")
    ahead.frame().to_csv(out / "forecast.csv", index=False, float_format="%.6g")
    use_house_style()
    figure = Figure(figsize=(9, 4), layout="constrained")
    draw_ahead(ahead, series, ax=figure.subplots())
    figure.savefig(out / "forecast.png", dpi=120)
    print(f"written: {', '.join(str(out / name) for name in ('forecast.csv', 'forecast.png'))}")
