"""What all tests share. It comes first: jaxtyping can only wrap modules not yet imported."""

from jaxtyping import config, install_import_hook

install_import_hook("coursekit", "beartype.beartype")  # verifies the shapes in signatures

import matplotlib as mpl  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

mpl.use("Agg")
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A process that has read and recorded nothing, with an empty cache: returns that cache."""
    from coursekit.fetch import store

    cache = tmp_path / "cache"
    cache.mkdir()
    for variable in ("DATA", "DEVICE", "FIGURES", "LEDGER", "MIRROR"):
        monkeypatch.delenv(f"COURSEKIT_{variable}", raising=False)
    monkeypatch.setenv("COURSEKIT_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(store, "cache_folder", lambda: cache)
    monkeypatch.setattr(store, "_used", {})
    monkeypatch.setattr(store, "_problems", {})
    return cache


@pytest.fixture
def long(monkeypatch):
    """Many steps of training, without the check of every call's shapes: a fifth less time."""
    monkeypatch.setattr(config, "jaxtyping_disable", True)
