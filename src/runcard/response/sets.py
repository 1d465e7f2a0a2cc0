"""P(late) of three and four trucks that meet each shared link together with some chance.

Given the set S of links that are met together, every case is the tree (`tree.py`). So P(late) is the mean over random
sets of P(late | S). Of few links, all sets are taken; of many, some are drawn, with a fixed seed. What is then left to
chance is small, because much of it is known. Let p_e(S) be the chance that one of two trucks is there, whose mean p_e
the plane gives (`plane.py`), and V(S) the sum of m_l² over the links l in S that two trucks of the team share or more,
a sum of independent terms whose moments are plain. Then

    P(late | S) ≈ c + Σ_e β_e p_e(S) + γ V(S) + δ V(S)²  over the pairs e of the team,

with c, β, γ and δ by least squares over the sets, and the mean of the right side is known. The standard error is that
of the mean of what is left, and it is part of the stated error. Lattices of n and, for some of the sets, of 2n steps
are extrapolated. A lattice errs for pairs about as much as for teams, so that most of its error goes with theirs; what
the finer one alone would give tells how much is left.

**Minutes** with no link met together and with every one are those of the tree. In between, a team is as far on the way
from the one to the other as its pairs are, each counted by how much it changes. With a coupled branch they are no such
way from each other: minutes, and the chances at many times, are then means over sets, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from runcard.response import tree_kernels as kernels
from runcard.response.differences import reach_of, steps_of_differences
from runcard.response.lattice import Floats, Lattice
from runcard.response.laws import Vector
from runcard.response.link_sets import Together, sets_of
from runcard.response.plane import Plane
from runcard.response.point_tree import LatticeTimes, Points, PointTree, road_to, times_on
from runcard.response.teams import Teams
from runcard.response.travel import Needs, Travel
from runcard.response.tree import (
    Found,
    chance_by,
    each_point,
    first_steps,
    late_of,
    minutes_none_and_every,
    minutes_of_outside,
    too_large,
)

LEAST_SETS, MOST_SETS = 40, 256
SETS_TIMES_ENTRIES = 28e6
"""The work that is done: as many sets as that allows for teams × demand points. More sets are more exact."""
FINER_SETS = 8
CURVE_SETS = 128
"""For the chances at many times (`first_by`)."""
LEAST_STEPS, STEPS_PER_DEVIATION = 64, 8.0
STANDARD_ERRORS = 4.0
"""So many are stated."""
LATTICE_ERROR = 0.1
"""The part of what a finer lattice changes that is stated, and five times as much of what is left of that."""
LEAST_ERROR = 2e-5
MINUTES_ERROR = 0.04
"""The part of the way from no link met together to every one that minutes are stated to be off; half was seen."""
RIDGE = 3e-6
"""A pair that varies less than this from set to set explains nothing."""


_Given = Callable[[PointTree, LatticeTimes, NDArray[np.bool_]], tuple[Vector, Vector]]
"""[T] what is found given a set, and the same of smaller teams, from the tree and the links that may be shared."""
_Controls = Mapping[int, NDArray[np.int64]]
"""By size: [T, control] the smaller teams by whose numbers those of the teams of that size are explained."""


@dataclass(frozen=True, eq=False)
class Sets:
    """P(late) and mean minutes of teams of three and four, where links are met together with a chance."""

    travel: Travel
    teams: Teams
    needs: Needs
    proven: ClassVar[bool] = False

    def late(self, points: Points, settled: Callable[[int], None] | None = None) -> Found:
        """P(late) of every team at some demand points."""
        found, error = np.empty((2 * len(self.teams), len(points))), 0.0
        for target in np.unique(self.needs.targets[points]).tolist():
            (places,) = np.nonzero(self.needs.targets[points] == target)
            known, outside, off = self._pairs.arrived_by_target(points[places])
            first = first_steps(
                self.travel, target, points[places], least=LEAST_STEPS, per_deviation=STEPS_PER_DEVIATION
            )
            times = tuple(times_on(self.travel, Lattice(target, steps)) for steps in (first, 2 * first))
            known_at = {int(j): (known[:, :, place], float(outside[place])) for place, j in enumerate(points[places])}
            found[:, places] = each_point(
                points[places], 2 * len(self.teams), partial(self._late_at, known_at=known_at, times=times)
            )
            error = max(error, off)
            if settled is not None:
                settled(len(places))
        late, wrong = np.clip(found[: len(self.teams)], 0.0, 1.0), found[len(self.teams) :]
        late[too_large(self.teams, self.needs, points)] = np.inf
        return late, error + float(wrong.max()) + LEAST_ERROR

    def means(self, points: Points) -> Found:
        """The mean minutes until the first truck of every team at some demand points."""
        if self.travel.laws.coupled:
            return self._means_by_sets(points)
        none, between, off = minutes_none_and_every(self.travel, self.teams, self.needs, points)
        shares, error = self.shares(points)
        return np.maximum(none + shares * between, 0.0), off + error + MINUTES_ERROR * float(np.abs(between).max())

    def shares(self, points: Points) -> Found:
        """How far minutes are on the way from no link met together to every one, and the error of pairs in minutes."""
        shares, gaps, error = self._pairs.shares(points)
        weight = np.zeros((len(self.teams), len(points)))
        total = np.full_like(weight, 1e-12)
        for pair in self._pairs_of.T:
            there = pair >= 0
            weight[there] += (shares * gaps)[pair[there]]
            total[there] += gaps[pair[there]]
        return weight / total, error

    @cached_property
    def _pairs(self) -> Plane:
        """What is known of pairs."""
        two = np.full_like(self.needs.trucks, 2)
        return Plane(self.travel, Teams.of(self.teams.trucks, 2), Needs(two, np.ones_like(two), self.needs.targets))

    @cached_property
    def _pairs_of(self) -> NDArray[np.int64]:
        """[T, 6] the pairs of each team of two and more trucks; -1 for none."""
        teams, pairs = self.teams, Teams.of(self.teams.trucks, 2)
        found = np.full((len(teams), 6), -1, np.int64)
        for place, (a, b) in enumerate(combinations(range(teams.max_size), 2)):
            first, second = teams.stations[:, a].astype(np.int64), teams.stations[:, b].astype(np.int64)
            there = second >= 0
            found[there, place] = pairs.number_of_code[(first[there] + 1) * pairs.base + second[there] + 1]
        return found

    def _sets_at(self, j: int, num_sets: int) -> Together:
        """Which links are met together on the way to a demand point, in so many sets, or in all that there are."""
        routes, num = self.travel.routes, len(self.teams.trucks)
        row = int(routes.row[j])
        first = routes.first_link[row * num : (row + 1) * num + 1]
        links = routes.links[first[0] : first[-1]]
        station = np.repeat(np.arange(num), np.diff(first))
        different, where, count = np.unique(links, return_inverse=True, return_counts=True)
        several = np.isin(np.arange(len(different)), where[np.array(self.teams.trucks)[station] > 1])
        (shared,) = np.nonzero((count > 1) | several)
        every, weights, drawn = sets_of(len(shared), self.travel.laws.chance, num_sets, row)
        together = np.zeros((len(every), len(different)), np.bool_)
        together[:, shared] = every
        return Together(np.ascontiguousarray(together[:, where]), np.isin(where, shared), weights, drawn)

    @property
    def _num_sets(self) -> int:
        """How many sets are drawn."""
        few = SETS_TIMES_ENTRIES / (len(self.teams) * len(self.needs.trucks))
        return MOST_SETS if self.travel.laws.coupled else int(np.clip(few, LEAST_SETS, MOST_SETS))

    def _late_at(self, j: int, known_at: Mapping[int, tuple[Floats, float]], times: tuple[LatticeTimes, ...]) -> Vector:
        """[2 T] P(late) at a demand point, and what it may be off.

        Known are the arrivals of teams of up to two trucks, and the chance that a truck from outside is there.
        """
        known, outside = known_at[j]
        given = partial(self._late_given, num_known=len(known), outside=outside)
        best, error = self._over_sets(j, given, known[:, 0], times, self._controls)
        exact = np.zeros((len(self.teams), max(int(self.needs.arrivals[j]), 2)))
        exact[: len(known), :2] = known
        best[: len(known)] = late_of(self.teams, self.needs, j, exact, outside)[: len(known)]
        error[: len(known)] = 0.0
        return np.concatenate([best, error])

    def _over_sets(
        self, j: int, given: _Given, known: Vector, times: tuple[LatticeTimes, ...], controls: _Controls
    ) -> tuple[Vector, Vector]:
        """[T] the mean over the sets of what is found given each, and what it may be off.

        Of smaller teams the mean is known, and their numbers explain those of larger ones.
        """
        together = self._sets_at(j, self._num_sets)
        trees, weights = self._trees(j, together), together.weights
        found, smaller = np.empty((len(trees), len(self.teams))), np.empty((len(trees), len(known)))
        finer_by, smaller_by = np.zeros(len(self.teams)), np.zeros(len(known))
        # Some sets, spread evenly over the chances of all
        finer = np.searchsorted(np.cumsum(weights) / weights.sum(), (np.arange(FINER_SETS) + 0.5) / FINER_SETS)
        for place, tree in enumerate(trees):
            found[place], smaller[place] = given(tree, times[0], together.shared)
            if share := np.count_nonzero(finer == place) / FINER_SETS:
                one, of_smaller = given(tree, times[1], together.shared)
                finer_by += share * (one - found[place])
                smaller_by += share * (of_smaller - smaller[place])
        if together.drawn:
            powers = self._powers(trees[0], together.links)
            (fine, _), (best, by_chance) = (
                self._estimate(found + part * finer_by, smaller + part * smaller_by, known, powers, weights, controls)
                for part in (1.0, 4.0 / 3.0)
            )
        else:  # nothing is left to chance
            fine, best = (weights @ found + part * finer_by for part in (1.0, 4.0 / 3.0))
            by_chance = np.zeros_like(best)
        error = LATTICE_ERROR * (np.abs(finer_by) + 5.0 * np.abs(best - fine)) + STANDARD_ERRORS * by_chance
        return best, error

    def _trees(self, j: int, together: Together) -> list[PointTree]:
        """The tree of a demand point for each of the sets."""
        tree = PointTree.at(self.travel, self.teams, self.needs, j, road_to(self.travel, j))
        return [replace(tree, road=tree.road._replace(together=one, apart=~one)) for one in together.links]

    def first_by(self, lattice: Lattice, ends: Points, points: Points) -> Floats:
        """[end, T, place in points] the chance that a truck of each team is there by some places of a lattice."""
        times = times_on(self.travel, lattice)
        found = each_point(points, len(ends) * len(self.teams), partial(self._first_at, times=times, ends=ends))
        return found.reshape(len(ends), len(self.teams), len(points))

    def _first_at(self, j: int, times: LatticeTimes, ends: Points) -> Vector:
        """[end × T] the same at a demand point."""
        together = self._sets_at(j, CURVE_SETS)
        trees, weights = self._trees(j, together), together.weights
        arrived = np.stack([tree.arrived_by(times, tree.arrived(times, 1), ends)[:, :, 0] for tree in trees])
        if not together.drawn:
            return (weights @ arrived.reshape(len(trees), -1)).ravel()
        one = self.teams.of_size(1)
        smaller = arrived[:, :, : one.stop].copy()
        for tree, found in zip(trees, smaller, strict=True):
            found[:, one] = self._single(tree, times, together.shared, ends).T
        powers = self._powers(trees[0], together.links)
        means = [
            self._estimate(arrived[:, end], smaller[:, end], arrived[0, end], powers, weights, self._singles)[0]
            for end in range(len(ends))
        ]
        return np.concatenate(means)

    def _late_given(
        self, tree: PointTree, times: LatticeTimes, shared: NDArray[np.bool_], *, num_known: int, outside: float
    ) -> tuple[Vector, Vector]:
        """[T] P(late) given a set, and the chance that a truck of each team of one or two is there."""
        found = tree.arrived_by_target(times, tree.arrived(times, tree.arrivals))
        late = late_of(self.teams, self.needs, tree.point, found, outside)
        if self.travel.laws.coupled:
            found[self.teams.of_size(1), 0] = self._single(tree, times, shared, times.lattice.end)
        return late, found[:num_known, 0]

    def _means_by_sets(self, points: Points) -> Found:
        """The mean minutes until the first truck of every team, as means over sets."""
        travel, needed, num = self.travel, self.needs.trucks[points], len(self.teams)
        known, error = self._pairs.means(points)
        known[0], known[self.teams.of_size(1)] = 0.0, travel.minutes[:, points]
        reach = float(reach_of(travel, self.teams, points).max())
        first = 2 * steps_of_differences(travel)
        lattices = (Lattice(reach, steps) for steps in (first, 2 * first))
        known_at, times = (
            dict(zip(points.tolist(), known.T, strict=True)),
            tuple(times_on(travel, lattice) for lattice in lattices),
        )
        two = self.teams.of_size(2)
        own = np.concatenate([np.arange(two.start, two.stop)[:, None], self._singles[2]], axis=1)
        controls = {2: own, **self._controls}

        def at(j: int) -> Vector:
            return np.concatenate(self._over_sets(j, self._minutes_given, known_at[j], times, controls))

        found, wrong = np.maximum(each_point(points, 2 * num, at), 0.0).reshape(2, num, -1)
        for number in np.unique(needed).tolist():
            found[0, needed == number], off = minutes_of_outside(travel, number)
            error = max(error, off)
        found[too_large(self.teams, self.needs, points)] = np.inf
        return found, 2.0 * error + float(wrong[1:].max())  # that of pairs goes on into larger teams

    def _minutes_given(self, tree: PointTree, times: LatticeTimes, shared: NDArray[np.bool_]) -> tuple[Vector, Vector]:
        """[T] the mean minutes until the first truck given a set, and those of teams of one or two without others."""
        arrived, law = tree.arrived(times, 1), self.travel.laws
        found, smaller = (
            trucks.behind()[0] + trucks.waits(times, arrived, 0, times.lattice.size)
            for trucks in (tree, replace(tree, needed=2))
        )
        given = np.where(tree.road.together, law.together.mean, law.apart.mean)
        minutes = self.travel.link_means[tree.road.kind] * np.where(shared, given, 1.0)
        sums = np.append(0.0, np.cumsum(minutes))[tree.road.first]
        turnout = self.travel.minutes[:, tree.point] - self.travel.routes.drive_minutes[:, tree.point]
        smaller[0], smaller[self.teams.of_size(1)] = 0.0, np.diff(sums) + turnout
        return found, smaller[: self.teams.of_size(2).stop]

    def _single(self, tree: PointTree, times: LatticeTimes, shared: NDArray[np.bool_], ends: Points | int) -> Floats:
        """[I, end] the chance that a truck of each station is there by some places of the lattice, given a set.

        With a coupled branch that tells the branch of every link that may be shared.
        """
        road, lattice = tree.road, times.lattice
        products = np.array(self.travel.starts(times.turnout) * lattice.delay)
        parts = (road.together, times.together), (road.apart & shared, times.apart), (~shared, times.alone)
        for i, product in enumerate(products):
            for wanted, of_kind in parts:
                kernels.multiply_links(road, i, 0, kernels.num_links(road, i), wanted, of_kind, product)
        return chance_by(lattice, products, ends)

    def _powers(self, tree: PointTree, together: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """[set, T, 2] V(S), from its mean on and in deviations, and its square; and [T, 2] their means."""
        q, squares = self.travel.laws.chance, self.travel.link_means[tree.road.kind] ** 2
        mean, variance = self._over_shared_links(tree, np.array([q * squares, q * (1.0 - q) * squares**2]))
        deviation = np.where(variance > 0.0, np.sqrt(variance), 1.0)
        found = (self._over_shared_links(tree, squares * together) - mean) / deviation
        return np.stack([found, found**2], axis=2), np.stack([np.zeros_like(mean), variance > 0.0], axis=1)

    def _over_shared_links(self, tree: PointTree, values: Floats) -> Floats:
        """[row, T] the sums of values [row, link of the roads] over the links that trucks of each team share.

        These are the links from the junction of a team on, and before it those that trucks of each part share.
        """
        teams, meetings = self.teams, tree.meetings
        behind = kernels.sums_behind(tree.road, values)
        found = np.zeros((len(values), len(teams)))
        for size in range(2, tree.needed + 1):
            numbers = np.arange(len(teams))[teams.of_size(size)]
            lead, junction = teams.stations[numbers, 0], meetings.junction[numbers]
            one_station = junction < 0
            depth = np.where(one_station, tree.road.shared[lead, lead], junction)
            from_junction = behind[:, lead, depth]
            found[:, numbers] = from_junction
            for part in meetings.parts[numbers].T:
                several = ~one_station & (teams.sizes[part] > 1)
                found[:, numbers] += np.where(several, found[:, part] - from_junction, 0.0)
        return found

    @cached_property
    def _controls(self) -> dict[int, NDArray[np.int64]]:
        """By size: [T, control] the smaller teams by which P(late) of the teams of that size is explained."""
        found = {}
        for size in range(3, self.teams.max_size + 1):
            of_team = self._pairs_of[self.teams.of_size(size)]
            found[size] = of_team[:, (of_team >= 0).all(axis=0)]
            if self.travel.laws.coupled:
                found[size] = np.concatenate([found[size], self._singles[size]], axis=1)
        return found

    @cached_property
    def _singles(self) -> dict[int, NDArray[np.int64]]:
        """By size: [T, truck] the teams of one truck of each team of that size."""
        sizes = range(2, self.teams.max_size + 1)
        return {size: 1 + self.teams.stations[self.teams.of_size(size), :size].astype(np.int64) for size in sizes}

    def _estimate(
        self,
        late: Floats,
        smaller: Floats,
        known: Vector,
        powers: tuple[Floats, Floats],
        weights: Vector,
        controls: _Controls,
    ) -> tuple[Vector, Vector]:
        """[T] the mean of P(late) [set, T] over the sets, given what is known of smaller teams and of V; its error."""
        mean, num_sets = weights @ late, len(weights)
        errors = np.zeros(late.shape[1])
        for size, of_team in controls.items():
            part = self.teams.of_size(size)
            x = np.concatenate([smaller[:, of_team], powers[0][:, part]], axis=2)
            expected = np.concatenate([known[of_team], powers[1][part]], axis=1)
            at = np.einsum("s,stp->tp", weights, x)
            x, y = x - at, late[:, part] - mean[part]
            square = np.einsum("s,stp,stq->tpq", weights, x, x) + RIDGE**2 * np.eye(x.shape[2])
            slope = np.linalg.solve(square, np.einsum("s,stp,st->tp", weights, x, y)[:, :, None])[:, :, 0]
            mean[part] += (slope * (expected - at)).sum(axis=1)
            left = y - np.einsum("stp,tp->st", x, slope)
            free = max(1, num_sets - 1 - x.shape[2])
            errors[part] = np.sqrt((weights[:, None] ** 2 * left**2).sum(axis=0) * num_sets / free)
        return mean, errors
