"""House rules: what a reader relies on and a machine can check."""

import ast
import json
import re
import statistics
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

import pytest

from coursekit.notebook.page import source_without_examples
from tools.publish import find_faults
from tools.source import NOT_YET, find_lessons

ROOT = Path(__file__).parents[1]
LESSONS = find_lessons(ROOT)
MODULES = sorted((ROOT / "coursekit").rglob("*.py"))
TAGS = {
    *("machine", "data", "live", "nbval-ignore-output", "shown", "figure", "folded"),
    *("exercise", "stub", "solution", "check", "setup", "bootstrap", "predict", "scoreboard"),
}
# A module may import from its own layer's package and from layers below it, never from above.
LAYERS = [
    ("complete", "settings"),
    ("device", "fetch", "tokens"),
    ("windows",),
    ("data",),
    ("layers",),
    ("models",),
    ("evaluate",),
    ("bert", "sample", "forecasting", "inside", "training"),
    ("exercises",),
    ("notebook",),
    ("commands",),
    ("__main__",),
]
NEVER_IMPORT = {  # what a room may not know although it lies below
    "fetch": {"tokens"},
    "tokens": {"fetch"},
    "layers": {"data", "fetch"},
    "models": {"data", "fetch"},
    "notebook": {"models", "sample", "training", "exercises"},
}


def layer(module: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if module.split(".")[0] in names)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT / "coursekit").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def imports(tree: ast.AST) -> set[str]:
    """The modules of the package that a module imports, without "coursekit."."""
    found = set()
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "coursekit":
            names = [f"coursekit.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        found |= {
            name.removeprefix("coursekit.") for name in names if name.startswith("coursekit.")
        }
    return {name for name in found if not name.startswith("__")}


def definitions(path: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    body = ast.parse(path.read_text("utf-8")).body
    return [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def cells(lesson, kind="code"):
    notebook = json.loads(lesson.notebook.read_text("utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def source(cell) -> str:
    return "".join(cell["source"])


def tags(cell) -> set[str]:
    return set(cell["metadata"].get("tags", []))


def own_cells(lesson):
    return [cell for cell in cells(lesson) if "bootstrap" not in tags(cell)]


@pytest.mark.parametrize("command", ["ruff check .", "ruff format --check .", "mypy"])
def test_ruff_and_mypy_find_nothing(command):
    done = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_point_downward(path):
    me = module_name(path)
    if me == "__init__":
        assert not imports(ast.parse(path.read_text("utf-8")))
        return
    for other in imports(ast.parse(path.read_text("utf-8"))):
        family, other_family = me.split(".")[0], other.split(".")[0]
        assert layer(other) <= layer(me), f"{me} imports {other}, which lies above it"
        assert other_family not in NEVER_IMPORT.get(family, set()), f"{me} may not know {other}"
        if family == "models":
            assert other_family != "models", f"model {me} imports model {other}"


def test_no_name_is_defined_twice():
    homes: dict[str, Path] = {}
    for path in MODULES:
        for node in definitions(path):
            if not node.name.startswith("_"):
                assert node.name not in homes, f"{node.name} is in {homes[node.name]} and {path}"
                homes[node.name] = path


OLD = [lesson for lesson in LESSONS if lesson.name in NOT_YET]


@pytest.mark.parametrize("lesson", OLD, ids=lambda lesson: lesson.name)
class TestNotebookNotYetRewritten:
    """What tests/test_lesson_form.py asks otherwise of a lesson that is."""

    def test_prose_and_code_are_in_proportion(self, lesson):
        lines = sum(len(source(cell).splitlines()) for cell in own_cells(lesson))
        words = sum(len(source(cell).split()) for cell in cells(lesson, "markdown"))
        assert 5 <= words / lines <= 12

    def test_what_is_shown_is_at_most_45_lines(self, lesson):
        shown, homes = [], {}
        for cell in own_cells(lesson):
            tree = ast.parse(source(cell))
            homes |= {
                alias.asname or alias.name: node.module
                for node in tree.body
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "show":
                    for name in map(ast.unparse, node.args):  # such as GPT or GPT.forward
                        shown.append((homes[name.split(".")[0]], name))
        assert shown
        for module, name in shown:
            thing = attrgetter(name)(import_module(module))
            assert len(source_without_examples(thing).splitlines()) <= 45, name

    def test_its_setup_is_short(self, lesson):
        assert len(source(own_cells(lesson)[0]).splitlines()) <= 15

    def test_exercises_come_whole(self, lesson):
        kinds = [
            (tags(cell) & {"exercise", "stub", "check", "solution"})
            for cell in json.loads(lesson.notebook.read_text("utf-8"))["cells"]
        ]
        order = [next(iter(kind)) for kind in kinds if kind]
        assert 3 <= len(order) / 4 <= 6
        assert order == ["exercise", "stub", "check", "solution"] * (len(order) // 4)
        for cell in cells(lesson, "markdown"):
            if "exercise" in tags(cell):
                assert source(cell).count("<summary>Hint") == 2


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
class TestNotebook:
    def test_it_is_what_its_source_makes(self, lesson):
        assert find_faults(lesson) == []

    def test_it_defines_nothing_that_the_library_has(self, lesson):
        library = {node.name for path in MODULES for node in definitions(path)}
        for cell in own_cells(lesson):
            tree = ast.parse(source(cell))
            mine = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
            assert not mine & library

    def test_a_cell_is_short(self, lesson):
        lengths = [len(source(cell).splitlines()) for cell in cells(lesson)]
        assert max(lengths) <= 25
        assert statistics.median(lengths) <= (6 if lesson.name in NOT_YET else 10)

    def test_tags_are_known_and_figures_are_tagged(self, lesson):
        for cell in cells(lesson) + cells(lesson, "markdown"):
            assert tags(cell) <= TAGS
        for cell in own_cells(lesson):
            draws = re.search(r"^figure\(", source(cell), re.MULTILINE) is not None
            assert draws == ("figure" in tags(cell))

    def test_what_is_folded_only_draws(self, lesson):
        for cell in own_cells(lesson):
            if "folded" in tags(cell):
                assert "figure" in tags(cell)
                assert cell["metadata"]["jupyter"]["source_hidden"]
                assert not re.search(r"\b(claim|train|fit|backward|print)\w*\(", source(cell))

    def test_a_cell_that_shows_source_is_tagged(self, lesson):
        for cell in own_cells(lesson):
            assert ("shown" in tags(cell)) == bool(re.search(r"\bshow\(", source(cell)))

    def test_every_picture_has_a_text(self, lesson):
        for cell in own_cells(lesson):
            for output in cell["outputs"]:
                if "image/png" in output.get("data", {}):
                    assert len(output["metadata"]["image/png"]["alt"].split()) >= 6

    def test_it_starts_with_setup_under_its_own_name(self, lesson):
        first = own_cells(lesson)[0]
        assert {"setup", "machine"} <= tags(first)
        assert f'setup("{lesson.name}"' in source(first)

    def test_a_live_cell_follows_a_still_picture(self, lesson):
        own = own_cells(lesson)
        for before, cell in pairwise(own):
            if "live" in tags(cell):
                assert "figure" in tags(before)
                assert cell["outputs"] == []

    def test_it_loads_no_remote_picture_and_names_no_internal_id(self, lesson):
        text = lesson.notebook.read_text("utf-8")
        assert not re.search(r"!\[[^]]*\]\(https?:|<img[^>]+src=.?\"https?:", text)
        assert not re.search(r"\bE?00[0-4]-\d\d", text)


WORDS_FOR_RANDOM = {"randn", "rand", "randint", "randperm", "multinomial", "bernoulli", "normal"}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_whatever_draws_takes_a_generator(path):
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name != "__init__"
    ]
    # One that stands in another draws with what that one was given, and counts as part of it.
    inner = {node for outer in functions for node in ast.walk(outer) if node is not outer}
    for node in set(functions) - inner:
        calls = {
            call.func.attr
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        }
        if calls & WORDS_FOR_RANDOM:
            arguments = {a.arg for a in node.args.args + node.args.kwonlyargs}
            assert arguments & {"generator", "seed"}, f"{path.name}: {node.name} draws unasked"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_the_environment_is_read_in_one_place(path):
    reads = "os.environ" in path.read_text("utf-8") or "getenv" in path.read_text("utf-8")
    assert reads == (path.name == "settings.py")


def test_the_wheel_holds_nothing_that_works_in_a_clone_only():
    for path in MODULES:
        assert not imports_of(path) & {"jupytext", "nbclient", "nbformat", "tools", "tests"}, path


def imports_of(path: Path) -> set[str]:
    """The top-level modules that a module imports, wherever in it."""
    tree = ast.parse(path.read_text("utf-8"))
    names = [
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    ]
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_names_and_devices_are_as_agreed(path):
    text = path.read_text("utf-8")
    for node in definitions(path):
        assert not re.search(r"_v\d|Fast|Scratch|^My|^Model$", node.name)
    assert ".cuda(" not in text
    if path.name != "device.py":
        assert "torch.cuda." not in text
    assert len(text.splitlines()) <= 300


def test_no_data_file_is_committed():
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    for name in done.stdout.split():
        assert not name.endswith((".txt.gz", ".npz", ".pt", ".safetensors", ".parquet")), name
        assert not re.search(r"names\.txt|shakespeare\.txt|ETTh1\.csv", name), name
