"""A policy that is its value function: the team with the smallest P(late now) + price goes.

a(f, j) = argmin over teams a of { cost(a, j) + h(f-a) - h(f) };  of equal teams, the one listed first.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.problem import DispatchProblem, fields_of
from runcard.mdp.rows import ValueRule
from runcard.policy.base import BulkRule, Certificate, Decision, Stored
from runcard.policy.options import (
    checked_idle,
    checked_situation,
    checked_teams,
    idle_teams,
    make_decision,
    team_number,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class PricedPolicy(ABC):
    """A policy with a price for every team: it sends the one with the smallest P(late now) + price, if nothing else."""

    problem: DispatchProblem
    has_card: ClassVar[bool] = False
    decides_anywhere: ClassVar[bool] = True

    @property
    def fixed_order(self) -> Ints | None:
        """There is none: prices count."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        """Its fields, for pickle and copy."""
        return fields_of(self)

    @abstractmethod
    def _prices(self, idle: Ints, teams: Ints) -> Floats:
        """The prices of teams that are idle."""

    def best_prices(self, idle: Ints, teams: Ints, cost: Floats) -> Floats:
        """The prices of idle teams of these costs now; nan or inf for those that no decision would list."""
        return self._prices(idle, teams)

    def _options(self, idle: Ints, point: int) -> tuple[Ints, Floats]:
        """The teams that a decision may list, and their prices."""
        teams = idle_teams(self.problem, idle, point)
        return teams, self._prices(idle, teams)

    def _choose(self, idle: Ints, point: int, teams: Ints, price: Floats) -> int | None:
        """Where the team that goes stands in `teams`; None for the one with the smallest cost now + price."""
        return None

    def prices(self, idle: Ints, teams: Ints) -> Floats:
        """The prices of teams, by number, when `idle` [I] trucks of each station are idle, the teams' among them."""
        idle = checked_idle(self.problem, idle)
        return self._prices(idle, checked_teams(self.problem, idle, teams))

    def decide(self, idle: Ints, point: int) -> Decision:
        """The team for an incident at demand point `point`, and the best others."""
        idle, point = checked_situation(self.problem, idle, point)
        teams, price = self._options(idle, point)
        return make_decision(self.problem, point, teams, price, self._choose(idle, point, teams, price))

    def teams(self, idle: Ints, points: Ints) -> Ints:
        """The number of the team that `decide` sends to each of some demand points; here each is asked for."""
        numbers = (team_number(self.problem, self.decide(idle, point).team) for point in points.tolist())
        return np.fromiter(numbers, np.int64, len(points))


@dataclass(frozen=True, eq=False)
class Values:
    """Prices from the value h [states + padding] of every state."""

    problem: DispatchProblem
    value: Floats

    @property
    def by_state(self) -> Floats:
        """The values themselves."""
        return self.value

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a policy file holds."""
        return {"value": np.ascontiguousarray(self.value)}

    def prices(self, idle: Ints, teams: Ints) -> Floats:
        """The prices h(f-a) - h(f) of teams."""
        layout = self.problem.layout
        state = int(idle @ layout.states.stride)
        return np.asarray(self.value.take(state - layout.offset.take(teams)) - self.value.item(state))


def read_value(problem: DispatchProblem, stored: Stored) -> Floats:
    """[states + padding] the values of every state, as a policy file holds them."""
    return stored.array("value", np.float64, (problem.num_states + VALUE_PADDING,))


@dataclass(frozen=True, eq=False, kw_only=True)
class ValuePolicy(PricedPolicy):
    """The policy that is greedy for `value`."""

    name: str
    value: Floats
    certificate: Certificate | None
    reason: str = ""

    @cached_property
    def rule(self) -> ValueRule:
        """The value function, in memory: kernels are not compiled a second time for values of a mapped file."""
        return ValueRule(np.array(self.value))

    def in_bulk(self, decisions: float) -> BulkRule:
        """Its values."""
        return BulkRule(value=self.rule.value)

    def stored(self) -> Stored:
        """Its values, for a policy file."""
        return Stored(arrays=self._values.to_arrays(), certificate=self.certificate)

    @cached_property
    def _values(self) -> Values:
        return Values(self.problem, self.value)

    def _prices(self, idle: Ints, teams: Ints) -> Floats:
        """The prices h(f-a) - h(f) of teams."""
        return self._values.prices(idle, teams)

    def teams(self, idle: Ints, points: Ints) -> Ints:
        """The teams with the smallest cost + price: prices are the same for all points that need as many trucks."""
        problem, idle, numbers = self.problem, checked_idle(self.problem, idle), np.zeros(len(points), np.int64)
        needed = problem.trucks_needed[points]
        for size in np.unique(needed).tolist():
            here = np.flatnonzero(needed == size)
            teams = idle_teams(problem, idle, int(points[here[0]]))
            total = problem.cost[np.ix_(teams, points[here])] + self._prices(idle, teams)[:, None]
            numbers[here] = teams[total.argmin(axis=0)]
        return numbers


def read_value_policy(name: str, problem: DispatchProblem, stored: Stored) -> ValuePolicy:
    """The policy of that name that is greedy for the values that a policy file holds."""
    return ValuePolicy(name=name, problem=problem, value=read_value(problem, stored), certificate=stored.certificate)
