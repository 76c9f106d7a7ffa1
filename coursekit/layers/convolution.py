"""Convolutions over time, channels last: causal ones, and one that halves the steps."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.attention import MultiHeadAttention, Rule, attend_past
from coursekit.layers.basic import Linear
from coursekit.layers.cache import Cache


def convolve(
    x: Float[Tensor, "B T C"],
    weight: Float[Tensor, "D C K"],
    dilation: int = 1,
    past: Float[Tensor, "B M C"] | None = None,
) -> Float[Tensor, "B T D"]:
    """Mix each step with K - 1 earlier ones, `dilation` apart.

    y_t = Σ_k W_k x_{t - (K-1-k) · dilation}: the last tap, k = K - 1, sees the present. The
    weight has the layout of PyTorch's Conv1d.

    `past` holds the M = (K-1) · dilation steps before `x`; without it they are zeros.

    Example:
        >>> x = torch.tensor([1.0, 2.0, 3.0]).view(1, 3, 1)
        >>> convolve(x, weight=torch.tensor([[[10.0, 1.0]]])).flatten()  # 10 · before + present
        tensor([ 1., 12., 23.])
    """
    steps = x.shape[1]
    taps = weight.shape[-1]
    before = (taps - 1) * dilation
    if past is None:
        past = x.new_zeros(len(x), before, x.shape[-1])
    if past.shape[1] != before:
        raise ValueError(f"{past.shape[1]} past steps instead of {before}: give just those")
    seen = torch.cat([past, x], 1)
    slices = [seen[:, k * dilation : k * dilation + steps] for k in range(taps)]
    return sum((part @ weight[..., k].T for k, part in enumerate(slices)), x.new_zeros(()))


class CausalConv1d(nn.Module):
    """Convolve over time without reading the future.

    Args:
        d_in, d_out: channels before and after.
        kernel: steps K that are mixed.
        dilation: distance between them.
        bias: whether a bias is added; it starts at 0.

    Raises:
        ValueError: if `kernel` or `dilation` is below 1.

    Example:
        >>> CausalConv1d(d_in=3, d_out=4, kernel=2, dilation=8)(torch.randn(2, 20, 3)).shape
        torch.Size([2, 20, 4])
    """

    def __init__(
        self, d_in: int, d_out: int, kernel: int = 2, *, dilation: int = 1, bias: bool = True
    ) -> None:
        super().__init__()
        _refuse_below_1((kernel,), (dilation,))
        self.dilation = dilation
        self.weight = nn.Parameter(torch.randn(d_out, d_in, kernel) / (d_in * kernel) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(d_out)) if bias else None

    def forward(
        self, x: Float[Tensor, "B T d_in"], cache: Cache | None = None
    ) -> Float[Tensor, "B T d_out"]:
        """Return the outputs for steps that follow those in the `cache`, or zeros without one."""
        before = (self.weight.shape[-1] - 1) * self.dilation
        past = None if cache is None else cache.slide(self, x, before)
        y = convolve(x, self.weight, self.dilation, past)
        return y if self.bias is None else y + self.bias


class GatedBlock(nn.Module):
    """Add to each step what a gate lets through, and send a copy to the output.

    z = tanh(W_f * x) ⊙ σ(W_g * x), with dilated causal convolutions: van den Oord et al. 2016,
    eq. 2. A 1 × 1 convolution of z is added to x, another one is the skip (their figure 4).

    Args:
        d_model: channels C of x and of z.
        d_skip: channels of the skip.
        kernel, dilation: of the convolutions.

    Example:
        >>> x, skip = GatedBlock(d_model=4, d_skip=6, kernel=2, dilation=8)(torch.randn(2, 20, 4))
        >>> x.shape, skip.shape
        (torch.Size([2, 20, 4]), torch.Size([2, 20, 6]))
    """

    def __init__(self, d_model: int, d_skip: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.filter_and_gate = CausalConv1d(d_model, 2 * d_model, kernel, dilation=dilation)
        self.residual = Linear(d_model, d_model)
        self.skip = Linear(d_model, d_skip)

    def forward(
        self, x: Float[Tensor, "B T C"], cache: Cache | None = None
    ) -> tuple[Float[Tensor, "B T C"], Float[Tensor, "B T S"]]:
        """Return the next block's input, and the skip."""
        signal, gate = self.filter_and_gate(x, cache).chunk(2, -1)
        z = signal.tanh() * gate.sigmoid()
        return x + self.residual(z), self.skip(z)


class Distil(nn.Module):
    """Halve the steps: mix three neighbours, apply ELU, keep the largest of every three.

    max_pool(ELU(conv(x))), a convolution of 3 steps that sees one on either side, then windows of
    3 steps, 2 apart (Zhou et al. 2021, eq. 5): ⌈T/2⌉ steps for every T. Neither part is causal.

    Beyond the ends the convolution sees zeros, and the pooling -∞, which is never the largest.
    The paper's code adds a batch norm and joins the two ends in a circle. Its equation has
    neither, and neither is here: no example depends on the others, no step on one far away.

    Args:
        d_model: channels C of the input and of the output.

    Example:
        >>> Distil(d_model=4)(torch.randn(2, 96, 4)).shape
        torch.Size([2, 48, 4])
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(d_model, d_model, 3, padding=1)

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B S C"]:
        """Return S = ⌈T/2⌉ steps; step s is made of the steps 2s - 2 … 2s + 2 of `x`."""
        mixed = F.elu(self.conv(x.mT))
        return F.max_pool1d(mixed, 3, stride=2, padding=1).mT


class ConvolvedAttention(MultiHeadAttention):
    """Compare stretches instead of single steps: queries and keys are causal convolutions.

    q_t = Σ_i y_{t-i} F[i], i = 0 … K-1, and so the keys; values stay point-wise (Li et al. 2019,
    section 4.1). The lag i has the tap K-1-i of the weight, for `convolve` counts from the past.
    With kernel 1 it is `MultiHeadAttention`.

    Args:
        d_model, n_head, rule, bias: as there.
        kernel: steps K that a query or key has seen: its own and K - 1 earlier ones.

    Raises:
        ValueError: if `d_model` does not split evenly into heads, or `kernel` is below 1.

    Example:
        >>> ConvolvedAttention(d_model=12, n_head=3, kernel=5)(torch.randn(2, 20, 12)).shape
        torch.Size([2, 20, 12])
    """

    def __init__(
        self,
        d_model: int,
        n_head: int,
        rule: Rule = attend_past,
        kernel: int = 3,
        *,
        bias: bool = False,
    ) -> None:
        super().__init__(d_model, n_head, rule, bias=bias)
        self.q = CausalConv1d(d_model, d_model, kernel, bias=bias)
        self.k = CausalConv1d(d_model, d_model, kernel, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        memory: Float[Tensor, "B S C"] | None = None,
        allowed: Bool[Tensor, "*#B T S"] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Let each stretch of `x` read the stretches of `memory`, or those of `x` itself."""
        source = x if memory is None else memory
        q, k, v = self.q(x, cache), self.k(source, cache), self.v(source)
        return self._mix(q, k, v, allowed, cache)


def receptive_field(kernels: Sequence[int], dilations: Sequence[int]) -> int:
    """Count the steps that one output of a stack of causal convolutions reads.

    1 + Σ (k - 1) · d: each layer reaches (k - 1) · d steps further back than the one above.

    Example:
        >>> receptive_field([2, 2, 2, 2], [1, 2, 4, 8])
        16
    """
    _refuse_below_1(kernels, dilations)
    return 1 + sum((k - 1) * d for k, d in zip(kernels, dilations, strict=True))


def _refuse_below_1(kernels: Sequence[int], dilations: Sequence[int]) -> None:
    if any(size < 1 for size in (*kernels, *dilations)):
        raise ValueError(f"{kernels=} and {dilations=} must all be at least 1")
