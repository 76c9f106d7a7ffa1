"""Solutions of the exercises on forecasting in notebook 08, right and wrong."""

import torch

from coursekit.exercises import forecast

# --- check_repeat_season ------------------------------------------------------------------------


def season_by_index(past, horizon, period):
    ahead = torch.arange(horizon) % period
    return past[:, past.shape[1] - period + ahead]


def season_by_tiles(past, horizon, period):
    return past[:, -period:].repeat(1, -(-horizon // period))[:, :horizon]


def season_of_the_start(past, horizon, period):
    return past[:, torch.arange(horizon) % period]


def season_backwards(past, horizon, period):
    return past[:, -1 - torch.arange(horizon) % period]


def season_once(past, horizon, period):
    last = past[:, -period:]
    return torch.cat([last, last[:, -1:].expand(-1, horizon)], 1)[:, :horizon]


def last_value_for_ever(past, horizon, period):
    return past[:, -1:].expand(-1, horizon)


def season_cut_from_the_end(past, horizon, period):
    tiles = -(-horizon // period)
    surplus = tiles * period - horizon
    return past[:, -period:].repeat(1, tiles)[:, :-surplus]  # all of it if nothing is to be cut


# --- check_share_dropped ------------------------------------------------------------------------


def dropped_by_remainder(horizons, rows, batch_size):
    windows = rows - torch.tensor(horizons) + 1
    return windows % batch_size / windows


def dropped_by_batches(horizons, rows, batch_size):
    shares = []
    for horizon in horizons:
        batches = torch.arange(rows - horizon + 1).split(batch_size)
        lost = sum(len(batch) for batch in batches if len(batch) < batch_size)
        shares.append(lost / (rows - horizon + 1))
    return torch.tensor(shares)


def dropped_without_the_first(horizons, rows, batch_size):
    windows = rows - torch.tensor(horizons)
    return windows % batch_size / windows


def dropped_of_all_rows(horizons, rows, batch_size):
    return (rows - torch.tensor(horizons) + 1) % batch_size / rows


def dropped_counts(horizons, rows, batch_size):
    return ((rows - torch.tensor(horizons) + 1) % batch_size).float()


def kept_by_remainder(horizons, rows, batch_size):
    return 1 - dropped_by_remainder(horizons, rows, batch_size)


def dropped_with_the_last_batch(horizons, rows, batch_size):
    shares = []
    for horizon in horizons:
        batches = torch.arange(rows - horizon + 1).split(batch_size)
        shares.append(len(batches[-1]) / (rows - horizon + 1))  # full as it may be
    return torch.tensor(shares)


def dropped_after_one_batch_at_least(horizons, rows, batch_size):
    windows = rows - torch.tensor(horizons) + 1
    batches = (windows // batch_size).clamp(min=1)
    return (windows - batches * batch_size).clamp(min=0) / windows


def dropped_in_whole_per_cent(horizons, rows, batch_size):
    return dropped_by_remainder(horizons, rows, batch_size).round(decimals=2)


# Each check with two right solutions, and with wrong ones: the call that first gives one away.
ROWS = {
    forecast.check_repeat_season: (
        [season_by_index, season_by_tiles],
        {
            season_of_the_start: "[[1.0, 2.0, 3.0, 4.0]], 2, 3",
            season_backwards: "[[1.0, 2.0, 3.0, 4.0]], 2, 3",
            season_once: "[[1.0, 2.0, 3.0], [4.0, 6.0, 5.0]], 5, 2",
            last_value_for_ever: "[[1.0, 2.0, 3.0, 4.0]], 2, 3",
            season_cut_from_the_end: "[[3.0, 1.0, 2.0]], 3, 1",
        },
    ),
    forecast.check_share_dropped: (
        [dropped_by_remainder, dropped_by_batches],
        {
            dropped_without_the_first: "[3], 10, 3",
            dropped_of_all_rows: "[3], 10, 3",
            dropped_counts: "[3], 10, 3",
            kept_by_remainder: "[3], 10, 3",
            dropped_with_the_last_batch: "[1, 3], 10, 4",
            dropped_after_one_batch_at_least: "[2], 6, 100",
            dropped_in_whole_per_cent: "[24, 720], 2880, 512",
        },
    ),
}
