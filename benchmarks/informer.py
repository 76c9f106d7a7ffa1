"""The Informers of the benchmark: sizes, recipes, training, and the cost of a step."""

import statistics
import time
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel

from coursekit.layers.attention import attend
from coursekit.layers.position import CalendarEmbedding, sinusoidal_codes
from coursekit.models.informer import Informer, InformerConfig
from coursekit.training.fit import fit
from coursekit.training.optimiser import adamw, warm_up_cosine
from coursekit.windows.forecast import Windows, draw_forecasts, shift_levels


@dataclass(frozen=True)
class Recipe:
    """How one model is trained.

    Attributes:
        steps, batch_size: of the training.
        every: steps after which the averaged weights are scored on a part of the validation.
        thin: windows of the validation of which one is then scored.
        lift: standard deviation of a number that is added to a whole window, past and target
            alike, drawn anew each time; 0 leaves windows as they are.
        lr, weight_decay: of AdamW; the learning rate is the highest of its schedule.
    """

    steps: int
    batch_size: int = 32
    every: int = 50
    thin: int = 8
    lift: float = 0.0
    lr: float = 0.01
    weight_decay: float = 0.1


RELATIVE = {
    24: Recipe(400),
    48: Recipe(400),
    168: Recipe(250, thin=16),
    336: Recipe(150, thin=32),
    720: Recipe(120, 16, every=30, thin=48),
}
PLAIN = {horizon: replace(recipe, lift=1.0) for horizon, recipe in RELATIVE.items()}


class HourEmbedding(CalendarEmbedding):
    """A calendar of the hour alone: every hour is seen each day, a month in one year only."""

    def __init__(self, d_time: int, d_model: int) -> None:
        super().__init__(d_time, d_model, (24,))

    def forward(self, marks: Int[Tensor, "B T 3"]) -> Float[Tensor, "B T C"]:
        """Return the vector of each step's hour."""
        return super().forward(marks[..., :1])


CONTEXT, COST_HORIZON = 96, 24


def informer(windows: dict[str, Any], calendar: type | None = None) -> Informer:
    """Return an Informer for windows of these sizes, before it is trained."""
    config = InformerConfig(**windows, label_len=48, n_head=2, d_model=16, dropout=0.0)
    return Informer(config, calendar=calendar)


def lean(average: Tensor, weight: Tensor, done: Tensor | int) -> Tensor:
    """Move an average towards a weight: by 1/100, and by more in the first steps."""
    return average + (weight - average) * max(0.01, 9 / (10 + int(done)))


def thin_mse(model: nn.Module, windows: Windows, thin: int) -> float:
    """Return the mean squared error on every `thin`-th window."""
    total, count = 0.0, 0
    with torch.no_grad():
        for rows in torch.arange(0, len(windows), thin).split(64):
            inputs, target = windows.take(rows)
            total += (model(*inputs) - target).double().square().sum().item()
            count += target.numel()
    return total / count


def train_forecaster(
    model: nn.Module, recipe: Recipe, train: Windows, valid: Windows, seed: int = 0
) -> tuple[nn.Module, float, list[tuple[int, float]]]:
    """Train a forecaster; return its averaged weights where they were best, seconds, and the curve.

    Weights are averaged over about the last hundred steps; the validation chooses the moment. The
    curve holds steps and the error on a part of the validation.
    """
    generator = torch.Generator().manual_seed(seed)
    batches = draw_forecasts(train, recipe.batch_size, generator)
    if recipe.lift:
        batches = shift_levels(batches, recipe.lift, generator)
    average = AveragedModel(model, avg_fn=lean).eval()
    best, start = (float("inf"), model), time.perf_counter()

    def measure() -> float:
        nonlocal best
        error = thin_mse(average, valid, recipe.thin)
        if error < best[0]:
            best = (error, deepcopy(average.module))
        return error

    history = fit(
        model,
        adamw(model, recipe.lr, weight_decay=recipe.weight_decay),
        batches,
        steps=recipe.steps,
        loss=F.mse_loss,
        schedule=warm_up_cosine(recipe.steps),
        clip=1.0,
        measure=measure,
        every=recipe.every,
        after_step=lambda: average.update_parameters(model),
    )
    return best[1].eval(), time.perf_counter() - start, history.measured


class MeanForecast(nn.Module):
    """Forecast the mean of what several forecasters say."""

    def __init__(self, forecasters: list[nn.Module]) -> None:
        super().__init__()
        self.forecasters = nn.ModuleList(forecasters)

    def forward(self, past: Tensor, known: Tensor, marks: Tensor) -> Tensor:
        """Return the mean forecast."""
        return torch.stack([model(past, known, marks) for model in self.forecasters]).mean(0)


class OfModules(nn.Module):
    """The same model put together from PyTorch's modules, with dense attention throughout."""

    def __init__(self, config: InformerConfig) -> None:
        super().__init__()
        width, self.label_len = config.d_model, config.label_len
        sizes = {"d_model": width, "nhead": config.n_head, "dim_feedforward": 4 * width}
        options = {"dropout": 0.0, "batch_first": True, "norm_first": True}
        options["activation"] = partial(F.gelu, approximate="tanh")
        self.encoder_content, self.decoder_content = nn.Linear(1, width), nn.Linear(2, width)
        self.encoder_start, self.decoder_start = nn.LayerNorm(width), nn.LayerNorm(width)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(**sizes, **options) for _ in "12")
        conv = nn.Conv1d(width, width, 3, padding=1)
        self.distil = nn.Sequential(conv, nn.ELU(), nn.MaxPool1d(3, 2, 1))
        self.decoder = nn.TransformerDecoderLayer(**sizes, **options)
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.head = nn.Linear(width, 1)
        steps = config.label_len + config.horizon
        codes = sinusoidal_codes(config.context + config.horizon, width)
        self.register_buffer("codes", codes)
        self.register_buffer("hidden", torch.ones(steps, steps, dtype=torch.bool).triu(1))

    def forward(self, past: Tensor, known: Tensor, marks: Tensor) -> Float[Tensor, "B P"]:
        """Return the forecast."""
        start, label_len = past.shape[1] - self.label_len, self.label_len
        x = self.encoder_start(self.encoder_content(past) + self.codes[: past.shape[1]])
        first, second = self.encoder
        memory = self.encoder_norm(second(self.distil(first(x).mT).mT))
        steps = F.pad(torch.cat([past[:, start:], known], 1), (0, 1))
        steps[:, label_len:, 1] = 1.0
        x = self.decoder_start(self.decoder_content(steps) + self.codes[start:])
        x = self.decoder(x, memory, tgt_mask=self.hidden, tgt_is_causal=True)
        return self.head(self.decoder_norm(x[:, label_len:]))[..., 0]


def costs_of_a_step(
    models: dict[str, nn.Module], *, rounds: int = 15, steps: int = 5
) -> dict[str, float]:
    """Return the median milliseconds of a training step of 32 windows, the models in turn."""
    generator = torch.Generator().manual_seed(0)
    past = torch.randn(32, CONTEXT, 1, generator=generator)
    known, target = torch.zeros(32, COST_HORIZON, 1), torch.zeros(32, COST_HORIZON)
    marks = torch.zeros(32, CONTEXT + COST_HORIZON, 3).long()
    optimisers = {name: adamw(model, 0.001) for name, model in models.items()}
    times = {name: [] for name in models}
    for _ in range(rounds):
        for name, model in models.items():
            start = time.perf_counter()
            for _ in range(steps):
                optimisers[name].zero_grad()
                F.mse_loss(model(past, known, marks), target).backward()
                optimisers[name].step()
            times[name].append((time.perf_counter() - start) / steps * 1e3)
    return {name: statistics.median(found) for name, found in times.items()}


def measure_costs() -> dict[str, float]:
    """Return the milliseconds of a training step: ours, and the same from PyTorch's modules."""
    torch.manual_seed(0)
    config = informer({"context": CONTEXT, "horizon": COST_HORIZON}).config
    models = {
        "the same model from PyTorch's modules, dense attention": OfModules(config),
        "our `Informer`, dense attention": Informer(config, rule=attend, calendar=None),
        "our `Informer`, ProbSparse attention": Informer(config, calendar=None),
    }
    return costs_of_a_step(models)
