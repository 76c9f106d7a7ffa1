"""Layers that may read some of their inputs only: what images need, one pixel after the other."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.basic import Linear


class MaskedLinear(Linear):
    """Multiply by a matrix of which only some entries exist: x (W ⊙ M)ᵀ + b.

    Germain et al. 2015 mask the layers of an autoencoder so. What M leaves out has no gradient.

    Args:
        allowed: M: whether output i, a row, may read input j, a column.
        gain: of the weights at the start (see `Linear`), as if no entry were missing.

    Example:
        >>> layer = MaskedLinear(torch.tensor([[False, False], [True, False]]))
        >>> layer.weight.data.fill_(1.0)
        tensor([[1., 1.],
                [1., 1.]])
        >>> layer(torch.tensor([5.0, 7.0])).tolist()
        [0.0, 5.0]
    """

    allowed: Tensor

    def __init__(self, allowed: Bool[Tensor, "n_out n_in"], *, gain: float = 1.0) -> None:
        n_out, n_in = allowed.shape
        super().__init__(n_in, n_out, gain=gain)
        self.register_buffer("allowed", allowed)

    def forward(self, x: Float[Tensor, "*N n_in"]) -> Float[Tensor, "*N n_out"]:
        """Return x (W ⊙ M)ᵀ + b for each vector of `x`."""
        return F.linear(x, self.weight * self.allowed, self.bias)


def earlier(order: Int[Tensor, "n"]) -> Bool[Tensor, "n n"]:
    """Tell for each pixel, a row, which pixels come before it in an order.

    Args:
        order: the pixels, the first one first.

    Raises:
        ValueError: if a pixel is missing, or there twice.

    Example:
        >>> earlier(torch.tensor([2, 0, 1])).int().tolist()
        [[0, 0, 1], [1, 0, 1], [0, 0, 0]]
    """
    rank = rank_pixels(order)
    return rank[:, None] > rank


def rank_pixels(order: Int[Tensor, "n"]) -> Int[Tensor, "n"]:
    """Return for each pixel how many come before it.

    Raises:
        ValueError: if a pixel is missing, or there twice.

    Example:
        >>> rank_pixels(torch.tensor([2, 0, 1])).tolist()
        [1, 2, 0]
    """
    if not torch.equal(order.sort().values, torch.arange(len(order)).to(order)):
        raise ValueError(
            f"an order of {len(order)} pixels holds each number below {len(order)} once: "
            f"torch.randperm({len(order)}) is one"
        )
    return order.argsort()


def raster_mask(kernel: int, *, own: bool) -> Bool[Tensor, "rows columns"]:
    """Tell which of `kernel` × `kernel` pixels come before the middle one, row by row.

    Args:
        own: whether the middle one is allowed, too: mask B of van den Oord et al. 2016 (Pixel
            recurrent neural networks), as against mask A.

    Raises:
        ValueError: if no pixel is in the middle.

    Example:
        >>> raster_mask(3, own=False).int().tolist()
        [[1, 1, 1], [1, 0, 0], [0, 0, 0]]
    """
    if kernel < 1 or kernel % 2 == 0:
        raise ValueError(f"{kernel=} has no pixel in the middle: take 3, 5, …")
    n_before = kernel**2 // 2
    return (torch.arange(kernel**2) < n_before + own).view(kernel, kernel)


class MaskedConv2d(nn.Module):
    """Convolve an image without reading a pixel that comes later, row by row.

    A stack of these never reads some of the *earlier* pixels: above a pixel, one layer of 3 × 3
    sees a single column to the right for each row that it goes up. See `two_stacks`.

    Args:
        d_in, d_out: channels before and after.
        kernel: rows and columns of the kernel, of which the mask leaves about half.
        own: whether a pixel reads itself; not in the first layer.

    Example:
        >>> MaskedConv2d(1, 4, own=False)(torch.randn(2, 1, 8, 8)).shape
        torch.Size([2, 4, 8, 8])
    """

    allowed: Tensor

    def __init__(self, d_in: int, d_out: int, kernel: int = 3, *, own: bool) -> None:
        super().__init__()
        allowed = raster_mask(kernel, own=own)
        fan_in = d_in * int(allowed.sum())
        self.weight = nn.Parameter(torch.randn(d_out, d_in, kernel, kernel) / fan_in**0.5)
        self.bias = nn.Parameter(torch.zeros(d_out))
        self.register_buffer("allowed", allowed)

    def forward(self, x: Float[Tensor, "B d_in R W"]) -> Float[Tensor, "B d_out R W"]:
        """Return as many rows and columns; zeros stand beyond the edges."""
        around = self.weight.shape[-1] // 2
        return F.conv2d(x, self.weight * self.allowed, self.bias, padding=around)


def two_stacks(
    above: Float[Tensor, "B d R W"],
    left: Float[Tensor, "B d R W"],
    w_above: Float[Tensor, "d d rows columns"],
    w_left: Float[Tensor, "d d 1 taps"],
    w_link: Float[Tensor, "d d"],
) -> tuple[Float[Tensor, "B d R W"], Float[Tensor, "B d R W"]]:
    """Convolve what lies above a pixel and what lies to its left apart: no blind spot.

    The vertical and the horizontal stack of van den Oord et al. 2016 (Conditional image
    generation with PixelCNN decoders), without gates. At row r, column c

    - `above` becomes a mixture of its own rows up to r, of columns on both sides of c;
    - `left` becomes a mixture of its own row up to column c, and of the *new* `above` of row
      r - 1, which has read whole rows, and none below.

    So a pixel may not be in `left` itself: begin with the image moved one column to the right.
    Beyond the edges there are zeros.

    Example:
        >>> x, link = torch.ones(1, 1, 3, 3), torch.ones(1, 1)
        >>> _, left = two_stacks(x, x, torch.ones(1, 1, 2, 3), torch.ones(1, 1, 1, 2), link)
        >>> left[0, 0, 2].tolist()  # two of its row, and six above; at the edges, fewer
        [5.0, 8.0, 6.0]
    """
    rows, columns = w_above.shape[-2:]
    around = columns // 2
    above = F.conv2d(F.pad(above, (around, around, rows - 1, 0)), w_above)
    left = F.conv2d(F.pad(left, (w_left.shape[-1] - 1, 0)), w_left)
    row_before = F.pad(above, (0, 0, 1, 0))[:, :, :-1]
    return above, left + torch.einsum("oi,birw->borw", w_link, row_before)


class TwoStackConv2d(nn.Module):
    """Keep the weights of `two_stacks`, and add a bias to each of the two.

    Args:
        d_model: channels of both stacks.
        kernel: columns that the vertical stack mixes; both read kernel // 2 beyond their own.

    Raises:
        ValueError: if the kernel is even.

    Example:
        >>> x = torch.randn(2, 4, 8, 8)
        >>> above, left = TwoStackConv2d(4)(x, x)
        >>> above.shape, left.shape
        (torch.Size([2, 4, 8, 8]), torch.Size([2, 4, 8, 8]))
    """

    def __init__(self, d_model: int, kernel: int = 3) -> None:
        super().__init__()
        raster_mask(kernel, own=True)  # refuses an even one
        rows = kernel // 2 + 1
        d, n_above, n_left = d_model, d_model * rows * kernel, d_model * (rows + 1)
        self.w_above = nn.Parameter(torch.randn(d, d, rows, kernel) / n_above**0.5)
        self.w_left = nn.Parameter(torch.randn(d, d, 1, rows) / n_left**0.5)
        self.w_link = nn.Parameter(torch.randn(d, d) / n_left**0.5)
        self.bias = nn.Parameter(torch.zeros(2, d, 1, 1))

    def forward(
        self, above: Float[Tensor, "B d R W"], left: Float[Tensor, "B d R W"]
    ) -> tuple[Float[Tensor, "B d R W"], Float[Tensor, "B d R W"]]:
        """Return both stacks after one more layer."""
        above, left = two_stacks(above, left, self.w_above, self.w_left, self.w_link)
        return above + self.bias[0], left + self.bias[1]


def count_parameters(model: nn.Module) -> tuple[int, int]:
    """Count the parameters that a model stores, and those that no mask of its layers cuts.

    Example:
        >>> count_parameters(MaskedLinear(earlier(torch.arange(3))))  # 9 weights and 3 biases
        (12, 6)
    """
    stored, cut = sum(one.numel() for one in model.parameters()), 0
    for layer in model.modules():
        if isinstance(layer, MaskedLinear | MaskedConv2d):
            cut += int((~layer.allowed).expand_as(layer.weight).sum())
    return stored, stored - cut


def refuse_other_size(images: Tensor, n_pixels: int) -> None:
    """Refuse images that have another number of pixels than a model was made for.

    Raises:
        ValueError: if they do.

    Example:
        >>> refuse_other_size(torch.zeros(5, 64), 64)
    """
    if images.shape[-1] != n_pixels:
        raise ValueError(
            f"images of {images.shape[-1]} pixels, and a model for {n_pixels}: its weights belong "
            "to one size, so cut or scale the images, or make another model"
        )
