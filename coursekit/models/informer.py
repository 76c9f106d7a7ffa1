"""Informer: read a long past in ever fewer steps, then forecast all steps to come at once."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from coursekit.layers.attention import MultiHeadAttention, Rule, attend, attend_past
from coursekit.layers.block import Block, DecoderBlock, FeedForward
from coursekit.layers.convolution import Distil
from coursekit.layers.position import CalendarEmbedding, SinusoidalPositions
from coursekit.layers.prob_sparse import prob_sparse
from coursekit.windows.forecast import Forecast, Known, Marks, Past

Calendar = Callable[[int, int], nn.Module]

DEFAULT_RULE = prob_sparse()
"""How a head of the encoder mixes steps, unless another rule is given."""


@dataclass(frozen=True, kw_only=True)
class InformerConfig:
    """Sizes of an `Informer`; everything a checkpoint needs to rebuild it.

    Attributes:
        n_channel: columns of the series; column 0 is the target.
        context: steps L of the past that the encoder reads.
        label_len: the last ones of them, which the decoder reads before the steps to come.
        horizon: steps P that are forecast.
        n_encoder, n_decoder: blocks.
        n_head: heads H of each attention; they share the channels.
        d_model: channels C.
        d_time: channels of each table of the calendar.
        known: the columns that are known in advance; never column 0, the target.
        dropout: probability that a number of an embedding, or added to the stream, is set to 0
            while training.
    """

    n_channel: int = 1
    context: int = 96
    label_len: int = 48
    horizon: int = 24
    n_encoder: int = 2
    n_decoder: int = 1
    n_head: int = 4
    d_model: int = 64
    d_time: int = 8
    known: tuple[int, ...] = ()
    dropout: float = 0.1

    def __post_init__(self) -> None:
        sizes = (self.n_channel, self.context, self.horizon, self.n_head, self.d_model, self.d_time)
        if min(sizes) < 1 or min(self.n_encoder, self.n_decoder) < 1 or not 0 <= self.dropout < 1:
            raise ValueError(f"{self} has a size below 1, or a dropout outside 0 … 1")
        if not 0 <= self.label_len <= self.context:
            raise ValueError(f"label_len={self.label_len} must lie between 0 and {self.context=}")
        if not set(self.known) <= set(range(1, self.n_channel)):
            raise ValueError(
                f"known={self.known} must be columns from 1 to {self.n_channel - 1}: "
                "column 0 is the target"
            )


class SeriesEmbedding(nn.Module):
    """Give each step of a series a vector of its values, its position and its calendar, normalised.

    norm(x W + b + sinusoidal codes + calendar).

    Args:
        n_channel: columns of the series.
        config: the other sizes.
        calendar: makes what turns marks into vectors, from d_time and d_model; None: no calendar.
    """

    def __init__(self, n_channel: int, config: InformerConfig, calendar: Calendar | None) -> None:
        super().__init__()
        width = config.d_model
        self.content = nn.Linear(n_channel, width)
        self.positions = SinusoidalPositions(config.context + config.horizon, width)
        self.calendar = calendar(config.d_time, width) if calendar else None
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "B T K"], marks: Int[Tensor, "B T 3"], start: int = 0
    ) -> Float[Tensor, "B T C"]:
        """Return the vectors of the steps from position `start` on."""
        x = self.positions(self.content(x), start)
        return self.drop(self.norm(x + self.calendar(marks) if self.calendar else x))


class Informer(nn.Module):
    """Forecast the next P steps of channel 0 at once: a forecaster.

    Zhou et al. 2021, with the norms before what is added and one at the end of either half. The
    decoder reads start tokens, the last `label_len` steps of the past, and then the steps to come,
    whose values are 0 unless they are known in advance; a channel of its own says so, for 0 is also
    a value. A step has the same position in both halves.

    Args:
        config: the sizes.
        rule: how a head of the encoder mixes steps.
        decoder_rule: the same of the decoder's attention to itself.
        cross_rule: the same of the decoder's attention to the encoder.
        calendar: makes what turns marks into vectors, from d_time and d_model. With None there is
            none: a month that was seen once can only be learnt by heart.
        distil: whether the steps are halved after each block of the encoder but the last.
        head_std: of the last layer's first weights. At 0 every first forecast is 0.
    """

    def __init__(
        self,
        config: InformerConfig,
        *,
        rule: Rule = DEFAULT_RULE,
        decoder_rule: Rule = attend_past,
        cross_rule: Rule = attend,
        calendar: Calendar | None = CalendarEmbedding,
        distil: bool = True,
        head_std: float = 0.0,
    ) -> None:
        super().__init__()
        self.config = config
        self.known = config.known
        width = config.d_model
        attention = partial(MultiHeadAttention, width, config.n_head, bias=True)
        norm = partial(nn.LayerNorm, width)
        self.encoder_embedding = SeriesEmbedding(config.n_channel, config, calendar)
        self.decoder_embedding = SeriesEmbedding(config.n_channel + 1, config, calendar)
        self.encoder = nn.ModuleList(
            Block(attention(rule=rule), FeedForward(width), norm, dropout=config.dropout)
            for _ in range(config.n_encoder)
        )
        n_distil = config.n_encoder - 1 if distil else 0
        self.distils = nn.ModuleList(Distil(width) for _ in range(n_distil))
        self.decoder = nn.ModuleList(
            DecoderBlock(
                attention(rule=decoder_rule),
                attention(rule=cross_rule),
                FeedForward(width),
                norm,
                dropout=config.dropout,
            )
            for _ in range(config.n_decoder)
        )
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.head = nn.Linear(width, 1)
        nn.init.normal_(self.head.weight, std=head_std)
        nn.init.zeros_(self.head.bias)

    def forward(self, past: Past, known: Known, marks: Marks) -> Forecast:
        """Return the forecast of channel 0 for the steps of `known`."""
        config = self.config
        if (past.shape[1], known.shape[1]) != (config.context, config.horizon):
            raise ValueError(
                f"{past.shape[1]} steps of past and {known.shape[1]} to come instead of "
                f"{config.context} and {config.horizon}: cut the windows to the sizes of the config"
            )
        if past.shape[2] != config.n_channel:
            raise ValueError(
                f"windows of {past.shape[2]} columns for n_channel={config.n_channel}: take the "
                "sizes from them, InformerConfig(**windows.sizes), or choose by series.only(…)"
            )
        memory = self.encode(past, marks[:, : config.context])
        start = config.context - config.label_len
        x = self.decoder_embedding(self.decoder_input(past, known), marks[:, start:], start)
        for block in self.decoder:
            x = block(x, memory)
        return self.head(self.decoder_norm(x[:, config.label_len :]))[..., 0]

    def encode(
        self, past: Float[Tensor, "B L K"], marks: Int[Tensor, "B L 3"]
    ) -> Float[Tensor, "B S C"]:
        """Return what the encoder makes of the past: fewer steps, if it distils."""
        x = self.encoder_embedding(past, marks)
        for i, block in enumerate(self.encoder):
            x = block(x)
            if i < len(self.distils):
                x = self.distils[i](x)
        return self.encoder_norm(x)

    def decoder_input(
        self, past: Float[Tensor, "B L K"], known: Float[Tensor, "B P K"]
    ) -> Float[Tensor, "B T N"]:
        """Return what the decoder reads: start tokens, the steps to come, and which is which."""
        start = past.shape[1] - self.config.label_len
        steps = torch.cat([past[:, start:], known], 1)
        is_masked = torch.zeros_like(steps[..., :1])
        is_masked[:, self.config.label_len :] = 1.0
        # Whoever passes on the true future: it is gone. A product would let a NaN through.
        target = steps[..., :1].masked_fill(is_masked > 0, 0.0)
        return torch.cat([target, steps[..., 1:], is_masked], -1)
