"""Run notebooks as strangers do: from a wheel, in a folder of their own, far from the clone.

    python -m tests.away [NN]

Each committed notebook (or those whose name begins with NN) runs whole. The folder has a space
and letters of other alphabets in its name; there is no home to write to; locale and time zone are
not the builder's. Ends with exit code 1 if one fails, claims less than is committed, sees the clone
or leaves a file behind. tests/test_away.py runs short notebooks so; all take ten minutes.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError

from conftest import surroundings
from tools.run import CELL_SECONDS, explain
from tools.source import find_lessons

ROOT = Path(__file__).parents[1]
PROBE = """
import json, os
import coursekit
print(json.dumps([os.fsencode(name).hex() for name in (coursekit.__file__, os.getcwd())]))
"""


def build_wheel(folder: Path) -> Path:
    """Build the wheel of the working tree, without a network; leave it alone in `folder`."""
    with tempfile.TemporaryDirectory() as copy:
        for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, copy)
        for folder_name in ("coursekit", "notebooks/recorded"):
            shutil.copytree(ROOT / folder_name, Path(copy, folder_name))
        pip(["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, copy])
    return next(folder.glob("coursekit-*.whl"))


def pip(arguments: list[str | Path]) -> None:
    """Run pip without a network; raise with what it said if it fails."""
    quiet = ["--quiet", "--disable-pip-version-check", "--no-index"]
    command = [sys.executable, "-m", "pip", *map(str, arguments), *quiet]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def install(wheel: Path, folder: Path) -> Path:
    """Unpack the wheel in a place with an awkward name; return it, for PYTHONPATH."""
    site = folder / "ort ü 數" / "site"
    pip(["install", "--no-deps", "--target", site, wheel])
    return site


def run_away(notebook: Path, site: Path) -> str:
    """Run a notebook there; return what is wrong, or nothing."""
    committed = nbformat.read(notebook, as_version=4)
    made = nbformat.from_dict(json.loads(json.dumps(committed)))
    made.cells.append(nbformat.v4.new_code_cell(PROBE))
    with tempfile.TemporaryDirectory(prefix="kurs ж ", dir=site.parent) as folder:
        try:
            client_of(made, folder).execute(env=environment(site), cleanup_kc=True)
        except (CellControlSignal, DeadKernelError) as problem:
            return explain(problem)
        left = sorted(path.name for path in Path(folder).iterdir())
        told = json.loads(made.cells.pop().outputs[0].text)
        package, here = (Path(os.fsdecode(bytes.fromhex(name))) for name in told)
        faults = {
            f"left behind: {left}": left,
            f"coursekit came from {package}": not package.is_relative_to(site),
            f"ran in {here}": here.resolve() != Path(folder).resolve(),
            "other claims than committed": claims(made) != claims(committed),
        }
    return "; ".join(fault for fault, is_so in faults.items() if is_so)


def environment(site: Path) -> dict[str, str]:
    """Name the variables of such a place: no help for Jupyter but a folder for its sockets."""
    unwanted = ("COURSEKIT_LEDGER", "COURSEKIT_FIGURES")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    odd = surroundings(ROOT)
    del odd["IPYTHONDIR"], odd["MPLCONFIGDIR"]
    return {**kept, **odd, "COURSEKIT_PLAIN": "1", "PYTHONPATH": str(site)}


def client_of(made: nbformat.NotebookNode, folder: str) -> NotebookClient:
    """Make what runs the cells in `folder`, by a kernel of this Python."""
    manager = KernelManager(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    quiet = ["--Application.log_level=ERROR"]
    where = {"metadata": {"path": folder}}
    return NotebookClient(
        made, km=manager, timeout=2 * CELL_SECONDS, extra_arguments=quiet, resources=where
    )


def claims(notebook: nbformat.NotebookNode) -> list[str]:
    """List the names of the claims that held, from what the cells printed."""
    printed = [
        out.text for cell in notebook.cells for out in cell.get("outputs", []) if "text" in out
    ]
    return re.findall(r"^✓ (\S+) = ", "\n".join(printed), re.M)


def main() -> int:
    """Run the notebooks, two at a time; return the exit code."""
    try:
        notebooks = [one.notebook for one in find_lessons(ROOT, *sys.argv[1:2])]
    except ValueError as problem:
        print(problem)
        return 2
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        site = install(build_wheel(Path(folder)), Path(folder))
        found = pool.map(lambda notebook: run_away(notebook, site), notebooks)
        problems = []
        for notebook, problem in zip(notebooks, found, strict=True):
            print(f"{notebook.stem:<28} {problem or 'as at home'}", flush=True)
            problems.append(problem)
    return int(any(problems))


if __name__ == "__main__":
    sys.exit(main())
