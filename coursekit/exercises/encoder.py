"""Checks for the exercises of notebook 10."""

from collections.abc import Callable, Mapping
from functools import wraps
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.exercises.compare import agree, draw_quarters, watch_arguments, with_gradients
from coursekit.layers.attention import MultiHeadAttention
from coursekit.layers.block import Block, FeedForward

SPECIAL = 4
"""Ids below it are no words: padding, start, end and mask."""
MASK = 3


class _Parts(MultiHeadAttention):
    """The four linear maps of an attention that the reader is to write."""

    def forward(self, *_: Any, **__: Any) -> Tensor:
        raise TypeError("call q, k, v and out of the attention, not the attention")


class _Block(Block):
    """The parts of an encoder layer, no weight of which is 0 or 1."""

    def __init__(self, d: int, n_head: int) -> None:
        attention = _Parts(d, n_head, bias=True)
        super().__init__(attention, FeedForward(d), lambda: nn.LayerNorm(d), norm_first=False)
        g = torch.Generator().manual_seed(n_head)
        for part in self.parameters():
            part.data = torch.randn(part.shape, generator=g)

    def forward(self, *_: Any, **__: Any) -> Tensor:
        raise TypeError("call the parts of the block, not the block")

    def __repr__(self) -> str:
        return f"block of {self.attention.n_head} heads"


def check_encoder_layer(solution: Callable[[Tensor, Tensor, nn.Module], Tensor]) -> None:
    """Check a layer whose attention takes any mask, and whose norms follow what is added."""
    g = torch.Generator().manual_seed(10)
    x, texts = draw_quarters(g, 1, 3, 4), draw_quarters(g, 2, 3, 4)
    everything = torch.ones(1, 1, 3, 3, dtype=torch.bool)
    first_two = torch.tensor([True, True, False]).expand(1, 1, 3, 3)
    # another mask for each text and each query
    own = torch.tensor(
        [[[[1, 0, 0], [1, 1, 1], [1, 0, 1]]], [[[1, 1, 1], [0, 1, 0], [0, 1, 1]]]]
    ).bool()
    # and another for each head
    by_head = torch.tensor([[[[0, 1, 1], [1, 0, 0], [0, 0, 1]], [[1, 1, 0], [0, 1, 1], [1, 0, 0]]]])
    cases = [
        (x, everything, _Block(4, 1)),
        (x, everything, _Block(4, 2)),
        (-9 * x, first_two, _Block(4, 2)),
        (texts, own, _Block(4, 2)),
        (x, by_head.bool(), _Block(4, 2)),
        (texts, own[:, :, 2:], _Block(4, 2)),  # one row for all queries, as a padding mask has
        (x, own[0, 0], _Block(4, 2)),  # no text, no head
    ]

    def layer(x: Tensor, allowed: Tensor, block: _Block) -> Tensor:
        parts, width = block.attention, x.shape[-1] // block.attention.n_head
        masks = allowed.expand(len(x), parts.n_head, *x.shape[1:2] * 2).unbind(1)
        q, k, v = (part(x).split(width, -1) for part in (parts.q, parts.k, parts.v))
        heads = map(F.scaled_dot_product_attention, q, k, v, masks)
        x = block.norm_1(x + parts.out(torch.cat([*heads], -1)))
        return block.norm_2(x + block.feed_forward(x))

    theirs, ours = with_gradients(solution, "x"), with_gradients(layer, "x")
    agree(theirs, ours, cases, tolerance=1e-4)


def check_padding_mask(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that says which tokens may be read, as padding, 0, may not.

    One row for all queries is enough, (B, 1, 1, T); a row for each, (B, 1, T, T), is accepted.
    """
    cases = [
        (torch.tensor([[1, 5, 0], [1, 7, 8]]),),
        (torch.tensor([[1, 0, 0, 0]]),),
        (torch.tensor([[1, 4, 3, 2], [1, 6, 7, 8]]),),
        (torch.tensor([[1, 5, 6, 0, 0], [1, 0, 0, 0, 0], [1, 7, 0, 0, 0]]),),
        (torch.arange(1, 73).view(6, 12),),
    ]

    def reference(tokens: Tensor) -> Tensor:
        rows = [[token != 0 for token in text] for text in tokens.tolist()]
        return torch.tensor(rows)[:, None, None]

    @wraps(solution)
    def as_one_row(tokens: Tensor) -> Tensor:
        expected, mask = reference(tokens), solution(tokens)
        n_text, n_step = expected.shape[0], expected.shape[-1]
        if isinstance(mask, Tensor) and mask.shape == (n_text, 1, n_step, n_step):
            wrong = (mask != expected).flatten(0, 1).any(0).any(-1)
            query = int(wrong.int().argmax())  # the first that differs, or the first of all
            return mask[:, :, query : query + 1]
        return mask

    agree(watch_arguments(as_one_row, "tokens"), reference, cases, same_dtype=True)


def check_forbid(solution: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """Check a function that forbids some positions to read some others.

    A case gives a mask, who is forbidden something, and what these may not read.
    """
    whole = torch.ones(1, 1, 1, 3, dtype=torch.bool)
    by_text = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])[:, None, None].bool()
    past = torch.ones(1, 1, 3, 3, dtype=torch.bool).tril()
    cases = [
        (whole, torch.tensor([[0, 1, 0]]).bool(), torch.tensor([[0, 0, 1]]).bool()),
        (whole, torch.tensor([[1, 0, 1]]).bool(), torch.tensor([[1, 1, 0]]).bool()),
        (
            by_text,
            torch.tensor([[0, 1, 0, 0], [0, 0, 1, 0]]).bool(),
            torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0]]).bool(),
        ),
        (past, torch.tensor([[0, 0, 1]]).bool(), torch.tensor([[1, 0, 0]]).bool()),
        (past, torch.tensor([[1, 0, 0]]).bool(), torch.tensor([[0, 1, 0]]).bool()),  # no change
    ]

    def reference(allowed: Tensor, who: Tensor, what: Tensor) -> Tensor:
        n_text, n_step = who.shape
        mask = allowed.expand(n_text, 1, n_step, n_step).clone()
        for b, t, s in product(range(n_text), range(n_step), range(n_step)):
            mask[b, 0, t, s] &= not (who[b, t] and what[b, s])
        return mask

    watched = watch_arguments(solution, "allowed", "who", "what")
    agree(watched, reference, cases, same_dtype=True)


def check_hide_tokens(
    solution: Callable[[Tensor, Tensor, Tensor, Tensor], Mapping[str, Tensor]],
) -> None:
    """Check a function that hides tokens as the rule of 15, 80, 10 and 10 per cent says.

    A case gives tokens, two numbers between 0 and 1 for each, and a random word for each.
    """
    tokens = torch.tensor([[1, 7, 8, 9, 5, 6]])
    draw = torch.tensor([[0.9, 0.1, 0.1, 0.1, 0.5, 0.2]])
    kind = torch.tensor([[0.5, 0.1, 0.85, 0.95, 0.1, 0.85]])
    word = torch.tensor([[4, 5, 6, 7, 8, 9]])
    cases = [
        (tokens, torch.full((1, 6), 0.5), kind, word),
        (tokens, draw, torch.zeros(1, 6), word),
        (tokens, draw, kind, word),
        (torch.tensor([[1, 7, 2, 0, 4, 3]]), torch.zeros(1, 6), kind, word),
        (tokens, torch.tensor([[0.0, 0.15, 0.149, 0.16, 1.0, 1.0]]), torch.zeros(1, 6), word),
        (tokens, torch.zeros(1, 6), torch.tensor([[0.5, 0.8, 0.79, 0.9, 0.89, 0.91]]), word),
        (
            torch.tensor([[1, 7, 8], [1, 9, 6]]),
            torch.tensor([[0.0, 0.1, 0.9], [0.0, 0.9, 0.1]]),
            torch.tensor([[0.0, 0.1, 0.1], [0.0, 0.1, 0.85]]),
            torch.tensor([[4, 5, 6], [7, 8, 5]]),
        ),
    ]

    def reference(tokens: Tensor, draw: Tensor, kind: Tensor, word: Tensor) -> dict[str, Tensor]:
        inputs, targets = tokens.clone(), torch.full_like(tokens, -100)
        for i in product(*map(range, tokens.shape)):
            if tokens[i] < SPECIAL or not draw[i] < 0.15:
                continue
            targets[i] = tokens[i]
            if kind[i] < 0.8:
                inputs[i] = MASK
            elif kind[i] < 0.9:
                inputs[i] = word[i]
        return {"inputs": inputs, "targets": targets}

    agree(watch_arguments(solution, "tokens"), reference, cases, same_dtype=True)
