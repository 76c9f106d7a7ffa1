"""The scoreboard: what each model so far scores, and what it writes.

Made from what the committed lessons claimed and kept, so that a lesson built anew moves its own
row in all of them.
"""

import json
import tomllib
from typing import Any

from IPython.display import Markdown, display

from coursekit import settings
from coursekit.notebook.bands import claims_folder
from coursekit.notebook.session import session


def keep_sample(**samples: Any) -> None:
    """Keep what models write, `mlp=["emma", "lio"]`, for their rows of the scoreboard.

    Raises:
        ValueError: if a sample is empty, or no list of texts.
    """
    for name, lines in samples.items():
        if isinstance(lines, str) or not lines or not all(isinstance(one, str) for one in lines):
            raise ValueError(f"sample {name!r}: give a list of texts, such as five drawn names")
        session.samples[name.replace("_", "-")] = list(lines)
    folder = settings.ledger_folder()
    if folder:
        path = folder / "samples" / f"{session.notebook}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(session.samples, indent=1, ensure_ascii=False), "utf-8")


def scoreboard(board: str, *, own: bool = True) -> None:
    """Display one of the boards: the models of the committed lessons, up to the one that runs.

    Args:
        board: its name in the file of boards.
        own: with the models of the running lesson, as at its end; without, as at its beginning.

    Raises:
        ValueError: if there is no such board.
    """
    display(Markdown(write_board(board, session.notebook, own=own)))


def write_board(board: str, lesson: str, *, own: bool = True) -> str:
    """Write a board as a lesson shows it: its own rows are bold, and what it measures counts.

    Args:
        board: its name in the file of boards.
        lesson: the name of a notebook; "" for all of them.
        own: with the models of that lesson.

    Raises:
        ValueError: if there is no such board.
    """
    boards = tomllib.loads((claims_folder() / "boards.toml").read_text("utf-8"))
    if board not in boards:
        raise ValueError(f"no board {board!r}: there are {', '.join(boards)}")
    about = boards[board]
    lines = [f"| model | {about['unit']} | {about['sample']} |", "|:--|--:|:--|"]
    for row in (row for row in about["rows"] if row["notebook"] <= (lesson or "~")):
        here = row["notebook"] == lesson
        claims, samples = _read_row(row["notebook"])
        if row["claim"] in claims and (own or not here):
            texts = " · ".join(samples.get(row.get("sample"), []))
            name = f"**{row['model']}**" if here else row["model"]
            lines.append(f"| {name} | {claims[row['claim']]:{about['form']}} | {texts} |")
    return "\n".join(lines)


def _read_row(notebook: str) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Read the values and samples of a lesson; what runs now comes before what was committed."""
    kept = read_kept(notebook)
    if notebook != session.notebook:
        return kept["claims"], kept["samples"]
    measured = {name: claim["value"] for name, claim in session.claims.items()}
    return kept["claims"] | measured, kept["samples"] | session.samples


def read_kept(notebook: str) -> dict[str, Any]:
    """Read the values and samples of the committed lesson; none if it is not there."""
    path = claims_folder() / f"{notebook}.json"
    if not path.exists():
        return {"claims": {}, "samples": {}}
    return json.loads(path.read_text("utf-8"))
