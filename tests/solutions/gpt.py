"""Solutions of the exercises of notebook 06, right and wrong."""

import math

import torch

from coursekit.exercises import gpt

# --- check_ask ----------------------------------------------------------------------------------


def ask_by_matrices(query, keys, values):
    return (keys @ query / len(query) ** 0.5).softmax(-1) @ values


def ask_by_loop(query, keys, values):
    weights = torch.stack([query @ key / len(query) ** 0.5 for key in keys]).softmax(0)
    answer = torch.zeros(values.shape[1])
    for weight, value in zip(weights, values, strict=True):
        answer += weight * value
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


# --- check_causal_weights -----------------------------------------------------------------------


def weigh_by_filling(scores, last=0, axis=-1):
    allowed = torch.ones_like(scores, dtype=torch.bool).tril(last)
    return scores.masked_fill(~allowed, -torch.inf).softmax(axis)


def weigh_by_rows(scores):
    weights = torch.zeros_like(scores)
    for t in range(scores.shape[-1]):
        row = scores[..., t, : t + 1]
        part = (row - row.amax(-1, keepdim=True)).exp()
        weights[..., t, : t + 1] = part / part.sum(-1, keepdim=True)
    return weights


def weigh_the_future(scores):
    forbidden = torch.ones_like(scores, dtype=torch.bool).tril(-1)
    return scores.masked_fill(forbidden, -torch.inf).softmax(-1)


def weigh_the_past_without_the_present(scores):
    return weigh_by_filling(scores, last=-1)


def weigh_then_cut(scores):
    return scores.softmax(-1).tril()


def weigh_along_queries(scores):
    return weigh_by_filling(scores, axis=-2)


def weigh_by_zeros(scores):
    return scores.tril().softmax(-1)


def weigh_by_adding(scores):
    ban = torch.full_like(scores, -torch.inf).triu(1)
    return (scores + ban).softmax(-1)


def weigh_more_for_less(scores):
    return weigh_by_filling(-scores)


def weigh_along_axis_1(scores):
    return weigh_by_filling(scores, axis=1)  # the queries', in a batch


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
    return x.unflatten(-1, (-1, n_head)).permute(0, 3, 1, 2)


def split_without_swapping(x, n_head):
    return x.unflatten(-1, (n_head, -1))


def split_into_heads_that_wide(x, n_head):
    return x.unflatten(-1, (-1, n_head)).transpose(1, 2)


# --- check_lr_at --------------------------------------------------------------------------------


def lr_by_loop(steps, warm, end, top):
    def lr(s):
        if s < warm:
            return top * (s + 1) / warm
        return top * 0.5 * (1 + math.cos(math.pi * min((s - warm) / (end - warm), 1)))

    return torch.tensor([lr(s) for s in steps])


def lr_by_tensors(steps, warm, end, top, most_done=1):
    s = torch.tensor(steps, dtype=torch.float64)
    done = ((s - warm) / (end - warm)).clamp(0, most_done)
    fall = top * 0.5 * (1 + torch.cos(math.pi * done))
    return torch.where(s < warm, top * (s + 1) / max(warm, 1), fall)


def lr_from_zero(steps, warm, end, top):
    s = torch.tensor(steps, dtype=torch.float64)
    return torch.where(s < warm, top * s / max(warm, 1), lr_by_tensors(steps, 0, end, top))


def lr_that_rise_again(steps, warm, end, top):
    return lr_by_tensors(steps, warm, end, top, most_done=math.inf)


def lr_of_a_line(steps, warm, end, top):
    s = torch.tensor(steps, dtype=torch.float64)
    fall = top * (1 - (s - warm) / (end - warm)).clamp(min=0)
    return torch.where(s < warm, top * (s + 1) / max(warm, 1), fall)


def lr_of_the_lower_curve(steps, warm, end, top):
    falls = lr_by_tensors([max(step, warm) for step in steps], warm, end, top).tolist()
    pairs = zip(steps, falls, strict=True)
    return torch.tensor([min(top * (step + 1) / warm, fall) for step, fall in pairs])


# --- check_keep_likeliest -----------------------------------------------------------------------


def keep_by_topk(logits, k, below=torch.lt, ruled_out=-torch.inf):
    lowest = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return logits.masked_fill(below(logits, lowest), ruled_out)


def keep_by_scatter(logits, k):
    values, positions = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return torch.full_like(logits, -torch.inf).scatter(-1, positions, values)


def keep_with_zeros(logits, k):
    return keep_by_topk(logits, k, ruled_out=0.0)


def keep_of_all_rows(logits, k):
    return keep_by_topk(logits.view(1, -1), k).view_as(logits)


def keep_more_than_the_lowest(logits, k):
    return keep_by_topk(logits, k, below=torch.le)


def keep_as_many_as_asked(logits, k):
    return logits.masked_fill(logits < logits.topk(k).values[:, -1:], -torch.inf)


# --- check_perplexity_of_parts ------------------------------------------------------------------


def perplexity_of_the_total(losses, sizes):
    return math.exp(sum(a * n for a, n in zip(losses, sizes, strict=True)) / sum(sizes))


def perplexity_by_product(losses, sizes):
    likelihood = math.prod(math.exp(-a * n) for a, n in zip(losses, sizes, strict=True))
    return likelihood ** (-1 / sum(sizes))


def perplexity_of_the_mean_loss(losses, sizes):
    return math.exp(sum(losses) / len(losses))


def mean_of_perplexities(losses, sizes):
    weighted = sum(math.exp(a) * n for a, n in zip(losses, sizes, strict=True))
    return weighted / sum(sizes)


def loss_of_the_total(losses, sizes):
    return math.log(perplexity_of_the_total(losses, sizes))


def perplexity_of_neighbours(losses, sizes):
    mean = losses[0]
    for i in range(1, len(losses)):
        weighted = mean * sizes[i - 1] + losses[i] * sizes[i]  # the parts before i - 1 are lost
        mean = weighted / (sizes[i - 1] + sizes[i])
    return math.exp(mean)


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    gpt.check_ask: (
        [ask_by_matrices, ask_by_loop],
        {
            ask_undivided: "[2.0, 0.0, -1.0, 1.0]",
            ask_divided_by_width: "[2.0, 0.0, -1.0, 1.0]",
            ask_without_softmax: "[1.0], [[0.0], [2.0]]",
            ask_the_best_only: "[1.0], [[0.0], [2.0]]",
            ask_for_the_sum: "[1.0], [[0.0], [2.0]]",
            ask_divided_by_a_whole_root: "[0.33669, 0.128809], [[",
            ask_with_a_squeeze: "[[7.0, -7.0]]) raised RuntimeError",
        },
    ),
    gpt.check_causal_weights: (
        [weigh_by_filling, weigh_by_rows],
        {
            weigh_the_future: "[[0.0, 0.0, 0.0]",
            weigh_the_past_without_the_present: "[[0.0, 0.0, 0.0]",
            weigh_then_cut: "[[0.0, 0.0, 0.0]",
            weigh_along_queries: "[[0.0, 0.0, 0.0]",
            weigh_by_zeros: "[[0.0, 0.0, 0.0]",
            weigh_by_adding: "[[0.0, inf]",
            weigh_more_for_less: "[[5.0, 9.0], [1.0, 3.0]]",
            weigh_along_axis_1: "[[[1.92692",
        },
    ),
    gpt.check_split_heads: (
        [split_by_unflatten, split_by_permute],
        {
            split_by_one_view: "[[[0.0, 1.0, 2.0, 3.0], [4.0",
            split_in_turn: "[[[0.0, 1.0, 2.0, 3.0]]], 2",
            split_without_swapping: "[[[0.0, 1.0, 2.0, 3.0]]], 2",
            split_into_heads_that_wide: "10.0, 11.0], [12.0, 13.0, 14.0, 15.0, 16.0, 17.0], [18.0",
        },
    ),
    gpt.check_lr_at: (
        [lr_by_loop, lr_by_tensors],
        {
            lr_from_zero: "[0, 1, 3, 4], 4, 12",
            lr_that_rise_again: "[10, 15, 100], 2, 10",
            lr_of_a_line: "[4, 6, 8, 12], 4, 12",
            lr_of_the_lower_curve: "[0, 5, 10], 0, 10, 1.0) raised ZeroDivisionError",
        },
    ),
    gpt.check_keep_likeliest: (
        [keep_by_topk, keep_by_scatter],
        {
            keep_with_zeros: "[[1.0, 3.0, 2.0]], 2",
            keep_of_all_rows: "[[0.0, -5.0, -1.0, -2.0]",
            keep_more_than_the_lowest: "[[1.0, 3.0, 2.0]], 2",
            keep_as_many_as_asked: "[[2.0, 1.0]], 5) raised RuntimeError",
        },
    ),
    gpt.check_perplexity_of_parts: (
        [perplexity_of_the_total, perplexity_by_product],
        {
            perplexity_of_the_mean_loss: "[1.0, 3.0], [64, 2]",
            mean_of_perplexities: "[1.0, 3.0], [64, 64]",
            loss_of_the_total: "[0.0], [3]",
            perplexity_of_neighbours: "[2.0, 0.5, 2.5], [5, 0, 1]",
        },
    ),
}
