"""Draw sequences from a model, one token after the other."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from coursekit.device import device_of
from coursekit.score import evaluating

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
    """Return a choice by chance, each token with its share: ancestral sampling.

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
        share = (logits / temperature).softmax(-1)
        return int(torch.multinomial(share, 1, generator=generator))

    return pick


def generate(
    model: nn.Module, tokens: Sequence[int], pick: Pick, *, cached: bool = False
) -> Iterator[int]:
    """Yield without end the tokens that follow, each read by the model before the next is picked.

    Only the last `model.context` tokens are read.

    Args:
        model: returns the logits after the last token, or after each.
        tokens: those to continue.
        cached: compute only what each new token adds. The model must have `advance(tokens,
            past)`, which returns the logits after each token and the new past. The tokens are
            read in one call; each further one costs a call on one token.
    """
    known = list(tokens)
    fresh, past = known[max(len(known) - model.context, 0) :], None
    while True:
        with evaluating(model):
            if cached:
                logits, past = model.advance(_batch(fresh, model), past)
            else:
                logits = model(_batch(known[max(len(known) - model.context, 0) :], model))
        token = pick(logits.flatten(0, -2)[-1].cpu())
        yield token
        known.append(token)
        fresh = [token]


def _batch(tokens: Sequence[int], model: nn.Module) -> Tensor:
    return torch.tensor([tokens], dtype=torch.long, device=device_of(model))


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
        ValueError: if the prompt is too short for the model, or `stop` is not one token.
    """
    tokens = vocabulary.encode(prompt)
    if hasattr(model, "advance") and not tokens:
        raise ValueError(f"{prompt=} is empty: begin with the boundary token")
    if not hasattr(model, "advance") and len(tokens) < model.context:
        raise ValueError(f"{prompt=} is shorter than the model's context of {model.context}")
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
