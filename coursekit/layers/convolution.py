"""Convolutions over time, channels last: causal ones, and one that halves the steps."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.attention import KeysAndValues, MultiHeadAttention, Rule, attend_past
from coursekit.layers.basic import Linear


def convolve(
    x: Float[Tensor, "B T C"],
    weight: Float[Tensor, "D C K"],
    dilation: int = 1,
    past: Float[Tensor, "B M C"] | None = None,
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B M C"]]:
    """Mix each step with K - 1 earlier ones, `dilation` apart; return it and the new past.

    y_t = Σ_k W_k x_{t - (K-1-k) · dilation}: the last tap, k = K - 1, sees the present. The
    weight has the layout of PyTorch's Conv1d.

    `past` holds the M = (K-1) · dilation steps before `x`; without it they are zeros. The new
    past is what a next call needs, so that a sequence can be read in pieces.
    """
    taps = weight.shape[-1]
    reach = (taps - 1) * dilation
    if past is None:
        past = x.new_zeros(len(x), reach, x.shape[-1])
    if past.shape[1] != reach:
        raise ValueError(f"{past.shape[1]} past steps instead of {reach}: pass on what came back")
    seen, steps = torch.cat([past, x], 1), x.shape[1]
    slices = [seen[:, k * dilation : k * dilation + steps] for k in range(taps)]
    y = sum(part @ weight[..., k].T for k, part in enumerate(slices))
    return y, seen[:, steps:]


class CausalConv1d(nn.Module):
    """Convolve over time without reading the future; `advance` continues a sequence.

    Args:
        d_in, d_out: channels before and after.
        kernel: steps K that are mixed.
        dilation: distance between them.
        bias: whether a bias is added; it starts at 0.

    Raises:
        ValueError: if `kernel` or `dilation` is below 1.
    """

    def __init__(
        self, d_in: int, d_out: int, kernel: int = 2, *, dilation: int = 1, bias: bool = True
    ) -> None:
        super().__init__()
        _refuse_below_1((kernel,), (dilation,))
        self.dilation = dilation
        self.weight = nn.Parameter(torch.randn(d_out, d_in, kernel) / (d_in * kernel) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(d_out)) if bias else None

    def advance(
        self, x: Float[Tensor, "B T d_in"], past: Float[Tensor, "B M d_in"] | None = None
    ) -> tuple[Float[Tensor, "B T d_out"], Float[Tensor, "B M d_in"]]:
        """Return the outputs for the steps `x` that follow `past`, and the new past."""
        y, past = convolve(x, self.weight, self.dilation, past)
        return y if self.bias is None else y + self.bias, past

    def forward(self, x: Float[Tensor, "B T d_in"]) -> Float[Tensor, "B T d_out"]:
        """Return the outputs for a sequence from its start, with zeros before it."""
        return self.advance(x)[0]


class GatedBlock(nn.Module):
    """Add to each step what a gate lets through, and send a copy to the output.

    z = tanh(W_f * x) ⊙ σ(W_g * x), with dilated causal convolutions: van den Oord et al. 2016,
    eq. 2. A 1 × 1 convolution of z is added to x, another one is the skip (their figure 4).

    Args:
        d_model: channels C of x and of z.
        d_skip: channels of the skip.
        kernel, dilation: of the convolutions.
    """

    def __init__(self, d_model: int, d_skip: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.filter_and_gate = CausalConv1d(d_model, 2 * d_model, kernel, dilation=dilation)
        self.residual = Linear(d_model, d_model)
        self.skip = Linear(d_model, d_skip)

    def advance(
        self, x: Float[Tensor, "B T C"], past: Float[Tensor, "B M C"] | None = None
    ) -> tuple[Float[Tensor, "B T C"], Float[Tensor, "B T S"], Float[Tensor, "B M C"]]:
        """Return the next block's input, the skip, and the new past."""
        y, past = self.filter_and_gate.advance(x, past)
        signal, gate = y.chunk(2, -1)
        z = signal.tanh() * gate.sigmoid()
        return x + self.residual(z), self.skip(z), past


class Distil(nn.Module):
    """Halve the steps: mix three neighbours, bend, keep the largest of every three.

    max_pool(ELU(conv(x))), a convolution of 3 steps that sees one on either side, then windows of
    3 steps, 2 apart (Zhou et al. 2021, eq. 5): ⌈T/2⌉ steps for every T. Neither part is causal.

    Beyond the ends the convolution sees zeros, and the pooling -∞, which is never the largest.
    The paper's code adds a batch norm and joins the two ends in a circle. Its equation has
    neither, and neither is here: no example depends on the others, no step on one far away.

    Args:
        d_model: channels C of the input and of the output.
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
        self.q, self.k = (CausalConv1d(d_model, d_model, kernel, bias=bias) for _ in range(2))

    def advance(
        self, x: Float[Tensor, "B T C"], past: KeysAndValues | None = None
    ) -> tuple[Float[Tensor, "B T C"], KeysAndValues]:
        """Return the output for the steps `x` that follow `past`, and the new past.

        Behind keys and values the past holds the last K - 1 steps themselves.
        """
        keys, values, steps = past or (None, None, None)
        (q, recent), (k, _) = (part.advance(x, steps) for part in (self.q, self.k))
        q, k, v = map(self._split, (q, k, self.v(x)))
        if past is not None:
            k, v = torch.cat([keys, k], -2), torch.cat([values, v], -2)
        return self._blend(self.rule(q, k, v, None)), (k, v, recent)


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
