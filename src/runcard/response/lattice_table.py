"""P(late) and mean minutes of every team, for driving times of any law, along the tree of routes to each demand point.

The routes to a demand point form a tree. What several trucks meet on a link that they share is the same for all of them
(where it never is, their routes do not meet before the end). With N(t) the number of trucks that have passed a node,

    at a junction    N_A(t) + N_B(t), the two independent,        along links    N(t - C), C the time there:

a product and a convolution (`tree_kernels.py`). An incident is late when the m-th of k trucks is not there by T. Where
links are met together now and then, see `line_table.py`, `pair_table.py` and `team_table.py`.

For every demand point the lattice has its target as horizon. Means are of a lattice that is long enough for nearly all
of a route's time: the mean of the first of several is a sum up to there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft

from runcard.city.model import City, Outside
from runcard.errors import NotConvergedError
from runcard.response import tree_kernels as kernels
from runcard.response.lattice import (
    FIRST_STEPS,
    MOST_STEPS,
    TOLERANCE,
    Lattice,
    TimesOfLaw,
    Transforms,
    extrapolated,
    survivals,
)
from runcard.response.laws import DrivingLaws, Law, Vector, driving_laws, turnout_law
from runcard.response.routes import MAX_DISTANCES, Roads, Routes, outside_route
from runcard.response.second_routes import second_route
from runcard.threads import available_threads, run_each

MEAN_HORIZON = 12.0
"""The lattice of means reaches that many standard deviations beyond the mean of the longest route."""
MEAN_TOLERANCE = 1e-5
"""Of means, relatively to the horizon."""
SAME_SCALE = 8.0
"""Stations whose routes take up to so many times as long share a lattice of means."""


Settled = Callable[[list[NDArray[np.float64]], NDArray[np.int64]], NDArray[np.bool_]]


@dataclass(frozen=True)
class Needs:
    """What incidents at each demand point need."""

    trucks: NDArray[np.int32]
    arrivals: NDArray[np.int32]
    """m: an incident is late when the m-th truck is."""
    targets: Vector

    @property
    def most_trucks(self) -> int:
        """The largest k."""
        return int(self.trucks.max())


@dataclass(frozen=True)
class Times:
    """The transforms of all times on one lattice."""

    lattice: Lattice
    of_link: Transforms
    """[link, frequency]"""
    start: Transforms
    """Of what comes before the first link."""
    outside: Vector
    """[step] the chance that a truck from outside is there."""


@dataclass(frozen=True)
class _Tree:
    """The routes to one demand point, and where teams need to be known on them (see `tree_kernels.py`)."""

    point: int
    routes: NDArray[np.int32]
    num_links: NDArray[np.int32]
    shared: NDArray[np.int32]
    trucks: int
    """The largest team."""
    junction: NDArray[np.int32]
    parts: NDArray[np.int32]
    rows: NDArray[np.int32]
    num_rows: int
    _products: dict[tuple[int, int, int], Transforms] = field(default_factory=dict)

    def product(self, times: Times, i: int, low: int, high: int) -> Transforms:
        """The transform of the time on the links of a route between two depths."""
        if (i, low, high) not in self._products:
            found = np.ones(times.lattice.num_frequencies, np.complex128)
            kernels.multiply_links(self.routes[i], self.num_links[i], low, high, times.of_link, found)
            self._products[i, low, high] = found
        return self._products[i, low, high]


@dataclass(frozen=True)
class LatticeTable:
    """The routes of a city, and times on lattices."""

    city: City
    roads: Roads
    routes: Routes
    teams: NDArray[np.int32]
    """[team, place] the stations of every team, as `list_stations` gives them."""
    needs: Needs
    _times: dict[tuple[int, float], tuple[TimesOfLaw, TimesOfLaw, TimesOfLaw]] = field(default_factory=dict)

    @cached_property
    def sizes(self) -> NDArray[np.int32]:
        """[team] the trucks of each team."""
        return np.asarray((self.teams >= 0).sum(axis=1), np.int32)

    @cached_property
    def teams_of_one(self) -> NDArray[np.int64]:
        """[station] the team of one truck of each station."""
        return np.flatnonzero(self.sizes == 1)

    @property
    def too_large(self) -> NDArray[np.bool_]:
        """[team, demand point] whether a team has more trucks than an incident needs."""
        return self.sizes[:, None] > self.needs.trucks[None, :]

    def at_points(self, points: NDArray[np.int64]) -> "LatticeTable":
        """The same for some demand points, and the teams that may go there."""
        needs = Needs(self.needs.trucks[points], self.needs.arrivals[points], self.needs.targets[points])
        routes, demand = self.routes, tuple(self.city.demand[j] for j in points.tolist())
        return LatticeTable(
            replace(self.city, demand=demand, outside=Outside(*self.outside)),
            replace(self.roads, demand=self.roads.demand[points]),
            Routes(routes.num_links[:, points], routes.shared_links[:, :, points], routes.drive_minutes[:, points]),
            self.teams[self.sizes <= needs.most_trucks, : needs.most_trucks].copy(),
            needs,
        )

    @cached_property
    def _numbers(self) -> NDArray[np.int32]:
        """The number of every team that may be a part of another."""
        most, base = max(1, self.needs.most_trucks - 1), len(self.city.stations) + 1
        return np.asarray(kernels.number_teams(self.teams, self.sizes, most, base), np.int32)

    @cached_property
    def _first(self) -> NDArray[np.int32]:
        """[demand point, station, place] the links of every route; -1 behind the last."""
        num_stations, num_points = self.routes.num_links.shape
        most = max(1, int(self.routes.num_links.max()))
        found = np.full((num_points, num_stations, most), -1, np.int32)
        leaving = self.roads.leaving
        chunk = max(1, MAX_DISTANCES // self.roads.num_nodes)
        for first in range(0, num_points, chunk):
            destinations = self.roads.demand[first : first + chunk]
            for j, distance in enumerate(self.roads.minutes_to(destinations), start=first):
                kernels.list_routes(
                    leaving, self.roads.minutes, distance, self.roads.stations, self.roads.demand[j], self.roads.seed,
                    found[j],
                )  # fmt: skip
        return found

    @cached_property
    def _second(self) -> dict[tuple[int, int], NDArray[np.int64]]:
        """By demand point and station: the links of the route of a second truck that takes another road."""
        if self.city.driving.second_route == "same":
            return {}
        several = [i for i, station in enumerate(self.city.stations) if station.trucks > 1]
        leaving, roads = self.roads.leaving, self.roads

        def find(pair: tuple[int, int]) -> NDArray[np.int64]:
            j, i = pair
            first = self._first[j, i, : self.routes.num_links[i, j]].astype(np.int64)
            return np.asarray(second_route(leaving, roads.minutes, int(roads.stations[i]), int(roads.demand[j]), first))

        pairs = [(j, i) for j in range(len(self._first)) for i in several]
        return dict(zip(pairs, run_each(find, pairs, available_threads()), strict=True))

    @cached_property
    def _number(self) -> NDArray[np.int32]:
        """[link + 1] the new number of each link that some route has, -1 for the others; the last stands for none."""
        number = np.full(len(self.roads.minutes) + 1, -1, np.int32)
        links = np.unique(np.concatenate([self._first[self._first >= 0], *self._second.values()]))
        number[links] = np.arange(len(links), dtype=np.int32)
        return number

    @cached_property
    def used(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The links of every route [demand point, station, place], numbered anew, and which links they are."""
        return self._number[self._first], np.flatnonzero(self._number >= 0)

    @cached_property
    def two_roads(self) -> dict[tuple[int, int], tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]]:
        """By demand point and station: the links of the first truck alone, of the second alone, and of both."""
        found = {}
        for (j, i), route in self._second.items():
            first, second = self.used[0][j, i, : self.routes.num_links[i, j]], self._number[route]
            both = np.isin(first, second)
            found[j, i] = first[~both], second[~np.isin(second, first)], first[both]
        return found

    @cached_property
    def outside(self) -> tuple[int, float]:
        """The links of the route of a truck from outside, and their mean."""
        return outside_route(self.city, int(self.routes.num_links.max()), float(self.roads.minutes.mean()))

    @cached_property
    def _together(self) -> bool:
        """Whether links are met together; here all of them are, or none."""
        return self.city.shared_delay == 1.0

    def late(self) -> NDArray[np.float64]:
        """[team, demand point] P(late) at the target of each demand point; inf where a team is too large."""
        found = np.empty((len(self.teams), len(self.needs.targets)))
        for target in np.unique(self.needs.targets):
            points = np.flatnonzero(self.needs.targets == target)

            def at(num_steps: int, points: NDArray[np.int64], target: float = float(target)) -> NDArray[np.float64]:
                return self._on(Lattice(target, num_steps), points, self._late_at)

            found[:, points] = np.clip(refined(at, points, within(TOLERANCE)), 0.0, 1.0)
            self.forget()
        found[self.too_large] = np.inf
        return found

    @cached_property
    def reach(self) -> NDArray[np.float64]:
        """[station + 1] minutes by which a truck of each station is surely everywhere, and one from outside."""
        (links, mean), turnout = self.outside, self.city.turnout
        numbered, used = self.used
        squares = (np.append(self.roads.minutes[used], 0.0)[numbered] ** 2).sum(axis=2).max(axis=0)
        deviation = self.laws.alone.deviation(np.ones(1)) * np.sqrt(np.append(squares, links * mean**2))
        ready = turnout.mean_minutes + MEAN_HORIZON * turnout_law(turnout).deviation(np.array([turnout.mean_minutes]))
        longest = np.append(self.routes.drive_minutes.max(axis=1), links * mean)
        return np.asarray(np.maximum(longest + MEAN_HORIZON * deviation + ready, 1e-9))

    def horizons(self) -> Iterator[tuple[float, NDArray[np.bool_]]]:
        """The horizons of lattices of means, in minutes, and which teams [team, demand point] each is for.

        The first of several trucks is there when the quickest is; so slow stations do not make the lattice coarse.
        """
        scale = np.ceil(np.log(self.reach / self.reach.min()) / np.log(SAME_SCALE) - 1e-9).astype(np.int64)
        scale_of_team = np.append(scale[:-1], scale.max())[self.teams].min(axis=1, where=self.teams >= 0, initial=99)
        missing = self.sizes[:, None] < self.needs.trucks[None, :]
        of_team = np.minimum(scale_of_team[:, None], np.where(missing, scale[-1], 99))
        for one in np.unique(of_team[~self.too_large]).tolist():
            yield float(self.reach[scale <= one].max()), of_team == one

    def means(self) -> NDArray[np.float64]:
        """[team, demand point] the mean minutes until the first truck; inf where a team is too large."""
        (links, mean), turnout = self.outside, self.city.turnout.mean_minutes
        found = np.full((len(self.teams), len(self.needs.targets)), np.inf)
        for horizon, teams in self.horizons():
            points = np.flatnonzero(teams.any(axis=0))

            def at(num_steps: int, points: NDArray[np.int64], horizon: float = horizon) -> NDArray[np.float64]:
                return self._on(Lattice(horizon, num_steps), points, self._means_at)

            settled = within(MEAN_TOLERANCE * horizon, teams)
            found[:, points] = np.where(teams[:, points], refined(at, points, settled), found[:, points])
            self.forget()
        # One truck alone needs no lattice.
        alone = self.needs.trucks == 1
        found[0, alone] = links * mean + turnout
        for t in np.flatnonzero(self.sizes == 1):
            found[t, alone] = self.routes.drive_minutes[self.teams[t, 0], alone] + turnout
        found[self.too_large] = np.inf
        return found

    def means_apart(self) -> NDArray[np.float64]:
        """[team, demand point] the mean minutes until the first truck if trucks shared nothing."""
        city = self.city
        driving = replace(city.driving, coupled_branch=None, second_route="same")
        apart = replace(city, shared_delay=0.0, driving=driving, turnout=replace(city.turnout, shared=False))
        return replace(self, city=apart, _times={}).means()

    @cached_property
    def laws(self) -> DrivingLaws:
        """The laws of the time on a link."""
        return driving_laws(self.city.driving)

    def masses(self, law: Law, horizon: float, num_steps: int) -> tuple[NDArray[np.float64], ...]:
        """[link, step], [step] and [step] the masses of the times on links, on one outside, and before the first link.

        The last are of the law of turnout times; the others of the given one.
        """
        minutes, turnout = self.roads.minutes[self.used[1]], self.city.turnout
        key = (id(law), horizon)
        if key not in self._times:
            outside = np.array([self.outside[1]])
            self._times[key] = (
                TimesOfLaw(law, minutes, horizon), TimesOfLaw(law, outside, horizon),
                TimesOfLaw(turnout_law(turnout), np.array([turnout.mean_minutes]), horizon),
            )  # fmt: skip
        links, outside_link, start = self._times[key]
        nothing = np.zeros(num_steps + 1)
        nothing[0] = 1.0
        ready = start.masses(num_steps)[0] if turnout.mean_minutes > 0.0 else nothing
        return links.masses(num_steps), outside_link.masses(num_steps)[0], ready

    def forget(self) -> None:
        """Let go of the times of links up to the last horizon."""
        self._times.clear()

    def times(self, lattice: Lattice) -> Times:
        """All times on a lattice."""
        links, outside, ready = self.masses(self.laws.alone, lattice.horizon, lattice.num_steps)
        start = lattice.transforms(ready[None])
        from_outside = lattice.transforms(outside[None]) ** self.outside[0] * start
        found = 1.0 - survivals(lattice.masses(from_outside))[0]
        return Times(lattice, lattice.transforms(links), start[0], found)

    def _on(
        self, lattice: Lattice, points: NDArray[np.int64], at: Callable[[Times, _Tree], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """[team, place in points] what is found at some demand points on one lattice."""
        times, at_the_end = self.times(lattice), at == self._means_at
        return each_point(points, len(self.teams), lambda j: at(times, self._tree(j, at_the_end=at_the_end)))

    def late_alone(self, target: float, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """[station + 1, place in points] P(late) of a single truck of each station, and of one from outside."""
        num = len(self.routes.num_links) + 1

        def at(num_steps: int, points: NDArray[np.int64]) -> NDArray[np.float64]:
            times = self.times(Lattice(target, num_steps))
            return each_point(points, num, lambda j: self._alone_at(times, j))

        return np.clip(refined(at, points, within(TOLERANCE)), 0.0, 1.0)

    def _alone_at(self, times: Times, j: int) -> Vector:
        """[station + 1] see `late_alone`."""
        num_links = np.ascontiguousarray(self.routes.num_links[:, j])
        rows = np.arange(len(num_links), dtype=np.int32)[:, None]
        products = np.empty((len(num_links), times.lattice.num_frequencies), np.complex128)
        kernels.own_products(self.used[0][j], num_links, rows, times.start, times.of_link, rows[:, 0].copy(), products)
        return np.append(survivals(times.lattice.masses(products))[:, -1], 1.0 - times.outside[-1])

    def _tree(self, j: int, *, at_the_end: bool) -> _Tree:
        """The routes to a demand point; whether teams must be known at their end."""
        shared = np.ascontiguousarray(self.routes.shared_links[:, :, j])
        if not self._together:
            shared = np.zeros_like(shared)
        trucks, depths = int(self.needs.trucks[j]), int(shared.max()) + 1
        junction, parts = np.full(len(self.teams), -1, np.int32), np.full((len(self.teams), 2), -1, np.int32)
        rows = np.full((len(self.teams), depths), -1, np.int32)
        num_rows = kernels.lay_out_teams(
            self.teams, self.sizes, trucks, shared, len(self.city.stations) + 1, self._numbers, at_the_end, junction,
            parts, rows,
        )  # fmt: skip
        num_links = np.ascontiguousarray(self.routes.num_links[:, j])
        return _Tree(j, self.used[0][j], num_links, shared, trucks, junction, parts, rows, num_rows)

    def _late_at(self, times: Times, tree: _Tree) -> NDArray[np.float64]:
        """[team] P(late) at one demand point."""
        most = int(self.needs.arrivals[tree.point])
        arrived = self._arrived(times, tree, most)
        common_row, common = self._common(times, tree)
        found = np.zeros((len(self.teams), most))
        kernels.arrived_by_target(
            self.teams, self.sizes, tree.junction, tree.parts, tree.rows, arrived, common_row, common, tree.trucks,
            most, found,
        )  # fmt: skip
        late = np.empty(len(self.teams))
        kernels.late_of_teams(self.sizes, tree.trucks, most, found, float(times.outside[-1]), late)
        return late

    def _means_at(self, times: Times, tree: _Tree) -> NDArray[np.float64]:
        """[team] mean minutes to one demand point."""
        arrived, links = self._arrived(times, tree, 1), self.used[1]
        minutes = np.append(self.roads.minutes[links], 0.0)[tree.routes]
        common = np.zeros((len(minutes), tree.rows.shape[1]))
        for i, num in enumerate(tree.num_links.tolist()):
            most = min(num, common.shape[1] - 1)
            common[i, 1 : most + 1] = np.cumsum(minutes[i, num - most : num][::-1])
        found = np.empty(len(self.teams))
        kernels.means_of_teams(
            self.teams, self.sizes, tree.trucks, tree.junction, tree.parts, tree.rows, arrived, times.outside,
            times.lattice.step, common, found,
        )  # fmt: skip
        if self._together:
            self._means_of_one_station(times, tree, minutes, found)
        return found

    def _means_of_one_station(
        self, times: Times, tree: _Tree, minutes: NDArray[np.float64], found: NDArray[np.float64]
    ) -> None:
        """Set the means of teams all of whose trucks are of one station, which drive together, without truncation."""
        turnout, step = self.city.turnout, times.lattice.step
        ready = survivals(times.lattice.masses(times.start[None]))[0]
        for t in np.flatnonzero((tree.junction < 0) & (self.sizes == tree.trucks) & (self.sizes > 1)).tolist():
            i, size = int(self.teams[t, 0]), int(self.sizes[t])
            first = turnout.mean_minutes if turnout.shared else step * (float((ready**size).sum()) - 0.5)
            first = first if turnout.mean_minutes > 0.0 else 0.0
            if (tree.point, i) not in self.two_roads:
                found[t] = first + float(minutes[i].sum())

    def _common(self, times: Times, tree: _Tree) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The masses of the time from each junction on, and the row of each [station, depth]."""
        rows = np.empty((len(tree.shared), tree.rows.shape[1]), np.int32)
        most = len(rows) * min(len(rows), rows.shape[1])
        products = np.empty((most, times.lattice.num_frequencies), np.complex128)
        num = kernels.common_products(tree.routes, tree.num_links, tree.shared, times.of_link, rows, products)
        return rows, times.lattice.masses(products[:num])

    def _arrived(self, times: Times, tree: _Tree, most: int) -> NDArray[np.float64]:
        """[row, n, step] the chance that n trucks of a team have passed a node, for every row of the tree."""
        arrived = np.zeros((tree.num_rows, most, times.lattice.num_steps + 1))
        needed = np.flatnonzero((tree.rows >= 0).any(axis=1))
        of_single = tree.rows[self.teams_of_one]
        places = np.empty((of_single >= 0).sum(), np.int32)
        products = np.empty((len(places), times.lattice.num_frequencies), np.complex128)
        kernels.own_products(tree.routes, tree.num_links, of_single, times.start, times.of_link, places, products)
        arrived[places, 0] = 1.0 - survivals(times.lattice.masses(products))
        for size in range(2, tree.trucks + 1):
            teams = needed[self.sizes[needed] == size]
            if len(teams):
                self._fill_larger(times, tree, teams, arrived)
        return arrived

    def _fill_larger(self, times: Times, tree: _Tree, teams: NDArray[np.int64], arrived: NDArray[np.float64]) -> None:
        """The arrivals of teams of one size, given those of all smaller ones: where they meet, then further on."""
        lattice, size = times.lattice, int(self.sizes[teams[0]])
        functions = min(size, arrived.shape[1])
        met = np.empty((len(teams), functions, lattice.num_steps + 1))
        kernels.meet_all(teams.astype(np.int32), self.sizes, tree.junction, tree.parts, tree.rows, arrived, met)
        places, depths = np.nonzero(tree.rows[teams] >= 0)
        lead, junction = self.teams[teams, 0], tree.junction[teams].copy()
        alone = np.flatnonzero(junction < 0)
        junction[alone] = tree.num_links[lead[alone]] if self._together else 0
        begin = {
            place: self._of_one_station(times, tree, int(lead[place]), size, met[place]) for place in alone.tolist()
        }
        for place in alone.tolist():
            if (tree.point, int(lead[place])) in self.two_roads:
                junction[place] = 0
        # What lies between a junction and a depth is the same for many teams.
        most = int(tree.num_links.max()) + 1
        keys, which = np.unique(
            (lead[places].astype(np.int64) * most + depths) * most + junction[places], return_inverse=True
        )
        between = np.array(
            [tree.product(times, key // most**2, key // most % most, key % most) for key in keys.tolist()]
        )
        moved = rfft(met * lattice.weights, lattice.length, axis=2)
        for place, product in begin.items():
            moved[place] *= product
        carried = moved[places] * between[which][:, None, :]
        found = irfft(carried, lattice.length, axis=2)[:, :, : lattice.num_steps + 1] / lattice.weights
        arrived[tree.rows[teams][places, depths], :functions] = found

    def _of_one_station(self, times: Times, tree: _Tree, i: int, size: int, met: NDArray[np.float64]) -> Transforms:
        """Fill in when trucks of one station are through what each meets by itself.

        Returns the transform of what they have together before the first link; or before the end, on two roads.
        """
        if (tree.point, i) in self.two_roads:
            return self._on_two_roads(times, tree.point, i, met)
        one = np.ones(times.lattice.num_frequencies, np.complex128)
        begin, own = (times.start, one) if self.city.turnout.shared else (one, times.start)
        if not self._together:
            own = own * tree.product(times, i, 0, int(tree.num_links[i]))
        kernels.several(1.0 - survivals(times.lattice.masses(own[None]))[0], size, met)
        return begin

    def _on_two_roads(self, times: Times, j: int, i: int, met: NDArray[np.float64]) -> Transforms:
        """Fill in when one and both of two trucks of a station on different roads are through what they have alone.

        Returns the transform of what they have together.
        """
        first, second, both = self.two_roads[j, i]
        one, shared = np.ones_like(times.start), self.city.turnout.shared
        if not self._together:
            first, second, both = np.append(first, both), np.append(second, both), both[:0]
        begin, own = (times.start, one) if shared else (one, times.start)
        alone = []
        for route, start in ((first, own), (second, own), (both, begin)):
            product = start.copy()
            kernels.multiply_links(route, len(route), 0, len(route), times.of_link, product)
            alone.append(product)
        arrived = 1.0 - survivals(times.lattice.masses(np.array(alone[:2])))
        kernels.meet(arrived[:1], arrived[1:], met)
        return alone[2]


def each_point(
    points: NDArray[np.int64], num_teams: int, at: Callable[[int], NDArray[np.float64]], threads: int | None = None
) -> NDArray[np.float64]:
    """[team, place in points] what is found at each of some demand points, on all threads or so many."""
    found = np.empty((num_teams, len(points)))

    def one(place: int) -> None:
        found[:, place] = at(int(points[place]))

    run_each(one, range(len(points)), threads or available_threads())
    return found


def refined(
    at: Callable[[int, NDArray[np.int64]], NDArray[np.float64]],
    points: NDArray[np.int64],
    settled: Settled,
    first: int = FIRST_STEPS,
    most: int = MOST_STEPS,
) -> NDArray[np.float64]:
    """[row, place in points] what `at` finds for ever more steps, extrapolated to infinitely many.

    `settled` says of each demand point whether it has, given what several steps give, extrapolated by squares, and
    which demand points those are. Only those that have not are looked at with more steps.
    """
    num_steps, places = first, np.arange(len(points))
    coarse, fine = at(num_steps, points), at(2 * num_steps, points)
    found, tried = np.empty_like(coarse), [extrapolated(coarse, fine)]
    while 4 * num_steps <= most:
        num_steps *= 2
        coarse, fine = fine, at(2 * num_steps, points[places])
        tried.append(extrapolated(coarse, fine))
        done = settled(tried, points[places])
        found[:, places[done]] = extrapolated(tried[-2], tried[-1], 4)[:, done]
        if done.all():
            return found
        places, fine, tried = places[~done], fine[:, ~done], [one[:, ~done] for one in tried[-2:]]
    raise NotConvergedError(
        f"the lattice of driving times did not settle with {most:,} steps: some times are nearly fixed, or vary "
        "extremely; expected a cv of driving and turnout times from about 0.01 to 3, a tail_index above 1.05, or a "
        "smaller fixed_part"
    )


def within(tolerance: float, wanted: NDArray[np.bool_] | None = None) -> Settled:
    """Settled are demand points where the last two extrapolations of all `wanted` entries differ by at most that."""

    def settled(tried: list[NDArray[np.float64]], points: NDArray[np.int64]) -> NDArray[np.bool_]:
        same = np.abs(tried[-1] - tried[-2]) <= tolerance
        return np.asarray((same if wanted is None else same | ~wanted[:, points]).all(axis=0))

    return settled
