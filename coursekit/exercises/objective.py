"""Checks for the exercises of notebook 10d."""

from collections.abc import Callable

import torch
from torch import Tensor

from coursekit.exercises.compare import agree, draw_quarters, watch_arguments


class _Mix:
    """A block whose order matters, and that carries each vector one position on."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, x: Tensor) -> Tensor:
        return x.relu() - self.number * x.roll(1, 1)

    def __repr__(self) -> str:
        return f"block {self.number}"


def check_look_inside(
    solution: Callable[[Tensor, list[Callable[[Tensor], Tensor]], int, Tensor], Tensor],
) -> None:
    """Check which vectors are read, and after which block."""
    g = torch.Generator().manual_seed(10)
    x, texts = draw_quarters(g, 1, 3, 2), draw_quarters(g, 2, 3, 2)
    here, in_both = torch.tensor([[False, True, True]]), torch.tensor([[0, 0, 1], [1, 0, 0]]).bool()
    one, two, three = map(_Mix, (1, 2, 3))
    cases = [
        (x, [one, two], 1, here),
        (x, [one, two], 0, here),
        (x, [one, two], 2, here),
        (texts, [three, one, two], 2, in_both),
    ]

    def reference(x: Tensor, blocks: list[_Mix], depth: int, here: Tensor) -> Tensor:
        rows, steps = here.nonzero().T
        made = [x]
        for block in blocks:
            made.append(block(made[-1]))
        return made[depth][rows, steps]

    agree(watch_arguments(solution, "x"), reference, cases)


def check_transplant(solution: Callable[..., Tensor]) -> None:
    """Check a run whose vectors at some positions become another run's after some blocks."""
    g = torch.Generator().manual_seed(10)
    (x, other), (texts, others) = draw_quarters(g, 2, 1, 3, 2), draw_quarters(g, 2, 2, 3, 2)
    one, two, three = map(_Mix, (1, 2, 3))
    cases = [
        (x, other, [one, two], 0, 1),
        (x, other, [one, two], 1, 2),
        (x, other, [one, two], 2, 0),
        (texts, others, [three, one, two], 1, 2),
        (x, other, [one, two], [0, 2], 1),
    ]

    def reference(
        x: Tensor, other: Tensor, blocks: list[_Mix], at: int | list[int], depth: int
    ) -> Tensor:
        is_here = torch.isin(torch.arange(x.shape[1]), torch.tensor(at))[:, None]
        for done in range(len(blocks) + 1):
            x = other.where(is_here, x) if done == depth else x
            if done < len(blocks):
                x, other = blocks[done](x), blocks[done](other)
        return x

    agree(watch_arguments(solution, "x", "other"), reference, cases)
