"""A number and how well it is known, the same everywhere: proven, estimated, or by chance."""

from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True, slots=True)
class Interval:
    """A number, and an interval that holds the true one: proven, or else by an estimate or with a chance of 95 %."""

    value: float
    low: float
    high: float
    proven: bool = False

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2.0

    def document(self) -> dict[str, float | None]:
        """The number and its ends as plain values, for JSON; None for a number that JSON does not have."""
        ends = {"mean": self.value, "low": self.low, "high": self.high}
        return {name: float(number) if isfinite(number) else None for name, number in ends.items()}
