"""The steps of a table: from row to row time goes on, and evenly unless told otherwise.

A remedy between backquotes is code to run on the table, which it calls `frame`.
"""

from datetime import timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from jaxtyping import Int
from torch import Tensor

from coursekit.windows.table_times import begin_remedy, count_microseconds

if TYPE_CHECKING:
    import pandas  # noqa: ICN001 (annotations name it in full)

ZONES = (  # between them, the local times at which clocks are changed
    *("Europe/Berlin", "Europe/London", "Europe/Athens", "America/New_York"),
    *("Australia/Sydney", "Australia/Lord_Howe", "Pacific/Auckland", "America/Santiago"),
)
SIZES = {"h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000, "ms": 1000, "us": 1}
USUAL = [
    number * SIZES[unit]
    for unit, numbers in {
        "s": (1, 5, 10, 15, 30),
        "min": (1, 5, 10, 15, 20, 30),
        "h": (1, 2, 3, 4, 6, 8, 12, 24, 168),
    }.items()
    for number in numbers
]
MONTH = 28 * 24 * SIZES["h"]  # the shortest


def refuse_steps(column: "pandas.Series", times: "pandas.Series", even: bool) -> None:
    """Refuse times that do not increase and, if steps must be even, those that are not.

    Raises:
        ValueError: with the first row at which they do not, and a remedy.
    """
    steps = count_microseconds(times).diff()
    begin = begin_remedy(column, times)
    if (steps < 0).any():
        row = int((steps < 0).nonzero()[0, 0]) + 1
        raise ValueError(
            f"row {row} is of {times.iloc[row]}, earlier than the row before "
            f"({times.iloc[row - 1]}): {_name_zone(column, times, times.iloc[row])}make sure that "
            "the times are right, then sort the rows by "
            f"`{begin}frame = frame.sort_values({column.name!r})`"
        )
    if (steps == 0).any():
        row = int((steps == 0).nonzero()[0, 0])
        raise ValueError(
            f"two rows are of {times.iloc[row]}: {_name_zone(column, times, times.iloc[row])}keep "
            f"the first by `{begin}frame = frame.drop_duplicates({column.name!r})`"
        )
    if even and not (steps == steps[0]).all():
        _refuse_uneven(column, times, steps)


def _refuse_uneven(
    column: "pandas.Series", times: "pandas.Series", steps: Int[Tensor, "N"]
) -> None:
    """Refuse them with a remedy for rows that are missing, local days, months, and the rest."""
    step = _common(steps)
    odd = int((steps != step).nonzero()[0, 0])
    between = f"between {times.iloc[odd]} and {times.iloc[odd + 1]}"
    if _is_regular(steps):
        missing = int(steps[odd]) // step - 1
        zone = _name_zone(column, times, times.iloc[odd] + timedelta(microseconds=step))
        why = "" if zone else " if nothing happened, as between trading days"
        raise ValueError(
            f"{missing} row(s) are missing {between}, the step being {_length(step)}: {zone}repeat "
            f"the row before by `{_resample(column, times, step)}.ffill().reset_index()`, or pass "
            f"even=False{why}"
        )
    elsewhere = _length(step)
    if 2 * (steps == step).sum() < len(steps):
        elsewhere = f"{_length(int(steps.min()))} to {_length(int(steps.max()))}"
    differs = f"the step is {_length(int(steps[odd]))} {between} but {elsewhere} elsewhere"
    whole = f"frame[{column.name!r}]"
    begin = begin_remedy(column, times)
    in_days = _even_by_local_time(times)
    if in_days:
        raise ValueError(
            f"{differs}, as where clocks are changed; by local time it is even: leave the zone "
            f"out by `{begin}{whole} = {whole}{in_days}`, or pass even=False"
        )
    if steps.min() >= MONTH:
        raise ValueError(f"{differs}: pass even=False, so that a step is a row, as with months")
    if _is_rounded_even(times, step):
        round_off = f"{begin}{whole} = {whole}.dt.round({_frequency(step)!r})"
        raise ValueError(f"{differs}: round the times by `{round_off}`, or pass even=False")
    raise ValueError(
        f"{differs}: bring the rows to one step by "
        f"`{_resample(column, times, step)}.mean().reset_index()`, or pass even=False if a row is "
        "a step however long it takes"
    )


def _common(steps: Int[Tensor, "N"]) -> int:
    """Return the step that most rows take; if few agree, the usual one nearest to the median."""
    lengths, counts = steps.unique(return_counts=True)
    step = int(lengths[counts.argmax()])
    if 2 * counts.max() >= len(steps) or (steps % step == 0).all():
        return step
    median = int(steps.median())
    return min(USUAL, key=lambda usual: max(usual / median, median / usual))


def _is_regular(steps: Int[Tensor, "N"]) -> bool:
    """Tell whether the rows lie on one grid, whatever is missing between them."""
    return bool((steps > 0).all() and (steps % _common(steps) == 0).all())


def _length(step: int) -> str:
    return str(timedelta(microseconds=step)).removesuffix(", 0:00:00")


def _frequency(step: int) -> str:
    """Write a step as pandas does: "24h", "15min"."""
    unit = next(unit for unit, size in SIZES.items() if step % size == 0)
    return f"{step // SIZES[unit]}{unit}"


def _resample(column: "pandas.Series", times: "pandas.Series", step: int) -> str:
    begin = begin_remedy(column, times)
    indexed = f"{begin}frame = frame.set_index({column.name!r})"
    return f"{indexed}.resample({_frequency(step)!r}, origin='start')"


def _even_by_local_time(times: "pandas.Series") -> str | None:
    """Return the code that brings times of a zone to a local time by which they are even."""
    if times.dt.tz is None:
        return None
    found = []
    for zone in (None, *ZONES):
        move = "" if zone is None else f".dt.tz_convert({zone!r})"
        moved = times if zone is None else times.dt.tz_convert(zone)
        local = moved.dt.tz_localize(None)
        days = local.dt.normalize()
        late = int((count_microseconds(local) - count_microseconds(days)).max())
        if _is_regular(count_microseconds(local).diff()):
            found.append((late > 0 and zone is not None, f"{move}.dt.tz_localize(None)"))
        elif late <= SIZES["h"] and _is_regular(count_microseconds(days).diff()):
            # Where clocks are changed at midnight, that day begins at 1.
            found.append((zone is not None, f"{move}.dt.tz_localize(None).dt.normalize()"))
    return min(found, key=lambda one: one[0])[1] if found else None


def _is_rounded_even(times: "pandas.Series", step: int) -> bool:
    """Tell whether rounding to the step mends the times; in local time it is not always defined."""
    if times.dt.tz is not None and str(times.dt.tz) != "UTC":
        return False
    steps = count_microseconds(times.dt.round(_frequency(step))).diff()
    return _is_regular(steps) and _common(steps) == step


def _name_zone(column: "pandas.Series", times: "pandas.Series", at: "pandas.Timestamp") -> str:
    """Return the remedy for times that lost their zone, if clocks were changed at this one."""
    if times.dt.tz is not None:
        return ""
    for zone in ZONES:
        local = at.to_pydatetime().replace(tzinfo=ZoneInfo(zone))
        if local.utcoffset() == local.replace(fold=1).utcoffset():
            continue
        try:
            times.dt.tz_localize(zone, ambiguous="infer")
        except Exception:  # pandas 2 has classes of its own for a time that is none there
            continue
        whole = f"frame[{column.name!r}]"
        begin = begin_remedy(column, times)
        named = f"{begin}{whole} = {whole}.dt.tz_localize({zone!r}, ambiguous='infer')"
        return f"if clocks were changed, name the zone by `{named}`; else "
    return ""
