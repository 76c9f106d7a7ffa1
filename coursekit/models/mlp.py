"""The multilayer perceptron as a language model: embed each token, join, mix, predict."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

from coursekit.layers.basic import BatchNorm1d, Embedding, FlattenConsecutive, Linear, take_context


@dataclass(frozen=True, kw_only=True)
class MLPConfig:
    """Sizes of an `MLP`.

    Attributes:
        vocab_size: tokens V.
        context: tokens that are read.
        d_embedding: channels of a token's vector.
        d_hidden: units of each hidden layer.
        n_hidden: hidden layers.
        normalised: whether batch normalisation stands before each activation.
    """

    vocab_size: int
    context: int = 3
    d_embedding: int = 10
    d_hidden: int = 200
    n_hidden: int = 1
    normalised: bool = False

    def __post_init__(self) -> None:
        sizes = (self.vocab_size, self.context, self.d_embedding, self.d_hidden)
        if min(sizes) < 1 or self.n_hidden < 0:
            raise ValueError(f"{self} has a size below 1")


class MLP(nn.Module):
    """Predict the next token from the vectors of the last `context` tokens.

    Bengio et al. 2003, eq. 1, without its direct connections. Biases before a batch norm are
    left out, since it subtracts them.

    Args:
        config: the sizes.
        activation: makes the module after each hidden layer.
        gain: of the hidden layers' weights (see `Linear`).
        output_gain: of the last layer's; small, so that the first guess is nearly uniform.
    """

    def __init__(
        self,
        config: MLPConfig,
        *,
        activation: Callable[[], nn.Module] = nn.Tanh,
        gain: float = 5 / 3,
        output_gain: float = 0.1,
    ) -> None:
        super().__init__()
        self.config = config
        self.context = config.context
        width = config.context * config.d_embedding
        hidden: list[nn.Module] = []
        for _ in range(config.n_hidden):
            hidden.append(Linear(width, config.d_hidden, bias=not config.normalised, gain=gain))
            width = config.d_hidden
            if config.normalised:
                hidden.append(BatchNorm1d(width))
            hidden.append(activation())
        self.embedding = Embedding(config.vocab_size, config.d_embedding)
        self.join = FlattenConsecutive(config.context)
        self.hidden = nn.Sequential(*hidden)
        self.output = Linear(width, config.vocab_size, gain=output_gain)

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B V"]:
        """Return the logits after the last `context` of the T tokens."""
        joined = self.join(self.embedding(take_context(tokens, self.context))).squeeze(1)
        return self.output(self.hidden(joined))
