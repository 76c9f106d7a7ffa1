"""Solutions of the exercises of notebook 05 on merges, right and wrong."""

from itertools import pairwise

from coursekit.exercises import tokens
from coursekit.tokens.bpe import count_pairs, merge_pair

# --- check_join_pair ----------------------------------------------------------------------------


def join_by_index(ids, pair, new):
    joined, i = [], 0
    while i < len(ids):
        found = i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair
        joined.append(new if found else ids[i])
        i += 2 if found else 1
    return joined


def join_recursively(ids, pair, new):
    if len(ids) < 2:
        return list(ids)
    if (ids[0], ids[1]) == pair:
        return [new, *join_recursively(ids[2:], pair, new)]
    return [ids[0], *join_recursively(ids[1:], pair, new)]


def join_with_overlap(ids, pair, new):
    joined = []
    for i, token in enumerate(ids):
        if i + 1 < len(ids) and (token, ids[i + 1]) == pair:
            joined.append(new)
        elif not (i and (ids[i - 1], token) == pair):
            joined.append(token)
    return joined


def join_only_the_first(ids, pair, new):
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == pair:
            return [*ids[:i], new, *ids[i + 2 :]]
    return ids


def join_again_and_again(ids, pair, new):
    joined = []
    for token in ids:
        joined.append(token)
        while tuple(joined[-2:]) == pair:
            joined[-2:] = [new]
    return joined


def join_either_order(ids, pair, new):
    return join_by_index(join_by_index(ids, pair, new), pair[::-1], new)


def join_as_bytes(ids, pair, new):
    return list(bytes(ids).replace(bytes(pair), bytes([new])))


def join_as_text(ids, pair, new):
    text = " ".join(map(str, ids)).replace(f"{pair[0]} {pair[1]}", str(new))
    return [int(number) for number in text.split()]


def join_from_the_first_on(ids, pair, new):
    joined, last = [], ids[0]  # last: waits for the next id; None after a merge
    for token in ids[1:]:
        if (last, token) == pair:
            joined.append(new)
            last = None
        else:
            joined += [] if last is None else [last]
            last = token
    return joined if last is None else [*joined, last]


# --- check_apply_merges -------------------------------------------------------------------------


def apply_lowest_first(ids, merges):
    ids = list(ids)
    while possible := [pair for pair in count_pairs(ids) if pair in merges]:
        pair = min(possible, key=merges.get)
        ids = merge_pair(ids, pair, merges[pair])
    return ids


def apply_in_order_of_ids(ids, merges):
    ids = list(ids)
    for pair in sorted(merges, key=merges.get):
        ids = merge_pair(ids, pair, merges[pair])
    return ids


def apply_highest_first(ids, merges):
    while possible := [pair for pair in count_pairs(ids) if pair in merges]:
        pair = max(possible, key=merges.get)
        ids = merge_pair(ids, pair, merges[pair])
    return ids


def apply_from_the_left(ids, merges):
    while possible := [pair for pair in pairwise(ids) if pair in merges]:
        ids = merge_pair(ids, possible[0], merges[possible[0]])
    return ids


def apply_once(ids, merges):
    possible = [pair for pair in count_pairs(ids) if pair in merges]
    for pair in sorted(possible, key=merges.get):
        ids = merge_pair(ids, pair, merges[pair])
    return ids


def apply_most_frequent_first(ids, merges):
    while possible := {pair: n for pair, n in count_pairs(ids).items() if pair in merges}:
        pair = max(possible, key=possible.get)
        ids = merge_pair(ids, pair, merges[pair])
    return ids


def apply_and_forget(ids, merges):
    for pair in sorted(merges, key=merges.get):
        merge_pair(ids, pair, merges[pair])  # returned, and lost
    return ids


def apply_with_overlap(ids, merges):
    for pair in sorted(merges, key=merges.get):
        ids = join_with_overlap(ids, pair, merges[pair])
    return ids


def apply_up_to_the_highest_id(ids, merges):
    pairs = {new: pair for pair, new in merges.items()}
    for new in range(256, max(pairs) + 1):
        ids = merge_pair(ids, pairs[new], new)
    return ids


def apply_from_the_right(ids, merges):
    while possible := [pair for pair in pairwise(ids) if pair in merges]:
        ids = merge_pair(ids, possible[-1], merges[possible[-1]])
    return ids


def apply_in_order_of_the_dictionary(ids, merges):
    for pair, new in merges.items():
        ids = merge_pair(ids, pair, new)
    return ids


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    tokens.check_join_pair: (
        [join_by_index, join_recursively],
        {
            join_with_overlap: "[1, 1, 1, 1, 1]",
            join_only_the_first: "[1, 2, 3, 1, 2]",
            join_again_and_again: "[1, 2, 2]",
            join_either_order: "[2, 1, 1, 2]",
            join_as_bytes: "[297, 256, 97, 256], (97, 256), 257) raised ValueError",
            join_as_text: "[297, 256, 97, 256], (97, 256), 257",
            join_from_the_first_on: "[], (1, 2), 3) raised IndexError",
        },
    ),
    tokens.check_apply_merges: (
        [apply_lowest_first, apply_in_order_of_ids],
        {
            apply_highest_first: "[97, 98, 99], {(98, 99)",
            apply_from_the_left: "[97, 98, 99], {(98, 99)",
            apply_once: "[97, 98, 99, 97, 98]",
            apply_most_frequent_first: "[97, 98, 99], {(98, 99)",
            apply_and_forget: "[97, 98, 99], {(97, 98): 256})",
            apply_with_overlap: "[97, 97, 97, 97]",
            apply_up_to_the_highest_id: "[97, 98], {}) raised ValueError",
            apply_from_the_right: "[97, 98, 99], {(97, 98): 256, (98, 99): 257}",
            apply_in_order_of_the_dictionary: "[99, 97, 98, 99]",
        },
    ),
}
