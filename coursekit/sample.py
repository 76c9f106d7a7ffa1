"""Draw sequences from a model, one token after the other."""

import torch
from torch import Generator, nn

from coursekit.tokens.vocabulary import Vocabulary


@torch.no_grad()
def sample_text(
    model: nn.Module,
    vocabulary: Vocabulary,
    prompt: str,
    steps: int,
    generator: Generator,
    stop: str | None = None,
) -> str:
    """Continue `prompt` by up to `steps` characters, each drawn from the model's prediction.

    Ancestral sampling: each draw joins the context of the next. Ends early at `stop`, which is
    not returned; nor is the prompt.

    Raises:
        ValueError: if the prompt is shorter than the model's context, or `stop` is not one token.
    """
    tokens = vocabulary.encode(prompt)
    if len(tokens) < model.context:
        raise ValueError(f"{prompt=} is shorter than the model's context of {model.context}")
    if stop is not None and len(stop) != 1:
        raise ValueError(f"{stop=} is not a single character: name the one that ends a text")
    stop_id = None if stop is None else vocabulary.encode(stop)[0]
    drawn: list[int] = []
    for _ in range(steps):
        context = tokens[len(tokens) - model.context :]
        share = model(torch.tensor([context], dtype=torch.long)).softmax(-1)
        token = int(torch.multinomial(share[0], 1, generator=generator))
        if token == stop_id:
            break
        tokens.append(token)
        drawn.append(token)
    return vocabulary.decode(drawn)
