"""A policy that is its value function: the team with the smallest P(late now) + price goes.

a(f, j) = argmin over teams a of { cost(a, j) + h(f-a) - h(f) };  of equal teams, the one listed first.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import ValueRule
from runcard.policy.base import Certificate, Decision
from runcard.policy.options import checked_idle, checked_situation, checked_teams, idle_teams, make_decision


@dataclass(frozen=True, eq=False)
class Values:
    """Prices from the value h [states + padding] of every state."""

    problem: DispatchProblem
    value: NDArray[np.float64]

    def prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """The prices h(f-a) - h(f) of teams."""
        layout = self.problem.layout
        state = int(idle @ layout.states.stride)
        prices: NDArray[np.float64] = self.value[state - layout.offset[teams]] - self.value[state]
        return prices


@dataclass(frozen=True, eq=False, kw_only=True)
class ValuePolicy:
    """The policy that is greedy for `value`."""

    name: str
    problem: DispatchProblem
    value: NDArray[np.float64]
    certificate: Certificate | None

    @cached_property
    def rule(self) -> ValueRule:
        """The value function, in memory: kernels are not compiled a second time for values of a mapped file."""
        return ValueRule(np.array(self.value))

    @cached_property
    def _values(self) -> Values:
        return Values(self.problem, self.value)

    def prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """The prices h(f-a) - h(f) of teams."""
        idle = checked_idle(self.problem, idle)
        return self._values.prices(idle, checked_teams(self.problem, idle, teams))

    def decide(self, idle: NDArray[np.int64], point: int) -> Decision:
        """The team with the smallest P(late now) + price for an incident at demand point `point`."""
        idle, point = checked_situation(self.problem, idle, point)
        teams = idle_teams(self.problem, idle, point)
        p_late, price = self.problem.cost[teams, point], self._values.prices(idle, teams)
        return make_decision(self.problem, point, teams, p_late, price, int((p_late + price).argmin()))
