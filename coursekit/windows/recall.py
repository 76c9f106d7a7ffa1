"""A task for memories: which symbol came first, or latest, before the noise?"""

import torch
from jaxtyping import Int
from torch import Generator, Tensor

RECALL_LETTERS = "ABCDEFGHabcdefgh"
"""How the sixteen tokens are written: eight symbols, then eight letters of noise."""


def draw_recall(
    n: int, lag: int, generator: Generator, *, again: float = 0.0
) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B"]]:
    """Return sequences of a symbol, 0 to 7, and `lag` steps of noise, 8 to 15; and the symbols.

    After Hochreiter and Schmidhuber 1997, experiments 2: what comes in between tells nothing.

    Args:
        again: the probability with which a later step is a symbol, too. The answer is the latest.

    Raises:
        ValueError: if there is no sequence, or the lag is negative.
    """
    if n < 1 or lag < 0:
        raise ValueError(f"{n=} must be at least 1, and {lag=} at least 0")
    tokens = torch.randint(8, 16, (n, lag + 1), generator=generator)
    symbols = torch.randint(8, tokens.shape, generator=generator)
    is_symbol = torch.rand(tokens.shape, generator=generator) < again
    is_symbol[:, 0] = True
    tokens = torch.where(is_symbol, symbols, tokens)
    latest = (is_symbol * torch.arange(lag + 1)).argmax(1, keepdim=True)
    return tokens, tokens.gather(1, latest)[:, 0]
