"""A transformer whose tokens are patches: several steps of a series that become one vector."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.attention import MultiHeadAttention, Rule, attend
from coursekit.layers.basic import BatchNorm1d
from coursekit.layers.block import Block, FeedForward
from coursekit.layers.position import LearnedPositions
from coursekit.windows.forecast import Forecast, Known, Marks, Past


@dataclass(frozen=True, kw_only=True)
class PatchConfig:
    """Sizes of a `PatchTransformer`; everything a checkpoint needs to rebuild it.

    Attributes:
        context: steps L of the past that are read.
        horizon: steps P that are forecast.
        patch_len: steps of a patch, at most L.
        stride: steps from the start of one patch to the start of the next, at most `patch_len`,
            so that no step is left out.
        n_layer: blocks.
        n_head: heads H of each attention.
        d_model: channels C.
        d_ff: channels inside a feed-forward network; a multiple of C.
        dropout: probability that a number of the embedding, or of what a block adds, is set to 0
            while training.
    """

    context: int = 336
    horizon: int = 96
    patch_len: int = 16
    stride: int = 8
    n_layer: int = 3
    n_head: int = 4
    d_model: int = 16
    d_ff: int = 128
    dropout: float = 0.2

    def __post_init__(self) -> None:
        sizes = (self.context, self.horizon, self.n_layer, self.n_head, self.d_model, self.d_ff)
        if min(sizes) < 1 or not 0 <= self.dropout < 1:
            raise ValueError(f"{self} has a size below 1, or a dropout outside 0 … 1")
        if not 1 <= self.stride <= self.patch_len <= self.context:
            raise ValueError(
                f"stride={self.stride} and patch_len={self.patch_len} must increase from 1 to "
                f"context={self.context}: a longer stride would leave steps out"
            )
        if self.d_ff % self.d_model:
            raise ValueError(f"d_ff={self.d_ff} is not a multiple of d_model={self.d_model}")

    @property
    def n_patch(self) -> int:
        """Patches of a window: ⌊(L - patch_len) / stride⌋ + 2, one of them for the padding."""
        return (self.context - self.patch_len) // self.stride + 2


def cut_patches(x: Float[Tensor, "B T"], patch_len: int, stride: int) -> Float[Tensor, "B N D"]:
    """Repeat the last value `stride` times, then cut patches of `patch_len`, `stride` apart.

    The first patch starts with the first step. The padding gives the last steps a patch however
    T divides: there are ⌊(T - patch_len) / stride⌋ + 2 (Nie et al. 2023, section 3.1).

    Example:
        >>> cut_patches(torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0]]), patch_len=3, stride=2).tolist()
        [[[1.0, 2.0, 3.0], [3.0, 4.0, 5.0], [5.0, 5.0, 5.0]]]
    """
    padded = torch.cat([x, x[:, -1:].expand(-1, stride)], 1)
    return padded.unfold(1, patch_len, stride)


class PatchTransformer(nn.Module):
    """Forecast the next P steps of channel 0 from patches of its own past: a forecaster.

    PatchTST (Nie et al. 2023) for the target alone: each patch becomes a vector, x W + b plus a
    trained position; blocks mix the patches; one linear layer maps all their vectors, side by
    side, to the P steps. The other columns and the calendar are not read. The publication brings
    each window to mean 0 and standard deviation 1 first: wrap this in an `InstanceNorm`.

    With the same weights it is Hugging Face's `PatchTSTForPrediction` without scaling or pooling,
    given the padded past. The authors' code also adds each block's attention scores to the next
    one's, and drops numbers inside the feed-forward network; neither is done here.

    Args:
        config: the sizes.
        norm: makes a normalisation for C channels: batch norm as in the publication (section 3.1),
            or `nn.LayerNorm`.
        norm_first: whether it stands before what is added. There is none after the last block.
        rule: how a head mixes patches.

    Example:
        >>> config = PatchConfig(context=24, horizon=6, patch_len=8, stride=4)
        >>> model = PatchTransformer(config)
        >>> past, known = torch.randn(5, 24, 3), torch.zeros(5, 6, 3)
        >>> model(past, known, torch.zeros(5, 30, 3, dtype=torch.long)).shape
        torch.Size([5, 6])
    """

    def __init__(
        self,
        config: PatchConfig,
        *,
        norm: Callable[[int], nn.Module] = BatchNorm1d,
        norm_first: bool = False,
        rule: Rule = attend,
    ) -> None:
        super().__init__()
        self.config = config
        width = config.d_model
        self.embedding = nn.Linear(config.patch_len, width)
        self.positions = LearnedPositions(config.n_patch, width)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            Block(
                MultiHeadAttention(width, config.n_head, rule, bias=True),
                FeedForward(width, F.gelu, expansion=config.d_ff // width),
                lambda: norm(width),
                norm_first=norm_first,
                dropout=config.dropout,
            )
            for _ in range(config.n_layer)
        )
        self.head = nn.Linear(config.n_patch * width, config.horizon)

    def forward(self, past: Past, known: Known, marks: Marks) -> Forecast:
        """Return the forecast of channel 0 for the steps of `known`, whose values are not read."""
        config = self.config
        if (past.shape[1], known.shape[1]) != (config.context, config.horizon):
            raise ValueError(
                f"{past.shape[1]} steps of past and {known.shape[1]} to come instead of "
                f"{config.context} and {config.horizon}: cut the windows to the sizes of the config"
            )
        patches = cut_patches(past[..., 0], config.patch_len, config.stride)
        x = self.drop(self.positions(self.embedding(patches)))
        for block in self.blocks:
            x = block(x)
        return self.head(x.flatten(1))
