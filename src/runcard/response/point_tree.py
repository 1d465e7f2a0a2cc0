"""The tree of roads to a demand point: when the trucks of a team have passed its nodes.

The routes to a demand point form a tree. What a truck meets by itself, its turnout, the links before others join it
and the links from there on that they meet apart, may as well come first; then come the links that they meet together.
With N(t) the number of trucks that have passed a node,

    at a junction    N_A(t) + N_B(t), the two independent,        along links    N(t - C), C the time there:

a product and a convolution (`tree_kernels.py`). Trucks of one station meet their whole road together, and their
turnout too if it is shared.

Where the law of driving times has a scale (`laws.ScaleLaw`), every link may be two, one met together and one met apart.
The fixed part of such a law is added from junction to junction.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.response import tree_kernels as kernels
from runcard.response.lattice import PAD, Floats, Lattice, Transforms
from runcard.response.laws import Vector
from runcard.response.teams import Teams
from runcard.response.travel import Needs, Travel

Points = NDArray[np.int64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class LatticeTimes:
    """The transforms of all times on one lattice."""

    lattice: Lattice
    together: Transforms
    """[kind of link, frequency] of a link that trucks meet together, or of the part of it that they do."""
    apart: Transforms
    """The same of a link, or part, that each truck meets apart."""
    alone: Transforms
    """The same of a link where a truck is alone."""
    turnout: Transforms
    """[frequency]"""
    outside: Vector
    """[place] the chance that a truck from outside is there."""


def times_on(travel: Travel, lattice: Lattice) -> LatticeTimes:
    """All times on a lattice."""
    laws = travel.laws
    alone = lattice.transforms(laws.alone, travel.link_means)
    same, (together, apart) = laws.together is laws.alone and not laws.split, laws.parts
    return LatticeTimes(
        lattice=lattice,
        together=alone if same else lattice.transforms(laws.together, together * travel.link_means),
        apart=alone if same else lattice.transforms(laws.apart, apart * travel.link_means),
        alone=alone,
        turnout=turnout_transform(travel, lattice),
        outside=lattice.arrived(outside_transform(travel, lattice) * lattice.delay),
    )


def turnout_transform(travel: Travel, lattice: Lattice) -> Transforms:
    """[frequency] that of the time before a truck leaves."""
    if travel.turnout_minutes == 0.0:
        return np.ones(lattice.num_frequencies, np.complex128)
    return lattice.transform(travel.turnout, travel.turnout_minutes)


def outside_transform(travel: Travel, lattice: Lattice) -> Transforms:
    """[frequency] that of the time of a truck from outside."""
    one_link = lattice.transform(travel.laws.alone, float(travel.outside_minutes))
    found: Transforms = one_link**travel.outside_links * turnout_transform(travel, lattice)
    if travel.fixed_part > 0.0:
        found *= lattice.shifts(np.array([travel.fixed_part * travel.outside_links * travel.outside_minutes]))[0]
    return found


@dataclass(frozen=True, eq=False)
class PointTree:
    """The roads to one demand point, given which links are met together."""

    travel: Travel
    teams: Teams
    point: int
    needed: int
    arrivals: int
    road: kernels.Road
    meetings: kernels.Meetings

    @classmethod
    def at(cls, travel: Travel, teams: Teams, needs: Needs, j: int, road: kernels.Road) -> "PointTree":
        """The tree of a demand point."""
        needed = int(needs.trucks[j])
        meetings = kernels.find_meetings(
            teams.stations, teams.sizes, needed, road.shared, teams.base, teams.number_of_code
        )
        return cls(travel, teams, j, needed, int(needs.arrivals[j]), road, meetings)

    def arrived_by_target(self, times: LatticeTimes, arrived: Floats) -> Floats:
        """[T, m] the chance that at least n own trucks of each team are there by the horizon."""
        return np.asarray(self.arrived_by(times, arrived, np.array([times.lattice.end]))[0])

    def arrived_by(self, times: LatticeTimes, arrived: Floats, ends: Points) -> Floats:
        """[end, T, n] the chance that at least n own trucks of each team are there by some places of the lattice."""
        lattice, meetings, road = times.lattice, self.meetings, self.road
        rows = np.empty((len(road.shared), meetings.rows.shape[1]), np.int32)
        products = np.empty((len(rows) * min(len(rows), rows.shape[1]), lattice.num_frequencies), np.complex128)
        num = kernels.products_behind(road, times.together, rows, products)
        if self.fixed is not None:
            minutes, there = np.zeros(num), rows >= 0
            minutes[rows[there]] = self.fixed[1][there]
            products[:num] *= lattice.shifts(minutes)
        found = np.zeros((len(ends), len(self.teams), arrived.shape[1]))
        kernels.arrived_by(
            self.teams.stations, self.teams.sizes, meetings, arrived, rows, lattice.masses(products[:num]), self.needed,
            ends, PAD, found,
        )  # fmt: skip
        return found

    def waits(self, times: LatticeTimes, arrived: Floats, low: int, high: int) -> Vector:
        """[T] the minutes between two places of the lattice that no truck is at the junction; 0 for a single truck.

        With trucks from outside it is the demand point in place of the junction. From place 0 on, time 0 is meant.
        """
        found, before = np.zeros(len(self.teams)), PAD if low == 0 else 0
        kernels.sums_of_teams(
            self.teams.stations, self.teams.sizes, self.meetings, arrived, times.outside, low, high, before,
            self.needed, found,
        )  # fmt: skip
        first, teams = np.empty((1, times.lattice.size)), self._of_one_station()
        for t, own in zip(teams, self._own(times, self.teams.stations[teams, 0]), strict=True):
            kernels.several(own, self.needed, first)
            found[t] = (1.0 - first[0, low:high]).sum() - before
        return found * times.lattice.step

    def behind(self) -> Floats:
        """[2, T] the mean minutes that the trucks of a team meet together, or those of a single truck; 0 with others.

        And the variance of that time.
        """
        teams, travel, law = self.teams, self.travel, self.travel.laws.together
        means = travel.laws.parts[0] * travel.link_means[self.road.kind] * self.road.together
        sums = kernels.sums_behind(self.road, np.stack([law.link_mean * means, law.variance(means)]))
        found, (whole,) = np.zeros((2, len(teams))), np.nonzero(teams.sizes == self.needed)
        lead, junction = teams.stations[whole, 0], self.meetings.junction[whole]
        found[:, whole] = sums[:, lead, np.maximum(junction, 0)]
        if self.needed == 1:
            found[:, whole] = travel.minutes[lead, self.point], travel.deviations[lead, self.point] ** 2
        for t in self._of_one_station():
            found[:, t] = travel.shared_turnout + sums[:, teams.stations[t, 0]].max(axis=1)
        if self.fixed is not None and self.needed > 1:
            routes, behind = self.fixed
            found[0, whole] += np.where(junction < 0, routes[lead], behind[lead, np.maximum(junction, 0)])
        return found

    def _of_one_station(self) -> list[int]:
        """The teams of several trucks of one station without others."""
        if self.needed == 1:
            return []
        part = self.teams.of_size(self.needed)
        return [part.start + int(place) for place in np.flatnonzero(self.meetings.junction[part] < 0)]

    def _own(self, times: LatticeTimes, stations: Ints) -> Floats:
        """[station, place] the chance that a truck is through what it meets apart from others of its station."""
        start = times.lattice.delay * (1.0 if self.travel.turnout_shared else times.turnout)
        products = np.tile(start, (len(stations), 1))
        for i, product in zip(stations.tolist(), products, strict=True):
            kernels.multiply_links(
                self.road, i, 0, kernels.num_links(self.road, i), self.road.apart, times.apart, product
            )
        return times.lattice.arrived(products)

    @cached_property
    def fixed(self) -> tuple[Vector, Floats] | None:
        """[I] the fixed minutes of every route, and [I, depth] those from a depth on; None where links have them."""
        travel = self.travel
        if travel.fixed_part == 0.0:
            return None
        from_depth = kernels.sums_behind(self.road, travel.fixed_part * travel.link_means[self.road.kind][None])[0]
        return travel.fixed_part * travel.routes.drive_minutes[:, self.point], from_depth

    def arrived(self, times: LatticeTimes, most: int) -> Floats:
        """[row, n, place] the chance that n trucks of a team have passed a node, for every row of the tree."""
        lattice, meetings, sizes = times.lattice, self.meetings, self.teams.sizes
        arrived = np.zeros((int(meetings.num_rows[0]), most, lattice.size))
        rows = meetings.rows[self.teams.of_size(1)]
        wanted = rows >= 0
        places, numbered = rows[wanted], rows.copy()
        numbered[wanted] = np.arange(len(places))
        products = np.empty((len(places), lattice.num_frequencies), np.complex128)
        start = self.travel.starts(times.turnout) * lattice.delay
        kernels.products_before(self.road, numbered, start, times.alone, times.apart, products)
        if self.fixed is not None:
            station, depth = np.nonzero(wanted)
            products *= lattice.shifts(self.fixed[0][station] - self.fixed[1][station, depth])
        arrived[places, 0] = lattice.arrived(products)
        needed = np.flatnonzero((meetings.rows >= 0).any(axis=1))
        for size in range(2, self.needed + 1):
            teams = needed[sizes[needed] == size]
            if len(teams):
                self._fill_larger(times, teams, size, arrived)
        return arrived

    def _fill_larger(self, times: LatticeTimes, teams: Points, size: int, arrived: Floats) -> None:
        """Fill the rows of teams of one size, given those of all smaller ones: where they meet, then further on."""
        lattice, meetings, road = times.lattice, self.meetings, self.road
        met = np.empty((len(teams), min(size, arrived.shape[1]), lattice.size))
        kernels.meet_all(teams, meetings, self.teams.sizes, arrived, met)
        lead, start = self.teams.stations[teams, 0], meetings.junction[teams].copy()
        of_one_station = np.flatnonzero(start < 0)
        for place, own in zip(of_one_station, self._own(times, lead[of_one_station]), strict=True):
            kernels.several(own, size, met[place])
            start[place] = kernels.num_links(road, int(lead[place]))
        moved = lattice.transforms_of(met)
        if self.travel.turnout_shared:
            moved[of_one_station] *= times.turnout
        places, depths = np.nonzero(meetings.rows[teams] >= 0)
        further = np.empty((len(places), met.shape[1], lattice.num_frequencies), np.complex128)
        kernels.move_on(road, lead[places], depths, start[places], times.together, moved, places, further)
        if self.fixed is not None:
            whole, behind = self.fixed
            before = np.where(meetings.junction[teams] < 0, whole[lead], behind[lead, meetings.junction[teams]])
            further *= lattice.shifts(before[places] - behind[lead[places], depths])[:, None]
        arrived[meetings.rows[teams][places, depths], : met.shape[1]] = lattice.arrived(further)


def road_to(travel: Travel, j: int) -> kernels.Road:
    """The roads of all stations to a demand point, with every link met together."""
    routes, num = travel.routes, len(travel.routes.stations)
    row = int(routes.row[j])
    first = routes.first_link[row * num : (row + 1) * num + 1]
    kinds = travel.kinds[first[0] : first[-1]]
    shared = np.ascontiguousarray(routes.shared_links[:, :, j])
    return kernels.Road(first - first[0], kinds, np.ones(len(kinds), np.bool_), np.zeros(len(kinds), np.bool_), shared)


def products_before_junctions(road: kernels.Road, start: Transforms, of_kind: Transforms) -> tuple[Ints, Transforms]:
    """Rows [station, depth] and transforms [row] of routes before every junction, and of whole routes; -1 elsewhere."""
    rows = np.full((len(road.shared), int(road.shared.max()) + 1), -1, np.int32)
    np.put_along_axis(rows, road.shared.astype(np.int64), 0, axis=1)
    rows[:, 0] = 0
    rows[rows == 0] = np.arange((rows == 0).sum())
    products = np.empty((int(rows.max()) + 1, start.shape[1]), np.complex128)
    kernels.products_before(road, rows, start, of_kind, of_kind, products)
    return rows, products
