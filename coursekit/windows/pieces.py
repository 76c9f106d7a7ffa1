"""Random stretches of a series, for models that read a sequence and say something at each step."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Generator, Tensor


def draw_pieces(
    series: Float[Tensor, "T"],
    length: int,
    batch_size: int,
    generator: Generator,
    *,
    spread: float = 0.0,
) -> Iterator[tuple[Float[Tensor, "B S"], Float[Tensor, "B S"]]]:
    """Yield random stretches of a series without end, and the same stretches one step later.

    Each is multiplied by a random factor, the exponential of a N(0, spread²) draw: where calm and
    wild times are alike up to scale, what a model sees of one tells it about the other.

    Raises:
        ValueError: if the series is not longer than a stretch, or the batch is empty.
    """
    if not 1 <= length < len(series) or batch_size < 1:
        raise ValueError(
            f"stretches of {length=} and what follows need a series of {length + 1} values or "
            f"more, not {len(series)}, and {batch_size=} must be at least 1"
        )
    steps = torch.arange(length + 1)
    while True:
        starts = torch.randint(len(series) - length, (batch_size, 1), generator=generator)
        factor = (spread * torch.randn(batch_size, 1, generator=generator)).exp().to(series)
        stretch = factor * series[(starts + steps).to(series.device)]
        yield stretch[:, :-1], stretch[:, 1:]
