"""Linear forecasts: one layer from past to future, or one for the trend and one for the rest."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from coursekit.windows.forecast import Forecast, Known, Marks, Past


class OneLayer(nn.Module):
    """Forecast each of P steps as its own weighted sum of the target's last T values: a forecaster.

    y = W x + b ("Linear": Zeng et al. 2023, section 4), trained by gradient; `RelativeToLast` of
    it is NLinear. The other columns and the calendar are not read. Weights start as 1/T, which
    the authors' code offers in a comment, and biases as 0: the first forecast is the mean of the
    past, whatever the seed.

    Args:
        context: values T that are read, the last ones of a window.
        horizon: steps P that are forecast.

    Raises:
        ValueError: if one of them is below 1.
    """

    def __init__(self, context: int, horizon: int) -> None:
        super().__init__()
        self.layer = _averaging_layer(context, horizon)

    def forward(self, past: Past, known: Known, marks: Marks) -> Forecast:
        """Forecast channel 0 for the steps of `known`; an older past is not read."""
        return self.layer(_take_recent(past, known, self.layer))


def moving_average(x: Float[Tensor, "*N T"], width: int) -> Float[Tensor, "*N T"]:
    """Return at each step the mean of the `width` values around it.

    Beyond either end stand copies of the first or the last value (Zeng et al. 2023, in their code).

    Raises:
        ValueError: if `width` is not odd, so that no step would be in the middle.

    Example:
        >>> moving_average(torch.tensor([0.0, 3.0, 6.0, 12.0]), width=3)
        tensor([ 1.,  3.,  7., 10.])
    """
    if width < 1 or not width % 2:
        raise ValueError(f"{width=} must be odd and at least 1, so that a step is in its middle")
    ends = [1] * (x.ndim - 1) + [width // 2]
    padded = torch.cat([x[..., :1].repeat(ends), x, x[..., -1:].repeat(ends)], -1)
    return padded.unfold(-1, width, 1).mean(-1)


class Decomposed(nn.Module):
    """Forecast the trend of the target and what is left of it, by a layer each: a forecaster.

    W_t t + b_t + W_s (x - t) + b_s with the moving average t of the last T values x (DLinear: Zeng
    et al. 2023, section 4). Both layers start as that of `OneLayer` does, so here, too, the first
    forecast is the mean of the past. The other columns and the calendar are not read.

    Args:
        context: values T that are read, the last ones of a window.
        horizon: steps P that are forecast.
        width: of the moving average; odd.

    Raises:
        ValueError: if a size is below 1, or `width` is even.
    """

    def __init__(self, context: int, horizon: int, width: int = 25) -> None:
        super().__init__()
        moving_average(torch.zeros(1), width)  # refuses a wrong width now, not at the first window
        self.width = width
        self.trend = _averaging_layer(context, horizon)
        self.season = _averaging_layer(context, horizon)

    def forward(self, past: Past, known: Known, marks: Marks) -> Forecast:
        """Forecast channel 0 for the steps of `known`; an older past is not read."""
        recent = _take_recent(past, known, self.trend)
        trend = moving_average(recent, self.width)
        return self.trend(trend) + self.season(recent - trend)


def _averaging_layer(context: int, horizon: int) -> nn.Linear:
    """Make a layer of which each output is the mean of the inputs."""
    if min(context, horizon) < 1:
        raise ValueError(f"{context=} and {horizon=} must be at least 1")
    layer = nn.Linear(context, horizon)
    nn.init.constant_(layer.weight, 1 / context)
    nn.init.zeros_(layer.bias)
    return layer


def _take_recent(
    past: Float[Tensor, "B L C"], known: Float[Tensor, "B P C"], layer: nn.Linear
) -> Float[Tensor, "B T"]:
    """Return the target's last T values; refuse windows of other sizes than the layer's."""
    context, horizon = layer.in_features, layer.out_features
    if past.shape[1] < context or known.shape[1] != horizon:
        raise ValueError(
            f"{past.shape[1]} steps of past and {known.shape[1]} to come instead of {context} or "
            f"more and {horizon}: cut the windows to these sizes"
        )
    return past[:, -context:, 0]
