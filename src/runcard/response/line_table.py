"""P(late) of teams that meet links together now and then, where there are few ways to do so (`team_ways.py`).

With I_i = 1 if truck i is there by T, and c(B) the joint cumulant of the I_i of a set B of trucks,

    P(all of A by T) = Σ over partitions of A of Π c(B):

c of one truck is its chance (`lattice_table.py`), and those of two, three and four trucks are found on one line of time
(`team_line.py`). They are small and smooth, so that a line of few steps is enough: steps are halved, and what they give
extrapolated, until cumulants settle. That at least m trucks are there follows from the chances of all subsets.

**Means.** E R_1 = ∫ P(none by t) P(no truck from outside by t) dt, and P(none by t) is a sum over all subsets of ± the
chance that all of a subset are there: one sum over t for each of them, and for each number of trucks from outside. For
trucks that share nothing it is known well (`lattice_table.py`); the line is for what sharing adds. Where that goes on
beyond the line, it is one link met together that is much longer than all else.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from runcard.response import team_kernels as kernels
from runcard.response.lattice_table import MEAN_TOLERANCE, LatticeTable, each_point, refined, within
from runcard.response.laws import Vector
from runcard.response.team_line import LineTimes, TeamsOnLine
from runcard.response.team_times import TeamTimes
from runcard.response.team_ways import Ways
from runcard.response.tree_kernels import late_of_teams

FIRST_STEPS = 48
TOLERANCE = 2e-6
"""Of cumulants, between two extrapolations by squares."""
THREADS = 1
"""Most of the work is little things, and threads are in each other's way."""
SURE = 1e-8
"""A truck is surely there if it is not with at most this chance, and the same the other way round."""
MOST_WAYS = 256
"""With more, lattices of several dimensions are taken: they are quicker, and not as good."""
MOST_CARRIED = 1 << 18
"""Ways of all teams of one truck less than an incident needs."""


@dataclass(frozen=True)
class LineTable:
    """Teams of up to four trucks at demand points that have few ways."""

    table: LatticeTable

    @cached_property
    def times(self) -> TeamTimes:
        """The times of links."""
        return TeamTimes(self.table)

    def late(self) -> NDArray[np.float64]:
        """[team, demand point] P(late) at the target of each demand point; inf where a team is too large."""
        table, targets = self.table, self.table.needs.targets
        late, alone = np.empty((len(table.teams), len(targets))), np.empty((len(table.city.stations) + 1, len(targets)))
        for target in np.unique(targets):
            points = np.flatnonzero(targets == target)
            alone[:, points] = 1.0 - table.late_alone(float(target), points)
            found = each_point(points, len(late), lambda j: self._late_at(j, alone[:, j]), THREADS)
            late[:, points] = np.clip(found, 0.0, 1.0)
            self.times.forget()
        late[table.too_large] = np.inf
        return late

    def means(self) -> NDArray[np.float64]:
        """[team, demand point] the mean minutes until the first truck; inf where a team is too large."""
        table, found = self.table, self.table.means_apart()
        for horizon, teams in table.horizons():
            points = np.flatnonzero(teams.any(axis=0))

            def at(num_steps: int, points: NDArray[np.int64], horizon: float = horizon) -> NDArray[np.float64]:
                times = self.times.on_line(horizon, num_steps)
                return each_point(points, len(table.teams), lambda j: self._minutes_of_sharing(j, times), THREADS)

            more = refined(at, points, within(MEAN_TOLERANCE * horizon, teams), FIRST_STEPS)
            found[:, points] += np.where(teams[:, points], more + self._beyond(horizon)[:, points], 0.0)
            self.times.forget()
        found[table.too_large] = np.inf
        return np.maximum(found, 0.0)

    def _beyond(self, horizon: float) -> NDArray[np.float64]:
        """[team, demand point] minutes that are spent beyond a horizon: on one long link that all trucks have together.

        Where one truck or more comes from outside, or no link is shared, hardly any are.
        """
        table, routes, law = self.table, self.table.routes, self.table.laws.together
        minutes = table.roads.minutes[table.used[1]]
        left = horizon - routes.drive_minutes - table.city.turnout.mean_minutes
        most = float(law.excess(np.array([max(left.min(), 0.0)]), minutes.max(initial=0.0, keepdims=True))[0, 0])
        found = np.zeros((len(table.teams), len(table.needs.targets)))
        if most * routes.num_links.max() <= MEAN_TOLERANCE * horizon:
            return found
        of_depth = np.zeros((*routes.num_links.shape, int(routes.num_links.max()) + 1))
        for i, j in np.argwhere(routes.num_links > 0).tolist():
            links = table.used[0][j, i, : routes.num_links[i, j]][::-1]
            excess = law.excess(np.array([max(float(left[i, j]), 0.0)]), minutes[links])[0]
            of_depth[i, j, 1 : len(links) + 1] = self.times.chance * np.cumsum(excess)
        shared, num = routes.shared_links.copy(), len(routes.num_links)
        shared[np.arange(num), np.arange(num)] = routes.num_links
        for t in np.flatnonzero(table.sizes > 1).tolist():
            team = table.teams[t, : table.sizes[t]]
            depths = shared[np.ix_(team, team)].min(axis=(0, 1))
            points = np.flatnonzero(table.needs.trucks == len(team))
            quickest = team[routes.drive_minutes[team][:, points].argmin(axis=0)]
            found[t, points] = of_depth[quickest, points, depths[points]]
        return found

    def _minutes_of_sharing(self, j: int, times: LineTimes) -> Vector:
        """[team] how much later the first truck comes to a demand point because trucks share delays, in minutes."""
        table, size = self.table, int(self.table.needs.trucks[j])
        tree = self.times.tree(j, np.arange(len(table.city.stations)))
        weights = times.lattice.step * (1.0 - times.outside) ** np.arange(size + 1.0)[:, None]
        weights[:, -1] *= 0.5
        on_line = TeamsOnLine(Ways(tree, self.times.minutes(tree.links)), times, size, weights[:size])
        one, two, three, four = on_line.sums()
        leaves, minutes = np.empty(len(tree.stations), np.int64), np.zeros(len(table.teams))
        leaves[tree.stations] = np.arange(len(leaves))
        kernels.none_of_sharing(
            table.teams, table.sizes, leaves, on_line.alone(), weights, one, two, three, four, minutes
        )  # fmt: skip
        return minutes

    def _late_at(self, j: int, alone: Vector) -> Vector:
        """[team] P(late) at one demand point, given P(by T) of a truck of each station and, last, from outside."""
        table, needs, one = self.table, self.table.needs, alone[:-1].copy()
        size, leaves, both = int(needs.trucks[j]), np.full(len(one), -1, np.int64), np.multiply.outer(one, one)
        c3, c4 = np.zeros(0), np.zeros(0)
        stations = np.flatnonzero((one > SURE) & (one < 1.0 - SURE))
        if len(stations):
            tree = self.times.tree(j, stations)
            leaves[tree.stations] = np.arange(len(stations))
            ways = Ways(tree, self.times.minutes(tree.links))
            c2, c3, c4 = self._cumulants(ways, float(needs.targets[j]), size)
            low, high = np.sort(np.indices((len(stations), len(stations))), axis=0)
            both[np.ix_(tree.stations, tree.stations)] += c2[low + high * (high + 1) // 2]
        found, late = np.zeros((len(table.teams), size)), np.empty(len(table.teams))
        kernels.at_least(table.teams, table.sizes, size, leaves, one, both, c3, c4, found)
        late_of_teams(table.sizes, size, int(needs.arrivals[j]), found, float(alone[-1]), late)
        return late

    def _cumulants(self, ways: Ways, target: float, size: int) -> tuple[Vector, Vector, Vector]:
        """The second, third and fourth cumulants of teams of leaves, by rank."""
        trucks = ways.tree.nodes[5]
        num = len(trucks)
        low, high = np.triu_indices(num)
        order = np.argsort(low + high * (high + 1) // 2)
        low, high = low[order], high[order]

        def at(num_steps: int, _: NDArray[np.int64]) -> NDArray[np.float64]:
            at_the_end = np.eye(1, num_steps + 1, num_steps)
            on_line = TeamsOnLine(ways, self.times.on_line(target, num_steps), size, at_the_end)
            one, two, three, four = (found[0] for found in on_line.sums())
            c2 = np.where((low < high) | (trucks[low] > 1), two - one[low] * one[high], 0.0)
            c3, c4 = np.zeros(len(three)), np.zeros(len(four))
            if size > 2:
                kernels.cumulants(trucks, size, one, two, three, four, c3, c4)
            return np.concatenate([c2, c3, c4])[:, None]

        found = refined(at, np.zeros(1, np.int64), within(TOLERANCE), FIRST_STEPS)[:, 0]
        twos, threes = comb(num + 1, 2), comb(num + 2, 3) if size > 2 else 0
        return found[:twos], found[twos : twos + threes], found[twos + threes :]


def has_few_ways(table: LatticeTable) -> NDArray[np.bool_]:
    """[demand point] whether a team that may go there can meet its links in few ways."""
    trucks, routes = np.array([station.trucks for station in table.city.stations]), table.routes
    minutes, needed = table.roads.minutes[table.used[1]], table.needs.trucks.tolist()
    most = np.array([min(MOST_WAYS, MOST_CARRIED // comb(len(trucks) + size - 2, size - 1)) for size in needed])
    shared = routes.shared_links.copy()
    shared[np.arange(len(trucks)), np.arange(len(trucks))] = np.where(trucks[:, None] > 1, routes.num_links, 0)
    depths = shared.max(axis=1)
    found = np.asarray((depths < most).all(axis=0))
    if np.all(minutes == minutes[:1]):
        return found
    for j in np.flatnonzero(found).tolist():
        for i, depth in enumerate(depths[:, j].tolist()):
            end = int(routes.num_links[i, j])
            of_kinds = np.unique(minutes[table.used[0][j, i, end - depth : end]], return_counts=True)[1]
            if prod(1 + num for num in of_kinds.tolist()) > most[j]:
                found[j] = False
                break
    return found
