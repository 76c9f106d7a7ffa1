"""Where a step stands: added to its vector, or turned into its queries and keys."""

from collections.abc import Sequence
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from coursekit.layers.attention import Rule

WAVELENGTH = 10_000
"""The slowest pair of channels turns about once in 2π times as many steps."""


def sinusoidal_codes(length: int, d_model: int) -> Float[Tensor, "T C"]:
    """Return a code for each step: sines and cosines of falling frequency, in pairs.

    code[t, 2i] = sin(t / 10000^(2i/C)), code[t, 2i + 1] = cos of the same, with t from 0 and
    i = 0 … C/2 - 1 (Vaswani et al. 2017, section 3.5).

    Raises:
        ValueError: if `d_model` is odd, for sines and cosines come in pairs.

    Example:
        >>> sinusoidal_codes(length=2, d_model=4)  # sin 0, cos 0; sin 1, cos 1, sin 0.01, cos 0.01
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    angles = _angles(length, d_model)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).float()


class LearnedPositions(nn.Module):
    """Add to each step's vector one that is trained for its position, as GPT-2 does.

    Args:
        context: positions T that have a vector; there is none beyond.
        d_model: channels C. They start as N(0, `STD`²) draws.

    Example:
        >>> positions = LearnedPositions(context=8, d_model=4)
        >>> positions(torch.zeros(1, 3, 4), start=5).equal(positions.weight[None, 5:])
        True
    """

    STD = 0.02

    def __init__(self, context: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(self.STD * torch.randn(context, d_model))

    def forward(self, x: Float[Tensor, "B T C"], start: int = 0) -> Float[Tensor, "B T C"]:
        """Add the vectors of the positions from `start` on."""
        return x + _rows_from(self.weight, start, x.shape[1])


class SinusoidalPositions(nn.Module):
    """Add `sinusoidal_codes` to each step's vector; nothing is trained.

    The codes are a buffer: they move with the model to another device and are not trained.

    Args:
        context: positions T that have a code; more could be computed at any time.
        d_model: channels C.
        scale: factor on the codes.

    Example:
        >>> SinusoidalPositions(context=8, d_model=4)(torch.zeros(1, 1, 4)).tolist()
        [[[0.0, 1.0, 0.0, 1.0]]]
    """

    codes: Tensor

    def __init__(self, context: int, d_model: int, scale: float = 1.0) -> None:
        super().__init__()
        codes = scale * sinusoidal_codes(context, d_model)
        self.register_buffer("codes", codes, persistent=False)

    def forward(self, x: Float[Tensor, "B T C"], start: int = 0) -> Float[Tensor, "B T C"]:
        """Add the codes of the positions from `start` on."""
        return x + _rows_from(self.codes, start, x.shape[1])


class CalendarEmbedding(nn.Module):
    """Give each step a vector for its hour, weekday and month, all trained.

    W₂ ReLU(W₁ [e_hour; e_weekday; e_month] + b₁) + b₂: one table each, side by side, then a small
    network, so that an hour of a Sunday need not be an hour plus a Sunday.

    Args:
        d_time: channels of a table.
        d_model: channels C of the result.
        sizes: rows of each table; all count from 0, January too.

    Example:
        >>> friday_noon_in_march = torch.tensor([[[12, 4, 2]]])
        >>> CalendarEmbedding(d_time=6, d_model=4)(friday_noon_in_march).shape
        torch.Size([1, 1, 4])
    """

    def __init__(self, d_time: int, d_model: int, sizes: Sequence[int] = (24, 7, 12)) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, d_time) for size in sizes)
        self.expand = nn.Linear(d_time * len(sizes), d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, marks: Int[Tensor, "B T M"]) -> Float[Tensor, "B T C"]:
        """Return the vector of each step.

        Raises:
            ValueError: if a mark has no row in its table, such as month 12.
        """
        sizes = [table.num_embeddings for table in self.tables]
        limits = torch.tensor(sizes, device=marks.device)
        if not ((marks >= 0) & (marks < limits)).all():
            lowest, highest = (x.tolist() for x in marks.flatten(0, 1).aminmax(dim=0))
            raise ValueError(
                f"marks from {lowest} to {highest} for tables of {sizes} rows: count from 0"
            )
        looked_up = [table(mark) for table, mark in zip(self.tables, marks.unbind(-1), strict=True)]
        return self.out(self.expand(torch.cat(looked_up, -1)).relu())


def rotate(x: Float[Tensor, "*N T D"], start: int = 0) -> Float[Tensor, "*N T D"]:
    """Turn each vector by its position: channel i and i + D/2 together, by t / 10000^(2i/D).

    Two turned vectors have a product that depends on the distance of their positions, not on the
    positions themselves (Su et al. 2021, eq. 16; pairs of channels half a width apart).

    Raises:
        ValueError: if D is odd, or `start` is below 0.

    Example:
        >>> rotate(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))  # one radian a step for the first pair
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """
    if start < 0:
        raise ValueError(f"{start=} is no position: give at least as many keys as queries")
    stop = start + x.shape[-2]
    # A table of 2ⁿ positions, or generating one token after the other would compute one each time.
    turns = _turns if torch.compiler.is_compiling() else _kept_turns
    cos, sin = turns(1 << (stop - 1).bit_length(), x.shape[-1], x.device, x.dtype)
    cos, sin = cos[start:stop], sin[start:stop]
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


def rotary(rule: Rule) -> Rule:
    """Return `rule` with queries and keys turned by their positions first.

    With fewer queries than keys, the queries are the last steps. For attention of a sequence to
    itself only: the positions of a memory say nothing about the positions of those that read it.

    Example:
        >>> from coursekit.layers.attention import attend
        >>> q, k, v = torch.randn(3, 5, 4)
        >>> rotary(attend)(q, k, v).allclose(attend(rotate(q), rotate(k), v))
        True
    """

    def turned(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        return rule(rotate(q, k.shape[-2] - q.shape[-2]), rotate(k), v, allowed)

    return turned


def _angles(length: int, width: int) -> Float[Tensor, "T half"]:
    """Return t / 10000^(2i / width) for each step t and pair of channels i, in float64."""
    if width % 2:
        raise ValueError(f"{width} channels do not split into pairs: take an even number")
    pair = torch.arange(0, width, 2, dtype=torch.float64)
    return torch.arange(length, dtype=torch.float64)[:, None] / WAVELENGTH ** (pair / width)


@torch.inference_mode(False)  # or a training after a first use without gradients could not use it
def _turns(
    length: int, width: int, device: torch.device, dtype: torch.dtype
) -> tuple[Float[Tensor, "T half"], Float[Tensor, "T half"]]:
    """Return cosine and sine of the angles."""
    angles = _angles(length, width)
    return angles.cos().to(device, dtype), angles.sin().to(device, dtype)


_kept_turns = lru_cache(maxsize=64)(_turns)


def _rows_from(table: Float[Tensor, "S C"], start: int, steps: int) -> Float[Tensor, "T C"]:
    """Take the rows from `start` on; refuse to run over the end."""
    if start + steps > len(table):
        raise ValueError(
            f"step {start + steps} lies beyond the {len(table)} positions there are: shorten the "
            "sequence, or build the model with a longer context"
        )
    return table[start : start + steps]
