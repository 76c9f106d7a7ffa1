"""Forecast in units of the window's own mean and standard deviation."""

import torch
from torch import nn

from coursekit.windows.forecast import Forecast, Forecaster, Known, Marks, Past


class InstanceNorm(nn.Module):
    """Bring each window's target to mean 0 and standard deviation 1, forecast, and go back.

    forecast = σ model((x - μ) / σ) + μ, with μ the mean of the target's own past in the window and
    σ = √(variance + ε), the variance with 1/T Σ (RevIN: Kim et al. 2022, eq. 1 to 3, for the target
    alone). No gradient goes through μ and σ, as in the authors' code. The other columns are passed
    on as they are, those known in advance, too: they stay in their own units.

    Args:
        model: the forecaster. What it names as known in advance is this one's, too.
        affine: whether the model reads γ (x - μ) / σ + β, with γ and β trained, and what it
            forecasts is taken back by the same two. They start at 1 and 0. The authors' code adds
            ε² to the γ that it divides by; here both steps are exact inverses.
        eps: ε, so that a constant window gives 0 and not NaN. A window whose variance is not
            far above ε keeps a smaller standard deviation than 1: scale the series first.

    Raises:
        ValueError: if `eps` is negative.

    Example:
        >>> norm = InstanceNorm(lambda past, known, marks: torch.zeros_like(known[..., 0]))
        >>> past, known = torch.tensor([[[1.0], [2.0], [6.0]]]), torch.zeros(1, 2, 1)
        >>> norm(past, known, torch.zeros(1, 5, 3, dtype=torch.long))  # 0 is the mean of the past
        tensor([[3., 3.]])
    """

    def __init__(self, model: Forecaster, affine: bool = False, eps: float = 1e-5) -> None:
        super().__init__()
        if not eps >= 0:
            raise ValueError(f"{eps=} is added to a variance: give 0 or more")
        self.model = model
        self.known = getattr(model, "known", None)  # None: it may be given any
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(())) if affine else None
        self.shift = nn.Parameter(torch.zeros(())) if affine else None

    def forward(self, past: Past, known: Known, marks: Marks) -> Forecast:
        """Return the forecast of channel 0, in the unit of `past`."""
        target = past[..., :1].detach()
        mean = target.mean(1, keepdim=True)
        std = (target.var(1, correction=0, keepdim=True) + self.eps).sqrt()
        x = (past[..., :1] - mean) / std
        if self.gain is not None and self.shift is not None:
            x = x * self.gain + self.shift
        forecast = self.model(torch.cat([x, past[..., 1:]], -1), known, marks)
        if self.gain is not None and self.shift is not None:
            forecast = (forecast - self.shift) / self.gain
        return forecast * std[..., 0] + mean[..., 0]
