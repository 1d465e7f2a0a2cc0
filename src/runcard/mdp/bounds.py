"""Bounds on g from the residuals of the Bellman equation, at any values h, whether or not anything has converged.

Let v(f) be the residual of the value equations of a policy at any h, g left out. In the long run the changes of h
cancel, so the policy's late rate is g = Σ_f p(f) v(f). The number of idle trucks has a known distribution P(n) (see
`levels.py`), whatever the policy, so

    Σ_n P(n) min_{|f|=n} v(f)  <=  g  <=  Σ_n P(n) max_{|f|=n} v(f).

With the minimum over teams in v, the left side bounds every policy, hence the optimum, from below, and the right side
bounds the policy that attains the minima, hence the optimum too, from above. States that are rare because few trucks
are idle hardly count, which is why this is so much tighter than the usual span over all states.

**Rounding.** Both sides are moved outwards by what rounding can have done at most, so that they are proven. With u half
the distance from 1 to the next double, a sum of m terms is off by at most m u times the sum of their sizes, in whatever
order they are added. A residual of level n is a sum over the J demand points, the teams sent (no more than J) and the I
stations, of rates times costs and differences of h. With the largest |h| of each level, L(n), the rates q(n, m) at
which levels change, and the size c of the most negative cost (costs below 0 are only in problems made by hand), it is
off by at most

    (2 J + I + 16) u { |v| + Σ_m q(n, m) (L(n) + L(m)) + 2 Λ c },

and by twice that where keys are added, whose parts are larger than their sum. P(n) is a product of at most N ratios of
sums of positive terms, and off by at most 32 (N + 1) u of itself. Its total is 1, so that only what residuals differ
from g counts, and g itself by the rounding of the sum over n.

This is far more than rounding usually does. A solver has met its tolerance when the bounds are as close as that, what
cannot be ruled out left aside; no solver could do anything about the rest.

**Values by level.** Since every team of a demand point takes equally many trucks, adding φ(|f|) to h changes neither
the greedy policy nor the bounds; it adds (Qφ)(n) to every residual of level n, with Q the generator of the chain of
levels. So the bounds do not see that part of h, and prices do. It is set right in one go: with r(n) the middle of the
residuals of level n, solve (Qφ)(n) + r(n) = g for φ and g, with φ(N) = 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from runcard.mdp.arrays import Floats
from runcard.mdp.levels import Levels

HALF_STEP: Final = np.finfo(np.float64).eps / 2.0
"""u: the relative rounding error of one operation."""

NOISE: Final = 32.0 * HALF_STEP
"""The relative rounding error of a residual that is seen, about: sweeps do not bring the bounds closer than this."""

EVERYWHERE: Final = 1e-6
"""How close the residuals of all states with equally many idle trucks must be, as late fractions."""

NEVER_LATE: Final = 1e-15
"""A late fraction that is zero for every purpose."""

STALL_STEPS: Final = 8
"""Bounds that did not close by half in this many steps do not close any more."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Bounds on g, each moved outwards by `rounding`."""

    lower: float
    upper: float
    rounding: float
    noise: float
    """The rounding that is to be expected, much less than what cannot be ruled out."""
    widest_level: float
    """The largest difference between the residuals of states with equally many idle trucks."""

    @property
    def gap(self) -> float:
        """The distance between the bounds as far as a solver can close it: with the rounding that is to be expected."""
        return self.upper - self.lower - 2.0 * (self.rounding - self.noise)

    def within(self, tolerance: float, total_rate: float) -> bool:
        """Whether the bounds are within `tolerance` of each other, relatively, or nothing is ever late.

        States that almost never occur count for almost nothing in the bounds. They count for whoever decides in one,
        so the residuals of every level must be close to each other as well.
        """
        close = self.gap <= tolerance * self.upper or self.upper <= NEVER_LATE * total_rate
        return close and self.widest_level <= EVERYWHERE * total_rate

    def exhausted(self, total_rate: float) -> bool:
        """Whether rounding is most of what is between the bounds: more steps would not bring them closer."""
        return self.gap <= 4.0 * self.noise and self.widest_level <= EVERYWHERE * total_rate


def stalled(gaps: Sequence[float]) -> bool:
    """Whether the distances between the bounds, step by step, have stopped falling."""
    return len(gaps) > STALL_STEPS and min(gaps[-STALL_STEPS:]) > 0.5 * min(gaps[:-STALL_STEPS])


class Residuals(NamedTuple):
    """The residuals of the states at each level [N + 1], g left out: the lowest, the highest, and the largest |h|.

    `unit` is how far each may be off because keys are whole numbers, as a cost rate like the residuals.
    """

    lowest: Floats
    highest: Floats
    largest: Floats
    unit: float = 0.0

    @classmethod
    def none(cls, num_trucks: int, unit: float = 0.0) -> "Residuals":
        """The residuals of no state, to be brought down and up by a kernel."""
        lowest = np.full(num_trucks + 1, np.inf)
        return cls(lowest, -lowest, np.zeros(num_trucks + 1), unit)

    @classmethod
    def over(cls, parts: Sequence["Residuals"]) -> "Residuals":
        """The residuals of all states, given those of some parts of them."""
        lowest = np.min([part.lowest for part in parts], axis=0)
        highest = np.max([part.highest for part in parts], axis=0)
        unit = max(part.unit for part in parts)
        return cls(lowest, highest, np.max([part.largest for part in parts], axis=0), unit)

    def bounds(self, levels: Levels, *, num_terms: int, most_negative: float = 0.0) -> Bounds:
        """The bounds on g; `num_terms` is 2 J + I, and `most_negative` is c."""
        distribution = levels.idle_distribution
        size = float(distribution @ np.maximum(-self.lowest, self.highest) + levels.weights @ self.largest)
        size += 2.0 * float(levels.rates.sum()) * most_negative
        lower, upper = float(distribution @ self.lowest), float(distribution @ self.highest)
        middle, num_levels = (lower + upper) / 2.0, len(distribution)
        off_middle = np.maximum(middle - self.lowest, self.highest - middle)
        of_levels = 32.0 * num_levels * float(distribution @ off_middle) + 4.0 * num_levels * abs(middle)
        of_sums = (num_terms + 16) * size * (2.0 if self.unit > 0.0 else 1.0)
        rounding = float((of_sums + of_levels) * HALF_STEP + self.unit)
        return Bounds(
            lower=lower - rounding,
            upper=upper + rounding,
            rounding=rounding,
            noise=NOISE * size + self.unit,
            widest_level=float((self.highest - self.lowest).max()),
        )

    def correction(self, generator: Floats) -> Floats:
        """[N + 1] φ: what to add to the values of each level so that the middle of its residuals is g."""
        equations = generator.copy()
        equations[:, -1] = -1.0  # φ(N) = 0 is known, and g is not
        by_level = np.linalg.solve(equations, -(self.lowest + self.highest) / 2).astype(np.float64)
        by_level[-1] = 0.0
        return by_level
