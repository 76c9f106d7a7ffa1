"""What a lesson measured, held against the band that a file keeps for it.

Claims are recorded only when asked: in the folder that COURSEKIT_LEDGER names.
"""

import hashlib
import json
import math
from typing import Any

from IPython import get_ipython
from torch import Tensor

from coursekit import settings
from coursekit.data import provenance
from coursekit.notebook.bands import Band
from coursekit.notebook.session import session

REMEDY = (
    "if you changed something, this is its effect; if not, restart the kernel and run all cells"
)
LARGEST_ROUNDING = 1e-4
"""Below it a number is the processor's rounding: another one rounds otherwise."""


class ClaimError(AssertionError):
    """A measured value lies outside its band."""


class Score:
    """A loss, the lower the better, and all that must be equal where two are compared.

    Args:
        value: the loss.
        on: the targets that it was measured on.
        conditions: what else is the same in a fair comparison, such as `context=8` or `steps=500`.
    """

    def __init__(self, value: float | int | Tensor, *, on: Tensor, **conditions: Any) -> None:
        self.value = float(value)
        digest = hashlib.sha256(on.cpu().contiguous().numpy().tobytes()).hexdigest()[:8]
        self.conditions = {"targets": (on.numel(), digest), **conditions}


def claim(**measured: float | int | Tensor) -> None:
    """Hold each measured value against its band, print one line, and record it if asked.

    `first_loss=28.1` is the claim "first-loss" of the notebook's file of bands. With a ledger a
    value outside its band is an error; a reader's own notebook goes on, and the line says ✗ and by
    how much. A value without a band is printed, and refused where there is a ledger.

    Raises:
        ClaimError: with a ledger, if a value is outside its band, or not a number.
        ValueError: if a value is several numbers, a data set that it rests on was not read, the
            file has an order of that name, or, with a ledger, no band.
    """
    for name, value in measured.items():
        _judge(name.replace("_", "-"), _to_number(name, value), order=False)


def claim_order(**pairs: tuple[Score, Score]) -> None:
    """Hold that the first score of each pair is better, by the margin that the file keeps.

    Raises:
        ValueError: if the two were not measured on the same targets under the same conditions.
        ClaimError: as for `claim`.
    """
    for name, (better, worse) in pairs.items():
        _refuse_unequal(name, better, worse)
        _judge(name.replace("_", "-"), worse.value - better.value, order=True)


def _judge(name: str, value: float, *, order: bool) -> None:
    """Print and record one value, and refuse it if it does not hold and somebody keeps account."""
    band = session.bands.get(name)
    strict = settings.ledger_folder() is not None
    words = name.replace("-", " ")
    if band is None:
        if strict:
            raise ValueError(f"claim {name!r} has no band: add one to {session.notebook}.toml")
        print(f"{words} {value:.4g}")
        return
    if band.order != order:
        raise ValueError(
            f"claim {name!r}: the file has {'a margin' if band.order else 'a band'}, which is for "
            f"{'claim_order' if band.order else 'claim'}"
        )
    used = provenance()
    _refuse_unread(name, band, used)
    low, high = band.ends(used)
    held = low <= value <= high
    _record(name, value, low, high, band)
    said = f"{_format(value, band)}{' ' * bool(band.unit)}{band.unit}"
    said = f"better by {said}" if order else said
    why = band.why if (low, high) == (band.low, band.high) else "stand-in data"
    if held:
        shown = f"at most {high:.0e}" if _is_rounding(low, high) else said
        print(f"✓ {words} {shown} ({why})")
        return
    if math.isnan(value):
        fault = (
            f"{words} is not a number (nan): look for 0 / 0, inf - inf or the mean of nothing in "
            "what it was computed from"
        )
    else:
        end, side = (low, "below") if value < low else (high, "above")
        fault = f"{words} {said}: {abs(value - end):.3g} {side} {_say(low, high)} ({why})"
        fault += f"; {REMEDY}"
    if strict:
        raise ClaimError(fault)
    print(f"✗ {fault}")


def _is_rounding(low: float, high: float) -> bool:
    """Tell whether a band only says that nothing but rounding is left, which differs by machine."""
    return 0 < high <= LARGEST_ROUNDING and (math.isinf(low) or low == -high)


def _format(value: float, band: Band) -> str:
    if band.form:
        return format(value, band.form)
    whole = 1e4 <= abs(value) < 1e15 or value.is_integer()
    return f"{value:,.0f}" if whole else f"{value:.4g}"


def _say(low: float, high: float) -> str:
    """Say a band in words."""
    if math.isinf(high):
        return f"at least {low:.6g}"
    if math.isinf(low):
        return f"at most {high:.6g}"
    return f"{low:.6g} to {high:.6g}"


def _refuse_unequal(name: str, better: Score, worse: Score) -> None:
    names = sorted(better.conditions.keys() | worse.conditions.keys())
    for one in names:
        a, b = better.conditions.get(one), worse.conditions.get(one)
        if a != b:
            what = "on different targets" if one == "targets" else f"with {one} {a} and {b}"
            raise ValueError(f"claim {name!r} compares scores {what}: measure both alike")


def _refuse_unread(name: str, band: Band, used: dict[str, str]) -> None:
    unread = [dataset for dataset in band.data if dataset not in used]
    if unread:
        raise ValueError(
            f"claim {name!r} rests on {', '.join(unread)}, which was not read: load it first, or "
            f"correct `data` in its band (read so far: {', '.join(used) or 'nothing'})"
        )


def _to_number(name: str, value: float | int | Tensor) -> float:
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise ValueError(
                f"claim {name!r}: its value has the shape {tuple(value.shape)}; claim one number, "
                "such as its maximum or mean"
            )
        value = value.detach()
    return float(value)


def _record(name: str, value: float, low: float, high: float, band: Band) -> None:
    """Keep a claim, and write all of this notebook to the ledger, if there is one."""
    shell = get_ipython()
    # Not `execution_count`: while a cell runs, some versions of IPython have raised it already.
    cell = len(shell.user_ns["In"]) - 1 if shell else None
    used = provenance()
    session.claims[name] = {
        "name": name,
        "value": value if math.isfinite(value) else None,
        "low": low if math.isfinite(low) else None,
        "high": high if math.isfinite(high) else None,
        "held": low <= value <= high,
        "notebook": session.notebook,
        "cell": cell,
        "data": {dataset: used[dataset] for dataset in band.data},
        "headline": band.headline,
        "why": band.why,
    }
    folder = settings.ledger_folder()
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        claims = list(session.claims.values())
        text = json.dumps(claims, indent=1, ensure_ascii=False)
        (folder / f"{session.notebook}.json").write_text(text, "utf-8")
