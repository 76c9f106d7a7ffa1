"""The blocks of a transformer: attention, then a small network for each step by itself."""

from collections.abc import Callable
from functools import partial

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.attention import MultiHeadAttention
from coursekit.layers.cache import Cache

Activation = Callable[[Tensor], Tensor]

gelu: Activation = partial(F.gelu, approximate="tanh")
"""x Φ(x) with a tanh in place of the normal distribution's Φ, at most 4.8e-4 off, as in GPT-2
(Hendrycks and Gimpel 2016, section 2)."""


def relu_squared(x: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """Return max(x, 0)², number by number (So et al. 2021).

    Example:
        >>> relu_squared(torch.tensor([-2.0, 0.0, 3.0]))
        tensor([0., 0., 9.])
    """
    return x.relu().square()


class FeedForward(nn.Module):
    """Expand each vector, apply a nonlinearity, project it back: every step by itself.

    f(x W₁ + b₁) W₂ + b₂: Vaswani et al. 2017, eq. 2, with any f.

    Args:
        d_model: channels C of the input and of the output.
        activation: f, number by number.
        expansion: channels inside, as a multiple of C.
        bias: whether there are b₁ and b₂.

    Example:
        >>> FeedForward(d_model=12)(torch.randn(2, 5, 12)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        activation: Activation = gelu,
        *,
        expansion: int = 4,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.expand = nn.Linear(d_model, expansion * d_model, bias=bias)
        self.out = nn.Linear(expansion * d_model, d_model, bias=bias)

    def forward(self, x: Float[Tensor, "*N C"]) -> Float[Tensor, "*N C"]:
        """Return the new vector of each step."""
        return self.out(self.activation(self.expand(x)))


class Block(nn.Module):
    """Add to the stream what attention finds in other steps, then what each step makes of it.

    x + attention(norm(x)), then x + feed_forward(norm(x)): the stream itself is never normalised,
    so gradients reach the first block unchanged (pre-norm: Radford et al. 2019, section 2.3; Xiong
    et al. 2020). With `norm_first=False`, norm(x + attention(x)) as in Vaswani et al. 2017.

    Args:
        attention, feed_forward: what is added.
        norm: makes a normalisation for C channels.
        norm_first: where it stands.
        dropout: probability that a number is set to 0 in what is added, while training.

    Example:
        >>> from coursekit.layers.attention import attend_past
        >>> attention = MultiHeadAttention(d_model=12, n_head=3, rule=attend_past)
        >>> block = Block(attention, FeedForward(12), norm=lambda: nn.LayerNorm(12))
        >>> block(torch.randn(2, 5, 12)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: nn.Module,
        norm: Callable[[], nn.Module],
        *,
        norm_first: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm_1 = norm()
        self.norm_2 = norm()
        self.norm_first = norm_first
        self.drop = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        allowed: Bool[Tensor, "*#B T S"] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Return the stream after this block; `allowed` and `cache` are those of the attention."""
        if self.norm_first:
            x = x + self.drop(self.attention(self.norm_1(x), allowed=allowed, cache=cache))
            return x + self.drop(self.feed_forward(self.norm_2(x)))
        x = self.norm_1(x + self.drop(self.attention(x, allowed=allowed, cache=cache)))
        return self.norm_2(x + self.drop(self.feed_forward(x)))


class DecoderBlock(nn.Module):
    """Add what attention finds in other steps, then in a memory, then what each step makes of it.

    x + self_attention(norm(x)), x + cross_attention(norm(x), memory), x + feed_forward(norm(x)):
    Vaswani et al. 2017, section 3.1, with the norms of `Block`. The memory comes as it is: norm
    it once, at the end of the encoder.

    Args:
        self_attention, cross_attention, feed_forward: what is added.
        norm: makes a normalisation for C channels.
        dropout: probability that a number is set to 0 in what is added, while training.

    Example:
        >>> from coursekit.layers.attention import attend_past
        >>> own, other = MultiHeadAttention(12, 3, attend_past), MultiHeadAttention(12, 3)
        >>> block = DecoderBlock(own, other, FeedForward(12), norm=lambda: nn.LayerNorm(12))
        >>> block(torch.randn(2, 5, 12), memory=torch.randn(2, 7, 12)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        norm: Callable[[], nn.Module],
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.norm_1 = norm()
        self.norm_2 = norm()
        self.norm_3 = norm()
        self.drop = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        memory: Float[Tensor, "B S C"],
        allowed: Bool[Tensor, "*#B T N"] | None = None,
        memory_allowed: Bool[Tensor, "*#B T S"] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Return the stream after this block.

        `allowed` says which steps a step may read, `memory_allowed` what of the memory. With a
        `cache`, earlier steps are read too; the memory must be given whole each time.
        """
        x = x + self.drop(self.self_attention(self.norm_1(x), allowed=allowed, cache=cache))
        x = x + self.drop(self.cross_attention(self.norm_2(x), memory, memory_allowed))
        return x + self.drop(self.feed_forward(self.norm_3(x)))
