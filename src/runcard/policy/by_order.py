"""A policy that is an order of the stations for each demand point: the first k idle trucks in it go.

Its prices, which it does not look at, come from the values of following it: what taking a team now costs later.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.chain import PolicyValue
from runcard.mdp.factored import FactoredValues
from runcard.mdp.mean_field import MeanField
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule
from runcard.policy.base import BulkRule, Certificate, Stored
from runcard.policy.by_value import PricedPolicy, Values, read_value
from runcard.policy.options import checked_idle, first_in_order


def exact_prices(problem: DispatchProblem, solved: PolicyValue | None) -> tuple[Values | None, Certificate | None]:
    """The prices of an order from its exact values, and its certificate; None without any."""
    if solved is None:
        return None, None
    lower, upper = problem.interval(solved.lower, solved.upper)
    return Values(problem, solved.value), Certificate(lower=lower, upper=upper, converged=solved.converged)


def read_prices(problem: DispatchProblem, stored: Stored) -> Values | FactoredValues:
    """Where the prices of a policy file come from: values of every state, or small tables."""
    if "value" in stored.arrays:
        return Values(problem, read_value(problem, stored))
    return FactoredValues.from_arrays(problem, stored.arrays)


@dataclass(frozen=True, eq=False, kw_only=True)
class OrderPolicy(PricedPolicy):
    """The policy that sends the idle trucks that come first in `order` [J, I]."""

    name: str
    order: Ints
    known: Values | FactoredValues | None = None
    """Where its prices come from; None for those of the mean field, found when somebody asks: often nobody does."""
    certificate: Certificate | None = None
    threads: int | None = None
    reason: str = "is the closest"

    @cached_property
    def values(self) -> Values | FactoredValues:
        """Where its prices come from."""
        return MeanField(self.problem, self.order).values(threads=self.threads) if self.known is None else self.known

    @property
    def fixed_order(self) -> Ints:
        """Its order."""
        return self.order

    @cached_property
    def rule(self) -> OrderRule:
        """The order of the stations of each demand point."""
        return OrderRule(self.order, None if self.known is None else self.known.by_state)

    def in_bulk(self, decisions: float) -> BulkRule:
        """Its order."""
        return BulkRule(order=self.order)

    def stored(self) -> Stored:
        """Its prices, for a policy file: the order is that of the problem."""
        return Stored(arrays=self.values.to_arrays(), certificate=self.certificate)

    def teams(self, idle: Ints, points: Ints) -> Ints:
        """The first idle trucks in the order of each demand point: without prices, which may take a while."""
        idle = checked_idle(self.problem, idle)
        numbers = (first_in_order(self.problem, self.order, idle, point) for point in points.tolist())
        return np.fromiter(numbers, np.int64, len(points))

    def _prices(self, idle: Ints, teams: Ints) -> Floats:
        """The prices of teams, if this policy is followed afterwards."""
        return self.values.prices(idle, teams)

    def _choose(self, idle: Ints, point: int, teams: Ints, price: Floats) -> int:
        """The first idle trucks in the order of demand point `point`."""
        return int(np.searchsorted(teams, first_in_order(self.problem, self.order, idle, point)))
