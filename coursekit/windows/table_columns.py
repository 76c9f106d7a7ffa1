"""The columns of a table: they have names of their own and hold numbers, none missing.

A remedy between backquotes is code to run on the table, which it calls `frame`.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float64
from torch import Tensor

if TYPE_CHECKING:
    import pandas  # noqa: ICN001 (annotations name it in full)

EXACT = 2**53  # every whole number up to it is a float64
FEW = 20  # words that may become columns
COMMAS = {  # what numbers with commas may look like, and what to replace by what in them
    r"[-+]?\d*(,\d+)?": ((",", "."),),
    r"[-+]?(\d+|\d{1,3}(,\d{3})+)(\.\d*)?": ((",", ""),),
    r"[-+]?(\d+|\d{1,3}(\.\d{3})+)(,\d*)?": ((".", ""), (",", ".")),
}


def refuse_names(frame: object, time: str, target: str, known: Sequence[str]) -> None:
    """Refuse what is no table, a column that is not there, and names that hide something.

    Raises:
        ValueError: with what is wrong, and a remedy.
    """
    import pandas as pd

    if isinstance(frame, pd.Series) and frame.index.nlevels == 1:
        raise ValueError(
            "a Series is no table: make its index a column by "
            f"`frame = frame.rename({target!r}).rename_axis({time!r}).reset_index()`"
        )
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(
            f"a {type(frame).__name__} is no table: make it one by `frame = pd.DataFrame(frame)`"
        )
    if not frame.columns.is_unique:
        raise ValueError(
            f"columns {[*frame.columns]} repeat a name: rename one of them, or keep the first of "
            "each by `frame = frame.loc[:, ~frame.columns.duplicated()]`"
        )
    if time == target:
        raise ValueError(f"{time!r} is the column of times: choose another target")
    for name in (time, target, *known):
        if name not in frame.columns:
            raise ValueError(
                f"there is no column {name!r}, only {[*frame.columns]}: name one of those"
                f"{_point_to_index(frame, name, name == time)}"
            )
    for name in frame.columns:
        is_saved_index = isinstance(name, str) and re.fullmatch(r"Unnamed: \d+", name)
        if is_saved_index and name not in (time, target, *known):
            raise ValueError(
                f"column {name!r} had no name in its file, as row numbers that were saved with "
                f"the table: drop it by `frame = frame.drop(columns={name!r})`, or, if it is "
                f"data, name it, as in `frame = frame.rename(columns={{{name!r}: 'sun'}})`"
            )


def _point_to_index(frame: "pandas.DataFrame", name: str, is_time: bool) -> str:
    """Return the remedy for a column that is the table's index, or may be."""
    import pandas as pd

    if name in frame.index.names:
        remedy = "frame = frame.reset_index()"
    elif is_time and frame.index.nlevels == 1 and not pd.api.types.is_numeric_dtype(frame.index):
        remedy = f"frame = frame.rename_axis({name!r}).reset_index()"
    else:
        return ""
    return f", or make the index a column by `{remedy}`"


def read_numbers(
    frame: "pandas.DataFrame", columns: Sequence[str], times: "pandas.Series"
) -> Float64[Tensor, "T C"]:
    """Return the columns as numbers, side by side, the target first.

    Raises:
        ValueError: if one is missing, infinite, or too long for a float64, or if the target is
            the same in every row, with what is wrong, where, and a remedy.
    """
    values = torch.empty(len(frame), len(columns), dtype=torch.float64)
    for i, name in enumerate(columns):
        values[:, i] = numbers = to_float64(frame[name])
        _refuse_missing(frame[name], numbers, times, i == 0)
        _refuse_rounding(frame[name], numbers)
    if (values[:, 0] == values[0, 0]).all():
        raise ValueError(
            f"target {columns[0]!r} is {frame[columns[0]].iloc[0]} in every row: there is nothing "
            "to forecast, so choose another target"
        )
    return values


def to_float64(column: "pandas.Series") -> Float64[Tensor, "T"]:
    """Return the numbers of a column, NaN where one is missing."""
    return torch.tensor(column.to_numpy("float64", na_value=float("nan")))


def _refuse_missing(
    column: "pandas.Series", numbers: Float64[Tensor, "T"], times: "pandas.Series", is_target: bool
) -> None:
    """Refuse a column in which a number is missing or infinite."""
    bad = ~numbers.isfinite()
    if not bad.any():
        return
    if bad.all():
        raise ValueError(
            f"column {column.name!r} holds no finite number at all: {_drop(column, is_target)}"
        )
    at = int(bad.nonzero()[0, 0])
    begin = (
        f"{int(bad.sum())} value(s) of column {column.name!r} are missing or infinite, the first "
        f"at {times.iloc[at]}"
    )
    if at == 0:  # there is nothing before it to fill it with
        first = int((~bad).nonzero()[0, 0])
        raise ValueError(
            f"{begin}: cut the rows before the first by `frame = frame.iloc[{first}:]`"
        )
    whole = f"frame[{column.name!r}]"
    filled = f"{whole}.astype('float64')" if column.dtype == "float16" else whole
    if numbers.isinf().any():
        filled += f".where({whole}.abs() < float('inf'))"
    raise ValueError(
        f"{begin}: fill them by `{whole} = {filled}.ffill()`, which looks only back, or cut the "
        "rows before and after"
    )


def _refuse_rounding(column: "pandas.Series", numbers: Float64[Tensor, "T"]) -> None:
    """Refuse whole numbers that a float64 can't hold: different ones would become the same."""
    import pandas as pd

    if not pd.api.types.is_integer_dtype(column) or numbers.abs().max() <= EXACT:
        return
    exact = [int(number) for number in column]
    rounded = [int(number) for number in numbers.tolist()]
    if exact == rounded:
        return
    row = next(i for i, number in enumerate(exact) if number != rounded[i])
    whole = f"frame[{column.name!r}]"
    less = ""
    if max(exact) - min(exact) <= EXACT:
        less = f"count from the least by `{whole} = {whole} - {whole}.min()`, or "
    raise ValueError(
        f"column {column.name!r} holds {exact[row]} in row {row}, which float64 has not, only "
        f"{rounded[row]}: {less}round all by `{whole} = {whole}.astype('float64')`"
    )


def _drop(column: "pandas.Series", is_target: bool) -> str:
    if is_target:
        return "choose another target"
    return f"drop it by `frame = frame.drop(columns={column.name!r})`"


def refuse_kinds(frame: "pandas.DataFrame", columns: Sequence[str], target: str) -> None:
    """Refuse columns that do not hold real numbers; one that is not the target could be dropped.

    Raises:
        ValueError: with what a column holds, and a remedy.
    """
    import pandas as pd

    for name in columns:
        column = frame[name]
        if pd.api.types.is_complex_dtype(column):
            whole = f"frame[{name!r}]"
            raise ValueError(
                f"column {name!r} holds complex numbers such as {column.iloc[0]}: take their size "
                f"by `{whole} = {whole}.abs()` or their real part by "
                f"`{whole} = {whole}.to_numpy().real`"
            )
        if not pd.api.types.is_numeric_dtype(column):
            _refuse_words(column, name == target)


def _refuse_words(column: "pandas.Series", is_target: bool) -> None:
    """Refuse a column of something else than numbers: what helps depends on what it holds."""
    import pandas as pd

    whole = f"frame[{column.name!r}]"
    some = column.dropna()
    if some.empty:
        raise ValueError(f"column {column.name!r} holds nothing: {_drop(column, is_target)}")
    holds = f"column {column.name!r} holds {some.iloc[0]!r}, which is no number"
    kind = pd.api.types.infer_dtype(some.astype("object"))
    if kind in ("timedelta", "timedelta64"):
        seconds = f"pd.to_timedelta({whole}).dt.total_seconds()"
        raise ValueError(f"{holds}: count seconds by `{whole} = {seconds}`")
    if kind in ("datetime64", "datetime", "date", "time", "period"):
        raise ValueError(f"{holds}: {_drop(column, is_target)}")
    _refuse_written_numbers(column, kind)
    other = "choose another target" if is_target else "drop it"
    words = some.unique().tolist() if kind == "string" else []
    if len(words) == 2 and len(some) == len(column):
        # The rarer is an event, such as the holiday among the days.
        rare = min(reversed(words), key=some.tolist().count)
        remedy = f"`{whole} = {whole} == {rare!r}`"
        raise ValueError(f"{holds}: make it true and false by {remedy}, or {other}")
    if 1 < len(words) <= FEW and not is_target:
        remedy = f"`frame = pd.get_dummies(frame, columns=[{column.name!r}])`"
        raise ValueError(f"{holds}: make a column of each word by {remedy}, or {other}")
    raise ValueError(f"{holds}: {_drop(column, is_target)}")


def _refuse_written_numbers(column: "pandas.Series", kind: str) -> None:
    """Refuse a column of numbers that are written as text or kept as objects, if it is one."""
    import pandas as pd

    some = column.dropna().astype("object")
    whole = f"frame[{column.name!r}]"
    numbers = pd.to_numeric(some, errors="coerce")
    if numbers.notna().all():
        way = f"pd.to_numeric({whole})"
        if pd.to_numeric(some).dtype == "object":  # whole numbers beyond 64 bits
            way = f"{whole}.astype('float64')"
        raise ValueError(
            f"column {column.name!r} is of dtype {column.dtype}, though it holds numbers such as "
            f"{some.iloc[0]!r}: make it one of numbers by `{whole} = {way}`"
        )
    readings = {"": numbers}
    if kind == "string":
        readings |= _read_commas(some)
    ways = [
        f"`{whole} = pd.to_numeric({whole}{code})`"
        for code, reading in readings.items()
        if reading.notna().all()
    ]
    if ways:
        raise ValueError(
            f"column {column.name!r} holds {some.iloc[0]!r}: say what is a comma in a number by "
            f"{' or '.join(ways)}"
        )
    code, reading = max(readings.items(), key=lambda item: item[1].notna().sum())
    if 2 * reading.notna().sum() >= len(some):
        bad = some[reading.isna().to_numpy()].iloc[0]
        row = next(i for i, found in enumerate(column) if found is bad or found == bad)
        raise ValueError(
            f"column {column.name!r} holds {bad!r} in row {row}, among numbers: correct it, or "
            f"let it be missing by `{whole} = pd.to_numeric({whole}{code}, errors='coerce')`"
        )


def _read_commas(some: "pandas.Series") -> dict[str, "pandas.Series"]:
    """Return for each reading of commas the code that comes to it, and the numbers or NaN."""
    import pandas as pd

    readings: dict[str, pd.Series] = {}
    written = some.str.strip()
    for form, code in COMMAS.items():
        plain = written
        for old, new in code:
            plain = plain.str.replace(old, new, regex=False)
        reading = pd.to_numeric(plain.where(written.str.fullmatch(form)), errors="coerce")
        if not any(reading.equals(other) for other in readings.values()):
            readings["".join(f".str.replace({old!r}, {new!r})" for old, new in code)] = reading
    return readings
