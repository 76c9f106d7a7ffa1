"""Run the notebook tests again and again, in two orders, and compare what the notebooks claim.

    python -m tests.steady [RUNS]

Every second run takes the notebooks backwards. The claims of each run stay in build/steady and a
later call goes on from there, so that runs with data from other sources can be compared, too;
remove that folder to begin anew. Ends with exit code 1 as soon as a run is red or claims something
else than the first one, to the digits that a reader sees. Times repeat on no machine: what a cell
tagged "machine" claims must hold in every run, and may differ.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "steady"


def run_once(notebooks: list[Path], *, backwards: bool) -> tuple[bool, str]:
    """Run the notebooks' tests; tell whether all passed, and give pytest's summary."""
    order = reversed(notebooks) if backwards else notebooks
    command = [sys.executable, "-m", "pytest", "-q", *map(str, order)]
    environment = {k: v for k, v in os.environ.items() if k != "COURSEKIT_LEDGER"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    (KEPT / "last.log").write_text(done.stdout + done.stderr, "utf-8")
    return done.returncode == 0, done.stdout.rstrip().rpartition("\n")[2]


def read_claims(path: Path) -> dict[str, str]:
    """Read what each claim came to, as a reader sees it."""
    claims = json.loads(path.read_text("utf-8"))
    read = {}
    for one in claims:
        read[one["name"]] = f"{one['value']:g}" if one["held"] else f"{one['value']:g} (missed)"
    return read


def find_timed(notebooks: list[Path]) -> set[str]:
    """Find the names of the claims that are made in cells tagged "machine"."""
    found = set()
    for path in notebooks:
        notebook = nbformat.read(path, as_version=4)
        timed = {
            cell.execution_count
            for cell in notebook.cells
            if "machine" in cell.metadata.get("tags", [])
        }
        claims = notebook.metadata["coursekit"]["claims"]
        found |= {claim["name"] for claim in claims if claim["cell"] in timed}
    return found


def compare(first: dict[str, str], later: dict[str, str], timed: set[str]) -> list[str]:
    """List what is claimed otherwise, by one run only, or missed."""
    found = []
    for name in sorted(first.keys() | later.keys()):
        a = first.get(name, "not claimed")
        b = later.get(name, "not claimed")
        may_differ = name in timed and name in first and name in later
        if (a != b and not may_differ) or "missed" in a + b:
            found.append(f"{name}: first {a}, now {b}")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the tests as often as asked; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", type=int, nargs="?", default=10, help="how many (10)")
    wanted = parser.parse_args(arguments).runs
    notebooks = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
    timed = find_timed(notebooks)
    KEPT.mkdir(parents=True, exist_ok=True)
    for _ in range(wanted):
        number = len([*KEPT.glob("*.json")]) + 1
        start = time.monotonic()
        backwards = number % 2 == 0
        passed, summary = run_once(notebooks, backwards=backwards)
        order = "backwards" if backwards else "most cells first"
        print(f"run {number} ({order}), {time.monotonic() - start:.0f} s: {summary}", flush=True)
        if not passed:
            print(f"what pytest said is in {KEPT / 'last.log'}")
            return 1
        shutil.copy(ROOT / "build/test/claims.json", KEPT / f"{number:03}.json")
        claims = [read_claims(KEPT / f"{k:03}.json") for k in (1, number)]
        other = compare(*claims, timed)
        print(f"  {len(claims[1])} claims, {len(other)} otherwise", *other, sep="\n  ", flush=True)
        if other:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
