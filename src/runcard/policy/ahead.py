"""A policy of values that are a sum of small tables, with prices that look one event ahead of them.

Whatever happens next (see `mdp.kernels.lookahead`), an incident is given the team that is then the cheapest, or a truck
returns; only then the values count. No parameter, and nothing of the size of the state space.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.factored import FactoredValues, team_parts
from runcard.mdp.kernels.lookahead import prices_ahead
from runcard.mdp.kernels.lookahead_table import values_ahead
from runcard.mdp.layout import starts
from runcard.mdp.problem import DispatchProblem
from runcard.policy.ahead_bulk import AheadRule, ahead_rule
from runcard.policy.base import BulkRule, Stored
from runcard.policy.online import OnlinePolicy
from runcard.policy.options import NUM_ALTERNATIVES

FEW_TEAMS = 256
"""With no more teams than this, an incident to come may be given any of them; else one of its neighbourhood."""


class TeamArrays(NamedTuple):
    """The teams and demand points as the kernels see them."""

    members: NDArray[np.int32]
    number_of_code: NDArray[np.int64]
    """The stations of each team, and its number by its code (see `response.teams`)."""
    cost: NDArray[np.float64]
    least_cost: NDArray[np.float64]
    """[J] the smallest cost of any team at each demand point."""
    order: NDArray[np.int64]
    parts: NDArray[np.int64]
    """[T, 2^k - 2] the parts of each team (see `team_parts`), -1 where there are fewer."""
    needed: NDArray[np.int64]
    most_needed: int
    first_point: NDArray[np.int64]
    """[G + 1] where the demand points of each table begin in `point`."""
    point: NDArray[np.int64]
    rate: NDArray[np.float64]
    """Incidents per day of each entry of `point`."""
    first_choice: NDArray[np.int64]
    """[G + 1] where the teams that incidents of each table choose from begin in `choice`."""
    choice: NDArray[np.int64]
    listed: NDArray[np.int64]
    """The teams of `choice` and their parts, each once."""
    near: NDArray[np.bool_]
    """[I, G] whether a truck of each station may change what the teams cost that incidents of each table choose from:
    a station of these and that station are in one table."""
    any_team: bool
    """Whether every team is listed for every point; all points are then with the first table."""
    first_cost: NDArray[np.int64]
    """[G + 1] where the costs of those teams at the points of the table begin in `choice_cost`."""
    choice_cost: NDArray[np.float64]
    """For each table, a row for each of its teams; inf where a team is not of the size that a point needs."""
    total_rate: float
    trucks: NDArray[np.int64]
    returns_per_day: float


@dataclass(frozen=True, eq=False, kw_only=True)
class AheadPolicy(OnlinePolicy):
    """The policy that minimises P(late now) + price, with prices that look one event ahead of its values."""

    name: str
    values: FactoredValues
    states_per_decision: ClassVar[int] = 5
    """Of decisions in kernels (measured: 2 to 10, with 64 to 400 demand points)."""

    def _fill_values(self, start: int, stop: int, value: NDArray[np.float64]) -> None:
        """Set the values after one exact event."""
        values_ahead(start, stop, self._teams, self.values.tables, value)

    def in_bulk(self, decisions: float) -> BulkRule | None:
        """The values of every state where that takes less time, else the same look-ahead as `decide`, for kernels."""
        return super().in_bulk(decisions) or (None if self._in_kernels is None else BulkRule(ahead=self._in_kernels))

    @cached_property
    def _in_kernels(self) -> AheadRule | None:
        """What kernels decide by, if it is not too large."""
        return ahead_rule(self.values, self._teams, threads=self.threads)

    def stored(self) -> Stored:
        """Its tables, for a policy file."""
        return Stored(arrays=self.values.to_arrays(), certificate=self.certificate)

    def _prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """The prices of teams that look one event ahead."""
        return self._ahead(idle, teams, np.zeros(len(teams)), keep=0)

    def _best_prices(
        self, idle: NDArray[np.int64], teams: NDArray[np.int64], cost: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The same, nan for teams that are proven not to be among those that are listed."""
        return self._ahead(idle, teams, cost, keep=NUM_ALTERNATIVES + 1)

    def points_concerned(self, stations: NDArray[np.int64]) -> int:
        """How many demand points a decision looks at again when trucks of these stations leave, if none is short."""
        tables = np.flatnonzero(self._teams.near[stations].any(axis=0))
        first = self._teams.first_point
        return int((first[tables + 1] - first[tables]).sum())

    def _ahead(
        self, idle: NDArray[np.int64], teams: NDArray[np.int64], p_late: NDArray[np.float64], *, keep: int
    ) -> NDArray[np.float64]:
        """The prices of teams, nan for those that are proven not to be among the `keep` best (0: all are wanted)."""
        prices: NDArray[np.float64] = prices_ahead(
            teams, p_late, keep, idle.copy(), self.values.places(idle), self._teams, self.values.tables
        )
        return prices

    @cached_property
    def _teams(self) -> TeamArrays:
        """The teams that may go, and what the points of each table choose from."""
        problem, tables = self.problem, self.values.tables
        costs, choices, listed, groups = [], [], [], list(self.values.points)
        any_team = problem.num_teams <= FEW_TEAMS
        if any_team:
            # All points choose alike: as one group they are quicker, and the tables after the first have none.
            groups = [np.concatenate(groups), *(np.zeros(0, np.int64) for _ in groups[1:])]
        for g, points in enumerate(groups):
            teams = tables.local_team[tables.first_local[g] : tables.first_local[g + 1]]
            if any_team:
                teams = np.arange(1, problem.num_teams if g == 0 else 1)
            listed.append(teams)
            teams = teams[np.isin(problem.teams.sizes[teams], problem.trucks_needed[points])]
            choices.append(teams)
            fits = problem.teams.sizes[teams][:, None] == problem.trucks_needed[points]
            costs.append(np.where(fits, problem.cost[np.ix_(teams, points)], np.inf).ravel())
        point = np.concatenate(self.values.points)
        has = tables.stride > 0
        # Two tables overlap if they have a station in common.
        overlap = (has.astype(np.float32) @ has.T.astype(np.float32)) > 0.0
        near = (has.T.astype(np.float32) @ overlap.astype(np.float32)) > 0.0
        return TeamArrays(
            members=problem.teams.stations,
            number_of_code=problem.teams.number_of_code,
            cost=problem.cost,
            least_cost=problem.cost.min(axis=0),
            order=problem.order,
            parts=team_parts(problem.teams),
            needed=problem.trucks_needed,
            most_needed=int(problem.trucks_needed.max()),
            first_point=starts([len(points) for points in groups]),
            point=point,
            rate=problem.incidents_per_day[point],
            first_cost=starts([len(cost) for cost in costs]),
            choice_cost=np.concatenate(costs),
            first_choice=starts([len(teams) for teams in choices]),
            choice=np.concatenate(choices),
            listed=np.unique(np.concatenate(listed)),
            near=np.ones_like(near) if any_team else near,
            any_team=any_team,
            total_rate=problem.total_incidents_per_day,
            trucks=problem.trucks,
            returns_per_day=float(problem.returns_per_day),
        )


def read_ahead(problem: DispatchProblem, stored: Stored, *, name: str) -> AheadPolicy:
    """The policy of that name as a policy file holds it."""
    values = FactoredValues.from_arrays(problem, stored.arrays)
    return AheadPolicy(name=name, problem=problem, values=values, certificate=stored.certificate)
