"""What the vectors inside a network hold: read them, ask them by examples, exchange them.

A probe finds what *can* be read from a vector; exchanging the vector shows whether it is read.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def draw_balanced(labels: Int[Tensor, " N"], order: Int[Tensor, " N"], n: int) -> Int[Tensor, " n"]:
    """Return which `n` of some labelled examples to learn from, as many of each label.

    They are the first in `order`: those of the lowest label, then those of the next.

    Args:
        labels: two or more different ones.
        order: the numbers of the examples, shuffled.
        n: how many, a multiple of the number of labels.

    Raises:
        ValueError: if `n` is no such multiple, or one of the labels has too few examples.

    Example:
        >>> draw_balanced(torch.tensor([0, 1, 1, 0]), torch.tensor([2, 1, 3, 0]), 2).tolist()
        [3, 2]
    """
    found = [order[labels[order] == label] for label in labels.unique()]
    k, fewest = len(found), min(map(len, found))
    if n < k or n % k or n // k > fewest:
        raise ValueError(
            f"{n=} must be a multiple of {k}, the number of labels, and at most {k * fewest}: "
            f"one label has {fewest} examples"
        )
    return torch.cat([some[: n // k] for some in found])


def read_vectors(
    x: Float[Tensor, "B T C"],
    blocks: Iterable[Callable[[Tensor], Tensor]],
    depth: int,
    here: Bool[Tensor, "B T"],
) -> Float[Tensor, "N C"]:
    """Return the vectors at some positions after `depth` blocks, text by text.

    Args:
        x: vectors before the first block.
        blocks: each takes such vectors and returns such.
        depth: blocks that run, from 0 to all of them.
        here: at which positions; N of them.

    Raises:
        ValueError: if there are not so many blocks.
    """
    steps = list(blocks)
    if not 0 <= depth <= len(steps):
        raise ValueError(f"{depth=} must be from 0 to {len(steps)}, the number of blocks")
    for block in steps[:depth]:
        x = block(x)
    return x[here]


def patch_vector(
    x: Float[Tensor, "B T C"],
    other: Float[Tensor, "B S C"],
    blocks: Iterable[Callable[[Tensor], Tensor]],
    at: int | Sequence[int],
    depth: int,
) -> Float[Tensor, "B T C"]:
    """Run x through some blocks, with its vectors at some positions exchanged on the way.

    After `depth` blocks they become those that `other` has at the same positions and depth: an
    interchange intervention (Geiger et al. 2021), known as activation patching.

    Args:
        x, other: vectors before the first block; neither is changed.
        blocks: each takes such vectors and returns such.
        at: the position, or several.
        depth: blocks before the exchange, from 0 to all of them.

    Returns:
        What the blocks make of x.

    Raises:
        ValueError: if x and `other` have different shapes, or `at` or `depth` does not exist.
    """
    steps = list(blocks)
    if x.shape != other.shape:
        raise ValueError(
            f"x and other differ in shape, {tuple(x.shape)} and {tuple(other.shape)}: "
            "take inputs of one length"
        )
    positions = [at] if isinstance(at, int) else list(at)
    if not all(0 <= t < x.shape[1] for t in positions) or not 0 <= depth <= len(steps):
        raise ValueError(
            f"{at=} must be from 0 to {x.shape[1] - 1}, and {depth=} from 0 to {len(steps)}"
        )
    for block in steps[:depth]:
        x, other = block(x), block(other)
    x = x.clone()
    x[:, positions] = other[:, positions]
    for block in steps[depth:]:
        x = block(x)
    return x
