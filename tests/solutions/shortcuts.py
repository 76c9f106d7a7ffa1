"""Solutions of the exercises of notebook 10e, right and wrong."""

import torch
from torch.nn import functional as F

from coursekit.exercises import shortcuts

# --- check_leave_gap ----------------------------------------------------------------------------


def gap_by_columns(x, fill):
    return torch.cat([x[:, :1], torch.full_like(x[:, :1], fill), x[:, 1:]], 1)


def gap_by_index(x, fill):
    wider = x.new_full((len(x), x.shape[1] + 1), fill)
    wider[:, 0], wider[:, 2:] = x[:, 0], x[:, 1:]
    return wider


def gap_in_front(x, fill):
    return F.pad(x, (1, 0), value=fill)


def gap_at_the_end(x, fill):
    return F.pad(x, (0, 1), value=fill)


def gap_over_a_token(x, fill):
    x = x.clone()
    x[:, 1] = fill
    return x


def gap_that_keeps_the_width(x, fill):
    return gap_by_columns(x, fill)[:, :-1]


def gap_that_writes(x, fill):
    answer = gap_by_columns(x, fill)
    x[:, 1] = fill
    return answer


def gap_of_padding(x, fill):
    return gap_by_columns(x, 0 if x.dtype != torch.bool else fill)


def gap_of_one_row(x, fill):
    return torch.cat([x[:1, :1], x.new_full((1, 1), fill), x[:1, 1:]], 1)


def gap_that_becomes_numbers(x, fill):
    gap = torch.full((len(x), 1), int(fill))
    return torch.cat([x[:, :1], gap, x[:, 1:]], 1)


ROWS = {
    shortcuts.check_leave_gap: (
        [gap_by_columns, gap_by_index],
        {
            gap_in_front: "([[1, 7, 5]], 0)",
            gap_at_the_end: "([[1, 7, 5]], 0)",
            gap_over_a_token: "([[1, 7, 5]], 0)",
            gap_that_keeps_the_width: "([[1, 7, 5]], 0)",
            gap_that_writes: " raised ValueError: it changed the x",
            gap_of_padding: "([[1, 7, 5, 4], [1, 8, 4, 0]], 3)",
            gap_of_one_row: "([[1, 7, 5, 4], [1, 8, 4, 0]], 3)",
            gap_that_becomes_numbers: "([[True, True, True], [True, True, False]], False)",
        },
    ),
}
