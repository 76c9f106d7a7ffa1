"""Solutions of the exercises of notebook 10e, right and wrong."""

import torch

from coursekit.exercises import shortcuts

# --- check_our_effects --------------------------------------------------------------------------


def effects_at_once(tells, tokens, present):
    n = tokens.shape[1]
    hidden = present & ~torch.eye(n, dtype=torch.bool)
    return tells(tokens, present) - tells(tokens.expand(n, -1), hidden)


def effects_by_loop(tells, tokens, present):
    found = []
    for t in range(tokens.shape[1]):
        hidden = present.clone()
        hidden[0, t] = False
        found.append((tells(tokens, present) - tells(tokens, hidden)).item())
    return torch.tensor(found)


def effects_the_other_way(tells, tokens, present):
    return -effects_at_once(tells, tokens, present)


def effects_in_size(tells, tokens, present):
    return effects_at_once(tells, tokens, present).abs()


def effects_relative(tells, tokens, present):
    return effects_at_once(tells, tokens, present) / tells(tokens, present)


def effects_in_a_table(tells, tokens, present):
    return effects_at_once(tells, tokens, present)[None]


def effects_of_zeros(tells, tokens, present):
    n = tokens.shape[1]
    zeros = tokens * ~torch.eye(n, dtype=torch.bool)
    return tells(tokens, present) - tells(zeros, present.expand(n, -1))


def effects_alone(tells, tokens, present):
    n = tokens.shape[1]
    alone = present & torch.eye(n, dtype=torch.bool)
    alone[:, 0] = True  # something has to be there
    return tells(tokens, present) - tells(tokens.expand(n, -1), alone)


def effects_of_answers(tells, tokens, present):
    n = tokens.shape[1]
    return tells(tokens.expand(n, -1), present & ~torch.eye(n, dtype=torch.bool))


def effects_of_all_up_to(tells, tokens, present):
    n = tokens.shape[1]
    hidden = present & torch.ones(n, n, dtype=torch.bool).triu(1)
    hidden[:, -1] = present[:, -1] | (hidden.sum(1) == 0)
    return tells(tokens, present) - tells(tokens.expand(n, -1), hidden)


def effects_that_write(tells, tokens, present):
    before, found = tells(tokens, present), []
    for t in range(tokens.shape[1]):
        was = present[0, t].item()
        present[0, t] = False
        found.append((before - tells(tokens, present)).item())
        present[0, t] = was
    present[0, -1] = False
    return torch.tensor(found)


def effects_up_to_the_first_gap(tells, tokens, present):
    length = present[0].int().argmin()  # 0 if there is none
    there = torch.arange(tokens.shape[1])[None] < length
    if length == 0:
        return torch.zeros(tokens.shape[1])
    return effects_at_once(tells, tokens, present if present.sum() > length else there)


def effects_without_the_token(tells, tokens, present):
    found = []
    for t in range(tokens.shape[1]):
        rest = [k for k in range(tokens.shape[1]) if k != t]
        found.append((tells(tokens, present) - tells(tokens[:, rest], present[:, rest])).item())
    return torch.tensor(found)


def effects_that_show_what_was_hidden(tells, tokens, present):
    n = tokens.shape[1]
    return tells(tokens, present) - tells(tokens.expand(n, -1), ~torch.eye(n, dtype=torch.bool))


def effects_of_padding(tells, tokens, present):
    length = int(present[0].nonzero().max()) + 1
    found = effects_at_once(tells, tokens, present)
    found[length:] = tells(tokens, present)
    return found


def effects_as_if_padding_were_last(tells, tokens, present):
    there = torch.arange(tokens.shape[1])[None] < present.sum()
    return effects_at_once(tells, tokens, there)


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
    shortcuts.check_our_effects: (
        [effects_at_once, effects_by_loop],
        {
            effects_the_other_way: "(tokens=[[1, 7, 5]], present=[[True, True, True]])",
            effects_in_size: "(tokens=[[1, 7, 5]], present=[[True, True, True]])",
            effects_relative: "(tokens=[[1, 7, 5]], present=[[True, True, True]])",
            effects_in_a_table: "(tokens=[[1, 7, 5]], present=[[True, True, True]])",
            effects_of_zeros: "(tokens=[[1, 7, 5]], present=[[True, True, True]])",
            effects_alone: "(tokens=[[1, 7, 5]], present=[[True, True, True]])",
            effects_of_answers: "(tokens=[[1, 7, 5]], present=[[True, True, True]])",
            effects_of_all_up_to: "(tokens=[[1, 7, 5]], present=[[True, True, True]])",
            effects_up_to_the_first_gap: "(tokens=[[1, 7, 5]], present=[[True, True, True]])",
            effects_without_the_token: "(tokens=[[1, 7, 5]], present=[[True, True, True]])",
            effects_that_write: " raised ValueError: it changed the present",
            effects_that_show_what_was_hidden: "(tokens=[[2, 4, 6, 5, 3]]",
            effects_of_padding: "(tokens=[[2, 4, 6, 5, 3]]",
            effects_as_if_padding_were_last: "(tokens=[[2, 4, 8, 9]]",
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
