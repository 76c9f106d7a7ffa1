"""Forecast the change since the last step instead of the value itself."""

from torch import nn

from coursekit.windows.forecast import Forecast, Forecaster, Known, Marks, Past


class RelativeToLast(nn.Module):
    """Turn a forecaster of values into one of changes: what comes minus what is there.

    forecast = model(x - x_T) + y_T, with the last step x_T of each window and its target y_T
    (NLinear: Zeng et al. 2023, section 4). A series whose level drifts then looks alike in
    every year, and a model that returns 0 forecasts the last value.

    Args:
        model: the forecaster. What it names as known in advance is counted from its last value,
            too; other columns of the steps to come are 0, which means "not known" and stays so.
    """

    def __init__(self, model: Forecaster) -> None:
        super().__init__()
        self.model = model
        self.known = getattr(model, "known", None)  # None: it may be given any

    def forward(self, past: Past, known: Known, marks: Marks) -> Forecast:
        """Return the forecast of channel 0, as high as `past` is."""
        last = past[:, -1:]
        columns = list(self.known or ())
        changes = known.clone()
        changes[..., columns] -= last[..., columns]
        return self.model(past - last, changes, marks) + last[..., 0]
