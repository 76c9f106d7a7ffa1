"""Solutions of the exercises on training and sampling in notebook 06, right and wrong."""

import math

import torch

from coursekit.exercises import gpt

# --- check_rates_at -----------------------------------------------------------------------------


def rates_by_loop(steps, warm, end, top):
    def rate(s):
        if s < warm:
            return top * (s + 1) / warm
        return top * 0.5 * (1 + math.cos(math.pi * min((s - warm) / (end - warm), 1)))

    return torch.tensor([rate(s) for s in steps])


def rates_by_tensors(steps, warm, end, top):
    s = torch.tensor(steps, dtype=torch.float64)
    done = ((s - warm) / (end - warm)).clamp(0, 1)
    fall = top * 0.5 * (1 + torch.cos(math.pi * done))
    return torch.where(s < warm, top * (s + 1) / max(warm, 1), fall)


def rates_from_zero(steps, warm, end, top):
    s = torch.tensor(steps, dtype=torch.float64)
    return torch.where(s < warm, top * s / max(warm, 1), rates_by_tensors(steps, 0, end, top))


def rates_that_rise_again(steps, warm, end, top):
    s = torch.tensor(steps, dtype=torch.float64)
    fall = top * 0.5 * (1 + torch.cos(math.pi * (s - warm) / (end - warm)))
    return torch.where(s < warm, top * (s + 1) / max(warm, 1), fall)


def rates_of_a_line(steps, warm, end, top):
    s = torch.tensor(steps, dtype=torch.float64)
    fall = top * (1 - (s - warm) / (end - warm)).clamp(min=0)
    return torch.where(s < warm, top * (s + 1) / max(warm, 1), fall)


def rates_of_the_lower_curve(steps, warm, end, top):
    rates = []
    for step in steps:
        done = min(max((step - warm) / (end - warm), 0), 1)
        fall = 0.5 * (1 + math.cos(math.pi * done))
        rates.append(top * min((step + 1) / warm, fall))
    return torch.tensor(rates)


# --- check_keep_likeliest -----------------------------------------------------------------------


def keep_by_topk(logits, k):
    lowest = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return logits.masked_fill(logits < lowest, -torch.inf)


def keep_by_scatter(logits, k):
    values, places = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return torch.full_like(logits, -torch.inf).scatter(-1, places, values)


def keep_with_zeros(logits, k):
    lowest = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return logits.masked_fill(logits < lowest, 0.0)


def keep_of_all_rows(logits, k):
    lowest = logits.flatten().topk(min(k, logits.numel())).values[-1]
    return logits.masked_fill(logits < lowest, -torch.inf)


def keep_more_than_the_lowest(logits, k):
    lowest = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return logits.masked_fill(logits <= lowest, -torch.inf)


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
    gpt.check_rates_at: (
        [rates_by_loop, rates_by_tensors],
        {
            rates_from_zero: "[0, 1, 3, 4], 4, 12",
            rates_that_rise_again: "[10, 15, 100], 2, 10",
            rates_of_a_line: "[4, 6, 8, 12], 4, 12",
            rates_of_the_lower_curve: "[0, 5, 10], 0, 10, 1.0) raised ZeroDivisionError",
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
