"""The honesty card: a forecasting result together with all that it must not be read without."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev

from coursekit.evaluate.card_rules import (
    SEASONAL,
    refuse_bad_kinds,
    refuse_bad_names,
    refuse_bad_validation,
    refuse_missing,
    refuse_other_unit,
    refuse_other_windows,
    refuse_silence,
    refuse_unknown,
)
from coursekit.evaluate.forecasts import ForecastScore, naive_error
from coursekit.windows.forecast import Scaler
from coursekit.windows.season import find_season
from coursekit.windows.series import TimeSeries

Scores = Mapping[str, ForecastScore | Sequence[ForecastScore]]
"""Of each row one score, or one for each seed."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HonestyCard:
    """Forecasting errors beside their baselines; shown as a table, or as text if printed.

    Baselines come first. Two rows are marked: the one with the lowest squared error, whoever that
    is, and the one that the validation chooses, which is what could be had without the test. The
    card finds both by itself.

    Attributes:
        title: what is forecast, such as "Oil temperature, 24 hours ahead".
        baselines: their scores, such as {"last value": …, "linear, 336 hours": …}.
        models: scores, one for each seed; of several the mean ± standard deviation is shown.
        series: what is forecast, in its unit; several, if each row is scored over all of them.
        scaler: what the series was scaled with.
        validation: the scores of the same rows on windows before the test's.
        seen: what was looked at on the test windows before; "nothing", if that is so.
        kinds: which row of `baselines` is the last value, the seasonal naive rule, a linear model:
            {"linear": "linear, 336 hours", …}. Without a season in the calendar, no second one.
        published: mean squared errors, scaled, that others report. They were not measured here.
        seconds: of training, for one seed. Left out, the card is the same on each machine.

    Raises:
        ValueError: if a baseline is missing or reads what its rule would not, a row has no score
            or none of validation, rows were not all scored on the same windows, those of
            validation are not before the test's, it isn't said what was seen, two rows have one
            name, or `seconds` or `kinds` name what is not there.
    """

    title: str
    baselines: Mapping[str, ForecastScore]
    models: Scores
    series: TimeSeries | Sequence[TimeSeries]
    scaler: Scaler
    validation: Scores = field(default_factory=dict)
    seen: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_other_unit(self.all_series, self.scaler)
        refuse_missing(self.baselines, self.kinds, self.season)
        refuse_bad_kinds(self.baselines, self.kinds, self.season)
        refuse_bad_names(self.rows, self.baselines, self.models)
        refuse_unknown("seconds", self.seconds, self.rows)
        refuse_other_windows(self.rows)
        refuse_bad_validation(self.rows, _as_lists(self.validation))
        refuse_silence(self.seen)

    @property
    def all_series(self) -> list[TimeSeries]:
        """What is forecast, each series by itself."""
        return [self.series] if isinstance(self.series, TimeSeries) else list(self.series)

    @property
    def season(self) -> int | None:
        """The rows of a season by the calendar; None if it has none that training rows hold."""
        season = find_season(self.all_series[0])
        return season if season and season < self.scaler.n_rows else None

    @property
    def rows(self) -> dict[str, list[ForecastScore]]:
        """The scores of each row, baselines first."""
        return _as_lists({**self.baselines, **self.models})

    @property
    def best(self) -> str:
        """The row with the lowest mean squared error."""
        return min(self.rows, key=lambda name: mean(score.mse for score in self.rows[name]))

    @property
    def chosen(self) -> str:
        """The row with the lowest mean squared error in validation."""
        found = _as_lists(self.validation)
        return min(self.rows, key=lambda name: mean(score.mse for score in found[name]))

    @property
    def divisor(self) -> float | None:
        """MASE's: the mean absolute error, in units, of the seasonal naive rule in training.

        Without a season, that of the last value. None if it is 0, so that there is no MASE.
        """
        seen = [one.values[: self.scaler.n_rows, 0] for one in self.all_series]
        try:
            return mean(naive_error(values, self.season or 1) for values in seen)
        except ValueError:
            return None

    def table(self) -> list[list[str]]:
        """Return the cells, the head first."""
        unit = self.all_series[0].unit or "own unit"
        square = f"({unit})²" if " " in unit else f"{unit}²"
        head = ["", "MSE, validation", "MSE, scaled", "MAE, scaled", f"MSE, {square}"]
        head += [f"MAE, {unit}", "MASE", "look-back", "parameters", "seconds"]
        cells, validation = [head], _as_lists(self.validation)
        for name, scores in self.rows.items():
            in_units = [score.in_units(self.scaler) for score in scores]
            scaled = [score.mae / (self.divisor or math.inf) for score in in_units]
            seconds = self.seconds.get(name)
            cells.append(
                [
                    name,
                    _spread([score.mse for score in validation[name]]),
                    _spread([score.mse for score in scores]),
                    _spread([score.mae for score in scores]),
                    _spread([score.mse for score in in_units]),
                    _spread([score.mae for score in in_units]),
                    _spread(scaled),
                    _look_back(scores),
                    f"{scores[0].parameters:,}",
                    "" if seconds is None else f"{seconds:.0f}",
                ]
            )
        left_out = {"MASE": self.divisor is None, "seconds": not self.seconds}
        kept = [i for i, name in enumerate(head) if not left_out.get(name, False)]
        return [[row[i] for i in kept] for row in cells]

    def lines(self) -> list[str]:
        """Return what stands below the table."""
        score, unit = next(iter(self.rows.values()))[0], self.all_series[0].unit
        seeds = {name: len(self.rows[name]) for name in self.models}
        step = "step" if score.horizon == 1 else "steps"
        lines = [
            f"windows scored: {score.windows:,}, each once, {score.horizon} {step} ahead",
            *self._say_choice(),
            f"seen on the test windows before: {self.seen.strip()}",
            f"scaler: saw the first {self.scaler.n_rows:,} rows, no later ones",
            f"units: a scaled 1 is {_spread([self.scaler.std[0].item()])} {unit}".rstrip(),
            self._say_divisor(),
            self._say_look_back(),
        ]
        if seeds:
            counted = ", ".join(f"{name} {n}" for name, n in seeds.items())
            lines.append(f"seeds: {counted} (± is the standard deviation over them)")
        if not self.season and SEASONAL not in self.kinds:
            season = find_season(self.all_series[0])
            held = f"{self.scaler.n_rows} training rows don't hold a season of {season}"
            lines.append(f"no seasonal naive: {held if season else 'the steps have no season'}")
        if self.published:
            others = ", ".join(f"{name} {mse:g}" for name, mse in self.published.items())
            lines.append(f"published, not measured here (MSE, scaled): {others}")
        return lines

    def _say_choice(self) -> list[str]:
        """Say what validation chooses, and what that costs where another row is best."""
        valid = next(iter(_as_lists(self.validation).values()))[0]
        where = f", in rows {valid.span[0]:,} to {valid.span[1] - 1:,}" if valid.span else ""
        lines = [f"validation: {valid.windows:,} windows{where}; it chooses {self.chosen}"]
        if self.chosen != self.best:
            taken, best = (
                _spread([mean(score.mse for score in self.rows[name])])
                for name in (self.chosen, self.best)
            )
            lines.append(
                f"the two marks differ: only the test shows that {self.best} is best. Without it "
                f"one takes {self.chosen}, with an MSE of {taken} instead of {best}"
            )
        return lines

    def _say_divisor(self) -> str:
        season = f"the seasonal naive rule ({self.season} rows back)"
        rule = season if self.season else "the last value"
        rows = f"the {self.scaler.n_rows:,} training rows"
        if self.divisor is None:
            return f"no MASE: on {rows}, {rule} has no error to divide by"
        size = f"{_spread([self.divisor])} {self.all_series[0].unit}".rstrip()
        return f"MASE: MAE divided by {size}, that of {rule} on {rows} (Hyndman and Koehler 2006)"

    def _say_look_back(self) -> str:
        """Say which look-backs were measured."""
        stated = [name for name, scores in self.rows.items() if None in {s.reads for s in scores}]
        measured = (
            "look-back: steps that a forecast depends on, found by trial, of those that a window "
            "holds"
        )
        if len(stated) == len(self.rows):
            return "look-back: as stated, not measured"
        return f"{measured}; as stated: {', '.join(stated)}" if stated else measured

    def _mark(self, name: str) -> str:
        marks = {"best": self.best, "chosen by validation": self.chosen}
        words = [words for words, row in marks.items() if row == name]
        return f"← {', '.join(words)}" if words else ""

    def __str__(self) -> str:
        cells = [[*row, self._mark(row[0])] for row in self.table()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        text = [self.title]
        for name, *others in cells:
            right = (cell.rjust(n) for cell, n in zip(others[:-1], widths[1:-1], strict=True))
            text.append("  ".join([name.ljust(widths[0]), *right, others[-1]]).rstrip())
        return "\n".join([*text, *self.lines()])

    __repr__ = __str__  # not all numbers that it rests on

    def _repr_markdown_(self) -> str:
        head, *rows = self.table()
        bold = [
            [f"**{cell}**" if cell else "" for cell in row] if row[0] == self.best else row
            for row in rows
        ]
        marks = [self._mark(row[0]) for row in rows]
        marked = [[*row, mark] for row, mark in zip(bold, marks, strict=True)]
        rule = [":--"] + ["--:"] * (len(head) - 1) + [":--"]
        text = ["| " + " | ".join(row) + " |" for row in ([*head, ""], rule, *marked)]
        below = [f"- {line}" for line in self.lines()]
        return "\n".join([f"**{self.title}**", "", *text, "", *below])


def _as_lists(scores: Scores) -> dict[str, list[ForecastScore]]:
    """Return the scores of each row as a list, one alone as well."""
    return {
        name: [found] if isinstance(found, ForecastScore) else list(found)
        for name, found in scores.items()
    }


def _look_back(scores: Sequence[ForecastScore]) -> str:
    """Write what is read, and beside it what a window holds if that is more."""
    offered, reads = scores[0].look_back, [score.reads for score in scores]
    most = offered if None in reads else max(n for n in reads if n is not None)
    return f"{offered:,}" if most == offered else f"{most:,} of {offered:,}"


def _spread(values: Sequence[float]) -> str:
    """Write the mean and, of several values, their standard deviation."""
    centre = mean(values)
    decimals = _decimals(centre)
    if len(values) == 1:
        return f"{centre:,.{decimals}f}"
    return f"{centre:,.{decimals}f} ± {stdev(values):,.{decimals}f}"


def _decimals(value: float) -> int:
    """Count the decimals that show three digits of a number; none from 100 on."""
    if value == 0:
        return 2
    return max(2 - math.floor(math.log10(abs(value))), 0)
