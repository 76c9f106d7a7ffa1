"""Checks for the exercises of notebook 04."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from coursekit.exercises.compare import agree


def check_fuse_pairs(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that joins each two neighbouring steps: (B, T, C) to (B, T / 2, 2 C)."""

    def reference(x: Tensor) -> Tensor:
        return torch.cat([x[:, ::2], x[:, 1::2]], -1)

    agree(solution, reference, [(_count(1, 2, 1),), (_count(2, 4, 3),), (_count(3, 8, 2),)])


def check_normalise_steps(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that gives each channel mean 0 and variance 1 over batch and steps."""

    def reference(x: Tensor) -> Tensor:
        each = x.flatten(0, -2)
        return (x - each.mean(0)) / (each.var(0, correction=0) + 1e-5).sqrt()

    # The second case: a spread so small that the 1e-5 shows. The last: as many steps as
    # channels, where a wrong axis raises no error.
    cases = [(_draw(2, 3, 4),), (_draw(5, 2, 1) / 100,), (_draw(4, 3, 3, seed=1),)]
    agree(solution, reference, cases, tolerance=1e-5)


def check_delay_steps(solution: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check a function that moves a sequence to later steps, with zeros at the start.

    The number of steps is a tensor that holds one integer.
    """

    def reference(x: Tensor, steps: Tensor) -> Tensor:
        late = torch.zeros_like(x)
        for t in range(int(steps), x.shape[1]):
            late[:, t] = x[:, t - int(steps)]
        return late

    cases = [
        (_count(1, 4, 1), torch.tensor(1)),
        (_count(2, 5, 3), torch.tensor(2)),
        (_count(1, 3, 2), torch.tensor(0)),
        (_count(1, 3, 2), torch.tensor(5)),
    ]
    agree(solution, reference, cases)


def check_receptive_field(solution: Callable[[Sequence[int], Sequence[int]], int]) -> None:
    """Check a function that counts the inputs that one output of a stack reads."""

    def reference(kernels: Sequence[int], dilations: Sequence[int]) -> int:
        field = 1
        for kernel, dilation in zip(kernels, dilations, strict=True):
            field += (kernel - 1) * dilation
        return field

    cases = [
        ([2, 2, 2, 2], [1, 1, 1, 1]),
        ([2, 2, 2, 2], [1, 2, 4, 8]),
        ([3, 2], [1, 3]),  # no gaps: the steps read are those from the first to the last
    ]
    agree(solution, reference, cases)


def check_forecast_variance(solution: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check a function that forecasts each day's variance from the days before it.

    Decay 0.94; the second argument is the forecast for the first day.
    """

    def reference(returns: Tensor, start: Tensor) -> Tensor:
        forecasts, latest = [], start
        for r in returns:
            forecasts.append(latest)
            latest = 0.94 * latest + 0.06 * r**2
        return torch.stack(forecasts)

    cases = [
        (torch.tensor([3.0, -1.0]), torch.tensor(2.0)),
        (torch.tensor([0.0, 0.0, 5.0, 0.0, -2.0]), torch.tensor(1.0)),
        (torch.tensor([-10.0, 1.0, 1.0]), torch.tensor(0.0)),
    ]
    agree(solution, reference, cases)


def _count(*shape: int) -> Tensor:
    """Number the entries of a tensor 1, 2, 3, …, so that a wrong one is easily seen."""
    return 1.0 + torch.arange(torch.Size(shape).numel()).reshape(shape)


def _draw(*shape: int, seed: int = 42) -> Tensor:
    """Draw entries whose channels differ in mean and in spread."""
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return noise * torch.arange(1, shape[-1] + 1) + torch.arange(shape[-1])
