"""Draw sequences from a model, one token after the other."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from coursekit.device import device_of
from coursekit.evaluate.likelihood import context_of, evaluating
from coursekit.layers.cache import Cache

Pick = Callable[[Tensor], int]
"""Chooses a token from the logits of all V."""


@runtime_checkable
class Tokenizer(Protocol):
    """Turns a text into ids and back: a `Vocabulary`, a `Lexicon` or a `BPE`."""

    def encode(self, text: str) -> list[int]:
        """Turn a text into ids."""

    def decode(self, ids: list[int]) -> str:
        """Turn ids into the text."""


def pick_likeliest(logits: Float[Tensor, "V"]) -> int:
    """Choose the likeliest token: greedy decoding."""
    return int(logits.argmax())


def pick_by_chance(
    generator: Generator, temperature: float | int = 1.0, top_k: int | None = None
) -> Pick:
    """Return a choice by chance, each token with its probability: ancestral sampling.

    Args:
        generator: where the chance comes from.
        temperature: divides the logits. Below 1 likely tokens become likelier still; towards 0
            the likeliest is taken always.
        top_k: how many tokens, the likeliest, may be drawn at all (Fan et al. 2018). Tokens as
            likely as the last of them may be drawn too.

    Raises:
        ValueError: if the temperature is not positive, or `top_k` below 1.
    """
    if not temperature > 0:
        raise ValueError(f"{temperature=} must be above 0: a small one is nearly greedy")
    if top_k is not None and top_k < 1:
        raise ValueError(f"{top_k=} must be at least 1: nothing could be drawn")

    def pick(logits: Float[Tensor, "V"]) -> int:
        if top_k is not None and top_k < len(logits):
            lowest = logits.topk(top_k).values[-1]
            logits = logits.masked_fill(logits < lowest, -torch.inf)
        # The highest is 0 then: no temperature, however small, makes it infinite.
        heat = max(temperature, torch.finfo(logits.dtype).tiny)
        probabilities = ((logits - logits.max()) / heat).softmax(-1)
        return int(torch.multinomial(probabilities, 1, generator=generator))

    return pick


def generate(
    model: nn.Module, tokens: Sequence[int], pick: Pick, *, cached: bool = False
) -> Iterator[int]:
    """Yield without end the tokens that follow, each read by the model before the next is picked.

    Only the last `model.context` tokens are read.

    Args:
        model: returns the logits after the last token, or after each.
        tokens: those to continue.
        cached: compute only what each new token adds. The model's `forward` must take a `cache`.
            The tokens are read in one call; each further one costs a call on one token.

    Raises:
        ValueError: if there are no tokens although the model reads some, or an id has no place in
            the model's vocabulary.
    """
    if context_of(model) > 0 and not tokens:
        raise ValueError("there is nothing to continue: begin with the boundary token")
    if any(token < 0 for token in tokens):
        raise ValueError(f"ids from {min(tokens)} on: encode the text with the model's vocabulary")
    return _continue(model, list(tokens), pick, Cache() if cached else None)


def _continue(model: nn.Module, known: list[int], pick: Pick, cache: Cache | None) -> Iterator[int]:
    """Do what `generate` says."""
    context = context_of(model)
    fresh = known[max(len(known) - context, 0) :]
    while True:
        with evaluating(model):
            logits = _read(model, fresh, cache)
        token = pick(logits.flatten(0, -2)[-1].cpu())
        yield token
        known.append(token)
        fresh = [token] if cache is not None else known[max(len(known) - context, 0) :]


def _read(model: nn.Module, tokens: list[int], cache: Cache | None) -> Tensor:
    """Return the model's logits, or say that an id is too large for it."""
    batch = torch.tensor([tokens], dtype=torch.long, device=device_of(model))
    try:
        return model(batch) if cache is None else model(batch, cache=cache)
    except IndexError:
        raise ValueError(
            f"ids up to {max(tokens)}, which the model has no row for: encode the text with the "
            "vocabulary that the model was made for"
        ) from None


def sample_text(
    model: nn.Module,
    vocabulary: Tokenizer,
    prompt: str,
    steps: int,
    generator: Generator,
    stop: str | None = None,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    *,
    cached: bool = False,
) -> str:
    """Continue `prompt` by up to `steps` tokens, picked by chance; return what is new.

    Ends early at `stop`, a token of the text or a special one, which is not returned. See
    `generate` and `pick_by_chance`.

    Raises:
        ValueError: if the prompt is too short for the model or has an id that it does not know, or
            `stop` is not one token.
    """
    tokens = vocabulary.encode(prompt)
    end = None if stop is None else _one_token(stop, vocabulary)
    endless = generate(model, tokens, pick_by_chance(generator, temperature, top_k), cached=cached)
    return vocabulary.decode(list(takewhile(lambda token: token != end, islice(endless, steps))))


def _one_token(stop: str, vocabulary: Tokenizer) -> int:
    """Return the id of a token that ends texts; a special one, no part of a text, by its name."""
    special = getattr(vocabulary, "special", {})
    ids = [special[stop]] if stop in special else vocabulary.encode(stop)
    if len(ids) != 1:
        raise ValueError(f"{stop=} is not a single token: name the one that ends a text")
    return ids[0]


def sample_images(model: nn.Module, n: int, generator: Generator) -> Float[Tensor, "n D"]:
    """Draw `n` images, one pixel after the other in the model's order.

    A pixel is drawn with the probability that the model gives it after those already drawn, so
    that each image comes with its own probability: ancestral sampling. It costs D calls.

    Args:
        model: maps images (B, D) to logits, such as `MADE`; it has an `order`.
        generator: where the chance comes from.

    Raises:
        ValueError: if no image is asked for.
    """
    if n < 1:
        raise ValueError(f"{n=} images: ask for one or more")
    order: Tensor = model.order  # type: ignore[assignment]  # nn.Module's attributes have no types
    images = torch.zeros(n, len(order), dtype=next(model.parameters()).dtype)
    with evaluating(model):
        for pixel in order.tolist():
            logits = model(images.to(device_of(model)))[:, pixel].cpu()
            images[:, pixel] = torch.bernoulli(logits.sigmoid(), generator=generator)
    return images


def write_likeliest(
    model: nn.Module,
    source: Int[Tensor, "B S"],
    start: int,
    steps: int,
    present: Bool[Tensor, "B S"] | None = None,
) -> Int[Tensor, "B T"]:
    """Let an encoder–decoder write `steps` tokens for each source, the likeliest each time.

    What is written goes back in, from a start token on, which is not returned. Each step reads
    the source anew: simple, and T times the work of a decoder with a cache.

    Raises:
        ValueError: if `steps` is below 1.
    """
    if steps < 1:
        raise ValueError(f"{steps=} must be at least 1: the tokens to write")
    written = torch.full_like(source[:, :1], start)
    with evaluating(model):
        for _ in range(steps):
            logits = model(source, written, present)[:, -1]
            written = torch.cat([written, logits.argmax(-1, keepdim=True)], 1)
    return written[:, 1:]
