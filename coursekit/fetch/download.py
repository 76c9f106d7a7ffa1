"""Fetch a file over the network: the right one or none, within a bounded time."""

import json
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs
from tqdm.auto import tqdm

from coursekit import settings

CONNECT_SECONDS = 5
"""Longest wait for a connection to each address of a host."""

SILENT_SECONDS = 10
"""Longest wait for the next bytes."""

WHOLE_SECONDS = 300
"""Longest wait for the whole file."""

PIECE_BYTES = 32
"""After each piece the clock is looked at; a large one can take its time, byte by byte."""

TRIES = 3

PAUSE_SECONDS = 0.5
"""The wait before the second try; before the third it is twice as long."""

REMEMBERED_SECONDS = 600
"""How long a failure is remembered: the ten minutes that its message names."""


class DownloadError(RuntimeError):
    """A file could not be had; the message is one phrase that says why.

    Attributes:
        of_host: whether its host is to blame, which then has no other file to give either.
        may_pass: whether the next try can succeed.
    """

    def __init__(self, problem: str, *, of_host: bool = False, may_pass: bool = False) -> None:
        super().__init__(problem)
        self.of_host = of_host
        self.may_pass = may_pass


def download(address: str, sha256: str, path: Path) -> None:
    """Save the file at `address` as `path`, if its SHA-256 is the one given.

    It is written beside `path` and moved there when it is whole and checked, so that others never
    see a part of it. A failure is remembered on disk for ten minutes: notebooks that start one
    after the other wait once, not each time. Host and address are remembered apart, for
    where a host can't be reached no other file of it can be had either.

    Raises:
        DownloadError: if the file can't be had, or not be kept.
    """
    host = urlsplit(address).netloc
    for name in (host, address):
        earlier = _recall(name)
        if earlier:
            raise DownloadError(f"{earlier} (tried at most ten minutes ago)")
    for attempt in range(1, TRIES + 1):
        try:
            _try(address, sha256, path)
            return
        except DownloadError as failure:
            if attempt == TRIES or not failure.may_pass:
                _remember(host if failure.of_host else address, str(failure))
                raise
        time.sleep(PAUSE_SECONDS * attempt)


def _try(address: str, sha256: str, path: Path) -> None:
    """Download once.

    Raises:
        DownloadError: if the file can't be had, or not be kept.
    """
    import pooch  # it takes a third of a second to import, and few runs download anything

    host = urlsplit(address).netloc
    pooch.get_logger().setLevel("WARNING")
    options = {"timeout": (CONNECT_SECONDS, SILENT_SECONDS), "chunk_size": PIECE_BYTES}
    downloader = pooch.HTTPDownloader(progressbar=_Bar(path.name), **options)
    try:
        pooch.retrieve(address, f"sha256:{sha256}", path.name, path.parent, downloader=downloader)
    except (OSError, ValueError) as error:  # those of requests are OSErrors
        failure = _name_failure(error, host, path)
    else:
        with suppress(OSError):
            path.chmod(0o644)  # pooch's are for their owner only; a cache may serve a class
        return
    raise failure  # not above, where it would keep the error, and with it a socket, alive


def _name_failure(error: Exception, host: str, path: Path) -> DownloadError:
    """Say what an error of `pooch.retrieve` means, and whom it concerns."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        status = error.response.status_code
        problem = f"{host} answers {status} for {path.name}"
        return DownloadError(problem, may_pass=status >= 500)
    if isinstance(error, requests.ReadTimeout | TimeoutError):
        return DownloadError(f"{host} does not answer in time", of_host=True)
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        problem = f"{host} broke off in the middle of {path.name}"
        return DownloadError(problem, may_pass=True)
    if isinstance(error, requests.ConnectionError):
        return _name_connection_failure(error, host)
    if isinstance(error, requests.RequestException):
        return DownloadError(f"{host} can't be reached", of_host=True)
    if not isinstance(error, OSError):
        problem = f"{host} sends another {path.name} than the canonical one"
        return DownloadError(problem, may_pass=True)
    if error.strerror or isinstance(error, PermissionError):
        reason = error.strerror or "no permission"
        return DownloadError(f"the cache {path.parent} can't be written to ({reason})")
    problem = str(error).splitlines()[0]  # such as certificates that aren't there
    return DownloadError(problem, of_host=True)


def _name_connection_failure(error: Exception, host: str) -> DownloadError:
    """Tell a host that fell silent or hung up from one that was never there."""
    from urllib3.exceptions import ProtocolError, ReadTimeoutError

    cause = error.args[0] if error.args else None
    if isinstance(cause, ReadTimeoutError):
        return DownloadError(f"{host} does not answer in time", of_host=True)
    if isinstance(cause, ProtocolError):
        return DownloadError(f"{host} hung up without an answer", of_host=True, may_pass=True)
    return DownloadError(f"{host} can't be reached", of_host=True)


class _Bar(tqdm):
    """A progress bar, silent if COURSEKIT_PLAIN is set, that ends what takes too long."""

    def __init__(self, name: str) -> None:
        self.deadline = time.monotonic() + WHOLE_SECONDS
        plain = settings.is_plain()
        super().__init__(desc=name, unit="B", unit_scale=True, leave=False, disable=plain)

    def __bool__(self) -> bool:  # tqdm's own asks for a length, which is not known yet
        return True

    def update(self, n: int = 1) -> None:
        """Count `n` bytes; raise TimeoutError when it is too late."""
        if time.monotonic() > self.deadline:
            raise TimeoutError
        super().update(n)


def cache_folder() -> Path:
    """Name the folder in which verified files are kept; it need not exist.

    COURSEKIT_CACHE, else the user's own cache. Where that can't be written, as in some containers,
    one in the folder for temporary files.
    """
    named = settings.named_cache_folder()
    if named:
        return named
    spare = Path(tempfile.gettempdir(), "coursekit-cache")
    try:
        own = platformdirs.user_cache_path("coursekit")
        nearest = next(folder for folder in (own, *own.parents) if folder.exists())
    except (OSError, RuntimeError):  # a home that can't be looked into, or none at all
        return spare
    return own if os.access(nearest, os.W_OK | os.X_OK) else spare


def forget_failures() -> None:
    """Let every file be tried again at once."""
    _failures().unlink(missing_ok=True)


def _failures() -> Path:
    return cache_folder() / "failures.json"


def _recall(name: str) -> str:
    """Return what was wrong with a host or an address a short while ago, or nothing."""
    when, problem = _known().get(name, (0.0, ""))
    return problem if 0 <= time.time() - when < REMEMBERED_SECONDS else ""


def _known() -> dict[str, tuple[float, str]]:
    """Read when what failed and why; nothing if that can't be read."""
    try:
        known = json.loads(_failures().read_text("utf-8"))
        return {name: (float(when), str(problem)) for name, (when, problem) in known.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _remember(name: str, problem: str) -> None:
    """Write a failure down, if that is possible."""
    path = _failures()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({**_known(), name: (time.time(), problem)}, file)
        os.replace(beside, path)
    except OSError:
        pass  # then the next one waits, too
