"""More steps than a forecaster was made for."""

import torch
from torch import nn

from coursekit.windows.forecast import Forecast, Forecaster, Known, Marks, Past


class AskedAgain(nn.Module):
    """Forecast several horizons: ask again, each time with the own forecasts as the latest past.

    Errors are read on like values, so bands have to be measured on windows of the whole length.

    Args:
        model: forecasts `horizon` steps. All columns but the target must be known in advance.
        horizon: steps that the model forecasts at once.
    """

    def __init__(self, model: Forecaster, horizon: int) -> None:
        super().__init__()
        if horizon < 1:
            raise ValueError(f"{horizon=} must be at least 1 step: the model's own")
        self.model = model
        self.horizon_asked = horizon
        self.known = getattr(model, "known", None)

    def forward(self, past: Past, known: Known, marks: Marks) -> Forecast:
        """Return the forecast of channel 0 for the steps of `known`, a multiple of the horizon."""
        length, size = past.shape[1], self.horizon_asked
        if known.shape[1] % size:
            raise ValueError(
                f"{known.shape[1]} steps are no multiple of the {size} that the model forecasts at "
                "once: cut windows of a multiple"
            )
        unknown = set(range(1, past.shape[2])) - set(self.known or ())
        if unknown:
            raise ValueError(
                f"columns {sorted(unknown)} of the later steps are neither known in advance nor "
                "forecast: leave them out by series.only(…), or ask for one horizon"
            )
        forecasts = []
        for start in range(0, known.shape[1], size):
            steps = known[:, start : start + size]
            forecast = self.model(past, steps, marks[:, start : start + length + size])
            forecasts.append(forecast)
            latest = torch.cat([forecast[..., None], steps[..., 1:]], -1)
            past = torch.cat([past, latest], 1)[:, -length:]
        return torch.cat(forecasts, 1)
