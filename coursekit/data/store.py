"""Where a data set comes from: a named folder, the user's cache, or a stand-in from a package.

A file from the folder or the cache counts only if its SHA-256 is the one written here, so a
"canonical" data set is the same bytes for every reader.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What is known about a data set before it is read.

    Attributes:
        file: its name in the data folder and in the cache.
        sha256: the checksum of its canonical bytes.
        about: one phrase for the line that says what was used.
        stand_in: makes the text of a substitute; raises `MissingDataError` where it can't.
        stand_in_about: one phrase for that substitute.
    """

    name: str
    file: str
    sha256: str
    about: str
    stand_in: Callable[[], str]
    stand_in_about: str


class MissingDataError(RuntimeError):
    """No source has the data set; the message says how to get one."""


_used: dict[str, str] = {}


def provenance() -> dict[str, str]:
    """Tell for each data set read so far whether it was "canonical" or a "stand-in"."""
    return dict(_used)


def locate(dataset: Dataset) -> tuple[Path, str] | None:
    """Find the canonical file: its path and where that is, or None if only a stand-in is left.

    Raises:
        FileNotFoundError: if COURSEKIT_DATA names a folder that does not exist.
        ValueError: if that folder's file is not the canonical one.
    """
    named = os.environ.get("COURSEKIT_DATA")
    if named:
        folder = Path(named).expanduser()
        if not folder.is_dir():
            raise FileNotFoundError(
                f"COURSEKIT_DATA={named} is not a folder: correct it, or unset it "
                "to use the cache or a stand-in"
            )
        path = folder / dataset.file
        if path.exists():
            if not _is_canonical(path, dataset):
                raise ValueError(
                    f"{path} is not the canonical {dataset.name} (its SHA-256 does not begin with "
                    f"{dataset.sha256[:12]}): replace the file, or unset COURSEKIT_DATA"
                )
            return path, "folder COURSEKIT_DATA"
    path = cache_folder() / dataset.file
    if path.exists() and _is_canonical(path, dataset):
        return path, "cache"
    return None


def kind(dataset: Dataset) -> str:
    """Tell which kind of data a reader would get now: "canonical" or "stand-in"."""
    return "canonical" if locate(dataset) else "stand-in"


def read_text(dataset: Dataset) -> str:
    """Read the data set from its best source and say, once a process, which one that was.

    Raises:
        MissingDataError: if there is no file and no stand-in, with the remedy.
    """
    found = locate(dataset)
    if found:
        path, place = found
        text, line = path.read_text(encoding="utf-8"), f"{dataset.about} (canonical, {place})"
    else:
        text, line = dataset.stand_in(), f"{dataset.stand_in_about} (STAND-IN for {dataset.about})"
    if dataset.name not in _used:
        print(f"{dataset.name}: {line}")
    _used[dataset.name] = "canonical" if found else "stand-in"
    return text


def cache_folder() -> Path:
    """Name the folder in which verified files are kept; it need not exist."""
    return platformdirs.user_cache_path("coursekit")


def _is_canonical(path: Path, dataset: Dataset) -> bool:
    return hashlib.sha256(path.read_bytes()).hexdigest() == dataset.sha256
