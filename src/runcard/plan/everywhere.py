"""Who goes everywhere: what one kind sends to many demand points at once, all in one state.

Cards, maps, GeoJSON, reports and the explorer are views of it: none of them asks what sort of policy decides.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from runcard.city.conditions import OUTSIDE_ID
from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.problem import P_LATE
from runcard.plan.fleet import Fleet
from runcard.policy.options import first_in_order, team_ids


@dataclass(frozen=True, eq=False, kw_only=True)
class Everywhere:
    """The teams that one kind sends to some demand points."""

    fleet: Fleet
    points: Ints
    """[n] the demand points."""
    idle: Collection[str]
    """The idle units."""
    trucks: Ints
    """[I] the idle trucks of each station."""
    teams: Ints
    """[n] the number of the team that goes."""

    @cached_property
    def closest(self) -> "Everywhere":
        """The teams that closest-first sends."""
        problem, trucks = self.fleet.problem, self.trucks
        teams = [first_in_order(problem, problem.order, trucks, point) for point in self.points.tolist()]
        return replace(self, teams=np.array(teams, np.int64))

    @cached_property
    def stations(self) -> Ints:
        """[n, k] the stations of each team, the closest first, -1 behind the last."""
        problem = self.fleet.problem
        members = problem.teams.stations[self.teams].astype(np.int64)
        ranks = np.take_along_axis(problem.order[self.points].argsort(axis=1), np.maximum(members, 0), axis=1)
        order = np.where(members >= 0, ranks, problem.num_stations).argsort(axis=1, kind="stable")
        return np.take_along_axis(members, order, axis=1)

    @cached_property
    def units(self) -> list[tuple[str, ...]]:
        """[n] the units that go, the closest first, then "outside" for the rest."""
        ids, needed = self.fleet.problem.station_ids, self.fleet.problem.trucks_needed[self.points].tolist()
        teams = ([ids[i] for i in stations if i >= 0] for stations in self.stations.tolist())
        return [self._units(team, num) for team, num in zip(teams, needed, strict=True)]

    def _units(self, team: Sequence[str], needed: int) -> tuple[str, ...]:
        return self.fleet.unit_ids([*team, *[OUTSIDE_ID] * (needed - len(team))], self.idle)

    @property
    def units_listed(self) -> list[tuple[str, ...]]:
        """[n] the same in the order of the stations, not of the drives."""
        pairs = zip(self.teams.tolist(), self.points.tolist(), strict=True)
        return [self.fleet.unit_ids(team_ids(self.fleet.problem, point, team), self.idle) for team, point in pairs]

    def measure(self, name: str) -> Floats | None:
        """[n] a measure of each team; None where it is not known."""
        table = self.fleet.problem.measures.get(name)
        return None if table is None else table[self.teams, self.points]

    @property
    def missed_in_all(self) -> Floats:
        """[n] the standards that are missed, together and with their weights; the chance to be late without any."""
        return self.fleet.problem.measures[P_LATE][self.teams, self.points]

    def missed(self, number: int) -> Floats:
        """[n] the chance that each team misses the first standard of its demand point, the second, ..., from 0."""
        return self.fleet.problem.missed(number)[self.teams, self.points]

    def gains(self) -> Floats:
        """[n] what each team is expected to gain over that of closest-first, now and later; 0 where it is the same."""
        problem, other = self.fleet.problem, self.closest.teams
        gains = np.zeros(len(self.points))
        for place in np.flatnonzero(self.teams != other).tolist():
            pair = np.array([self.teams[place], other[place]])
            total = problem.cost[pair, self.points[place]] + self.fleet.policy.prices(self.trucks, pair)
            gains[place] = total[1] - total[0]
        return gains


def everywhere(fleet: Fleet, idle: Collection[str] | None = None, points: Ints | None = None) -> Everywhere:
    """Who of a kind goes to each demand point, or to some; every unit is idle if nobody says which are."""
    idle = fleet.every_unit if idle is None else idle
    points = np.arange(fleet.problem.num_points) if points is None else points
    trucks = fleet.idle_trucks(idle)
    return Everywhere(
        fleet=fleet, points=points, idle=idle, trucks=trucks, teams=fleet.policy.teams(trucks, points)
    )  # fmt: skip
