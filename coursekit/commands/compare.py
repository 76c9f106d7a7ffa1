"""A reader's own numbers beside those of the course."""

import json
from collections.abc import Iterator
from pathlib import Path

from coursekit.notebook.board import read_kept
from coursekit.notebook.claims import LARGEST_ROUNDING

HEAD = ("notebook", "claim", "the course", "here", "difference", "band")


def compare_claims(file: Path) -> tuple[list[tuple[str, ...]], int]:
    """Set what a run claimed beside what the course's committed lessons claim.

    Args:
        file: what `make course` writes, `build/claims.json`, or one notebook's file of a ledger.

    Returns:
        A row for each claim that differs by more than rounding, and the number of all that
        were compared.

    Raises:
        ValueError: if there is no such file, or it holds no claims.
    """
    if not file.is_file():
        raise ValueError(
            f"there is no {file}: run 'make course' first, or name the file that your run left "
            "in the folder COURSEKIT_LEDGER"
        )
    claims = json.loads(file.read_text("utf-8"))
    if not isinstance(claims, list) or not claims:
        raise ValueError(f"{file} holds no claims: run 'make course' first")
    return list(_rows(claims)), len(claims)


def _rows(claims: list[dict]) -> Iterator[tuple[str, ...]]:
    for claim in claims:
        committed = read_kept(claim["notebook"])["claims"].get(claim["name"])
        here = claim["value"]
        where = claim["notebook"], claim["name"]
        verdict = "within" if claim["held"] else "outside"
        if committed is None or here is None:
            if committed != here:
                yield (*where, _say(committed), _say(here), "-", verdict)
            continue
        difference = here - committed
        only_rounding = max(abs(here), abs(committed)) <= LARGEST_ROUNDING
        if not only_rounding and abs(difference) > 1e-6 * abs(committed):
            yield (*where, _say(committed), _say(here), f"{difference:+.4g}", verdict)


def _say(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
