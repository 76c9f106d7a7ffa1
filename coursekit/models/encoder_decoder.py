"""Encoder–decoder: read one sequence whole, write another one token at a time."""

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from coursekit.layers.attention import MultiHeadAttention, allow_present, attend, attend_past
from coursekit.layers.block import Block, DecoderBlock, FeedForward
from coursekit.layers.position import SinusoidalPositions


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderConfig:
    """Sizes of an `EncoderDecoder`; everything a checkpoint needs to rebuild it.

    Attributes:
        vocab_size: tokens V, of both sequences.
        context: tokens of either sequence at most.
        n_encoder, n_decoder: blocks of either half.
        n_head: heads H of each block; they share the channels.
        d_model: channels C.
        dropout: probability that a number is set to 0 while training.
    """

    vocab_size: int
    context: int = 32
    n_encoder: int = 2
    n_decoder: int = 2
    n_head: int = 4
    d_model: int = 64
    dropout: float = 0.0

    def __post_init__(self) -> None:
        sizes = (self.vocab_size, self.context, self.n_decoder, self.n_head, self.d_model)
        if min(sizes) < 1 or self.n_encoder < 0 or not 0 <= self.dropout < 1:
            raise ValueError(f"{self} has a size below 1, or a dropout outside 0 … 1")


class EncoderDecoder(nn.Module):
    """Return logits for the next token of what is written, given all that was read.

    Vaswani et al. 2017, figure 1, with the norms before what is added and one at the end of either
    half, and one embedding for both. The encoder has no causal mask; the decoder has one, and
    its second attention reads the encoder's vectors.

    Args:
        config: the sizes.
        std: of the first weights of the embedding.
    """

    def __init__(self, config: EncoderDecoderConfig, *, std: float = 1.0) -> None:
        super().__init__()
        self.config = config
        self.context = config.context
        width = config.d_model
        attention = partial(MultiHeadAttention, width, config.n_head, bias=True)
        norm = partial(nn.LayerNorm, width)
        self.embedding = nn.Embedding(config.vocab_size, width)
        nn.init.normal_(self.embedding.weight, std=std)
        self.positions = SinusoidalPositions(config.context, width)
        self.drop = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(
            Block(attention(rule=attend), FeedForward(width), norm, dropout=config.dropout)
            for _ in range(config.n_encoder)
        )
        self.decoder = nn.ModuleList(
            DecoderBlock(
                attention(rule=attend_past),
                attention(rule=attend),
                FeedForward(width),
                norm,
                dropout=config.dropout,
            )
            for _ in range(config.n_decoder)
        )
        self.encoder_norm, self.decoder_norm = norm(), norm()
        self.head = nn.Linear(width, config.vocab_size)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        written: Int[Tensor, "B T"],
        present: Bool[Tensor, "B S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Return the logits after each written token.

        Args:
            source: what is read.
            written: a start token, then the targets but the last (`shift_right`).
            present: which tokens of the source are not padding; None: all.
        """
        memory = self.encode(source, present)
        steps, read = written.shape[1], source.shape[1]
        allowed = None
        if present is not None:
            allowed = present[:, None, None].expand(len(source), 1, steps, read)
        x = self.drop(self.positions(self.embedding(written)))
        for block in self.decoder:
            x = block(x, memory, memory_allowed=allowed)
        return self.head(self.decoder_norm(x))

    def encode(
        self, source: Int[Tensor, "B S"], present: Bool[Tensor, "B S"] | None = None
    ) -> Float[Tensor, "B S C"]:
        """Return what the encoder makes of the source."""
        allowed = None if present is None else allow_present(present)
        x = self.drop(self.positions(self.embedding(source)))
        for block in self.encoder:
            x = block(x, allowed)
        return self.encoder_norm(x)


def shift_right(targets: Int[Tensor, "B T"], start: int) -> Int[Tensor, "B T"]:
    """Return what a decoder reads while it learns to write `targets`: each, one step later.

    Vaswani et al. 2017, section 3: "the output embeddings are offset by one position".

    Example:
        >>> shift_right(torch.tensor([[7, 8, 9]]), start=0).tolist()
        [[0, 7, 8]]
    """
    first = torch.full_like(targets[:, :1], start)
    return torch.cat([first, targets[:, :-1]], 1)
