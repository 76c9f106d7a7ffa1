"""Masked convolutions as a model of binary images: the same weights at every pixel."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.masked import MaskedConv2d, TwoStackConv2d, refuse_other_size


@dataclass(frozen=True, kw_only=True)
class PixelCNNConfig:
    """Sizes of a `PixelCNN` or a `BlindPixelCNN`.

    Attributes:
        rows, columns: of an image, whose D = rows · columns pixels come row by row.
        d_model: channels inside.
        n_layer: convolutions that add to them.
        kernel: rows and columns of a convolution's window, of which about half is allowed.
        coordinates: whether a pixel knows its row and column: two channels beside the image.
        dropout: the fraction of channels that training leaves out at each step, before the output.
    """

    rows: int = 8
    columns: int = 8
    d_model: int = 16
    n_layer: int = 4
    kernel: int = 3
    coordinates: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if (
            min(self.rows, self.columns, self.d_model, self.n_layer) < 1
            or not 0 <= self.dropout < 1
        ):
            raise ValueError(f"{self}: sizes from 1, dropout from 0 to below 1")


class PixelGrid(nn.Module):
    """What both models have: sizes, order, coordinates, and the last layers.

    The very last one starts at 0: each pixel with probability one half.
    """

    order: Tensor
    grid: Tensor

    def __init__(self, config: PixelCNNConfig) -> None:
        super().__init__()
        self.config = config
        self.n_pixels = config.rows * config.columns
        self.register_buffer("order", torch.arange(self.n_pixels))
        ends = torch.linspace(-1, 1, config.rows), torch.linspace(-1, 1, config.columns)
        grid = torch.stack(torch.meshgrid(*ends, indexing="ij"))
        self.register_buffer("grid", grid if config.coordinates else grid[:0])
        last = nn.Conv2d(config.d_model, 1, 1)
        for parameter in last.parameters():
            nn.init.zeros_(parameter)
        mix = nn.Conv2d(config.d_model, config.d_model, 1)
        self.output = nn.Sequential(nn.ReLU(), mix, nn.ReLU(), nn.Dropout(config.dropout), last)

    def add_grid(self, images: Float[Tensor, "B D"]) -> Float[Tensor, "B n R W"]:
        """Return images as rows and columns, with the coordinates as further channels.

        Raises:
            ValueError: if they have another number of pixels.
        """
        refuse_other_size(images, self.n_pixels)
        pixels = images.view(-1, 1, self.config.rows, self.config.columns)
        return torch.cat([pixels, self.grid.expand(len(images), *self.grid.shape)], 1)


class PixelCNN(PixelGrid):
    """Predict each pixel from those above it and to its left, with the same weights everywhere.

    Two stacks without a blind spot (see `two_stacks`), ReLU and residual connections in place of
    the gates of van den Oord et al. 2016. Pixels come row by row, from the top left.
    """

    def __init__(self, config: PixelCNNConfig) -> None:
        super().__init__(config)
        d_in = 1 + len(self.grid)
        self.above, self.left = (
            nn.Conv2d(d_in, config.d_model, 1),
            nn.Conv2d(d_in, config.d_model, 1),
        )
        self.layers = nn.ModuleList(
            TwoStackConv2d(config.d_model, config.kernel) for _ in range(config.n_layer)
        )

    def forward(self, images: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the logit of each pixel, given the earlier ones."""
        x = self.add_grid(images)
        before = torch.cat([F.pad(x[:, :1], (1, -1)), x[:, 1:]], 1)  # coordinates stay
        above, left = self.above(x), self.left(before)
        for layer in self.layers:
            more_above, more_left = layer(above.relu(), left.relu())
            above, left = above + more_above, left + more_left
        return self.output(left).flatten(1)


class BlindPixelCNN(PixelGrid):
    """Do the same with one stack of masked convolutions, which has a blind spot.

    Here to show what that costs.
    """

    def __init__(self, config: PixelCNNConfig) -> None:
        super().__init__(config)
        self.input = MaskedConv2d(1 + len(self.grid), config.d_model, config.kernel, own=False)
        self.layers = nn.ModuleList(
            MaskedConv2d(config.d_model, config.d_model, config.kernel, own=True)
            for _ in range(config.n_layer - 1)
        )

    def forward(self, images: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the logit of each pixel, given the earlier ones that it sees."""
        x = self.input(self.add_grid(images))
        for layer in self.layers:
            x = x + layer(x.relu())
        return self.output(x).flatten(1)
