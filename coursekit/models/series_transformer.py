"""A decoder-only transformer for series: it reads what has happened, one step late."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.attention import MultiHeadAttention, Rule, attend_past
from coursekit.layers.block import Activation, Block, FeedForward, gelu
from coursekit.layers.cache import Cache
from coursekit.layers.position import SinusoidalPositions
from coursekit.windows.forecast import Forecast, Known, Marks, Past


def augment(values: Float[Tensor, "B T C"], known: tuple[int, ...] = ()) -> Float[Tensor, "B T C"]:
    """Return y_t = [z_{t-1}, x_t]: each value a step late, known columns in time.

    Before the first step stands 0. So no y_t holds the z_t that is to be forecast from it (Li et
    al. 2019, section 3).

    Args:
        known: the columns x that are known in advance; all others are z.
    """
    late = F.pad(values, (0, 0, 1, 0))[:, :-1]
    for column in known:
        late[..., column] = values[..., column]
    return late


@dataclass(frozen=True, kw_only=True)
class SeriesTransformerConfig:
    """Sizes of a `SeriesTransformer`.

    Attributes:
        n_column: columns C of the series.
        context: steps that are read at most, those to be forecast included.
        n_layer: blocks.
        n_head: heads of each block; they share the channels.
        d_model: channels inside.
        known: the columns that are known in advance; never column 0, the target.
        dropout: probability that a number added to the stream is set to 0 while training.
    """

    n_column: int = 1
    context: int = 256
    n_layer: int = 2
    n_head: int = 4
    d_model: int = 32
    known: tuple[int, ...] = ()
    dropout: float = 0.0

    def __post_init__(self) -> None:
        sizes = (self.n_column, self.context, self.n_head, self.d_model)
        if min(sizes) < 1 or self.n_layer < 0 or not 0 <= self.dropout < 1:
            raise ValueError(f"{self} has a size below 1, or a dropout outside 0 … 1")
        if not set(self.known) <= set(range(1, self.n_column)):
            raise ValueError(
                f"known={self.known} must be columns from 1 to {self.n_column - 1}: "
                "column 0 is the target"
            )


class SeriesTransformer(nn.Module):
    """Forecast a series step by step, each forecast from all that happened before.

    p(z_1, …, z_T | x) = Π p(z_t | z_1, …, z_{t-1}, x_1, …, x_t): the mean of one such term is what
    the network returns. It is trained as `OneStep`, and forecasts as `IteratedForecast`.

    Args:
        config: the sizes.
        attention: makes the attention of a block from channels, heads and rule.
        rule: how a head mixes steps. It must not read the future.
        activation: of the feed-forward networks.
        positions: makes what adds a step's position to its vector; None: the rule orders steps.
        calendar: makes a vector from a step's hour, weekday and month; None leaves that out.
        norm: makes a normalisation for C channels.
        relative: whether a forecast is the value of the step before plus what the network adds.
    """

    is_known: Tensor

    def __init__(
        self,
        config: SeriesTransformerConfig,
        *,
        attention: Callable[[int, int, Rule], MultiHeadAttention] = MultiHeadAttention,
        rule: Rule = attend_past,
        activation: Activation = gelu,
        positions: Callable[[int, int], nn.Module] | None = SinusoidalPositions,
        calendar: Callable[[int], nn.Module] | None = None,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
        relative: bool = False,
    ) -> None:
        super().__init__()
        self.config = config
        self.context = config.context
        self.relative = relative
        width = config.d_model

        def block() -> Block:
            mixer = attention(width, config.n_head, rule)
            feed_forward = FeedForward(width, activation)
            return Block(mixer, feed_forward, partial(norm, width), dropout=config.dropout)

        self.input = nn.Linear(config.n_column, width)
        self.positions = positions(config.context, width) if positions else None
        self.calendar = calendar(width) if calendar else None
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(block() for _ in range(config.n_layer))
        self.norm = norm(width)
        self.head = nn.Linear(width, config.n_column)
        is_known = [column in config.known for column in range(config.n_column)]
        self.register_buffer("is_known", torch.tensor(is_known), persistent=False)

    def forward(
        self,
        inputs: Float[Tensor, "B T C"],
        marks: Int[Tensor, "B T 3"],
        allowed: Bool[Tensor, "*#B T S"] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "B T C"]:
        """Return the forecast that each step makes.

        Args:
            inputs: the augmented history, y_t for the forecast of z_t (see `augment`).
            marks: the calendar of the same steps.
            allowed: which steps a step may read, beyond what the rule hides: (B, 1, T, S).
            cache: what was read before; these steps follow it.
        """
        start = 0 if cache is None else cache.count(inputs.shape[1])
        x = self.input(inputs)
        if self.calendar is not None:
            x = x + self.calendar(marks)
        if self.positions is not None:
            x = self.positions(x, start)
        x = self.drop(x)
        for block in self.blocks:
            x = block(x, allowed, cache)
        forecast = self.head(self.norm(x))
        return inputs + forecast if self.relative else forecast

    def keep_known(
        self, forecast: Float[Tensor, "B T C"], values: Float[Tensor, "B T C"]
    ) -> Float[Tensor, "B T C"]:
        """Put the known columns of `values` in the place of their forecasts."""
        return torch.where(self.is_known, values, forecast)


class OneStep(nn.Module):
    """Forecast each step of a series from the true values of all earlier ones: for training.

    Forecast t reads no value of step t or later. Known columns are returned as they are.
    """

    def __init__(self, model: SeriesTransformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, values: Float[Tensor, "B T C"], marks: Int[Tensor, "B T 3"]
    ) -> Float[Tensor, "B T C"]:
        """Return the forecasts of all columns."""
        inputs = augment(values, self.model.config.known)
        return self.model.keep_known(self.model(inputs, marks), values)


class IteratedForecast(nn.Module):
    """Forecast P steps one by one, each from the forecasts before it: a forecaster.

    Args:
        model: what forecasts one step; it reads each step once, by a cache.
    """

    def __init__(self, model: SeriesTransformer) -> None:
        super().__init__()
        self.model = model
        self.known = model.config.known

    def forward(self, past: Past, known: Known, marks: Marks) -> Forecast:
        """Return the forecasts of the target, column 0."""
        return self.forecast_all(past, known, marks)[..., 0]

    def forecast_all(self, past: Past, known: Known, marks: Marks) -> Float[Tensor, "B P C"]:
        """Return the forecasts of all columns."""
        if known.shape[1] < 1:
            raise ValueError(
                "no step to forecast: give `known` a row for each, of zeros if need be"
            )
        keep_known, read = self.model.keep_known, past.shape[1]
        inputs = augment(torch.cat([past, known], 1), self.model.config.known)
        cache = Cache()
        made = self.model(inputs[:, : read + 1], marks[:, : read + 1], cache=cache)
        forecasts = [keep_known(made[:, -1:], known[:, :1])]
        for step in range(1, known.shape[1]):
            at = slice(read + step, read + step + 1)
            latest = keep_known(forecasts[-1], inputs[:, at])
            made = self.model(latest, marks[:, at], cache=cache)
            forecasts.append(keep_known(made, known[:, step : step + 1]))
        return torch.cat(forecasts, 1)
