"""P(late) and mean minutes of teams of three and four that meet each shared link together with some chance.

With I_i = 1 if truck i is there by T, and c(B) the joint cumulant of the I_i of a set B of trucks,

    P(all of A by T) = Σ over partitions of A of Π c(B):

c of one truck is its chance, c of two their covariance, and those are known well (`lattice_table.py`, `pair_table.py`).
What three and four trucks add is small, and little of it is lost where single trucks and pairs are a little off: it is
taken from coarse lattices in as many dimensions (`team_times.py`),

    c(123) = P123 - P1 P23 - P2 P13 - P3 P12 + 2 P1 P2 P3,

and the like of four, every chance from the same lattice. Trucks that are surely there, or surely not, have no part in
it. The number of points is raised until cumulants settle; what is left of the error is mostly less than 1e-6, and 1e-5
to 1e-4 where three or four trucks of one station share nearly all; if those do not settle, a road alike stands in
(`team_alike.py`). Where links can be met in few ways only, there is a better way (`line_table.py`). That at least m
trucks are there follows from the chances of all subsets.

**Means.** E R_1 = ∫ P(none by t) dt. For trucks that share nothing that is known (`lattice_table.py`), and what sharing
adds, P(none by t) - Π P(i not by t), is a smooth bump: a sum over equal steps of log t, with every cumulant from coarse
lattices. Where its end is heavy, it goes on as a power of t.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.response import team_kernels as kernels
from runcard.response.lattice_table import LatticeTable, Needs, each_point
from runcard.response.laws import Vector, turnout_law
from runcard.response.pair_table import PairTable
from runcard.response.team_alike import cumulants_alike
from runcard.response.team_lattice import POINTS_OF_FOUR, POINTS_OF_THREE, SURE, Window, refuse_change, settled
from runcard.response.team_road_table import RoadTeams
from runcard.response.team_times import Chances, TeamTimes
from runcard.response.tree_kernels import late_of_teams

ALIKE = 1e-4
"""Where a cumulant of trucks of one station changes by more, a road alike is better."""
MEAN_POINTS = (72, 24, 14)
"""Of the lattices of two, three and four trucks for means."""
LEAST_STEP, MOST_STEP = 0.03, 0.25
"""Of log t, for means."""
SOON = 0.02
"""Sums over t begin no sooner than at this part of the least mean."""
END = 1e-4
"""Sums over t end where what is left is that part of t."""


@dataclass(frozen=True)
class TeamTable:
    """Teams of up to four trucks at demand points that need three or four, of links that may be met together or not."""

    table: LatticeTable

    @cached_property
    def times(self) -> TeamTimes:
        """The times of links."""
        return TeamTimes(self.table)

    def late(self) -> NDArray[np.float64]:
        """[team, demand point] P(late) at the target of each demand point; inf where a team is too large."""
        table, needs = self.table, self.table.needs
        one, two = self._singles(), self._pairs()
        known = None if self._between else self._on_one_road().late()

        def at(j: int) -> Vector:
            size, by_target = int(needs.trucks[j]), one[:-1, j].copy()
            both, roads, found = two[:, :, j].copy(), RoadTeams(self.times, j), np.zeros((len(table.teams), size))
            if self._between:
                leaves, c3, c4 = self._cumulants(j, by_target)
                kernels.at_least(table.teams, table.sizes, size, leaves, by_target, both, c3, c4, found)
            roads.fill(float(needs.targets[j]), by_target, both, found)
            late = np.empty(len(table.teams))
            late_of_teams(table.sizes, size, int(needs.arrivals[j]), found, float(one[-1, j]), late)
            if known is None:
                return late
            several = list(roads.teams)
            known[several, j] = late[several]
            return known[:, j]

        late = np.clip(each_point(np.arange(len(needs.targets)), len(table.teams), at), 0.0, 1.0)
        late[table.too_large] = np.inf
        return late

    @property
    def _between(self) -> bool:
        """Whether links are met together with a chance between 0 and 1."""
        return 0.0 < self.times.chance < 1.0

    def _on_one_road(self) -> LatticeTable:
        """The table where all trucks of a station take the same road."""
        city = self.table.city
        return replace(self.table, city=replace(city, driving=replace(city.driving, second_route="same")), _times={})

    def _singles(self) -> NDArray[np.float64]:
        """[station + 1, demand point] the chance that a truck is there by the target; last, one from outside."""
        table, targets = self.table, self.table.needs.targets
        found = np.empty((len(table.city.stations) + 1, len(targets)))
        for target in np.unique(targets):
            points = np.flatnonzero(targets == target)
            found[:, points] = 1.0 - table.late_alone(float(target), points)
            table.forget()
        return found

    def _pairs(self) -> NDArray[np.float64]:
        """[station, station, demand point] the chance that both of two trucks are there by the target."""
        table, num = self.table, len(self.table.city.stations)
        teams, both = table.teams[table.sizes <= 2][:, :2].copy(), np.full(len(table.needs.targets), 2, np.int32)
        pairs = replace(table, teams=teams, needs=Needs(both, both, table.needs.targets), _times={})
        late = (PairTable(pairs) if self._between else pairs).late()
        found = np.zeros((num, num, late.shape[1]))
        two = teams[:, 1] >= 0
        found[teams[two, 0], teams[two, 1]] = found[teams[two, 1], teams[two, 0]] = 1.0 - late[two]
        return found

    def _cumulants(self, j: int, one: Vector) -> tuple[NDArray[np.int64], Vector, Vector]:
        """[station] its leaf, -1 if its trucks are sure, and the third and fourth cumulants of teams by rank."""
        leaves, none = np.full(len(one), -1, np.int64), np.zeros(0)
        stations = np.flatnonzero((one > SURE) & (one < 1.0 - SURE))
        if not len(stations):
            return leaves, none, none
        target, tree = float(self.table.needs.targets[j]), self.times.tree(j, stations)
        leaves[tree.stations] = np.arange(len(stations))
        _, rising = self.times.singles(tree, target)

        def at(points: int, size: int) -> tuple[float, Vector]:
            window = Window.before(rising, points, size)
            found = cumulants(tree.nodes[5], size, self.times.chances(tree, window, size))
            return window.step, found[size - 3]

        def of(size: int, points: tuple[int, ...]) -> Vector:
            found, change = settled(lambda num: at(num, size), points)
            for leaf, station in enumerate(tree.stations.tolist()):
                rank = kernels.team_rank(-1 if size < 4 else leaf, leaf, leaf, leaf)
                if tree.nodes[5][leaf] >= size and change[rank] > ALIKE:
                    links = self.table.used[0][j, station, : self.table.routes.num_links[station, j]]
                    found[rank] = cumulants_alike(self.times, self.times.minutes(links), target, size)[size - 3]
                    change[rank] = 0.0
            refuse_change(change, points, size)
            return found

        return leaves, of(3, POINTS_OF_THREE), of(4, POINTS_OF_FOUR) if self.table.needs.trucks[j] > 3 else none

    def means(self) -> NDArray[np.float64]:
        """[team, demand point] the mean minutes until the first truck; inf where a team is too large."""
        table = self.table
        found = table.means_apart() if self._between else self._on_one_road().means()

        def at(j: int) -> Vector:
            roads = RoadTeams(self.times, j)
            minutes = found[:, j].copy()
            for t, apart in roads.minutes_apart().items():
                minutes[t] = apart
            if self._between or roads.teams:
                more = self._minutes_of_sharing(roads)
                several = np.isin(np.arange(len(more)), list(roads.teams))
                minutes += np.where((several | self._between) & ~table.too_large[:, j], more, 0.0)
            return minutes

        return each_point(np.arange(len(table.needs.targets)), len(table.teams), at)

    def _minutes_of_sharing(self, roads: RoadTeams) -> Vector:
        """[team] how much later the first truck comes because trucks share delays, in minutes."""
        table, j, bumps = self.table, roads.point, [np.zeros(len(self.table.teams))]
        minutes, step = table.routes.drive_minutes[:, j] + table.city.turnout.mean_minutes, self._log_step(j)
        if minutes.max() == 0.0:
            return bumps[0]
        tree = self.times.tree(j, np.arange(len(minutes)))
        least = float(minutes[minutes > 0.0].min())
        _, rising = self.times.singles(self.times.tree(j, np.flatnonzero(minutes > 0.0)), least)
        t = max(rising.until(END), SOON * least)
        while t < table.reach[:-1].max():
            t *= np.exp(step)
            one = np.empty(len(minutes))
            one[tree.stations] = self.times.singles(tree, t)[0]
            bumps.append(t * self._bump(roads, t, one))
            if t > 2.0 * minutes.max() and bumps[-1].max(initial=0.0) <= END * t:
                break
        # From the last steps on, t D(t) goes on falling as it did.
        before, last = bumps[max(0, len(bumps) - 4)], bumps[-1]
        ratio = np.cbrt(np.clip(last / np.maximum(before, 1e-12), 0.0, 1.0)) * (last > 0.0)
        tail = last * ratio / np.maximum(1.0 - ratio, LEAST_STEP)
        return np.asarray(step * (np.sum(bumps, axis=0) + tail))

    def _log_step(self, j: int) -> float:
        """The step of log t at a demand point: less than how much the least uncertain route varies, relatively."""
        table, turnout = self.table, self.table.city.turnout
        ready = turnout_law(turnout).deviation(np.array([turnout.mean_minutes]))
        spread = [
            np.hypot(table.laws.alone.deviation(self.times.minutes(route[:num])), ready)
            / (minutes + turnout.mean_minutes)
            for route, num, minutes in zip(
                table.used[0][j], table.routes.num_links[:, j], table.routes.drive_minutes[:, j], strict=True
            )
            if minutes > 0.0
        ]
        return float(np.clip(0.8 * min(spread, default=1.0), LEAST_STEP, MOST_STEP))

    def _bump(self, roads: RoadTeams, t: float, one: Vector) -> Vector:
        """[team] P(none by t) - Π P(i not by t), and those from outside not by t, given P(i by t)."""
        table, j = self.table, roads.point
        size = int(table.needs.trucks[j])
        found, two = np.zeros((len(table.teams), size)), np.multiply.outer(one, one)
        leaves, c3, c4 = np.full(len(one), -1, np.int64), np.zeros(0), np.zeros(0)
        stations = np.flatnonzero((one > SURE) & (one < 1.0 - SURE))
        if self._between and len(stations):
            tree = self.times.tree(j, stations)
            leaves[tree.stations] = np.arange(len(stations))
            _, rising = self.times.singles(tree, t)
            on = [
                self.times.chances(tree, Window.before(rising, points, n), n)
                for n, points in zip(range(2, size + 1), MEAN_POINTS, strict=False)
            ]
            c3 = cumulants(tree.nodes[5], 3, on[1])[0]
            c4 = cumulants(tree.nodes[5], 4, on[2])[1] if size > 3 else c4
            two[np.ix_(tree.stations, tree.stations)] += covariances(on[0])
        kernels.at_least(table.teams, table.sizes, size, leaves, one, two, c3, c4, found)
        roads.fill(t, one, None, found, MEAN_POINTS)
        apart = np.append(1.0 - one, 1.0)[table.teams].prod(axis=1)
        for team, chance in roads.apart(t, one).items():
            apart[team] = chance
        others = (1.0 - self.times.outside(t)) ** np.maximum(size - table.sizes, 0)
        return np.where((table.sizes > 1) & (table.sizes <= size), (1.0 - found[:, 0] - apart) * others, 0.0)


def cumulants(trucks: NDArray[np.int64], size: int, chances: Chances) -> tuple[Vector, Vector]:
    """The third and, of size 4, fourth cumulants of all teams, by rank, given the trucks of leaves."""
    c3, c4 = np.zeros(len(chances[2])), np.zeros(len(chances[3]))
    kernels.cumulants(trucks, size, *chances, c3, c4)
    return c3, c4


def covariances(chances: Chances) -> NDArray[np.float64]:
    """[leaf, leaf] the second cumulants."""
    one, two = chances[:2]
    low, high = np.sort(np.indices((len(one), len(one))), axis=0)
    return np.asarray(two[low + high * (high + 1) // 2] - np.multiply.outer(one, one))
