"""A training run in one file: written whole or not at all, read without running what it holds."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor, nn

HELD = ("config", "engine", "history", "batch")
"""What the file of a run holds: enough to rebuild the model, and to go on."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Where a run is kept, how often, and whether it goes on from there.

    Attributes:
        path: the file; under `torchrun`, in a folder that all machines share.
        every: steps from one to the next; the last step is kept too.
        config: what rebuilds the model and the run, such as sizes: numbers, texts, None, and
            lists, tuples and dictionaries of them.
        resume: go on from the file if it is there. Otherwise an existing file is refused.
    """

    path: Path
    every: int
    config: dict[str, Any] = field(default_factory=dict)
    resume: bool = False

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every={self.every} must be at least 1 step")
        for name, value in self.config.items():
            if not _comes_back(value):
                raise ValueError(
                    f"config has {name}={value!r}, of {type(value)}, which could not be read "
                    "again: use plain numbers, texts, None, and lists, tuples, dictionaries of them"
                )

    def read(self) -> dict[str, Any] | None:
        """Return what the file holds, or None if the run begins.

        Raises:
            ValueError: if the file is in the way, broken, or of a run with another config.
        """
        if not self.path.exists():
            return None
        if not self.resume:
            raise ValueError(
                f"{self.path} holds a run: resume it (--resume), or choose another place"
            )
        state = load_checkpoint(self.path)
        theirs = state["config"]
        for name in sorted(self.config.keys() | theirs.keys()):
            if self.config.get(name) != theirs.get(name):
                raise ValueError(
                    f"{self.path} holds a run with {name}={theirs.get(name)!r}, not "
                    f"{self.config.get(name)!r}: resume it as it was begun, or choose another place"
                )
        return state

    def write(self, state: dict[str, Any]) -> None:
        """Replace the file by one that holds this state and the config."""
        save_checkpoint(self.path, state | {"config": self.config})


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write the state of a run as `torch.save` does, whole or not at all."""
    replace_file(path, lambda file: torch.save(state, file))


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Put what is written in the place of a file; make its folder if need be.

    It is written beside its place and then renamed, so whoever is interrupted leaves the old file
    or the new one, never half of one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())  # or a power cut could leave the new name on an empty file
    part.replace(path)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read the state of a run, bit for bit as it was; tensors are on the CPU.

    PyTorch builds tensors, numbers, texts and collections from it, and refuses all else: a file
    of this kind (a pickle) could name any function to be called.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is cut short, or something else.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}: correct the path, or train first")
    with path.open("rb") as file:
        try:
            state = torch.load(file, map_location="cpu", weights_only=True)
        except Exception:  # which one depends on the byte that is wrong or missing
            state = None
    if not isinstance(state, dict) or any(name not in state for name in HELD):
        raise ValueError(
            f"{path} is no whole checkpoint: it was cut short or is something else; remove it, or "
            "take a copy"
        )
    return state


def unique_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights and buffers by name; one that has two names, such as a tied head, once."""
    first: dict[int, str] = {}
    state = model.state_dict(keep_vars=True)
    return {name: t for name, t in state.items() if first.setdefault(id(t), name) == name}


@torch.no_grad()
def copy_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Copy saved `unique_weights` into the model in place.

    Raises:
        ValueError: if names or shapes differ; nothing is copied then.
    """
    own = unique_weights(model)
    for name in sorted(own.keys() | weights.keys()):
        ours = tuple(own[name].shape) if name in own else None
        theirs = tuple(weights[name].shape) if name in weights else None
        if ours != theirs:
            raise ValueError(
                f"{name} has shape {theirs} in the checkpoint and {ours} in the model: build the "
                "model from the checkpoint's config"
            )
    for name, weight in own.items():
        weight.copy_(weights[name])


def matching_weights(mine: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return those of `theirs` that `mine` has under the same name and in the same shape.

    So a model takes over what fits, `load_state_dict(matching_weights(…), strict=False)`, if it is
    fine-tuned with another head (Howard and Ruder 2018; Devlin et al. 2019).

    Args:
        mine: weights by name, as of the model that takes over.
        theirs: as of the one that was trained.

    Example:
        >>> a, b = nn.Linear(2, 3), nn.Linear(4, 3)
        >>> [*matching_weights(a.state_dict(), b.state_dict())]
        ['bias']
    """
    return {name: w for name, w in theirs.items() if name in mine and mine[name].shape == w.shape}


def _comes_back(value: Any) -> bool:
    """Tell whether a file gives the value back that is read without running what it holds."""
    if type(value) is dict:
        return all(map(_comes_back, value.keys())) and all(map(_comes_back, value.values()))
    if type(value) in (list, tuple):
        return all(map(_comes_back, value))
    return value is None or type(value) in (bool, int, float, str)
