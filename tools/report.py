"""The tables that a run ends with."""

from tools.publish import committed_claims
from tools.run import Result
from tools.source import Lesson


def print_report(lessons: list[Lesson], results: list[Result]) -> bool:
    """Print what each notebook cost, claimed and used, then the headline claims.

    Returns whether everything held.
    """
    print(f"\n{'notebook':<28} {'seconds':>8} {'peak MB':>8} {'claims held':>12}  data")
    for result in results:
        held = f"{sum(claim['held'] for claim in result.claims)} of {len(result.claims)}"
        data = ", ".join(f"{name} {kind}" for name, kind in sorted(result.data.items())) or "-"
        print(f"{result.name:<28} {result.seconds:>8.1f} {result.megabytes:>8} {held:>12}  {data}")
    rows = [
        (claim["name"], committed_claims(lesson).get(claim["name"]), claim["value"])
        for lesson, result in zip(lessons, results, strict=True)
        for claim in result.claims
        if claim["headline"]
    ]
    if rows:
        print(f"\n{'headline claim':<28} {'canonical':>10} | {'this run':>10}")
        for name, canonical, value in rows:
            print(f"{name:<28} {_number(canonical)} | {_number(value)}")
    for result in results:
        if result.problem:
            print(f"\nFAILED {result.name}, {result.problem}")
    return not any(result.problem for result in results)


def _number(value: float | None) -> str:
    return f"{'-':>10}" if value is None else f"{value:>10.4f}"
