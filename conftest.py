"""How pytest runs the notebooks: nbval, strict, with its traps mended.

nbval 0.11 runs every code cell in a kernel and compares what comes out with what is committed.
Three of its classes are replaced here; tests/test_harness.py proves each point on notebooks
made for it, and that nbval still has what is replaced.

`Kernel`:
- A kernel that died is noticed within a second; nbval waits for the whole cell limit.
- A cell over the limit is interrupted once, and two seconds later given up; nbval goes on
  reading, and lets a cell pass that swallows the interrupt and ends.
- Cells are sent as Jupyter sends them, with history: a trailing ";" silences the last value, and
  a traceback says In[3] in the third cell.

`Cell`:
- Cells count from 1, as the reader's In[1] does; nbval counts from 0.
- After the first broken cell the rest of its notebook is skipped, or its errors would bury that
  one. An output that merely differs breaks nothing.
- A cell that was never run fails; nbval compares it with nothing and passes it.
- An output that was not expected, such as a warning, is printed; nbval says only "stderr".
- Tags: "machine" and "live" are run and not compared, nor is "scoreboard", which shows what other
  lessons measured (tests/test_board.py compares it); "data" is compared only when every data
  set now comes from the same kind of source as when the notebook was built. Where that is, in a
  folder, in the cache or in a package, is never compared.
- A claim's value is held against its band in the kernel, where a value outside is an exception.
  Its digits are not compared: another processor rounds otherwise, and a trained loss moves.

`Notebook`:
- One without a source in src/ fails with one sentence: nothing builds it.
- Its kernel files claims in build/test, so that test runs can be compared.
- Its kernel lives where little is as on the machine that built it: no home to write to, another
  time zone, and a locale in which a file opened without an encoding is ASCII. What it prints must
  be the same.
"""

import functools
import math
import os
import re
import shutil
import time
from pathlib import Path
from queue import Empty

import pytest

try:
    from nbval import plugin
except ImportError:  # the unit tests run without it
    plugin = None
try:
    from xdist.scheduler import LoadFileScheduling
except ImportError:  # one process runs all tests
    LoadFileScheduling = object

# One thread a process: two workers on two cores (Makefile). Before torch and kernels start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ["COURSEKIT_PLAIN"] = "1"  # no progress bars: their text never repeats

GRACE_SECONDS = 2
ALONE = "tests/test_solved.py"
"""Its tests run a lesson each, for minutes."""
LONGEST = (ALONE, "tests/test_recorded_runs.py", "tests/test_encoder_lesson.py", "notebooks/")
NUMBER = r"(?<!\w)-?\d[\d,.]*(e[+-]?\d+)?"
_seen = {"cells": False}


class StoppedError(RuntimeError):
    """The kernel can't go on: a message for the reader and, if there is one, a traceback."""


@functools.cache
def kind_now(name: str) -> str | None:
    """Tell which kind of a data set a run uses now; None if there is no such data set."""
    from coursekit.data import DATASETS  # not earlier: tests/conftest.py wraps the package
    from coursekit.fetch.store import kind

    return kind(DATASETS[name], fetch=True) if name in DATASETS else None


def hide_claimed(text: str) -> str:
    """Put # for the numbers of the claims that held: all between the tick and the reason.

    >>> hide_claimed("✓ loss 2.05 nats (seeds 0–4: 2.0)")
    '✓ loss # nats (seeds 0–4: 2.0)'
    """
    return re.sub(r"(?m)^✓ .*?(?= \()", lambda line: re.sub(NUMBER, "#", line[0]), text)


@functools.cache
def warm_matplotlib(folder):
    """Make a folder for MPLCONFIGDIR in which a kernel finds Matplotlib's list of fonts.

    A kernel that has to build that list says so on its error stream if it takes over 5 s.
    """
    import matplotlib as mpl
    from matplotlib import font_manager  # noqa: F401 (builds the list, if this machine has none)

    folder.mkdir(parents=True, exist_ok=True)
    for fonts in Path(mpl.get_cachedir()).glob("fontlist-*.json"):
        unfinished = folder / f"{fonts.name}.{os.getpid()}"  # two workers may come here at once
        shutil.copyfile(fonts, unfinished)
        unfinished.replace(folder / fonts.name)
    return folder


def surroundings(root):
    """Name variables that make an unusual place for a kernel, yet one in which Jupyter starts."""
    from jupyter_core.paths import jupyter_runtime_dir

    from coursekit.fetch.download import cache_folder
    from tools.run import absolute_folders

    home = str(root / "conftest.py" / "home")  # inside a file: nobody can make it, not even root
    own = root / "build" / "test"
    kept = {"COURSEKIT_CACHE": cache_folder(), "JUPYTER_RUNTIME_DIR": jupyter_runtime_dir()}
    fonts = warm_matplotlib(own / "matplotlib")
    given = {"IPYTHONDIR": own / "ipython", "MPLCONFIGDIR": fonts}
    return {
        **dict.fromkeys(("HOME", "USERPROFILE", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), home),
        **{name: str(folder) for name, folder in (kept | given).items()},
        **{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        "TZ": "Pacific/Auckland",
        **absolute_folders(),
    }


if plugin is not None:

    class Kernel(plugin.RunningKernel):
        def await_reply(self, msg_id, timeout=None):
            end = time.monotonic() + (timeout or math.inf)
            interrupted = False
            while True:
                try:
                    message = self.get_message(stream="shell", timeout=0.5)
                except Empty:
                    message = {"parent_header": {}}
                if message["parent_header"].get("msg_id") == msg_id:
                    if not interrupted:
                        return
                    lines = message["content"].get("traceback", [])
                    raise StoppedError(
                        f"Took longer than the limit of {timeout:g} s", "\n".join(lines)
                    )
                if not self.is_alive():
                    raise StoppedError("The kernel died (out of memory, os._exit, a crash?)")
                if time.monotonic() > end and interrupted:
                    raise StoppedError(
                        f"Took longer than the limit of {timeout:g} s, can't be stopped"
                    )
                if time.monotonic() > end:
                    self.interrupt()
                    end = time.monotonic() + GRACE_SECONDS
                    interrupted = True

        def execute_cell_input(self, cell_input, allow_stdin=None):
            options = {"store_history": True, "stop_on_error": False}
            return self.kc.execute(cell_input, allow_stdin=allow_stdin, **options)

    class Cell(plugin.IPyNbCell):
        def runtest(self):
            if self.parent.broken:
                pytest.skip(f"{self.path.name}: {self.parent.broken} failed")
            never_run = self.cell.execution_count is None and self.cell.source.strip()
            if never_run:
                self.cell.outputs = []  # there is nothing to compare with
            self.options["check"] = self.options["check"] and self.is_comparable()
            try:
                super().runtest()
            except Exception as problem:
                if str(problem) != "Cell outputs differ":
                    self.parent.broken = self.name
                if isinstance(problem, StoppedError):
                    self.raise_cell_error(*problem.args)
                raise
            if never_run:
                self.raise_cell_error("This cell was never run: run `make notebooks`")

        def is_comparable(self):
            tags = self.cell.metadata.get("tags", [])
            used = self.parent.nb.metadata.get("coursekit", {}).get("data", {})
            if "data" in tags and any(kind_now(name) not in (None, used[name]) for name in used):
                return False
            return not {"machine", "live", "scoreboard"} & set(tags)

        def compare_outputs(self, test, ref, skip_compare=None):
            same = super().compare_outputs(test, ref, skip_compare)
            if not same and "output fields" in self.comparison_traceback[0]:
                texts = [out.get("text") or out.get("data", {}).get("text/plain") for out in test]
                self.comparison_traceback += ["This run gave:", *filter(None, texts)]
            return same

        def sanitize(self, s):
            return hide_claimed(super().sanitize(s)) if isinstance(s, str) else s

        def repr_failure(self, excinfo):
            # Its first line is what pytest's summary quotes.
            return f"{excinfo.value}\n{super().repr_failure(excinfo)}"

    class Notebook(plugin.IPyNbFile):
        broken = ""  # the name of the first cell that failed to run

        def collect(self):
            source = self.path.parent / "src" / f"{self.path.stem}.py"
            if self.path.parent.name == "notebooks" and not source.exists():
                yield Stray.from_parent(self, name="source")
                return
            for i, found in enumerate(super().collect(), 1):
                parts = {"cell": found.cell, "options": found.options}
                yield Cell.from_parent(self, name=f"Cell {i}", cell_num=i, **parts)

        def setup(self):
            root = self.config.rootpath
            claims = root / "build" / "test" / "claims"
            with pytest.MonkeyPatch.context() as environment:
                if (root / "coursekit").is_dir() and "COURSEKIT_LEDGER" not in os.environ:
                    (claims / f"{self.path.stem}.json").unlink(missing_ok=True)
                    environment.setenv("COURSEKIT_LEDGER", str(claims))
                    environment.setenv("COURSEKIT_CLAIMS", str(root / "coursekit" / "claims"))
                    for name, value in surroundings(root).items():
                        environment.setenv(name, value)
                super().setup()
            self.sanitize_patterns[r"\(canonical, [^()]*\)"] = "(canonical)"

        def teardown(self):
            if self.kernel is not None and hasattr(self.kernel, "km"):
                self.kernel.stop()  # also one that has died: its sockets are open

    class Stray(pytest.Item):
        def runtest(self):
            raise FileNotFoundError

        def repr_failure(self, excinfo):
            name = self.path.name
            return f"{name} has no source src/{self.path.stem}.py: write one, or move {name} away"

    plugin.RunningKernel = Kernel

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(file_path, parent):
        found = yield
        ours = Notebook.from_parent
        return [
            ours(parent, path=file_path) if isinstance(file, plugin.IPyNbFile) else file
            for file in found
        ]


class Scheduling(LoadFileScheduling):
    """Hand the tests of `ALONE` out one by one, and all others a file at a time."""

    def _split_scope(self, nodeid):
        return nodeid if nodeid.startswith(ALONE) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return Scheduling(config, log)


def pytest_collection_modifyitems(items):
    """Let the longest come first, or one worker would go on with them when the other has ended."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_runtest_logreport(report):
    _seen["cells"] |= ".ipynb::" in report.nodeid


def pytest_sessionfinish(session):
    """Merge the claims, once: in the process that the workers report to."""
    build = session.config.rootpath / "build" / "test"
    if (
        _seen["cells"]
        and (build / "claims").is_dir()
        and not hasattr(session.config, "workerinput")
    ):
        from tools.run import merge_claims

        merge_claims(build)
