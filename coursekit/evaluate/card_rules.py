"""What the honesty card refuses: each rule says what is wrong and what to do."""

import math
from collections.abc import Mapping, Sequence

from coursekit.evaluate.forecasts import ForecastScore
from coursekit.windows.forecast import Scaler
from coursekit.windows.season import find_season
from coursekit.windows.series import TimeSeries

LAST, SEASONAL, LINEAR = KINDS = ("last value", "seasonal naive", "linear")
"""Baselines that every result needs; the seasonal one where the calendar has a season."""

Rows = Mapping[str, Sequence[ForecastScore]]
"""The scores of each row, one for each seed."""


def refuse_other_unit(series: Sequence[TimeSeries], scaler: Scaler) -> None:
    """Refuse a scaler that can't have seen the series: MASE would be wrong by their ratio."""
    if len({(find_season(one), one.unit) for one in series}) != 1:
        raise ValueError("series: give one or more, of one unit and with steps of one length")
    own = Scaler.fit(series[0].values[: scaler.n_rows]).std[0].item()
    size = scaler.std[0].item()
    if not 0.1 < size / own < 10:
        raise ValueError(
            f"a scaled 1 is {size:.3g}, but the series spreads by {own:.3g} over the first "
            f"{scaler.n_rows} rows: give series and scaler in the same unit"
        )


def refuse_missing(
    baselines: Mapping[str, ForecastScore], kinds: Mapping[str, str], season: int | None
) -> None:
    """Refuse a card without one of `KINDS`, unless it is the season of a series without any."""
    wanted = [kind for kind in KINDS if kind != SEASONAL or season]
    missing = [kind for kind in wanted if kind not in kinds]
    which = " and say which rows they are: kinds={'linear': 'linear, 336 hours'}"
    if not baselines:
        missing, which = wanted, ""
    if missing:
        rules = {LAST: "last_value", SEASONAL: f"seasonal_naive({season})", LINEAR: "fit_linear"}
        named = ", ".join(rules[kind] for kind in missing)
        raise ValueError(
            f"baselines missing: {', '.join(missing)}. Score them on the same windows ({named})"
            f"{which}"
        )


def refuse_bad_kinds(
    baselines: Mapping[str, ForecastScore], kinds: Mapping[str, str], season: int | None
) -> None:
    """Refuse a baseline that is not there, or reads what that rule would not read."""
    for kind, name in kinds.items():
        if kind not in KINDS:
            raise ValueError(f"kinds={kind!r}: only {', '.join(KINDS)} are asked for")
        if name not in baselines:
            raise ValueError(
                f"{name!r} is called the {kind} baseline and is none: name one of "
                f"{', '.join(baselines)}"
            )
        reads = baselines[name].reads
        right = "1" if kind == LAST else f"{season or 1}, or a multiple"
        if kind == LINEAR or reads is None:
            continue
        if (reads != 1) if kind == LAST else (not reads or reads % (season or 1)):
            raise ValueError(
                f"{name!r} is called the {kind} baseline and has a look-back of {reads} instead "
                f"of {right}: name the row that it is, or score the rule itself"
            )


def refuse_bad_names(
    rows: Rows, baselines: Mapping[str, object], models: Mapping[str, object]
) -> None:
    """Refuse a name that stands for two rows, and a row without a score."""
    for name in models:
        if name in baselines:
            raise ValueError(f"{name!r} is a baseline and a model: give one another name")
    for name, scores in rows.items():
        if not scores:
            raise ValueError(f"{name!r} has no scores: add one for each seed, or drop the row")


def refuse_unknown(what: str, names: Mapping[str, object], rows: Rows) -> None:
    """Refuse a name that is no row."""
    for name in names:
        if name not in rows:
            raise ValueError(
                f"{what} are given for {name!r}, which is no row: name one of {', '.join(rows)}"
            )


def refuse_other_windows(rows: Rows, where: str = "") -> None:
    """Refuse rows that were not all scored on the same windows, in the same scale."""
    first = next(iter(rows))
    reference = rows[first][0]
    for name, scores in rows.items():
        for score in scores:
            if (score.windows, score.horizon) != (reference.windows, reference.horizon):
                raise ValueError(
                    f"{name!r} was scored{where} on {score.windows} windows of {score.horizon} "
                    f"steps, {first!r} on {reference.windows} of {reference.horizon}: score all on "
                    "the same"
                )
            if not _same_targets(score, reference):
                raise ValueError(
                    f"{name!r} was scored{where} on other targets than {first!r}, or in another "
                    "scale: cut the windows with the same ends and scaler"
                )


def refuse_bad_validation(rows: Rows, validation: Rows) -> None:
    """Refuse a row without its validation scores, and validation on what is judged by."""
    refuse_unknown("validation scores", validation, rows)
    for name, scores in rows.items():
        given = len(validation.get(name, ()))
        if given != len(scores):
            raise ValueError(
                f"{name!r} is scored {len(scores)} × on the test windows, {given} × in validation: "
                f"give as many scores, as in validation={{{name!r}: score_forecasts(model, "
                "splits.valid)}"
            )
    refuse_other_windows(validation, " in validation")
    valid, test = (next(iter(scores.values()))[0] for scores in (validation, rows))
    if valid.horizon != test.horizon:
        raise ValueError(
            f"validation is {valid.horizon} steps ahead, the test {test.horizon}: choose by the "
            "horizon that is judged"
        )
    if valid.span and test.span:
        if valid.span[1] > test.span[0]:
            raise ValueError(
                f"validation targets go up to row {valid.span[1] - 1}, the test's begin at row "
                f"{test.span[0]}: choose by windows before the test, as splits.valid"
            )
    elif valid.windows == test.windows and _same_targets(valid, test):
        raise ValueError(
            "the validation scores are of the test windows: choose by windows before the test"
        )


def refuse_silence(seen: str) -> None:
    """Refuse a card that doesn't say what was seen."""
    if not seen.strip():
        raise ValueError(
            f"{seen=}: say what was looked at on the test windows before, as in seen='scores of "
            "smaller networks'; seen='nothing', if that is so"
        )


def _same_targets(one: ForecastScore, other: ForecastScore) -> bool:
    return math.isclose(one.target_mean, other.target_mean, rel_tol=1e-6, abs_tol=1e-6)
