"""What `python -m coursekit forecast` compares: baselines, a ridge and a small Informer."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from statistics import mean
from typing import Any

import torch
from torch import Generator, nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from coursekit.device import device_of, seed_everything
from coursekit.evaluate.forecasts import score_forecasts
from coursekit.models.baselines import LinearForecast, fit_linear, last_value, seasonal_naive
from coursekit.models.informer import Informer, InformerConfig
from coursekit.models.relative import RelativeToLast
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.forecast import Forecaster, Splits, Windows, draw_forecasts
from coursekit.windows.related import JoinedWindows

ENDS = (0.6, 0.8, 1.0)
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Of the ridge, for each window."""
MOST_WINDOWS, FEWEST_WINDOWS = 10_000, 32
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
        for name in ("horizon", "past", "steps"):
            given = getattr(self, name)
            if given is not None and given < 1:
                raise ValueError(f"{name} {given} must be at least 1")
        if not 0 < self.level < 1:
            raise ValueError(f"level {self.level} must be between 0 and 1, as in 0.8")


def choose_past(n_rows: int, horizon: int, season: int | None) -> int:
    """Return how many rows to read: seven seasons or two horizons, at most 720 unless one has more.

    Fewer, if not enough windows were left to learn from.

    Raises:
        ValueError: if the training part is too short for a season and `FEWEST_WINDOWS` windows, or
            a later part for one.
    """
    least = season or 1
    longest = find_longest_horizon(n_rows, least)
    if longest < horizon:
        needed = next(
            n
            for n in count(max(n_rows, 5 * (horizon - 2)))
            if find_longest_horizon(n, least) >= horizon
        )
        shorter = f", or ask for a horizon of at most {longest}" if longest > 0 else ""
        raise ValueError(
            f"{n_rows:,} rows are too few for a horizon of {horizon}: give {needed:,} or "
            f"more{shorter}"
        )
    most = round(ENDS[0] * n_rows) - horizon - FEWEST_WINDOWS + 1
    return min(most, max(least, min(720, max(7 * least, 2 * horizon))))


def find_longest_horizon(n_rows: int, past: int) -> int:
    """Return how far one can forecast so that every part of the rows holds its windows.

    The training part needs `FEWEST_WINDOWS`, the others one. Less than 1 if it can't be done.
    """
    train, valid, test = (round(end * n_rows) for end in ENDS)
    return min(train - past - FEWEST_WINDOWS + 1, valid - train, test - valid)


def fit_all(
    cuts: Sequence[Splits], season: int | None, options: ForecastOptions
) -> dict[str, Forecaster]:
    """Return the baselines that make sense, a ridge and a trained Informer, by name.

    What is fitted is fitted to the windows of all series together.
    """
    models: dict[str, Forecaster] = {"last value": last_value}
    if season:
        models[f"seasonal naive, {season} rows"] = seasonal_naive(season)
    models[f"{LINEAR}, {cuts[0].train.past} rows"] = fit_best_ridge(cuts)
    models[NETWORK] = fit_informer(cuts, options)
    return models


def validation_mse(model: Forecaster, cuts: Sequence[Splits]) -> float:
    """Return the mean squared error on the validation windows, scaled, each series alike."""
    return mean(score_forecasts(model, splits.valid).mse for splits in cuts)


def fit_best_ridge(cuts: Sequence[Splits]) -> LinearForecast:
    """Return the linear model with the penalty that the validation prefers."""
    train = JoinedWindows([splits.train for splits in cuts])
    rows = torch.arange(0, len(train), -(-len(train) // MOST_WINDOWS))
    (past, steps, _), target = train.take(rows)
    known = torch.cat([past, steps], 1)[..., train.known] if train.known else None
    fitted = [
        fit_linear(past[..., 0], target, len(rows) * penalty, known=known, columns=train.known)
        for penalty in PENALTIES
    ]
    return min(fitted, key=lambda model: validation_mse(model, cuts))


def fit_informer(cuts: Sequence[Splits], options: ForecastOptions) -> nn.Module:
    """Train a small relative Informer; return its averaged weights where the validation is best."""
    seed_everything(options.seed)
    windows = JoinedWindows([splits.train for splits in cuts])
    valid = JoinedWindows([splits.valid for splits in cuts])
    own: dict[str, Any] = {"n_head": 2, "d_model": 16, "dropout": 0.0}
    config = InformerConfig(**windows.sizes, **own, label_len=min(windows.sizes["context"], 48))
    model = RelativeToLast(Informer(config, calendar=None))
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.98))
    best: tuple[float, nn.Module] = (float("inf"), model)

    def measure() -> float:
        nonlocal best
        error = _thin_mse(average.module, valid)
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


def _thin_mse(model: nn.Module, windows: Windows, most: int = 256) -> float:
    """Return the mean squared error on windows that lie evenly among all."""
    inputs, target = windows.take(torch.arange(0, len(windows), -(-len(windows) // most)))
    with torch.no_grad():
        forecast = model(*(x.to(device_of(model)) for x in inputs))
    return F.mse_loss(forecast.cpu(), target).item()
