"""Run lessons: execute, keep what they recorded, and skip what has not changed since."""

import ast
import asyncio
import hashlib
import json
import os
import platform
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from coursekit.course.source import Lesson, digest, load
from coursekit.data.store import kind
from coursekit.data.text import DATASETS

CELL_SECONDS = 300
"""A cell that takes longer is stopped: three times what a training cell may take."""
PACKAGE = Path(__file__).parents[1]
# Runs in the kernel after the last cell.
_PROBE = """
import json
from coursekit.data import provenance
from coursekit.device import peak_megabytes
print(json.dumps({"megabytes": peak_megabytes(), "data": provenance()}))
"""


@dataclass
class Result:
    """What one run of a lesson gave; kept in build/runs as JSON."""

    name: str
    key: str
    seconds: float = 0.0
    megabytes: int = 0
    data: dict[str, str] = field(default_factory=dict)
    claims: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""
    reused: bool = False


def run_lessons(lessons: list[Lesson], *, force: bool = False, jobs: int = 2) -> list[Result]:
    """Run the lessons, `jobs` at a time, with one line each; merge what they claimed.

    Leaves in build/: notebooks/, figures/, claims/ (one file a notebook) and claims.json.
    """
    results = []
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(run_lesson, lesson, force=force) for lesson in lessons]
        for lesson, future in zip(lessons, running, strict=True):
            print(f"{lesson.name:<28} ", end="", flush=True)
            result = future.result()
            state = "unchanged since its last run" if result.reused else f"{result.seconds:.1f} s"
            print("FAILED" if result.problem else state, flush=True)
            results.append(result)
    if lessons:
        merge_claims(lessons[0].root / "build")
    return results


def run_lesson(lesson: Lesson, *, force: bool = False) -> Result:
    """Run one lesson, unless neither it nor anything it imports has changed since it last held."""
    stamp = lesson.root / "build" / "runs" / f"{lesson.name}.json"
    made = load(lesson)
    key = _key(made)
    executed = lesson.root / "build" / "notebooks" / f"{lesson.name}.ipynb"
    if not force and stamp.exists() and executed.exists():
        last = Result(**json.loads(stamp.read_text("utf-8")))
        if last.key == key and not last.problem and last.data == _data_now(last.data):
            last.reused = True
            return last
    result = _execute(lesson, made, key)
    executed.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(made, executed)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False), "utf-8")
    return result


def merge_claims(build: Path) -> None:
    """Write build/claims.json: the claims of every notebook's ledger, in order."""
    ledgers = sorted((build / "claims").glob("*.json"))
    claims = [claim for path in ledgers for claim in json.loads(path.read_text("utf-8"))]
    build.mkdir(parents=True, exist_ok=True)
    text = json.dumps(claims, indent=1, ensure_ascii=False)
    (build / "claims.json").write_text(text + "\n", "utf-8")


def imported_files(code: str) -> set[Path]:
    """Find the modules of the package that `code` imports, and those that they import."""
    found: set[Path] = set()
    waiting = [code]
    while waiting:
        names = set()
        for node in ast.walk(ast.parse(waiting.pop())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        for name in names:
            if name.split(".")[0] != PACKAGE.name:
                continue
            parts = name.split(".")[1:]
            for depth in range(len(parts) + 1):
                base = PACKAGE.joinpath(*parts[:depth])
                for path in (base / "__init__.py", base.with_suffix(".py")):
                    if path.is_file() and path not in found:
                        found.add(path)
                        waiting.append(path.read_text("utf-8"))
    return found


def _execute(lesson: Lesson, made: NotebookNode, key: str) -> Result:
    """Run the cells in a new kernel; outputs go into `made`, the rest into the result."""
    build = lesson.root / "build"
    ledger = build / "claims" / f"{lesson.name}.json"
    ledger.unlink(missing_ok=True)
    for old in (build / "figures").glob(f"{lesson.name}-*"):
        old.unlink()
    result, start = Result(lesson.name, key), time.perf_counter()
    made.cells.append(nbformat.v4.new_code_cell(_PROBE))
    try:
        asyncio.run(_client(made, lesson).async_execute(env=_environment(lesson, build)))
        report = json.loads(made.cells[-1].outputs[0].text)
        result.megabytes, result.data = report["megabytes"], report["data"]
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as failure:
        result.problem = _explain(made, failure)
    finally:
        made.cells.pop()
    result.seconds = round(time.perf_counter() - start, 1)
    if ledger.exists():
        result.claims = json.loads(ledger.read_text("utf-8"))
    return result


def _client(made: NotebookNode, lesson: Lesson) -> NotebookClient:
    # Without folders to look in, the manager knows one kernel: the Python that runs this.
    manager = AsyncKernelManager(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    folder = {"metadata": {"path": str(lesson.notebook.parent)}}
    return NotebookClient(
        made,
        km=manager,
        timeout=CELL_SECONDS,
        record_timing=False,
        coalesce_streams=True,  # how a stream is cut into pieces depends on the machine's load
        resources=folder,
    )


def _environment(lesson: Lesson, build: Path) -> dict[str, str]:
    wanted = {
        "COURSEKIT_LEDGER": str(build / "claims"),
        "COURSEKIT_FIGURES": str(build / "figures"),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
        ),
    }
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return one_thread | os.environ | wanted


def _explain(made: NotebookNode, failure: Exception) -> str:
    """Say which cell failed and how, in one line."""
    started = [c for c in made.cells if c.get("execution_count") is not None]
    cell = f"cell [{len(started)}]"
    if isinstance(failure, CellExecutionError):
        message = re.sub(r"\x1b\[[0-9;]*m", "", failure.evalue).strip() or "no message"
        return f"{cell}: {failure.ename}: {message}"
    if isinstance(failure, CellTimeoutError):
        return f"{cell}: took longer than {CELL_SECONDS} s and was stopped"
    return f"{cell}: the kernel died (out of memory?)"


def _key(made: NotebookNode) -> str:
    """Hash what the outputs depend on, apart from the data."""
    code = "\n".join(cell.source for cell in made.cells if cell.cell_type == "code")
    code = "\n".join(line for line in code.splitlines() if not line.lstrip().startswith("%"))
    parts = [digest(made), platform.python_version(), os.environ.get("COURSEKIT_DEVICE", "")]
    for name in ("torch", "numpy", "matplotlib", "seaborn"):
        try:
            parts.append(version(name))
        except PackageNotFoundError:
            parts.append("none")
    for path in sorted(imported_files(code)):
        parts.append(path.read_text("utf-8"))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _data_now(used: dict[str, str]) -> dict[str, str]:
    """Tell which kind of each data set a run would use now."""
    return {name: kind(DATASETS[name]) for name in used if name in DATASETS}
