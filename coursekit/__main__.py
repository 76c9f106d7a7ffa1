"""The command line: `python -m coursekit doctor`, `… data`, `… run`, `… train gpt` and others."""

import argparse
import os
import sys
from dataclasses import fields
from pathlib import Path

from coursekit.training.recipe import Recipe


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m coursekit")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run the notebooks and print the table of results")
    build = commands.add_parser("notebooks", help="build notebooks/*.ipynb from notebooks/src")
    commands.add_parser("doctor", help="say what works here, and what to do about the rest")
    listing = commands.add_parser("data", help="list the data sets and where each comes from")
    listing.add_argument("--fetch", action="store_true", help="download what can be had")
    commands.add_parser("lock", help="write requirements.lock from this environment")
    build.add_argument("--check", action="store_true", help="only look whether they are fresh")
    for command in (run, build):
        command.add_argument("notebook", nargs="?", help="how its name begins, such as 01")
        command.add_argument("--force", action="store_true", help="also if nothing has changed")
        command.add_argument("--jobs", type=int, default=2, help="notebooks at a time (2)")
        command.add_argument("--device", help="where to compute, such as cuda (cpu)")
    _add_train(commands.add_parser("train", help="train a model; also under torchrun"))
    wanted = parser.parse_args(arguments)
    own = {"lock": _lock, "train": _train, "doctor": _doctor, "data": _data}
    work = own.get(wanted.command, _course)
    try:
        return work(wanted)
    except (ModuleNotFoundError, OSError, ValueError, FloatingPointError) as problem:
        if isinstance(problem, ModuleNotFoundError):
            problem = f"{problem}: run 'pip install -e \".[offline,course,test]\"' first"
        print(f"coursekit: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ncoursekit: interrupted", file=sys.stderr)
        return 130


def _course(wanted: argparse.Namespace) -> int:
    from coursekit.course import publish, report, run, source

    if wanted.device:
        from coursekit.device import pick_device

        os.environ["COURSEKIT_DEVICE"] = str(pick_device(wanted.device))
    root = source.find_root()
    lessons = source.find_lessons(root, wanted.notebook)
    if getattr(wanted, "check", False):
        faults = [fault for lesson in lessons for fault in publish.find_faults(lesson)]
        print("\n".join(faults) or f"fresh: {', '.join(lesson.name for lesson in lessons)}")
        return bool(faults)
    results = run.run_lessons(lessons, force=wanted.force, jobs=wanted.jobs)
    held = report.print_report(lessons, results)
    if wanted.command == "notebooks" and held:
        for lesson, result in zip(lessons, results, strict=True):
            publish.publish(lesson, result)
            print(f"wrote notebooks/{lesson.name}.ipynb")
    return not held


def _doctor(wanted: argparse.Namespace) -> int:
    from coursekit.course.doctor import examine

    findings = []
    for finding in examine():
        print(finding, flush=True)  # at once: a later one may take a while
        findings.append(finding)
    return int(any(finding.hinders for finding in findings))


def _data(wanted: argparse.Namespace) -> int:
    from coursekit.course.doctor import list_datasets
    from coursekit.data.store import problems

    head, *rows = list_datasets(fetch=wanted.fetch)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
    for name, problem in problems().items():
        print(f"coursekit: {name} was not downloaded: {problem}", file=sys.stderr)
    return int(bool(problems()))


def _lock(wanted: argparse.Namespace) -> int:
    from coursekit.course import lock, source

    lock.write_lock(source.find_root())
    return 0


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
    from coursekit.training.distributed import LostProcessError
    from coursekit.training.job import train_gpt

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
