"""What `python -m coursekit forecast` does: from a table to a card, a picture and the next rows."""

import re
from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from coursekit.commands.fit_models import (
    ENDS,
    LINEAR,
    NETWORK,
    ForecastOptions,
    choose_past,
    fit_all,
)
from coursekit.commands.read_table import TableOptions, read_coming, read_series
from coursekit.evaluate.card import HonestyCard
from coursekit.evaluate.card_rules import refuse_silence
from coursekit.evaluate.forecasts import ForecastScore, score_forecasts
from coursekit.forecasting.ahead import AheadForecast, forecast_ahead
from coursekit.forecasting.fitted import FittedForecaster
from coursekit.notebook.pictures import draw_ahead
from coursekit.notebook.plot import use_house_style
from coursekit.windows.forecast import Forecaster, ForecastWindows, Splits, split_windows
from coursekit.windows.future import read_future
from coursekit.windows.season import find_season
from coursekit.windows.series import TimeSeries

if TYPE_CHECKING:
    import pandas  # noqa: ICN001 (annotations name it in full)

MOST_ROWS, MOST_SERIES, MOST_PICTURES = 60_000, 50, 6
"""Rows of all series together, so that it takes minutes, and series; how many are drawn."""
WRITTEN = ("card.txt", "forecast.csv", "forecast.png")
UNSAID = "not said (--seen 'nothing', or what was)"


def forecast_table(
    file: Path,
    table: TableOptions,
    options: ForecastOptions,
    out: Path,
    future: Path | None = None,
    seen: str = UNSAID,
) -> dict[str, AheadForecast]:
    """Compare baselines, a ridge and an Informer; forecast with what the validation prefers.

    Prints a card for each series of the table; writes the cards, the forecasts and their picture
    into the folder `out`.

    Args:
        file: the table, as text with a head.
        future: a table of the rows to come, with the columns known in advance.
        seen: what was looked at on the last rows before, which the cards are of.

    Raises:
        ValueError: if the table holds no series, or one that is too short.
    """
    refuse_silence(seen)
    many = _leave_out_old(read_series(file, table))
    coming = {} if future is None else read_coming(future, table, file.stem)
    for name, series in many.items():
        _refuse_future(name, series, options.horizon, coming.get(name), future)
    season = _find_one_season(many)
    past = options.past or choose_past(min(map(len, many.values())), options.horizon, season)
    cuts = {
        name: split_windows(series, past, options.horizon, ENDS) for name, series in many.items()
    }
    models = fit_all([*cuts.values()], season, options)
    valid = {name: score_all(models, splits.valid) for name, splits in cuts.items()}
    chosen = min(models, key=lambda model: mean(scores[model].mse for scores in valid.values()))
    text, ahead = [], {}
    for name, splits in cuts.items():
        ahead[name] = _forecast(models[chosen], splits, options.level, coming.get(name))
        notes = *ahead[name].notes, *tell_of_clocks(splits.series, ahead[name])
        text += [str(write_card(splits, models, valid[name], seen)), *notes, ""]
    together = "" if len(cuts) == 1 else " of all series together"
    fitted = f"; it was fitted to the first {ENDS[0]:.0%} of the rows"
    text.append(
        f"the validation{together} prefers {chosen!r}, so that makes the forecast"
        f"{fitted if chosen.startswith((LINEAR, NETWORK)) else ''}"
    )
    _write(out, "\n".join(text), ahead, many, table.by, options.level)
    return ahead


def _leave_out_old(many: dict[str, TimeSeries]) -> dict[str, TimeSeries]:
    """Return the series without rows that would take too long, and say so."""
    if len(many) > MOST_SERIES:
        raise ValueError(f"{len(many)} series are more than {MOST_SERIES}: forecast a part of them")
    most = MOST_ROWS // len(many)
    longest = max(map(len, many.values()))
    if longest > most:
        print(f"the last {most:,} of {longest:,} rows are read")
    return {name: series.last(min(most, len(series))) for name, series in many.items()}


def _find_one_season(many: dict[str, TimeSeries]) -> int | None:
    """Return the season of all series; refuse those that differ in it."""
    seasons = {name: find_season(series) for name, series in many.items()}
    if len(set(seasons.values())) > 1:
        raise ValueError(
            f"series of different steps, with the seasons {seasons}: forecast them apart"
        )
    return next(iter(seasons.values()))


def _refuse_future(
    name: str,
    series: TimeSeries,
    horizon: int,
    coming: "pandas.DataFrame | None",
    file: Path | None,
) -> None:
    """Refuse rows to come that are not there or don't follow: now, not after the training."""
    try:
        read_future(series, horizon, coming)
    except ValueError as problem:
        raise ValueError(f"{file or '--future is needed'}: {name}: {problem}") from None


def score_all(
    models: Mapping[str, Forecaster], windows: ForecastWindows
) -> dict[str, ForecastScore]:
    """Return the scores of all models on the windows, by name."""
    return {name: score_forecasts(model, windows) for name, model in models.items()}


def write_card(
    splits: Splits,
    models: Mapping[str, Forecaster],
    validation: Mapping[str, ForecastScore],
    seen: str,
) -> HonestyCard:
    """Score all on the test windows."""
    scores = score_all(models, splits.test)
    network = {NETWORK: scores.pop(NETWORK)}
    series = splits.series
    return HonestyCard(
        title=f"{series.name}: {series.columns[0]}, {splits.test.horizon} rows ahead",
        baselines=scores,
        models=network,
        series=series,
        scaler=splits.scaler,
        validation=validation,
        seen=seen,
        kinds={name.partition(",")[0]: name for name in scores},
    )


def _forecast(
    model: Forecaster, splits: Splits, level: float, coming: "pandas.DataFrame | None"
) -> AheadForecast:
    """Forecast with bands, or without them if there are too few windows, which the notes say."""
    try:
        fitted = FittedForecaster.of(model, splits, level)
    except ValueError as too_few:
        remedy = "give more rows or a shorter horizon"
        told = re.sub(r"lengthen the validation part until \d+ fit", remedy, str(too_few))
        print(f"no bands: {told.replace('level=', '--level ')}")
        fitted = FittedForecaster.of(model, splits, None)
    return forecast_ahead(fitted, splits.series, coming)


def tell_of_clocks(series: TimeSeries, ahead: AheadForecast) -> list[str]:
    """Say what happens where clocks are changed within a forecast of parts of a day.

    The models that are compared count rows, which are hours that pass, and read no calendar.
    """
    if not series.step or series.step >= timedelta(days=1):
        return []
    times = [series.times[-1], *ahead.times]
    for before, after in pairwise(times):
        moved = (after.utcoffset() or timedelta()) - (before.utcoffset() or timedelta())
        if moved:
            early = "late" if moved > timedelta() else "early"
            return [
                f"clocks are changed before {after}: the models count hours that pass, so what "
                f"people do by the clock is forecast {abs(moved)} too {early} from there on"
            ]
    return []


def _write(
    out: Path,
    text: str,
    ahead: dict[str, AheadForecast],
    many: dict[str, TimeSeries],
    by: str,
    level: float,
) -> None:
    """Print the text; keep it with the forecasts, one below the other, and their picture."""
    import pandas as pd

    print(text)
    out.mkdir(parents=True, exist_ok=True)
    (out / "card.txt").write_text(text + "\n", "utf-8")
    frames = [one.frame().assign(**{by: name} if by else {}) for name, one in ahead.items()]
    pd.concat(frames).to_csv(out / "forecast.csv", index=False, float_format="%.6g")
    use_house_style()
    drawn = list(ahead)[:MOST_PICTURES]
    figure = Figure(figsize=(9, 1 + 3 * len(drawn)), layout="constrained")
    for ax, name in zip(figure.subplots(len(drawn), squeeze=False)[:, 0], drawn, strict=True):
        draw_ahead(ahead[name], many[name], band=f"{level:.0%} band", ax=ax)
        ax.set_title(name, loc="right")
    figure.savefig(out / "forecast.png", dpi=120)
    print(f"written: {', '.join(str(out / name) for name in WRITTEN)}")
