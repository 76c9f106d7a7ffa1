"""Forecast the change since the last step instead of the value itself."""

from collections.abc import Callable, Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn


class RelativeToLast(nn.Module):
    """Turn a forecaster of values into one of changes: what comes minus what is there.

    forecast = model(x - x_T) + y_T, with the last step x_T of each window and its target y_T
    (NLinear: Zeng et al. 2023, section 4). A series whose level drifts then looks alike in
    every year, and a model that returns 0 forecasts the last value.

    Args:
        model: the forecaster.
        known: the columns that are known in advance. The others are 0 in the steps to come,
            which means "not known" and stays so.
    """

    def __init__(self, model: Callable[..., Tensor], known: Sequence[int] = ()) -> None:
        super().__init__()
        self.model, self.known = model, list(known)

    def forward(
        self,
        past: Float[Tensor, "B L C"],
        known: Float[Tensor, "B P C"],
        marks: Int[Tensor, "B L+P 3"],
    ) -> Float[Tensor, "B P"]:
        """Return the forecast of channel 0, as high as `past` is."""
        last = past[:, -1:]
        if self.known:
            known = known.clone()
            known[..., self.known] -= last[..., self.known]
        return self.model(past - last, known, marks) + last[..., 0]
