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
"""

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.problem import DispatchProblem


def idle_distribution(problem: DispatchProblem) -> NDArray[np.float64]:
    """[N + 1] the long-run chance that n trucks are idle, under every policy."""
    num_trucks = problem.num_trucks
    needed = np.arange(1, problem.trucks_needed.max() + 1)
    rates = np.array([problem.incidents_per_day[problem.trucks_needed == k].sum() for k in needed])
    weights = np.zeros(num_trucks + 1)
    weights[num_trucks] = 1.0
    for n in range(num_trucks - 1, -1, -1):
        down = 0.0
        for m in range(n + 1, min(n + len(needed), num_trucks) + 1):
            down += weights[m] * rates[m - np.minimum(needed, m) <= n].sum()
        weights[n] = down / (problem.returns_per_day * (num_trucks - n))
        # At extreme loads the weights span more than a float holds; only their ratios matter.
        if weights[n] > 1e200:
            weights /= weights[n]
    distribution: NDArray[np.float64] = weights / weights.sum()
    return distribution
