"""The only place that reads the environment: each variable by a name, with what it stands for.

They are read anew in each call, so that a notebook or a test may set one while it runs.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def named_data_folder() -> Path | None:
    """COURSEKIT_DATA: a folder of canonical data files, looked into before all else."""
    return _folder("COURSEKIT_DATA")


def named_cache_folder() -> Path | None:
    """COURSEKIT_CACHE: where verified downloads are kept, in place of the user's own cache."""
    return _folder("COURSEKIT_CACHE")


def tiktoken_folder() -> Path | None:
    """TIKTOKEN_CACHE_DIR: where the library tiktoken keeps its vocabularies."""
    return _folder("TIKTOKEN_CACHE_DIR")


def mirror() -> str:
    """COURSEKIT_MIRROR: an address from which all files are downloaded instead of their own."""
    return os.environ.get("COURSEKIT_MIRROR", "")


def is_offline() -> bool:
    """COURSEKIT_OFFLINE: whether nothing may be downloaded."""
    return os.environ.get("COURSEKIT_OFFLINE", "") not in ("", "0")


def is_plain() -> bool:
    """COURSEKIT_PLAIN: whether nobody watches, so that bars and controls are left out."""
    return bool(os.environ.get("COURSEKIT_PLAIN"))


def device() -> str:
    """COURSEKIT_DEVICE: where to compute, such as "cuda"."""
    return os.environ.get("COURSEKIT_DEVICE", "")


def ledger_folder() -> Path | None:
    """COURSEKIT_LEDGER: where a notebook's claims are filed, one JSON file a notebook."""
    return _folder("COURSEKIT_LEDGER")


def figures_folder() -> Path | None:
    """COURSEKIT_FIGURES: where a notebook's figures are saved."""
    return _folder("COURSEKIT_FIGURES")


def named_claims_folder() -> Path | None:
    """COURSEKIT_CLAIMS: bands, committed values and samples, in place of the course's own."""
    return _folder("COURSEKIT_CLAIMS")


def local_rank() -> str | None:
    """LOCAL_RANK: the number of this process on its machine, if `torchrun` started it."""
    return os.environ.get("LOCAL_RANK")


def is_torchrun() -> bool:
    """TORCHELASTIC_RUN_ID: whether `torchrun` started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def use_device(name: str) -> None:
    """Set COURSEKIT_DEVICE for this process and those that it starts."""
    os.environ["COURSEKIT_DEVICE"] = name


@contextmanager
def tiktoken_reads(folder: str) -> Iterator[None]:
    """Let the library tiktoken look for its files in `folder`, for as long as the block runs."""
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = folder
    try:
        yield
    finally:
        del os.environ["TIKTOKEN_CACHE_DIR"]
        if before is not None:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


def _folder(variable: str) -> Path | None:
    named = os.environ.get(variable)
    return Path(named).expanduser().absolute() if named else None
