"""Encoder: blocks without a causal mask, so that each token is read in the light of all others."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.attention import MultiHeadAttention, Rule, allow_present, attend
from coursekit.layers.block import Activation, Block, FeedForward
from coursekit.layers.position import LearnedPositions


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
        positions: makes what adds a token's position; None: the order of the tokens is not seen.
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
    """Return logits for the label of a whole text: dropout and one linear layer on position 0.

    The token at position 0 means nothing itself; its vector is free to gather what the label needs
    (Devlin et al. 2019, section 3.2, without the tanh layer there).

    Args:
        encoder: gives the vectors.
        n_label: labels.
    """

    def __init__(self, encoder: Encoder, n_label: int) -> None:
        super().__init__()
        self.encoder = encoder
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
        return self.head(self.drop(self.encoder(tokens, present, segments)[:, 0]))


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
    last = (present * steps).argmax(1)
    return vectors[torch.arange(len(vectors), device=vectors.device), last]


def _refuse_empty(present: Bool[Tensor, "B T"]) -> None:
    """Refuse a text without tokens."""
    if not present.any(1).all():
        empty = int((~present.any(1)).int().argmax())
        raise ValueError(f"text {empty} is all padding: give each text a token or more")


def from_bert(weights: Mapping[str, Tensor], n_head: int | None = None) -> Encoder:
    """Build an encoder from weights under the names of the published BERT, such as its file's.

    Args:
        weights: by name, with or without the prefix "bert."; heads beyond the encoder are left out.
        n_head: heads; by default one for each 64 channels, as in every published size.

    Raises:
        ValueError: if a weight is missing.
    """
    theirs = {_modern(name): weight for name, weight in weights.items()}
    try:
        vocab_size, width = theirs["embeddings.word_embeddings.weight"].shape
        context = len(theirs["embeddings.position_embeddings.weight"])
        n_segment = len(theirs["embeddings.token_type_embeddings.weight"])
        n_layer = len({name.split(".")[2] for name in theirs if name.startswith("encoder.layer.")})
        ours = {mine: theirs[other] for other, mine in _name_pairs(n_layer)}
    except KeyError as missing:
        raise ValueError(f"these are not BERT's weights: {missing} is missing") from None
    sizes = {"vocab_size": vocab_size, "context": context, "n_layer": n_layer, "d_model": width}
    sizes |= {"n_segment": n_segment, "n_head": n_head or max(width // 64, 1)}
    model = Encoder(EncoderConfig(**sizes))
    model.load_state_dict(ours)
    return model


def to_bert(model: Encoder) -> dict[str, Tensor]:
    """Return an encoder's weights under the names of the published BERT.

    Raises:
        ValueError: if the model's parts are not those of BERT.
    """
    ours, pairs = model.state_dict(), list(_name_pairs(model.config.n_layer))
    known = {mine for _, mine in pairs}
    if set(ours) != known:
        raise ValueError(
            f"BERT has no position for {sorted(set(ours) - known)} and needs "
            f"{sorted(known - set(ours))}: build the model as Encoder(config)"
        )
    return {other: ours[mine] for other, mine in pairs}


def _modern(name: str) -> str:
    """Return a weight's name as it is now; the first files said gamma and beta."""
    name = name.removeprefix("bert.")
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("Norm.beta", "Norm.bias")


def _name_pairs(n_layer: int) -> Iterator[tuple[str, str]]:
    """List each weight of BERT: its name there, and ours."""
    yield "embeddings.word_embeddings.weight", "embedding.weight"
    yield "embeddings.position_embeddings.weight", "positions.weight"
    yield "embeddings.token_type_embeddings.weight", "segments.weight"
    block = {
        "attention.self.query": "attention.q",
        "attention.self.key": "attention.k",
        "attention.self.value": "attention.v",
        "attention.output.dense": "attention.out",
        "attention.output.LayerNorm": "norm_1",
        "intermediate.dense": "feed_forward.expand",
        "output.dense": "feed_forward.out",
        "output.LayerNorm": "norm_2",
    }
    for kind in ("weight", "bias"):
        yield f"embeddings.LayerNorm.{kind}", f"embedding_norm.{kind}"
        for i in range(n_layer):
            for other, mine in block.items():
                yield f"encoder.layer.{i}.{other}.{kind}", f"blocks.{i}.{mine}.{kind}"


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
