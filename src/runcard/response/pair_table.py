"""P(late) and mean minutes of teams of up to two trucks that meet each shared link together with some chance.

Each link that both trucks drive over is met together with chance q, else apart. With φ and ψ the transforms of the time
on a link of a truck by itself and of both together, the transform of what the shared links take from the two trucks is

    G(ω1, ω2) = Π_l { q ψ_l(ω1 + ω2) + (1-q) φ_l(ω1) φ_l(ω2) },

and that of their own parts is a product, so that with the transform κ of "by T", half of the mass at T counted in,

    P(both by T) = F^(-2) Σ_{f1, f2} a1(f1) κ(f1) G(f1, f2) a2(f2) κ(f2):

one plane G for each junction, shared by all pairs of stations that meet there, and a small matrix product. Masses are
weighted with e^(-θk/F) in each direction, and F is twice the number of steps: what comes round again has a time of more
than 2T, and counts e^(-θ) of itself. The plane is coarse; what single trucks do is known better (`lattice_table.py`),
and the chance of both is corrected by what the plane says of each. If neither truck has a part of its own, a mass q^s
of the plane lies on its diagonal, where half of a half would be counted; that is set right.

**Means.** E min(R1, R2) = (E R1 + E R2 - E |R1 - R2|) / 2, and in the difference of two arrivals what is met together
cancels: its transform is a1(ω) conj a2(ω) Π_l { q + (1-q) |φ_l(ω)|² }.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.fft import fft, irfft, next_fast_len, rfft

from runcard.response.lattice import Transforms, extrapolated, masses_of
from runcard.response.lattice_table import MEAN_TOLERANCE, LatticeTable, each_point, refined, within
from runcard.response.laws import DrivingLaws, Law, Vector, driving_laws, turnout_law
from runcard.response.tree_kernels import late_of_teams, multiply_links

FIRST_STEPS = 24
MOST_STEPS = FIRST_STEPS << 6
TOLERANCE = 2e-5
"""Of two extrapolations by fourth powers; the last one is then off by about a fiftieth of that."""
THETA = 12.0


@dataclass(frozen=True)
class _Plane:
    """The transforms of all times on a lattice of n steps to a horizon, for F frequencies in each of two directions."""

    length: int
    alone: Transforms
    """[link, frequency] of a link on which a truck is alone."""
    apart: tuple[Vector, Vector]
    together: tuple[Vector, Vector]
    """[link, frequency] of one on which there are two, as real and imaginary parts; the latter for the sum of both
    directions, and so for half as many frequencies again."""
    once: Transforms
    """[link, frequency] of one that is met together, in one direction."""
    start: Transforms
    start_together: Transforms
    until: Transforms
    """[frequency] κ / F."""
    at_end: Transforms
    """[frequency] what gives the mass at T."""

    def chance(self, transform: Transforms) -> float:
        """P(by T) of a time with this transform."""
        return float((transform * self.until).sum().real)


@dataclass(frozen=True)
class PairTable:
    """Teams of up to two trucks, for links that are met together with a chance between 0 and 1."""

    table: LatticeTable

    @cached_property
    def _laws(self) -> DrivingLaws:
        return driving_laws(self.table.city.driving)

    @property
    def _chance(self) -> float:
        """That of meeting a link together."""
        chance = self._laws.together_chance
        return self.table.city.shared_delay if chance is None else chance

    def late(self) -> NDArray[np.float64]:
        """[team, demand point] P(late) at the target of each demand point; inf where a team is too large."""
        needs = self.table.needs
        found, alone = np.empty((len(self.table.teams), len(needs.targets))), 1.0 - self.table.late_alone()
        for target in np.unique(needs.targets):
            points = np.flatnonzero(needs.targets == target)

            def at(num_steps: int, points: NDArray[np.int64], target: float = float(target)) -> NDArray[np.float64]:
                plane = self._plane(target, num_steps)
                return each_point(points, len(found), lambda j: self._late_at(plane, alone[:, j], j))

            found[:, points] = np.clip(refined(at, points, _settled, FIRST_STEPS, MOST_STEPS), 0.0, 1.0)
        found[self.table.too_large] = np.inf
        return found

    def _plane(self, horizon: float, num_steps: int) -> _Plane:
        """All times on a lattice."""
        table, laws, turnout = self.table, self._laws, self.table.city.turnout
        step, length = horizon / num_steps, 2 * int(next_fast_len(num_steps + 1))
        weights = np.exp(-THETA / length * np.arange(num_steps + 1))

        def transforms(law: Law, means: Vector, directions: int = 1) -> Transforms:
            found: Transforms = fft(masses_of(law, means, step, num_steps) * weights**directions, length, axis=1)
            return found

        def parts(found: Transforms) -> tuple[Vector, Vector]:
            return np.ascontiguousarray(found.real), np.ascontiguousarray(found.imag)

        minutes = table.roads.minutes[table.used[1]]
        alone, together = transforms(laws.alone, minutes), transforms(laws.together, minutes, 2)
        apart, once = (alone, alone) if laws.together_chance is None else (
            transforms(laws.apart, minutes), transforms(laws.together, minutes)
        )  # fmt: skip
        start, start_together = np.ones(length, np.complex128), np.ones(length, np.complex128)
        if turnout.mean_minutes > 0.0:
            mean = np.array([turnout.mean_minutes])
            start, start_together = (transforms(turnout_law(turnout), mean, directions)[0] for directions in (1, 2))
        counted, last = 1.0 / weights, np.zeros(num_steps + 1)
        counted[-1], last[-1] = 0.5 / weights[-1], 1.0 / weights[-1]
        until, at_end = (self._sums(array, length) for array in (counted, last))
        half = length // 2 + 1
        again = np.concatenate([together, together[:, :half]], axis=1)
        return _Plane(
            length, alone, parts(apart), parts(again), once, start, np.concatenate([start_together, start_together]),
            until, at_end,
        )  # fmt: skip

    @staticmethod
    def _sums(counted: Vector, length: int) -> Transforms:
        """[frequency] what sums masses times `counted`, given their transform."""
        found: Transforms = (np.conj(fft(counted, length)) / length).astype(np.complex128)
        return found

    def _late_at(self, plane: _Plane, alone: Vector, j: int) -> NDArray[np.float64]:
        """[team] P(late) at one demand point, given P(by T) of a truck of each station and, last, from outside."""
        table = self.table
        road = _Road(table, plane, j, self._chance)
        here = np.array([plane.chance(road.own(i, 0)) for i in range(len(road.num_links))])
        kept = alone[:-1] / np.maximum(here, 1e-300)
        both = road.both(here) * np.multiply.outer(kept, kept)
        np.fill_diagonal(both, np.diagonal(both) / np.maximum(kept, 1e-300))  # two of one station fail together
        found = np.zeros((len(table.teams), 2))
        pairs = table.teams if table.teams.shape[1] == 2 else np.pad(table.teams, ((0, 0), (0, 1)), constant_values=-1)
        one, two = (table.sizes == 1), (table.sizes == 2)
        found[one, 0] = alone[pairs[one, 0]]
        found[two, 1] = both[pairs[two, 0], pairs[two, 1]]
        found[two, 0] = alone[pairs[two, 0]] + alone[pairs[two, 1]] - found[two, 1]
        late, needs = np.empty(len(table.teams)), table.needs
        late_of_teams(table.sizes, int(needs.trucks[j]), int(needs.arrivals[j]), found, float(alone[-1]), late)
        return late

    def means(self) -> NDArray[np.float64]:
        """[team, demand point] the mean minutes until the first truck; inf where a team is too large."""
        table = self.table
        horizon, longest = table.mean_horizon
        points = np.arange(len(table.needs.targets))

        def at(num_steps: int, points: NDArray[np.int64]) -> NDArray[np.float64]:
            line = self._line(horizon, num_steps)
            return each_point(points, len(table.teams), lambda j: self._means_at(line, j))

        found = refined(at, points, within(MEAN_TOLERANCE * longest))
        found[table.too_large] = np.inf
        return found

    def _line(self, horizon: float, num_steps: int) -> "_Line":
        """The transforms of all times on a lattice, for differences."""
        table, laws, turnout = self.table, self._laws, self.table.city.turnout
        step, length = horizon / num_steps, 2 * int(next_fast_len(num_steps + 1))

        def transforms(law: Law, means: Vector) -> Transforms:
            found: Transforms = rfft(masses_of(law, means, step, num_steps), length, axis=1)
            return found

        minutes = table.roads.minutes[table.used[1]]
        start = np.ones(length // 2 + 1, np.complex128)
        if turnout.mean_minutes > 0.0:
            start = transforms(turnout_law(turnout), np.array([turnout.mean_minutes]))[0]
        num_outside, mean = table.outside
        outside = transforms(laws.alone, np.array([mean]))[0] ** num_outside * start
        cancels = self._chance + (1.0 - self._chance) * np.abs(transforms(laws.apart, minutes)) ** 2
        away = step * np.minimum(np.arange(length), length - np.arange(length))
        return _Line(length, transforms(laws.alone, minutes), cancels.astype(np.complex128), start, outside, away)

    def _means_at(self, line: "_Line", j: int) -> NDArray[np.float64]:
        """[team] mean minutes to one demand point."""
        table, turnout = self.table, self.table.city.turnout
        numbered, num_links = table.used[0][j], table.routes.num_links[:, j].tolist()
        shared, needed = table.routes.shared_links[:, :, j], int(table.needs.trucks[j])
        num_outside, mean_outside = table.outside
        outside_minutes = num_outside * mean_outside + turnout.mean_minutes

        def product(i: int, low: int, high: int, of_link: Transforms, begin: Transforms) -> Transforms:
            found = begin.copy()
            multiply_links(numbered[i], num_links[i], low, high, of_link, found)
            return found

        def first_of(one: float, other: float, difference: Transforms) -> float:
            return 0.5 * (one + other - float(irfft(difference, line.length) @ line.away))

        minutes = table.routes.drive_minutes[:, j] + turnout.mean_minutes
        nothing, found = np.ones_like(line.start), np.zeros(len(table.teams))
        for t, team in enumerate(table.teams.tolist()):
            members = [i for i in team if i >= 0]
            if turnout.mean_minutes == 0.0 and any(num_links[i] == 0 for i in members):
                continue  # a truck is there
            if needed == 1 and len(members) <= 1:
                found[t] = minutes[members[0]] if members else outside_minutes
            elif not members:
                found[t] = first_of(outside_minutes, outside_minutes, np.abs(line.outside) ** 2 + 0j)
            elif len(members) == 1 and needed == 2:
                own = product(members[0], 0, num_links[members[0]], line.alone, line.start)
                found[t] = first_of(minutes[members[0]], outside_minutes, own * np.conj(line.outside))
            elif len(members) == 2 and needed == 2:
                i, e = members
                depth = num_links[i] if i == e else int(shared[i, e])
                begin = nothing if i == e and turnout.shared else line.start
                apart = [product(one, depth, num_links[one], line.alone, begin) for one in (i, e)]
                difference = product(i, 0, depth, line.cancels, apart[0] * np.conj(apart[1]))
                found[t] = first_of(minutes[i], minutes[e], difference)
        return found


@dataclass(frozen=True)
class _Line:
    """The transforms of all times on a lattice, without weights, long enough for differences of both signs."""

    length: int
    alone: Transforms
    cancels: Transforms
    """[link, frequency] of the difference that a link which both drive over makes."""
    start: Transforms
    outside: Transforms
    away: Vector
    """[step] minutes from 0."""


class _Road:
    """The routes to one demand point on a plane."""

    def __init__(self, table: LatticeTable, plane: _Plane, j: int, chance: float) -> None:
        self.table, self.plane, self.chance = table, plane, chance
        self.routes, self.num_links = table.used[0][j], table.routes.num_links[:, j].tolist()
        self.shared = table.routes.shared_links[:, :, j]
        self._own: dict[tuple[int, int], Transforms] = {}

    def own(self, i: int, depth: int) -> Transforms:
        """The transform of the part of a route before its last `depth` links, with what comes before the first."""
        if (i, depth) not in self._own:
            product, num = self.plane.start.copy(), self.num_links[i]
            multiply_links(self.routes[i], num, depth, num, self.plane.alone, product)
            self._own[i, depth] = product
        return self._own[i, depth]

    def both(self, alone: Vector) -> NDArray[np.float64]:
        """[station, station] P(both trucks by T); on the diagonal of two trucks of one station, if it has two."""
        num, shape = len(self.num_links), (self.plane.length, self.plane.length // 2 + 1)
        both = np.multiply.outer(alone, alone)
        grids: dict[tuple[int, int], tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        for i in range(num):
            several = self.table.city.stations[i].trucks > 1
            depths = {int(self.shared[i, e]) for e in range(num) if e != i}
            if several:
                depths.add(self.num_links[i])
            reached, grid = 0, (np.ones(shape), np.zeros(shape))
            for depth in sorted(depths - {0}):
                members = np.flatnonzero(self.shared[i] >= depth)
                node = int(members[0]), depth
                if node not in grids:
                    grid = grid[0].copy(), grid[1].copy()
                    _multiply_plane(
                        self.routes[i], self.num_links[i], reached, depth, self.chance, *self.plane.apart,
                        *self.plane.together, *grid,
                    )  # fmt: skip
                    grids[node] = grid
                    self._meet(depth, members.tolist(), grid, both)
                reached, grid = depth, grids[node]
            if several:
                both[i, i] = self._same(i, alone, grid)
        return both

    def _meet(
        self, depth: int, members: list[int], grid: tuple[NDArray[np.float64], NDArray[np.float64]],
        both: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Fill in P(both by T) of the stations whose routes meet at a junction."""
        late = [i for i in members if any(self.shared[i, e] == depth for e in members if e != i)]
        if not late:
            return
        own = np.array([self.own(i, depth) for i in late]) * self.plane.until
        half = grid[0].shape[1]
        twice = np.full(half, 2.0)
        twice[[0, -1]] = 1.0
        parts = np.concatenate([own.real, own.imag])
        with_real, with_imaginary = np.split(parts @ grid[0], 2), np.split(parts @ grid[1], 2)
        real, imaginary = with_real[0] - with_imaginary[1], with_imaginary[0] + with_real[1]
        found = real @ (own.real[:, :half] * twice).T - imaginary @ (own.imag[:, :half] * twice).T
        for a, i in enumerate(late):
            for b, e in enumerate(late):
                if i != e and self.shared[i, e] == depth:
                    both[i, e] = found[a, b]
                    if self.num_links[i] == self.num_links[e] == depth and self.table.city.turnout.mean_minutes == 0.0:
                        both[i, e] += self._on_diagonal(i, np.ones_like(self.plane.start))

    def _same(self, i: int, alone: Vector, grid: tuple[NDArray[np.float64], NDArray[np.float64]]) -> float:
        """P(both by T) of two trucks of one station."""
        turnout, plane = self.table.city.turnout, self.plane
        ready = turnout.mean_minutes > 0.0
        if self.num_links[i] == 0:
            return float(alone[i] ** 2 if ready and not turnout.shared else alone[i])
        own = plane.until * (plane.start if ready and not turnout.shared else 1.0)
        together = plane.start_together if ready and turnout.shared else np.ones_like(plane.start_together)
        found = float(_sum_plane(own, together, *grid))
        if ready and not turnout.shared:
            return found
        return found + self._on_diagonal(i, plane.start if ready else np.ones_like(plane.start))

    def _on_diagonal(self, i: int, begin: Transforms) -> float:
        """What half of a half leaves out of the mass at T of trucks that meet every link of a route together."""
        product, num = begin.copy(), self.num_links[i]
        multiply_links(self.routes[i], num, 0, num, self.plane.once, product)
        mass = float((product * self.plane.at_end).sum().real)
        return 0.25 * float(self.chance**num) * mass


def _settled(tried: list[NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Which demand points have settled (see `refined`)."""
    if len(tried) < 3:
        return np.zeros(tried[0].shape[1], np.bool_)
    before, now = extrapolated(tried[-3], tried[-2], 4), extrapolated(tried[-2], tried[-1], 4)
    return np.asarray((np.abs(now - before) <= TOLERANCE).all(axis=0))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _multiply_plane(
    route: NDArray[np.int32], num_links: int, low: int, high: int, chance: float, apart: Vector,
    apart_imaginary: Vector, together: Vector, together_imaginary: Vector, real: Vector, imaginary: Vector,
) -> None:  # fmt: skip
    """Multiply G by the factors of the links at depths low+1..high of a route."""
    for first in range(real.shape[0]):
        row, other = real[first], imaginary[first]  # which stay in the cache while the links pass by
        for depth in range(low + 1, high + 1):
            link = route[num_links - depth]
            a, b, c, d = apart[link], apart_imaginary[link], together[link], together_imaginary[link]
            x, y = (1.0 - chance) * a[first], (1.0 - chance) * b[first]
            for second in range(real.shape[1]):
                re = chance * c[first + second] + x * a[second] - y * b[second]
                im = chance * d[first + second] + x * b[second] + y * a[second]
                old = row[second]
                row[second] = old * re - other[second] * im
                other[second] = old * im + other[second] * re


@njit(cache=True, nogil=True)
def _sum_plane(own: Transforms, together: Transforms, real: Vector, imaginary: Vector) -> float:
    """Σ own(f1) own(f2) together(f1 + f2) G(f1, f2) over all frequencies, from half of them."""
    total, last = 0.0, real.shape[1] - 1
    for first in range(real.shape[0]):
        for second in range(real.shape[1]):
            term = (
                own[first]
                * own[second]
                * together[first + second]
                * complex(real[first, second], imaginary[first, second])
            )
            total += term.real * (1.0 if second in (0, last) else 2.0)
    return total
