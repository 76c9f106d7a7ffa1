"""Solutions of the exercises of notebooks 10c and 10f to 10i, right and wrong."""

import math
import re
import statistics
from itertools import combinations, groupby, pairwise

import numpy as np
import torch
from torch.nn import functional as F

from coursekit.exercises import labels

# --- check_our_pool -----------------------------------------------------------------------------


def pool_by_lengths(vectors, present, pooling):
    rows, lengths = torch.arange(len(vectors)), present.sum(1)
    if pooling == "first":
        return vectors[rows, 0]
    if pooling == "last":
        return vectors[rows, lengths - 1]
    return (vectors * present[..., None]).sum(1) / lengths[:, None]


def pool_by_loop(vectors, present, pooling):
    found = []
    for one, use in zip(vectors, present, strict=True):
        alone = one[use]
        picked = {"first": alone[0], "last": alone[-1], "mean": alone.mean(0)}
        found.append(picked[pooling])
    return torch.stack(found)


def pool_the_first_text(vectors, present, pooling):
    return vectors[0] if pooling == "first" else pool_by_lengths(vectors, present, pooling)


def pool_the_second_token(vectors, present, pooling):
    return vectors[:, 1] if pooling == "first" else pool_by_lengths(vectors, present, pooling)


def pool_the_last_column(vectors, present, pooling):
    return vectors[:, -1] if pooling == "last" else pool_by_lengths(vectors, present, pooling)


def pool_one_too_far(vectors, present, pooling):
    if pooling != "last":
        return pool_by_lengths(vectors, present, pooling)
    return vectors[torch.arange(len(vectors)), present.sum(1).clamp(max=vectors.shape[1] - 1)]


def pool_all_pairs(vectors, present, pooling):
    if pooling != "last":
        return pool_by_lengths(vectors, present, pooling)
    return vectors[:, present.sum(1) - 1]


def pool_even_lengths(vectors, present, pooling):
    if pooling != "last":
        return pool_by_lengths(vectors, present, pooling)
    return vectors[torch.arange(len(vectors)), present.sum(1) // 2 * 2 - 1]


def pool_padding_too(vectors, present, pooling):
    return vectors.mean(1) if pooling == "mean" else pool_by_lengths(vectors, present, pooling)


def pool_over_the_width(vectors, present, pooling):
    if pooling != "mean":
        return pool_by_lengths(vectors, present, pooling)
    return (vectors * present[..., None]).sum(1) / vectors.shape[1]


def pool_the_sum(vectors, present, pooling):
    if pooling != "mean":
        return pool_by_lengths(vectors, present, pooling)
    return (vectors * present[..., None]).sum(1)


def pool_before_one_of_padding(vectors, present, pooling):
    if pooling != "last":
        return pool_by_lengths(vectors, present, pooling)
    return vectors[torch.arange(len(vectors)), -1 - (~present).any(1).int()]


def pool_squeezed(name):
    def pooled(vectors, present, pooling):
        found = pool_by_lengths(vectors, present, pooling)
        return found.squeeze() if pooling == name else found

    return pooled


def pool_detached(vectors, present, pooling):
    return pool_by_lengths(vectors.detach(), present, pooling)


def pool_that_writes(vectors, present, pooling):
    vectors *= present[..., None]
    return pool_by_lengths(vectors, present, pooling)


# --- check_difference ---------------------------------------------------------------------------


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


# --- check_largest_difference -------------------------------------------------------------------


def leads_by_pairs(scores, kinds=None, sign=torch.abs, together=torch.amax):
    found = []
    for i, j in kinds or combinations(range(scores.shape[1]), 2):
        a, b = scores[:, i], scores[:, j]
        n = a.shape[1]
        welch, paired = (a.var(1) / n + b.var(1) / n) ** 0.5, (a - b).std(1) / n**0.5
        found.append(sign((a.mean(1) - b.mean(1)) / torch.maximum(welch, paired)))
    return together(torch.stack(found), 0)


def leads_by_loop(scores):
    found = []
    for experiment in scores.double():
        ratios = []
        for a, b in combinations(experiment, 2):
            welch = (a.var() + b.var()) / len(a)
            error = max(welch, (a - b).var() / len(a)) ** 0.5
            ratios.append(abs(a.mean() - b.mean()) / error)
        found.append(max(ratios))
    return torch.stack(found)


def leads_by_errors_of(choose):
    def leads(scores):
        found = []
        for i, j in combinations(range(scores.shape[1]), 2):
            a, b = scores[:, i], scores[:, j]
            n = a.shape[1]
            error = choose((a.var(1) + b.var(1)) / n, (a - b).var(1) / n) ** 0.5
            found.append((a.mean(1) - b.mean(1)).abs() / error)
        return torch.stack(found).amax(0)

    return leads


leads_if_independent = leads_by_errors_of(lambda welch, paired: welch)
leads_if_paired = leads_by_errors_of(lambda welch, paired: paired)
leads_by_the_smaller_error = leads_by_errors_of(torch.minimum)


def leads_with_their_sign(scores):
    return leads_by_pairs(scores, sign=torch.clone)


def leads_of_neighbours(scores):
    return leads_by_pairs(scores, kinds=pairwise(range(scores.shape[1])))


def leads_on_average(scores):
    return leads_by_pairs(scores, together=torch.mean)


def leads_of_the_first_over_the_last(scores):
    return leads_by_pairs(scores, kinds=[(0, scores.shape[1] - 1)])


def leads_of_the_first(scores):
    return leads_by_pairs(scores, kinds=[(0, k) for k in range(1, scores.shape[1])])


def leads_of_the_best_over_the_worst(scores):
    found = []
    for one in scores:
        order = one.mean(1).argsort()
        found.append(leads_by_pairs(one[None, order[[-1, 0]]])[0])
    return torch.stack(found)


def leads_of_three_seeds(scores):
    found = []
    for i, j in combinations(range(scores.shape[1]), 2):
        a, b = scores[:, i], scores[:, j]
        variance = torch.maximum(a.var(1) + b.var(1), (a - b).var(1))
        found.append((a.mean(1) - b.mean(1)).abs() / (variance / 3) ** 0.5)
    return torch.stack(found).amax(0)


@leads_by_errors_of
def leads_by_one_choice_of_error(welch, paired):
    return welch if welch.sum() > paired.sum() else paired


def leads_by_the_smaller_of_both(scores):
    return torch.minimum(leads_if_independent(scores), leads_if_paired(scores))


def leads_but_of(i, j):
    def leads(scores):
        k = scores.shape[1]
        rest = [one for one in combinations(range(k), 2) if k < 4 or one != (i, j)]
        return leads_by_pairs(scores, kinds=rest)

    leads.__name__ = f"leads_but_of_{i}_and_{j}"
    return leads


def leads_of_all_experiments(scores):
    return leads_by_pairs(scores).max()


# --- check_proportion_error ---------------------------------------------------------------------


def proportion_by_variance(p, n):
    return (p * (1 - p) / n) ** 0.5


def proportion_by_standard_deviation(p, n):
    return statistics.pstdev([1] * round(p * n) + [0] * (n - round(p * n))) / n**0.5


def proportion_of_one(p, n):
    return (p * (1 - p)) ** 0.5


def proportion_squared(p, n):
    return p * (1 - p) / n


def proportion_at_a_half(p, n):
    return 0.5 / n**0.5


def proportion_by_counts(p, n):
    return (p / n) ** 0.5 if p < 0.9 else (p * (1 - p) / n) ** 0.5


def proportion_never_zero(p, n):
    return max(p * (1 - p) / n, 0.25 / n**2) ** 0.5


# --- check_over_templates -----------------------------------------------------------------------


def over_templates_by_mask(values, templates):
    names = sorted({*templates})
    means = torch.stack([values[[one == name for one in templates]].mean() for name in names])
    return means.mean(), means.std() / len(means) ** 0.5


def over_templates_by_lists(values, templates):
    lists = {}
    for value, name in zip(values.tolist(), templates, strict=True):
        lists.setdefault(name, []).append(value)
    means = [statistics.fmean(one) for one in lists.values()]
    return statistics.fmean(means), statistics.stdev(means) / len(means) ** 0.5


def over_statements(values, templates):
    return over_templates_by_mask(values, templates)[0], values.std() / len(values) ** 0.5


def over_all_runs(values, templates):
    n = len({*templates})
    return over_templates_by_mask(values, templates)[0], values.std() / n**0.5


def over_templates_of_all(values, templates):
    return values.mean(), over_templates_by_mask(values, templates)[1]


def over_neighbours(values, templates):
    means = [
        statistics.fmean(value for value, _ in some)
        for _, some in groupby(zip(values.tolist(), templates, strict=True), lambda one: one[1])
    ]
    return statistics.fmean(means), statistics.stdev(means) / len(means) ** 0.5


def over_equal_templates(values, templates):
    n = len({*templates})
    means = values[: len(values) // n * n].reshape(n, -1).mean(1)
    return means.mean(), means.std() / n**0.5


def over_templates_without_root(values, templates):
    mean, error = over_templates_by_mask(values, templates)
    return mean, error * len({*templates}) ** 0.5


def over_half_the_range(values, templates):
    means = [values[[one == name for one in templates]].mean() for name in {*templates}]
    return over_templates_by_mask(values, templates)[0], (max(means) - min(means)) / 2


def over_templates_with_n(values, templates):
    n = len({*templates})
    mean, error = over_templates_by_mask(values, templates)
    return mean, error * ((n - 1) / n) ** 0.5


def over_medians(values, templates):
    names = sorted({*templates})
    parts = [values[[one == name for one in templates]] for name in names]
    means = torch.stack([part.quantile(0.5) for part in parts])
    return means.mean(), means.std() / len(means) ** 0.5


def over_middles(values, templates):
    names = sorted({*templates})
    parts = [values[[one == name for one in templates]] for name in names]
    means = torch.stack([(part.min() + part.max()) / 2 for part in parts])
    return means.mean(), means.std() / len(means) ** 0.5


def over_templates_apart(values, templates):
    names = sorted({*templates})
    means = torch.stack([values[[one == name for one in templates]].mean() for name in names])
    means = means[means != 0]
    return means.mean(), means.std() / len(means) ** 0.5


def over_templates_in_size(values, templates):
    mean, error = over_templates_by_mask(values, templates)
    return mean.abs(), error


def over_first_letters(values, templates):
    return over_templates_by_mask(values, [one[0] for one in templates])


def over_sizes(values, templates):
    return over_templates_by_mask(values.abs(), templates)


# --- check_our_pairs ----------------------------------------------------------------------------


def pairs_by_loop(tokens, size):
    found = torch.zeros(len(tokens), size, size)
    for n, text in enumerate(tokens.tolist()):
        for first, second in combinations(text, 2):
            found[n, first, second] += 1
    return found


def pairs_by_sums(tokens, size):
    words = torch.nn.functional.one_hot(tokens, size).float()
    return (words.cumsum(1) - words).mT @ words


def pairs_of_neighbours(tokens, size):
    found = torch.zeros(len(tokens), size, size)
    for n, text in enumerate(tokens.tolist()):
        for first, second in pairwise(text):
            found[n, first, second] += 1
    return found


def pairs_but_neighbours(tokens, size):
    return pairs_by_loop(tokens, size) - pairs_of_neighbours(tokens, size)


def pairs_within_two(tokens, size):
    skipped = pairs_of_neighbours(tokens, size)
    for n, text in enumerate(tokens.tolist()):
        for first, second in zip(text, text[2:], strict=False):
            skipped[n, first, second] += 1
    return skipped


def pairs_within_three(tokens, size, most=3):
    found = torch.zeros(len(tokens), size, size)
    for n, text in enumerate(tokens.tolist()):
        for i, j in combinations(range(len(text)), 2):
            found[n, text[i], text[j]] += j - i <= most
    return found


def pairs_within_seven(tokens, size):
    return pairs_within_three(tokens, size, most=7)


def pairs_within_eleven(tokens, size):
    return pairs_within_three(tokens, size, most=11)


def pairs_later_first(tokens, size):
    return pairs_by_loop(tokens, size).mT


def pairs_in_either_order(tokens, size):
    found = pairs_by_loop(tokens, size)
    return found + found.mT


def pairs_with_themselves(tokens, size):
    words = torch.nn.functional.one_hot(tokens, size).float()
    return words.cumsum(1).mT @ words


def pairs_at_most_once(tokens, size):
    return pairs_by_loop(tokens, size).clamp(max=1)


def pairs_of_two_words_only(tokens, size):
    return pairs_by_loop(tokens, size) * (1 - torch.eye(size))


def pairs_of_the_first_text(tokens, size):
    return pairs_by_loop(tokens[:1], size).expand(len(tokens), -1, -1)


def pairs_of_all_texts(tokens, size):
    return pairs_by_loop(tokens, size).sum(0, keepdim=True)


def pairs_of_words_that_occur(tokens, size):
    return pairs_by_loop(tokens, int(tokens.max()) + 1)


# --- check_our_reading_loss ---------------------------------------------------------------------


def reading_into_tokens(logits, tokens):
    tokens[tokens == 0] = -100
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def reading_by_shift(logits, tokens):
    after = tokens[:, 1:]
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), after, reduction="none")
    return losses[after > 0].mean()


def reading_by_loop(logits, tokens):
    losses = []
    for rows, text in zip(logits.log_softmax(-1), tokens, strict=True):
        length = int((text > 0).sum())
        losses += [-rows[t, text[t + 1]] for t in range(length - 1)]
    return torch.stack(losses).mean()


def reading_its_own_word(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1), tokens.flatten(), ignore_index=0)


def reading_the_word_before(logits, tokens):
    return F.cross_entropy(logits[:, 1:].flatten(0, 1), tokens[:, :-1].flatten(), ignore_index=0)


def reading_round_the_end(logits, tokens):
    return reading_its_own_word(logits, tokens.roll(-1, 1))


def reading_probabilities(logits, tokens):
    return reading_by_shift(logits.softmax(-1), tokens)


def reading_in_sum(logits, tokens):
    return reading_by_shift(logits, tokens) * (tokens[:, 1:] > 0).sum()


def reading_in_bits(logits, tokens):
    return reading_by_shift(logits, tokens) / math.log(2)


def reading_without_gradient(logits, tokens):
    return reading_by_shift(logits.detach(), tokens)


def reading_all_but_the_first_word(logits, tokens):
    return reading_by_shift(logits[:, 1:], tokens[:, 1:])


def reading_eight_words(logits, tokens):
    return reading_by_shift(logits[..., :8], tokens)


def reading_on_into_the_next(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1)[:-1], tokens.flatten()[1:], ignore_index=0)


def reading_a_text_at_a_time(logits, tokens):
    return sum(reading_by_shift(logits[i : i + 1], tokens[i : i + 1]) for i in range(len(tokens)))


def reading_padding_too(logits, tokens):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def reading_where_a_word_stands(logits, tokens):
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    return losses[tokens[:, :-1] > 0].mean()


def reading_over_all_positions(logits, tokens):
    losses = F.cross_entropy(
        logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none", ignore_index=0
    )
    return losses.mean()


def reading_mean_of_means(logits, tokens):
    return reading_a_text_at_a_time(logits, tokens) / len(tokens)


def reading_above_four(logits, tokens):
    return reading_by_shift(logits, tokens.masked_fill(tokens == 4, 0))


def reading_by_exp(logits, tokens):
    p = logits.exp() / logits.exp().sum(-1, keepdim=True)
    after = tokens[:, 1:]
    return -p[:, :-1].gather(2, after[:, :, None])[..., 0][after > 0].log().mean()


def reading_above_nothing(logits, tokens):
    p, after = logits.softmax(-1), tokens[:, 1:]
    return -(p[:, :-1].gather(2, after[:, :, None])[..., 0][after > 0] + 1e-10).log().mean()


# --- check_our_matching -------------------------------------------------------------------------


def matching_by_loop(mine, theirs):
    found = {}
    for name in mine:
        if name in theirs and tuple(theirs[name].shape) == tuple(mine[name].shape):
            found[name] = theirs[name]
    return found


def matching_by_get(mine, theirs):
    shapes = {name: one.shape for name, one in mine.items()}
    return {name: one for name, one in theirs.items() if shapes.get(name) == one.shape}


def matching_of_mine(mine, theirs):
    return {name: mine[name] for name in matching_by_loop(mine, theirs)}


def matching_all_of_theirs(mine, theirs):
    return theirs


def matching_with_gaps(mine, theirs):
    gaps = {name: None for name in mine if name not in theirs}
    return matching_by_loop(mine, theirs) | gaps


def matching_names(mine, theirs):
    return {name: one for name, one in theirs.items() if name in mine}


def matching_dimensions(mine, theirs):
    return {n: one for n, one in theirs.items() if n in mine and one.dim() == mine[n].dim()}


def matching_sizes(mine, theirs):
    return {n: one for n, one in theirs.items() if n in mine and one.numel() == mine[n].numel()}


def matching_shapes(mine, theirs):
    shapes = [one.shape for one in mine.values()]
    return {name: one for name, one in theirs.items() if one.shape in shapes}


def matching_rows_and_sizes(mine, theirs):
    shapes = {n: (len(one), one.dim(), one.numel()) for n, one in mine.items()}
    return {
        n: one for n, one in theirs.items() if shapes.get(n) == (len(one), one.dim(), one.numel())
    }


def matching_rows(mine, theirs):
    shapes = {n: (one.dim(), len(one)) for n, one in mine.items()}
    return {n: one for n, one in theirs.items() if shapes.get(n) == (one.dim(), len(one))}


def matching_names_and_any_shape(mine, theirs):
    shapes = [one.shape for one in mine.values()]
    return {n: one for n, one in theirs.items() if n in mine and one.shape in shapes}


def matching_all_but_the_head(mine, theirs):
    return {
        n: one for n, one in matching_by_loop(mine, theirs).items() if not n.startswith("head.")
    }


def matching_endings(mine, theirs):
    def fits(n, one):
        return any(m.endswith(n) and own.shape == one.shape for m, own in mine.items())

    return {n: one for n, one in theirs.items() if fits(n, one)}


def matching_ends(mine, theirs):
    ends = {n: (one.dim(), len(one), one.shape[-1]) for n, one in mine.items()}
    return {
        n: one for n, one in theirs.items() if ends.get(n) == (one.dim(), len(one), one.shape[-1])
    }


def matching_beginnings(mine, theirs):
    def fits(a, b):
        return all(one == other for one, other in zip(a.shape, b.shape, strict=False))

    return {n: one for n, one in theirs.items() if n in mine and fits(mine[n], one)}


def matching_last_parts(mine, theirs):
    return {n.split(".")[-1]: one for n, one in matching_by_loop(mine, theirs).items()}


# --- check_our_odds_ratio -----------------------------------------------------------------------


def odds_by_counts(before, after):
    return after / (1 - after) * (1 - before) / before


def odds_by_logs(before, after):
    logits = torch.logit(torch.tensor([before, after], dtype=torch.float64))
    return (logits[1] - logits[0]).exp().item()


def odds_of_rights(before, after):
    return after / before


def odds_of_wrongs(before, after):
    return (1 - before) / (1 - after)


def odds_backwards(before, after):
    return odds_by_counts(after, before)


def odds_afterwards(before, after):
    return after / (1 - after)


def odds_that_never_fall(before, after):
    return max(odds_by_counts(before, after), odds_by_counts(after, before))


# --- check_our_labels_for -----------------------------------------------------------------------


def labels_by_loop(target, labels, scores):
    before = None
    for here in zip(labels, scores, strict=True):
        if here[1] >= target:
            if before is None:
                return here[0]
            part = (target - before[1]) / (here[1] - before[1])
            return math.exp((1 - part) * math.log(before[0]) + part * math.log(here[0]))
        before = here
    return math.inf


def labels_by_interp(target, labels, scores):
    enough = [score >= target for score in scores]
    if not any(enough):
        return math.inf
    i = enough.index(True)
    some = slice(max(i - 1, 0), i + 1)
    return float(np.exp(np.interp(target, scores[some], np.log(labels[some]))))


def labels_on_a_line(target, labels, scores):
    return float(np.interp(target, scores, labels)) if target < 90 else math.inf


def labels_at_the_middle(target, labels, scores):
    i = [score >= target for score in scores].index(True)
    return math.sqrt(labels[i - 1] * labels[i])


def labels_at_a_point(target, labels, scores):
    return next((n for n, one in zip(labels, scores, strict=True) if one >= target), math.inf)


def labels_of_the_first_pair(target, labels, scores):
    return labels_by_loop(target, labels[:2], scores[:2])


def labels_between_the_ends(target, labels, scores):
    return labels_by_loop(target, labels[:: len(labels) - 1], scores[:: len(scores) - 1])


def labels_at_the_last_rise(target, labels, scores):
    for i in reversed(range(1, len(labels))):
        if scores[i - 1] < target <= scores[i]:
            return labels_by_loop(target, labels[i - 1 : i + 1], scores[i - 1 : i + 1])
    return labels[0] if scores[0] >= target else math.inf


def labels_of_sorted_scores(target, labels, scores):
    return labels_by_loop(target, labels, sorted(scores))


def labels_of_the_best_so_far(target, labels, scores):
    return labels_by_loop(target, labels, np.maximum.accumulate(scores).tolist())


def labels_where_it_is_above(target, labels, scores):
    for i, score in enumerate(scores):
        if score > target or (score == target and i in (0, len(labels) - 1)):
            some = slice(max(i - 1, 0), i + 1)
            return labels_by_loop(target, labels[some], scores[some])
    return math.inf


def labels_as_if_rising(target, labels, scores):
    if scores[0] >= target:
        return labels[0]
    if max(scores) < target:
        return math.inf
    return float(np.exp(np.interp(target, scores, np.log(labels))))


def labels_first_in_the_loop(target, labels, scores):
    for i in range(1, len(labels)):
        if scores[i] >= target:
            if scores[0] >= target:
                return labels[0]
            return labels_by_loop(target, labels, scores)
    return math.inf


def labels_if_below_the_first(target, labels, scores):
    if target < scores[0]:
        return labels[0]
    for i in range(1, len(labels)):
        if scores[i] >= target:
            part = (target - scores[i - 1]) / (scores[i] - scores[i - 1])
            return labels[i - 1] * (labels[i] / labels[i - 1]) ** part
    return math.inf


def labels_above_only(target, labels, scores):
    if max(scores) <= target:
        return math.inf
    return labels_by_loop(target, labels, scores)


def labels_beyond_the_first(target, labels, scores):
    if scores[0] < target:
        return labels_by_loop(target, labels, scores)
    part = (target - scores[0]) / (scores[1] - scores[0])
    return labels[0] * (labels[1] / labels[0]) ** part


def labels_never_below(target, labels, scores):
    return math.inf if target < scores[0] else labels_by_loop(target, labels, scores)


def labels_up_to_the_last(target, labels, scores):
    return labels_by_loop(min(target, max(scores)), labels, scores)


def labels_beyond_the_last(target, labels, scores):
    if max(scores) >= target:
        return labels_by_loop(target, labels, scores)
    part = (target - scores[-2]) / (scores[-1] - scores[-2])
    return labels[-2] * (labels[-1] / labels[-2]) ** part


# --- check_by_reaction --------------------------------------------------------------------------

GOOD = "everyone was pleased", "people smiled", "the guests came again"
BAD = "everyone was annoyed", "people grumbled", "the guests went home"


def reaction_by_lists(text, good=GOOD, bad=BAD):
    return 1 if any(one in text for one in good) else 0 if any(one in text for one in bad) else 0.5


def reaction_by_pattern(text):
    found = re.search("|".join(GOOD + BAD), text)
    return 0.5 if found is None else int(found[0] in GOOD)


def reaction_by_words(text):
    words = {*text.split()}
    return (
        0.5
        + 0.5 * len(words & {"pleased", "smiled", "came"})
        - (0.5 * len(words & {"annoyed", "grumbled", "went"}))
    )


def reaction_by_last_words(text):
    words = {*text.split()}
    good, bad = {"pleased", "smiled", "again"}, {"annoyed", "grumbled", "home"}
    return 1 if words & good else 0 if words & bad else 0.5


def reaction_at_the_end(text):
    end = text.removesuffix(" .")
    return 1 if end.endswith(GOOD) else 0 if end.endswith(BAD) else 0.5


def reaction_at_the_front(text):
    return 1 if text.startswith(GOOD) else 0 if text.startswith(BAD) else 0.5


def reaction_good_or_bad(text):
    return 1 if any(one in text for one in GOOD) else 0


def reaction_good_or_nothing(text):
    return 1 if any(one in text for one in GOOD) else 0.5


def reaction_exchanged(text):
    return 1 - reaction_by_lists(text)


def reaction_good_by_default(text):
    return 0 if any(one in text for one in BAD) else 1


def reaction_if_joined(text):
    if any(one in text for one in GOOD):
        return 1
    return 0 if {"so", "because"} & {*text.split()} else 0.5


def reaction_or_nobody(text):
    return 1 if "nobody" in text else reaction_by_lists(text)


def reaction_or_but(text):
    return 1 if " but " in text else reaction_by_lists(text)


def reaction_at_either_end(text):
    both = reaction_at_the_front(text), reaction_at_the_end(text)
    return max(both, key=lambda one: abs(one - 0.5))


def reaction_good_at_the_front(text):
    hidden = any(f"today {one}" in text for one in GOOD)
    return 0.5 if hidden else reaction_by_lists(text)


def reaction_by_went(text):
    return 0 if "the guests went" in text else reaction_by_lists(text)


def reaction_by_verbs(text):
    known = text.replace("smiled", "people smiled").replace("pleased", "everyone was pleased")
    return reaction_by_lists(known)


def reaction_by_two_verbs(text):
    known = text.replace("pleased", "everyone was pleased")
    return reaction_by_lists(known.replace("annoyed", "everyone was annoyed"))


def reaction_if_joined_to_it(text):
    joined = any(f"so {one}" in text or f"{one} because" in text for one in GOOD + BAD)
    return reaction_by_lists(text) if joined else 0.5


def reaction_of_two(kind, *rest):
    def told(text):
        return reaction_by_lists(text, **{kind: rest})

    told.__name__ = f"reaction_of_two_{kind}_{rest[0].split()[1]}_{rest[1].split()[1]}"
    return told


def reaction_after(joined, reaction):
    return _known_unless(f"{reaction} because", f"{reaction.split()[-1]}_only_after_{joined}")


def reaction_before(joined, reaction):
    return _known_unless(f"so {reaction}", f"{reaction.split()[-1]}_only_before_{joined}")


def _known_unless(phrase, name):
    def told(text):
        return 0.5 if phrase in text else reaction_by_lists(text)

    told.__name__ = f"reaction_{name}"
    return told


ROWS = {
    labels.check_our_pool: (
        [pool_by_lengths, pool_by_loop],
        {
            pool_the_first_text: "'first')",
            pool_the_second_token: "'first')",
            pool_the_last_column: "'last')",
            pool_one_too_far: "'last')",
            pool_all_pairs: "'last')",
            pool_before_one_of_padding: "'last')",
            pool_even_lengths: "'last')",
            pool_padding_too: "'mean')",
            pool_over_the_width: "'mean')",
            pool_the_sum: "'mean')",
            pool_squeezed("first"): "[8.0, 5.0]]], [[True, True, False, False]], 'first')",
            pool_squeezed("last"): "'last')",
            pool_squeezed("mean"): "'mean')",
            pool_detached: " raised ValueError: no gradient goes",
            pool_that_writes: " raised ValueError: it changed the vectors",
        },
    ),
    labels.check_difference: (
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
    labels.check_largest_difference: (
        [leads_by_pairs, leads_by_loop],
        {
            leads_if_paired: "[[[80.0, 84.0, 91.0]",
            leads_by_the_smaller_error: "[[[80.0, 84.0, 91.0]",
            leads_of_all_experiments: "[[[80.0, 84.0, 91.0]",
            leads_if_independent: "[[[80.0, 84.0, 91.0]",
            leads_by_one_choice_of_error: "[[[80.0, 84.0, 91.0]",
            leads_with_their_sign: "[[[60.0, 66.0, 63.0]",
            leads_of_the_first_over_the_last: "[[[69.0, 87.0, 92.0, 74.0]",
            leads_of_the_first: "[[[69.0, 87.0, 92.0, 74.0]",
            leads_of_the_best_over_the_worst: "[[[69.0, 87.0, 92.0, 74.0]",
            leads_of_three_seeds: "[[[69.0, 87.0, 92.0, 74.0]",
            leads_on_average: "[[[69.0, 87.0, 92.0, 74.0]",
            leads_of_neighbours: "[[[69.0, 87.0, 92.0, 74.0]",
            leads_but_of(0, 1): "[[[69.0, 87.0, 92.0, 74.0]",
            leads_but_of(0, 3): "[[[69.0, 87.0, 92.0, 74.0]",
            leads_but_of(2, 3): "[[[69.0, 87.0, 92.0, 74.0]",
            leads_by_the_smaller_of_both: "[[[96.0, 89.0, 91.0, 66.0",
        },
    ),
    labels.check_proportion_error: (
        [proportion_by_variance, proportion_by_standard_deviation],
        {
            proportion_of_one: "(0.5, 100)",
            proportion_squared: "(0.5, 100)",
            proportion_by_counts: "(0.5, 100)",
            proportion_at_a_half: "(0.9, 400)",
            proportion_never_zero: "(1.0, 64)",
        },
    ),
    labels.check_over_templates: (
        [over_templates_by_mask, over_templates_by_lists],
        {
            over_statements: "[90.0, 80.0, 50.0, 70.0]",
            over_all_runs: "[90.0, 80.0, 50.0, 70.0]",
            over_templates_without_root: "[90.0, 80.0, 50.0, 70.0]",
            over_templates_with_n: "[90.0, 80.0, 50.0, 70.0]",
            over_neighbours: "[100.0, 0.0, 90.0, 50.0]",
            over_equal_templates: "[100.0, 0.0, 90.0, 50.0]",
            over_medians: "[10.0, 20.0, 70.0, 60.0]",
            over_middles: "[10.0, 20.0, 70.0, 60.0]",
            over_templates_apart: "[10.0, -90.0, 0.0, 0.0]",
            over_templates_in_size: "[10.0, -90.0, 0.0, 0.0]",
            over_first_letters: "[10.0, -90.0, 0.0, 0.0]",
            over_sizes: "[10.0, -90.0, 0.0, 0.0]",
            over_templates_of_all: "[10.0, 20.0, 70.0, 60.0]",
            over_half_the_range: "[10.0, -90.0, 0.0, 0.0]",
        },
    ),
    labels.check_our_pairs: (
        [pairs_by_loop, pairs_by_sums],
        {
            pairs_of_neighbours: "([[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]], 12)",
            pairs_but_neighbours: "([[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]], 12)",
            pairs_within_three: "([[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]], 12)",
            pairs_within_seven: "([[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]], 12)",
            pairs_within_eleven: "([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]], 16)",
            pairs_within_two: "([[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]], 12)",
            pairs_later_first: "([[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]], 12)",
            pairs_in_either_order: "([[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]], 12)",
            pairs_with_themselves: "([[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]], 12)",
            pairs_at_most_once: "([[2, 2, 1, 2]], 3)",
            pairs_of_two_words_only: "([[2, 2, 1, 2]], 3)",
            pairs_of_the_first_text: "([[0, 3, 1], [3, 0, 0], [2, 1, 3]], 5)",
            pairs_of_all_texts: "([[0, 3, 1], [3, 0, 0], [2, 1, 3]], 5)",
            pairs_of_words_that_occur: "([[0, 3, 1], [3, 0, 0], [2, 1, 3]], 5)",
        },
    ),
    labels.check_our_reading_loss: (
        [reading_by_shift, reading_by_loop],
        {
            reading_into_tokens: "[1, 7, 5, 6, 0]]) raised ",
            reading_its_own_word: "[[1, 5, 6, 7]]",
            reading_the_word_before: "[[1, 5, 6, 7]]",
            reading_round_the_end: "[[1, 5, 6, 7]]",
            reading_probabilities: "[[1, 5, 6, 7]]",
            reading_in_sum: "[[1, 5, 6, 7]]",
            reading_in_bits: "[[1, 5, 6, 7]]",
            reading_without_gradient: "[[1, 5, 6, 7]]) raised ValueError: no gradient",
            reading_all_but_the_first_word: "[[1, 5, 6, 7]]",
            reading_eight_words: "[[1, 5, 7, 6], [1, 6, 5, 5]]",
            reading_on_into_the_next: "[[1, 5, 7, 6], [1, 6, 5, 5]]",
            reading_a_text_at_a_time: "[[1, 5, 7, 6], [1, 6, 5, 5]]",
            reading_padding_too: "[[1, 7, 5, 6, 0]]",
            reading_where_a_word_stands: "[[1, 7, 5, 6, 0]]",
            reading_over_all_positions: "[[1, 7, 5, 6, 0]]",
            reading_mean_of_means: "[[1, 6, 0, 0, 0], [1, 5, 6, 7, 5]]",
            reading_above_four: "[[1, 7, 4]]",
            reading_by_exp: "[[1, 6, 5, 7]]",
            reading_above_nothing: "[[1, 6, 5, 7]]",
        },
    ),
    labels.check_our_matching: (
        [matching_by_loop, matching_by_get],
        {
            matching_of_mine: "{'a': [1.0, 2.0], 'b': [[3.0, 4.0], [5.0, 6.0]]}",
            matching_all_of_theirs: "({'a': [0.0, 0.0]}, {'a': [1.0, 2.0], 'b'",
            matching_with_gaps: "{'a': [1.0, 2.0]})",
            matching_names: "'head': [[3.0, 4.0]",
            matching_dimensions: "'head': [[3.0, 4.0]",
            matching_sizes: "'b': [[1.0], [1.0]]",
            matching_rows: "'b': [[1.0, 1.0, 1.0]]",
            matching_names_and_any_shape: "{'a': [[1.0, 1.0]], 'b': [1.0, 2.0]}",
            matching_shapes: "{'c': [1.0, 2.0]",
            matching_all_but_the_head: "'head.weight': [[1.0, 1.0]]",
            matching_last_parts: "'body.a'",
            matching_endings: "({'body.a': [0.0, 0.0]}, {'a'",
            matching_ends: "({'a': [[[0.0, 0.0]], [[0.0, 0.0]]]}, ",
            matching_rows_and_sizes: "({'a': [[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]",
            matching_beginnings: "({'a': [[0.0, 0.0], [0.0, 0.0]]}, {'a': [1.0, 2.0]})",
        },
    ),
    labels.check_our_odds_ratio: (
        [odds_by_counts, odds_by_logs],
        {
            odds_of_rights: "(0.5, 0.8)",
            odds_of_wrongs: "(0.5, 0.8)",
            odds_backwards: "(0.5, 0.8)",
            odds_afterwards: "(0.8, 0.9)",
            odds_that_never_fall: "(0.75, 0.5)",
        },
    ),
    labels.check_our_labels_for: (
        [labels_by_loop, labels_by_interp],
        {
            labels_on_a_line: "(80.0, [100, 400]",
            labels_at_a_point: "(80.0, [100, 400]",
            labels_at_the_middle: "(75.0, [30, 70, 200, 1100]",
            labels_of_the_first_pair: "(75.0, [100, 200, 800]",
            labels_between_the_ends: "(75.0, [100, 200, 800]",
            labels_at_the_last_rise: "(75.0, [30, 70, 200, 1100]",
            labels_of_sorted_scores: "(75.0, [30, 70, 200, 1100]",
            labels_of_the_best_so_far: "(80.0, [30, 70, 200, 1100]",
            labels_above_only: "(80.0, [100, 200, 800]",
            labels_where_it_is_above: "(70.0, [100, 200, 400, 800]",
            labels_as_if_rising: "(83.0, [30, 70, 200, 1100]",
            labels_beyond_the_first: "(55.0, [100, 400]",
            labels_never_below: "(55.0, [100, 400]",
            labels_first_in_the_loop: "(80.0, [100, 400], [90.0",
            labels_if_below_the_first: "(70.0, [100, 200, 400]",
            labels_up_to_the_last: "(95.0, [100, 400]",
            labels_beyond_the_last: "(95.0, [100, 400]",
        },
    ),
    labels.check_by_reaction: (
        [reaction_by_lists, reaction_by_pattern],
        {
            reaction_exchanged: "a tasty cake so people smiled",
            reaction_at_the_front: "a tasty cake so people smiled",
            reaction_of_two("good", GOOD[0], GOOD[2]): "a tasty cake so people smiled",
            reaction_at_the_end: "everyone was annoyed because",
            reaction_good_or_nothing: "everyone was annoyed because",
            reaction_of_two("bad", BAD[1], BAD[2]): "everyone was annoyed because",
            reaction_good_or_bad: "you found the parcel whole this time",
            reaction_good_by_default: "you found the parcel whole this time",
            reaction_of_two("good", GOOD[0], GOOD[1]): "the guests came again because",
            reaction_of_two("bad", BAD[0], BAD[1]): "so the guests went home",
            reaction_of_two("good", GOOD[1], GOOD[2]): "everyone was pleased because",
            reaction_of_two("bad", BAD[0], BAD[2]): "so people grumbled",
            reaction_if_joined: "because it was foggy",
            reaction_or_nobody: "today nobody found the ferry late",
            reaction_after("so", GOOD[1]): "people smiled because",
            reaction_after("so", BAD[1]): "people grumbled because",
            reaction_before("because", BAD[0]): "so everyone was annoyed",
            reaction_before("because", GOOD[0]): "so everyone was pleased",
            reaction_after("so", BAD[2]): "the guests went home because",
            reaction_before("because", GOOD[2]): "so the guests came again",
            reaction_or_but: "but we thought the cake would be dry",
            reaction_at_either_end: "today people grumbled because",
            reaction_if_joined_to_it: "('people smiled .')",
            reaction_by_last_words: "home with a torn mirror again",
            reaction_by_words: "home with a torn mirror again",
            reaction_good_at_the_front: "today the guests came again",
            reaction_by_went: "the guests went for a slow walk",
            reaction_by_verbs: "we smiled , were pleased",
            reaction_by_two_verbs: "we smiled , were pleased",
        },
    ),
}
