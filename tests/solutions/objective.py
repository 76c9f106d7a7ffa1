"""Solutions of the exercises of notebook 10d, right and wrong."""

import torch

from coursekit.exercises import objective

# --- check_word_lists ---------------------------------------------------------------------------


def weigh(counts):
    return torch.log(len(counts) / counts.count_nonzero(0).clamp(min=1))


def lists_of(counts, n, weight=None, again=None):
    weight = weigh(counts) if weight is None else weight
    vectors = torch.linalg.svd(counts * weight, full_matrices=False).Vh[:n].T
    return (weight if again is None else again)[:, None] * vectors


def lists_by_svd(counts, n):
    return lists_of(counts, n)


def lists_by_eigenvectors(counts, n):
    weighted = counts.double() * weigh(counts)
    vectors = torch.linalg.eigh(weighted.T @ weighted).eigenvectors
    return (weigh(counts)[:, None] * vectors[:, -n:].flip(1)).float()


def lists_without_weights(counts, n):
    return lists_of(counts, n, torch.ones(counts.shape[1]))


def lists_weighted_once(counts, n):
    return lists_of(counts, n, again=torch.ones(counts.shape[1]))


def lists_as_rows(counts, n):
    return lists_of(counts, n).T


def lists_of_the_smallest(counts, n):
    weight = weigh(counts)
    return weight[:, None] * torch.linalg.svd(counts * weight, full_matrices=False).Vh[-n:].T


def lists_times_singular_values(counts, n):
    weight = weigh(counts)
    found = torch.linalg.svd(counts * weight, full_matrices=False)
    return weight[:, None] * found.Vh[:n].T * found.S[:n]


def lists_by_totals(counts, n):
    return lists_of(counts, n, torch.log(len(counts) / counts.sum(0).clamp(min=1)))


def lists_centred(counts, n):
    weight = weigh(counts)
    weighted = counts * weight
    vectors = torch.linalg.svd(weighted - weighted.mean(0), full_matrices=False).Vh[:n].T
    return weight[:, None] * vectors


def lists_with_infinite_weights(counts, n):
    return lists_of(counts, n, torch.log(len(counts) / counts.count_nonzero(0)))


def lists_rotated(counts, n):
    lists = lists_of(counts, n)
    return (lists.roll(1, 1) - lists) / 2**0.5 if n == 2 else lists


def lists_of_two(counts, n):
    return torch.nn.functional.pad(lists_of(counts, min(n, 2)), (0, max(n - 2, 0)))


ROWS = {
    objective.check_word_lists: (
        [lists_by_svd, lists_by_eigenvectors],
        {
            lists_without_weights: "([[1.0, 0.0, 0.0]",
            lists_weighted_once: "([[1.0, 0.0, 0.0]",
            lists_as_rows: "1) raised ValueError: its shape is (1, 3), not (3, 1)",
            lists_of_the_smallest: "([[1.0, 0.0, 0.0]",
            lists_times_singular_values: "([[1.0, 0.0, 0.0]",
            lists_by_totals: "([[1.0, 0.0, 0.0]",
            lists_centred: "([[1.0, 0.0, 0.0]",
            lists_with_infinite_weights: "[1.0, 1.0, 0.0, 0.0]], 2) raised _LinAlg",
            lists_rotated: "[1.0, 1.0, 0.0, 0.0]], 2)",
            lists_of_two: "([[",
        },
    ),
}
