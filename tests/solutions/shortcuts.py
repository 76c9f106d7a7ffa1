"""Solutions of the exercises of notebook 10e, right and wrong."""

import torch
from torch.nn import functional as F

from coursekit.exercises import shortcuts

# --- check_leave_gap ----------------------------------------------------------------------------


def gap_by_columns(x, at, fill):
    return torch.cat([x[:, :at], torch.full_like(x[:, :1], fill), x[:, at:]], 1)


def gap_by_index(x, at, fill):
    wider = x.new_full((len(x), x.shape[1] + 1), fill)
    wider[:, :at], wider[:, at + 1 :] = x[:, :at], x[:, at:]
    return wider


def gap_in_front(x, at, fill):
    return F.pad(x, (1, 0), value=fill)


def gap_at_the_end(x, at, fill):
    return F.pad(x, (0, 1), value=fill)


def gap_over_a_token(x, at, fill):
    x = x.clone()
    x[:, at] = fill
    return x


def gap_that_keeps_the_width(x, at, fill):
    return gap_by_columns(x, at, fill)[:, :-1]


def gap_after_the_first_token(x, at, fill):
    gap = torch.full_like(x[:, :1], fill)
    return torch.cat([x[:, :1], x[:, 1:at], gap, x[:, max(at, 1) :]], 1)


def gap_one_too_far(x, at, fill):
    return gap_by_columns(x, at + 1, fill)


def gap_that_writes(x, at, fill):
    answer = gap_by_columns(x, at, fill)
    x[:, at] = fill
    return answer


def gap_of_padding(x, at, fill):
    return gap_by_columns(x, at, 0 if x.dtype != torch.bool else fill)


def gap_after_the_first(x, at, fill):
    return gap_by_columns(x, 1, fill)


def gap_of_one_row(x, at, fill):
    return torch.cat([x[:1, :at], x.new_full((1, 1), fill), x[:1, at:]], 1)


def gap_at_3_at_most(x, at, fill):
    return gap_by_columns(x, min(at, 3), fill)


def gap_of_two_rows(x, at, fill):
    return gap_by_columns(x[:2], at, fill)


def gap_that_becomes_numbers(x, at, fill):
    gap = torch.full((len(x), 1), int(fill))
    return torch.cat([x[:, :at], gap, x[:, at:]], 1)


def gap_that_is_never_true(x, at, fill):
    return gap_by_columns(x, at, False if x.dtype == torch.bool else fill)


def gap_between_tokens_only(x, at, fill):
    return gap_by_columns(x, at, fill) if at < x.shape[1] else x.clone()


# --- check_exchange -----------------------------------------------------------------------------

OPPOSITE = {
    "people smiled": "people grumbled",
    "everyone was pleased": "everyone was annoyed",
    "the guests came again": "the guests went home",
}
BOTH = OPPOSITE | {bad: good for good, bad in OPPOSITE.items()}


def exchange_the_one_it_has(text):
    for one, other in BOTH.items():
        if one in text:
            return text.replace(one, other)
    return text


def exchange_by_marks(text):
    for mark, (good, bad) in enumerate(OPPOSITE.items()):
        text = text.replace(good, f"<{mark}>").replace(bad, good).replace(f"<{mark}>", bad)
    return text


def exchange_twice(text):
    for one, other in BOTH.items():
        text = text.replace(one, other)
    return text


def exchange_good_for_bad(text):
    for good, bad in OPPOSITE.items():
        text = text.replace(good, bad)
    return text


def exchange_at_the_end(text):
    if " so " not in text:
        return text
    start, reaction = text.removesuffix(" .").split(" so ")
    return f"{start} so {BOTH[reaction]} ."


def exchange_bad_for_good(text):
    for good, bad in OPPOSITE.items():
        text = text.replace(bad, good)
    return text


def exchange_at_the_end_or_good_in_front(text):
    return exchange_at_the_end(text) if " so " in text else exchange_good_for_bad(text)


def exchange_at_the_end_or_bad_in_front(text):
    return exchange_at_the_end(text) if " so " in text else exchange_bad_for_good(text)


def exchange_in_front_or_good_at_the_end(text):
    return exchange_good_for_bad(text) if " so " in text else exchange_the_one_it_has(text)


def exchange_in_front_or_bad_at_the_end(text):
    return exchange_bad_for_good(text) if " so " in text else exchange_the_one_it_has(text)


def exchange_and_cut(text):
    return exchange_the_one_it_has(text).removesuffix(" .")


def exchange_all_but(kept, join):
    def exchange(text):
        found = f"{kept} because" in text if join == "because" else f"so {kept}" in text
        return text if found else exchange_the_one_it_has(text)

    exchange.__name__ = f"exchange_all_but_{kept.replace(' ', '_')}_{join}"
    return exchange


def exchange_or_nothing(text):
    return next((text.replace(one, other) for one, other in BOTH.items() if one in text), "")


ROWS = {
    shortcuts.check_leave_gap: (
        [gap_by_columns, gap_by_index],
        {
            gap_in_front: "([[1, 7, 5]], 1, 0)",
            gap_at_the_end: "([[1, 7, 5]], 1, 0)",
            gap_over_a_token: "([[1, 7, 5]], 1, 0)",
            gap_that_keeps_the_width: "([[1, 7, 5]], 1, 0)",
            gap_that_writes: " raised ValueError: it changed the x",
            gap_one_too_far: "([[1, 7, 5]], 1, 0)",
            gap_after_the_first: "([[1, 7, 5, 4, 6, 9], [1, 8, 4, 0, 0, 0]], 5, 2)",
            gap_at_3_at_most: "([[1, 7, 5, 4, 6, 9], [1, 8, 4, 0, 0, 0]], 5, 2)",
            gap_of_padding: "([[1, 7, 5, 4, 6, 9], [1, 8, 4, 0, 0, 0]], 5, 2)",
            gap_of_one_row: "([[1, 7, 5, 4, 6, 9], [1, 8, 4, 0, 0, 0]], 5, 2)",
            gap_between_tokens_only: "([[1, 7]], 2, 0)",
            gap_after_the_first_token: "([[1, 7], [1, 9], [1, 5]], 0, 0)",
            gap_of_two_rows: "([[1, 7], [1, 9], [1, 5]], 0, 0)",
            gap_that_is_never_true: "([[True, False]], 1, True)",
            gap_that_becomes_numbers: "([[True, True, True], [True, True, False]], 1, False)",
        },
    ),
    shortcuts.check_exchange: (
        [exchange_the_one_it_has, exchange_by_marks],
        {
            exchange_and_cut: "'nobody found the cake dry so people smiled .'",
            exchange_twice: "'nobody found the cake dry so people smiled .'",
            exchange_in_front_or_bad_at_the_end: "'nobody found the cake dry so people smiled .'",
            exchange_good_for_bad: "'nobody found the soup stale so everyone was annoyed .'",
            exchange_in_front_or_good_at_the_end: "'nobody found the soup stale so",
            exchange_at_the_end: "'the guests came again because",
            exchange_at_the_end_or_bad_in_front: "'the guests came again because",
            exchange_at_the_end_or_good_in_front: "'people grumbled because",
            exchange_all_but("everyone was pleased", "because"): "'everyone was pleased because",
            exchange_all_but("the guests went home", "so"): "'it was a foggy walk so",
            exchange_all_but("people smiled", "because"): "'people smiled because",
            exchange_all_but("everyone was annoyed", "because"): "'everyone was annoyed because",
            exchange_all_but("the guests went home", "because"): "'the guests went home because",
            exchange_all_but("people grumbled", "so"): "'we had a torn letter so",
            exchange_all_but("everyone was pleased", "so"): "'it was a sunny walk so",
            exchange_all_but("the guests came again", "so"): "'the walk was sunny so",
            exchange_or_nothing: "'we found the soup stale today",
        },
    ),
}
