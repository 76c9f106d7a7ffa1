"""Recorded runs: training that takes longer than a lesson may, made once by `make record`.

One JSON file a run, in notebooks/recorded of a clone; the wheel has them inside the package. A
test takes the first steps of each again and compares.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Record:
    """What is kept of a run.

    Attributes:
        recipe: the code that made it, as "module:name" of a clone.
        options: what that was called with.
        code: the hash of that code (tools/code_hash.py).
        seed: where the random numbers began.
        data: the SHA-256 of each data set that was read, by name.
        machine: system, processor, threads and device.
        versions: of Python and torch.
        steps: of the whole run.
        seconds: of training.
        first_losses: the loss of each of the first steps, exactly.
        block: steps of one mean.
        mean_losses: the mean loss of each block of steps, in order.
        result: what was measured at the end, by name.
    """

    recipe: str
    options: dict[str, int | float | str]
    code: str
    seed: int
    data: dict[str, str]
    machine: str
    versions: dict[str, str]
    steps: int
    seconds: float
    first_losses: list[float]
    block: int
    mean_losses: list[float]
    result: dict[str, float]

    @property
    def curve(self) -> tuple[list[int], list[float]]:
        """The step at which each block ends and its mean loss, to plot: `plt.plot(*run.curve)`."""
        ends = range(self.block, self.steps + 1, self.block)
        return list(ends), self.mean_losses


def recorded_folder() -> Path:
    """Return where the records lie: inside the package, or else beside it in the clone."""
    package = Path(__file__).parents[1]
    inside = package / "recorded"
    return inside if inside.is_dir() else package.parent / "notebooks" / "recorded"


def read_record(name: str, folder: Path | None = None) -> Record:
    """Read a recorded run by its name.

    Args:
        name: of its file, without ending.
        folder: where it lies, if not among the course's own.

    Raises:
        ValueError: if there is none of this name, or it is damaged, with the remedy.
    """
    folder = folder or recorded_folder()
    path = folder / f"{name}.json"
    if not path.is_file():
        there = list_nearest(name, (other.stem for other in folder.glob("*.json")))
        raise ValueError(
            f"no run {name!r} is recorded; there are {there}: correct the name, or make the run "
            f"in a clone of the course by 'make record NAME={name}'"
        )
    try:
        return _parse(json.loads(path.read_text("utf-8")))
    except ValueError as problem:
        raise ValueError(
            f"{path} is damaged ({problem}): take it from the course's repository again, or make "
            f"the run in a clone by 'make record NAME={name}'"
        ) from None


def read_results(
    name: str, what: Sequence[str], *, seeds: int, folder: Path | None = None
) -> Float[Tensor, "S K"]:
    """Read what runs found that differ in their seed, those named NAME-0, NAME-1 and so on.

    Args:
        name: of their files, without the seed.
        what: the names of K results.
        seeds: how many, S, from 0 on.
        folder: as of `read_record`.

    Raises:
        ValueError: as `read_record`; if a run has no result of such a name.

    Example:
        >>> read_results("labels-272-1000-causal", ["train", "right"], seeds=3).shape
        torch.Size([3, 2])
    """
    found = []
    for seed in range(seeds):
        result = read_record(f"{name}-{seed}", folder).result
        for one in what:
            if one not in result:
                raise ValueError(
                    f"{name}-{seed} has no result {one!r}; there are {list_nearest(one, result)}"
                )
        found.append([result[one] for one in what])
    return torch.tensor(found)


def list_nearest(name: str, names: Iterable[str], most: int = 5) -> str:
    """Return the names that there are, for an error; of many only those most like `name`.

    Example:
        >>> list_nearest("smal", ["tall", "small", "big"], most=1)
        '3, such as small'
    """
    there = sorted(names)
    if len(there) <= most:
        return ", ".join(there) or "none"
    nearest = get_close_matches(name, there, most, cutoff=0.0)
    return f"{len(there)}, such as {', '.join(nearest)}"


def _parse(content: Any) -> Record:
    """Make a record of what a file holds; raise ValueError if it is none."""
    kinds = {name: get_origin(kind) or kind for name, kind in get_type_hints(Record).items()}
    if not isinstance(content, dict) or content.keys() != kinds.keys():
        raise ValueError(f"it has other entries than {', '.join(kinds)}")
    for name, kind in kinds.items():
        if not isinstance(content[name], (int, float) if kind is float else kind):
            raise ValueError(f"{name} is not of type {kind.__name__}")
    numbers = [*content["first_losses"], *content["mean_losses"], *content["result"].values()]
    if not all(isinstance(one, (int, float)) and math.isfinite(one) for one in numbers):
        raise ValueError("a loss or a result is not a finite number")
    if len(content["mean_losses"]) * content["block"] != content["steps"]:
        raise ValueError("mean_losses and block don't make up the steps")
    return Record(**content)
