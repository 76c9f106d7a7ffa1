"""Checks for the exercises of notebook 09."""

from collections.abc import Callable

import torch
from torch import Tensor

from coursekit.evaluate.images import mixture_nll
from coursekit.exercises.compare import agree
from coursekit.exercises.stub import is_stub
from coursekit.layers.masked import two_stacks
from coursekit.models.made import made_masks


def check_average_models(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that returns the NLL of each image under several models' mean probability.

    A case holds one row of NLLs a model, one column an image.
    """
    cases = [
        (torch.tensor([[1.0, 2.0, 0.5], [3.0, 2.0, 4.0]]),),
        (torch.tensor([[1.0], [2.0], [6.0]]),),
        (torch.tensor([[900.0, 20.0], [901.0, 30.0]]),),
        (torch.tensor([[1000.0], [900.0]]),),
    ]
    agree(solution, lambda nlls: mixture_nll(nlls.double()), cases, tolerance=1e-5)


def check_masks(solution: Callable[[Tensor, int], tuple[Tensor, Tensor]]) -> None:
    """Check a function that returns the masks of a MADE's hidden layer and of its output."""
    cases = [
        (torch.tensor([0, 1, 2]), 4),
        (torch.tensor([2, 0, 1]), 2),
        (torch.tensor([3, 1, 0, 2]), 8),
        (torch.tensor([1, 0]), 1),
    ]

    def name(order: Tensor, width: int) -> dict[str, Tensor]:
        hidden, pixels = solution(order, width)
        return {"1 the hidden layer": hidden, "2 the output": pixels}

    def reference(order: Tensor, width: int) -> dict[str, Tensor]:
        hidden, pixels = made_masks(order, [width])
        return {"1 the hidden layer": hidden, "2 the output": pixels}

    name.__name__ = getattr(solution, "__name__", "your solution")
    agree(solution if is_stub(solution) else name, reference, cases)


def check_stacks(solution: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """Check a function that convolves what lies above a pixel and what lies to its left apart."""
    image = torch.arange(1.0, 10.0).view(1, 1, 3, 3)
    zero, none = torch.zeros(1, 1, 3, 3), torch.zeros(1, 1)
    k_above = torch.tensor([[[[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]]]])
    k_left = torch.tensor([[[[1.0, 10.0]]]])
    two = torch.cat([image, 10 - image], 1)
    link = torch.tensor([[1.0, 2.0], [0.0, 3.0]])
    wide = torch.arange(60.0).view(2, 2, 3, 5)
    batch = torch.arange(1.0, 81.0).view(2, 2, 4, 5)
    cases = [
        (zero, image, k_above, k_left, none),
        (image, zero, k_above, k_left, none),
        (image, zero, k_above, k_left, torch.ones(1, 1)),
        (two, two, wide, torch.ones(2, 2, 1, 3), link),
        (batch, batch, wide[..., :3], torch.ones(2, 2, 1, 2), link),
    ]

    def name(*arguments: Tensor) -> dict[str, Tensor]:
        above, left = solution(*arguments)
        return {"above": above, "left": left}

    def reference(*arguments: Tensor) -> dict[str, Tensor]:
        above, left = two_stacks(*arguments)
        return {"above": above, "left": left}

    name.__name__ = getattr(solution, "__name__", "your solution")
    agree(solution if is_stub(solution) else name, reference, cases)
