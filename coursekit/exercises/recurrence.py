"""Checks for the exercises of notebook 09c."""

from collections.abc import Callable

import torch
from torch import Tensor

from coursekit.exercises.compare import agree
from coursekit.exercises.stub import is_stub


def check_lstm_step(solution: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> None:
    """Check a function that makes a step of an LSTM.

    It gets the numbers i, f, g, o (B, 4 D), before their nonlinearities, and the memory (B, D), and
    returns the output and the new memory.
    """
    open_, shut = 30.0, -30.0
    cases = [
        # Written in full, nothing kept, all said.
        (torch.tensor([[open_, shut, 2.0, open_]]), torch.tensor([[5.0]])),
        # Kept in full, nothing written: the memory goes through untouched.
        (torch.tensor([[shut, open_, 2.0, open_]]), torch.tensor([[5.0]])),
        # Half of what is kept, and half of what is new.
        (torch.tensor([[0.0, 0.0, 0.5, open_]]), torch.tensor([[-0.25]])),
        # The output gate closes what is said, not what is kept.
        (torch.tensor([[open_, open_, 0.3, -1.0]]), torch.tensor([[0.5]])),
        # Two sequences, three units.
        (_normal(2, 12), _normal(2, 3, seed=1)),
    ]

    def step(mixed: Tensor, c: Tensor) -> dict[str, Tensor]:
        h, c = solution(mixed, c)
        return {"h": h, "c": c}

    def reference(mixed: Tensor, c: Tensor) -> dict[str, Tensor]:
        cell = torch.nn.LSTMCell(1, c.shape[-1], dtype=torch.float64)
        for weight in cell.parameters():
            torch.nn.init.zeros_(weight)
        rows = []
        for numbers, memory in zip(mixed.double(), c.double(), strict=True):
            cell.bias_ih = torch.nn.Parameter(numbers)
            rows.append(cell(torch.zeros(1, 1).double(), (0 * memory[None], memory[None])))
        h, c = (torch.cat(part).detach() for part in zip(*rows, strict=True))
        return {"h": h, "c": c}

    step.__name__ = getattr(solution, "__name__", "your solution")
    agree(solution if is_stub(solution) else step, reference, cases, tolerance=1e-5)


def _normal(*shape: int, seed: int = 42) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
