"""How good a prediction is: likelihood and perplexity."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.device import device_of

AT_ONCE = 32_768
"""Windows that pass through a model together when it is scored; bounds the memory."""


def refuse_unequal(one: Tensor, other: Tensor) -> None:
    """Refuse two tensors of different shapes: PyTorch would pair (N, 1) and (N,) each with each."""
    if one.shape != other.shape:
        raise ValueError(
            f"shapes {tuple(one.shape)} and {tuple(other.shape)} differ: give one number for each "
            "of the same things, as with x.squeeze(-1) or x[:, None]"
        )


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Hold a model in evaluation mode without gradients, and put each part back as it was.

    A batch norm that stayed in training mode would change by being scored, and its answer to one
    example would depend on the others.
    """
    before = {part: part.training for part in model.modules()}
    if any(before.values()):
        model.eval()
    else:
        before = {}  # nothing to set, which takes as long as a layer of a small model
    try:
        with torch.no_grad():
            yield
    finally:
        for part, training in before.items():
            part.training = training


def context_of(model: nn.Module) -> int:
    """Return how many tokens a model reads at most: its attribute `context`."""
    return model.context  # type: ignore[return-value]  # nn.Module's attributes have no types


def mean_nll(model: nn.Module, windows: Int[Tensor, "N n"]) -> float:
    """Return the mean negative log-likelihood of each window's last token, in nats per token.

    -1/N Σ log p(last | others), in evaluation mode. Infinite if the model rules out a token that
    came.

    Raises:
        ValueError: if there are no windows, or their contexts are too short for the model.
    """
    if not len(windows):
        raise ValueError("no windows to score: the text is shorter than the model's context")
    context = context_of(model)
    if windows.shape[-1] <= context:
        raise ValueError(
            f"windows of {windows.shape[-1]} tokens hold no context of {context} and a "
            f"target: cut them to length {context + 1}"
        )
    total = 0.0
    with evaluating(model):
        for part in windows.to(device_of(model)).split(AT_ONCE):
            total += F.cross_entropy(model(part[:, :-1]), part[:, -1], reduction="sum").item()
    return total / len(windows)


NO_TARGET = -100
"""The id that stands where nothing is to be predicted, as after the end of a short text."""


def next_token_loss(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Return the mean NLL of the targets, in nats per token, leaving out `NO_TARGET`."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NO_TARGET)


def count_targets(targets: Tensor) -> int:
    """Return over how many targets a loss takes its mean: all but the ids that are `NO_TARGET`."""
    if targets.is_floating_point():
        return targets.numel()
    return int((targets != NO_TARGET).sum())


def text_nll(
    model: nn.Module,
    tokens: Int[Tensor, "T"],
    *,
    stride: int | None = None,
    context: int | None = None,
) -> float:
    """Return the mean NLL of all tokens of a text but the first, in nats per token.

    The text is read in windows of `context` tokens, `stride` apart; each token counts once, in
    the first window that has it as a target. With `stride` = `context` (the default) the windows
    lie side by side, and a token has half a context on average. With `stride` = 1 each has
    as much as there is: the lowest figure and `context` times the work.

    Args:
        model: returns logits after each token, as `GPT` does.
        context: by default the model's.

    Raises:
        ValueError: if the text has fewer than two tokens, or the sizes don't fit.
    """
    most = context_of(model)
    context = most if context is None else context
    stride = context if stride is None else stride
    if len(tokens) < 2 or not 1 <= stride <= context <= most:
        raise ValueError(
            f"{len(tokens)} tokens, {stride=}, {context=}: a text needs two tokens, and "
            f"1 ≤ stride ≤ context ≤ {most}, the model's"
        )
    device = device_of(model)
    inputs = tokens[:-1].to(device)
    targets = tokens[1:].to(device)
    total = 0.0
    scored = 0
    with evaluating(model):
        if len(inputs) >= context:
            at_once = max(AT_ONCE // context, 1)
            windows = (x.unfold(0, context, stride).split(at_once) for x in (inputs, targets))
            for part, wanted in zip(*windows, strict=True):
                losses = _each_nll(model, part, wanted)
                first = losses[0, :-stride] if not scored else losses[:0]
                total += (losses[:, -stride:].sum() + first.sum()).item()
                scored += len(part) * stride + first.numel()
        if scored < len(inputs):  # what is left of the text: a shorter window
            begin = max(scored + stride - context, 0) if scored else 0
            losses = _each_nll(model, inputs[None, begin:], targets[None, begin:])
            total += losses[0, scored - begin :].sum().item()
    return total / len(inputs)


def _each_nll(
    model: nn.Module, inputs: Int[Tensor, "B T"], targets: Int[Tensor, "B T"]
) -> Float[Tensor, "B T"]:
    return F.cross_entropy(model(inputs).mT, targets, reduction="none")


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


def gaussian_nll(
    target: Float[Tensor, "*N"], mean: Float[Tensor, "*#N"], log_scale: Float[Tensor, "*#N"]
) -> Float[Tensor, "*N"]:
    """Return the negative log density of each target under its own normal distribution, in nats.

    ½ ln 2π + ln σ + ½ ((y - μ) / σ)². Taking ln σ, a model can't produce a negative σ. It
    depends on the unit of y: compare only forecasts of the same thing.
    """
    error = (target - mean) * (-log_scale).exp()
    return 0.5 * math.log(2 * math.pi) + log_scale + 0.5 * error.square()


def compare_losses(
    first: Float[Tensor, "N"], second: Float[Tensor, "N"], lags: int = 0
) -> tuple[float, float]:
    """Return how much more `first` loses on average, and that divided by its standard error.

    Diebold and Mariano 1995, eq. 1: both forecasts are scored on the same days. Beyond ±2 the
    difference is hardly chance. `lags` allows for differences that resemble those of the days
    before (weights of Newey and West 1987); 0 treats days as unrelated.

    Raises:
        ValueError: if the numbers of losses differ, are below two, or not above `lags`, or if the
            difference is the same on all days: its standard error is 0 then.
    """
    refuse_unequal(first, second)
    if len(first) < 2 or not 0 <= lags < len(first):
        raise ValueError(f"{lags=} must be between 0 and the {len(first)} losses, of two or more")
    difference = (first - second).double()
    if (difference == difference[0]).all():
        raise ValueError(
            f"`first` loses {difference[0].item():g} more than `second` on each of the "
            f"{len(first)} days, so the standard error is 0: compare two different forecasts"
        )
    n = len(difference)
    centred = difference - difference.mean()
    variance = centred.square().sum()
    for lag in range(1, lags + 1):
        variance += 2 * (1 - lag / (lags + 1)) * (centred[lag:] * centred[:-lag]).sum()
    return difference.mean().item(), (difference.mean() / (variance.sqrt() / n)).item()


def hac_error(first: Float[Tensor, "N"], second: Float[Tensor, "N"], lags: int = 0) -> float:
    """Return the standard error of the mean difference of two losses, that of `compare_losses`.

    Unlike the ratio there, it says something also where both lose the same on average.

    Raises:
        ValueError: as `compare_losses`.
    """
    gap = (first - second).double().mean()
    return 1 / compare_losses(first - gap + 1, second, lags)[1]  # now `first` loses 1 more
