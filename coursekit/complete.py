"""Installs what the course needs and doesn't find, and changes nothing that is there.

    python -m coursekit.complete

A notebook's first cell runs it where it has just installed the course alone (pip's --no-deps).
Nothing else may be there yet, so it uses the standard library only.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import distributions, requires
from pathlib import Path

KEPT = [
    *("torch", "numpy", "pandas", "matplotlib", "scipy", "pillow", "requests"),
    *("ipykernel", "ipython", "ipywidgets"),
]
"""What stays as it is: large, made for the machine, or loaded before the first cell runs."""


def needs(lines: list[str], extra: str) -> list[str]:
    """Return what pip must find: the requirements of a package, with those of one of its extras.

    Example:
        >>> needs(["torch>=2.4", 'arch>=7; extra == "data"', 'nltk; extra == "test"'], "data")
        ['torch>=2.4', 'arch>=7']
    """
    split = [line.partition(";") for line in lines]
    asked = "", f"extra=='{extra}'"
    return [
        package.strip()
        for package, _, condition in split
        if condition.replace(" ", "").replace('"', "'") in asked
    ]


def constraints(installed: dict[str, str]) -> str:
    """Return pip's constraints that keep what is not to change, of all that is installed."""
    return "".join(f"{name}=={installed[name]}\n" for name in KEPT if name in installed)


def install_missing() -> None:
    """Install what is missing; if that fails, take the course away again and say why."""
    pip = [sys.executable, "-m", "pip"]
    here = {(one.name or "").lower(): one.version for one in reversed([*distributions()])}
    complete = False
    try:
        with tempfile.TemporaryDirectory() as folder:
            keep = Path(folder, "keep.txt")
            keep.write_text(constraints(here), "utf-8")
            asked = needs(requires("coursekit") or [], "data")
            done = subprocess.run([*pip, "install", "-q", "-c", keep, *asked], capture_output=True)
        complete = done.returncode == 0
    finally:  # also when the reader stops the cell: the next run begins anew
        if not complete:
            subprocess.run([*pip, "uninstall", "-q", "-y", "coursekit"], capture_output=True)
    if not complete:
        raise SystemExit(done.stderr.decode(errors="replace"))


if __name__ == "__main__":
    install_missing()
