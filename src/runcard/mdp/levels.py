"""The number of idle trucks: its distribution does not depend on the policy.

Whatever team is sent, an incident at j takes min(k_j, n) of n idle trucks, and each of the N-n busy ones returns at
rate μ. So the number of idle trucks is a Markov chain of its own. Returns go up one at a time; in the long run as many
trucks go up past a level as come down past it:

    μ (N - n) P(n) = Σ_{m > n} P(m) Σ_j λ_j [m - min(k_j, m) <= n],     n = N-1, ..., 0,

a recursion from P(N) = 1 down with positive terms only, then scaled to total 1. For k = 1 it is Erlang's loss formula.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from runcard.mdp.arrays import Floats, Ints, frozen


@dataclass(frozen=True, eq=False)
class Levels:
    """The chain of the number of idle trucks: a level is the states with equally many."""

    num_trucks: int
    """N."""
    returns_per_day: float
    """μ."""
    needed: Ints
    """The numbers of trucks that incidents need, rising."""
    rates: Floats
    """The incidents per day that need each."""

    @cached_property
    def idle_distribution(self) -> Floats:
        """[N + 1] the long-run chance that n trucks are idle, under every policy."""
        num_trucks, needed = self.num_trucks, self.needed
        weights = np.zeros(num_trucks + 1)
        weights[num_trucks] = 1.0
        for n in range(num_trucks - 1, -1, -1):
            down = 0.0
            for m in range(n + 1, min(n + int(needed[-1]), num_trucks) + 1):
                down += weights[m] * self.rates[m - np.minimum(needed, m) <= n].sum()
            weights[n] = down / (self.returns_per_day * (num_trucks - n))
            # At extreme loads the weights span more than a float holds; only their ratios matter.
            if weights[n] > 1e200:
                weights /= weights[n]
        return frozen(weights / weights.sum())

    @cached_property
    def generator(self) -> Floats:
        """[N + 1, N + 1] Q: the rates at which the number of idle trucks changes."""
        idle = np.arange(self.num_trucks + 1)
        generator = np.zeros((len(idle), len(idle)))
        generator[idle[:-1], idle[1:]] = self.returns_per_day * (self.num_trucks - idle[:-1])
        for k, rate in zip(self.needed, self.rates, strict=True):
            generator[idle, idle - np.minimum(idle, k)] += rate
        generator[idle, idle] -= generator.sum(axis=1)
        return frozen(generator)

    @cached_property
    def weights(self) -> Floats:
        """[N + 1] w with w · L = Σ_n P(n) Σ_m q(n, m) (L(n) + L(m)), for any L; q are the rates between levels."""
        leaving = np.diag(self.generator)
        # Away from the diagonal the generator holds the rates; on it, less their sum.
        return frozen(self.idle_distribution @ self.generator - 2.0 * self.idle_distribution * leaving)

    @cached_property
    def arrivals(self) -> Floats:
        """[N + 1] how many times a day a dispatch leaves n trucks idle, those with none idle before left out."""
        arrivals = np.zeros(self.num_trucks + 1)
        idle = np.arange(1, self.num_trucks + 1)
        for k, rate in zip(self.needed, self.rates, strict=True):
            np.add.at(arrivals, idle - np.minimum(idle, k), self.idle_distribution[1:] * rate)
        return frozen(arrivals)
