"""Solutions of the exercises of notebook 05, right and wrong."""

from itertools import pairwise

import torch

from coursekit.exercises import tokens
from coursekit.tokens.bpe import count_pairs, merge_pair

# --- check_join_messages ------------------------------------------------------------------------


def join_by_loop(messages):
    ids = []
    for message in messages:
        ids += [*message.encode(), 256]
    return ids


def join_in_one_line(messages):
    return [i for message in messages for i in (*message.encode("utf-8"), 256)]


def join_strings(messages):
    parts = "".join(message + "<|end|>" for message in messages).split("<|end|>")[:-1]
    return join_by_loop(parts)


def join_between(messages):
    return join_by_loop(messages)[:-1]


def join_code_points(messages):
    return [i for message in messages for i in (*map(ord, message), 256)]


def join_without_empty(messages):
    return join_by_loop([message for message in messages if message])


def join_by_a_zero_byte(messages):
    return [byte or 256 for message in messages for byte in (message + "\0").encode()]


# --- check_count_bytes --------------------------------------------------------------------------


def bytes_by_comparison(code_points):
    return sum(1 + (c >= 128) + (c >= 2048) + (c >= 65536) for c in code_points)


def bytes_by_bits(code_points):
    lengths = [c.bit_length() for c in code_points]
    return sum(1 if n < 8 else 2 if n < 12 else 3 if n < 17 else 4 for n in lengths)


def bytes_one_each(code_points):
    return len(code_points)


def bytes_of_latin(code_points):
    return sum(1 + (c >= 256) + (c >= 2048) + (c >= 65536) for c in code_points)


def bytes_border_late(code_points):
    return sum(1 + (c > 128) + (c > 2048) + (c > 65536) for c in code_points)


def bytes_at_most_three(code_points):
    return sum(1 + (c >= 128) + (c >= 2048) for c in code_points)


def bytes_of_two_up_to_12_bits(code_points):
    return sum(1 + (c >= 128) + (c >= 4096) + (c >= 65536) for c in code_points)


def bytes_of_three_up_to_65536(code_points):
    return sum(1 + (c >= 128) + (c >= 2048) + (c > 65536) for c in code_points)


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


# --- check_quantise_rates -----------------------------------------------------------------------


def quantise_by_rounding(rates):
    return (rates.double() * 100).round().clamp(0, 500).long()


def quantise_by_search(rates):
    levels = torch.arange(501).double() / 100
    return (rates.double()[:, None] - levels).abs().argmin(1)


def quantise_by_cutting(rates):
    return (rates * 100).long().clamp(0, 500)


def quantise_unbounded(rates):
    return (rates * 100).round().long()


def quantise_to_tenths(rates):
    return (rates * 10).round().clamp(0, 50).long()


def quantise_with_one_level_less(rates):
    return (rates * 100).round().clamp(0, 499).long()


def quantise_upwards(rates):
    return (rates * 100).ceil().clamp(0, 500).long()


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    tokens.check_join_messages: (
        [join_by_loop, join_in_one_line],
        {
            join_strings: "['a<|end|>b'",
            join_between: "['hi', 'ho']",
            join_code_points: "['Zürich 👍'",
            join_without_empty: "['Zürich 👍'",
            join_by_a_zero_byte: "['256', '\\x00']",
        },
    ),
    tokens.check_count_bytes: (
        [bytes_by_comparison, bytes_by_bits],
        {
            bytes_one_each: "[101, 252",
            bytes_of_latin: "[101, 252",
            bytes_border_late: "[127, 128]",
            bytes_at_most_three: "[101, 252",
            bytes_of_two_up_to_12_bits: "[2047, 2048]",
            bytes_of_three_up_to_65536: "[65535, 65536, 1114111]",
        },
    ),
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
    tokens.check_quantise_rates: (
        [quantise_by_rounding, quantise_by_search],
        {
            quantise_by_cutting: "[0.29, 0.57",
            quantise_unbounded: "[-0.75",
            quantise_to_tenths: "[0.0, 0.01",
            quantise_with_one_level_less: "[0.0, 0.01",
            quantise_upwards: "[1.2349, 1.2351]",
        },
    ),
}
