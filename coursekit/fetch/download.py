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

CONNECT_SECONDS, SILENT_SECONDS, WHOLE_SECONDS = 5, 10, 300
"""Longest waits: for a connection to each address of a host, for the next bytes, for the file."""

PIECE_BYTES = 32
"""After each piece the clock is looked at; a large one can take its time, byte by byte."""

TRIES, PAUSE_SECONDS, REMEMBERED_SECONDS = 3, 0.5, 600


class DownloadError(RuntimeError):
    """A file could not be had; the message is one phrase that says why."""


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
    for attempt in range(TRIES):
        time.sleep(PAUSE_SECONDS * attempt)
        problem, of_host, is_final = _try(address, sha256, path)
        if not problem:
            return
        if is_final:
            break
    _remember(host if of_host else address, problem)
    raise DownloadError(problem)


def _try(address: str, sha256: str, path: Path) -> tuple[str, bool, bool]:
    """Try once; return what is wrong ("" if nothing), whether the host is, and if it is final."""
    import pooch  # they take a third of a second to import, and few runs download anything
    import requests

    host = urlsplit(address).netloc
    pooch.get_logger().setLevel("WARNING")
    options = {"timeout": (CONNECT_SECONDS, SILENT_SECONDS), "chunk_size": PIECE_BYTES}
    downloader = pooch.HTTPDownloader(progressbar=_Bar(path.name), **options)
    try:
        pooch.retrieve(address, f"sha256:{sha256}", path.name, path.parent, downloader=downloader)
    except requests.HTTPError as error:
        status = error.response.status_code
        return f"{host} answers {status} for {path.name}", False, status < 500
    except (requests.ReadTimeout, TimeoutError):
        return f"{host} does not answer in time", True, True
    except requests.exceptions.ChunkedEncodingError:
        return f"{host} broke off in the middle of {path.name}", False, False
    except requests.ConnectionError as error:
        return _name_connection_error(error, host)
    except requests.RequestException:
        return f"{host} can't be reached", True, True
    except OSError as error:
        if not error.strerror and not isinstance(error, PermissionError):
            return str(error).splitlines()[0], True, True  # such as certificates that aren't there
        reason = error.strerror or "no permission"
        return f"the cache {path.parent} can't be written to ({reason})", False, True
    except ValueError:
        return f"{host} sends another {path.name} than the canonical one", False, False
    with suppress(OSError):
        path.chmod(0o644)  # pooch's are for their owner only; a cache may serve a class
    return "", False, True


def _name_connection_error(error: Exception, host: str) -> tuple[str, bool, bool]:
    """Tell a host that fell silent or hung up from one that was never there; as `_try` returns."""
    from urllib3.exceptions import ProtocolError, ReadTimeoutError

    cause = error.args[0] if error.args else None
    if isinstance(cause, ReadTimeoutError):
        return f"{host} does not answer in time", True, True
    if isinstance(cause, ProtocolError):
        return f"{host} hung up without an answer", True, False
    return f"{host} can't be reached", True, True


class _Bar(tqdm):
    """A progress bar, silent if COURSEKIT_PLAIN is set, that ends what takes too long."""

    def __init__(self, name: str) -> None:
        self.deadline = time.monotonic() + WHOLE_SECONDS
        plain = bool(os.environ.get("COURSEKIT_PLAIN"))
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
    named = os.environ.get("COURSEKIT_CACHE")
    if named:
        return Path(named).expanduser().absolute()
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
