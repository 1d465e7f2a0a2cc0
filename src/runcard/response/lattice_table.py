"""P(late) and mean minutes of every team, for driving times of any law, along the tree of routes to each demand point.

The routes to a demand point form a tree. What several trucks meet on a link that they share is the same for all of them
(where it never is, their routes do not meet before the end). With N(t) the number of trucks that have passed a node,

    at a junction    N_A(t) + N_B(t), the two independent,        along links    N(t - C), C the time there:

a product and a convolution (`tree_kernels.py`). An incident is late when the m-th of k trucks is not there by T. Where
links are met together now and then, see `pair_table.py`.

For every demand point the lattice has its target as horizon. Means are of a lattice that is long enough for nearly all
of a route's time: the mean of the first of several is a sum up to there.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft

from runcard.city.model import City
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
from runcard.response.routes import MAX_DISTANCES, Roads, Routes
from runcard.response.second_routes import SecondRoutes

MEAN_HORIZON = 12.0
"""The lattice of means reaches that many standard deviations beyond the mean of the longest route."""
MEAN_TOLERANCE = 1e-4
"""Of means, relatively to the longest."""


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
        found: dict[tuple[int, int], NDArray[np.int64]] = {}
        if self.city.driving.second_route == "disjoint":
            search = SecondRoutes(self.roads)
            for i, station in enumerate(self.city.stations):
                for j in range(len(self._first) if station.trucks > 1 else 0):
                    route = self._first[j, i, : self.routes.num_links[i, j]].astype(np.int64)
                    found[j, i] = search.find(int(self.roads.stations[i]), int(self.roads.demand[j]), route)
        return found

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
        outside = self.city.outside
        links = max(1, 2 * int(self.routes.num_links.max())) if outside.links is None else int(outside.links)
        mean = float(self.roads.minutes.mean()) if outside.link_minutes is None else float(outside.link_minutes)
        return links, mean

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
        found[self.too_large] = np.inf
        return found

    @cached_property
    def mean_horizon(self) -> tuple[float, float]:
        """The horizon of the lattice of means, and the longest mean, in minutes."""
        links, mean = self.outside
        turnout = self.city.turnout.mean_minutes
        longest = max(float(self.routes.drive_minutes.max()), links * mean) + turnout
        numbered, used = self.used
        minutes = np.append(self.roads.minutes[used], 0.0)[numbered]
        law, ready = self.laws.alone, turnout_law(self.city.turnout)
        deviation = max(law.deviation(np.full(links, mean)), law.deviation(minutes[_longest(minutes)]))
        return longest + MEAN_HORIZON * (deviation + ready.deviation(np.array([turnout]))), longest

    def means(self) -> NDArray[np.float64]:
        """[team, demand point] the mean minutes until the first truck; inf where a team is too large."""
        (links, mean), turnout, (horizon, longest) = self.outside, self.city.turnout.mean_minutes, self.mean_horizon
        points = np.arange(self.routes.num_links.shape[1])

        def at(num_steps: int, points: NDArray[np.int64]) -> NDArray[np.float64]:
            return self._on(Lattice(horizon, num_steps), points, self._means_at)

        found = refined(at, points, within(MEAN_TOLERANCE * longest))
        # One truck alone needs no lattice.
        alone = self.needs.trucks == 1
        found[0, alone] = links * mean + turnout
        for t in np.flatnonzero(self.sizes == 1):
            found[t, alone] = self.routes.drive_minutes[self.teams[t, 0], alone] + turnout
        found[self.too_large] = np.inf
        return found

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

    def late_alone(self) -> NDArray[np.float64]:
        """[station + 1, demand point] P(late) of a single truck of each station, and of one from outside."""
        num_stations, num_points = self.routes.num_links.shape
        found = np.empty((num_stations + 1, num_points))
        for target in np.unique(self.needs.targets):
            points = np.flatnonzero(self.needs.targets == target)

            def at(num_steps: int, points: NDArray[np.int64], target: float = float(target)) -> NDArray[np.float64]:
                times = self.times(Lattice(target, num_steps))
                return each_point(points, num_stations + 1, lambda j: self._alone_at(times, j))

            found[:, points] = np.clip(refined(at, points, within(TOLERANCE)), 0.0, 1.0)
        return found

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
        return found

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
        lattice, turnout = times.lattice, self.city.turnout
        functions = min(int(self.sizes[teams[0]]), arrived.shape[1])
        met = np.empty((len(teams), functions, lattice.num_steps + 1))
        one = np.ones(lattice.num_frequencies, np.complex128)
        places, rows, products = [], [], []
        for place, t in enumerate(teams.tolist()):
            i, junction, begin = int(self.teams[t, 0]), int(tree.junction[t]), one
            if (tree.point, i) in self.two_roads and junction < 0:
                begin, junction = self._on_two_roads(times, tree.point, i, met[place]), 0
            elif junction < 0:  # all of one station: what each has of its own, then what they have together
                junction = int(tree.num_links[i])
                begin, own = (times.start, one) if turnout.shared else (one, times.start)
                if not self._together:
                    own, junction = own * tree.product(times, i, 0, junction), 0
                apart = 1.0 - survivals(lattice.masses(own[None]))[0]
                kernels.several(apart, int(self.sizes[t]), met[place])
            else:
                first, second = tree.parts[t]
                kernels.meet(
                    arrived[tree.rows[first, junction], : self.sizes[first]],
                    arrived[tree.rows[second, junction], : self.sizes[second]],
                    met[place],
                )
            for depth in np.flatnonzero(tree.rows[t] >= 0).tolist():
                places.append(place)
                rows.append(int(tree.rows[t, depth]))
                products.append(begin * tree.product(times, i, depth, junction))
        moved = rfft(met * lattice.weights, lattice.length, axis=2)[places] * np.array(products)[:, None, :]
        found = irfft(moved, lattice.length, axis=2)[:, :, : lattice.num_steps + 1] / lattice.weights
        arrived[rows, :functions] = found

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

    with ThreadPoolExecutor(threads or num_threads()) as pool:
        list(pool.map(one, range(len(points))))
    return found


def _longest(minutes: NDArray[np.float64]) -> tuple[int, int]:
    """The demand point and station of the route [demand point, station, place] whose times vary most."""
    place = int((minutes**2).sum(axis=2).argmax())
    return place // minutes.shape[1], place % minutes.shape[1]


def num_threads() -> int:
    """The threads that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def refined(
    at: Callable[[int, NDArray[np.int64]], NDArray[np.float64]],
    points: NDArray[np.int64],
    settled: Callable[[list[NDArray[np.float64]]], NDArray[np.bool_]],
    first: int = FIRST_STEPS,
    most: int = MOST_STEPS,
) -> NDArray[np.float64]:
    """[row, place in points] what `at` finds for ever more steps, extrapolated to infinitely many.

    `settled` says of each demand point whether it has settled, given what several steps give, extrapolated by squares.
    Only those that have not are looked at with more steps.
    """
    num_steps, places = first, np.arange(len(points))
    coarse, fine = at(num_steps, points), at(2 * num_steps, points)
    found, tried = np.empty_like(coarse), [extrapolated(coarse, fine)]
    while 4 * num_steps <= most:
        num_steps *= 2
        coarse, fine = fine, at(2 * num_steps, points[places])
        tried.append(extrapolated(coarse, fine))
        done = settled(tried)
        found[:, places[done]] = extrapolated(tried[-2], tried[-1], 4)[:, done]
        if done.all():
            return found
        places, fine, tried = places[~done], fine[:, ~done], [one[:, ~done] for one in tried[-2:]]
    raise NotConvergedError(
        f"the lattice of driving times did not settle with {most:,} steps: some times are nearly fixed; "
        "expected a larger cv or a smaller fixed_part"
    )


def within(tolerance: float) -> Callable[[list[NDArray[np.float64]]], NDArray[np.bool_]]:
    """Settled are demand points where the last two extrapolations by squares differ by at most that."""
    return lambda tried: np.asarray((np.abs(tried[-1] - tried[-2]) <= tolerance).all(axis=0))
