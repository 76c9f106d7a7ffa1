"""A recurrent language model: what it has read is a state of fixed size."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

from coursekit.layers.basic import Embedding, Linear
from coursekit.layers.cache import Cache
from coursekit.layers.recurrent import LSTM, Recurrent


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """Sizes of a `RecurrentLM`.

    Attributes:
        vocab_size: tokens V.
        d_embedding: channels of a token's vector.
        d_hidden: channels of the state of each layer.
        n_layer: layers; each reads the outputs of the one before.
        dropout: probability that a number that goes into a layer or the output is set to 0 while
            training; what goes from step to step is spared (Zaremba et al. 2014).
    """

    vocab_size: int
    d_embedding: int = 24
    d_hidden: int = 64
    n_layer: int = 1
    dropout: float = 0.0

    def __post_init__(self) -> None:
        sizes = (self.vocab_size, self.d_embedding, self.d_hidden, self.n_layer)
        if min(sizes) < 1 or not 0 <= self.dropout < 1:
            raise ValueError(f"{self} has a size below 1, or a dropout outside 0 … 1")


class RecurrentLM(nn.Module):
    """Return logits for the next token, after each token of a sequence of any length.

    Mikolov et al. 2010, with an embedding and, by default, an LSTM. Nothing bounds the context,
    so its attribute `context` is larger than any sequence; what is kept of it has a fixed size.

    Args:
        config: the sizes.
        layer: makes a recurrent layer of so many channels in and out.
    """

    def __init__(
        self, config: RecurrentConfig, *, layer: Callable[[int, int], Recurrent] = LSTM
    ) -> None:
        super().__init__()
        self.config = config
        self.context = sys.maxsize
        widths = [config.d_embedding] + [config.d_hidden] * config.n_layer
        self.embedding = Embedding(config.vocab_size, config.d_embedding)
        self.layers = nn.ModuleList(layer(d_in, config.d_hidden) for d_in in widths[:-1])
        self.drop = nn.Dropout(config.dropout)
        self.output = Linear(config.d_hidden, config.vocab_size, gain=0.1)

    def forward(
        self, tokens: Int[Tensor, "B T"], cache: Cache | None = None
    ) -> Float[Tensor, "B T V"]:
        """Return the logits after each token, which follow those in the `cache`, if any."""
        x = self.embedding(tokens)
        for layer in self.layers:
            x, state = layer(self.drop(x), None if cache is None else cache.read(layer))
            if cache is not None:
                cache.keep(layer, *state)
        if cache is not None:
            cache.count(tokens.shape[1])
        return self.output(self.drop(x))
