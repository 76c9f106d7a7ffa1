"""Solutions of the exercises of notebook 10c, right and wrong."""

from itertools import pairwise

import torch
from torch.nn import functional as F

from coursekit.exercises import labels

# --- check_count_all ----------------------------------------------------------------------------


def count_by_product(tokens, size):
    words = F.one_hot(tokens, size).float() * (tokens >= 4)[..., None]
    pairs = torch.einsum("nta,ntb->nab", words[:, :-1], words[:, 1:])
    return torch.cat([words.sum(1), pairs.flatten(1)], 1)


def count_by_loop(tokens, size):
    counts = torch.zeros(len(tokens), size + size**2)
    for row, text in zip(counts, tokens.tolist(), strict=True):
        for a in text:
            row[a] += a >= 4
        for a, b in pairwise(text):
            row[size + a * size + b] += min(a, b) >= 4
    return counts


def count_words_only(tokens, size):
    return count_by_product(tokens, size)[:, :size]


def count_pairs_only(tokens, size):
    return count_by_product(tokens, size)[:, size:]


def count_pairs_backwards(tokens, size):
    counts = count_by_product(tokens, size)
    pairs = counts[:, size:].unflatten(1, (size, size)).mT.flatten(1)
    return torch.cat([counts[:, :size], pairs], 1)


def count_pairs_first(tokens, size):
    counts = count_by_product(tokens, size)
    return torch.cat([counts[:, size:], counts[:, :size]], 1)


def count_once(tokens, size):
    return count_by_product(tokens, size).clamp(max=1)


def count_pairs_once(tokens, size):
    counts = count_by_product(tokens, size)
    return torch.cat([counts[:, :size], counts[:, size:].clamp(max=1)], 1)


def count_pairs_apart(tokens, size):
    counts = count_by_product(tokens, size)
    for row, text in zip(counts, tokens.tolist(), strict=True):
        free = 0  # of three alike the last two aren't counted
        for i, (a, b) in enumerate(pairwise(text)):
            if i < free:
                row[size + a * size + b] -= 1
            elif a == b:
                free = i + 2
    return counts


def count_special_too(tokens, size):
    words = F.one_hot(tokens, size).float()
    pairs = torch.einsum("nta,ntb->nab", words[:, :-1], words[:, 1:])
    return torch.cat([words.sum(1), pairs.flatten(1)], 1)


def count_all_but_cls(tokens, size):
    words = F.one_hot(tokens, size).float() * (tokens != 1)[..., None]
    pairs = torch.einsum("nta,ntb->nab", words[:, :-1], words[:, 1:])
    return torch.cat([words.sum(1), pairs.flatten(1)], 1)


def count_pairs_over_the_mask(tokens, size):
    counts = count_by_product(tokens, size)
    for row, text in zip(counts, tokens.tolist(), strict=True):
        row[size:] = 0
        for a, b in pairwise([a for a in text if a >= 4]):
            row[size + a * size + b] += 1
    return counts


def count_in_integers(tokens, size):
    return count_by_product(tokens, size).long()


def count_the_first_text(tokens, size):
    return count_by_product(tokens[:1].expand_as(tokens), size)


# --- check_lead ---------------------------------------------------------------------------------


def lead_by_variances(a, b):
    return a.mean() - b.mean(), (a.var() / len(a) + b.var() / len(b)) ** 0.5


def lead_by_hypot(a, b):
    error_a, error_b = (one.std() / len(one) ** 0.5 for one in (a, b))
    return float(a.mean() - b.mean()), float(torch.hypot(error_a, error_b))


def lead_the_other_way(a, b):
    return b.mean() - a.mean(), lead_by_variances(a, b)[1]


def lead_with_errors_added(a, b):
    return a.mean() - b.mean(), a.std() / len(a) ** 0.5 + b.std() / len(b) ** 0.5


def lead_of_one_run(a, b):
    return a.mean() - b.mean(), (a.var() + b.var()) ** 0.5


def lead_with_n(a, b):
    variances = (one.var(correction=0) / len(one) for one in (a, b))
    return a.mean() - b.mean(), sum(variances) ** 0.5


def lead_of_the_first(a, b):
    return a.mean() - b.mean(), a.std() / len(a) ** 0.5


def lead_by_pairs(a, b):
    n = min(len(a), len(b))
    return a.mean() - b.mean(), (a[:n] - b[:n]).std() / n**0.5


def lead_of_equal_numbers(a, b):
    return a.mean() - b.mean(), ((a.var() + b.var()) / len(a)) ** 0.5


ROWS = {
    labels.check_count_all: (
        [count_by_product, count_by_loop],
        {
            count_words_only: "[[4, 5, 5]]",
            count_pairs_only: "[[4, 5, 5]]",
            count_pairs_backwards: "[[4, 5, 5]]",
            count_pairs_first: "[[4, 5, 5]]",
            count_once: "[[4, 5, 5]]",
            count_in_integers: "[[4, 5, 5]]",
            count_pairs_once: "[[1, 4, 5, 5, 5, 4, 5]]",
            count_pairs_apart: "[[1, 4, 5, 5, 5, 4, 5]]",
            count_special_too: "[[1, 4, 5, 5, 5, 4, 5]]",
            count_all_but_cls: "[[1, 5, 3, 5, 0, 0]",
            count_pairs_over_the_mask: "[[1, 5, 3, 5, 0, 0]",
            count_the_first_text: "[[1, 5, 3, 5, 0, 0]",
        },
    ),
    labels.check_lead: (
        [lead_by_variances, lead_by_hypot],
        {
            lead_the_other_way: "([90.0, 80.0], [70.0, 70.0])",
            lead_of_one_run: "([90.0, 80.0], [70.0, 70.0])",
            lead_with_n: "([90.0, 80.0], [70.0, 70.0])",
            lead_with_errors_added: "([73.0, 83.0, 78.0, 87.0], [90.0, 96.0, 80.0, 65.0])",
            lead_of_the_first: "([73.0, 83.0, 78.0, 87.0], [90.0, 96.0, 80.0, 65.0])",
            lead_by_pairs: "([73.0, 83.0, 78.0, 87.0], [90.0, 96.0, 80.0, 65.0])",
            lead_of_equal_numbers: "([95.0, 91.0, 97.0], [74.0, 75.0, 77.0, 84.0])",
        },
    ),
}
