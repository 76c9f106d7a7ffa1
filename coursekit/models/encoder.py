"""Encoder: blocks without a causal mask, so that each token is read in the light of all others."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.attention import MultiHeadAttention, Rule, allow_present, attend
from coursekit.layers.block import Activation, Block, FeedForward
from coursekit.layers.position import LearnedPositions

POOLINGS = ("first", "last", "mean")
"""What can stand for a text: the vector of its first or last token, or the mean of all."""


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Sizes of an `Encoder`; everything a checkpoint needs to rebuild it.

    Attributes:
        vocab_size: tokens V.
        context: tokens that are read at most.
        n_layer: blocks.
        n_head: heads H of each block; they share the channels.
        d_model: channels C.
        n_segment: texts that are told apart within one input, such as a question and an answer.
        dropout: probability that a number is set to 0 while training.
    """

    vocab_size: int
    context: int = 32
    n_layer: int = 2
    n_head: int = 4
    d_model: int = 64
    n_segment: int = 2
    dropout: float = 0.1

    def __post_init__(self) -> None:
        sizes = (self.vocab_size, self.context, self.n_head, self.d_model, self.n_segment)
        if min(sizes) < 1 or self.n_layer < 0 or not 0 <= self.dropout < 1:
            raise ValueError(f"{self} has a size below 1, or a dropout outside 0 … 1")


class Encoder(nn.Module):
    """Return a vector for each token that depends on all tokens, those after it included.

    Devlin et al. 2019, without the last layer for position 0 and without dropout on the attention
    weights. By default norms follow what is added, as there.

    Args:
        config: the sizes.
        rule: how a head mixes tokens; with `attend_past` each would see those before it only.
        positions: makes what adds a token's position; None: only a causal mask shows the order.
        norm_first: whether norms stand before what is added, with one more at the end.
        activation: of the feed-forward networks.
        std: of the first weights, learned positions included.
    """

    def __init__(
        self,
        config: EncoderConfig,
        *,
        rule: Rule = attend,
        positions: Callable[[int, int], nn.Module] | None = LearnedPositions,
        norm_first: bool = False,
        activation: Activation = F.gelu,
        std: float = 0.02,
    ) -> None:
        super().__init__()
        self.config = config
        self.context = config.context
        width = config.d_model
        norm = partial(nn.LayerNorm, width, eps=1e-12)

        def block() -> Block:
            attention = MultiHeadAttention(width, config.n_head, rule, bias=True)
            feed_forward = FeedForward(width, activation)
            return Block(
                attention, feed_forward, norm, norm_first=norm_first, dropout=config.dropout
            )

        self.embedding = nn.Embedding(config.vocab_size, width)
        self.segments = nn.Embedding(config.n_segment, width)
        self.positions = positions(config.context, width) if positions else None
        self.embedding_norm = norm()
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(block() for _ in range(config.n_layer))
        self.norm = norm() if norm_first else nn.Identity()
        _draw(self, std)

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        present: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Return the vector of each token.

        Args:
            tokens: ids.
            present: which tokens are not padding; None: all. What stands at padding means nothing.
            segments: to which text each token belongs; None: all to the first.

        Raises:
            ValueError: if there are more tokens than the context holds, or a row is all padding.
        """
        allowed = None if present is None else allow_present(present)
        segments = torch.zeros_like(tokens) if segments is None else segments
        x = self.embedding(tokens) + self.segments(segments)
        if self.positions is not None:
            x = self.positions(x)
        x = self.drop(self.embedding_norm(x))
        for block in self.blocks:
            x = block(x, allowed)
        return self.norm(x)


class SequenceClassifier(nn.Module):
    """Return logits for the label of a whole text: dropout and one linear layer on one vector.

    By default on that of position 0: the token there means nothing itself, and its vector is free
    to gather what the label needs (Devlin et al. 2019, section 3.2, without the tanh layer there).
    A causal encoder reads the whole text at its last token only (Radford et al. 2018, section 3.2).

    Args:
        encoder: gives the vectors.
        n_label: labels.
        pooling: which vector, one of `POOLINGS`.

    Raises:
        ValueError: if there is no such pooling.
    """

    def __init__(self, encoder: Encoder, n_label: int, *, pooling: str = "first") -> None:
        super().__init__()
        _refuse_unknown(pooling)
        self.encoder, self.pooling = encoder, pooling
        self.drop = nn.Dropout(encoder.config.dropout)
        self.head = nn.Linear(encoder.config.d_model, n_label)
        _draw(self.head)

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        present: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B K"]:
        """Return K logits for each text; the arguments are those of the encoder."""
        vectors = self.encoder(tokens, present, segments)
        return self.head(self.drop(pool(vectors, present, self.pooling)))


class MaskedTokenModel(nn.Module):
    """Return logits for the token that belongs at each position, to train on masked tokens.

    norm(f(x W + b)) Eᵀ + c with the embedding E once more (Devlin et al. 2019, task 1; the layer
    before E is that of the published code).

    Args:
        encoder: gives the vectors.
        activation: f.
    """

    def __init__(self, encoder: Encoder, activation: Activation = F.gelu) -> None:
        super().__init__()
        width = encoder.config.d_model
        self.encoder = encoder
        self.context = encoder.context
        self.transform = nn.Linear(width, width)
        self.activation = activation
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.head = nn.Linear(width, encoder.config.vocab_size)
        _draw(self.transform)
        nn.init.zeros_(self.head.bias)
        self.head.weight = encoder.embedding.weight

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        present: Bool[Tensor, "B T"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Return V logits for each position; the arguments are those of the encoder."""
        x = self.encoder(tokens, present, segments)
        return self.head(self.norm(self.activation(self.transform(x))))


def pool(
    vectors: Float[Tensor, "B T C"], present: Bool[Tensor, "B T"] | None, pooling: str
) -> Float[Tensor, "B C"]:
    """Return one vector for each text.

    Args:
        vectors: of each token.
        present: which tokens are not padding; None: all.
        pooling: which vector, one of `POOLINGS`.

    Raises:
        ValueError: if a row is all padding, or there is no such pooling.

    Example:
        >>> vectors = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]]])
        >>> pool(vectors, torch.tensor([[True, True, False]]), "mean")
        tensor([[2., 4.]])
    """
    _refuse_unknown(pooling)
    if present is None:
        return {"first": vectors[:, 0], "last": vectors[:, -1], "mean": vectors.mean(1)}[pooling]
    if pooling == "last":
        return last_present(vectors, present)
    _refuse_empty(present)
    if pooling == "first":
        return _pick(vectors, present.int().argmax(1))
    return vectors.where(present[..., None], 0).sum(1) / present.sum(1, keepdim=True)


def _refuse_unknown(pooling: str) -> None:
    """Refuse a word that isn't a pooling."""
    if pooling not in POOLINGS:
        raise ValueError(f"pooling {pooling!r} is unknown: choose one of {POOLINGS}")


def last_present(
    vectors: Float[Tensor, "B T C"], present: Bool[Tensor, "B T"]
) -> Float[Tensor, "B C"]:
    """Return one vector for each text, that of its last token: in a causal model it has read all.

    Radford et al. 2018, section 3.2.

    Args:
        vectors: of each token.
        present: which tokens are not padding.

    Raises:
        ValueError: if a row is all padding.

    Example:
        >>> vectors = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]]])
        >>> last_present(vectors, torch.tensor([[True, True, False]]))
        tensor([[3., 6.]])
    """
    _refuse_empty(present)
    steps = torch.arange(present.shape[1], device=present.device)
    return _pick(vectors, (present * steps).argmax(1))


def _pick(vectors: Float[Tensor, "B T C"], steps: Int[Tensor, "B"]) -> Float[Tensor, "B C"]:
    """Return the vector of each text at its own step."""
    return vectors[torch.arange(len(vectors), device=vectors.device), steps]


def _refuse_empty(present: Bool[Tensor, "B T"]) -> None:
    """Refuse a text without tokens."""
    if not present.any(1).all():
        empty = int((~present.any(1)).int().argmax())
        raise ValueError(f"text {empty} is all padding: give each text a token or more")


@torch.no_grad()
def _draw(model: nn.Module, std: float = 0.02) -> None:
    """Draw the first weights; biases start at 0."""
    for part in model.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=std)
        if isinstance(part, nn.Linear):
            nn.init.zeros_(part.bias)
        if isinstance(part, LearnedPositions):
            part.weight.mul_(std / LearnedPositions.STD)
