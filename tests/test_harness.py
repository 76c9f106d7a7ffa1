"""conftest.py, proven on notebooks made for it: what passes, what fails, what is then said.

A kernel takes a second to start, so there are three runs of pytest, and each test looks at its
part of one of them.
"""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbval import kernel, plugin

from conftest import surroundings
from coursekit.data.text import NAMES
from coursekit.fetch.store import kind

ROOT = Path(__file__).parents[1]
LIMIT = 1.5
SETTINGS = "[pytest]\nfilterwarnings = error\njunit_duration_report = call\n"
NOTES_ITS_WORKER = """\
import os, pathlib, time, pytest

@pytest.mark.parametrize("i", "{numbers}")
def test(i):
    with open("order.log", "a") as log:
        log.write(f"{{i}}{{os.environ['PYTEST_XDIST_WORKER']}} ")
    end = time.monotonic() + 20
    while i in "01" and len(pathlib.Path("order.log").read_text().split()) < 2:
        assert time.monotonic() < end, "the other lesson waits for this one"
"""
STUBBORN = """\
import time
while True:
    try:
        while True:
            print("still here")
            time.sleep(0.05)
    except KeyboardInterrupt:
        pass"""
HIDE_NBVAL = """\
import sys, pytest
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "nbval":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
"""
CLAIM = """\
import json, os, pathlib
ledger = pathlib.Path(os.environ["COURSEKIT_LEDGER"])
ledger.mkdir(parents=True, exist_ok=True)
ledger.joinpath("{0}.json").write_text(json.dumps([{{"name": "{0}"}}]));"""
SURROUNDINGS = """\
import codecs, locale, pathlib, time
try:
    (pathlib.Path.home() / ".mine").mkdir(parents=True)
except OSError as problem:
    home = type(problem).__name__
[codecs.lookup(locale.getpreferredencoding(False)).name, time.tzname[0], home]"""


def cell(source, output=None, *, tags=(), count=1):
    """A code cell with its committed output: a text that it displays, or None."""
    outputs = []
    if output:
        outputs = [new_output("execute_result", {"text/plain": output}, execution_count=1)]
    more = {"outputs": outputs, "metadata": {"tags": list(tags)}}
    return new_code_cell(source, execution_count=count, **more)


def printing(now, committed):
    """A code cell that prints a line, and another line that is committed."""
    made = cell(f"print({now!r})")
    made["outputs"] = [new_output("stream", name="stdout", text=f"{committed}\n")]
    return made


def write(path, *cells, data=None):
    notebook = new_notebook(cells=list(cells), metadata={"coursekit": {"data": data or {}}})
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def environment():
    """This one, but with the package of this clone and no plugins: finding them takes 2 s."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COURSEKIT_L"))}
    own = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1"}
    return kept | own


def run(folder, *options, limit, workers=False):
    """Run pytest there; give its exit code, output and, for each cell, how it went."""
    fixed = ["--nbval", "--nbval-current-env", "-o", "addopts=", "-p", "no:cacheprovider"]
    more = ["--color=no", "-rA", "--junitxml=report.xml", f"--nbval-cell-timeout={limit}"]
    plugins = ["-p", "nbval.plugin"]
    if workers:
        plugins += ["-p", "xdist.plugin", "-n", "2", "--dist", "loadfile"]
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *fixed, *more, *plugins, *options],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
    )
    cells = {}
    for case in ET.parse(folder / "report.xml").iter("testcase"):
        notebook = case.get("classname").split(".")[-2]
        state, message = "passed", ""
        for outcome in case:
            if outcome.tag in ("failure", "error", "skipped"):
                state, message = outcome.tag, outcome.get("message") + (outcome.text or "")
        plain = re.sub(r"(#x1B|\x1b)\[[0-9;]*m", "", message)
        seconds = float(case.get("time"))
        cells[notebook, case.get("name")] = SimpleNamespace(
            state=state, message=plain, seconds=seconds
        )
    output = done.stdout + done.stderr
    seconds = time.monotonic() - start
    return SimpleNamespace(code=done.returncode, output=output, cells=cells, seconds=seconds)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("harness")
    shutil.copy(ROOT / "conftest.py", folder)
    (folder / "pytest.ini").write_text(SETTINGS)
    (folder / "coursekit").mkdir()  # so that claims are recorded
    return folder


@pytest.fixture(scope="module")
def bad(folder):
    """One run over every notebook that has something wrong."""
    where = folder / "bad"
    now = kind(NAMES)
    other = {"canonical": "stand-in", "stand-in": "canonical"}[now]
    write(
        where / "mixed.ipynb",
        cell("2 + 2", "4"),
        cell("6 * 7", "41"),
        cell("'never'", count=None),
        cell("'never, yet with an output'", "'never'", count=None),
        cell("import warnings; warnings.warn('the sky falls')"),
        cell("print('words')"),
        cell("3 + 3;"),
        cell("'here'", "'there'", tags=["machine"]),
        cell("'here'", "'there'", tags=["live"]),
        cell("'here'", "'there'", tags=["scoreboard"]),
        cell("'here'", "'there'", tags=["nbval-ignore-output"]),
        cell("", count=None),
        printing("✓ loss 2.012 nats (seeds)", "✓ loss 2.02 nats (seeds)"),
        printing("✓ loss 2.012 nats (seeds)", "✓ loss 2.012 bits (seeds)"),
        printing("✓ loss 2.012 nats (seeds)", "✓ loss 2.012 nats (2 seeds)"),
        printing("✗ loss 2.012 nats (seeds)", "✓ loss 2.012 nats (seeds)"),
        printing("loss 2.012 nats (seeds)", "loss 2.02 nats (seeds)"),
    )
    data = cell("'these names'", "'those names'", tags=["data"])
    write(where / "same_data.ipynb", data, data={"names": now})
    write(where / "other_data.ipynb", data, data={"names": other})
    write(where / "exception.ipynb", cell("a = 1"), cell("a / 0"), cell("a", "2"), cell("a", "1"))
    write(where / "endless.ipynb", cell("a = 1"), cell("while True:\n    a += 1"), cell("a"))
    swallow = "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    pass"
    write(where / "swallow.ipynb", cell(swallow), cell("1", "1"))
    write(where / "stubborn.ipynb", cell(STUBBORN), cell("1", "1"))
    write(folder / "notebooks" / "04_stray.ipynb", cell("2 + 2", "4"))
    return run(folder, "bad", "notebooks", limit=LIMIT)


@pytest.fixture(scope="module")
def good(folder):
    """One run, by two workers, over notebooks in which all is well."""
    for name in ("05_right", "06_right"):
        write(folder / "good" / f"{name}.ipynb", cell(CLAIM.format(name)), cell("2 + 2", "4"))
    here, elsewhere = (f"two: names (canonical, {origin})" for origin in ("cache", "package x"))
    origin = cell(f"'{here}'", f"'{elsewhere}'", tags=["data"])
    write(folder / "good" / "08_place.ipynb", origin, data={"names": kind(NAMES)})
    there = "['ascii', 'NZST', 'NotADirectoryError']"
    write(folder / "good" / "07_surroundings.ipynb", cell(SURROUNDINGS, there))
    return run(folder, "good", limit=60, workers=True)


@pytest.fixture(scope="module")
def dead(folder):
    """One run of a notebook whose kernel dies, with a limit far off."""
    write(folder / "dead" / "dead.ipynb", cell("a = 1"), cell("import os; os._exit(1)"), cell("a"))
    return run(folder, "dead", limit=60)


def test_whole_lessons_come_first_and_one_by_one_and_other_files_as_a_whole(folder):
    where = folder / "order"
    (where / "tests").mkdir(parents=True)
    shutil.copy(folder / "conftest.py", where)
    (where / "pytest.ini").write_text(SETTINGS)
    for name, numbers in (("solved", "01"), ("other", "2345")):
        (where / "tests" / f"test_{name}.py").write_text(NOTES_ITS_WORKER.format(numbers=numbers))
    done = run(where, "--no-loadscope-reorder", limit=60, workers=True)
    assert done.code == 0, done.output
    order = (where / "order.log").read_text().split()
    assert sorted(one[0] for one in order[:2]) == ["0", "1"]
    assert len({one[1:] for one in order[:2]}) == 2
    assert len({one[1:] for one in order[2:]}) == 1


def test_a_right_notebook_passes_under_two_workers(good):
    right = [cell.state for (name, _), cell in good.cells.items() if name.endswith("right")]
    assert right == ["passed"] * 4, good.output


@pytest.mark.skipif(os.name == "nt", reason="Windows names time zones and encodings otherwise")
def test_a_kernel_has_no_home_another_clock_and_ascii_files(good):
    seen = good.cells["07_surroundings", "Cell 1"]
    assert seen.state == "passed", seen.message


def test_where_canonical_data_were_found_is_not_compared(good):
    assert good.cells["08_place", "Cell 1"].state == "passed", good.output


def test_a_kernel_finds_matplotlibs_list_of_fonts_and_need_not_build_it(tmp_path):
    warm = Path(surroundings(tmp_path)["MPLCONFIGDIR"])
    before = {path.name: path.stat().st_mtime_ns for path in warm.iterdir()}
    assert [name for name in before if name.startswith("fontlist-")]
    command = [sys.executable, "-c", "import matplotlib.font_manager"]
    subprocess.run(command, env=os.environ | {"MPLCONFIGDIR": str(warm)}, check=True)
    assert {path.name: path.stat().st_mtime_ns for path in warm.iterdir()} == before


def test_claims_of_all_workers_are_merged(good, folder):
    claims = json.loads((folder / "build/test/claims.json").read_text())
    assert [claim["name"] for claim in claims] == ["05_right", "06_right"]


def test_a_bad_notebook_fails_the_run(bad):
    assert bad.code == 1, bad.output
    assert "INTERNALERROR" not in bad.output


def test_cells_count_from_1(bad):
    names = [name for notebook, name in bad.cells if notebook == "endless"]
    assert names == ["Cell 1", "Cell 2", "Cell 3"]
    assert bad.cells["mixed", "Cell 1"].state == "passed"
    assert "Cell 2: Cell outputs differ" in bad.cells["mixed", "Cell 2"].message


def test_a_wrong_result_fails_and_shows_both(bad):
    wrong = bad.cells["mixed", "Cell 2"]
    assert wrong.state == "failure"
    assert re.search(r"'41' == '42'", wrong.message)


@pytest.mark.parametrize("name", ["Cell 3", "Cell 4"])
def test_a_cell_that_was_never_run_fails_and_says_what_to_do(bad, name):
    never = bad.cells["mixed", name]
    assert never.state == "failure"
    assert "never run: run `make notebooks`" in never.message


def test_an_empty_cell_need_not_have_been_run(bad):
    assert bad.cells["mixed", "Cell 12"].state == "passed"


@pytest.mark.parametrize(
    ("name", "text"), [("Cell 5", "UserWarning: the sky falls"), ("Cell 6", "words")]
)
def test_a_new_output_fails_and_is_shown(bad, name, text):
    new = bad.cells["mixed", name]
    assert new.state == "failure"
    assert "Unexpected output fields" in new.message
    assert text in new.message.partition("This run gave:")[2]


def test_a_trailing_semicolon_silences_the_value(bad):
    assert bad.cells["mixed", "Cell 7"].state == "passed"


@pytest.mark.parametrize("name", [f"Cell {i}" for i in range(8, 12)])
def test_cells_tagged_machine_live_or_ignored_are_not_compared(bad, name):
    assert bad.cells["mixed", name].state == "passed"


def test_of_a_claim_that_held_all_but_the_numbers_is_compared(bad):
    states = [bad.cells["mixed", f"Cell {i}"].state for i in range(13, 18)]
    assert states == ["passed"] + ["failure"] * 4


def test_a_data_cell_is_compared_when_the_data_are_of_the_same_kind(bad):
    same = bad.cells["same_data", "Cell 1"]
    assert same.state == "failure"
    assert "'those names'" in same.message


def test_a_data_cell_is_not_compared_when_the_data_are_of_another_kind(bad):
    assert bad.cells["other_data", "Cell 1"].state == "passed"


def test_after_an_exception_the_later_cells_are_skipped(bad):
    states = [bad.cells["exception", f"Cell {i}"].state for i in (1, 2, 3, 4)]
    assert states == ["passed", "failure", "skipped", "skipped"]
    assert "exception.ipynb: Cell 2 failed" in bad.cells["exception", "Cell 4"].message


def test_a_traceback_says_the_number_that_the_reader_sees(bad):
    message = bad.cells["exception", "Cell 2"].message
    assert "Cell 2: Cell execution caused an exception" in message
    assert "In[2]" in message
    assert "ZeroDivisionError" in message


def test_an_endless_loop_is_stopped_and_named(bad):
    loop = bad.cells["endless", "Cell 2"]
    assert loop.state == "failure"
    assert f"Cell 2: Took longer than the limit of {LIMIT} s" in loop.message
    assert "a += 1" in loop.message.partition("Traceback:")[2]  # the line it was at
    assert loop.seconds < LIMIT + 2
    assert bad.cells["endless", "Cell 3"].state == "skipped"


def test_a_cell_over_the_limit_fails_even_if_it_swallows_the_interrupt(bad):
    assert bad.cells["swallow", "Cell 1"].state == "failure"
    assert f"limit of {LIMIT} s" in bad.cells["swallow", "Cell 1"].message


def test_a_loop_that_ignores_the_interrupt_is_given_up(bad):
    stubborn = bad.cells["stubborn", "Cell 1"]
    assert stubborn.state == "failure"
    assert f"limit of {LIMIT} s, can't be stopped" in stubborn.message
    assert stubborn.seconds < LIMIT + 5
    assert bad.cells["stubborn", "Cell 2"].state == "skipped"


def test_a_notebook_without_a_source_fails_in_one_sentence(bad):
    stray = bad.cells["04_stray", "source"]
    assert stray.state == "failure"
    assert "04_stray.ipynb has no source src/04_stray.py: write one, or" in stray.message
    assert "Error" not in stray.message
    assert len(stray.message) < 250


def test_the_summary_says_what_happened(bad):
    assert re.search(r"FAILED bad/mixed.ipynb::Cell 2 - Cell outputs differ", bad.output)
    assert re.search(r"FAILED bad/endless.ipynb::Cell 2 - Took longer than", bad.output)


def test_a_dead_kernel_is_named_long_before_the_limit(dead):
    assert dead.code == 1, dead.output
    died = dead.cells["dead", "Cell 2"]
    assert died.state == "failure"
    assert "Cell 2: The kernel died" in died.message
    assert died.seconds < 3
    assert dead.seconds < 20
    assert dead.cells["dead", "Cell 3"].state == "skipped"


def test_without_nbval_the_unit_tests_run(folder):
    (folder / "test_unit.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")
    options = ["-p", "no:cacheprovider", "-o", "addopts=", "-q", "test_unit.py"]
    done = subprocess.run(
        [sys.executable, "-c", f"{HIDE_NBVAL}sys.exit(pytest.main({options}))"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (kernel.RunningKernel.__init__, "self kernel_name cwd startup_timeout"),
        (kernel.RunningKernel.await_reply, "self msg_id timeout"),
        (kernel.RunningKernel.execute_cell_input, "self cell_input allow_stdin"),
        (kernel.RunningKernel.get_message, "self stream timeout"),
        (kernel.RunningKernel.interrupt, "self"),
        (kernel.RunningKernel.is_alive, "self"),
        (kernel.RunningKernel.stop, "self"),
        (plugin.IPyNbCell.__init__, "self name parent cell_num cell options"),
        (plugin.IPyNbCell.runtest, "self"),
        (plugin.IPyNbCell.compare_outputs, "self test ref skip_compare"),
        (plugin.IPyNbCell.raise_cell_error, "self message args kwargs"),
        (plugin.IPyNbFile.collect, "self"),
        (plugin.IPyNbFile.setup, "self"),
        (plugin.IPyNbFile.teardown, "self"),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_nbval_still_has_what_conftest_replaces_or_calls(function, parameters):
    assert list(inspect.signature(function).parameters) == parameters.split()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (plugin.IPyNbFile.setup, "RunningKernel("),
        (plugin.IPyNbCell.runtest, '"Cell outputs differ"'),
        (plugin.IPyNbCell.compare_outputs, '"Unexpected output fields from running code'),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_nbval_still_says_what_conftest_looks_for(function, text):
    assert text in inspect.getsource(function)
