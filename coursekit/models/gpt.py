"""GPT: predict the next token from all earlier ones, by a stack of causal attention blocks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from coursekit.layers.attention import MultiHeadAttention, Rule, attend_past, normalise_heads
from coursekit.layers.block import Activation, Block, FeedForward, gelu, relu_squared
from coursekit.layers.cache import Cache
from coursekit.layers.position import LearnedPositions, rotary


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """Sizes of a `GPT`; everything a checkpoint needs to rebuild it.

    Attributes:
        vocab_size: tokens V.
        context: steps that are read at most.
        n_layer: blocks.
        n_head: heads H of each block; they share the channels.
        d_model: channels C.
        dropout: probability that a number added to the stream is set to 0 while training.
    """

    vocab_size: int
    context: int = 64
    n_layer: int = 4
    n_head: int = 4
    d_model: int = 128
    dropout: float = 0.0

    def __post_init__(self) -> None:
        sizes = (self.vocab_size, self.context, self.n_head, self.d_model)
        if min(sizes) < 1 or self.n_layer < 0 or not 0 <= self.dropout < 1:
            raise ValueError(f"{self} has a size below 1, or a dropout outside 0 … 1")


class GPT(nn.Module):
    """Return logits for the next token, after each token of a sequence.

    Radford et al. 2019, section 2.3. Each argument changes one thing:

    Args:
        config: the sizes.
        rule: how a head mixes steps.
        positions: makes what adds a step's position to its vector; None leaves that to the rule.
        norm: makes a normalisation for C channels.
        norm_first: whether it stands before what is added, or after the addition.
        activation: of the feed-forward networks.
        bias: whether linear layers add one.
        tied: whether the last layer's weights are the embedding (Press and Wolf 2017).
        std: of the first weights, learned positions included.
        residual_std: of the weights that write into the stream, by default std / √(number of
            them), so that the stream's variance does not grow with the depth.
    """

    def __init__(
        self,
        config: GPTConfig,
        *,
        rule: Rule = attend_past,
        positions: Callable[[int, int], nn.Module] | None = LearnedPositions,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
        norm_first: bool = True,
        activation: Activation = gelu,
        bias: bool = True,
        tied: bool = True,
        std: float = 0.02,
        residual_std: float | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.context = config.context
        width = config.d_model

        def block() -> Block:
            attention = MultiHeadAttention(width, config.n_head, rule, bias=bias)
            feed_forward = FeedForward(width, activation, bias=bias)
            return Block(
                attention,
                feed_forward,
                partial(norm, width),
                norm_first=norm_first,
                dropout=config.dropout,
            )

        self.embedding = nn.Embedding(config.vocab_size, width)
        self.positions = positions(config.context, width) if positions else None
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(block() for _ in range(config.n_layer))
        self.norm = norm(width) if norm_first else nn.Identity()
        self.head = nn.Linear(width, config.vocab_size, bias=False)
        if tied:
            self.head.weight = self.embedding.weight
        n_added = max(2 * config.n_layer, 1)
        self._draw(std, std / n_added**0.5 if residual_std is None else residual_std)

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        allowed: Bool[Tensor, "*#B T S"] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Return the logits after each token.

        `allowed` hides steps beyond what the rule hides, such as padding: (B, 1, T, S) says which
        of the S steps each of the T may read. With a `cache` the tokens follow those it was given
        before. Once there are more than the context holds, the first fall out: every token then
        has another position, all keys and values change, and the last `context` are read anew.

        Raises:
            ValueError: if there are more tokens than the context holds.
        """
        n_new = tokens.shape[1]
        start = 0
        if cache is not None:
            tokens = self._unread(tokens, cache)
            start = cache.count(tokens.shape[1])
            if allowed is not None and tokens.shape[1] > n_new:
                raise ValueError(f"`allowed` can't follow beyond the context of {self.context}")
        x = self.embedding(tokens)
        if self.positions is not None:
            x = self.positions(x, start)
        x = self.drop(x)
        for block in self.blocks:
            x = block(x, allowed, cache)
        return self.head(self.norm(x[:, x.shape[1] - n_new :]))

    def _unread(self, tokens: Int[Tensor, "B T"], cache: Cache) -> Int[Tensor, "B N"]:
        """Return what must be read: these tokens or, beyond the context, the last ones anew."""
        if tokens.shape[1] > self.context:
            raise ValueError(
                f"{tokens.shape[1]} tokens at once exceed the context of {self.context}: "
                "give the last ones only"
            )
        (known,) = cache.extend(self, tokens[..., None])
        if known.shape[1] <= self.context:
            return tokens
        cache.clear()
        (known,) = cache.extend(self, known[:, -self.context :])
        return known[..., 0]

    @torch.no_grad()
    def _draw(self, std: float, residual_std: float) -> None:
        """Draw the first weights; biases start at 0."""
        mixers = MultiHeadAttention | FeedForward
        writers = {part.out for part in self.modules() if isinstance(part, mixers)}
        for part in self.modules():
            if isinstance(part, nn.Linear | nn.Embedding):
                part.weight.normal_(std=residual_std if part in writers else std)
            if isinstance(part, nn.Linear) and part.bias is not None:
                part.bias.zero_()
            if isinstance(part, LearnedPositions):
                part.weight.mul_(std / LearnedPositions.STD)


def modern_gpt(config: GPTConfig) -> GPT:
    """Return a GPT with what became usual after GPT-2.

    RMSNorm, positions as rotations, normalised queries and keys, ReLU², no biases, a last layer of
    its own, and blocks that add nothing at first. Train its matrices with `muon`.
    """
    return GPT(
        config,
        rule=rotary(normalise_heads(attend_past)),
        positions=None,
        norm=partial(nn.RMSNorm, eps=1e-6),
        activation=relu_squared,
        bias=False,
        tied=False,
        residual_std=0.0,
    )


def from_gpt2(weights: Mapping[str, Tensor], n_head: int | None = None) -> GPT:
    """Build a GPT from weights under the names of the published GPT-2, such as its file's.

    Args:
        weights: by name, with or without the prefix "transformer.".
        n_head: heads; by default one for each 64 channels, as in every published size.

    Raises:
        ValueError: if a weight is missing.
    """
    theirs = {name.removeprefix("transformer."): weight for name, weight in weights.items()}
    try:
        (vocab_size, width), context = theirs["wte.weight"].shape, len(theirs["wpe.weight"])
        n_layer = len({name.split(".")[1] for name in theirs if name.startswith("h.")})
        ours: dict[str, Tensor] = {}
        for their_name, our_names, transposed in _name_pairs(n_layer):
            weight = theirs[their_name]
            parts = (weight.T if transposed else weight).chunk(len(our_names))
            ours |= dict(zip(our_names, parts, strict=True))
    except KeyError as missing:
        raise ValueError(f"these are not GPT-2's weights: {missing} is missing") from None
    sizes = {"vocab_size": vocab_size, "context": context, "n_layer": n_layer, "d_model": width}
    model = GPT(GPTConfig(**sizes, n_head=n_head or max(width // 64, 1)))
    model.load_state_dict(ours | {"head.weight": ours["embedding.weight"]})
    return model


def to_gpt2(model: GPT) -> dict[str, Tensor]:
    """Return a GPT's weights under the names and in the shapes of the published GPT-2.

    There a matrix is stored as (in, out), and queries, keys and values are one matrix.

    Raises:
        ValueError: if the model's parts are not those of GPT-2.
    """
    ours, theirs = model.state_dict(), {}
    pairs = list(_name_pairs(model.config.n_layer))
    known = {name for _, names, _ in pairs for name in names} | {"head.weight"}
    if set(ours) != known or model.head.weight is not model.embedding.weight:
        raise ValueError(
            f"GPT-2 has no place for {sorted(set(ours) - known)} and needs "
            f"{sorted(known - set(ours))} and a tied head: build the model as GPT(config)"
        )
    for their_name, our_names, transposed in pairs:
        weight = torch.cat([ours[name] for name in our_names])
        theirs[their_name] = (weight.T if transposed else weight).contiguous()
    return theirs


def _name_pairs(n_layer: int) -> Iterator[tuple[str, list[str], bool]]:
    """List each weight of GPT-2: its name there, our names for its parts, and whether to turn."""
    yield "wte.weight", ["embedding.weight"], False
    yield "wpe.weight", ["positions.weight"], False
    block = [
        ("ln_1", ["norm_1"], False),
        ("attn.c_attn", ["attention.q", "attention.k", "attention.v"], True),
        ("attn.c_proj", ["attention.out"], True),
        ("ln_2", ["norm_2"], False),
        ("mlp.c_fc", ["feed_forward.expand"], True),
        ("mlp.c_proj", ["feed_forward.out"], True),
    ]
    for kind in ("weight", "bias"):
        yield f"ln_f.{kind}", [f"norm.{kind}"], False
        for i in range(n_layer):
            for theirs, ours, matrix in block:
                names = [f"blocks.{i}.{part}.{kind}" for part in ours]
                yield f"h.{i}.{theirs}.{kind}", names, matrix and kind == "weight"
