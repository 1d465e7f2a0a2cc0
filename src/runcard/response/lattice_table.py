"""P(late) and mean minutes of one truck and of two, for driving times of any law (see `lattice.py`).

For every demand point the lattice has its target as horizon. Means are of a lattice that is long enough for nearly all
of a route's time, of the first of two trucks certainly: the mean of the smaller of two own parts is a sum up to there.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.errors import NotConvergedError
from runcard.response import lattice_kernels as kernels
from runcard.response.lattice import (
    FIRST_STEPS,
    MOST_STEPS,
    TOLERANCE,
    Lattice,
    Transforms,
    extrapolated,
    survivals,
)
from runcard.response.laws import Vector, driving_law, turnout_law
from runcard.response.routes import MAX_DISTANCES, Roads, Routes

MEAN_HORIZON = 12.0
"""The lattice of means reaches that many standard deviations beyond the mean of the longest route."""
MEAN_TOLERANCE = 1e-4
"""Of means, relatively to the longest."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """P(late), or mean minutes: of one truck, of the first of two, and of trucks from outside."""

    single: NDArray[np.float64]  # [station, demand point]
    first: NDArray[np.float64]  # [station, station, demand point]
    outside: NDArray[np.float64]  # [demand point]
    outside_first: NDArray[np.float64]
    """[station + 1, demand point] of one own truck and one from outside; the last row: of two from outside."""

    @property
    def arrays(self) -> list[Vector]:
        """All of them."""
        return [self.single, self.first, self.outside, self.outside_first]


@dataclass(frozen=True, slots=True)
class Parts:
    """The routes to one demand point in parts (see `lattice_kernels.py`), and those of trucks from outside."""

    point: int
    shared: NDArray[np.int32]
    own_row: NDArray[np.int32]
    common_row: NDArray[np.int32]
    own: Transforms
    common: Transforms
    of_outside: Vector
    """[1, step] masses."""


Fill = Callable[[Lattice, Parts, int, Arrivals], None]
"""Fills in what the routes to one demand point give, at a place of the arrays."""


@dataclass(frozen=True)
class LatticeTable:
    """The routes of a city, and times on lattices."""

    city: City
    roads: Roads
    routes: Routes

    @cached_property
    def _used(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The links of every route [demand point, station, place], numbered anew, and which links they are."""
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
        links = np.unique(found[found >= 0]).astype(np.int64)
        number = np.full(len(self.roads.minutes) + 1, -1, np.int32)
        number[links] = np.arange(len(links), dtype=np.int32)
        return number[found], links

    def _shared(self, j: int) -> NDArray[np.int32]:
        """[station, station] the links that may be met together."""
        shared = np.ascontiguousarray(self.routes.shared_links[:, :, j])
        return shared if self.city.shared_delay > 0.0 else np.zeros_like(shared)

    @property
    def _outside(self) -> tuple[int, float]:
        """The links of the route of a truck from outside, and their mean."""
        outside = self.city.outside
        links = max(1, 2 * int(self.routes.num_links.max())) if outside.links is None else int(outside.links)
        mean = float(self.roads.minutes.mean()) if outside.link_minutes is None else float(outside.link_minutes)
        return links, mean

    def late(self, targets: Vector) -> Arrivals:
        """P(late) at the target of each demand point."""
        found = self._empty()
        for target in np.unique(targets):
            points = np.flatnonzero(targets == target)

            def at(num_steps: int, target: float = float(target), points: NDArray[np.int64] = points) -> Arrivals:
                return self._on(Lattice(target, num_steps), points, self._fill_late)

            part = _refined(at, TOLERANCE)
            for whole, piece in zip(found.arrays, part.arrays, strict=True):
                whole[..., points] = np.clip(piece, 0.0, 1.0)
        return found

    def means(self) -> Arrivals:
        """The mean minutes until the first truck."""
        links, mean = self._outside
        turnout = self.city.turnout.mean_minutes
        longest = max(float(self.routes.drive_minutes.max()), links * mean) + turnout
        numbered, used = self._used
        minutes = np.append(self.roads.minutes[used], 0.0)[numbered]
        law, ready = driving_law(self.city.driving), turnout_law(self.city.turnout)
        deviation = max(law.deviation(np.full(links, mean)), law.deviation(minutes[_longest(minutes)]))
        horizon = longest + MEAN_HORIZON * (deviation + ready.deviation(np.array([turnout])))
        points = np.arange(self.routes.num_links.shape[1])

        def at(num_steps: int) -> Arrivals:
            return self._on(Lattice(horizon, num_steps), points, self._fill_means)

        return _refined(at, MEAN_TOLERANCE * longest)

    def _empty(self, num_points: int | None = None) -> Arrivals:
        num_stations, all_points = self.routes.num_links.shape
        num = all_points if num_points is None else num_points
        return Arrivals(
            np.empty((num_stations, num)), np.empty((num_stations, num_stations, num)), np.empty(num),
            np.empty((num_stations + 1, num)),
        )  # fmt: skip

    def _on(self, lattice: Lattice, points: NDArray[np.int64], fill: Fill) -> Arrivals:
        """The arrivals of some demand points on one lattice."""
        numbered, links = self._used
        law, turnout = driving_law(self.city.driving), self.city.turnout
        of_link = lattice.transforms(law, self.roads.minutes[links])
        start = np.ones(lattice.num_frequencies, np.complex128)
        if turnout.mean_minutes > 0.0:
            start = lattice.transforms(turnout_law(turnout), np.array([turnout.mean_minutes]))[0]
        num_outside, mean = self._outside
        outside = lattice.transforms(law, np.array([mean])) ** num_outside * start
        of_outside = lattice.masses(outside)
        found = self._empty(len(points))

        def one(place: int) -> None:
            j = int(points[place])
            num_links, shared = np.ascontiguousarray(self.routes.num_links[:, j]), self._shared(j)
            own_row = np.empty((len(num_links), int(num_links.max()) + 2), np.int32)
            common_row = np.empty_like(own_row)
            num_own, num_common = kernels.lay_out_rows(shared, own_row, common_row)
            own: Transforms = np.empty((num_own, lattice.num_frequencies), np.complex128)
            common: Transforms = np.empty((num_common, lattice.num_frequencies), np.complex128)
            kernels.transform_routes(
                numbered[j], num_links, shared, own_row, common_row, of_link, start, turnout.shared, own, common,
            )  # fmt: skip
            fill(lattice, Parts(j, shared, own_row, common_row, own, common, of_outside), place, found)

        with ThreadPoolExecutor(_num_threads()) as pool:
            list(pool.map(one, range(len(points))))
        return found

    def _fill_late(self, lattice: Lattice, parts: Parts, place: int, found: Arrivals) -> None:
        """P(late) at one demand point."""
        own_late, outside_late = survivals(lattice.masses(parts.own)), float(survivals(parts.of_outside)[0, -1])
        first = np.empty(parts.shared.shape)
        of_common = lattice.masses(parts.common)
        kernels.combine_late(parts.shared, parts.own_row, parts.common_row, own_late, of_common, first)
        single = own_late[parts.own_row[:, 0], -1]
        found.first[:, :, place] = first
        found.single[:, place], found.outside[place] = single, outside_late
        found.outside_first[:-1, place], found.outside_first[-1, place] = single * outside_late, outside_late**2

    def _fill_means(self, lattice: Lattice, parts: Parts, place: int, found: Arrivals) -> None:
        """Mean minutes to one demand point."""
        more = 1.0 - np.cumsum(lattice.masses(parts.own), axis=1)
        more_outside = 1.0 - np.cumsum(parts.of_outside[0])
        turnout = self.city.turnout
        common_minutes = self._shared_minutes(parts.point)
        if turnout.shared:
            common_minutes += np.diag(np.full(len(common_minutes), turnout.mean_minutes))
        first = np.empty(parts.shared.shape)
        kernels.combine_means(parts.shared, parts.own_row, common_minutes, lattice.step, more, first)
        links, mean = self._outside
        found.first[:, :, place] = first
        found.single[:, place] = self.routes.drive_minutes[:, parts.point] + turnout.mean_minutes
        found.outside[place] = links * mean + turnout.mean_minutes
        alone = more[parts.own_row[:, 0], :-1]
        found.outside_first[:-1, place] = lattice.step * (alone @ more_outside[:-1])
        found.outside_first[-1, place] = lattice.step * float(more_outside[:-1] @ more_outside[:-1])

    def _shared_minutes(self, j: int) -> NDArray[np.float64]:
        """[station, station] the mean minutes of what two routes share."""
        numbered, links = self._used
        minutes = np.append(self.roads.minutes[links], 0.0)[numbered[j]]
        from_end = np.zeros((len(minutes), minutes.shape[1] + 1))
        for i, num in enumerate(self.routes.num_links[:, j]):
            from_end[i, 1 : num + 1] = np.cumsum(minutes[i, :num][::-1])
        shared = self._shared(j)
        found: NDArray[np.float64] = np.take_along_axis(from_end, shared.astype(np.int64), axis=1)
        return found


def _longest(minutes: NDArray[np.float64]) -> tuple[int, int]:
    """The demand point and station of the route [demand point, station, place] whose times vary most."""
    place = int((minutes**2).sum(axis=2).argmax())
    return place // minutes.shape[1], place % minutes.shape[1]


def _num_threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _refined(at: Callable[[int], Arrivals], tolerance: float) -> Arrivals:
    """What `at` finds for ever more steps, extrapolated to infinitely many."""
    num_steps = FIRST_STEPS
    coarse, fine = at(num_steps), at(2 * num_steps)
    before = extrapolated(coarse.arrays, fine.arrays)
    while 4 * num_steps <= MOST_STEPS:
        num_steps *= 2
        coarse, fine = fine, at(2 * num_steps)
        now = extrapolated(coarse.arrays, fine.arrays)
        if max(float(np.abs(a - b).max()) for a, b in zip(before, now, strict=True)) <= tolerance:
            return Arrivals(*extrapolated(before, now, 4))
        before = now
    raise NotConvergedError(
        f"the lattice of driving times did not settle with {MOST_STEPS:,} steps: some times are nearly fixed; "
        "expected a larger cv or a smaller fixed_part"
    )
