"""Where a long computation stands: the bounds on the late fraction after each step."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Bounds on the late fraction after a step, and how close they must come, relatively."""

    step: int
    lower: float
    upper: float
    tolerance: float
