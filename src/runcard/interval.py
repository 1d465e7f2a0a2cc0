"""A number and how well it is known, the same everywhere: proven, estimated, or by chance."""

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Interval:
    """A number, and an interval that holds the true one: proven, or else by an estimate or with a chance of 95 %."""

    value: float
    low: float
    high: float
    proven: bool = False
    batches: "tuple[NDArray[np.float64], NDArray[np.float64]] | None" = field(default=None, compare=False, repr=False)
    """Of a ratio over the batches of a simulation: the two sums by batch, so that it can be paired with another one."""

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2.0

    def document(self) -> dict[str, float | None]:
        """The number and its ends as plain values, for JSON; None for a number that JSON does not have."""
        ends = {"mean": self.value, "low": self.low, "high": self.high}
        return {name: float(number) if isfinite(number) else None for name, number in ends.items()}
