"""P(late) of one or two trucks that meet each shared link together with some chance.

With φ, ψ and χ the transforms of the time on a link of a truck by itself, of both together and of each apart, the
transform of what the shared links take from the two trucks is

    G(ω1, ω2) = Π_l { q ψ_l(ω1 + ω2) + (1-q) χ_l(ω1) χ_l(ω2) },

and that of their own parts is a product a1(ω1) a2(ω2). So with κ the transform of "by T"

    P(both by T) = F^(-2) Σ_{f1, f2} a1(f1) κ(f1) G(f1, f2) a2(f2) κ(f2):

one plane G for each junction, shared by all stations that meet there, and a matrix product. Masses are weighted with
e^(-θk/F) in each direction, and F is twice the number of steps: what comes round again has a time of more than 2T, and
counts e^(-θ) of itself.

Planes are coarse. What single trucks do is known better (`tree.py`). So only the covariance of the two arrivals is
taken from the plane, P(both by T) - P(one by T) P(other by T), each as the plane has it.

Trucks of one station share their whole route, and their turnout if that is shared: one more factor, at ω1 + ω2.

**Minutes** are those with no link met together (`tree.py`), and how much later the first truck is because of what is
met together (`differences.py`).
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.response import tree_kernels as kernels
from runcard.response.differences import later_together
from runcard.response.lattice import Floats, Lattice, Transforms
from runcard.response.laws import Vector
from runcard.response.point_tree import (
    Points,
    outside_transform,
    products_before_junctions,
    road_to,
    turnout_transform,
)
from runcard.response.routes import TwoRoads
from runcard.response.teams import Teams
from runcard.response.travel import Needs, Travel
from runcard.response.tree import (
    Found,
    Tree,
    by_target,
    each_point,
    late_of,
    none_and_every,
    teams_on_two_roads,
    too_large,
)

THETA = 15.0
TINY = 1e-40
TOLERANCE = 5e-7
"""Of covariances, for the last two extrapolations."""
ALONE_TOLERANCE = 5e-8
LEAST_STEPS = 40
SURE = 1e-7
"""A truck that is there, or not there, with a chance of less than this is not looked at with others."""
SHORT = 1 / 40
"""A deviation of less than this part of the target is short beside the steps of a plane."""

Ints = NDArray[np.int32]


class _Parts(NamedTuple):
    """The real and the imaginary part of something complex, each in an array of its own: kernels are quicker so."""

    real: Floats
    imaginary: Floats


def _parts(given: Transforms) -> _Parts:
    return _Parts(np.ascontiguousarray(given.real), np.ascontiguousarray(given.imag))


@dataclass(frozen=True)
class _PlaneTimes:
    """The transforms of all times on a plane."""

    lattice: Lattice
    alone: Transforms
    """[kind, f1] of a link on which a truck is alone."""
    apart: _Parts
    """[kind, f1] of a link that each truck meets apart."""
    together: _Parts
    """[kind, f1 + f2] of a link that both meet together."""
    turnout: Transforms
    """[f1]"""
    delay: Transforms
    """[f1]"""
    turnout_together: _Parts
    """[1, f1 + f2]"""
    by: Transforms
    """[2, 1, f1] κ / F of "by T", with half of the mass at T, and of that half."""
    twice: Vector
    """[half of f2] 2, but 1 for frequencies that have no other half."""
    room: threading.local = field(default_factory=threading.local)
    """Where each thread keeps its planes: fresh memory for each would cost more than filling them."""

    def plane(self, level: int) -> _Parts:
        """Room for a plane at a level of the tree of routes; at level 0 no link is shared, and G = 1."""
        length = self.lattice.length
        if not hasattr(self.room, "planes"):
            self.room.planes = [_Parts(np.ones((length, length // 2 + 1)), np.zeros((length, length // 2 + 1)))]
        while level >= len(self.room.planes):
            self.room.planes.append(_Parts(*np.empty((2, length, length // 2 + 1))))
        found: _Parts = self.room.planes[level]
        return found


@dataclass(frozen=True, eq=False)
class Plane:
    """P(late) of teams of up to two trucks, where a link is met together with a chance between 0 and 1."""

    travel: Travel
    teams: Teams
    needs: Needs
    proven: ClassVar[bool] = False

    def late(self, points: Points, settled: Callable[[int], None] | None = None) -> Found:
        """P(late) of every team at some demand points."""
        arrived, outside, error = self.arrived_by_target(points, settled)
        found = np.empty((len(self.teams), len(points)))
        for place, j in enumerate(points.tolist()):
            found[:, place] = late_of(self.teams, self.needs, j, arrived[:, :, place], float(outside[place]))
        found = np.clip(found, 0.0, 1.0)  # the lattice is off by rounding
        found[too_large(self.teams, self.needs, points)] = np.inf
        return found, error

    def arrived_by_target(
        self, points: Points, settled: Callable[[int], None] | None = None
    ) -> tuple[Floats, Vector, float]:
        """[T, n, place in points] the chance that at least n own trucks are there, that one from outside is, the error.

        Only of teams of up to two trucks.
        """
        num = len(self.teams.trucks)
        travel, needs = self.travel, self.needs
        alone, error = by_target(travel, needs, points, self._alone_on, lambda _: np.array([ALONE_TOLERANCE]))
        sure = np.minimum(alone[:num], 1.0 - alone[:num]) < SURE
        unsure = {int(j): np.flatnonzero(~sure[:, place]).tolist() for place, j in enumerate(points)}
        on = partial(self._covariances_on, unsure=unsure)
        covariance, off = by_target(
            travel, needs, points, on, lambda _: np.array([TOLERANCE]), settled, LEAST_STEPS, least=3
        )
        covariance = covariance.reshape(num, num, -1)
        found = np.zeros((len(self.teams), 2, len(points)))
        one, two = self.teams.of_size(1), self.teams.of_size(2)
        found[one, 0] = alone[:num]
        first, second = self.teams.stations[two, :2].T
        p, q = alone[first], alone[second]
        for place, j in enumerate(points.tolist()):
            for t, _ in teams_on_two_roads(self.travel, self.teams, j):
                q[t - two.start, place] = alone[num + 1 + self.teams.stations[t, 0], place]
        both = np.clip(p * q + covariance[first, second], np.maximum(0.0, p + q - 1.0), np.minimum(p, q))
        found[two, 0], found[two, 1] = p + q - both, both
        return found, alone[num], 2.0 * float(error.max()) + float(off.max()) + SURE

    def means(self, points: Points) -> Found:
        """The mean minutes until the first truck of every team at some demand points."""
        none, off = Tree(none_and_every(self.travel)[0], self.teams, self.needs).means(points)
        mixed, _, error = later_together(self.travel, self.teams, points)
        return np.maximum(none + mixed, 0.0), off + error

    def shares(self, points: Points) -> tuple[Floats, Floats, float]:
        """How far minutes are on the way from no link met together to every one, how long that way is, and the error.

        The first two are [T, place in points], and 0 for teams that are no pairs; the error is in minutes.
        """
        mixed, every, error = later_together(self.travel, self.teams, points)
        return np.clip(mixed / np.maximum(every, 1e-12), 0.0, 1.0), every, error

    def _alone_on(self, lattice: Lattice, points: Points) -> Floats:
        """[I + 1 + I, place in points] the chance that a truck of each station is there by the horizon, one from
        outside, and one of each station that takes another road."""
        travel, num = self.travel, len(self.teams.trucks)
        of_kind = lattice.transforms(travel.laws.alone, travel.link_means)
        start = travel.starts(turnout_transform(travel, lattice)) * lattice.delay
        outside = outside_transform(travel, lattice) * lattice.delay

        def at(j: int) -> Vector:
            # A second truck of a station leaves as the first does.
            road, products = road_to(travel, j), np.concatenate([start, outside[None], start])
            for i in range(num):
                kernels.multiply_links(road, i, 0, kernels.num_links(road, i), road.together, of_kind, products[i])
            for t, roads in teams_on_two_roads(travel, self.teams, j):
                kinds = travel.kind_of_link[np.concatenate([roads.second, roads.both])]
                kernels.multiply_kinds(kinds, of_kind, products[num + 1 + self.teams.stations[t, 0]])
            arrived = lattice.arrived(products)
            return 0.5 * (arrived[:, lattice.end] + arrived[:, lattice.end - 1])

        return each_point(points, 2 * num + 1, at)

    def _covariances_on(self, lattice: Lattice, points: Points, unsure: Mapping[int, list[int]]) -> Floats:
        """[I × I, place in points] the covariance of the arrivals by the horizon of each two trucks.

        A truck that is there for sure, or is not, has none; the stations of the others at each point are given.
        """
        times = plane_times(self.travel, lattice)

        def at(j: int) -> Vector:
            return _PointPlane(self.travel, self.teams, times, j).covariances(unsure[j])

        return each_point(points, len(self.teams.trucks) ** 2, at)


def plane_times(travel: Travel, given: Lattice) -> _PlaneTimes:
    """All times on a plane of as many steps as a lattice in each direction."""
    laws, room = travel.laws, 3 * given.size // 2
    lattice = Lattice(given.horizon, given.num_steps, room=room, theta=THETA)
    both = Lattice(given.horizon, given.num_steps, room=room, theta=2.0 * THETA)
    alone = _whole(lattice.transforms(laws.alone, travel.link_means), lattice.length)
    same = laws.together is laws.alone
    twice = np.where(np.arange(lattice.num_frequencies) * 2 % lattice.length == 0, 1.0, 2.0)
    places = np.arange(lattice.end + 1)
    angles = 2.0 * np.pi * np.outer(np.arange(lattice.length), places) / lattice.length
    counted = np.exp(1j * angles) / lattice.weights[places] / lattice.length
    return _PlaneTimes(
        lattice=lattice,
        alone=alone,
        apart=_parts(alone if same else _whole(lattice.transforms(laws.apart, travel.link_means), lattice.length)),
        together=_parts(_whole(both.transforms(laws.together, travel.link_means), lattice.length, further=True)),
        turnout=_whole(turnout_transform(travel, lattice)[None], lattice.length)[0],
        delay=_whole(lattice.delay[None], lattice.length)[0],
        turnout_together=_parts(_whole(turnout_transform(travel, both)[None], lattice.length, further=True)),
        by=np.stack([counted[:, :-1].sum(axis=1) + 0.5 * counted[:, -1], 0.5 * counted[:, -1]])[:, None, :],
        twice=twice,
    )


def _whole(half: Transforms, length: int, *, further: bool = False) -> Transforms:
    """[..., F] the transforms for all frequencies, given those for half of them; `further` has half of them again."""
    whole = np.concatenate([half, np.conj(half[:, 1 : (length + 1) // 2][:, ::-1])], axis=1)
    return np.concatenate([whole, half], axis=1) if further else whole


class _PointPlane:
    """The planes of one demand point, from the demand point outwards."""

    def __init__(self, travel: Travel, teams: Teams, times: _PlaneTimes, j: int) -> None:
        self.travel, self.teams, self.times, self.point = travel, teams, times, j
        self.road = road_to(travel, j)
        num = len(teams.trucks)
        self.rows, own = products_before_junctions(self.road, travel.starts(times.turnout) * times.delay, times.alone)
        self.own = np.where(np.abs(own) > TINY, own, 0.0)
        self.found = np.zeros((num, num))
        self.shared: list[list[int]] = self.road.shared.tolist()
        self.alone = (self.own[self.rows[:, 0]] * times.by).sum(axis=2).real
        variances = travel.laws.alone.variance(travel.link_means[self.road.kind])
        behind = kernels.sums_behind(self.road, variances[None])[0]
        self.short = travel.deviations[:, [j]] ** 2 - behind < (SHORT * times.lattice.horizon) ** 2

    def covariances(self, stations: list[int]) -> Vector:
        """[I × I] the covariance of the arrivals of each two trucks of these stations; 0 for others."""
        if stations:
            self._visit(stations, 0, 0)
        for t, roads in teams_on_two_roads(self.travel, self.teams, self.point):
            i = int(self.teams.stations[t, 0])
            if i in stations:
                self.found[i, i] = self._on_two_roads(i, roads)
        return self.found.ravel()

    def _visit(self, members: list[int], depth: int, level: int) -> None:
        """Fill in the pairs among stations whose trucks drive the last `depth` links together.

        The plane of these links is that of `level`.
        """
        shared = self.shared
        if len(members) == 1:
            i, alone = members[0], self.alone[:, members[0]]
            one_road = (int(self.travel.routes.row[self.point]), i) not in self.travel.second
            if self.teams.trucks[i] > 1 and self.teams.max_size > 1 and one_road:
                kinds, nothing = self._kinds(i, depth, kernels.num_links(self.road, i)), np.ones((1, 1), np.complex128)
                self.found[i, i] = self._of_one_station(level, kinds, nothing, nothing, alone, alone)
            return
        junction = min(shared[i][e] for i in members for e in members)
        if junction > 0:
            there = [i for i in members if any(shared[i][e] == junction for e in members)]
            own, alone = self.own[self.rows[there, junction]], self.alone[:, there]
            kinds, short = self._kinds(members[0], depth, junction), np.flatnonzero(self.short[there, junction])
            level, covariance = self._meet(level, kinds, own, own, alone, alone, short)
            every = np.ix_(there, there)
            np.copyto(covariance, self.found[every], where=self.road.shared[every] != junction)
            self.found[every] = covariance
        left = members
        while left:
            near = [e for e in left if e == left[0] or shared[left[0]][e] > junction]
            self._visit(near, junction, level)
            left = [e for e in left if e not in near]

    def _on_two_roads(self, i: int, roads: TwoRoads) -> float:
        """The covariance of two trucks of one station on different roads."""
        kind, alone = self.travel.kind_of_link, self.times.alone
        own = np.ones((2, alone.shape[1]), np.complex128)
        for route, product in zip((roads.first, roads.second), own, strict=True):
            kernels.multiply_kinds(kind[route], alone, product)
        second = self.times.turnout * self.times.delay * own[1]
        kernels.multiply_kinds(kind[roads.both], alone, second)
        by_second = (second * self.times.by[:, 0]).sum(axis=1).real
        return self._of_one_station(0, kind[roads.both], own[:1], own[1:], self.alone[:, i], by_second)

    def _of_one_station(
        self, level: int, kinds: Ints, first: Transforms, second: Transforms, by_first: Vector, by_second: Vector
    ) -> float:
        """The covariance of two trucks of one station that share links of these kinds.

        Given is what each meets by itself after its turnout, and the chance that each is there (see `_meet`).
        """
        travel, times = self.travel, self.times
        begin = self.times.delay * (1.0 if travel.turnout_shared else times.turnout)
        given = begin * first, begin * second, by_first[:, None], by_second[:, None], np.zeros(1, np.int64)
        level, covariance = self._meet(level, kinds, *given)
        if travel.turnout_shared and travel.turnout_minutes > 0.0:
            _, covariance = self._meet(level, np.zeros(1, np.int32), *given, times.turnout_together)
        return float(covariance[0, 0])

    def _kinds(self, i: int, low: int, high: int) -> NDArray[np.int32]:
        """The kinds of the links of a route at the depths low+1..high."""
        last = int(self.road.first[i + 1])
        return self.road.kind[last - high : last - low]

    def _meet(
        self, level: int, kinds: Ints, first: Transforms, second: Transforms, by_first: Floats, by_second: Floats,
        short: NDArray[np.int64], together: _Parts | None = None,
    ) -> tuple[int, Floats]:  # fmt: skip
        """The level of the plane with the factors of more links, which is the next one; and covariances.

        These are [first, second] of the arrivals of two trucks, given what each meets by itself, and the chance that it
        is there by T, with half of the mass at T, and that half [2, truck]. With `together` the factors are those of a
        time that is always met together. Half of "both by T" and half of "both before T" is the product of the halves
        and that of the masses at T. The latter matters for those `short` of time of their own, which may arrive at
        once; of the others it is of the order of h², as all that the lattice leaves out.
        """
        times, chance, num = self.times, self.travel.laws.chance if together is None else 1.0, len(first)
        before, found, (until, at) = times.plane(level), times.plane(level + 1), times.by
        half, own, other = found.real.shape[1], first * until, second * until
        if len(short):
            own, other = np.concatenate([own, first[short] * at]), np.concatenate([other, second[short] * at])
        sums = _Parts(*np.zeros((2, len(own), half)))
        # What is always met together is never met apart, and where no link is on any way there is no such row to read.
        apart, every = (times.apart, times.together) if together is None else (together, together)
        extend(kinds, chance, apart, every, before, found, _parts(own), sums)
        other = (other[:, :half] * times.twice).T
        both = sums.real @ other.real - sums.imaginary @ other.imag
        covariance = both[:num, : len(second)] - by_first[0][:, None] * by_second[0]
        if len(short):
            of_short = both[num:, len(second) :] - by_first[1, short][:, None] * by_second[1, short]
            covariance[np.ix_(short, short)] += of_short
        return level + 1, covariance


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def extend(
    kinds: Ints,
    chance: float,
    apart: _Parts,
    together: _Parts,
    before: _Parts,
    found: _Parts,
    own: _Parts,
    sums: _Parts,
) -> None:
    """Set `found` to the plane before, times the factors of links of these kinds; add Σ_f1 own(f1) G(f1, f2) to sums.

    Row by row, while it is in the cache. What is met together comes for half as many frequencies again.
    """
    length, half = before.real.shape
    for first in range(length):
        row, other = found.real[first], found.imaginary[first]
        for k in range(half):
            row[k], other[k] = before.real[first, k], before.imaginary[first, k]
        for kind in kinds:
            a, b = apart.real[kind], apart.imaginary[kind]
            c, d = together.real[kind, first:], together.imaginary[kind, first:]
            x, y = (1.0 - chance) * a[first], (1.0 - chance) * b[first]
            for k in range(half):
                re = chance * c[k] + x * a[k] - y * b[k]
                im = chance * d[k] + x * b[k] + y * a[k]
                old = row[k]
                row[k] = old * re - other[k] * im
                other[k] = old * im + other[k] * re
        for k in range(half):  # numbers too small for a full double would take a hundred times as long
            row[k] = row[k] if abs(row[k]) > TINY else 0.0
            other[k] = other[k] if abs(other[k]) > TINY else 0.0
        for n in range(len(own.real)):
            x, y, to, also = own.real[n, first], own.imaginary[n, first], sums.real[n], sums.imaginary[n]
            for k in range(half):
                to[k] += x * row[k] - y * other[k]
                also[k] += x * other[k] + y * row[k]
