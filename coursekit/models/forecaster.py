"""A decoder-only transformer for series: it reads what has happened, one step late."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from coursekit.layers.attention import KeysAndValues, MultiHeadAttention, Rule, attend_past
from coursekit.layers.basic import LayerNorm
from coursekit.layers.block import Activation, Block, FeedForward, gelu
from coursekit.layers.position import SinusoidalPositions


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
        dropout: share of the numbers set to 0 in what is added to the stream, while training.
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


@dataclass(frozen=True)
class SeriesPast:
    """What a `SeriesTransformer` remembers: how many steps it read, and what each block keeps."""

    steps: int
    blocks: list[KeysAndValues]


class SeriesTransformer(nn.Module):
    """Forecast a series step by step, each forecast from all that happened before.

    p(z_1, …, z_T | x) = Π p(z_t | z_1, …, z_{t-1}, x_1, …, x_t): the mean of one such term is what
    the network returns. Trained by `OneStep`, a Forecaster afterwards: it reads its own forecasts.

    Args:
        config: the sizes.
        attention: makes the attention of a block from channels, heads and rule.
        rule: how a head mixes steps. It must not read the future.
        activation: of the feed-forward networks.
        positions: makes what adds a step's place to its vector; None: the rule alone orders steps.
        calendar: makes a vector from a step's hour, weekday and month; None leaves that out.
        norm: makes a normalisation for C channels.
        relative: whether a forecast is the value of the step before plus what the network adds.
    """

    def __init__(
        self,
        config: SeriesTransformerConfig,
        *,
        attention: Callable[[int, int, Rule], MultiHeadAttention] = MultiHeadAttention,
        rule: Rule = attend_past,
        activation: Activation = gelu,
        positions: Callable[[int, int], nn.Module] | None = SinusoidalPositions,
        calendar: Callable[[int], nn.Module] | None = None,
        norm: Callable[[int], nn.Module] = LayerNorm,
        relative: bool = False,
    ) -> None:
        super().__init__()
        self.config, self.context, self.relative = config, config.context, relative
        width = config.d_model

        def block() -> Block:
            mixing = attention(width, config.n_head, rule)
            thinking = FeedForward(width, activation)
            return Block(mixing, thinking, partial(norm, width), dropout=config.dropout)

        self.input = nn.Linear(config.n_column, width)
        self.positions = positions(config.context, width) if positions else None
        self.calendar = calendar(width) if calendar else None
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(block() for _ in range(config.n_layer))
        self.norm = norm(width)
        self.head = nn.Linear(width, config.n_column)
        is_known = [column in config.known for column in range(config.n_column)]
        self.register_buffer("is_known", torch.tensor(is_known), persistent=False)

    def advance(
        self,
        inputs: Float[Tensor, "B T C"],
        marks: Int[Tensor, "B T 3"],
        past: SeriesPast | None = None,
    ) -> tuple[Float[Tensor, "B T C"], SeriesPast]:
        """Return the forecast that each of the steps `inputs` after `past` makes, and the new past.

        Args:
            inputs: the augmented history, y_t for the forecast of z_t.
            marks: the calendar of the same steps.
        """
        start, before = (past.steps, past.blocks) if past else (0, [None] * len(self.blocks))
        x, new = self.input(inputs), []
        x = x + self.calendar(marks) if self.calendar else x
        x = self.drop(self.positions(x, start) if self.positions else x)
        for block, kept in zip(self.blocks, before, strict=True):
            x, after = block.advance(x, kept)
            new.append(after)
        forecast = self.head(self.norm(x))
        forecast = inputs + forecast if self.relative else forecast
        return forecast, SeriesPast(start + inputs.shape[1], new)

    def one_step(
        self, values: Float[Tensor, "B T C"], marks: Int[Tensor, "B T 3"]
    ) -> Float[Tensor, "B T C"]:
        """Return the forecast of each step from the true values of all earlier ones.

        Forecast t reads no value of step t or later. Known columns are returned as they are.
        """
        known = self.config.known
        forecast, _ = self.advance(augment(values, known), marks)
        return self._keep_known(forecast, values)

    def forecast_all(
        self,
        past: Float[Tensor, "B L C"],
        known: Float[Tensor, "B P C"],
        marks: Int[Tensor, "B L+P 3"],
    ) -> Float[Tensor, "B P C"]:
        """Return the forecasts of all columns for P steps, each made from the ones before it."""
        read, steps = past.shape[1], known.shape[1]
        if steps < 1:
            raise ValueError(
                "no step to forecast: give `known` a row for each, of zeros if need be"
            )
        inputs = augment(torch.cat([past, known], 1), self.config.known)
        made, memory = self.advance(inputs[:, : read + 1], marks[:, : read + 1])
        forecasts = [self._keep_known(made[:, -1:], known[:, :1])]
        for step in range(1, steps):
            at = slice(read + step, read + step + 1)
            latest = self._keep_known(forecasts[-1], inputs[:, at])
            made, memory = self.advance(latest, marks[:, at], memory)
            forecasts.append(self._keep_known(made, known[:, step : step + 1]))
        return torch.cat(forecasts, 1)

    def forward(
        self,
        past: Float[Tensor, "B L C"],
        known: Float[Tensor, "B P C"],
        marks: Int[Tensor, "B L+P 3"],
    ) -> Float[Tensor, "B P"]:
        """Return the forecasts of the target, column 0."""
        return self.forecast_all(past, known, marks)[..., 0]

    def _keep_known(
        self, forecast: Float[Tensor, "B T C"], values: Float[Tensor, "B T C"]
    ) -> Float[Tensor, "B T C"]:
        """Put the known columns of `values` in the place of their forecasts."""
        return torch.where(self.is_known, values, forecast)


class OneStep(nn.Module):
    """Present a `SeriesTransformer` to `fit` as what it is trained for: `one_step`."""

    def __init__(self, model: SeriesTransformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, values: Float[Tensor, "B T C"], marks: Int[Tensor, "B T 3"]
    ) -> Float[Tensor, "B T C"]:
        """Return the forecast of each step from the true values of all earlier ones."""
        return self.model.one_step(values, marks)
