"""What happens inside a model while it trains: activations, gradients, updates, noise.

Works on any module from outside, through PyTorch's hooks; the model is left as it was found.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from coursekit.device import device_of
from coursekit.evaluate.likelihood import evaluating

SATURATED = 0.97
"""Beyond this a tanh passes less than 6 % of the gradient: 1 - 0.97² = 0.059."""


@dataclass(frozen=True)
class Snapshot:
    """What one forward and backward pass left behind.

    Attributes:
        loss: of the batch.
        outputs: what each layer watched gave, by the layer's name in the model.
        gradients: the gradient of the loss at each of these numbers.
        weights: each trained matrix or table, by its name.
        weight_gradients: the gradient of the loss at each of its entries.
    """

    loss: float
    outputs: dict[str, Tensor]
    gradients: dict[str, Tensor]
    weights: dict[str, Tensor]
    weight_gradients: dict[str, Tensor]


def take_snapshot(
    model: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    watch: type[nn.Module] | tuple[type[nn.Module], ...],
    loss: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy,
) -> Snapshot:
    """Pass one batch forward and backward and keep what passed the layers of type `watch`.

    The model stays in its mode; its running statistics and gradients are put back. A frozen
    layer is watched, too; only its weights have no gradient.

    Raises:
        ValueError: if the model has no layer of that type, or one of them was not used, was used
            twice or gave something else than a tensor.
    """
    layers = {name: part for name, part in model.named_modules() if isinstance(part, watch)}
    if not layers:
        kinds = sorted({type(part).__name__ for part in model.modules()})
        raise ValueError(f"no layer to watch: the model has {', '.join(kinds)}")
    outputs: dict[str, Tensor] = {}
    with _left_as_it_was(model), torch.enable_grad():
        device = device_of(model)
        with _hooked(layers, outputs):
            value = loss(model(inputs.to(device)), targets.to(device))
        unused = sorted(set(layers) - set(outputs))
        if unused:
            raise ValueError(f"the model did not use its layers {', '.join(unused)}")
        weights = {
            name: p for name, p in model.named_parameters() if p.requires_grad and p.ndim > 1
        }
        watched = [*outputs.values(), *weights.values()]
        gradients = torch.autograd.grad(value, watched, allow_unused=True, materialize_grads=True)
    return Snapshot(
        loss=value.item(),
        outputs={name: tensor.detach().cpu() for name, tensor in outputs.items()},
        gradients={name: g.cpu() for name, g in zip(outputs, gradients, strict=False)},
        weights={name: p.detach().cpu().clone() for name, p in weights.items()},
        weight_gradients={
            name: g.cpu() for name, g in zip(weights, gradients[len(outputs) :], strict=True)
        },
    )


def find_saturated(
    output: Float[Tensor, "*N C"], beyond: float = SATURATED
) -> Bool[Tensor, "*N C"]:
    """Mark the units that are so near ±1 that hardly any gradient passes them."""
    return output.abs() > beyond


def find_dead(output: Float[Tensor, "*N C"], beyond: float = SATURATED) -> Bool[Tensor, "C"]:
    """Mark the units that are saturated for every example: no gradient reaches their weights."""
    return find_saturated(output, beyond).flatten(0, -2).all(0)


def log_ratio(change: Tensor, data: Tensor) -> float:
    """Return log₁₀(std(change) / std(data)): -3 says that the change is a thousandth."""
    return (change.std() / data.std()).log10().item()


class UpdateLog:
    """Note after each step how far each weight tensor moved, relative to its size.

    Call it after each step (`fit(…, after_step=log)`). What counts is the step that was really
    taken, whatever optimiser took it.

    Attributes:
        ratios: for each matrix or table, log₁₀(std(step) / std(weights)) of each step.
    """

    def __init__(self, model: nn.Module) -> None:
        self._watched = {
            n: p for n, p in model.named_parameters() if p.requires_grad and p.ndim > 1
        }
        self._before = self._copy()
        self.ratios: dict[str, list[float]] = {name: [] for name in self._watched}

    def __call__(self) -> None:
        """Compare the weights with those of the last call."""
        now = self._copy()
        for name, before in self._before.items():
            self.ratios[name].append(log_ratio(now[name] - before, before))
        self._before = now

    def _copy(self) -> dict[str, Tensor]:
        return {name: p.detach().clone() for name, p in self._watched.items()}


def measure_batch_noise(
    model: nn.Module,
    windows: Int[Tensor, "N n"],
    batch_sizes: Sequence[int],
    generator: Generator,
    draws: int = 400,
) -> list[float]:
    """Return, for each batch size, the standard deviation of the batch loss at fixed weights.

    In nats. Batches are drawn with replacement, so that it falls like 1 / √B at every size. The
    model is taken in evaluation mode, where an example's loss doesn't depend on the others.

    Raises:
        ValueError: if there is nothing to draw from, or no spread in what is drawn.
    """
    if not len(windows) or draws < 2 or min(batch_sizes, default=1) < 1:
        raise ValueError(
            f"{draws} draws of {list(batch_sizes)} of {len(windows)} windows: take two draws or "
            "more, and one window or more in each"
        )
    with evaluating(model):
        windows = windows.to(device_of(model))
        each = F.cross_entropy(model(windows[:, :-1]), windows[:, -1], reduction="none").cpu()
    spreads = []
    for size in batch_sizes:
        picked = torch.randint(len(each), (draws, size), generator=generator)
        spreads.append(each[picked].mean(1).std().item())
    return spreads


def measure_pass(model: nn.Module, *inputs: Tensor, repeats: int = 3) -> tuple[float, int]:
    """Return what a pass forward and backward takes: seconds, and numbers kept in between.

    The seconds are those of the fastest of the repeats. What the forward pass keeps for the
    backward pass is counted once, however many operations need it, and weights are left out. A
    number is as long as a weight: a mask of bytes counts as a quarter of a mask of float32.

    Raises:
        ValueError: if there is no repeat.

    Example:
        >>> measure_pass(nn.Sequential(nn.Linear(3, 4), nn.Tanh()), torch.ones(2, 3))[1]
        14
    """
    if repeats < 1:
        raise ValueError(f"{repeats=} must be at least 1")
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        outputs = model(*inputs)
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        torch.autograd.grad(first.sum(), [p for p in model.parameters() if p.requires_grad])
        seconds.append(time.perf_counter() - begin)
    kept: dict[int, Tensor] = {}

    def note(saved: Tensor) -> Tensor:
        kept[saved.untyped_storage().data_ptr()] = saved  # and holds it, or its place is reused
        return saved

    with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
        model(*inputs)
    for p in model.parameters():
        kept.pop(p.untyped_storage().data_ptr(), None)
    length = next(model.parameters()).element_size()
    return min(seconds), sum(one.untyped_storage().nbytes() for one in kept.values()) // length


@contextmanager
def _hooked(layers: dict[str, nn.Module], outputs: dict[str, Tensor]) -> Iterator[None]:
    """Collect what the layers give while the block runs.

    The model goes on with a copy: a later layer may work in place.
    """

    def keeper(name: str) -> Callable[..., Tensor]:
        def keep(module: nn.Module, inputs: tuple, output: object) -> Tensor:
            if not isinstance(output, Tensor):
                raise ValueError(
                    f"layer {name} gives a {type(output).__name__}: watch layers that give a tensor"
                )
            if name in outputs:
                raise ValueError(
                    f"the model uses its layer {name} twice, so that it has no one output: give "
                    "each place a layer of its own"
                )
            frozen = not output.requires_grad  # nothing before it is trained
            outputs[name] = output.detach().requires_grad_() if frozen else output
            return outputs[name].clone()

        return keep

    handles = [part.register_forward_hook(keeper(name)) for name, part in layers.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _left_as_it_was(model: nn.Module) -> Iterator[None]:
    """Put back the buffers, such as running statistics, that a pass in training mode changes."""
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    try:
        yield
    finally:
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(before[name])
