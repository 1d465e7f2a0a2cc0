"""Who goes to every area at once: the decisions of a policy for many demand points in one state."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import OUTSIDE_ID
from runcard.mdp.problem import MINUTES, P_LATE, DispatchProblem
from runcard.plan.fleet import Fleet, KindDecision
from runcard.policy.options import team_ids
from runcard.service.fallback import chosen

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def idle_by_station(fleet: Fleet, idle: Collection[str]) -> list[list[str]]:
    """[I] the idle units of each station, in the order of the roster."""
    at: dict[str, list[str]] = {name: [] for name in fleet.problem.station_ids}
    for unit in fleet.units:
        if unit.unit_id in idle:
            at[unit.station_id].append(unit.unit_id)
    return list(at.values())


def points_of(fleet: Fleet, incident_type: str) -> dict[str, int]:
    """By area: its demand point of a type of incident; of several the one with the most incidents."""
    found: dict[str, int] = {}
    rates = fleet.problem.incidents_per_day
    for point, (node_id, of_type) in enumerate(zip(fleet.problem.point_ids, fleet.types, strict=True)):
        if of_type == incident_type and (node_id not in found or rates[point] > rates[found[node_id]]):
            found[node_id] = point
    return found


def ranks_of(problem: DispatchProblem, points: Ints) -> Ints:
    """[n, I] the place of each station in the order of some demand points, the closest first."""
    order = problem.order[points]
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
    return ranks


@dataclass(frozen=True, eq=False)
class KindScene:
    """What one kind sends to each area under one policy."""

    fleet: Fleet
    areas: tuple[str, ...]
    points: Ints
    """[n] the demand point of each area."""
    idle: Ints
    """[I] the idle trucks of each station."""
    there: list[list[str]]
    """[I] the idle units of each station."""
    teams: Ints
    """[n] the number of the team that goes."""

    @classmethod
    def of(cls, fleet: Fleet, idle: Collection[str], points: Mapping[str, int]) -> "KindScene":
        """What goes to each area when these units are idle, given its demand point."""
        numbers, trucks = np.array(list(points.values()), np.int64), fleet.idle_trucks(idle)
        teams = fleet.policy.teams(trucks, numbers)
        return cls(fleet, tuple(points), numbers, trucks, idle_by_station(fleet, idle), teams)

    @cached_property
    def stations(self) -> Ints:
        """[n, k] the stations of each team, the closest first, -1 behind the last."""
        problem = self.fleet.problem
        members = problem.teams.stations[self.teams].astype(np.int64)
        ranks = np.take_along_axis(ranks_of(problem, self.points), np.maximum(members, 0), axis=1)
        order = np.where(members >= 0, ranks, problem.num_stations).argsort(axis=1, kind="stable")
        return np.take_along_axis(members, order, axis=1)

    @cached_property
    def units(self) -> list[tuple[str, ...]]:
        """[n] the units that go to each area, the closest first, then "outside" for the rest."""
        needed = self.fleet.problem.trucks_needed[self.points].tolist()
        return [self._units(row, num) for row, num in zip(self.stations.tolist(), needed, strict=True)]

    def _units(self, stations: Sequence[int], needed: int) -> tuple[str, ...]:
        sent = [i for i in stations if i >= 0]
        names = [self.there[i][sent[:place].count(i)] for place, i in enumerate(sent)]
        return (*names, *[OUTSIDE_ID] * (needed - len(names)))

    def units_of(self, team: int, place: int) -> tuple[str, ...]:
        """The units of another team for the area in a place, the closest first."""
        order = self.fleet.problem.order[self.points[place]].tolist()
        members = [i for i in self.fleet.problem.teams.stations[team].tolist() if i >= 0]
        return self._units(sorted(members, key=order.index), int(self.fleet.problem.trucks_needed[self.points[place]]))

    def decided(self, idle: Collection[str], place: int = 0) -> KindDecision:
        """The decision for the area in a place; without prices where the policy does not look at them."""
        fleet, point = self.fleet, int(self.points[place])
        if fleet.policy.fixed_order is not None:
            team = team_ids(fleet.problem, point, int(self.teams[place]))
            return chosen(fleet, point, frozenset(idle), team)
        return fleet.decide(self.idle, point, idle)

    @property
    def num_rules(self) -> int:
        """How many standards a demand point has: those of its type, or being late."""
        return max(1, len(self.fleet.standards_at(int(self.points[0])))) if len(self.points) else 0

    @cached_property
    def missed(self) -> Floats:
        """[rule, n] the chance that the team misses each standard."""
        problem, num = self.fleet.problem, self.num_rules
        tables = [problem.missed(number) for number in range(num)]
        return np.array([table[self.teams, self.points] for table in tables]).reshape(num, len(self.points))

    @property
    def missed_in_all(self) -> Floats:
        """[n] the standards that a call misses, together and with their weights; the chance to be late without any."""
        return self.fleet.problem.measures[P_LATE][self.teams, self.points]

    @cached_property
    def minutes(self) -> Floats | None:
        """[n] the mean minutes until the first unit is there, where they are known."""
        table = self.fleet.problem.measures.get(MINUTES)
        return None if table is None else table[self.teams, self.points]

    def mean(self, values: Floats) -> float:
        """The mean over the incidents of all areas."""
        rates = self.fleet.problem.incidents_per_day[self.points]
        return float((rates * values).sum() / rates.sum()) if len(rates) else 0.0

    def unit_prices(self) -> dict[str, float]:
        """The price of sending each idle unit now; none of a policy that does not look at prices."""
        if self.fleet.policy.fixed_order is not None:
            return {}
        stations = np.flatnonzero(self.idle)
        prices = self.fleet.policy.prices(self.idle, 1 + stations).tolist() if len(stations) else []
        known = zip(stations.tolist(), prices, strict=True)
        return {unit: price for i, price in known for unit in self.there[i] if isfinite(price)}
