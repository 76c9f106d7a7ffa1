"""The command line: `python -m coursekit run`, `… notebooks`, `… lock`."""

import argparse
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m coursekit")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run the notebooks and print the table of results")
    build = commands.add_parser("notebooks", help="build notebooks/*.ipynb from notebooks/src")
    commands.add_parser("lock", help="write requirements.lock from this environment")
    build.add_argument("--check", action="store_true", help="only look whether they are fresh")
    for command in (run, build):
        command.add_argument("notebook", nargs="?", help="how its name begins, such as 01")
        command.add_argument("--force", action="store_true", help="also if nothing has changed")
        command.add_argument("--jobs", type=int, default=2, help="notebooks at a time (2)")
    wanted = parser.parse_args(arguments)
    try:
        return _lock() if wanted.command == "lock" else _course(wanted)
    except (ModuleNotFoundError, FileNotFoundError, ValueError) as problem:
        if isinstance(problem, ModuleNotFoundError):
            problem = f"{problem}: run 'pip install -e .[offline,course,test]' first"
        print(f"coursekit: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ncoursekit: interrupted", file=sys.stderr)
        return 130


def _course(wanted: argparse.Namespace) -> int:
    from coursekit.course import publish, report, run, source

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


def _lock() -> int:
    from coursekit.course import lock, source

    lock.write_lock(source.find_root())
    return 0


if __name__ == "__main__":
    sys.exit(main())
