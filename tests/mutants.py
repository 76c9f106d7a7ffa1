"""Plant the bugs of mutants.toml in a copy of the project and see that the tests notice.

    python -m tests.mutants [WORD …]

With words, only the bugs whose file or reason holds one of them. Not collected by pytest: it takes
minutes. Ends with exit code 1 if a bug survives.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
N_COPIES = 2
PASSED, FAILED = 0, 1  # pytest's exit codes; 2 to 5 mean that the test did not run
HANGS = -signal.SIGALRM
LONGEST_SECONDS = 300
WARM = [
    "torch",
    "numpy",
    "pandas",
    "matplotlib.pyplot",
    "jaxtyping",
    "beartype",
    "hypothesis",
    "regex",
    "scipy.stats",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.llama.modeling_llama",
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper",
    "nltk.lm",
    "requests",
    "nbformat",
    "IPython.display",
]
"""What a test imports that no bug is planted in: half of the seconds that it takes."""


def read_mutants() -> list[dict[str, str]]:
    """List the bugs: where each one is planted and which test must fail."""
    return tomllib.loads((ROOT / "tests/mutants.toml").read_text("utf-8"))["mutant"]


def copy_project(target: Path) -> None:
    """Copy what git tracks or would track, as it is in the working tree."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.check_output(command, cwd=ROOT, text=True)
    for file in filter(None, listed.split("\0")):
        if (ROOT / file).is_file():
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, target / file)


def run_tests(copy: Path, tests: Iterable[str]) -> subprocess.CompletedProcess:
    """Run tests of a copy against the package of that copy."""
    own = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "-q", "-x"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=copy,
        env=os.environ | own,
        capture_output=True,
        text=True,
    )


class Nursery:
    """A process that has imported what is slow to import, and forks itself for each test.

    Args:
        copy: the project that it tests.
    """

    def __init__(self, copy: Path) -> None:
        self.copy = copy
        own = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants", "--serve"],
            cwd=copy,
            env=os.environ | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, test: str) -> int:
        """Run one test on the copy as it is now; return pytest's exit code."""
        self.process.stdin.write(json.dumps(test) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def serve() -> None:
    """Fork for each test that is named on standard input, and answer with its exit code."""
    import importlib

    import pytest

    for name in WARM:
        importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            signal.alarm(LONGEST_SECONDS)
            options = ["-o", "addopts=", "-p", "no:cacheprovider", "-q", "-x"]
            options += ["-W", "ignore:Module already imported"]  # that is the idea
            os._exit(int(pytest.main([*options, json.loads(line)])))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps(code), flush=True)


def plant(nursery: Nursery, mutant: dict[str, str]) -> str:
    """Plant one bug, run its test, take the bug out again; say what happened."""
    file = nursery.copy / mutant["file"]
    sound = file.read_text("utf-8")
    if sound.count(mutant["old"]) != 1:
        return "old text not found exactly once"
    try:
        file.write_text(sound.replace(mutant["old"], mutant["new"]), "utf-8")
        code = nursery.run(mutant["test"])
    finally:
        file.write_text(sound, "utf-8")
    if code in (FAILED, HANGS):
        return "caught"
    return "SURVIVED" if code == PASSED else f"SURVIVED: the test did not run (pytest exit {code})"


def main(words: list[str]) -> int:
    """Plant all bugs, or those that hold one of the words; return the exit code."""
    mutants = [
        mutant
        for mutant in read_mutants()
        if not words or any(word in mutant["file"] + mutant["why"] for word in words)
    ]
    if not mutants:
        print(f"no bug's file or reason holds {' or '.join(words)}")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(folder) / str(i) for i in range(N_COPIES)]
        for copy in copies:
            copy_project(copy)
        sound = run_tests(copies[0], sorted({mutant["test"] for mutant in mutants}))
        if sound.returncode != PASSED:
            print(f"{sound.stdout}{sound.stderr}\nthese tests fail without any planted bug")
            return 1
        with ThreadPoolExecutor(N_COPIES) as pool:
            # A copy holds one bug at a time, so each copy has its own queue.
            queues = [
                pool.submit(_plant_all, copy, mutants[i::N_COPIES]) for i, copy in enumerate(copies)
            ]
            held = [caught for queue in queues for caught in queue.result()]
    print(f"{sum(held)} of {len(held)} planted bugs were caught")
    return 0 if all(held) else 1


def _plant_all(copy: Path, mutants: Sequence[dict[str, str]]) -> list[bool]:
    """Plant bugs one after the other; tell of each whether it was caught."""
    nursery, held = Nursery(copy), []
    if mutants and nursery.run(mutants[0]["test"]) != PASSED:
        raise RuntimeError(f"{mutants[0]['test']} passes by itself, but not in a forked process")
    for mutant in mutants:
        result = plant(nursery, mutant)
        print(f"{result}: {mutant['file']}: {mutant['why']}", flush=True)
        held.append(result == "caught")
    nursery.close()
    return held


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        sys.exit(main(sys.argv[1:]))
