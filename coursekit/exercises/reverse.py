"""Checks for the exercises of notebook 10b."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.exercises.compare import agree, draw_quarters, with_gradients


class _Layer(nn.Module):
    """Four linear maps and a number of heads, as an attention layer has them."""

    def __init__(self, d: int, n_head: int) -> None:
        super().__init__()
        self.n_head = n_head
        g = torch.Generator().manual_seed(n_head)
        self.q, self.k, self.v, self.out = (nn.Linear(d, d) for _ in range(4))
        for part in (self.q, self.k, self.v, self.out):
            part.weight.data = torch.randn(d, d, generator=g)
            part.bias.data = torch.randn(d, generator=g)

    def __repr__(self) -> str:
        return f"layer of {self.n_head} heads"


def check_cross_attention(solution: Callable[[Tensor, Tensor, Tensor, nn.Module], Tensor]) -> None:
    """Check attention whose queries come from one sequence, its keys and values from another."""
    g = torch.Generator().manual_seed(0)
    x, memory = (draw_quarters(g, 1, n, 4) for n in (2, 3))
    texts, memories = (draw_quarters(g, 2, n, 4) for n in (4, 3))
    far = x * torch.tensor([[-9.0], [-50.0]])  # all that the second may read scores below -60
    everything = torch.ones(1, 1, 1, 3, dtype=torch.bool)
    first_two = torch.tensor([True, True, False])[None, None, None]
    own = torch.tensor([[True, True, False], [True, True, True]])[:, None, None]
    cases = [
        (x, memory, everything, _Layer(4, 1)),
        (x, memory, everything, _Layer(4, 2)),
        (texts, memories, own, _Layer(4, 2)),
        (far, memory, first_two, _Layer(4, 1)),
    ]

    def reference(x: Tensor, memory: Tensor, readable: Tensor, layer: _Layer) -> Tensor:
        q, k, v = layer.q(x), layer.k(memory), layer.v(memory)
        width = q.shape[-1] // layer.n_head
        heads = [
            F.scaled_dot_product_attention(
                q[..., i : i + width], k[..., i : i + width], v[..., i : i + width], readable[:, 0]
            )
            for i in range(0, q.shape[-1], width)
        ]
        return layer.out(torch.cat(heads, -1))

    names = "x", "memory"
    theirs, ours = with_gradients(solution, *names), with_gradients(reference, *names)
    agree(theirs, ours, cases, tolerance=1e-4)


class _Summing:
    """Names the sum of all that was read and written, modulo 7: it needs each token of both."""

    def __repr__(self) -> str:
        return "model"

    def __call__(self, source: Tensor, written: Tensor, present: Tensor) -> Tensor:
        read = source.masked_fill(~present, 0).sum(1, keepdim=True)
        return F.one_hot((read + written.cumsum(1)) % 7, 7).float()


def check_answer_greedily(solution: Callable[..., Tensor]) -> None:
    """Check a function that writes the likeliest token, step by step, and feeds it back in."""
    one = torch.tensor([[3, 5]])
    two = torch.tensor([[3, 5, 0], [4, 6, 6]])
    padded = torch.tensor([[True, True, False], [True, False, False]])
    cases = [
        (one, one > 0, _Summing(), 1, 3),
        (one, one > 0, _Summing(), 2, 1),
        (two, padded, _Summing(), 1, 4),
    ]

    def reference(
        source: Tensor, present: Tensor, model: _Summing, start: int, steps: int
    ) -> Tensor:
        rows = []
        for read, there in zip(source, present, strict=True):
            total, row = start + int(read[there].sum()), []
            for _ in range(steps):
                row.append(total % 7)
                total += row[-1]
            rows.append(row)
        return torch.tensor(rows)

    agree(solution, reference, cases)
