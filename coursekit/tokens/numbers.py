"""Numbers as tokens: a grid of levels, and back."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Cut a range of numbers into equal steps: one id for each level, both ends included.

    An interest rate between 0 % and 5 % in basis points, hundredths of a percent, is
    `Grid(low=0, high=5, step=0.01)`: 501 levels, and 4.25 % has id 425.

    Raises:
        ValueError: if the step is not positive, or does not divide the range.
    """

    low: float | int
    high: float | int
    step: float | int

    def __post_init__(self) -> None:
        steps = (self.high - self.low) / self.step if self.step > 0 else -1.0
        if steps < 0 or abs(steps - round(steps)) > 1e-6:
            raise ValueError(f"{self}: take a positive step that divides high - low")

    def encode(self, values: Float[Tensor, "*N"]) -> Int[Tensor, "*N"]:
        """Return the id of the nearest level; a value beyond the range gets its first or last."""
        if values.isnan().any():
            raise ValueError("NaN has no level: fill or drop the missing values first")
        levels = ((values.double() - self.low) / self.step).round()
        return levels.clamp(0, len(self) - 1).long()

    def decode(self, ids: Int[Tensor, "*N"]) -> Float[Tensor, "*N"]:
        """Return the level of each id, in float64.

        Raises:
            ValueError: if an id is outside 0 … V - 1.
        """
        if ((ids < 0) | (ids >= len(self))).any():
            raise ValueError(f"ids {ids.min()} … {ids.max()} are not all in 0 … {len(self) - 1}")
        return self.low + self.step * ids.double()

    def clipped(self, values: Float[Tensor, "*N"]) -> float:
        """Return the fraction of values beyond the range: they lose more than half a step."""
        return ((values < self.low) | (values > self.high)).double().mean().item()

    def __len__(self) -> int:
        return round((self.high - self.low) / self.step) + 1
