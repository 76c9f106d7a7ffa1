"""What a notebook needs: a start, claims, guesses, figures, recorded runs, the library's source."""

from coursekit.notebook.board import keep_sample, scoreboard
from coursekit.notebook.claims import ClaimError, Score, claim, claim_order
from coursekit.notebook.guess import compare_guess, mark_guess
from coursekit.notebook.page import figure, show
from coursekit.notebook.recorded import read_record, read_results
from coursekit.notebook.session import setup

__all__ = [
    "ClaimError",
    "Score",
    "claim",
    "claim_order",
    "compare_guess",
    "figure",
    "keep_sample",
    "mark_guess",
    "read_record",
    "read_results",
    "scoreboard",
    "setup",
    "show",
]
