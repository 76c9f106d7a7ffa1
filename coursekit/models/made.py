"""Models of binary images, one pixel after the other: from independent pixels to MADE.

Each maps images (B, D) to logits (B, D). The logit of a pixel says how probable ink is, given the
pixels that come before it in the model's `order`, and depends on no other. So the product of the
D probabilities is the probability of the image, and over all 2^D images these sum to 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from coursekit.layers.masked import MaskedLinear, earlier, rank_pixels, refuse_other_size


class IndependentPixels(nn.Module):
    """Give each pixel a probability of its own, whatever the others are.

    Args:
        n_pixels: D.

    Attributes:
        order: any would do; this is the pixels' own.
    """

    order: Tensor

    def __init__(self, n_pixels: int) -> None:
        super().__init__()
        self.n_pixels = n_pixels
        self.register_buffer("order", torch.arange(n_pixels))
        self.bias = nn.Parameter(torch.zeros(n_pixels))

    @classmethod
    def count(cls, images: Float[Tensor, "N D"], alpha: float | int = 0.5) -> "IndependentPixels":
        """Count how often each pixel is ink, with `alpha` fake images of either kind.

        Without any, an image with ink where there never was some would have probability 0.
        """
        model = cls(images.shape[-1]).to(images)
        ink = (images.sum(0) + alpha) / (len(images) + 2 * alpha)
        model.bias.data = ink.logit()
        return model

    def forward(self, images: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the same logits for each image."""
        refuse_other_size(images, self.n_pixels)
        return self.bias.expand_as(images)


class FVSBN(nn.Module):
    """Predict each pixel from all earlier ones by a logistic regression of its own.

    p(x_d = 1 | x_<d) = σ(b_d + Σ_{i<d} w_di x_i): a fully visible sigmoid belief network (Frey
    1998). D (D - 1) / 2 weights and D biases count; the first pixel
    has only its bias. The weights start at 0, each pixel with probability one half.

    Args:
        n_pixels: D.
        order: the pixels, the first one first; by default 0 … D - 1.
    """

    order: Tensor

    def __init__(self, n_pixels: int, order: Int[Tensor, "D"] | None = None) -> None:
        super().__init__()
        self.n_pixels = n_pixels
        self.register_buffer("order", take_order(n_pixels, order))
        self.layer = MaskedLinear(earlier(self.order), gain=0.0)

    def forward(self, images: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the logit of each pixel, given the earlier ones."""
        refuse_other_size(images, self.n_pixels)
        return self.layer(images)


class PixelNetworks(nn.Module):
    """Predict each pixel from all earlier ones by a network of its own, with one hidden layer.

    Of the parameters, h D (D - 1) / 2 + 2 h D + D count, with h hidden units a pixel.

    Args:
        n_pixels: D.
        d_hidden: h.
        order: the pixels, the first one first; by default 0 … D - 1.
    """

    order: Tensor

    def __init__(
        self, n_pixels: int, d_hidden: int = 16, order: Int[Tensor, "D"] | None = None
    ) -> None:
        super().__init__()
        self.n_pixels = n_pixels
        self.register_buffer("order", take_order(n_pixels, order))
        reads = earlier(self.order).repeat_interleave(d_hidden, 0)
        owner = torch.eye(n_pixels, dtype=torch.bool).repeat_interleave(d_hidden, 1)
        self.hidden = MaskedLinear(reads, gain=2**0.5)
        self.output = MaskedLinear(owner, gain=0.0)

    def forward(self, images: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the logit of each pixel, given the earlier ones."""
        refuse_other_size(images, self.n_pixels)
        return self.output(self.hidden(images).relu())


@dataclass(frozen=True, kw_only=True)
class MADEConfig:
    """Sizes of a `MADE`.

    Attributes:
        n_pixels: D, at least 2.
        d_hidden: units of each hidden layer; from D - 1 on, every pixel gets some of its own.
        n_hidden: hidden layers, at least 1.
        dropout: the fraction of hidden units that training leaves out at each step.
    """

    n_pixels: int
    d_hidden: int = 500
    n_hidden: int = 1
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.n_pixels < 2 or min(self.d_hidden, self.n_hidden) < 1 or not 0 <= self.dropout < 1:
            raise ValueError(f"{self}: sizes from 1, two pixels or more, dropout below 1")


class MADE(nn.Module):
    """Predict all pixels by one network, whose missing connections keep later pixels out.

    Germain et al. 2015, with ReLU, and with direct connections from the pixels to the outputs, as
    their code offers. Where they draw the numbers of hidden units, `made_masks` spreads them.

    Args:
        config: the sizes.
        order: the pixels, the first one first; by default 0 … D - 1.
    """

    order: Tensor

    def __init__(self, config: MADEConfig, order: Int[Tensor, "D"] | None = None) -> None:
        super().__init__()
        self.config = config
        self.n_pixels = config.n_pixels
        self.register_buffer("order", take_order(config.n_pixels, order))
        *hidden, last = made_masks(self.order, [config.d_hidden] * config.n_hidden)
        self.hidden = nn.ModuleList(MaskedLinear(allowed, gain=2**0.5) for allowed in hidden)
        self.output = MaskedLinear(last, gain=0.0)
        self.direct = MaskedLinear(earlier(self.order), gain=0.0)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, images: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the logit of each pixel, given those before it in the order."""
        refuse_other_size(images, self.n_pixels)
        h = images
        for layer in self.hidden:
            h = self.dropout(layer(h).relu())
        return self.output(h) + self.direct(images)


def made_masks(order: Int[Tensor, "D"], widths: Sequence[int]) -> list[Bool[Tensor, "n_out n_in"]]:
    """Return the mask of each layer of a `MADE`, the first one first.

    Count the pixels from 1 in their order. A hidden unit has a number m from 1 to D - 1 and may
    read the first m pixels, and hidden units with numbers up to its own; a pixel reads the units
    with numbers below its own (Germain et al. 2015). The units of a layer have the numbers 1, 2,
    …, D - 1, 1, 2, …

    Args:
        order: the pixels, the first one first.
        widths: units of each hidden layer.

    Example:
        >>> for mask in made_masks(torch.arange(3), [4]):
        ...     print(mask.int().tolist())
        [[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0]]
        [[0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]]
    """
    pixels = rank_pixels(order) + 1
    hidden = [torch.arange(width).to(order) % (len(order) - 1) + 1 for width in widths]
    masks = [unit[:, None] >= seen for seen, unit in pairwise([pixels, *hidden])]
    return [*masks, pixels[:, None] > hidden[-1]]


def take_order(n_pixels: int, order: Int[Tensor, "D"] | None) -> Int[Tensor, "D"]:
    """Return the order, or 0 … D - 1 if there is none.

    Raises:
        ValueError: if it is not one of all the pixels.
    """
    order = torch.arange(n_pixels) if order is None else order
    rank_pixels(order)
    refuse_other_size(order, n_pixels)
    return order
