"""The command line: `python -m coursekit doctor`, `… data`, `… compare`, `… train gpt`."""

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
    _add_train(commands.add_parser("train", help="train a model; also under torchrun"))
    wanted = parser.parse_args(arguments)
    all_work = {"train": _train, "doctor": _doctor, "data": _data, "compare": _compare}
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
