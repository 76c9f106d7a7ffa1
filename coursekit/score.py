"""How good a prediction is: likelihood and perplexity."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor, nn
from torch.nn import functional as F

AT_ONCE = 32_768
"""Windows that pass through a model together when it is scored; bounds the memory."""


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Hold a model in evaluation mode without slopes, and put each part back as it was.

    A batch norm that stayed in training mode would change by being scored, and its answer to one
    example would depend on the others.
    """
    before = {part: part.training for part in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, training in before.items():
            part.training = training


def mean_nll(model: nn.Module, windows: Int[Tensor, "N n"]) -> float:
    """Return the mean negative log-likelihood of each window's last token, in nats per token.

    -1/N Σ log p(last | others), in evaluation mode. Infinite if the model rules out a token that
    came.

    Raises:
        ValueError: if there are no windows, or their contexts are too short for the model.
    """
    if not len(windows):
        raise ValueError("no windows to score: the text is shorter than the model's context")
    if windows.shape[-1] <= model.context:
        raise ValueError(
            f"windows of {windows.shape[-1]} tokens hold no context of {model.context} and a "
            f"target: cut them to length {model.context + 1}"
        )
    total = 0.0
    with evaluating(model):
        for part in windows.split(AT_ONCE):
            total += F.cross_entropy(model(part[:, :-1]), part[:, -1], reduction="sum").item()
    return total / len(windows)


def table_nll(logits: Float[Tensor, "K V"], counts: Real[Tensor, "K V"]) -> Float[Tensor, ""]:
    """Return the mean NLL, in nats per token, of all the tokens that a table has counted.

    -Σ count log p / Σ count. Equal to the mean over the tokens one by one, for a look-up gives
    the same p each time; but its cost does not grow with the text. Differentiable.

    Raises:
        ValueError: if nothing was counted.
    """
    if not counts.any():
        raise ValueError("the table has counted no tokens: its mean loss is not defined")
    # A cell counted 0 times adds 0, also where log p is -inf; 0 · -inf would be NaN.
    log_p = logits.log_softmax(-1).masked_fill(counts == 0, 0)
    return -(counts * log_p).sum() / counts.sum()


def perplexity(nll: float) -> float:
    """Turn a mean NLL in nats into the number of equally likely tokens that are as uncertain.

    exp(nll): V for a uniform guess among V, 1 for certainty.
    """
    return math.exp(nll) if nll < 700 else math.inf
