"""How probable images are, and whether all of them together have probability 1."""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.device import device_of
from coursekit.evaluate.likelihood import AT_ONCE, compare_losses, evaluating

MOST_PIXELS = 20
"""Beyond which not all images are tried: 2^20 is a million."""


def image_nll(model: nn.Module, images: Float[Tensor, "N D"]) -> Float[Tensor, "N"]:
    """Return the negative log-likelihood of each image, in nats.

    -Σ_d log p(x_d | earlier pixels), in evaluation mode. A likelihood only if the logit of a pixel
    depends on earlier ones alone, in whatever order.

    Args:
        model: maps images to the logit of each pixel.
        images: of zeros and ones.

    Raises:
        ValueError: if a pixel is neither 0 nor 1, or there is no image.
    """
    if not len(images):
        raise ValueError("no images to score: were they cut off?")
    odd = images[(images != 0) & (images != 1)]
    if len(odd):
        raise ValueError(
            f"a pixel is {odd[0]:g}, neither 0 nor 1: binarise the images first, (grey > 7).float()"
        )
    scored = []
    with evaluating(model):
        for part in images.to(device_of(model)).split(AT_ONCE):
            losses = F.binary_cross_entropy_with_logits(model(part), part, reduction="none")
            scored.append(losses.sum(-1).cpu())
    return torch.cat(scored)


def mixture_nll(each: Float[Tensor, "M N"]) -> Float[Tensor, "N"]:
    """Return the NLL of each image under M models together, each with weight 1 / M.

    -log (1/M Σ_m exp(-nll_m)): the mean of the *probabilities of whole images*. So it is a
    likelihood, whatever the orders of the models.

    Example:
        >>> mixture_nll(torch.tensor([[1.0], [1.0 + math.log(3.0)]]))  # p and p / 3: 2/3 p
        tensor([1.4055])
    """
    return math.log(len(each)) - (-each).logsumexp(0)


def table_of_nll(rows: Mapping[str, Float[Tensor, "S N"]]) -> str:
    """Return a table: the NLL of each row, and by how much it is behind the lowest, in nats.

    What is compared are the same images, each with its mean over the seeds, so that behind ±
    stands the standard error of the *paired* difference (see `compare_losses`).

    Args:
        rows: for each model a line a seed, a column an image.

    Raises:
        ValueError: if they don't have the same number of images.

    Example:
        >>> rows = {"a": torch.tensor([[1.0, 2.0, 3.0]]), "b": torch.tensor([[1.5, 2.5, 3.4]])}
        >>> print(table_of_nll(rows))
        a  2.00
        b  2.47  behind by 0.47 ± 0.03
    """
    means = {name: values.mean(0) for name, values in rows.items()}
    first = min(means, key=lambda name: means[name].mean().item())
    width, lines = max(map(len, rows)), []
    for name, mean in means.items():
        line = f"{name:{width}}  {mean.mean():.2f}"
        if name != first:
            behind, in_errors = compare_losses(mean, means[first])
            line += f"  behind by {behind:.2f} ± {behind / in_errors:.2f}"
        lines.append(line)
    return "\n".join(lines)


def all_images(n_pixels: int, dtype: torch.dtype = torch.float64) -> Float[Tensor, "N D"]:
    """Return all 2^D images of D pixels.

    Raises:
        ValueError: if D is above `MOST_PIXELS`.

    Example:
        >>> all_images(2).int().tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if not 1 <= n_pixels <= MOST_PIXELS:
        raise ValueError(f"2^{n_pixels} images are too many to try: {MOST_PIXELS} pixels at most")
    bits = torch.arange(n_pixels - 1, -1, -1)
    return (torch.arange(2**n_pixels)[:, None] >> bits & 1).to(dtype)


def total_probability(model: nn.Module, n_pixels: int) -> float:
    """Add up the probabilities of all images: 1, or the model has no likelihood.

    Raises:
        ValueError: if there are too many pixels.
    """
    images = all_images(n_pixels, dtype=next(model.parameters()).dtype)
    return image_nll(model, images).double().neg().exp().sum().item()
