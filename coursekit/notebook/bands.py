"""Bands: between which ends each measured value of a lesson lies, and why; one file a notebook.

An entry of `coursekit/claims/NN_name.toml`:

    [first-loss]
    band = [23.6, 33.8]  # both ends included; inf and -inf for a one-sided bound
    why = "five seeds: 28.7 ± 1.7"
    unit = "nats"  # and whatever else Band has
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from coursekit import settings


@dataclass(frozen=True)
class Band:
    """Where a value must lie.

    Args:
        low, high: the ends, both included.
        why: where they come from: arithmetic, a published bound, or a measured spread.
        unit: what the value is counted in, for the line that is printed.
        form: how the value is printed, as Python's format specification.
        data: names of the data sets that the value depends on.
        stand_in: the ends where one of those is a stand-in, if they are others.
        headline: whether the claim is in the summary of a run.
        order: whether the value is by how much one score is better than another.
    """

    low: float
    high: float
    why: str
    unit: str = ""
    form: str = ""
    data: tuple[str, ...] = ()
    stand_in: tuple[float, float] | None = None
    headline: bool = False
    order: bool = False

    def ends(self, kinds: Mapping[str, str]) -> tuple[float, float]:
        """Return the ends that hold where the data sets are of these kinds."""
        stands_in = any(kinds[name] == "stand-in" for name in self.data)
        return self.stand_in if self.stand_in and stands_in else (self.low, self.high)


def claims_folder() -> Path:
    """Return where bands, committed values and samples lie."""
    return settings.named_claims_folder() or Path(__file__).parents[1] / "claims"


def read_bands(notebook: str) -> dict[str, Band]:
    """Read the bands of a notebook, by the names of what is claimed; none if it has no file.

    Raises:
        ValueError: if an entry is not what it must be; the message names file, entry and remedy.
    """
    path = claims_folder() / f"{notebook}.toml"
    if not path.exists():
        return {}
    try:
        entries = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise ValueError(f"{path.name} is not TOML: {problem}") from None
    return {name: _read(f"{path.name}, [{name}]", entry) for name, entry in entries.items()}


def _read(where: str, entry: dict[str, Any]) -> Band:
    about = {name.replace("-", "_"): value for name, value in entry.items()}
    band, margin = about.pop("band", None), about.pop("margin", None)
    if (band is None) == (margin is None):
        raise ValueError(f"{where}: give a band = [low, high], or the margin of an order")
    if margin is not None:
        band = [margin, math.inf]
        if "stand_in_margin" in about:
            about["stand_in"] = [about.pop("stand_in_margin"), math.inf]
    known = {one.name for one in fields(Band)} - {"low", "high", "order"}
    if unknown := sorted(about.keys() - known):
        raise ValueError(f"{where}: {', '.join(unknown)} is not known; there are {sorted(known)}")
    if not str(about.get("why", "")).strip():
        raise ValueError(f"{where}: say in `why` where its band comes from")
    low, high = _ends(where, band)
    about["data"] = tuple(about.get("data", ()))
    if "stand_in" in about:
        about["stand_in"] = _ends(where, about["stand_in"])
    return Band(low, high, order=margin is not None, **about)


def _ends(where: str, band: Any) -> tuple[float, float]:
    """Refuse a band that nothing lies in, or all."""
    if not isinstance(band, list) or len(band) != 2:
        raise ValueError(f"{where}: {band!r} is no band: give [low, high]")
    low, high = map(float, band)
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"{where}: an end of its band is nan: give numbers")
    if low > high:
        raise ValueError(f"{where}: nothing lies in [{low:.6g}, {high:.6g}]: low comes first")
    if math.isinf(low) and math.isinf(high):
        raise ValueError(f"{where}: its band is open on both sides, so that it can't fail")
    return low, high
