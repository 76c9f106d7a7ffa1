"""The recipes of Karpathy's makemore lectures (2022), from plain PyTorch and as fast as it goes.

Each is trained as published, 200,000 steps of 32 windows, and must reach its published loss; an
anchor that was slow or badly trained would flatter whatever is set beside it. The lecture shows
its six layers after 1,000 steps only, so for their whole training no loss is published.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

STEPS, BATCH = 200_000, 32


@dataclass(frozen=True)
class Anchor:
    """A recipe: the model, after which step the learning rate falls, what was published."""

    name: str
    make: Callable[[], nn.Module]
    context: int
    falls_at: int
    published: float | None
    seed: int = 42


class OneLayer(nn.Module):
    """Part 2: bare tensors, N(0, 1) draws."""

    def __init__(self) -> None:
        super().__init__()
        shapes = {"C": (27, 10), "W1": (30, 200), "b1": (200,), "W2": (200, 27), "b2": (27,)}
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(torch.randn(shape)))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits after three letters."""
        joined = F.embedding(tokens, self.C).view(-1, 30)
        hidden = torch.addmm(self.b1, joined, self.W1).tanh()
        return torch.addmm(self.b2, hidden, self.W2)


def one_layer_of_modules() -> nn.Module:
    """The same from PyTorch's modules, to compare the cost of a step."""
    parts = [nn.Embedding(27, 10), nn.Flatten(), nn.Linear(30, 200), nn.Tanh(), nn.Linear(200, 27)]
    model = nn.Sequential(*parts)
    for p in model.parameters():
        nn.init.normal_(p)
    return model


class OneLayerNormalised(nn.Module):
    """Part 3, first half: one hidden layer with a scaled start and batch normalisation.

    It draws and computes in the lecture's order, so that the lecture's seed gives the lecture's
    loss; other seeds end at 2.109 to 2.111. PyTorch's batch norm is faster, but divides by
    another deviation, so no share of this anchor's time is reported.
    """

    def __init__(self) -> None:
        super().__init__()
        self.C = nn.Parameter(torch.randn(27, 10))
        self.W1 = nn.Parameter(torch.randn(30, 200) * (5 / 3) / 30**0.5)
        self.W2 = nn.Parameter(torch.randn(200, 27) * 0.01)
        self.b2 = nn.Parameter(torch.randn(27) * 0)
        self.gain, self.bias = nn.Parameter(torch.ones(1, 200)), nn.Parameter(torch.zeros(1, 200))
        self.register_buffer("mean", torch.zeros(1, 200))
        self.register_buffer("std", torch.ones(1, 200))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits after three letters."""
        before = self.C[tokens].view(-1, 30) @ self.W1
        mean, std = self.mean, self.std
        if self.training:
            mean, std = before.mean(0, keepdim=True), before.std(0, keepdim=True)
            with torch.no_grad():
                self.mean = 0.999 * self.mean + 0.001 * mean
                self.std = 0.999 * self.std + 0.001 * std
        return torch.tanh(self.gain * (before - mean) / std + self.bias) @ self.W2 + self.b2


def one_layer_normalised_of_modules() -> nn.Module:
    """The same from PyTorch's modules, to compare the cost of a step."""
    hidden = [_linear(30, 200, 5 / 3), nn.BatchNorm1d(200, momentum=0.001), nn.Tanh()]
    last = nn.Linear(200, 27)
    nn.init.normal_(last.weight, std=0.01)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Embedding(27, 10), nn.Flatten(), *hidden, last)


def six_layers() -> nn.Module:
    """Part 3, second half: batch norm after every linear layer, the last one scaled down."""
    parts: list[nn.Module] = [nn.Embedding(27, 10), nn.Flatten()]
    width = 30
    for _ in range(5):
        parts += [_linear(width, 100, 5 / 3), nn.BatchNorm1d(100), nn.Tanh()]
        width = 100
    last = nn.BatchNorm1d(27)
    nn.init.constant_(last.weight, 0.1)
    return nn.Sequential(*parts, _linear(100, 27, 1.0), last)


class Pairs(nn.Module):
    """Put neighbours side by side."""

    def forward(self, x: Tensor) -> Tensor:
        """Halve the steps, double the channels."""
        return x.view(x.shape[0], x.shape[1] // 2, -1)


class NormOverSteps(nn.BatchNorm1d):
    """PyTorch's batch norm over (N, L, C), without moving memory."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each channel over batch and steps."""
        return super().forward(x.view(-1, x.shape[-1])).view(x.shape)


def wavenet() -> nn.Module:
    """Part 5: eight letters, fused in pairs, 76,579 parameters."""
    parts: list[nn.Module] = [nn.Embedding(27, 24)]
    width = 24
    for _ in range(3):
        parts += [Pairs(), _linear(2 * width, 128, 1.0), NormOverSteps(128), nn.Tanh()]
        width = 128
    last = nn.Linear(128, 27)
    nn.init.normal_(last.weight, std=0.1 / 128**0.5)
    nn.init.zeros_(last.bias)
    return nn.Sequential(*parts, nn.Flatten(), last)


ANCHORS = {
    "one layer": Anchor("one layer", OneLayer, 3, 100_000, 2.1701),
    "one layer, batch norm": Anchor(
        "one layer, batch norm", OneLayerNormalised, 3, 100_000, 2.1057, seed=2_147_483_647
    ),
    "six layers, batch norm": Anchor("six layers, batch norm", six_layers, 3, 150_000, None),
    "WaveNet": Anchor("WaveNet", wavenet, 8, 150_000, 1.9937),
}


def train_anchor(
    anchor: Anchor,
    windows: Tensor,
    measure: Callable[[nn.Module], float],
    *,
    steps: int = STEPS,
    points: int = 25,
) -> tuple[nn.Module, list[tuple[float, float]]]:
    """Train as published; return the model and (seconds, development loss) along the way."""
    generator = torch.manual_seed(anchor.seed)  # one stream for weights and batches
    model = anchor.make()
    model.context = anchor.context  # what scoring asks for
    parameters, curve, spent = list(model.parameters()), [], 0.0
    contexts, targets = windows[:, :-1].contiguous(), windows[:, -1].contiguous()
    start = time.perf_counter()
    for step in range(steps):
        lr = 0.1 if step < anchor.falls_at else 0.01
        descend(model, parameters, contexts, targets, generator, lr)
        if (step + 1) % (steps // points) == 0:
            spent += time.perf_counter() - start
            curve.append((spent, measure(model)))
            model.train()
            start = time.perf_counter()
    return model, curve


def descend(
    model: nn.Module,
    parameters: list[nn.Parameter],
    contexts: Tensor,
    targets: Tensor,
    generator: torch.Generator,
    lr: float,
) -> None:
    """Make one step of plain gradient descent, as the lectures do: no optimiser object."""
    picked = torch.randint(len(targets), (BATCH,), generator=generator)
    loss = F.cross_entropy(model(contexts[picked]), targets[picked])
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        torch._foreach_add_(parameters, gradients, alpha=-lr)


def _linear(d_in: int, d_out: int, gain: float) -> nn.Linear:
    layer = nn.Linear(d_in, d_out, bias=False)
    nn.init.normal_(layer.weight, std=gain / d_in**0.5)
    return layer
