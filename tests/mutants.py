"""Plant the bugs of mutants.toml in a copy of the project and see that the tests notice.

    python -m tests.mutants

Not collected by pytest: it takes minutes. Ends with exit code 1 if a bug survives.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
N_COPIES = 2
PASSED, FAILED = 0, 1  # pytest's exit codes; 2 to 5 mean that the test did not run


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


def plant(copy: Path, mutant: dict[str, str]) -> str:
    """Plant one bug, run its test, take the bug out again; say what happened."""
    file = copy / mutant["file"]
    sound = file.read_text("utf-8")
    if sound.count(mutant["old"]) != 1:
        return "old text not found exactly once"
    try:
        file.write_text(sound.replace(mutant["old"], mutant["new"]), "utf-8")
        code = run_tests(copy, [mutant["test"]]).returncode
    finally:
        file.write_text(sound, "utf-8")
    if code == FAILED:
        return "caught"
    return "SURVIVED" if code == PASSED else f"SURVIVED: the test did not run (pytest exit {code})"


def main() -> int:
    """Plant all bugs; return the exit code."""
    mutants = read_mutants()
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
                pool.submit(lambda i=i: [_tell(copies[i], m) for m in mutants[i::N_COPIES]])
                for i in range(N_COPIES)
            ]
            held = [caught for queue in queues for caught in queue.result()]
    print(f"{sum(held)} of {len(held)} planted bugs were caught")
    return 0 if all(held) else 1


def _tell(copy: Path, mutant: dict[str, str]) -> bool:
    result = plant(copy, mutant)
    print(f"{result}: {mutant['file']}: {mutant['why']}", flush=True)
    return result == "caught"


if __name__ == "__main__":
    sys.exit(main())
