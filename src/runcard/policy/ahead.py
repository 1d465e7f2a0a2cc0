"""A policy of values that are a sum of small tables, with prices that look one event ahead of them.

Whatever happens next (see `mdp.kernels.lookahead`), an incident is given the team that is then the cheapest, or a truck
returns; only then the values count. No parameter, and nothing of the size of the state space.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.factored import FactoredValues
from runcard.mdp.kernels.lookahead_best import prices_ahead
from runcard.mdp.kernels.lookahead_table import values_ahead
from runcard.mdp.problem import DispatchProblem
from runcard.policy.ahead_rule import AheadRule, TeamArrays, ranked_teams, team_arrays
from runcard.policy.base import BulkRule, Stored
from runcard.policy.online import OnlinePolicy
from runcard.policy.options import NUM_ALTERNATIVES


@dataclass(frozen=True, eq=False, kw_only=True)
class AheadPolicy(OnlinePolicy):
    """The policy that minimises P(late now) + price, with prices that look one event ahead of its values."""

    name: str
    values: FactoredValues
    states_per_decision: ClassVar[int] = 5
    """Of decisions in kernels (measured: 2 to 10, with 64 to 400 demand points)."""

    def _fill_values(self, start: int, stop: int, value: Floats) -> None:
        """Set the values after one exact event."""
        values_ahead(start, stop, self._teams.scratch(), self._teams, self.values.tables, value)

    def in_bulk(self, decisions: float) -> BulkRule:
        """The values of every state where that takes less time, else the same look-ahead as `decide`, for kernels."""
        return super().in_bulk(decisions) or BulkRule(ahead=self._in_kernels)

    @cached_property
    def _teams(self) -> TeamArrays:
        """The teams that may go."""
        return team_arrays(self.values, threads=self.threads)

    @cached_property
    def _in_kernels(self) -> AheadRule:
        """What kernels decide by."""
        return AheadRule(ranked_teams(self.problem, threads=self.threads), self._teams, self.values.tables)

    def stored(self) -> Stored:
        """Its tables, for a policy file."""
        return Stored(arrays=self.values.to_arrays(), certificate=self.certificate)

    def _prices(self, idle: Ints, teams: Ints) -> Floats:
        """The prices of teams that look one event ahead."""
        return self._ahead(idle, teams, np.zeros(len(teams)), keep=0)

    def best_prices(self, idle: Ints, teams: Ints, cost: Floats) -> Floats:
        """The same, nan for teams that are proven not to be among those that are listed."""
        return self._ahead(idle, teams, cost, keep=NUM_ALTERNATIVES + 1)

    def _ahead(self, idle: Ints, teams: Ints, cost: Floats, *, keep: int) -> Floats:
        """The prices of teams, nan for those that are proven not to be among the `keep` best (0: all are wanted)."""
        prices: Floats = prices_ahead(
            teams, cost, keep, idle.copy(), self._teams.scratch(), self._teams, self.values.tables
        )
        return prices

    def points_concerned(self, stations: Ints) -> int:
        """How many demand points a decision looks at again when trucks of these stations leave, if none is short."""
        tables = np.flatnonzero(self._teams.near[stations].any(axis=0))
        first = self._teams.first_point
        return int((first[tables + 1] - first[tables]).sum())


def read_ahead(problem: DispatchProblem, stored: Stored, *, name: str) -> AheadPolicy:
    """The policy of that name as a policy file holds it."""
    values = FactoredValues.from_arrays(problem, stored.arrays)
    return AheadPolicy(name=name, problem=problem, values=values, certificate=stored.certificate)
