"""From a text source to a notebook: stable ids, the first cell, folded solutions, the header."""

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
NOT_YET = (
    *("01_bigrams", "03_manual_backprop", "04_wavenet", "05_tokenization"),
    *("06_gpt", "07_time_series_transformers", "08_informer"),
)
"""Lessons that are not rewritten yet. Take one off when it is; none is ever added."""
FOLDED = {"tags": ["bootstrap"], "jupyter": {"source_hidden": True}}


@dataclass(frozen=True)
class Lesson:
    """One notebook of a course that lies in `root`."""

    root: Path
    name: str

    @property
    def source(self) -> Path:
        """The text that the notebook is made from."""
        return self.root / "notebooks" / "src" / f"{self.name}.py"

    @property
    def notebook(self) -> Path:
        """The executed notebook that is committed."""
        return self.root / "notebooks" / f"{self.name}.ipynb"


def find_root(start: Path | None = None) -> Path:
    """Return the nearest folder, from `start` upwards, that holds a course.

    Raises:
        FileNotFoundError: if there is none.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "notebooks" / "src").is_dir():
            return folder
    raise FileNotFoundError(
        f"{start} is not inside a clone of the course (no notebooks/src): change to one"
    )


def find_lessons(root: Path, wanted: str | None = None) -> list[Lesson]:
    """List the lessons in order: all, or those wanted.

    Args:
        wanted: a number, "06" or "06b", for that lesson; "06+" for it and its side lessons, 06b and
            so on; anything else is the beginning of a name.

    Raises:
        ValueError: if none matches, or a notebook lies there that no source makes.
    """
    names = sorted(path.stem for path in (root / "notebooks" / "src").glob("*.py"))
    strays = sorted({path.stem for path in (root / "notebooks").glob("*.ipynb")} - set(names))
    if strays:
        raise ValueError(
            f"notebooks/{strays[0]}.ipynb has no source notebooks/src/{strays[0]}.py, so nothing "
            "builds or runs it: move it away, or write its source"
        )
    chosen = [Lesson(root, name) for name in names if _is_wanted(name, wanted or "")]
    if not chosen:
        raise ValueError(f"no notebook begins with {wanted!r}; there are {', '.join(names)}")
    return chosen


def _is_wanted(name: str, wanted: str) -> bool:
    number = name.partition("_")[0]
    if re.fullmatch(r"\d\d\+", wanted):
        return number[:2] == wanted[:2]
    if re.fullmatch(r"\d\d[a-z]?", wanted):
        return number == wanted
    return name.startswith(wanted)


def load(lesson: Lesson, *, solved: bool = False) -> NotebookNode:
    """Make the notebook, not yet executed, from its source.

    A cell's id is a hash of its content, so that a change elsewhere leaves it as it is.

    Args:
        solved: put each solution in the place of its stub, as the tests run it; else it is folded
            under its check, beside what the check says to it, as readers get it.
    """
    made = jupytext.read(lesson.source, fmt="py:percent")
    made.cells = solve(made.cells) if solved else fold(made.cells, read_seen(lesson))
    first = nbformat.v4.new_code_cell(_bootstrap(lesson.root), metadata=FOLDED)
    made.cells.insert(1, first)
    header = made.cells[0].source.replace("{runs_in}", _runs_in(lesson))
    made.cells[0].source = header.replace("{study}", _study(made.cells))
    seen: dict[str, int] = {}
    for cell in made.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\0{cell.source}".encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, -1) + 1
        cell.id = f"{digest}-{seen[digest]}" if seen[digest] else digest
        kept = {key: cell.metadata[key] for key in cell.metadata if key in ("tags", "jupyter")}
        if has(cell, "folded"):
            kept["jupyter"] = {"source_hidden": True}
        cell.metadata = nbformat.from_dict(kept)
    hide_outcomes(made.cells)
    made.metadata = nbformat.from_dict(KERNEL)
    made.nbformat, made.nbformat_minor = 4, 5
    return made


def has(cell: NotebookNode, tag: str) -> bool:
    """Tell whether a cell has a tag."""
    return tag in cell.metadata.get("tags", [])


def solve(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Put each solution in the place of its stub.

    Raises:
        ValueError: if a stub has no solution or a solution no stub.
    """
    kept: list[NotebookNode] = []
    stub = None
    for cell in cells:
        if has(cell, "solution"):
            if stub is None:
                raise ValueError(f"a solution without a stub before it: {cell.source[:60]!r}")
            stub.source, stub = cell.source, None
            continue
        if has(cell, "stub"):
            if stub is not None:
                raise ValueError(f"a stub without a solution after it: {stub.source[:60]!r}")
            stub = cell
        kept.append(cell)
    if stub is not None:
        raise ValueError(f"a stub without a solution after it: {stub.source[:60]!r}")
    return kept


def fold(cells: list[NotebookNode], seen: list[str]) -> list[NotebookNode]:
    """Fold each solution, and before it what its check says, into text under the check."""
    kept = []
    said = iter(seen)
    for cell in cells:
        if has(cell, "solution"):
            text = next(said, "").strip()
            blocks = [("What you should see", "text", text)] if text else []
            blocks.append(("Solution", "python", cell.source))
            folded = [
                f"<details><summary>{title}</summary>\n\n```{kind}\n{source}\n```\n\n</details>"
                for title, kind, source in blocks
            ]
            cell = nbformat.v4.new_markdown_cell("\n\n".join(folded), metadata=cell.metadata)
        kept.append(cell)
    return kept


def hide_outcomes(cells: list[NotebookNode]) -> None:
    """Collapse what the code between a guess and the next text gives, until the reader runs it."""
    is_outcome = False
    for cell in cells:
        if cell.cell_type != "code":
            is_outcome = False
        elif has(cell, "predict"):
            is_outcome = True
        elif is_outcome:
            cell.metadata.setdefault("jupyter", {})["outputs_hidden"] = True


def read_seen(lesson: Lesson) -> list[str]:
    """Read what the checks say to the solutions, in order; a build keeps it."""
    path = seen_file(lesson)
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def seen_file(lesson: Lesson) -> Path:
    """Name the file that keeps what the checks say to the solutions."""
    return lesson.root / "notebooks" / "seen" / f"{lesson.name}.json"


def digest(notebook: NotebookNode) -> str:
    """Return a hash of what was written by hand: cells and their tags, not outputs."""
    content = [
        (cell.cell_type, cell.source, sorted(cell.metadata.get("tags", [])))
        for cell in notebook.cells
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def read_times(root: Path) -> dict[str, dict[str, int]]:
    """Read the committed table of what each notebook costs: seconds and megabytes."""
    path = root / "notebooks" / "times.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def _runs_in(lesson: Lesson) -> str:
    """Say how long the notebook takes, from the committed table."""
    cost = read_times(lesson.root).get(lesson.name)
    if cost is None:
        return "not yet measured"
    seconds = cost["seconds"]
    time = f"{seconds} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    return f"about {time} on one processor core, {cost['megabytes']} MB of memory"


def _study(cells: list[NotebookNode]) -> str:
    """Estimate hours: a minute a code cell, 200 words a minute, and the exercises.

    An exercise takes the minutes that it names; one to build that names none takes 15.
    """
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    words = len(re.sub(r"<details>.*?</details>", "", prose, flags=re.DOTALL).split())
    code = sum(cell.cell_type == "code" for cell in cells)
    named = re.findall(r"\*\*Exercise [\w.]+ \([\w-]+, (\d+) minutes\)", prose)
    unnamed = len(re.findall(r"\*\*Exercise [\w.]+ \(build\)", prose))
    hours = (code + words / 200 + sum(map(int, named)) + 15 * unnamed) / 60
    return "about an hour" if hours < 1.25 else f"about {round(2 * hours) / 2:g} hours"


def _bootstrap(root: Path) -> str:
    """Return the first code cell: of the template, what can happen with the course's address.

    With an address it installs, and without one it says so: six lines at most, either way.
    """
    project = root / "pyproject.toml"
    settings = tomllib.loads(project.read_text("utf-8")) if project.exists() else {}
    address = settings.get("tool", {}).get("coursekit", {}).get("repository", "")
    template = Path(__file__).with_name("bootstrap.py").read_text("utf-8")
    find, refuse, install = re.split(r"    if not repository:\n    (.*\n)", template)
    find = find.replace('\nrepository = ""\n', "")
    if address:
        return (find + install.replace("{repository}", address)).strip()
    return (find.replace("subprocess, ", "") + refuse).strip()
