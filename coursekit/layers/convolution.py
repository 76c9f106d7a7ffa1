"""Causal convolutions over time, channels last: each output reads its own step and earlier ones."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

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
