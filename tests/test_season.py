"""After how many rows a series repeats itself, by its times alone."""

from datetime import datetime, timedelta

import pytest
import torch

from coursekit.windows.season import find_season
from coursekit.windows.series import TimeSeries, from_frame

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("rule", "season"),
    [
        *(("h", 24), ("15min", 96), ("min", 1440), ("3h", 8), ("D", 7), ("7D", 52)),
        *(("MS", 12), ("ME", 12), ("QS", 4), ("B", 5), ("YS", None), ("2D", None), ("14D", None)),
    ],
)
def test_a_season_is_a_day_a_week_or_a_year(rule, season):
    times = pd.date_range("2019-01-01", periods=60, freq=rule)
    frame = pd.DataFrame({"at": times, "n": range(60)})
    assert find_season(from_frame(frame, time="at", target="n", even=False)) == season


def test_a_few_days_that_are_missing_do_not_make_a_week_shorter():
    days = [datetime(2024, 1, 1) + timedelta(days=k) for k in range(60) if k % 20]
    values = torch.arange(len(days), dtype=torch.float64)[:, None]
    assert find_season(TimeSeries(name="s", times=days, values=values, columns=("n",))) == 7
