"""A training run in one file: written whole or not at all, read without running what it holds."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

MARK = "."
"""The key of what stands in a tensor's place: no parameter and no module can have that name."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Where a run is kept, how often, and whether it goes on from there.

    Attributes:
        path: the file; under `torchrun`, in a folder that all machines share.
        every: steps from one to the next; the last step is kept too.
        config: what rebuilds the model and the run, such as sizes; of values that JSON knows.
        resume: go on from the file if it is there. Otherwise an existing file is refused.
    """

    path: Path
    every: int
    config: dict[str, Any] = field(default_factory=dict)
    resume: bool = False

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every={self.every} must be at least 1 step")

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
        ours, theirs = json.loads(json.dumps(self.config)), state["config"]
        for name in sorted(ours.keys() | theirs.keys()):
            if ours.get(name) != theirs.get(name):
                raise ValueError(
                    f"{self.path} holds a run with {name}={theirs.get(name)!r}, not "
                    f"{ours.get(name)!r}: resume it as it was begun, or choose another place"
                )
        return state

    def write(self, state: dict[str, Any]) -> None:
        """Replace the file by one that holds this state and the config."""
        save_checkpoint(self.path, state | {"config": self.config})


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write nested dictionaries and lists of tensors, numbers and texts to a safetensors file.

    The format has a header of text and then numbers. It is written beside its place and then
    renamed, so whoever is interrupted leaves the old file or the new one, never half of one.
    """
    tensors: dict[str, Tensor] = {}
    tree = json.dumps(_take_out(state, "", tensors))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    save_file(tensors, part, metadata={"tree": tree})
    with part.open("rb+") as file:
        os.fsync(file.fileno())  # or a power cut could leave the new name on an empty file
    part.replace(path)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read what `save_checkpoint` wrote; tensors are on the CPU.

    Keys that were numbers are texts, tuples are lists: the rest is as it was, bit for bit.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is cut short, or something else.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}: correct the path, or train first")
    try:
        with safe_open(path, "pt") as file:
            tree = json.loads((file.metadata() or {})["tree"])
            names = file.keys()
            return _put_back(tree, {name: file.get_tensor(name).clone() for name in names})
    except (SafetensorError, KeyError, json.JSONDecodeError) as problem:
        raise ValueError(
            f"{path} is no whole checkpoint ({problem}): it was cut short or is something else; "
            "remove it, or take a copy"
        ) from None


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
        ours, theirs = (tuple(w[name].shape) if name in w else None for w in (own, weights))
        if ours != theirs:
            raise ValueError(
                f"{name} has shape {theirs} in the checkpoint and {ours} in the model: build the "
                "model from the checkpoint's config"
            )
    for name, weight in own.items():
        weight.copy_(weights[name])


def _take_out(tree: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """Collect the tensors of a tree under their path, and put that path in their place."""
    if isinstance(tree, Tensor):
        tensors[name[1:]] = tree.detach().cpu().contiguous()
        return {MARK: name[1:]}
    if isinstance(tree, dict):
        return {str(k): _take_out(v, f"{name}.{k}", tensors) for k, v in tree.items()}
    if isinstance(tree, list | tuple):
        return [_take_out(v, f"{name}.{i}", tensors) for i, v in enumerate(tree)]
    return tree


def _put_back(tree: Any, tensors: dict[str, Tensor]) -> Any:
    """Undo `_take_out`."""
    if isinstance(tree, dict) and tree.keys() == {MARK}:
        return tensors[tree[MARK]]
    if isinstance(tree, dict):
        return {k: _put_back(v, tensors) for k, v in tree.items()}
    return [_put_back(v, tensors) for v in tree] if isinstance(tree, list) else tree
