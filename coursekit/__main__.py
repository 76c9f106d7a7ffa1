"""The command line: `python -m coursekit doctor`, `data`, `compare`, `forecast`, `train gpt`."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from coursekit.commands.recipe import Recipe


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m coursekit")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="say what works here, and what to do about the rest")
    listing = commands.add_parser("data", help="list the data sets and where each comes from")
    listing.add_argument("--fetch", action="store_true", help="download what can be had")
    comparing = commands.add_parser("compare", help="set the numbers of your run beside ours")
    comparing.add_argument(
        "file", nargs="?", type=Path, default=Path("build/claims.json"), help="claims of a run"
    )
    _add_forecast(commands.add_parser("forecast", help="forecast a table of your own"))
    _add_train(commands.add_parser("train", help="train a model; also under torchrun"))
    wanted = parser.parse_args(arguments)
    all_work = {"train": _train, "doctor": _doctor, "data": _data, "compare": _compare}
    all_work["forecast"] = _forecast
    work = all_work[wanted.command]
    try:
        return work(wanted)
    except (ModuleNotFoundError, OSError, ValueError, FloatingPointError) as problem:
        lacks = isinstance(problem, ModuleNotFoundError)
        remedy = ": run 'pip install -e \".[offline,course,test]\"' first" if lacks else ""
        print(f"coursekit: {problem}{remedy}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ncoursekit: interrupted", file=sys.stderr)
        return 130


def _doctor(wanted: argparse.Namespace) -> int:
    from coursekit.commands.doctor import examine

    findings = []
    for finding in examine():
        print(finding, flush=True)  # at once: a later one may take a while
        findings.append(finding)
    return int(any(finding.hinders for finding in findings))


def _data(wanted: argparse.Namespace) -> int:
    from coursekit.commands.doctor import list_datasets
    from coursekit.fetch.store import problems

    _print_table(list_datasets(fetch=wanted.fetch))
    for name, problem in problems().items():
        print(f"coursekit: {name} was not downloaded: {problem}", file=sys.stderr)
    return int(bool(problems()))


def _compare(wanted: argparse.Namespace) -> int:
    from coursekit.commands.compare import HEAD, compare_claims

    rows, n = compare_claims(wanted.file)
    if rows:
        _print_table([HEAD, *rows])
    outside = sum(row[-1] == "outside" for row in rows)
    print(f"{n} compared: {len(rows)} differ, {outside} of these lie outside their band")
    return int(outside > 0)


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of texts, the first of which is the head, in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _add_train(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", choices=["gpt"], help="a GPT that reads characters")
    for one in fields(Recipe):
        name = f"--{one.name.replace('_', '-')}"
        command.add_argument(name, type=type(one.default), default=one.default, **one.metadata)
    command.add_argument("--out", type=Path, default=Path("build/gpt"), help="folder (build/gpt)")
    command.add_argument("--every", type=int, default=500, help="steps between checkpoints (500)")
    command.add_argument("--resume", action="store_true", help="go on from the checkpoint in OUT")
    command.add_argument("--device", help="cpu, cuda or mps (COURSEKIT_DEVICE, else cpu)")


def _add_forecast(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("file", type=Path, help="a table as text (CSV), a row for each time, with a head")
    add("--time", required=True, help="the column of times, as 2024-05-17 or 2024-05-17 13:00")
    add("--target", required=True, help="the column to forecast")
    add("--horizon", type=int, required=True, help="rows to forecast")
    add("--known", nargs="+", default=[], help="columns known in advance, such as holidays")
    add("--future", type=Path, help="a table of the rows to come, with the known columns")
    add("--past", type=int, help="rows that are read for a forecast (seven seasons)")
    add("--id", dest="by", default="", help="the column that says of which series a row is")
    add("--unit", default="", help="of the target, such as MW")
    add("--zone", default="", help="where the clocks of the times are, such as Europe/Berlin")
    add("--uneven", action="store_true", help="steps may differ: months, trading days")
    add("--separator", default=",", help="what stands between the cells (,)")
    add("--level", type=float, default=0.8, help="fraction of the truth within the bands (0.8)")
    add("--steps", type=int, default=400, help="steps of the network's training (400)")
    add("--seed", type=int, default=0, help="where the random numbers start (0)")
    add("--seen", help="what you looked at on the last fifth of the rows before, or 'nothing'")
    add("--out", type=Path, default=Path("build/forecast"), help="folder (build/forecast)")


def _forecast(wanted: argparse.Namespace) -> int:
    from coursekit.commands.fit_models import ForecastOptions
    from coursekit.commands.forecast_table import UNSAID, forecast_table
    from coursekit.commands.read_table import TableOptions

    given = vars(wanted) | {"known": tuple(wanted.known)}
    table = TableOptions(**{one.name: given[one.name] for one in fields(TableOptions)})
    options = ForecastOptions(**{one.name: given[one.name] for one in fields(ForecastOptions)})
    seen = UNSAID if wanted.seen is None else wanted.seen
    forecast_table(wanted.file, table, options, wanted.out, wanted.future, seen)
    return 0


def _train(wanted: argparse.Namespace) -> int:
    from coursekit.commands.train_gpt import train_gpt
    from coursekit.training.distributed import LostProcessError

    recipe = Recipe(**{one.name: getattr(wanted, one.name) for one in fields(Recipe)})
    options = {"every": wanted.every, "resume": wanted.resume, "device": wanted.device}
    try:
        train_gpt(recipe, wanted.out, **options)
    except LostProcessError as problem:
        remedy = "to go on, run the same command with --resume"
        print(f"coursekit: {problem}: {remedy}", file=sys.stderr, flush=True)
        os._exit(1)  # a thread of a broken connection can abort Python's usual end
    return 0


if __name__ == "__main__":
    sys.exit(main())
