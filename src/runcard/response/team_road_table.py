"""The teams of a demand point of which several trucks are of one station and take different roads (`team_roads.py`)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from runcard.response.laws import Vector
from runcard.response.team_lattice import (
    POINTS_OF_FOUR,
    POINTS_OF_THREE,
    POINTS_OF_TWO,
    SURE,
    Arrivals,
    Window,
    refuse_change,
    settled,
)
from runcard.response.team_roads import OnWindow, Roads, Trucks, parts_with_first, trucks_of
from runcard.response.team_times import FINE_THETA, TeamTimes, not_there

STEPS_OF_MEANS = 4096
ROUNDING = 1e-6


@dataclass(frozen=True)
class RoadTeams:
    """Teams of a table with more than one truck of a station, at one demand point."""

    times: TeamTimes
    point: int

    @cached_property
    def teams(self) -> dict[int, Trucks]:
        """The trucks of every such team, by its number."""
        table = self.times.table
        if not table.two_roads:
            return {}
        most = int(table.needs.trucks[self.point])
        several = ((np.diff(table.teams, axis=1) == 0) & (table.teams[:, 1:] >= 0)).any(axis=1)
        return {
            t: trucks_of([i for i in table.teams[t].tolist() if i >= 0])
            for t in np.flatnonzero(several & (table.sizes <= most)).tolist()
        }

    @cached_property
    def trucks(self) -> Trucks:
        """All trucks of these teams."""
        return tuple(sorted({truck for trucks in self.teams.values() for truck in trucks}))

    @cached_property
    def roads(self) -> Roads:
        """The roads of all trucks."""
        return Roads(self.times, self.point)

    def fill(
        self, target: float, one: Vector, two: NDArray[np.float64] | None, found: NDArray[np.float64],
        points: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        """Set found[team, n-1] to the chance that at least n trucks of a team are there by T.

        Given are those of single trucks on first roads and, if known, of two of different stations. With `points` of
        lattices of two, three and four trucks, these are not refined.
        """
        if not self.teams:
            return
        singles, _ = self.roads.singles(self.trucks, target)
        singles |= {(station, 0): float(one[station]) for station, road in self.trucks if road == 0}
        chances = _Chances({(truck,): chance for truck, chance in singles.items()})
        unsure = tuple(truck for truck in self.trucks if SURE < singles[truck] < 1.0 - SURE)
        rising = self.roads.singles(unsure, target)[1] if unsure else Arrivals(target, np.zeros(1))
        wanted = {part for team in self.teams.values() for size in (2, 3, 4) for part in combinations(team, size)}
        for size, steps in ((2, POINTS_OF_TWO), (3, POINTS_OF_THREE), (4, POINTS_OF_FOUR)):
            teams = sorted(part for part in wanted if len(part) == size and set(part) <= set(unsure))
            if size == 2 and two is not None:
                for a, b in [(a, b) for a, b in teams if a[0] != b[0] and a[1] == b[1] == 0]:
                    chances.cumulants[a, b] = float(two[a[0], b[0]]) - singles[a] * singles[b]
                teams = [part for part in teams if part not in chances.cumulants]
            if teams:
                at = self._cumulants(teams, unsure, rising)
                if points is None:
                    values, change = settled(at, steps)
                    refuse_change(change, steps, size)
                else:
                    values = at(points[size - 2])[1]
                chances.cumulants |= dict(zip(teams, values.tolist(), strict=True))
        for t, team in self.teams.items():
            found[t] = chances.at_least(team, found.shape[1])

    def _cumulants(
        self, teams: list[Trucks], trucks: Trucks, rising: Arrivals
    ) -> Callable[[int], tuple[float, Vector]]:
        """What gives, for a number of points, the step and the cumulants of teams."""

        def at(points: int) -> tuple[float, Vector]:
            on = OnWindow(self.roads, trucks, Window.before(rising, points, len(teams[0])), len(teams[0]))
            return on.window.step, np.array([on.cumulant(team) for team in teams])

        return at

    def apart(self, t: float, one: Vector) -> dict[int, float]:
        """By team: the chance that none is there by t if they were independent."""
        singles = self.roads.singles(self.trucks, t)[0] if self.teams else {}
        singles |= {(station, 0): float(one[station]) for station, road in self.trucks if road == 0}
        return {t: float(np.prod([1.0 - singles[truck] for truck in team])) for t, team in self.teams.items()}

    def minutes_apart(self) -> dict[int, float]:
        """By team: the mean minutes until the first if trucks were independent."""
        table, found = self.times.table, {}
        most = int(table.needs.trucks[self.point])
        for quickest in sorted({_quickest(team, table.reach) for team in self.teams.values()}):
            window = Window(float(table.reach[quickest]), STEPS_OF_MEANS, 0, FINE_THETA)
            late = dict(zip(self.trucks, not_there(self.roads.own(self.trucks, window), window), strict=True))
            outside = not_there(self.times.from_outside(window), window)[0]
            for t, team in self.teams.items():
                if _quickest(team, table.reach) == quickest:
                    none = np.prod([late[truck] for truck in team], axis=0) * outside ** (most - len(team))
                    later = float(none[1:].sum())
                    found[t] = window.step * (0.5 + later) if later > ROUNDING else 0.0  # a truck is there
        return found


def _quickest(team: Trucks, reach: Vector) -> int:
    """The station of a team whose trucks are sure to be everywhere first."""
    return min((station for station, _ in team), key=lambda station: (reach[station], station))


@dataclass
class _Chances:
    """P(all by T) of trucks from cumulants; of those that are not given, they are 0."""

    cumulants: dict[Trucks, float]
    _found: dict[Trucks, float] = field(default_factory=dict)

    def of_all(self, trucks: Trucks) -> float:
        """P(all by T)."""
        if not trucks:
            return 1.0
        if trucks not in self._found:
            total = sum(self.cumulants.get(some, 0.0) * self.of_all(rest) for some, rest in parts_with_first(trucks))
            without: list[Trucks] = [trucks[:place] + trucks[place + 1 :] for place in range(len(trucks))]
            most = min(map(self.of_all, without)) if len(trucks) > 1 else 1.0
            self._found[trucks] = min(max(total, 0.0), most)
        return self._found[trucks]

    def at_least(self, trucks: Trucks, most: int) -> Vector:
        """[n-1] the chance that at least n are there by T."""
        sums = [sum(map(self.of_all, combinations(trucks, size))) for size in range(1, len(trucks) + 1)]
        found = np.zeros(most)
        for n in range(1, len(trucks) + 1):
            found[n - 1] = sum(
                (-1) ** (r - n) * comb(r - 1, n - 1) * sums[r - 1] for r in range(n, len(trucks) + 1)
            )  # fmt: skip
        return found
