"""What a model keeps of the steps it has read, so that going on costs the new steps only."""

import torch
from jaxtyping import Shaped
from torch import Tensor, nn


class Cache:
    """Keep, for each layer that looks back, what it needs of the steps that have been read.

    Hand the same one to each call, `model(first, cache=cache)`, then `model(rest, cache=cache)`:
    the outputs are those of one call on the whole. A model without a cache keeps nothing. Layers
    are told apart by identity, so one that stands twice in a model can't use it.

    Attributes:
        steps: how many steps the model has read.

    Example:
        >>> cache, layer = Cache(), nn.Identity()
        >>> cache.extend(layer, torch.ones(1, 2, 3))[0].shape
        torch.Size([1, 2, 3])
        >>> cache.extend(layer, torch.ones(1, 4, 3))[0].shape
        torch.Size([1, 6, 3])
    """

    def __init__(self) -> None:
        self.steps = 0
        self._kept: dict[nn.Module, tuple[Tensor, ...]] = {}

    def count(self, steps: int) -> int:
        """Count further steps, and return the position of the first of them."""
        start = self.steps
        self.steps += steps
        return start

    def extend(self, layer: nn.Module, *new: Shaped[Tensor, "*N T C"]) -> tuple[Tensor, ...]:
        """Append new steps to each tensor that `layer` has kept, and return all steps."""
        kept = self._kept.get(layer)
        if kept is not None:
            new = tuple(torch.cat(pair, -2) for pair in zip(kept, new, strict=True))
        self._kept[layer] = new
        return new

    def slide(
        self, layer: nn.Module, x: Shaped[Tensor, "B T C"], before: int
    ) -> Shaped[Tensor, "B M C"]:
        """Return the `before` steps that `layer` read before `x`, and keep the last ones of all.

        Before the first step of a sequence stand zeros.
        """
        (past,) = self._kept.get(layer, (x.new_zeros(len(x), before, x.shape[-1]),))
        self._kept[layer] = (torch.cat([past, x], 1)[:, x.shape[1] :],)
        return past

    def read(self, layer: nn.Module) -> tuple[Tensor, ...] | None:
        """Return what `layer` has kept; None before the first step of a sequence."""
        return self._kept.get(layer)

    def keep(self, layer: nn.Module, *state: Shaped[Tensor, "B C"]) -> None:
        """Keep the state of a recurrent `layer` in place of the one before."""
        self._kept[layer] = state

    def clear(self) -> None:
        """Forget everything, as before the first step."""
        self.steps = 0
        self._kept.clear()

    def copy(self) -> "Cache":
        """Return a cache from which to go on in another way; what is kept is shared, not copied."""
        other = Cache()
        other.steps = self.steps
        other._kept = dict(self._kept)
        return other
