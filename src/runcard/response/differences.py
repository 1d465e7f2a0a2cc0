"""How much later the first of two trucks is because of what they meet together: lattices of differences.

E min(R1, R2) = (E R1 + E R2 - E |R1 - R2|) / 2, and in the difference of two arrivals what is met together cancels.
With a1 and a2 the transforms of what each truck meets by itself, χ_l that of a shared link l met apart, and q the
chance that such a link is met together, the transform of R1 - R2 is

    a1(ω) conj a2(ω) Π_l { q + (1-q) |χ_l(ω)|² }.

If nothing is met together, the factors are |φ_l(ω)|², φ_l the law of a single truck; if every link is, they are 1. The
mean of |R1 - R2| is a sum over the frequencies of a lattice of both signs, and half of what it falls by is how much
later the first truck is. With a coupled branch χ and φ are different laws.

**Tails.** A lattice ends at H, and of a longer time on a link H is taken. That leaves E (X - H)+ of it out of
|R1 - R2|, which is added for each truck that meets a shared link apart; what the trucks meet alone cancels. What is
then wrong is that two times may be longer than H at once: less than what is added times the chance of another one.

**Steps.** The error is c h² + d h⁴ + ..., and three lattices are extrapolated twice. Pairs of about the same reach
share a lattice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import rfft

from runcard.response import tree_kernels as kernels
from runcard.response.lattice import Floats, Lattice, Transforms, refined
from runcard.response.laws import Vector
from runcard.response.point_tree import Points, products_before_junctions, road_to
from runcard.response.teams import Teams
from runcard.response.travel import Travel
from runcard.response.tree import each_point, order_of, teams_on_two_roads

DEVIATIONS, DEVIATIONS_APART = 8.0, 5.0
"""A lattice reaches that far beyond the mean of a route: as a truck drives alone, and if it meets all links apart."""
STEPS, DEVIATIONS_PER_STEPS = 96, 2.0
"""Of the first lattice, and as many again for every two deviations of a time of mean 1."""
TOLERANCE = 1e-4
"""Of minutes, relatively to the longest mean of a route."""
SCALE = 8.0
"""Pairs that reach less than this part of what others do have lattices of their own."""

TINY = 1e-9
"""Of minutes."""

Masks = NDArray[np.bool_]


class Later(NamedTuple):
    """How many minutes later the first truck of each pair is than if the two met nothing together."""

    mixed: Floats
    """[T, place in points] as links are met; 0 for teams that are no pairs."""
    every: Floats
    """[T, place in points] if every shared link were met together."""
    error: float
    """How far each may be off, about."""


def later_together(travel: Travel, teams: Teams, points: Points) -> Later:
    """How much later the first truck of every pair is at some demand points because of what is met together."""
    found, error, two = np.zeros((2, len(teams), len(points))), 0.0, teams.of_size(2)
    first, second = teams.stations[two, :2].T
    reach = reach_of(travel, teams, points)
    of_pairs = np.maximum(reach[first], reach[second])
    wanted = travel.routes.shared_links[:, :, points][first, second] > 0
    longest = float(of_pairs.max(where=wanted, initial=0.0))
    scale = np.floor(np.log(longest / np.where(wanted, of_pairs, longest)) / np.log(SCALE)) if wanted.any() else wanted
    first_steps = steps_of_differences(travel)
    tolerance = TOLERANCE * float(travel.minutes[:, points].max())
    for part in np.unique(scale[wanted]).tolist():
        mask, horizon = wanted & (scale == part), longest / SCALE**part
        (places,) = np.nonzero(mask.any(axis=0))
        mask = np.tile(mask[:, places], (2, 1))
        mask_at = dict(zip(points[places].tolist(), mask[: len(first)].T, strict=True))

        def at(num_steps: int, part: Points, horizon: float = horizon, mask_at: _MaskAt = mask_at) -> Floats:
            return _later_on(travel, teams, part, mask_at, _lattice(horizon, num_steps))

        best, off = refined(
            at, points[places], np.full(len(mask), tolerance), first=first_steps, wanted=mask, order=order_of(travel)
        )
        tails = each_point(points[places], 3 * len(first), partial(_tails_at, travel, teams, horizon))
        best += tails[: len(mask)]
        found[:, two][:, :, places] += np.where(mask, best, 0.0).reshape(2, len(first), -1)
        beyond = float(tails[len(mask) :].max(where=mask[: len(first)], initial=0.0))
        error = max(error, float(off.max()) + beyond)
    return Later(found[0], found[1], error)


def steps_of_differences(travel: Travel) -> int:
    """The steps of the first lattice: more where most times are short beside the deviation."""
    deviation = sqrt(travel.laws.alone.variance(np.ones(1))[0])
    return STEPS * max(1, ceil(deviation / DEVIATIONS_PER_STEPS))


def reach_of(travel: Travel, teams: Teams, points: Points) -> Floats:
    """[I, place in points] how far the times of trucks reach, on the longer road where there are two."""
    links = travel.routes.roads.minutes
    apart = np.maximum(travel.routes.sums(travel.laws.apart.variance(links) ** 2), 0.0) ** 0.25  # few of many are slow
    reach = travel.minutes + np.maximum(DEVIATIONS * travel.deviations, DEVIATIONS_APART * apart)
    found: Floats = reach[:, points]
    for place, j in enumerate(points.tolist()):
        for t, roads in teams_on_two_roads(travel, teams, j):
            first, second, both = (links[road].sum() for road in roads)
            found[teams.stations[t, 0], place] *= max(1.0, (second + both) / max(first + both, TINY))
    return found


def _lattice(horizon: float, num_steps: int) -> Lattice:
    """A lattice of differences of so many steps to each side, and as many again, without weights."""
    return Lattice(horizon, num_steps, room=4 * Lattice(horizon, num_steps).size, theta=0.0)


@dataclass(frozen=True)
class _Times:
    """The transforms of all times on a lattice of differences."""

    alone: Transforms
    """[kind, frequency] of a link on which a truck is alone."""
    none: Transforms
    """[kind, frequency] of the difference that a link makes which two trucks never meet together."""
    mixed: Transforms
    """The same of a link that they meet now together and now apart."""
    turnout: Transforms
    distance: Vector
    """[frequency] what gives half of the mean distance from 0."""

    def later(self, own: Transforms, shared: Transforms) -> Vector:
        """[2] how much later the first truck is as links are met, and if all are met together.

        Given the transforms of what each truck meets alone, and those of shared links if none is met together, and as
        they are.
        """
        weights = (own[0] * np.conj(own[1])).real * self.distance
        none, mixed = (shared.real * weights).sum(axis=1)
        return np.array([none - mixed, none - weights.sum()])


def _times_on(travel: Travel, lattice: Lattice) -> _Times:
    """All times on a lattice of differences."""
    laws, means, length = travel.laws, travel.link_means, lattice.length
    alone = lattice.transforms(laws.alone, means, cut=True)
    apart = alone if laws.apart is laws.alone else lattice.transforms(laws.apart, means, cut=True)
    steps = np.minimum(np.arange(length), length - np.arange(length))
    twice = np.where(np.arange(lattice.num_frequencies) * 2 % length == 0, 1.0, 2.0)
    turnout = np.ones(lattice.num_frequencies, np.complex128)
    if travel.turnout_minutes > 0.0:
        turnout = lattice.transforms(travel.turnout, np.array([travel.turnout_minutes]), cut=True)[0]
    return _Times(
        alone=alone,
        none=(np.abs(alone) ** 2).astype(np.complex128),
        mixed=(laws.chance + (1.0 - laws.chance) * np.abs(apart) ** 2).astype(np.complex128),
        turnout=turnout,
        distance=0.5 * rfft(lattice.step * steps).real * twice / length,
    )


_MaskAt = Mapping[int, Masks]
"""By demand point: which pairs are wanted."""


def _later_on(travel: Travel, teams: Teams, points: Points, mask_at: _MaskAt, lattice: Lattice) -> Floats:
    """[2 × pair, place in points] how much later the first is as links are met, and if all are met together."""
    times, two, kind = _times_on(travel, lattice), teams.of_size(2), travel.kind_of_link
    ready = np.ones_like(times.turnout) if travel.turnout_shared else times.turnout

    def at(j: int) -> Vector:
        road, on_two_roads = road_to(travel, j), dict(teams_on_two_roads(travel, teams, j))
        rows, products = products_before_junctions(road, travel.starts(times.turnout), times.alone)
        behind_rows = np.empty_like(rows)
        behind = np.empty((2, len(rows) * min(rows.shape), products.shape[1]), np.complex128)
        for of_kind, product in zip((times.none, times.mixed), behind, strict=True):
            kernels.products_behind(road, of_kind, behind_rows, product)
        found = np.zeros((2, two.stop - two.start))
        for pair in np.flatnonzero(mask_at[j]).tolist():
            i, e = teams.stations[two.start + pair, :2].tolist()
            depth = int(road.shared[i, e])
            own = np.stack([ready, ready] if i == e else [products[rows[i, depth]], products[rows[e, depth]]])
            shared = behind[:, behind_rows[i, depth]]
            if roads := on_two_roads.get(two.start + pair):
                shared = np.ones_like(shared)
                for route, product in zip((roads.first, roads.second), own, strict=True):
                    kernels.multiply_kinds(kind[route], times.alone, product)
                for of_kind, product in zip((times.none, times.mixed), shared, strict=True):
                    kernels.multiply_kinds(kind[roads.both], of_kind, product)
            found[:, pair] = times.later(own, shared)
        return found.ravel()

    return each_point(points, 2 * (two.stop - two.start), at)


def _tails_at(travel: Travel, teams: Teams, horizon: float, j: int) -> Vector:
    """[3 × pair] what a lattice leaves out of `_later_on` at a demand point, and what may still be wrong then."""
    road, two, laws, means = road_to(travel, j), teams.of_size(2), travel.laws, travel.link_means
    times = horizon * np.array([1.0 - 1.0 / STEPS, 1.0])
    excess = np.stack([law.excess(times, means) for law in (laws.alone, laws.apart)])
    chances = (excess[:, :, 0] - excess[:, :, 1]) * STEPS / horizon
    of_kind = np.concatenate([excess[:, :, 1], chances])
    sums = np.pad(np.cumsum(of_kind[:, road.kind], axis=1), ((0, 0), (1, 0)))
    first, second = teams.stations[two, :2].T
    begin, end = road.first[:-1], road.first[1:]
    shared = sums[:, end[first]] - sums[:, end[first] - road.shared[first, second]]
    whole = sums[2, end] - sums[2, begin]
    chance = whole[first] + whole[second] + shared[3]
    for t, roads in teams_on_two_roads(travel, teams, j):
        shared[:, t - two.start] = of_kind[:, travel.kind_of_link[roads.both]].sum(axis=1)
    alone, apart = shared[0], (1.0 - laws.chance) * shared[1]
    return np.concatenate([alone - apart, alone, (alone + apart) * chance])
