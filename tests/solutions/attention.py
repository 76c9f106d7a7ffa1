"""Solutions of the exercises in the first part of notebook 06, right and wrong."""

import math

import torch

from coursekit.exercises import attention

# --- check_ask ----------------------------------------------------------------------------------


def ask_by_matrices(query, keys, values):
    return (keys @ query / len(query) ** 0.5).softmax(-1) @ values


def ask_by_loop(query, keys, values):
    shares = torch.stack([query @ key / len(query) ** 0.5 for key in keys]).softmax(0)
    answer = torch.zeros(values.shape[1])
    for share, value in zip(shares, values, strict=True):
        answer += share * value
    return answer


def ask_undivided(query, keys, values):
    return (keys @ query).softmax(-1) @ values


def ask_divided_by_width(query, keys, values):
    return (keys @ query / len(query)).softmax(-1) @ values


def ask_without_softmax(query, keys, values):
    return keys @ query / len(query) ** 0.5 @ values


def ask_the_best_only(query, keys, values):
    return values[(keys @ query).argmax()]


def ask_for_the_sum(query, keys, values):
    return (keys @ query / len(query) ** 0.5).exp() @ values


def ask_divided_by_a_whole_root(query, keys, values):
    return (keys @ query / math.isqrt(len(query))).softmax(-1) @ values


def ask_with_a_squeeze(query, keys, values):
    scores = (keys @ query[:, None]).squeeze() / len(query) ** 0.5  # no axis is left for one key
    return scores.softmax(-1) @ values


# --- check_share_past ---------------------------------------------------------------------------


def share_by_filling(scores):
    allowed = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.masked_fill(~allowed, -torch.inf).softmax(-1)


def share_by_rows(scores):
    shares = torch.zeros_like(scores)
    for t in range(scores.shape[-1]):
        row = scores[..., t, : t + 1]
        part = (row - row.amax(-1, keepdim=True)).exp()
        shares[..., t, : t + 1] = part / part.sum(-1, keepdim=True)
    return shares


def share_the_future(scores):
    forbidden = torch.ones_like(scores, dtype=torch.bool).tril(-1)
    return scores.masked_fill(forbidden, -torch.inf).softmax(-1)


def share_the_past_without_the_present(scores):
    allowed = torch.ones_like(scores, dtype=torch.bool).tril(-1)
    return scores.masked_fill(~allowed, -torch.inf).softmax(-1)


def share_then_cut(scores):
    return scores.softmax(-1).tril()


def share_along_queries(scores):
    allowed = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.masked_fill(~allowed, -torch.inf).softmax(-2)


def share_by_zeros(scores):
    return scores.tril().softmax(-1)


def share_by_adding(scores):
    ban = torch.zeros_like(scores).masked_fill(
        torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf
    )
    return (scores + ban).softmax(-1)


def share_more_for_less(scores):
    return share_by_filling(-scores)


def share_along_axis_1(scores):
    allowed = torch.ones_like(scores, dtype=torch.bool).tril()
    return scores.masked_fill(~allowed, -torch.inf).softmax(1)  # the queries', in a batch


# --- check_split_heads --------------------------------------------------------------------------


def split_by_unflatten(x, n_head):
    return x.unflatten(-1, (n_head, -1)).transpose(1, 2).clone()


def split_by_permute(x, n_head):
    batch, steps, channels = x.shape
    return x.reshape(batch, steps, n_head, channels // n_head).permute(0, 2, 1, 3).clone()


def split_by_one_view(x, n_head):
    batch, steps, channels = x.shape
    return x.reshape(batch, n_head, steps, channels // n_head)


def split_in_turn(x, n_head):
    batch, steps, channels = x.shape
    return x.reshape(batch, steps, channels // n_head, n_head).permute(0, 3, 1, 2)


def split_without_swapping(x, n_head):
    return x.unflatten(-1, (n_head, -1))


def split_into_heads_that_wide(x, n_head):
    return x.unflatten(-1, (-1, n_head)).transpose(1, 2)


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    attention.check_ask: (
        [ask_by_matrices, ask_by_loop],
        {
            ask_undivided: "[2.0, 0.0, -1.0, 1.0]",
            ask_divided_by_width: "[2.0, 0.0, -1.0, 1.0]",
            ask_without_softmax: "[1.0], [[0.0], [2.0]]",
            ask_the_best_only: "[1.0], [[0.0], [2.0]]",
            ask_for_the_sum: "[1.0], [[0.0], [2.0]]",
            ask_divided_by_a_whole_root: "[0.33669036626815796, 0.12880940735340118], [[",
            ask_with_a_squeeze: "[[7.0, -7.0]]) raised RuntimeError",
        },
    ),
    attention.check_share_past: (
        [share_by_filling, share_by_rows],
        {
            share_the_future: "[[0.0, 0.0, 0.0]",
            share_the_past_without_the_present: "[[0.0, 0.0, 0.0]",
            share_then_cut: "[[0.0, 0.0, 0.0]",
            share_along_queries: "[[0.0, 0.0, 0.0]",
            share_by_zeros: "[[0.0, 0.0, 0.0]",
            share_by_adding: "[[0.0, inf]",
            share_more_for_less: "[[5.0, 9.0], [1.0, 3.0]]",
            share_along_axis_1: "[[[1.9269152",
        },
    ),
    attention.check_split_heads: (
        [split_by_unflatten, split_by_permute],
        {
            split_by_one_view: "[[[0.0, 1.0, 2.0, 3.0], [4.0",
            split_in_turn: "[[[0.0, 1.0, 2.0, 3.0]]], 2",
            split_without_swapping: "[[[0.0, 1.0, 2.0, 3.0]]], 2",
            split_into_heads_that_wide: "10.0, 11.0], [12.0, 13.0, 14.0, 15.0, 16.0, 17.0], [18.0",
        },
    ),
}
