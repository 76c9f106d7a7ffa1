"""What a notebook needs: a start, the library's source, claims, figures, controls."""

from coursekit.notebook.claims import ClaimError, claim, figure, setup, show

__all__ = ["ClaimError", "claim", "figure", "setup", "show"]
