"""WaveNets: pairs fused level by level, the same as dilated convolutions, and gated blocks."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

from coursekit.layers.basic import BatchNorm1d, Embedding, FlattenConsecutive, Linear, take_context
from coursekit.layers.cache import Cache
from coursekit.layers.convolution import CausalConv1d, GatedBlock, convolve, receptive_field


@dataclass(frozen=True, kw_only=True)
class PairFusionConfig:
    """Sizes of a `PairFusion`.

    Attributes:
        vocab_size: tokens V.
        context: tokens that are read; a power of two.
        d_embedding: channels of a token's vector.
        d_hidden: channels of a fused pair, at every level.
    """

    vocab_size: int
    context: int = 8
    d_embedding: int = 24
    d_hidden: int = 128

    def __post_init__(self) -> None:
        if self.context < 2 or self.context & (self.context - 1):
            raise ValueError(f"context={self.context} is not 2, 4, 8, …: pairs must come out even")
        if min(self.vocab_size, self.d_embedding, self.d_hidden) < 1:
            raise ValueError(f"{self} has a size below 1")

    @property
    def n_level(self) -> int:
        """The number of times that pairs are fused: log2 of the context."""
        return self.context.bit_length() - 1


class PairFusion(nn.Module):
    """Predict the next token from the last `context`, fused two by two until one is left.

    The hierarchical network of Karpathy's lecture (2022, makemore part 5). Each level halves the
    steps: join neighbours, mix their channels, normalise over batch and steps, tanh.
    """

    def __init__(self, config: PairFusionConfig) -> None:
        super().__init__()
        self.config = config
        self.context = config.context
        levels = []
        width = config.d_embedding
        for _ in range(config.n_level):
            mix = Linear(2 * width, config.d_hidden, bias=False, gain=5 / 3)
            width = config.d_hidden
            levels.append(nn.Sequential(FlattenConsecutive(2), mix, BatchNorm1d(width), nn.Tanh()))
        self.embedding = Embedding(config.vocab_size, config.d_embedding)
        self.levels = nn.Sequential(*levels)
        self.output = Linear(width, config.vocab_size, gain=0.1)

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return the logits after the last `context` of the T tokens."""
        vectors = self.embedding(take_context(tokens, self.context))
        return self.output(self.levels(vectors).squeeze(1))


class DilatedLevel(nn.Module):
    """Fuse each step with the one `dilation` earlier, by the weights of a level of `PairFusion`.

    Args:
        level: flattening, mixture, norm and nonlinearity; all but the first are used, not copied.
        dilation: how far apart the steps are.
    """

    def __init__(self, level: nn.Sequential, dilation: int) -> None:
        super().__init__()
        _, mix, self.norm, self.activation = level
        self.weight: Tensor = mix.weight  # type: ignore[assignment]  # as of any module
        self.dilation = dilation

    def forward(
        self, x: Float[Tensor, "B T C"], cache: Cache | None = None
    ) -> Float[Tensor, "B T D"]:
        """Return the fused pair that ends at each step."""
        kernel = self.weight.unflatten(1, (2, -1)).mT  # (out, 2 · C) → (out, C, 2)
        past = None if cache is None else cache.slide(self, x, self.dilation)
        return self.activation(self.norm(convolve(x, kernel, self.dilation, past)))


class DilatedFusion(nn.Module):
    """Compute what a `PairFusion` says after every token, with its own weights.

    Level i of the tree is a causal convolution with kernel 2 and dilation 2^i: it fuses a step
    with the one 2^i earlier. What overlapping contexts have in common is computed once.

    In evaluation mode the logits at step t are the tree's for the tokens up to t, if there are
    `context` of them; before that, zeros stand for the vectors that are missing.

    Args:
        tree: the network whose parts are used, not copied.
    """

    def __init__(self, tree: PairFusion) -> None:
        super().__init__()
        self.context = tree.context
        self.embedding = tree.embedding
        self.levels = nn.ModuleList(
            DilatedLevel(level, dilation=2**i)  # type: ignore[arg-type]
            for i, level in enumerate(tree.levels)
        )
        self.output = tree.output

    def forward(
        self, tokens: Int[Tensor, "B T"], cache: Cache | None = None
    ) -> Float[Tensor, "B T V"]:
        """Return the logits after each token, which follow those in the `cache`, if any."""
        x = self.embedding(tokens)
        for level in self.levels:
            x = level(x, cache)
        return self.output(x)


@dataclass(frozen=True, kw_only=True)
class WaveNetConfig:
    """Sizes of a `WaveNet`.

    Attributes:
        d_in, d_out: channels of a step of the input and of the output.
        d_model: channels inside the blocks.
        d_skip: channels of the skips and of the layer after them.
        kernel: steps that a convolution mixes.
        dilations: one block for each.
    """

    d_in: int
    d_out: int
    d_model: int = 16
    d_skip: int = 16
    kernel: int = 2
    dilations: tuple[int, ...] = (1, 2, 4, 8)

    def __post_init__(self) -> None:
        sizes = (self.d_in, self.d_out, self.d_model, self.d_skip, self.kernel, *self.dilations)
        if min(sizes) < 1 or not self.dilations:
            raise ValueError(f"{self} has a size below 1, or no block")

    @property
    def context(self) -> int:
        """The number of steps that an output reads."""
        return receptive_field([self.kernel] * (len(self.dilations) + 1), [1, *self.dilations])


class WaveNet(nn.Module):
    """Map a sequence to a sequence of the same length, each output reading no later input.

    van den Oord et al. 2016, figure 4: a causal convolution, gated residual blocks whose skips
    are added up, then ReLU, 1 × 1, ReLU, 1 × 1. The last layer starts at 0, so that the first
    output is the same everywhere.
    """

    def __init__(self, config: WaveNetConfig) -> None:
        super().__init__()
        self.config = config
        self.context = config.context
        self.input = CausalConv1d(config.d_in, config.d_model, config.kernel)
        self.blocks = nn.ModuleList(
            GatedBlock(config.d_model, config.d_skip, config.kernel, dilation)
            for dilation in config.dilations
        )
        self.mix = Linear(config.d_skip, config.d_skip, gain=2**0.5)
        self.output = Linear(config.d_skip, config.d_out, gain=0.0)

    def forward(
        self, x: Float[Tensor, "B T C"], cache: Cache | None = None
    ) -> Float[Tensor, "B T D"]:
        """Return the outputs for steps that follow those in the `cache`, or zeros without one."""
        x = self.input(x, cache)
        total = x.new_zeros(())
        for block in self.blocks:
            x, skip = block(x, cache)
            total = total + skip
        return self.output(self.mix(total.relu()).relu())
