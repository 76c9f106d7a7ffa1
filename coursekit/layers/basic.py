"""Layers: each computes what PyTorch's module of its name does, if there is one."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F


class Linear(nn.Module):
    """Multiply by a matrix and add a bias: x Wᵀ + b.

    Args:
        d_in, d_out: channels before and after.
        bias: whether there is a b; it starts at 0.
        gain: the weights start as N(0, gain² / d_in) draws, so that inputs of variance 1 give
            outputs of variance gain² (He et al. 2015, eq. 7, for any gain).

    Example:
        >>> layer = Linear(3, 2)
        >>> layer.weight.data = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
        >>> layer(torch.tensor([1.0, 2.0, 3.0])).tolist()
        [1.0, 5.0]
    """

    def __init__(self, d_in: int, d_out: int, *, bias: bool = True, gain: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in) * gain / d_in**0.5)
        self.bias = nn.Parameter(torch.zeros(d_out)) if bias else None

    def forward(self, x: Float[Tensor, "*N d_in"]) -> Float[Tensor, "*N d_out"]:
        """Return x Wᵀ + b for each vector of `x`."""
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


class Embedding(nn.Module):
    """Give each token its own vector: row i of a table that is trained.

    Args:
        vocab_size: rows V of the table.
        d_model: channels of a vector. They start as N(0, 1) draws.

    Example:
        >>> table = Embedding(vocab_size=27, d_model=10)
        >>> table(torch.tensor([[0, 5, 13]])).shape
        torch.Size([1, 3, 10])
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model))

    def forward(self, tokens: Int[Tensor, "*N"]) -> Float[Tensor, "*N C"]:
        """Look up the vector of each token."""
        return F.embedding(tokens, self.weight)  # self.weight[tokens] would take -1 for the last


class BatchNorm1d(nn.Module):
    """Give each channel mean 0 and variance 1 over the batch, then a trained gain and shift.

    Ioffe and Szegedy 2015, algorithm 1, over every axis but the last: (B, T, C) has C means, where
    PyTorch wants (B, C, T). Training uses the batch's statistics, with the biased variance 1/n Σ,
    evaluation the running ones, with 1/(n-1) Σ; of bfloat16 numbers both are float32.

    Args:
        d_model: channels C.
        momentum: weight of the new batch in the running statistics.
        eps: added to the variance, so that a constant channel gives 0 and not NaN.

    Example:
        >>> norm, x = BatchNorm1d(2), torch.tensor([[1.0, 10.0], [3.0, 30.0]])
        >>> norm(x).round(decimals=3).tolist()
        [[-1.0, -1.0], [1.0, 1.0]]
        >>> norm.running_mean  # a tenth of the way to 2 and 20
        tensor([0.2000, 2.0000])
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, d_model: int, *, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.momentum = momentum
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x: Float[Tensor, "*N C"]) -> Float[Tensor, "*N C"]:
        """Normalise `x`; in training mode, also update the running statistics."""
        axes = tuple(range(x.ndim - 1))
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # a float64 stays one
        mean = wide.mean(axes) if self.training else self.running_mean.to(wide)
        centred = wide - mean
        variance = centred.square().mean(axes) if self.training else self.running_var.to(wide)
        if self.training:
            self._remember(mean, variance, x.numel() // x.shape[-1])
        scale = self.weight * (variance + self.eps).rsqrt()
        return (centred * scale + self.bias).to(x.dtype)

    @torch.no_grad()
    def _remember(self, mean: Float[Tensor, "C"], variance: Float[Tensor, "C"], n: int) -> None:
        """Move the running statistics a little towards those of a batch of `n` vectors."""
        if n < 2:
            raise ValueError(f"a batch of {n} has no variance: train on two, or call eval()")
        unbiased = variance * n / (n - 1)
        self.running_mean.lerp_(mean.to(self.running_mean), self.momentum)
        self.running_var.lerp_(unbiased.to(self.running_var), self.momentum)


def take_context(tokens: Int[Tensor, "B T"], context: int) -> Int[Tensor, "B S"]:
    """Return the last `context` tokens of each row.

    Raises:
        ValueError: if there are fewer.

    Example:
        >>> take_context(torch.tensor([[5, 13, 13, 1]]), context=3)
        tensor([[13, 13,  1]])
    """
    if tokens.shape[-1] < context:
        raise ValueError(
            f"{tokens.shape[-1]} tokens are fewer than the {context} of the context: "
            "pad the start with the boundary token"
        )
    return tokens[:, tokens.shape[-1] - context :]  # not -context: -0 takes all


class FlattenConsecutive(nn.Module):
    """Put each `size` neighbouring steps into one, their channels side by side.

    With as many steps as there are, this is the usual flattening.

    Args:
        size: steps that become one; at least 1.

    Example:
        >>> FlattenConsecutive(2)(torch.randn(4, 8, 10)).shape
        torch.Size([4, 4, 20])
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        if size < 1:
            raise ValueError(f"{size=} must be at least 1")
        self.size = size

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B S D"]:
        """Return T / size steps of size · C channels."""
        if x.shape[1] % self.size:
            raise ValueError(f"{x.shape[1]} steps do not split into groups of {self.size}")
        return x.unflatten(1, (-1, self.size)).flatten(-2)
