"""The number of idle trucks: its distribution does not depend on the policy.

Whatever team is sent, an incident at j takes min(k_j, n) of n idle trucks, and each of the N-n busy ones returns at
rate μ. So the number of idle trucks is a Markov chain of its own. Returns go up one at a time; in the long run as many
trucks go up past a level as come down past it:

    μ (N - n) P(n) = Σ_{m > n} P(m) Σ_j λ_j [m - min(k_j, m) <= n],     n = N-1, ..., 0,

a recursion from P(N) = 1 down with positive terms only, then scaled to total 1. For k = 1 it is Erlang's loss formula.
"""

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.problem import DispatchProblem


def idle_distribution(problem: DispatchProblem) -> NDArray[np.float64]:
    """[N + 1] the long-run chance that n trucks are idle, under every policy."""
    num_trucks = problem.num_trucks
    needed, rates = rates_by_need(problem)
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


def rates_by_need(problem: DispatchProblem) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The numbers of trucks that incidents need, and the rate of the incidents that need each."""
    needed = np.unique(problem.trucks_needed)
    return needed, np.array([problem.incidents_per_day[problem.trucks_needed == k].sum() for k in needed])


def level_generator(problem: DispatchProblem) -> NDArray[np.float64]:
    """[N + 1, N + 1] Q: the rates at which the number of idle trucks changes."""
    idle = np.arange(problem.num_trucks + 1)
    generator = np.zeros((len(idle), len(idle)))
    generator[idle[:-1], idle[1:]] = problem.returns_per_day * (problem.num_trucks - idle[:-1])
    for k, rate in zip(*rates_by_need(problem), strict=True):
        generator[idle, idle - np.minimum(idle, k)] += rate
    generator[idle, idle] -= generator.sum(axis=1)
    return generator
