"""What is done in a clone of the course: `python -m tools run`, `… build`, `… record`, `… lock`."""

import argparse
import sys
from typing import TYPE_CHECKING

from coursekit import settings

if TYPE_CHECKING:
    from tools.run import Result
    from tools.source import Lesson


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools")
    commands = parser.add_subparsers(dest="command", required=True)
    execute = commands.add_parser("run", help="run the notebooks and print the table of results")
    build = commands.add_parser("build", help="build notebooks/*.ipynb from notebooks/src")
    commands.add_parser("lock", help="write requirements.lock from this environment")
    record = commands.add_parser("record", help="make the longer runs that lessons show, once each")
    record.add_argument("name", nargs="?", help="of one run; all without")
    record.add_argument("--force", action="store_true", help="also if it is recorded already")
    record.add_argument("--device", help="where to compute, such as cuda (cpu)")
    build.add_argument("--check", action="store_true", help="only look whether they are fresh")
    for command in (execute, build):
        command.add_argument(
            "notebook", nargs="?", help="its number, such as 06; 06+ with its side lessons"
        )
        command.add_argument("--force", action="store_true", help="also if nothing has changed")
        command.add_argument("--jobs", type=int, default=2, help="notebooks at a time (2)")
        command.add_argument("--device", help="where to compute, such as cuda (cpu)")
    wanted = parser.parse_args(arguments)
    work = {"lock": _lock, "run": _run, "build": _build, "record": _record}[wanted.command]
    try:
        return work(wanted)
    except (ModuleNotFoundError, OSError, ValueError) as problem:
        if isinstance(problem, ModuleNotFoundError):
            problem = f"{problem}: run 'pip install -e \".[offline,course,test]\"' first"
        print(f"tools: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ntools: interrupted", file=sys.stderr)
        return 130


def _run(wanted: argparse.Namespace) -> int:
    from tools import report, source

    lessons = source.find_lessons(source.find_root(), wanted.notebook)
    return not report.print_report(lessons, _execute(lessons, wanted))


def _build(wanted: argparse.Namespace) -> int:
    from tools import publish, report, source

    lessons = source.find_lessons(source.find_root(), wanted.notebook)
    if wanted.check:
        faults = [fault for lesson in lessons for fault in publish.find_faults(lesson)]
        print("\n".join(faults) or f"fresh: {', '.join(lesson.name for lesson in lessons)}")
        return bool(faults)
    results = _execute(lessons, wanted)
    held = report.print_report(lessons, results)
    if held:
        for lesson, result in zip(lessons, results, strict=True):
            publish.publish(lesson, result)
            print(f"wrote notebooks/{lesson.name}.ipynb")
        publish.refresh_boards(source.find_root())
    return not held


def _execute(lessons: "list[Lesson]", wanted: argparse.Namespace) -> "list[Result]":
    from tools import run

    if wanted.device:
        from coursekit.device import pick_device

        settings.use_device(str(pick_device(wanted.device)))
    return run.run_lessons(lessons, force=wanted.force, jobs=wanted.jobs)


def _record(wanted: argparse.Namespace) -> int:
    from tools import record, source
    from tools.recipes import RECIPES

    options = {"force": wanted.force, "device": wanted.device}
    record.make_records(RECIPES, source.find_root(), wanted.name, **options)
    return 0


def _lock(wanted: argparse.Namespace) -> int:
    from tools import lock, source

    lock.write_lock(source.find_root())
    return 0


if __name__ == "__main__":
    sys.exit(main())
