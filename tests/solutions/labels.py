"""Solutions of the exercises of notebook 10c, right and wrong."""

from itertools import pairwise

import torch
from torch.nn import functional as F

from coursekit.exercises import labels

# --- check_last_vector --------------------------------------------------------------------------


def last_by_index(vectors, present):
    return vectors[range(len(vectors)), present.sum(1) - 1]


def last_by_gather(vectors, present):
    at = (present.sum(1) - 1)[:, None, None].expand(-1, 1, vectors.shape[2])
    return vectors.gather(1, at)[:, 0]


def last_of_cls(vectors, present):
    return vectors[:, 0]


def last_with_its_axis(vectors, present):
    return last_by_index(vectors, present)[:, None]


def last_one_too_early(vectors, present):
    return vectors[range(len(vectors)), present.sum(1) - 2]


def last_of_all(vectors, present):
    return vectors[:, -1]


def last_where_the_first_ends(vectors, present):
    return vectors[:, present[0].sum() - 1]


def last_for_each_pair(vectors, present):
    return vectors[:, present.sum(1) - 1]


def last_of_the_first_two(vectors, present):
    ends = present.sum(1) - 1
    ends[2:] = ends[0]
    return vectors[range(len(vectors)), ends]


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


ROWS = {
    labels.check_last_vector: (
        [last_by_index, last_by_gather],
        {
            last_of_cls: "[[True, True, True]]",
            last_with_its_axis: "[[True, True, True]]",
            last_one_too_early: "[[True, True, True]]",
            last_of_all: "[True, True, False]",
            last_where_the_first_ends: "[True, True, False]",
            last_for_each_pair: "[[True, True, True]]",
            last_of_the_first_two: "[True, False, False, False]",
        },
    ),
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
}
