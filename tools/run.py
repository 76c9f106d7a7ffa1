"""Run lessons: execute, keep what they recorded, and skip what has not changed since."""

import ast
import asyncio
import hashlib
import json
import os
import platform
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import distributions
from pathlib import Path
from threading import Event
from typing import Any

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

import coursekit
from coursekit import settings
from coursekit.data import DATASETS
from coursekit.fetch.store import kind
from tools.source import Lesson, has, load

CELL_SECONDS = 300
"""A cell that takes longer is stopped: three times what a training cell may take."""
PACKAGE = Path(coursekit.__file__).parent
# Runs in the kernel after the last cell.
_PROBE = """
import json
import coursekit
from coursekit import settings
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
    samples: dict[str, list[str]] = field(default_factory=dict)
    problem: str = ""
    reused: bool = False


def run_lessons(lessons: list[Lesson], *, force: bool = False, jobs: int = 2) -> list[Result]:
    """Run the lessons, `jobs` at a time, with one line each; merge what they claimed.

    Leaves in build/: notebooks/, figures/, claims/ (one file a notebook) and claims.json.
    An interrupt (Ctrl-C) ends the lessons that are running and begins no other.
    """
    results = []
    stop = Event()
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(run_lesson, one, force=force, stop=stop) for one in lessons]
        try:
            for lesson, future in zip(lessons, running, strict=True):
                print(f"{lesson.name:<28} ", end="", flush=True)
                result = future.result()
                taken = f"{result.seconds:.1f} s"
                state = "unchanged since its last run" if result.reused else taken
                print("FAILED" if result.problem else state, flush=True)
                results.append(result)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if lessons:
        merge_claims(lessons[0].root / "build")
    return results


def run_lesson(lesson: Lesson, *, force: bool = False, stop: Event | None = None) -> Result:
    """Run one lesson, unless neither it nor anything it imports has changed since it last held.

    It ends early, with the problem "interrupted", once `stop` is set.
    """
    stamp = lesson.root / "build" / "runs" / f"{lesson.name}.json"
    made = load(lesson)
    key = _key(lesson, made)
    executed = lesson.root / "build" / "notebooks" / f"{lesson.name}.ipynb"
    last = None if force else _read_stamp(stamp)
    held = last is not None and last.key == key and not last.problem
    if held and executed.exists() and last.data == _data_now(last.data):
        last.reused = True
        return last
    stamp.unlink(missing_ok=True)  # if this run is killed, nothing says that the lesson held
    result = _execute(lesson, made, key, stop or Event())
    executed.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(made, executed)
    _write_stamp(stamp, result)
    return result


def _read_stamp(stamp: Path) -> Result | None:
    """Read what the last run left; None if that was nothing, or by another version of this file."""
    try:
        kept = json.loads(stamp.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    wanted = {one.name for one in fields(Result)}
    return Result(**kept) if isinstance(kept, dict) and kept.keys() == wanted else None


def _write_stamp(stamp: Path, result: Result) -> None:
    """Write it elsewhere and move it there, so that nobody ever reads half of it."""
    stamp.parent.mkdir(parents=True, exist_ok=True)
    unfinished = stamp.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False), "utf-8")
    unfinished.replace(stamp)


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


def _execute(lesson: Lesson, made: NotebookNode, key: str, stop: Event) -> Result:
    """Run the cells in a new kernel; outputs go into `made`, the rest into the result."""
    # Builds Matplotlib's list of fonts, if this machine has none: a kernel would warn of it.
    import matplotlib.font_manager  # noqa: F401

    build = lesson.root / "build"
    ledger = build / "claims" / f"{lesson.name}.json"
    samples = build / "claims" / "samples" / f"{lesson.name}.json"
    for path in (ledger, samples):
        path.unlink(missing_ok=True)
    for old in (build / "figures").glob(f"{lesson.name}-*"):
        old.unlink()
    result = Result(lesson.name, key)
    start = time.perf_counter()
    made.cells.append(nbformat.v4.new_code_cell(_PROBE))
    client = _client(made, lesson)
    try:
        asyncio.run(_drive(client, _environment(lesson, build), stop))
        outputs = made.cells[-1].outputs
        report = json.loads(next(out.text for out in outputs if out.get("name") == "stdout"))
        result.megabytes = report["megabytes"]
        result.data = report["data"]
    except (Exception, asyncio.CancelledError) as failure:
        cell = f"cell [{client.code_cells_executed}]"
        result.problem = f"{cell}: {'interrupted' if stop.is_set() else explain(failure)}"
    finally:
        made.cells.pop()
    result.seconds = round(time.perf_counter() - start, 1)
    if ledger.exists():
        result.claims = json.loads(ledger.read_text("utf-8"))
    if samples.exists():
        result.samples = json.loads(samples.read_text("utf-8"))
    return result


def run_solved(lesson: Lesson, *, again: float = 0.0) -> NotebookNode:
    """Run a lesson with its exercises answered; return it executed, a cell run again twice in it.

    Args:
        again: run each cell again that took less than so many seconds, right after it.

    Raises:
        ValueError: if a cell fails; the message names the cell and the reason.
    """
    made = load(lesson, solved=True)
    environment = _environment(lesson, lesson.root / "build" / "solved")
    del environment["COURSEKIT_FIGURES"]  # or a second picture of one name were refused
    client = _client(made, lesson)
    if again:
        client.on_cell_start, client.on_cell_executed = _repeat(made, again)
    try:
        asyncio.run(_drive(client, environment, Event()))
    except Exception as failure:
        raise ValueError(
            f"{lesson.name}, solved, cell [{client.code_cells_executed}]: {explain(failure)}"
        ) from failure
    return made


def _repeat(made: NotebookNode, limit: float) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return what notes when a cell begins, and what puts its copy behind one that was quick."""
    begun = 0.0
    copies = set()

    def begin(**_: Any) -> None:
        nonlocal begun
        begun = time.perf_counter()

    def repeat(cell: NotebookNode, cell_index: int, **_: Any) -> None:
        quick = time.perf_counter() - begun < limit or has(cell, "check")  # all checks, also late
        if cell.id not in copies and quick:
            copy = nbformat.v4.new_code_cell(cell.source, metadata=cell.metadata)
            copies.add(copy.id)
            made.cells.insert(cell_index + 1, copy)  # the client comes to it next

    return begin, repeat


async def _drive(client: NotebookClient, environment: dict[str, str], stop: Event) -> None:
    """Run the cells in a kernel of their own, which ends with them or when told to stop."""
    run = asyncio.ensure_future(client.async_execute(env=environment, cleanup_kc=True))
    while not run.done() and not stop.is_set():
        await asyncio.wait([run], timeout=0.3)
    if stop.is_set():
        run.cancel()
    await run


def _client(made: NotebookNode, lesson: Lesson) -> NotebookClient:
    # Without folders to look in, the manager knows one kernel: the Python that runs this.
    manager = AsyncKernelManager(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    folder = {"metadata": {"path": str(lesson.notebook.parent)}}
    return NotebookClient(
        made,
        km=manager,
        timeout=CELL_SECONDS,
        record_timing=False,
        shutdown_kernel="immediate",
        extra_arguments=["--Application.log_level=ERROR"],  # or it warns of TCP at each start
        coalesce_streams=True,  # how a stream is cut into pieces depends on the machine's load
        resources=folder,
    )


def _environment(lesson: Lesson, build: Path) -> dict[str, str]:
    wanted = {
        "COURSEKIT_LEDGER": str(build / "claims"),
        "COURSEKIT_FIGURES": str(build / "figures"),
        "COURSEKIT_CLAIMS": str(lesson.root / "coursekit" / "claims"),
        "COURSEKIT_PLAIN": "1",
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
        ),
    }
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return one_thread | os.environ | absolute_folders() | wanted


def absolute_folders() -> dict[str, str]:
    """Name the folders of data so that they hold in a kernel, which starts in another folder."""
    named = {
        "COURSEKIT_DATA": settings.named_data_folder(),
        "COURSEKIT_CACHE": settings.named_cache_folder(),
    }
    return {variable: str(folder) for variable, folder in named.items() if folder}


def explain(failure: BaseException) -> str:
    """Say in one line why a run ended."""
    if isinstance(failure, CellExecutionError):
        message = re.sub(r"\x1b\[[0-9;]*m", "", failure.evalue).strip() or "no message"
        return f"{failure.ename}: {message}"
    if isinstance(failure, CellTimeoutError):
        return f"took longer than {CELL_SECONDS} s and was stopped"
    if isinstance(failure, DeadKernelError):
        return "the kernel died (out of memory?)"
    return f"{type(failure).__name__}: {failure}"


def _key(lesson: Lesson, made: NotebookNode) -> str:
    """Hash what the outputs depend on, apart from the data.

    The source and not `made` stands for the prose: the header of `made` quotes the table of
    times, which a build writes after its run.
    """
    code = "\n".join(cell.source for cell in made.cells if cell.cell_type == "code")
    code = "\n".join(line for line in code.splitlines() if not line.lstrip().startswith("%"))
    bands = lesson.root / "coursekit" / "claims" / f"{lesson.name}.toml"
    parts = [
        lesson.source.read_text("utf-8"),
        bands.read_text("utf-8") if bands.exists() else "",
        code,
        platform.python_version(),
        settings.device(),
        *_installed(),
    ]
    if re.search(r"read_(record|results)\(", code):
        runs = lesson.root / "notebooks" / "recorded"
        parts += [path.read_text("utf-8") for path in sorted(runs.glob("*.json"))]
    with suppress(SyntaxError):  # the run will say in which cell
        parts += [path.read_text("utf-8") for path in sorted(imported_files(code))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _installed() -> list[str]:
    """List all packages with their versions: whichever changes, outputs may."""
    versions: dict[str, str] = {}
    for package in distributions():
        versions.setdefault(package.name, package.version)  # the first is the one that is imported
    return sorted(f"{name} {version}" for name, version in versions.items())


def _data_now(used: dict[str, str]) -> dict[str, str]:
    """Tell which kind of each data set a run would use now."""
    return {name: kind(DATASETS[name], fetch=True) for name in used if name in DATASETS}
