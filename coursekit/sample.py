"""Draw sequences from a model, one token after the other."""

import torch
from torch import Generator, nn

from coursekit.score import evaluating
from coursekit.tokens.vocabulary import Vocabulary


def sample_text(
    model: nn.Module,
    vocabulary: Vocabulary,
    prompt: str,
    steps: int,
    generator: Generator,
    stop: str | None = None,
    temperature: float = 1.0,
) -> str:
    """Continue `prompt` by up to `steps` characters, each drawn from the model's prediction.

    Ancestral sampling: each draw joins the context of the next. Ends early at `stop`, which is
    not returned; nor is the prompt. Logits are divided by `temperature` first: below 1 likely
    tokens become likelier still, towards 0 the likeliest is taken always.

    Raises:
        ValueError: if the prompt is shorter than the model's context, `stop` is not one token,
            or the temperature is not positive.
    """
    tokens = vocabulary.encode(prompt)
    if len(tokens) < model.context:
        raise ValueError(f"{prompt=} is shorter than the model's context of {model.context}")
    if stop is not None and len(stop) != 1:
        raise ValueError(f"{stop=} is not a single character: name the one that ends a text")
    if not temperature > 0:
        raise ValueError(f"{temperature=} must be above 0: a small one is nearly greedy")
    stop_id = None if stop is None else vocabulary.encode(stop)[0]
    drawn: list[int] = []
    for _ in range(steps):
        context = tokens[len(tokens) - model.context :]
        with evaluating(model):
            logits = model(torch.tensor([context], dtype=torch.long))
        share = (logits / temperature).softmax(-1)
        token = int(torch.multinomial(share[0], 1, generator=generator))
        if token == stop_id:
            break
        tokens.append(token)
        drawn.append(token)
    return vocabulary.decode(drawn)


def sample_cached(
    model: nn.Module,
    vocabulary: Vocabulary,
    prompt: str,
    steps: int,
    generator: Generator,
    stop: str | None = None,
) -> str:
    """Do what `sample_text` does, computing only what each new token adds.

    The model must have `advance(tokens, past)`, which returns the logits after each token and
    the new past. The prompt is read in one call; each draw then costs one call on one token.

    Raises:
        ValueError: if the prompt is empty.
    """
    if not prompt:
        raise ValueError(f"{prompt=} is empty: begin with the boundary token")
    tokens, past, drawn = vocabulary.encode(prompt), None, []
    stop_id = None if stop is None else vocabulary.encode(stop)[0]
    with evaluating(model):
        for _ in range(steps):
            logits, past = model.advance(torch.tensor([tokens]), past)
            token = int(torch.multinomial(logits[0, -1].softmax(-1), 1, generator=generator))
            if token == stop_id:
                break
            tokens = [token]
            drawn.append(token)
    return vocabulary.decode(drawn)
