"""P(late) of three and four trucks that meet each shared link together with some chance.

Given the set S of links that are met together, every case is the tree (`tree.py`). So P(late) is the mean over random
sets of P(late | S). Of few links, all sets are taken; of many, some are drawn, with a fixed seed. What is left to
chance is small, because much of it is known. Let p_e(S) be the chance that one of two trucks is there, whose mean p_e
the plane gives (`plane.py`), and V(S) the sum of m_l² over the links l in S that two trucks of the team share or more,
a sum of independent terms whose moments are plain. Then

    P(late | S) ≈ c + Σ_e β_e p_e(S) + γ V(S) + δ V(S)²  over the pairs e of the team,

with c, β, γ and δ by least squares over the sets, and the mean of the right side is known. The standard error is that
of the mean of what is left, and it is part of the stated error. Lattices of n and, for some of the sets, of 2n steps
are extrapolated. A lattice errs for pairs about as much as for teams, so that most of its error goes with theirs; what
the finer one alone would give tells how much is left.

**Minutes** with no link met together and with every one are those of the tree. In between, a team is as far on the way
from the one to the other as its pairs are, each counted by how much it changes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.response import tree_kernels as kernels
from runcard.response.lattice import Floats, Lattice
from runcard.response.laws import Vector
from runcard.response.plane import Plane
from runcard.response.point_tree import Points, PointTree, Times, road_to, times_on
from runcard.response.teams import Teams
from runcard.response.travel import Needs, Travel
from runcard.response.tree import Found, each_point, first_steps, late_of, minutes_between, too_large

LEAST_SETS, MOST_SETS = 40, 256
SETS_TIMES_ENTRIES = 28e6
"""The work that is done: as many sets as that allows for teams × demand points. More sets are more exact."""
FINER_SETS = 8
RARE = 1e-6
"""Numbers of links met together with a smaller chance are left out."""
SEED = 1
LEAST_STEPS, STEPS_PER_DEVIATION = 64, 8.0
STANDARD_ERRORS = 4.0
"""So many are stated."""
LATTICE_ERROR = 0.1
"""The part of what a finer lattice changes that is stated, and five times as much of what is left of that."""
LEAST_ERROR = 2e-5
MINUTES_ERROR, COUPLED_MINUTES_ERROR = 0.04, 0.25
"""The part of the way from no link met together to every one that minutes are stated to be off; half was seen."""
RIDGE = 3e-6
"""A pair that varies less than this from set to set explains nothing."""


class _Together(NamedTuple):
    """Which links are met together, in several sets."""

    links: NDArray[np.bool_]
    """[set, link of the roads to a demand point]"""
    weights: Vector
    """[set]"""
    drawn: bool
    """Whether there are more sets than these."""


def _sets_of(num_links: int, chance: float, num_sets: int, seed: int) -> tuple[NDArray[np.bool_], Vector, bool]:
    """[set, link] sets of links, [set] their weights, and whether they are drawn: all there are, if they are few.

    Sets are drawn by their size, whose chances are known: sizes that follow each other make a stratum, and each of
    these has a set or more.
    """
    if 2**num_links <= num_sets:
        every = (np.arange(2**num_links)[:, None] >> np.arange(num_links)) & 1 == 1
        size = every.sum(axis=1)
        return every, chance**size * (1.0 - chance) ** (num_links - size), False
    from scipy.stats import binom  # here, because it takes a while to import

    rng = np.random.default_rng([SEED, seed])
    chances = binom.pmf(np.arange(num_links + 1), num_links, chance)
    likely = np.flatnonzero(chances > RARE)
    strata = np.array_split(likely, min(len(likely), num_sets // 2))
    parts = np.array([chances[one].sum() for one in strata])
    parts /= parts.sum()
    counts = 1 + np.floor(parts * (num_sets - len(strata))).astype(np.int64)
    sizes = [
        rng.choice(one, p=chances[one] / chances[one].sum())
        for one, n in zip(strata, counts, strict=True)
        for _ in range(n)
    ]
    ranks = rng.permuted(np.tile(np.arange(num_links), (len(sizes), 1)), axis=1)
    return ranks < np.array(sizes)[:, None], np.repeat(parts / counts, counts), True


@dataclass(frozen=True, eq=False)
class Sets:
    """P(late) and mean minutes of teams of three and four, where links are met together with a chance."""

    travel: Travel
    teams: Teams
    needs: Needs

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
        none, between, off = minutes_between(self.travel, self.teams, self.needs, points)
        shares, error = self.shares(points)
        part = COUPLED_MINUTES_ERROR if self._coupled else MINUTES_ERROR
        return none + shares * between, off + error + part * float(np.abs(between).max())

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

    def _sets_at(self, j: int) -> "_Together":
        """Which links are met together on the way to a demand point, in several sets."""
        routes, num = self.travel.routes, len(self.teams.trucks)
        row = int(routes.row[j])
        first = routes.first_link[row * num : (row + 1) * num + 1]
        links = routes.links[first[0] : first[-1]]
        station = np.repeat(np.arange(num), np.diff(first))
        different, where, count = np.unique(links, return_inverse=True, return_counts=True)
        several = np.isin(np.arange(len(different)), where[np.array(self.teams.trucks)[station] > 1])
        (shared,) = np.nonzero((count > 1) | several)
        every, weights, drawn = _sets_of(len(shared), self.travel.laws.chance, self._num_sets, row)
        together = np.zeros((len(every), len(different)), np.bool_)
        together[:, shared] = every
        return _Together(together[:, where], weights, drawn)

    @property
    def _coupled(self) -> bool:
        """Whether the time of one truck depends on the set, too. P(late) then varies far more."""
        return self.travel.laws.together is not self.travel.laws.alone

    @property
    def _num_sets(self) -> int:
        """How many sets are drawn."""
        few = SETS_TIMES_ENTRIES / (len(self.teams) * len(self.needs.trucks))
        return MOST_SETS if self._coupled else int(np.clip(few, LEAST_SETS, MOST_SETS))

    def _late_at(self, j: int, known_at: Mapping[int, tuple[Floats, float]], times: tuple[Times, ...]) -> Vector:
        """[2 T] P(late) at a demand point, and what it may be off.

        Known are the arrivals of teams of up to two trucks, and the chance that a truck from outside is there.
        """
        known, outside = known_at[j]
        teams, needs, together = self.teams, self.needs, self._sets_at(j)
        tree = PointTree.at(self.travel, teams, needs, j, road_to(self.travel, j))
        trees = [replace(tree, road=tree.road._replace(together=one, apart=~one)) for one in together.links]
        late, pairs = np.empty((len(trees), len(teams))), np.empty((len(trees), len(known)))
        late_finer, pairs_finer = np.zeros(len(teams)), np.zeros(len(known))
        weights = together.weights
        # Some sets, spread evenly over the chances of all
        finer = np.searchsorted(np.cumsum(weights) / weights.sum(), (np.arange(FINER_SETS) + 0.5) / FINER_SETS)
        for place, tree in enumerate(trees):
            late[place], pairs[place] = self._given(tree, times[0], len(known), outside)
            if share := np.count_nonzero(finer == place) / FINER_SETS:
                one, of_pairs = self._given(tree, times[1], len(known), outside)
                late_finer += share * (one - late[place])
                pairs_finer += share * (of_pairs - pairs[place])
        powers = self._powers(tree, together.links)
        (fine, _), (best, by_chance) = (
            self._estimate(late + part * late_finer, pairs + part * pairs_finer, known[:, 0], powers, weights)
            for part in (1.0, 4.0 / 3.0)
        )
        error = LATTICE_ERROR * (np.abs(late_finer) + 5.0 * np.abs(best - fine))
        if together.drawn:
            error += STANDARD_ERRORS * by_chance
        exact = np.zeros((len(teams), max(tree.arrivals, 2)))
        exact[: len(known), :2] = known
        best[: len(known)], error[: len(known)] = late_of(teams, needs, j, exact, outside)[: len(known)], 0.0
        return np.concatenate([best, error])

    def _given(self, tree: PointTree, times: Times, num_known: int, outside: float) -> tuple[Vector, Vector]:
        """[T] P(late) given a set, and the chance that a truck of each team of one or two is there."""
        found = tree.arrived_by_target(times, tree.arrived(times, tree.arrivals))
        return late_of(self.teams, self.needs, tree.point, found, outside), found[:num_known, 0]

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

    def _estimate(
        self, late: Floats, pairs: Floats, known: Vector, powers: tuple[Floats, Floats], weights: Vector
    ) -> tuple[Vector, Vector]:
        """[T] the mean of P(late) [set, T] over the sets, given what is known of pairs and of V; and its error."""
        mean, num_sets = weights @ late, len(weights)
        errors = np.zeros(late.shape[1])
        for size in range(3, self.teams.max_size + 1):
            part = self.teams.of_size(size)
            of_team = self._pairs_of[part]
            of_team = of_team[:, (of_team >= 0).all(axis=0)]
            if self._coupled:  # single trucks, too
                of_team = np.concatenate([of_team, 1 + self.teams.stations[part, :size]], axis=1)
            x = np.concatenate([pairs[:, of_team], powers[0][:, part]], axis=2)
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
