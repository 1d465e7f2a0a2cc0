"""Bounds on g from the residuals of the Bellman equation, at any values h, whether or not anything has converged.

Let v(f) be the residual of the value equations of a policy at any h, g left out. In the long run the changes of h
cancel, so the policy's late rate is g = Σ_f p(f) v(f). The number of idle trucks has a known distribution P(n) (see
`levels.py`), whatever the policy, so

    Σ_n P(n) min_{|f|=n} v(f)  <=  g  <=  Σ_n P(n) max_{|f|=n} v(f).

With the minimum over teams in v, the left side bounds every policy, hence the optimum, from below, and the right side
bounds the policy that attains the minima, hence the optimum too, from above. States that are rare because few trucks
are idle hardly count, which is why this is so much tighter than the usual span over all states. Both sides are moved
outwards by what rounding can have done, so they hold for the numbers as computed.

**Values by level.** Since every team of a demand point takes equally many trucks, adding φ(|f|) to h changes neither
the greedy policy nor the bounds; it adds (Qφ)(n) to every residual of level n, with Q the generator of the chain of
levels. So the bounds do not see that part of h, and prices do. It is set right in one go: with r(n) the middle of the
residuals of level n, solve (Qφ)(n) + r(n) = g for φ and g, with φ(N) = 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.check import MAX_TRUCKS_PER_INCIDENT

ROUNDING: Final = 16 * np.finfo(np.float64).eps
"""The relative rounding error of a residual, some ten times what summing and subtracting were seen to make."""

EVERYWHERE: Final = 1e-6
"""How close the residuals of all states with equally many idle trucks must be, as late fractions."""

NEVER_LATE: Final = 1e-15
"""A late fraction that is zero for every purpose."""

STALL_STEPS: Final = 8
"""Bounds that did not close by half in this many steps do not close any more."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Bounds on g: `rounding` is what each side was moved for it, `spread` the largest range of a level's residuals."""

    lower: float
    upper: float
    rounding: float
    spread: float

    @property
    def gap(self) -> float:
        """The distance between the bounds."""
        return self.upper - self.lower

    def within(self, tolerance: float, total_rate: float) -> bool:
        """Whether the bounds are within `tolerance` of each other, relatively, or nothing is ever late.

        States that almost never occur count for almost nothing in the bounds. They count for whoever decides in one,
        so the residuals of every level must be close to each other as well.
        """
        close = self.gap <= tolerance * self.upper or self.upper <= NEVER_LATE * total_rate
        return close and self.spread <= EVERYWHERE * total_rate

    def exhausted(self, total_rate: float) -> bool:
        """Whether rounding is most of what is between the bounds: more steps would not bring them closer."""
        return self.gap <= 4.0 * self.rounding and self.spread <= EVERYWHERE * total_rate


def stalled(gaps: Sequence[float]) -> bool:
    """Whether the distances between the bounds, step by step, have stopped falling."""
    return len(gaps) > STALL_STEPS and min(gaps[-STALL_STEPS:]) > 0.5 * min(gaps[:-STALL_STEPS])


@dataclass(frozen=True, eq=False)
class Residuals:
    """The residuals of the states at each level [N + 1], g left out: the lowest, the highest, and the largest |h|.

    `unit` is how far each may be off because keys are whole numbers, as a late rate like the residuals.
    """

    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    largest: NDArray[np.float64]
    unit: float = 0.0

    @classmethod
    def none(cls, num_trucks: int) -> "Residuals":
        """The residuals of no state, to be brought down and up by a kernel."""
        lowest = np.full(num_trucks + 1, np.inf)
        return cls(lowest, -lowest, np.zeros(num_trucks + 1))

    @classmethod
    def over(cls, parts: Sequence["Residuals"], unit: float = 0.0) -> "Residuals":
        """The residuals of all states, given those of some parts of them."""
        lowest = np.min([part.lowest for part in parts], axis=0)
        highest = np.max([part.highest for part in parts], axis=0)
        return cls(lowest, highest, np.max([part.largest for part in parts], axis=0), unit)

    def bounds(self, distribution: NDArray[np.float64], generator: NDArray[np.float64]) -> Bounds:
        """The bounds on g, given the distribution and the generator of the number of idle trucks.

        A residual of level n is a sum of rates times differences of h, taken at most as many levels down as an incident
        needs trucks and one up, and of costs, which the residual itself bounds.
        """
        leaving = -np.diag(generator)
        near = self.largest.copy()
        np.maximum(near[:-1], self.largest[1:], out=near[:-1])
        for down in range(1, min(MAX_TRUCKS_PER_INCIDENT + 1, len(near))):
            np.maximum(near[down:], self.largest[:-down], out=near[down:])
        size = np.maximum(np.abs(self.lowest), np.abs(self.highest)) + 2.0 * leaving * near
        rounding = float(distribution @ (ROUNDING * size)) + self.unit
        return Bounds(
            lower=float(distribution @ self.lowest) - rounding,
            upper=float(distribution @ self.highest) + rounding,
            rounding=rounding,
            spread=float((self.highest - self.lowest).max()),
        )

    def correction(self, generator: NDArray[np.float64]) -> NDArray[np.float64]:
        """[N + 1] φ: what to add to the values of each level so that the middle of its residuals is g."""
        equations = generator.copy()
        equations[:, -1] = -1.0  # φ(N) = 0 is known, and g is not
        by_level = np.linalg.solve(equations, -(self.lowest + self.highest) / 2).astype(np.float64)
        by_level[-1] = 0.0
        return by_level
