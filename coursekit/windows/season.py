"""After how many rows a series usually repeats itself."""

from datetime import timedelta
from itertools import pairwise

from coursekit.windows.series import TimeSeries

DAY = timedelta(days=1)
SEASONS = ((DAY, 7), (7 * DAY, 52), (30.4375 * DAY, 12), (91.3125 * DAY, 4))
"""The step of a series, and how many make its season: a week, a year."""


def find_season(series: TimeSeries) -> int | None:
    """Return the rows of a day, a week or a year, whichever is next above the step; None: unknown.

    Steps below a day make a day, days a week, and weeks, months and quarters a year; of trading
    days, which are unevenly apart, five make a week. Only the times are looked at.
    """
    steps = sorted(later - earlier for earlier, later in pairwise(series.times))
    usual, whole = steps[len(steps) // 2], series.times[-1] - series.times[0]
    if usual < DAY:
        return round(DAY / usual)
    if usual == DAY and whole > 1.3 * len(steps) * DAY:
        return 5
    for step, rows in SEASONS:
        if abs(usual / step - 1) < 0.05:
            return rows
    return None
