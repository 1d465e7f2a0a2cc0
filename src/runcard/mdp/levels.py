"""The number of idle trucks: its distribution does not depend on the policy, and weighs every bound on g.

Whatever team is sent, an incident at j takes min(k_j, n) of n idle trucks, and each of the N-n busy ones returns at
rate μ. So the number of idle trucks is a Markov chain of its own. Returns go up one at a time; in the long run as many
trucks go up past a level as come down past it:

    μ (N - n) P(n) = Σ_{m > n} P(m) Σ_j λ_j [m - min(k_j, m) <= n],     n = N-1, ..., 0,

a recursion from P(N) = 1 down with positive terms only, then scaled to total 1. For k = 1 it is Erlang's loss formula.

**Bounds.** Let v(f) be the residual of the value equations of a policy at any h, g left out. In the long run the
changes of h cancel, so the policy's late rate is g = Σ_f p(f) v(f), and with the levels known

    Σ_n P(n) min_{|f|=n} v(f)  <=  g  <=  Σ_n P(n) max_{|f|=n} v(f).

With the minimum over teams in v, the left side bounds every policy, hence the optimum, from below, and the right side
bounds the policy that attains the minima, hence the optimum too, from above. States that are rare because few trucks
are idle hardly count, which is why this is so much tighter than the usual span over all states.

**Values by level.** Since every team of a demand point takes equally many trucks, adding φ(|f|) to h changes neither
the greedy policy nor the bounds; it adds (Qφ)(n) to every residual of level n, with Q the generator of the chain of
levels. So the bounds do not see that part of h, and prices do. It is set right in one go: with r(n) the middle of the
residuals of level n, solve (Qφ)(n) + r(n) = g for φ and g, with φ(N) = 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.problem import DispatchProblem


def idle_distribution(problem: DispatchProblem) -> NDArray[np.float64]:
    """[N + 1] the long-run chance that n trucks are idle, under every policy."""
    num_trucks = problem.num_trucks
    needed, rates = _rates_by_need(problem)
    weights = np.zeros(num_trucks + 1)
    weights[num_trucks] = 1.0
    for n in range(num_trucks - 1, -1, -1):
        down = 0.0
        for m in range(n + 1, min(n + int(needed[-1]), num_trucks) + 1):
            down += weights[m] * rates[m - np.minimum(needed, m) <= n].sum()
        weights[n] = down / (problem.returns_per_day * (num_trucks - n))
        # At extreme loads the weights span more than a float holds; only their ratios matter.
        if weights[n] > 1e200:
            weights /= weights[n]
    distribution: NDArray[np.float64] = weights / weights.sum()
    return distribution


def _rates_by_need(problem: DispatchProblem) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The numbers of trucks that incidents need, and the rate of the incidents that need each."""
    needed = np.unique(problem.trucks_needed)
    return needed, np.array([problem.incidents_per_day[problem.trucks_needed == k].sum() for k in needed])


def level_generator(problem: DispatchProblem) -> NDArray[np.float64]:
    """[N + 1, N + 1] Q: the rates at which the number of idle trucks changes."""
    idle = np.arange(problem.num_trucks + 1)
    generator = np.zeros((len(idle), len(idle)))
    generator[idle[:-1], idle[1:]] = problem.returns_per_day * (problem.num_trucks - idle[:-1])
    for k, rate in zip(*_rates_by_need(problem), strict=True):
        generator[idle, idle - np.minimum(idle, k)] += rate
    generator[idle, idle] -= generator.sum(axis=1)
    return generator


@dataclass(frozen=True, eq=False)
class Residuals:
    """The lowest and highest residual [N + 1] of the states at each level, g left out."""

    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]

    @classmethod
    def over(cls, parts: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> "Residuals":
        """The residuals of all states, given the lowest and highest of some parts of them."""
        return cls(np.min([low for low, _ in parts], axis=0), np.max([high for _, high in parts], axis=0))

    @property
    def spread(self) -> float:
        """The largest difference between the residuals of one level."""
        return float((self.highest - self.lowest).max())

    def bounds(self, distribution: NDArray[np.float64]) -> tuple[float, float]:
        """The bounds on g, given the distribution of idle trucks."""
        return float(distribution @ self.lowest), float(distribution @ self.highest)

    def correction(self, generator: NDArray[np.float64]) -> NDArray[np.float64]:
        """[N + 1] φ: what to add to the values of each level so that the middle of its residuals is g."""
        equations = generator.copy()
        equations[:, -1] = -1.0  # φ(N) = 0 is known, and g is not
        by_level = np.linalg.solve(equations, -(self.lowest + self.highest) / 2).astype(np.float64)
        by_level[-1] = 0.0
        return by_level
