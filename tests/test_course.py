"""The runner and the builder, on small courses made for it; and what the project installs."""

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest
import yaml
from nbformat.v4 import new_output
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conftest import warm_matplotlib
from tools import lock, run
from tools.__main__ import main
from tools.publish import committed_claims, find_faults, printed_by_checks, publish
from tools.run import Result, imported_files, merge_claims, run_lesson, run_lessons, run_solved
from tools.source import (
    Lesson,
    digest,
    find_lessons,
    find_root,
    load,
    read_seen,
    read_times,
    seen_file,
)

ROOT = Path(__file__).parents[1]
HEADER = "# %% [markdown]\n# # A lesson\n#\n# **Runs in** {runs_in}.\n"
TINY = (
    HEADER
    + """
# %% tags=["setup", "machine"]
import os
print(os.getpid())

# %%
print(2 + 2)

# %% tags=["live"]
print("play")
"""
)
FULL = (
    HEADER
    + """
# %% tags=["setup", "machine"]
import os
import matplotlib.pyplot as plt
from coursekit.notebook import claim, figure, setup
print(os.getpid())
setup("01_full");

# %% tags=["figure"]
plt.plot([1, 3, 2])
figure("curve", alt="A line that rises and falls")

# %%
claim(two=2.0)

# %% tags=["live"]
print("play")
"""
)
DATA = (
    HEADER
    + """
# %%
from coursekit.data import shakespeare
len(shakespeare()) > 1000
"""
)
CLAIM = (
    HEADER
    + """
# %%
from coursekit.notebook import claim, setup
setup("03_claim")

# %%
claim(held_out_nll=2.75)

# %%
print("not reached")
"""
)
TWO = '[two]\nband = [1.9, 2.1]\nwhy = "arithmetic"\nheadline = true\n'
HELD_OUT = '[held-out-nll]\nband = [2.4, 2.5]\nwhy = "five seeds"\n'
DEAD = HEADER + "\n# %%\na = 1\n\n# %%\n\n# %%\nimport os\nos._exit(1)\n"
SLOW = (
    HEADER
    + """
# %%
import pathlib, time
pathlib.Path("begun").touch()

# %%
time.sleep(60)
"""
)
SYNTAX = HEADER + "\n# %%\na = = 1\n"


def make_course(root, **sources):
    """Write a course; return its lessons by name."""
    folder = root / "notebooks" / "src"
    folder.mkdir(parents=True, exist_ok=True)
    (root / "pyproject.toml").write_text('[tool.coursekit]\nrepository = ""\n')
    bands = root / "coursekit" / "claims"
    bands.mkdir(parents=True, exist_ok=True)
    (bands / "01_full.toml").write_text(TWO)
    (bands / "03_claim.toml").write_text(HELD_OUT)
    for name, source in sources.items():
        (folder / f"{name.removeprefix('n')}.py").write_text(source, "utf-8")
    return {lesson.name: lesson for lesson in find_lessons(root)}


def edit(lesson, old, new):
    text = lesson.source.read_text("utf-8")
    assert old in text
    lesson.source.write_text(text.replace(old, new), "utf-8")


def stamp(lesson):
    return json.loads((lesson.root / f"build/runs/{lesson.name}.json").read_text("utf-8"))


def executed(lesson):
    return nbformat.read(lesson.root / f"build/notebooks/{lesson.name}.ipynb", 4)


def outputs(notebook, tag):
    cells = [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]
    assert cells
    return [output.text for cell in cells for output in cell.outputs]


@pytest.fixture(scope="module", autouse=True)
def no_data(tmp_path_factory):
    """Only stand-ins, in this process and in its kernels."""
    empty = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("DATA", "DEVICE", "FIGURES", "LEDGER"):
            patch.delenv(f"COURSEKIT_{variable}", raising=False)
        patch.setenv("XDG_CACHE_HOME", str(empty))
        patch.setenv("MPLCONFIGDIR", str(warm_matplotlib(empty / "matplotlib")))
        yield


@pytest.fixture
def tiny(tmp_path):
    return make_course(tmp_path, n01_tiny=TINY)["01_tiny"]


@pytest.fixture
def no_kernel(monkeypatch):
    """Replace the execution: `begun` lists the lessons, `gives` is what each result holds."""
    fake = SimpleNamespace(begun=[], gives={})

    def execute(lesson, made, key, stop):
        fake.begun.append(lesson.name)
        for count, cell in enumerate([c for c in made.cells if c.cell_type == "code"], 1):
            cell.execution_count = count
        return Result(lesson.name, key, **{"seconds": 1.0, "megabytes": 100} | fake.gives)

    monkeypatch.setattr(run, "_execute", execute)
    return fake


@pytest.fixture
def run_by_hand(tiny):
    """Return a function that leaves in build/ what a run that printed `text` would leave."""

    def leave(text="here", **result):
        made = load(tiny)
        for count, cell in enumerate([c for c in made.cells if c.cell_type == "code"], 1):
            cell.execution_count = count
            if set(cell.metadata.tags if "tags" in cell.metadata else []) & {"machine", "live"}:
                cell.outputs = [new_output("stream", name="stdout", text=text)]
        path = tiny.root / "build" / "notebooks" / "01_tiny.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(made, path)
        return Result("01_tiny", "key", **{"seconds": 10.0, "megabytes": 200} | result)

    return leave


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A lesson with a figure and a claim, run and published twice: lesson, results, bytes."""
    lesson = make_course(tmp_path_factory.mktemp("full"), n01_full=FULL)["01_full"]
    results, bytes_, printed = [], [], []
    stale = lesson.root / "build" / "figures" / "01_full-old.png"
    stale.parent.mkdir(parents=True)
    stale.touch()
    for _ in range(2):
        result = run_lesson(lesson, force=True)
        publish(lesson, replace(result, seconds=10.0, megabytes=300))
        results.append(result)
        bytes_.append(lesson.notebook.read_bytes())
        printed.append(outputs(executed(lesson), "machine"))
    return lesson, results, bytes_, printed


@pytest.fixture
def committed(built, tmp_path):
    """A copy of the published course, to spoil."""
    root = tmp_path / "copy"
    shutil.copytree(built[0].root, root)
    return Lesson(root, "01_full")


# From source to notebook


def test_a_cell_keeps_its_id_when_another_is_inserted(tiny):
    before = [cell.id for cell in load(tiny).cells]
    edit(tiny, "# %%\nprint(2 + 2)", "# %%\nprint('new')\n\n# %%\nprint(2 + 2)")
    after = [cell.id for cell in load(tiny).cells]
    assert len(after) == len(before) + 1
    assert [i for i in after if i in before] == before


def test_two_equal_cells_have_different_ids(tiny):
    edit(tiny, "# %%\nprint(2 + 2)", "# %%\nprint(2 + 2)\n\n# %%\nprint(2 + 2)")
    ids = [cell.id for cell in load(tiny).cells]
    assert len(set(ids)) == len(ids)


def test_the_bootstrap_cell_is_the_first_code_cell_and_the_only_one(tiny):
    code = [cell for cell in load(tiny).cells if cell.cell_type == "code"]
    assert ["bootstrap" in cell.metadata.get("tags", []) for cell in code] == [
        True,
        *[False] * (len(code) - 1),
    ]
    assert "no public address" in code[0].source


def test_the_repository_comes_from_pyproject(tiny):
    (tiny.root / "pyproject.toml").write_text('[tool.coursekit]\nrepository = "https://h/c"\n')
    cell = load(tiny).cells[1].source
    assert '--no-deps "https://h/c"' in cell
    assert "no public address" not in cell


@pytest.mark.parametrize("address", ["", "https://host/owner/course"])
def test_the_first_cell_has_at_most_six_lines(tiny, address):
    (tiny.root / "pyproject.toml").write_text(f'[tool.coursekit]\nrepository = "{address}"\n')
    lines = load(tiny).cells[1].source.splitlines()
    assert len(lines) <= 6
    assert max(map(len, lines)) <= 120
    compile("\n".join(lines), "cell", "exec")


def test_the_header_quotes_the_table_of_times(tiny):
    assert "**Runs in** not yet measured." in load(tiny).cells[0].source
    costs = {"01_tiny": {"seconds": 120, "megabytes": 300}}
    (tiny.root / "notebooks" / "times.json").write_text(json.dumps(costs))
    said = "**Runs in** about 2 minutes on one processor core, 300 MB of memory."
    assert said in load(tiny).cells[0].source


def test_the_digest_sees_tags_and_not_outputs(run_by_hand, tiny):
    run_by_hand("one")
    assert digest(executed(tiny)) == digest(load(tiny))
    edit(tiny, 'tags=["live"]', 'tags=["machine"]')
    assert digest(executed(tiny)) != digest(load(tiny))


def test_a_notebook_without_a_source_is_refused(tiny):
    (tiny.root / "notebooks" / "scratch.ipynb").write_text("{}")
    with pytest.raises(ValueError, match=r"scratch\.ipynb has no source notebooks/src/scratch\.py"):
        find_lessons(tiny.root)


def test_an_unknown_prefix_is_refused_and_the_names_are_listed(tiny):
    assert find_lessons(tiny.root, "01") == [tiny]
    with pytest.raises(ValueError, match="no notebook begins with '7'; there are 01_tiny"):
        find_lessons(tiny.root, "7")


def test_a_number_is_one_lesson_and_with_a_plus_its_family(tmp_path):
    names = ["06_gpt", "06b_tokens", "06c_stable", "07_series", "16_more"]
    lessons = make_course(tmp_path, **{f"n{name}": TINY for name in reversed(names)})
    assert [one.name for one in find_lessons(tmp_path)] == names

    def wanted(word):
        return [one.name for one in find_lessons(tmp_path, word)]

    assert wanted("06") == ["06_gpt"]
    assert wanted("06b") == ["06b_tokens"]
    assert wanted("06+") == ["06_gpt", "06b_tokens", "06c_stable"]
    assert wanted("07+") == ["07_series"]
    assert wanted("06b_t") == ["06b_tokens"]
    assert wanted("0") == names[:4]
    assert len(lessons) == 5
    for word in ("6", "08", "06d", "06b+", "16b"):
        with pytest.raises(ValueError, match="no notebook begins with"):
            wanted(word)


def test_the_root_is_found_from_inside_and_missed_outside(tiny, tmp_path_factory):
    assert find_root(tiny.root / "notebooks") == tiny.root.resolve()
    with pytest.raises(FileNotFoundError, match="not inside a clone"):
        find_root(tmp_path_factory.mktemp("elsewhere"))


# Running


def test_a_run_leaves_notebook_figures_and_claims(built):
    lesson, (result, _), *_ = built
    build = lesson.root / "build"
    assert result.problem == ""
    assert [cell.execution_count for cell in executed(lesson).cells[1:]] == [1, 2, 3, 4, 5]
    assert (build / "figures/01_full-curve.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (build / "figures/01_full-curve.svg").read_text()
    assert [(claim["name"], claim["cell"]) for claim in result.claims] == [("two", 4)]
    assert result.claims == json.loads((build / "claims/01_full.json").read_text())
    assert stamp(lesson)["key"] == result.key
    assert 50 < result.megabytes < 5000


def test_no_kernel_looked_for_the_fonts_of_this_machine(built):
    (fonts,) = Path(os.environ["MPLCONFIGDIR"]).glob("fontlist-*.json")
    assert fonts.stat().st_mtime < built[0].source.stat().st_mtime


SEARCH = """
import sys
from pathlib import Path
from tools import run
from tools.source import Lesson

async def drive(client, environment, stop):
    fonts = list(Path(environment["MPLCONFIGDIR"]).glob("fontlist-*.json"))
    (root / "found").write_text(str(len(fonts)))

root = Path(sys.argv[1])
run._drive = drive
run.run_lessons([Lesson(root, "01_tiny")])
"""


def test_the_fonts_are_looked_for_before_the_first_kernel_starts(tiny, tmp_path):
    own = {"MPLCONFIGDIR": str(tmp_path / "matplotlib"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SEARCH, str(tiny.root)]
    subprocess.run(command, env=os.environ | own, check=True)
    assert (tiny.root / "found").read_text() == "1"


def test_a_figure_that_is_no_longer_drawn_is_gone(built):
    names = sorted(path.name for path in (built[0].root / "build" / "figures").iterdir())
    assert names == ["01_full-curve.png", "01_full-curve.svg"]


def test_no_kernel_outlives_its_lesson(built):
    running = [" ".join(child.cmdline()) for child in psutil.Process().children()]
    assert not [line for line in running if "ipykernel" in line]


def test_an_unchanged_notebook_is_not_run_again(tiny, no_kernel):
    assert not run_lesson(tiny).reused
    assert run_lesson(tiny).reused
    assert no_kernel.begun == ["01_tiny"]


def test_force_runs_an_unchanged_notebook_again(tiny, no_kernel):
    run_lesson(tiny)
    assert not run_lesson(tiny, force=True).reused
    assert len(no_kernel.begun) == 2


def test_an_edited_notebook_is_run_again(tiny, no_kernel):
    run_lesson(tiny)
    edit(tiny, "2 + 2", "2 + 3")
    run_lesson(tiny)
    assert len(no_kernel.begun) == 2


def test_a_notebook_whose_bands_changed_is_run_again(tiny, no_kernel):
    run_lesson(tiny)
    (tiny.root / "coursekit/claims/01_tiny.toml").write_text("[two]\nband = [1, 2]\nwhy = 'x'\n")
    run_lesson(tiny)
    assert run_lesson(tiny).reused
    assert len(no_kernel.begun) == 2


@pytest.mark.parametrize(
    ("line", "again"),
    [("read_record('long')", True), ("read_results('long', seeds=1)", True), ("1 + 1", False)],
)
def test_a_notebook_is_run_again_when_a_run_that_it_reads_is_recorded_anew(
    tiny, no_kernel, line, again
):
    edit(tiny, "print(2 + 2)", line)
    record = tiny.root / "notebooks/recorded/long.json"
    record.parent.mkdir()
    record.write_text("{}")
    run_lesson(tiny)
    assert run_lesson(tiny).reused
    record.write_text('{"changed": 1}')
    assert run_lesson(tiny).reused is not again


def test_a_notebook_whose_header_got_its_time_is_not_run_again(tiny, no_kernel):
    publish(tiny, run_lesson(tiny))
    assert "about 5 seconds" in load(tiny).cells[0].source
    assert run_lesson(tiny).reused


def test_a_notebook_is_run_again_when_its_address_or_a_tag_changes(tiny, no_kernel):
    run_lesson(tiny)
    (tiny.root / "pyproject.toml").write_text('[tool.coursekit]\nrepository = "https://h/c"\n')
    run_lesson(tiny)
    edit(tiny, 'tags=["live"]', 'tags=["shown"]')
    run_lesson(tiny)
    assert len(no_kernel.begun) == 3


def test_a_notebook_is_run_again_when_its_executed_copy_is_gone(tiny, no_kernel):
    run_lesson(tiny)
    (tiny.root / "build/notebooks/01_tiny.ipynb").unlink()
    run_lesson(tiny)
    assert len(no_kernel.begun) == 2


def test_a_failed_notebook_is_run_again(tiny, no_kernel):
    no_kernel.gives = {"problem": "cell [1]: bad"}
    run_lesson(tiny)
    run_lesson(tiny)
    assert len(no_kernel.begun) == 2


def change_stamp(lesson, change):
    path = lesson.root / f"build/runs/{lesson.name}.json"
    kept = json.loads(path.read_text("utf-8"))
    path.write_text(change(kept), "utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: json.dumps(kept | {"of_another_version": 1}),
        lambda kept: json.dumps({name: kept[name] for name in kept if name != "problem"}),
        lambda kept: json.dumps([kept]),
        lambda kept: json.dumps(kept)[:-9],
        lambda kept: "",
    ],
)
def test_a_stamp_of_another_version_counts_as_none(tiny, no_kernel, change):
    run_lesson(tiny)
    change_stamp(tiny, change)
    assert not run_lesson(tiny).reused
    assert run_lesson(tiny).reused


def test_a_stamp_is_whole_or_not_there(tiny, no_kernel, monkeypatch):
    whole = Path.write_text

    def killed(path, text, encoding=None):
        whole(path, text[: len(text) // 2], encoding)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", killed)
        with pytest.raises(SystemExit):
            run._write_stamp(tiny.root / "build/runs/01_tiny.json", Result("01_tiny", "key"))
    assert not (tiny.root / "build/runs/01_tiny.json").exists()
    assert not run_lesson(tiny).reused
    assert stamp(tiny)["name"] == "01_tiny"


def test_a_notebook_is_run_again_when_any_package_has_another_version(
    tiny, no_kernel, monkeypatch, tmp_path
):
    monkeypatch.syspath_prepend(tmp_path / "packages")
    for version, again in (("1.0", True), ("1.0", False), ("1.1", True)):
        shutil.rmtree(tmp_path / "packages", ignore_errors=True)
        about = tmp_path / "packages" / f"some_tokenizer-{version}.dist-info" / "METADATA"
        about.parent.mkdir(parents=True)
        about.write_text(f"Metadata-Version: 2.1\nName: some-tokenizer\nVersion: {version}\n")
        importlib.invalidate_caches()
        assert run_lesson(tiny).reused is not again


def test_force_reaches_every_lesson_of_a_run(tiny, no_kernel):
    run_lessons([tiny])
    assert run_lessons([tiny])[0].reused
    assert not run_lessons([tiny], force=True)[0].reused


@pytest.mark.parametrize(
    ("module", "again"),
    [("evaluate/likelihood.py", True), ("sample.py", True), ("notebook/plot.py", False)],
)
def test_a_notebook_is_run_again_when_a_module_that_it_needs_changes(
    tiny, no_kernel, monkeypatch, tmp_path, module, again
):
    package = tmp_path / "elsewhere" / "coursekit"
    shutil.copytree(ROOT / "coursekit", package)
    monkeypatch.setattr(run, "PACKAGE", package)
    edit(tiny, "import os", "import os\nfrom coursekit.sample import sample_text")
    run_lesson(tiny)
    with (package / module).open("a") as file:
        file.write("\n# changed\n")
    assert run_lesson(tiny).reused is not again


def test_a_notebook_is_run_again_when_other_data_would_be_read(tiny, no_kernel, monkeypatch):
    no_kernel.gives = {"data": {"names": "stand-in"}}
    monkeypatch.setattr(run, "kind", lambda dataset, **_: "stand-in")
    run_lesson(tiny)
    assert run_lesson(tiny).reused
    monkeypatch.setattr(run, "kind", lambda dataset, **_: "canonical")
    assert not run_lesson(tiny).reused


@pytest.mark.parametrize(
    ("target", "name", "other"),
    [(run.settings, "device", "cuda"), (run.platform, "python_version", "3.99.0")],
)
def test_a_notebook_is_run_again_on_another_machine(
    tiny, no_kernel, monkeypatch, target, name, other
):
    run_lesson(tiny)
    monkeypatch.setattr(target, name, lambda: other)
    assert not run_lesson(tiny).reused
    assert run_lesson(tiny).reused


@pytest.mark.parametrize(
    "code",
    [
        "import coursekit.sample",
        "from coursekit import sample",
        "from coursekit.sample import sample_text",
        "if True:\n    from coursekit.sample import sample_text as draw",
    ],
)
def test_imported_files_are_followed_to_what_they_import(code):
    found = {path.relative_to(ROOT / "coursekit").as_posix() for path in imported_files(code)}
    assert {"__init__.py", "sample.py", "evaluate/likelihood.py"} <= found
    assert not found & {"notebook/plot.py", "fetch/store.py", "tokens/vocabulary.py"}


def test_other_packages_are_not_followed():
    assert imported_files("import torch, coursekitten\nfrom . import sample") == set()


def test_a_run_that_is_killed_leaves_no_word_that_it_held(tiny, no_kernel, monkeypatch):
    run_lesson(tiny)
    edit(tiny, "2 + 2", "2 + 3")

    def killed(*arguments):
        raise SystemExit

    monkeypatch.setattr(run, "_execute", killed)
    with pytest.raises(SystemExit):
        run_lesson(tiny)
    assert not (tiny.root / "build/runs/01_tiny.json").exists()


def test_claims_are_merged_in_order_and_old_ones_dropped(tmp_path):
    (tmp_path / "claims").mkdir()
    for name in ("02_b", "01_a"):
        (tmp_path / "claims" / f"{name}.json").write_text(f'[{{"name": "{name}"}}]')
    merge_claims(tmp_path)
    assert [c["name"] for c in json.loads((tmp_path / "claims.json").read_text())] == [
        "01_a",
        "02_b",
    ]
    (tmp_path / "claims" / "01_a.json").unlink()
    merge_claims(tmp_path)
    assert json.loads((tmp_path / "claims.json").read_text()) == [{"name": "02_b"}]


# Runs that fail


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """Lessons that fail, each in its way, run once."""
    sources = {"n03_claim": CLAIM, "n04_dead": DEAD, "n05_slow": SLOW, "n06_syntax": SYNTAX}
    lessons = make_course(tmp_path_factory.mktemp("failed"), **sources)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "CELL_SECONDS", 1)
        quick = [lesson for name, lesson in lessons.items() if name != "03_claim"]
        results = {result.name: result for result in run_lessons(quick)}
    results["03_claim"] = run_lesson(lessons["03_claim"])
    return lessons["03_claim"].root, results


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("03_claim", r"cell \[3\]: ClaimError: held out nll 2\.75: 0\.25 above 2\.4 to 2\.5"),
        ("04_dead", r"cell \[3\]: the kernel died"),
        ("05_slow", r"cell \[3\]: took longer than 1 s"),
        ("06_syntax", r"cell \[2\]: SyntaxError: invalid syntax"),
    ],
)
def test_a_failed_run_says_which_cell_and_why_and_leaves_its_notebook(failed, name, problem):
    root, results = failed
    assert re.match(problem, results[name].problem)
    assert stamp(Lesson(root, name))["problem"] == results[name].problem
    assert executed(Lesson(root, name)).cells[1].execution_count == 1


def test_a_kernel_that_never_answers_is_a_problem_of_its_lesson(tiny, monkeypatch):
    async def drive(client, environment, stop):
        raise RuntimeError("Kernel didn't respond in 60 seconds")

    monkeypatch.setattr(run, "_drive", drive)
    (result,) = run_lessons([tiny])
    assert result.problem == "cell [0]: RuntimeError: Kernel didn't respond in 60 seconds"
    assert stamp(tiny)["problem"] == result.problem
    assert len(executed(tiny).cells) == 5


def test_a_claim_that_failed_is_recorded(failed):
    assert [claim["held"] for claim in failed[1]["03_claim"].claims] == [False]


def test_a_kernel_starts_without_a_word(tiny, capfd, monkeypatch):
    edit(tiny, "print(2 + 2)", "1 / 0")
    assert "cell [3]: ZeroDivisionError: division by zero" in run_lesson(tiny).problem
    assert capfd.readouterr().err == ""


def test_an_interrupt_ends_the_run_and_says_so(tmp_path):
    lessons = make_course(tmp_path, n01_slow=SLOW, n02_tiny=TINY)
    command = [sys.executable, "-m", "tools", "run", "--jobs", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes)
    begun = tmp_path / "notebooks" / "begun"
    try:
        end = time.monotonic() + 30
        while not begun.exists() and time.monotonic() < end:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=10)
    finally:
        running.kill()
    assert running.returncode == 130
    assert errors.strip() == "tools: interrupted"
    assert re.match(r"cell \[[23]\]: interrupted", stamp(lessons["01_slow"])["problem"])
    assert executed(lessons["01_slow"]).cells[1].execution_count == 1
    assert not (tmp_path / "build/runs/02_tiny.json").exists()


# Publishing


def test_two_builds_are_byte_identical(built):
    _, _, (first, second), printed = built
    assert printed[0] != printed[1]  # the process ids, in the cell tagged "machine"
    assert first == second


def test_a_built_notebook_is_fresh(committed):
    assert find_faults(committed) == []
    assert committed_claims(committed) == {"two": 2.0}


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"data": {"names": "stand-in"}}, "names came from a stand-in; set COURSEKIT_DATA"),
        ({"problem": "cell [2]: bad"}, r"cell \[2\]: bad"),
    ],
)
def test_a_stand_in_or_a_failed_run_is_not_published(tiny, run_by_hand, result, words):
    with pytest.raises(ValueError, match=words):
        publish(tiny, run_by_hand(**result))
    assert not tiny.notebook.exists()


def test_a_run_that_warned_is_not_published_and_changes_nothing(tiny, run_by_hand):
    result = run_by_hand()
    notebook = executed(tiny)
    notebook.cells[-1].outputs = [new_output("stream", name="stderr", text="UserWarning: old")]
    nbformat.write(notebook, tiny.root / "build/notebooks/01_tiny.ipynb")
    with pytest.raises(ValueError, match=r"cell \[4\] warned: UserWarning: old"):
        publish(tiny, result)
    assert not tiny.notebook.exists()
    assert read_times(tiny.root) == {}


def test_machine_outputs_stay_while_no_code_up_to_them_changed(tiny, run_by_hand):
    timed = 'print(2 + 2)\n\n# %% tags=["machine"]\nprint("timed")'
    edit(tiny, "print(2 + 2)", timed)
    publish(tiny, run_by_hand("first"))
    edit(tiny, "# A lesson", "# The lesson")
    publish(tiny, run_by_hand("second"))
    assert outputs(nbformat.read(tiny.notebook, 4), "machine") == ["first", "first"]
    edit(tiny, "2 + 2", "2 + 3")
    publish(tiny, run_by_hand("third"))
    assert outputs(nbformat.read(tiny.notebook, 4), "machine") == ["first", "third"]
    edit(tiny, "os.getpid()", "os.getppid()")
    publish(tiny, run_by_hand("fourth"))
    assert outputs(nbformat.read(tiny.notebook, 4), "machine") == ["fourth", "fourth"]


def test_live_outputs_are_cleared_and_count_as_run(tiny, run_by_hand):
    publish(tiny, run_by_hand("first"))
    assert outputs(nbformat.read(tiny.notebook, 4), "live") == []
    assert find_faults(tiny) == []


@pytest.mark.parametrize(
    ("seconds", "megabytes", "kept"),
    [
        (10, 200, {"seconds": 10, "megabytes": 200}),
        (14, 260, {"seconds": 10, "megabytes": 200}),
        (18, 210, {"seconds": 20, "megabytes": 200}),
        (11, 290, {"seconds": 10, "megabytes": 300}),
        (0.2, 150, {"seconds": 10, "megabytes": 200}),
    ],
)
def test_the_table_of_times_changes_only_when_a_cost_clearly_did(
    tiny, run_by_hand, seconds, megabytes, kept
):
    publish(tiny, run_by_hand())
    publish(tiny, run_by_hand(seconds=float(seconds), megabytes=megabytes))
    assert read_times(tiny.root) == {"01_tiny": kept}


def test_a_missing_notebook_is_a_fault(tiny):
    assert find_faults(tiny) == [
        "notebooks/01_tiny.ipynb does not exist: run 'make notebooks'",
    ]


def spoil_source(lesson, notebook):
    edit(lesson, 'print("play")', 'print("played")')


def spoil_by_editing(lesson, notebook):
    notebook.cells[-1].source = "print('by hand')"


def spoil_by_clearing(lesson, notebook):
    notebook.cells[3].execution_count = None


def spoil_by_warning(lesson, notebook):
    notebook.cells[3].outputs = [new_output("stream", name="stderr", text="UserWarning: old\n")]


def spoil_by_size(lesson, notebook):
    notebook.cells[3].outputs = [new_output("stream", text="x" * 1_000_000)]


def spoil_by_widgets(lesson, notebook):
    notebook.metadata["widgets"] = {}


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (spoil_source, "is not what its source makes: run 'make notebooks'"),
        (spoil_by_editing, "was edited after it was executed"),
        (spoil_by_clearing, "code cell 3 was never run in order"),
        (spoil_by_warning, "cell [3] warned: UserWarning: old"),
        (spoil_by_size, "more than 1,000,000: smaller figures"),
        (spoil_by_widgets, "has widget metadata without 'state'"),
    ],
)
def test_each_fault_is_named(committed, spoil, fault):
    notebook = nbformat.read(committed.notebook, 4)
    spoil(committed, notebook)
    nbformat.write(notebook, committed.notebook)
    faults = find_faults(committed)
    assert [found for found in faults if fault in found]
    assert all(found.startswith("notebooks/01_full.ipynb ") for found in faults)
    if spoil is not spoil_by_editing:  # which is also not what the source makes
        assert len(faults) == 1


# The command line


def test_the_command_succeeds_and_a_stand_in_is_not_published(tmp_path, monkeypatch, capsys):
    lesson = make_course(tmp_path, n02_data=DATA)["02_data"]
    monkeypatch.chdir(tmp_path / "notebooks")
    assert main(["run", "02"]) == 0
    assert "shakespeare stand-in" in capsys.readouterr().out
    assert stamp(lesson)["data"] == {"shakespeare": "stand-in"}
    assert main(["build", "02"]) == 2
    out, errors = capsys.readouterr()
    assert "unchanged since its last run" in out
    assert "shakespeare came from a stand-in" in errors
    assert errors.count("\n") == 1


def test_the_command_fails_when_a_notebook_fails(tiny, no_kernel, monkeypatch, capsys):
    monkeypatch.chdir(tiny.root)
    no_kernel.gives = {"problem": "cell [3]: bad"}
    for command in ("run", "build"):
        assert main([command]) == 1
        assert "FAILED 01_tiny, cell [3]: bad" in capsys.readouterr().out
    assert not tiny.notebook.exists()


def test_the_command_publishes_and_then_finds_the_notebook_fresh(
    tiny, no_kernel, monkeypatch, capsys
):
    monkeypatch.chdir(tiny.root)
    assert main(["build", "--check"]) == 1
    assert "does not exist" in capsys.readouterr().out
    assert main(["build"]) == 0
    assert "wrote notebooks/01_tiny.ipynb" in capsys.readouterr().out
    assert main(["build", "--check"]) == 0
    assert "fresh: 01_tiny" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["run", "build"])
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([], {"force": False, "jobs": 2}),
        (["--force"], {"force": True, "jobs": 2}),
        (["--jobs", "5"], {"force": False, "jobs": 5}),
    ],
)
def test_each_option_reaches_the_run(tiny, monkeypatch, command, words, wanted):
    monkeypatch.chdir(tiny.root)
    asked = []
    failed = Result("01_tiny", "", problem="not run")
    monkeypatch.setattr(run, "run_lessons", lambda _, **given: asked.append(given) or [failed])
    assert main([command, "01", *words]) == 1
    assert asked == [wanted]


def test_a_device_that_is_named_is_that_of_the_kernels(tiny, no_kernel, monkeypatch):
    monkeypatch.chdir(tiny.root)
    monkeypatch.setenv("COURSEKIT_DEVICE", "cuda")  # so that it is put back afterwards
    assert main(["run", "--device", "cpu"]) == 0
    assert run.settings.device() == "cpu"


def test_relative_folders_of_data_hold_in_a_kernel_that_starts_elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSEKIT_DATA", "data")
    monkeypatch.delenv("COURSEKIT_CACHE", raising=False)
    own = run._environment(Lesson(tmp_path, "01_tiny"), tmp_path / "build")
    assert own["COURSEKIT_DATA"] == str(tmp_path / "data")
    assert "COURSEKIT_CACHE" not in own


def test_an_unknown_notebook_or_folder_is_named_in_one_line(tiny, monkeypatch, capsys):
    monkeypatch.chdir(tiny.root)
    assert main(["run", "99"]) == 2
    assert capsys.readouterr().err == ("tools: no notebook begins with '99'; there are 01_tiny\n")
    monkeypatch.chdir("/")
    assert main(["run"]) == 2
    assert re.fullmatch(r"tools: / is not inside a clone.*\n", capsys.readouterr().err)


def test_the_command_ends_with_130_when_interrupted(tiny, monkeypatch, capsys):
    monkeypatch.chdir(tiny.root)

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_lessons", lambda *arguments, **options: interrupt())
    assert main(["run"]) == 130
    assert capsys.readouterr().err.strip() == "tools: interrupted"


# What is installed

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REQUIRED = [
    Requirement(line)
    for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for line in lines
    if not line.startswith("coursekit[")  # an extra that holds another
]


def locked():
    text = (ROOT / "requirements.lock").read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def test_freezing_drops_local_versions_and_the_course():
    listing = "torch==2.13.0+cpu\n-e git+https://h/c#egg=coursekit\ncoursekit==0.1.0\nAbc==1\n"
    listing += "elsewhere @ file:///tmp/elsewhere\n"
    listing += "nvidia-cudnn-cu13==9\ntriton==3\ncuda-pathfinder==1\npip==25\n"
    assert lock.freeze(listing) == lock.HEADER + "Abc==1\ntorch==2.13.0\n"


def test_the_lock_is_written_from_this_environment(tmp_path, monkeypatch):
    def freeze(command, **options):
        assert command[1:4] == ["-m", "pip", "freeze"]
        return subprocess.CompletedProcess(command, 0, stdout="torch==2.13.0+cpu\n")

    monkeypatch.setattr(lock.subprocess, "run", freeze)
    lock.write_lock(tmp_path)
    assert (tmp_path / "requirements.lock").read_text() == lock.HEADER + "torch==2.13.0\n"


@pytest.mark.parametrize("required", REQUIRED, ids=lambda required: required.name)
def test_what_pyproject_asks_for_is_locked_at_a_version_that_satisfies_it(required):
    versions = {canonicalize_name(name): number for name, number in locked().items()}
    assert required.specifier.contains(versions[canonicalize_name(required.name)])


def test_the_lock_suits_every_platform():
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert re.search(r"^torch==[0-9.]+$", text, re.MULTILINE)
    assert "--hash" not in text
    assert not [name for name in locked() if name.lower() == "coursekit"]


def test_pyproject_has_lower_bounds_only_but_for_nbval():
    for required in REQUIRED:
        bounds = str(required.specifier)
        assert re.fullmatch(r">=[0-9.]+", bounds) or str(required) == "nbval==0.11.*"


def test_the_conda_environment_is_python_pip_and_this_project():
    wanted = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    python, *rest = wanted
    assert python == f"python{PROJECT['requires-python']}"
    assert rest == ["pip", {"pip": ["-e .[offline,course,test]"]}]


# Exercises

SOLVED = (
    HEADER
    + """
# %%
from coursekit.exercises.compare import agree

# %% tags=["stub"]
def double(x): ...


# %% tags=["check"]
agree(double, lambda x: 2 * x, [(1,), (3,)])


# %% tags=["solution"]
def double(x):
    return x + x


# %%
print("end")
"""
)


@pytest.fixture
def exercise(tmp_path):
    return make_course(tmp_path, n01_tiny=SOLVED)["01_tiny"]


def sources(notebook):
    return [cell.source for cell in notebook.cells[2:]]


def test_readers_get_the_stub_and_the_solution_folded_under_its_check(exercise):
    made = load(exercise)
    assert [cell.cell_type for cell in made.cells] == [
        *("markdown", "code", "code", "code", "code", "markdown", "code")
    ]
    folded = made.cells[5].source
    assert folded.startswith("<details><summary>Solution</summary>\n\n```python\ndef double(x):")
    assert "return x + x\n```\n\n</details>" in folded
    assert not [
        cell for cell in made.cells if "return x + x" in cell.source and cell is not made.cells[5]
    ]


GUESSED = (
    HEADER
    + """
# %%
print("before")

# %% tags=["predict"]
guess = None

# %%
found = 3

# %% tags=["figure"]
print(found)

# %% [markdown]
# Three.

# %%
print("after")
"""
)


def test_what_comes_out_after_a_guess_is_collapsed_until_it_is_run(tmp_path):
    made = load(make_course(tmp_path, n01_tiny=GUESSED)["01_tiny"])
    hidden = [
        cell.source for cell in made.cells if cell.metadata.get("jupyter", {}).get("outputs_hidden")
    ]
    assert hidden == ["found = 3", "print(found)"]


def test_what_the_check_says_to_the_solution_stands_above_it(exercise):
    path = seen_file(exercise)
    path.parent.mkdir()
    path.write_text(json.dumps(["✓ double: right in all 2 cases\n"]))
    folded = load(exercise).cells[5].source
    said = "<details><summary>What you should see</summary>\n\n```text\n✓ double: right in all"
    assert folded.startswith(said)
    assert folded.count("</details>") == 2


def test_solved_the_solution_stands_in_the_place_of_its_stub(exercise):
    solved, readers = load(exercise, solved=True), load(exercise)
    assert len(solved.cells) == len(readers.cells) - 1
    assert sources(solved)[1] == "def double(x):\n    return x + x"
    assert "def double(x): ..." not in sources(solved)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('tags=["stub"]', 'tags=["shown"]', "a solution without a stub before it: 'def double"),
        ('tags=["solution"]', 'tags=["shown"]', "a stub without a solution after it: 'def double"),
        (
            '# %% tags=["check"]',
            '# %% tags=["stub"]\ndef f(): ...\n\n# %% tags=["check"]',
            "a stub without a solution after it: 'def double",
        ),
    ],
)
def test_a_stub_or_solution_alone_is_refused(exercise, old, new, fault):
    edit(exercise, old, new)
    with pytest.raises(ValueError, match=fault):
        load(exercise, solved=True)


def test_a_build_keeps_what_the_checks_say_and_a_solved_run_may_go_twice(exercise):
    publish(exercise, run_lesson(exercise))
    assert read_seen(exercise) == ["✓ double: right in all 2 cases\n"]
    assert outputs(nbformat.read(exercise.notebook, 4), "check") == [
        "not yet: write double, then run this cell again\n"
    ]
    assert "What you should see" in exercise.notebook.read_text("utf-8")
    assert find_faults(exercise) == []
    twice = run_solved(exercise, again=60)
    assert printed_by_checks(twice) == ["✓ double: right in all 2 cases\n"] * 2
    counts = [cell.execution_count for cell in twice.cells if cell.cell_type == "code"]
    once = [cell for cell in load(exercise, solved=True).cells if cell.cell_type == "code"]
    assert counts == list(range(1, 2 * len(once) + 1))


def test_a_slow_cell_is_run_again_only_when_a_lesson_is_built(exercise):
    edit(exercise, 'print("end")', "import time\n\ntime.sleep(1.2)\nprint('slow')")
    edit(exercise, "agree(double", "time.sleep(1.2)\nagree(double")
    edit(exercise, "from coursekit", "import time\n\nfrom coursekit")
    for again, wanted in ((1.1, ["slow\n"]), (60, ["slow\n"] * 2)):
        solved = run_solved(exercise, again=again)
        said = [out.text for cell in solved.cells for out in cell.get("outputs", [])]
        assert [text for text in said if text == "slow\n"] == wanted
        assert len(printed_by_checks(solved)) == 2  # though its check is slow, too


def test_a_check_that_says_something_else_when_run_again_is_not_built(exercise):
    edit(exercise, "import agree", "import agree\n\nchecked = []")
    edit(exercise, "agree(double", "checked.append(1)\nprint(len(checked))\nagree(double")
    with pytest.raises(ValueError, match=r"01_tiny: run again, its checks say \['2.*, before \['1"):
        publish(exercise, run_lesson(exercise))


def test_a_solved_lesson_that_fails_says_where(exercise):
    edit(exercise, "return x + x", "return x")
    with pytest.raises(ValueError, match=r"^01_tiny, solved, cell \[4\]: NotYet: double\(1\)"):
        run_solved(exercise)


def test_the_header_estimates_the_hours_of_study(exercise):
    edit(exercise, "# **Runs in**", "# **Study time** {study}. **Runs in**")
    assert "**Study time** about an hour." in load(exercise).cells[0].source
    edit(exercise, "# # A lesson", "# # A lesson " + "**Exercise 1.1 (build)** " * 8)
    assert "**Study time** about 2 hours." in load(exercise).cells[0].source
    edit(exercise, "**Exercise 1.1 (build)** " * 8, "**Exercise 1.1 (build)** " * 10)
    assert "**Study time** about 2.5 hours." in load(exercise).cells[0].source
