"""Solutions of the exercises of notebook 01, right and wrong."""

import math
from collections import Counter

import torch

from coursekit.exercises import bigrams

# --- check_row_probabilities --------------------------------------------------------------------


def divide_by_row_sums(counts):
    return counts / counts.sum(1, keepdim=True)


def divide_row_by_row(counts):
    return torch.stack([row.double() / row.sum() for row in counts])


def divide_columns(counts):
    return counts / counts.sum(0, keepdim=True)


def divide_without_keepdim(counts):
    return counts / counts.sum(1)


def divide_by_everything(counts):
    return counts / counts.sum()


def transpose_rows(counts):
    return divide_by_row_sums(counts).T


def softmax_of_counts(counts):
    return counts.double().softmax(1)


def divide_a_square_table(counts):
    probabilities = torch.zeros(counts.shape)
    for i in range(len(counts)):
        for j in range(len(counts)):
            probabilities[i, j] = counts[i, j] / counts[i].sum()
    return probabilities


# --- check_word_nll -----------------------------------------------------------------------------


def nll_by_loop(probabilities, letters):
    total, last = 0.0, 0
    for letter in [*letters, 0]:
        total -= math.log(probabilities[last, letter])
        last = letter
    return total / (len(letters) + 1)


def nll_by_indexing(probabilities, letters):
    path = torch.tensor([0, *letters, 0])
    return -probabilities[path[:-1], path[1:]].log().mean()


def nll_without_the_end(probabilities, letters):
    path = torch.tensor([0, *letters])
    return -probabilities[path[:-1], path[1:]].log().mean()


def nll_backwards(probabilities, letters):
    return nll_by_indexing(probabilities.T, letters)


def nll_per_letter(probabilities, letters):
    return nll_by_indexing(probabilities, letters) * (len(letters) + 1) / len(letters)


def nll_in_bits(probabilities, letters):
    return nll_by_indexing(probabilities, letters) / math.log(2)


def likelihood(probabilities, letters):
    return -nll_by_indexing(probabilities, letters)


def nll_by_searching_the_letter_before(probabilities, letters):
    path = [0, *letters, 0]
    total = -math.log(probabilities[path[-2], 0])
    for letter in letters:
        before = path[path.index(letter) - 1]  # the first of equal letters is found
        total -= math.log(probabilities[before, letter])
    return total / (len(letters) + 1)


# --- check_faces --------------------------------------------------------------------------------


def surprise_by_tensor(probabilities):
    return probabilities.log().mean().neg().exp()


def surprise_by_math(probabilities):
    return math.exp(
        -math.fsum(math.log(probability) for probability in probabilities.tolist())
        / len(probabilities)
    )


def surprise_by_product(probabilities):
    return probabilities.prod() ** (-1 / len(probabilities))


def surprise_by_a_product_in_double_precision(probabilities):
    return surprise_by_product(probabilities.double())


def surprise_of_mean_probability(probabilities):
    return 1 / probabilities.mean()


def surprise_without_exp(probabilities):
    return -probabilities.log().mean()


def surprise_of_two(probabilities):
    return 2 ** (-probabilities.log().mean())


def surprise_each(probabilities):
    return 1 / probabilities


# --- check_count_trigrams -----------------------------------------------------------------------


def trigrams_by_slices(words):
    counts = {}
    for word in words:
        text = ".." + word + "."
        for i in range(len(word) + 1):
            counts[text[i : i + 3]] = counts.get(text[i : i + 3], 0) + 1
    return counts


def trigrams_by_zip(words):
    texts = [f"..{word}." for word in words]
    return Counter("".join(run) for t in texts for run in zip(t, t[1:], t[2:], strict=False))


def trigrams_with_one_boundary(words):
    return dict(Counter(f".{w}."[i : i + 3] for w in words for i in range(len(w))))


def trigrams_over_words(words):
    text = ".." + "..".join(words) + ".."
    return dict(Counter(text[i : i + 3] for i in range(len(text) - 2)))


def trigrams_seen_once(words):
    return dict.fromkeys(trigrams_by_slices(words), 1)


def trigrams_as_pairs(words):
    return sorted(trigrams_by_slices(words).items())


def trigrams_once_a_word(words):
    return Counter(run for word in words for run in trigrams_by_slices([word]))


# --- check_continuations ------------------------------------------------------------------------


def continuations_by_sum(counts):
    seen = (counts > 0).sum(0)
    return seen / seen.sum()


def continuations_by_loop(counts):
    partners = [sum(row[j] > 0 for row in counts.tolist()) for j in range(counts.shape[1])]
    return torch.tensor(partners).double() / sum(partners)


def continuations_of_counts(counts):
    return counts.sum(0) / counts.sum()


def continuations_after(counts):
    return continuations_by_sum(counts.T)


def continuations_not_normalised(counts):
    return (counts > 0).sum(0)


def continuations_of_rows(counts):
    return (counts > 0).sum(0) / len(counts)


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    bigrams.check_row_probabilities: (
        [divide_by_row_sums, divide_row_by_row],
        {
            divide_columns: "[[1, 3], [2, 2]]",
            divide_without_keepdim: "[[0, 5, 5], [1, 0, 3], [7, 1, 2]]",
            divide_by_everything: "[[1, 3], [2, 2]]",
            transpose_rows: "[[1, 3], [2, 2]]",
            softmax_of_counts: "[[1, 3], [2, 2]]",
            divide_a_square_table: "[[10, 1, 1, 0], [4, 4, 0, 0]]",
        },
    ),
    bigrams.check_word_nll: (
        [nll_by_loop, nll_by_indexing],
        {
            nll_without_the_end: "[1]",
            nll_backwards: "[1, 2]",  # there and back is the same way for a word of one letter
            nll_per_letter: "[1]",
            nll_in_bits: "[1]",
            likelihood: "[1]",
            nll_by_searching_the_letter_before: "[2, 1, 1, 2]",
        },
    ),
    bigrams.check_faces: (
        [surprise_by_tensor, surprise_by_math],
        {
            surprise_by_product: "[0.1, 0.1, 0.1,",
            surprise_by_a_product_in_double_precision: "[0.1, 0.1, 0.1,",
            surprise_of_mean_probability: "[1.0, 0.5, 0.1",
            surprise_without_exp: "[0.25, 0.25, 0.25]",
            surprise_of_two: "[0.25, 0.25, 0.25]",
            surprise_each: "[0.25, 0.25, 0.25]",
        },
    ),
    bigrams.check_count_trigrams: (
        [trigrams_by_slices, trigrams_by_zip],
        {
            trigrams_with_one_boundary: "['ab']",
            trigrams_over_words: "['ab']",
            trigrams_seen_once: "['ava', 'ada']",
            trigrams_as_pairs: "['ab']",
            trigrams_once_a_word: "['a', 'aaaa', 'bo']",
        },
    ),
    bigrams.check_continuations: (
        [continuations_by_sum, continuations_by_loop],
        {
            continuations_of_counts: "[[0, 9], [1, 1]]",
            continuations_after: "[[0, 50, 1], [0, 0, 2], [0, 0, 3]]",
            continuations_not_normalised: "[[0, 9], [1, 1]]",
            continuations_of_rows: "[[0, 9], [1, 1]]",
        },
    ),
}
