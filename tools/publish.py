"""Turn a run into the notebook that is committed, and check that it still is what it says."""

import ast
import json
from math import inf
from pathlib import Path
from typing import TypeGuard

import nbformat
from nbformat import NotebookNode

from coursekit.notebook.board import write_board
from tools.run import Result, run_solved
from tools.source import (
    NOT_YET,
    Lesson,
    digest,
    find_lessons,
    has,
    load,
    read_times,
    seen_file,
)

LARGEST_NOTEBOOK = 1_000_000
"""Bytes; code hosts stop showing a notebook somewhat above."""


def publish(lesson: Lesson, result: Result) -> None:
    """Write the executed lesson to notebooks/, the same bytes for the same run.

    Raises:
        ValueError: if the run failed or used a stand-in: what is committed is canonical.
    """
    stood_in = [name for name, kind in result.data.items() if kind != "canonical"]
    if result.problem or stood_in:
        raise ValueError(
            f"{lesson.name} is not written to notebooks/: "
            + (result.problem or f"{', '.join(stood_in)} came from a stand-in; set COURSEKIT_DATA")
        )
    executed = nbformat.read(lesson.root / "build/notebooks" / f"{lesson.name}.ipynb", 4)
    if warned := _find_warning(executed):
        raise ValueError(f"{lesson.name} is not written to notebooks/: {warned}")
    _record_time(lesson, result)
    _keep_seen(lesson)
    _keep_values(lesson, result)
    made = load(lesson)  # again, for its header quotes the table just written
    _copy_outputs(executed, made)
    if lesson.notebook.exists():
        _keep_machine_outputs(nbformat.read(lesson.notebook, 4), made)
    made.metadata["coursekit"] = {
        "source": digest(made),
        "data": result.data,
        "claims": result.claims,
    }
    nbformat.validate(made)
    lesson.notebook.write_text(nbformat.writes(made) + "\n", "utf-8")


def find_faults(lesson: Lesson) -> list[str]:
    """List what is wrong with the committed notebook; nothing if it is fresh and whole."""
    if not lesson.notebook.exists():
        return [f"notebooks/{lesson.name}.ipynb does not exist: run 'make notebooks'"]
    committed = nbformat.read(lesson.notebook, 4)
    made = load(lesson)
    faults = []
    if digest(committed) != digest(made):
        faults.append("is not what its source makes: run 'make notebooks', edit only the source")
    if committed.metadata.get("coursekit", {}).get("source") != digest(committed):
        faults.append("was edited after it was executed: run 'make notebooks'")
    counts = [cell.execution_count for cell in committed.cells if cell.cell_type == "code"]
    unrun = [i for i, count in enumerate(counts, 1) if count != i]
    if unrun:
        faults.append(f"code cell {unrun[0]} was never run in order: run 'make notebooks'")
    if warned := _find_warning(committed):
        faults.append(warned)
    if "state" not in committed.metadata.get("widgets", {"state": None}):
        faults.append("has widget metadata without 'state', which code hosts refuse to show")
    size = lesson.notebook.stat().st_size
    if size > LARGEST_NOTEBOOK:
        faults.append(f"has {size:,} bytes, more than {LARGEST_NOTEBOOK:,}: smaller figures")
    return [f"notebooks/{lesson.name}.ipynb {fault}" for fault in faults]


def boards_of(notebook: NotebookNode, lesson: str) -> list[tuple[NotebookNode, str]]:
    """List the cells of a notebook that show a scoreboard, each with what it shows now."""
    found = []
    for cell in notebook.cells:
        if has(cell, "scoreboard"):
            (call,) = (line for line in ast.walk(ast.parse(cell.source)) if _is_board(line))
            options = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
            board = ast.literal_eval(call.args[0])
            found.append((cell, write_board(board, lesson, **options)))
    return found


def refresh_boards(root: Path) -> None:
    """Show in each committed notebook what the lessons before it measured last.

    A lesson that is built anew moves its rows in all others; none of them has to run for that.
    """
    for lesson in find_lessons(root):
        if not lesson.notebook.exists():
            continue
        committed = nbformat.read(lesson.notebook, 4)
        boards = boards_of(committed, lesson.name)
        if any(cell.outputs and shown_by(cell) != text for cell, text in boards):
            for cell, text in boards:
                cell.outputs[0].data["text/markdown"] = text
            lesson.notebook.write_text(nbformat.writes(committed) + "\n", "utf-8")


def shown_by(cell: NotebookNode) -> str:
    """Return the Markdown that a cell displayed."""
    return cell.outputs[0].data["text/markdown"]


def committed_claims(lesson: Lesson) -> dict[str, float]:
    """Return the values that the committed, canonical notebook claims, by name."""
    if not lesson.notebook.exists():
        return {}
    metadata = json.loads(lesson.notebook.read_text("utf-8"))["metadata"].get("coursekit", {})
    return {claim["name"]: claim["value"] for claim in metadata.get("claims", [])}


def printed_by_checks(solved: NotebookNode) -> list[str]:
    """List what the checks of an executed, solved notebook printed."""
    return [
        "".join(output.get("text", "") for output in cell.outputs)
        for cell in solved.cells
        if has(cell, "check")
    ]


def _is_board(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "scoreboard"
    )


def _keep_seen(lesson: Lesson) -> None:
    """Run the lesson solved, and keep what its checks say: readers see it under each check.

    Each cell runs twice, however long it takes: tests/test_solved.py repeats only the quick ones.
    """
    if not any(has(cell, "stub") for cell in load(lesson).cells):
        return
    path = seen_file(lesson)
    path.parent.mkdir(exist_ok=True)
    said = printed_by_checks(run_solved(lesson, again=0 if lesson.name in NOT_YET else inf))
    if lesson.name not in NOT_YET:
        said, repeated = said[::2], said[1::2]
        if said != repeated:
            raise ValueError(f"{lesson.name}: run again, its checks say {repeated}, before {said}")
    path.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _keep_values(lesson: Lesson, result: Result) -> None:
    """Keep what was measured and sampled beside the bands, for boards and comparisons."""
    folder = lesson.root / "coursekit" / "claims"
    if not folder.is_dir():
        return
    kept = {
        "claims": {claim["name"]: claim["value"] for claim in result.claims},
        "samples": result.samples,
    }
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    (folder / f"{lesson.name}.json").write_text(text + "\n", "utf-8")


def _copy_outputs(executed: NotebookNode, made: NotebookNode) -> None:
    """Give each code cell its outputs; one tagged "live" keeps none."""
    for old, new in zip(executed.cells, made.cells, strict=True):
        if new.cell_type == "code":
            live = "live" in new.metadata.get("tags", [])
            new.execution_count = old.execution_count
            new.outputs = [] if live else old.outputs


def _find_warning(notebook: NotebookNode) -> str:
    """Name the first cell that wrote to the error stream, and what it wrote."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                return f"cell [{cell.execution_count}] warned: {output.text.strip()}"
    return ""


def _keep_machine_outputs(before: NotebookNode, made: NotebookNode) -> None:
    """Keep what cells tagged "machine" printed where they were built first.

    Only down to the first code cell that changed: what is measured after it may have changed, too.
    """
    code = [[cell for cell in one.cells if cell.cell_type == "code"] for one in (before, made)]
    for earlier, cell in zip(*code, strict=False):
        if earlier.id != cell.id:
            return
        if "machine" in cell.metadata.get("tags", []):
            cell.outputs = earlier.outputs


def _record_time(lesson: Lesson, result: Result) -> None:
    """Keep the table of costs, to 5 s and 50 MB, unless a cost has clearly changed."""
    times = read_times(lesson.root)
    grain = {"seconds": 5, "megabytes": 50}
    old = times.get(lesson.name, {"seconds": 0, "megabytes": 0})
    cost = {"seconds": result.seconds, "megabytes": result.megabytes}
    new = {unit: max(1, round(cost[unit] / size)) * size for unit, size in grain.items()}
    noise = {unit: max(0.3 * old[unit], size) for unit, size in grain.items()}
    changed = any(not old[unit] or abs(new[unit] - old[unit]) > noise[unit] for unit in grain)
    times[lesson.name] = new if changed else old
    path = lesson.root / "notebooks" / "times.json"
    path.write_text(json.dumps(times, indent=1, sort_keys=True) + "\n", "utf-8")
