"""Solutions of the exercises of notebook 05 on texts and numbers, right and wrong."""

import torch

from coursekit.exercises import tokens

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
