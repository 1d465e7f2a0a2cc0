"""A policy that is an order of the stations for each demand point: the first k idle trucks in it go.

Its prices, which it does not look at, come from the values of following it: what taking a team now costs later.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.factored import FactoredValues
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule
from runcard.policy.base import BulkRule, Certificate, Decision, Stored
from runcard.policy.by_value import PricedPolicy, Values, read_value
from runcard.policy.options import checked_situation, first_in_order, idle_teams, make_decision


def read_prices(problem: DispatchProblem, stored: Stored) -> Values | FactoredValues:
    """Where the prices of a policy file come from: values of every state, or small tables."""
    if "value" in stored.arrays:
        return Values(problem, read_value(problem, stored))
    return FactoredValues.from_arrays(problem, stored.arrays)


@dataclass(frozen=True, eq=False, kw_only=True)
class OrderPolicy(PricedPolicy):
    """The policy that sends the idle trucks that come first in `order` [J, I]."""

    name: str
    order: NDArray[np.int64]
    values: Values | FactoredValues
    """Where its prices come from."""
    certificate: Certificate | None
    reason: str = "is the closest"

    @cached_property
    def rule(self) -> OrderRule:
        """The order of the stations of each demand point."""
        return OrderRule(self.order, self.values.by_state)

    def in_bulk(self, decisions: float) -> BulkRule:
        """Its order."""
        return BulkRule(order=self.order)

    def stored(self) -> Stored:
        """Its prices, for a policy file: the order is that of the problem."""
        return Stored(arrays=self.values.to_arrays(), certificate=self.certificate)

    def _prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """The prices of teams, if this policy is followed afterwards."""
        return self.values.prices(idle, teams)

    def decide(self, idle: NDArray[np.int64], point: int) -> Decision:
        """The first idle trucks in the order of demand point `point`."""
        idle, point = checked_situation(self.problem, idle, point)
        teams = idle_teams(self.problem, idle, point)
        chosen = int(np.searchsorted(teams, first_in_order(self.problem, self.order, idle, point)))
        prices = self.values.prices(idle, teams)
        return make_decision(self.problem, point, teams, self.problem.cost[teams, point], prices, chosen)
