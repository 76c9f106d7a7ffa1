"""The honesty card: a forecasting result together with all that it must not be read without."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev

from coursekit.evaluate.forecasts import ForecastScore
from coursekit.windows.forecast import Scaler

KINDS = ("last value", "seasonal naive", "linear")
"""Baselines that every result needs, or a reason why not."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HonestyCard:
    """Forecasting errors beside their baselines; shown as a table, or as text if printed.

    Baselines come first. The row with the lowest squared error is marked, whoever that is.

    Attributes:
        title: what is forecast, such as "Oil temperature, 24 hours ahead".
        baselines: their scores, such as {"last value": …, "linear, 336 hours": …}.
        models: scores, one for each seed; of several the mean ± standard deviation is shown.
        scaler: what the series was scaled with.
        unit: of the target.
        kinds: which row of `baselines` each of `KINDS` is: {"linear": "linear, 336 hours", …}.
        without: for each of `KINDS` that makes no sense here, why; the card says so.
        published: mean squared errors, scaled, that others report. They were not measured here.
        seconds: of training, for one seed. Left out, the card is the same on each machine.

    Raises:
        ValueError: if a baseline is missing without a reason, rows were not all scored on the same
            windows, a row has no scores, two have one name, or `seconds`, `kinds` or `without`
            name what is not there.
    """

    title: str
    baselines: Mapping[str, ForecastScore]
    models: Mapping[str, ForecastScore | Sequence[ForecastScore]]
    scaler: Scaler
    unit: str
    kinds: Mapping[str, str] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._refuse_missing_baselines()
        self._refuse_bad_kinds()
        self._refuse_bad_names()
        first = next(iter(self.rows))
        for name, scores in self.rows.items():
            for score in scores:
                _refuse_other_windows(name, score, first, self.rows[first][0])

    def _refuse_missing_baselines(self) -> None:
        given = self.kinds.keys() | self.without.keys()
        missing = tuple(kind for kind in KINDS if kind not in given)
        which = " and say which rows they are: kinds={'linear': 'linear, 336 hours'}"
        if not self.baselines:
            missing = KINDS  # whatever the reasons: a card without any baseline says nothing
            which = ""
        if missing:
            raise ValueError(
                f"baselines missing: {', '.join(missing)}. Score them on the same "
                f"windows (last_value, seasonal_naive, fit_linear){which}, or say why not: "
                "without={'seasonal naive': 'days of trading have no season'}"
            )

    def _refuse_bad_kinds(self) -> None:
        for kind in self.without:
            if kind not in KINDS:
                raise ValueError(f"without={kind!r}: only {', '.join(KINDS)} need a reason")
        for kind, name in self.kinds.items():
            if kind not in KINDS:
                raise ValueError(f"kinds={kind!r}: only {', '.join(KINDS)} are asked for")
            if name not in self.baselines:
                raise ValueError(
                    f"{name!r} is called the {kind} baseline and is none: name one of "
                    f"{', '.join(self.baselines)}"
                )
            if kind in self.without:
                raise ValueError(f"{kind!r} is the row {name!r} and left out: say one of the two")

    def _refuse_bad_names(self) -> None:
        for name in self.models:
            if name in self.baselines:
                raise ValueError(f"{name!r} is a baseline and a model: give one another name")
        for name, scores in self.rows.items():
            if not scores:
                raise ValueError(f"{name!r} has no scores: add one for each seed, or drop the row")
        for name in self.seconds:
            if name not in self.rows:
                raise ValueError(
                    f"seconds are given for {name!r}, which is no row: name one of "
                    f"{', '.join(self.rows)}"
                )

    @property
    def rows(self) -> dict[str, list[ForecastScore]]:
        """The scores of each row, baselines first."""
        rows = {}
        for name, scores in {**self.baselines, **self.models}.items():
            rows[name] = [scores] if isinstance(scores, ForecastScore) else list(scores)
        return rows

    @property
    def best(self) -> str:
        """The row with the lowest mean squared error."""
        return min(self.rows, key=lambda name: mean(score.mse for score in self.rows[name]))

    def table(self) -> list[list[str]]:
        """Return the cells, the head first."""
        unit = self.unit or "own unit"
        square = f"({unit})²" if " " in unit else f"{unit}²"
        head = ["", "MSE, scaled", "MAE, scaled", f"MSE, {square}", f"MAE, {unit}"]
        head += ["look-back", "parameters"]
        if self.seconds:
            head.append("seconds")
        cells = [head]
        for name, scores in self.rows.items():
            in_units = [score.in_units(self.scaler) for score in scores]
            row = [
                name,
                _spread([score.mse for score in scores]),
                _spread([score.mae for score in scores]),
                _spread([score.mse for score in in_units]),
                _spread([score.mae for score in in_units]),
                f"{scores[0].look_back:,}",
                f"{scores[0].parameters:,}",
            ]
            if self.seconds:
                row.append(f"{self.seconds[name]:.0f}" if name in self.seconds else "")
            cells.append(row)
        return cells

    def lines(self) -> list[str]:
        """Return what stands below the table."""
        score = next(iter(self.rows.values()))[0]
        seeds = {name: len(self.rows[name]) for name in self.models}
        lines = [
            f"windows scored: {score.windows:,}, each once, {score.horizon} steps ahead",
            f"scaler: saw the first {self.scaler.n_rows:,} rows, no later ones",
            f"units: a scaled 1 is {_spread([self.scaler.std[0].item()])} {self.unit}".rstrip(),
        ]
        if seeds:
            counted = ", ".join(f"{name} {n}" for name, n in seeds.items())
            lines.append(f"seeds: {counted} (± is the standard deviation over them)")
        lines += [f"no {kind}: {reason}" for kind, reason in self.without.items()]
        if self.published:
            others = ", ".join(f"{name} {mse:g}" for name, mse in self.published.items())
            lines.append(f"published, not measured here (MSE, scaled): {others}")
        return lines

    def __str__(self) -> str:
        cells = [[*row, "← best" if row[0] == self.best else ""] for row in self.table()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        text = [self.title]
        for name, *others in cells:
            right = (cell.rjust(n) for cell, n in zip(others[:-1], widths[1:-1], strict=True))
            text.append("  ".join([name.ljust(widths[0]), *right, others[-1]]).rstrip())
        return "\n".join([*text, *self.lines()])

    def _repr_markdown_(self) -> str:
        head, *rows = self.table()
        marked = [
            [f"**{cell}**" if cell else "" for cell in row] if row[0] == self.best else row
            for row in rows
        ]
        rule = [":--"] + ["--:"] * (len(head) - 1)
        text = ["| " + " | ".join(row) + " |" for row in (head, rule, *marked)]
        below = [f"- {line}" for line in self.lines()]
        return "\n".join([f"**{self.title}**", "", *text, "", *below])


def _refuse_other_windows(
    name: str, score: ForecastScore, first: str, reference: ForecastScore
) -> None:
    if (score.windows, score.horizon) != (reference.windows, reference.horizon):
        raise ValueError(
            f"{name!r} was scored on {score.windows} windows of {score.horizon} steps, {first!r} "
            f"on {reference.windows} of {reference.horizon}: score all on the same"
        )
    if not math.isclose(score.target_mean, reference.target_mean, rel_tol=1e-6, abs_tol=1e-6):
        raise ValueError(
            f"{name!r} was scored on other targets than {first!r}, or in another scale: cut the "
            "windows with the same ends and scaler"
        )


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
