"""Checks for the exercises of notebook 05."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from coursekit.exercises.compare import agree
from coursekit.tokens.bpe import Pair, count_pairs, merge_pair
from coursekit.tokens.numbers import Grid


def check_join_messages(solution: Callable[[Sequence[str]], list[int]]) -> None:
    """Check a function that encodes messages as bytes, with the id 256 after each."""

    def reference(messages: Sequence[str]) -> Tensor:
        return torch.cat([torch.tensor([*message.encode(), 256]) for message in messages])

    cases = [
        (["hi", "ho"],),
        (["a<|end|>b", "<|end|>"],),
        (["Zürich 👍", "", "漢"],),
        (["256", "\x00"],),
    ]
    agree(_ids_of(solution), reference, cases)


def check_count_bytes(solution: Callable[[Sequence[int]], int]) -> None:
    """Check a function that counts the bytes that UTF-8 takes for code points."""

    def reference(code_points: Sequence[int]) -> int:
        return len("".join(map(chr, code_points)).encode())

    cases = [
        ([101, 252, 28450, 128077],),
        ([127, 128],),
        ([2047, 2048],),
        ([65535, 65536, 1114111],),
    ]
    agree(solution, reference, cases)


def check_join_pair(solution: Callable[[list[int], Pair, int], list[int]]) -> None:
    """Check a function that replaces a pair of neighbours by a new id."""
    cases = [
        ([1, 2, 3, 1, 2], (1, 2), 9),
        ([1, 1, 1, 1, 1], (1, 1), 9),
        ([2, 1, 1, 2], (1, 2), 3),
        ([1, 2, 2], (1, 2), 1),
        ([297, 256, 97, 256], (97, 256), 257),  # more than a byte, and 297 ends in 97
        ([], (1, 2), 3),
    ]
    agree(_ids_of(solution), _ids_of(merge_pair), cases)


def check_apply_merges(solution: Callable[[list[int], dict[Pair, int]], list[int]]) -> None:
    """Check a function that encodes bytes with learnt merges, lowest new id first."""

    def reference(ids: list[int], merges: dict[Pair, int]) -> list[int]:
        while possible := count_pairs(ids).keys() & merges.keys():
            pair = min(possible, key=lambda pair: merges[pair])
            ids = merge_pair(ids, pair, merges[pair])
        return ids

    cases = [
        ([97, 98, 99], {(97, 98): 256}),
        ([97, 98, 99], {(98, 99): 256, (97, 98): 257}),
        ([97, 98, 99, 97, 98], {(97, 98): 256, (256, 99): 257, (257, 256): 258}),
        ([97, 97, 97, 97], {(97, 97): 256, (256, 256): 257}),
        ([97, 98], {}),
        ([97, 98, 99], {(97, 98): 256, (98, 99): 257}),
        ([99, 97, 98, 99], {(99, 97): 258, (97, 98): 256, (256, 99): 257}),
    ]
    agree(_ids_of(solution), _ids_of(reference), cases)


def check_quantise_rates(solution: Callable[[Tensor], Tensor]) -> None:
    """Check a function that turns rates in percent into ids of basis points, 0 % to 5 %."""
    rows = [
        [0.0, 0.01, 4.25, 5.0],
        [0.29, 0.57, 1.13, 2.01, 4.35],  # times 100, each falls just short of an integer
        [1.2349, 1.2351],
        [-0.75, 5.4, 19.1],
    ]
    cases = [(torch.tensor(row, dtype=torch.float64),) for row in rows]
    agree(solution, Grid(low=0, high=5, step=0.01).encode, cases)


def _ids_of(solution: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that returns a list of ids return a tensor, which `agree` can compare."""

    @wraps(solution)
    def as_tensor(*arguments: Any) -> Any:
        answer = solution(*arguments)
        return torch.tensor(answer, dtype=torch.long) if isinstance(answer, list) else answer

    return as_tensor
