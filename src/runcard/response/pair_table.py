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

from dataclasses import dataclass, field, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.fft import fft, irfft, next_fast_len, rfft

from runcard.response.lattice import COARSE_STEPS, Transforms
from runcard.response.lattice_table import MEAN_TOLERANCE, LatticeTable, each_point, refined, within
from runcard.response.laws import Vector, turnout_law
from runcard.response.tree_kernels import late_of_teams, multiply_links, own_products

FIRST_STEPS = 2 * COARSE_STEPS
MOST_STEPS = FIRST_STEPS << 6
TOLERANCE = 1.2e-4
"""Of two extrapolations by squares; the last one, by fourth powers, is off by about a fiftieth if laws are smooth."""
UNSURE = 0.01
"""A truck is not sure if it is there with more than this chance, and not there with more, too."""
STEPS_A_DEVIATION = 3.0
LEAST_CHANCE = 1e-6
"""A chance of less is not corrected: on the plane it may be rounding."""
FEW_STEPS = 96
"""With fewer, threads are in each other's way."""
THETA = 12.0


Grid = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The real and the imaginary part of a plane [frequency, half of the frequencies]."""


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
    rooms: "list[_Room]" = field(default_factory=list)
    """Room that no thread is using."""


@dataclass(frozen=True)
class PairTable:
    """Teams of up to two trucks, for links that are met together with a chance between 0 and 1."""

    table: LatticeTable

    @property
    def _chance(self) -> float:
        """That of meeting a link together."""
        chance = self.table.laws.together_chance
        return self.table.city.shared_delay if chance is None else chance

    def late(self) -> NDArray[np.float64]:
        """[team, demand point] P(late) at the target of each demand point; inf where a team is too large."""
        needs = self.table.needs
        found, num_stations = np.empty((len(self.table.teams), len(needs.targets))), len(self.table.city.stations)
        alone = np.empty((num_stations + 1, len(needs.targets)))
        for target in np.unique(needs.targets):
            points = np.flatnonzero(needs.targets == target)
            alone[:, points] = 1.0 - self.table.late_alone(float(target), points)

            def at(num_steps: int, points: NDArray[np.int64], target: float = float(target)) -> NDArray[np.float64]:
                plane = self._plane(target, num_steps)
                threads = None if num_steps >= FEW_STEPS else 1
                return each_point(points, len(found), lambda j: self._late_at(plane, alone[:, j], j), threads)

            first = self._first_steps(float(target), alone[:-1, points], points)
            found[:, points] = refined(at, points, within(TOLERANCE), first, MOST_STEPS)
            self.table.forget()
        found = self._bounded(found, alone)
        found[self.table.too_large] = np.inf
        return found

    def _first_steps(self, target: float, alone: NDArray[np.float64], points: NDArray[np.int64]) -> int:
        """Steps of which the time of every truck that is not sure takes several, or coarse planes agree by chance."""
        table, turnout = self.table, self.table.city.turnout
        numbered, used = table.used
        squares = (np.append(table.roads.minutes[used], 0.0)[numbered[points]] ** 2).sum(axis=2).T
        ready = turnout_law(turnout).deviation(np.array([turnout.mean_minutes]))
        deviations = np.hypot(table.laws.alone.deviation(np.ones(1)) * np.sqrt(squares), ready)
        unsure = deviations[(alone > UNSURE) & (alone < 1.0 - UNSURE) & (deviations > 0.0)]
        steps = FIRST_STEPS
        while steps < STEPS_A_DEVIATION * target / unsure.min(initial=target) and 4 * steps < MOST_STEPS:
            steps *= 2
        return steps

    def _bounded(self, late: NDArray[np.float64], alone: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(late) as it can be, given P(by T) of single trucks: not of lattices, which would seem to settle there."""
        table, two = self.table, np.flatnonzero(self.table.sizes == 2)
        one, other = (alone[table.teams[two, place]] for place in (0, 1)) if len(two) else (alone[:0], alone[:0])
        low, high = np.minimum(one, other), np.maximum(one, other)
        first = table.needs.arrivals == 1
        least = np.where(first, np.maximum(0.0, 1.0 - one - other), 1.0 - low)
        most = np.where(first, 1.0 - high, np.minimum(1.0, 2.0 - one - other))
        for place, station in enumerate(table.teams[two, 0].tolist()):
            if station == table.teams[two[place], 1]:  # on another road, and later
                others = [j for j in range(late.shape[1]) if (j, station) in table.two_roads]
                least[place, others] *= ~first[others]
                most[place, others] = np.where(first[others], most[place, others], 1.0)
        late = np.clip(late, 0.0, 1.0)
        pairs = table.needs.trucks == 2
        late[np.ix_(two, pairs)] = np.clip(late[two], least, most)[:, pairs]
        return late

    def _plane(self, horizon: float, num_steps: int) -> _Plane:
        """All times on a lattice."""
        table, laws = self.table, self.table.laws
        length = 2 * int(next_fast_len(num_steps + 1))
        weights = np.exp(-THETA / length * np.arange(num_steps + 1))

        def transforms(masses: NDArray[np.float64], directions: int = 1) -> Transforms:
            found: Transforms = fft(masses * weights**directions, length, axis=-1)
            return found

        def parts(found: Transforms) -> tuple[Vector, Vector]:
            return np.ascontiguousarray(found.real), np.ascontiguousarray(found.imag)

        of_alone, _, ready = table.masses(laws.alone, horizon, num_steps)
        of_together, of_apart = of_alone, of_alone
        if laws.together_chance is not None:
            of_together, of_apart = (table.masses(law, horizon, num_steps)[0] for law in (laws.together, laws.apart))
        alone, together, once = transforms(of_alone), transforms(of_together, 2), transforms(of_together)
        apart, start, start_together = transforms(of_apart), transforms(ready), transforms(ready, 2)
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
        table, needs = self.table, self.table.needs
        try:
            room = plane.rooms.pop()
        except IndexError:
            room = _Room(len(table.city.stations), plane.length)
        road = _Road(table, plane, j, self._chance, room)
        here = road.alone()
        own = alone[:-1]
        kept = np.where(here > LEAST_CHANCE, own / np.maximum(here, LEAST_CHANCE), 1.0)
        both = road.both(here) if needs.trucks[j] > 1 else np.multiply.outer(here, here)
        plane.rooms.append(room)
        # Two of one station come round again together.
        both *= np.where(np.eye(len(kept), dtype=np.bool_), kept, np.multiply.outer(kept, kept))
        found = np.zeros((len(table.teams), 2))
        pairs = table.teams if table.teams.shape[1] == 2 else np.pad(table.teams, ((0, 0), (0, 1)), constant_values=-1)
        one, two = (table.sizes == 1), (table.sizes == 2)
        found[one, 0] = alone[pairs[one, 0]]
        found[two, 1] = both[pairs[two, 0], pairs[two, 1]]
        second = alone[pairs[two, 1]]
        for t, (i, e) in enumerate(pairs[two].tolist()):
            if i == e and (j, i) in table.two_roads:
                second[t] = road.second_alone(i) * kept[i]
        found[two, 0] = alone[pairs[two, 0]] + second - found[two, 1]
        late = np.empty(len(table.teams))
        late_of_teams(table.sizes, int(needs.trucks[j]), int(needs.arrivals[j]), found, float(alone[-1]), late)
        return late

    def means(self) -> NDArray[np.float64]:
        """[team, demand point] the mean minutes until the first truck; inf where a team is too large."""
        table = self.table
        few, found = table.sizes < 2, np.full((len(table.teams), len(table.needs.targets)), np.inf)
        found[few] = replace(table, teams=table.teams[few]).means()  # nothing is shared
        for horizon, teams in table.horizons():
            wanted = teams & ~few[:, None] & ~table.too_large
            points = np.flatnonzero(wanted.any(axis=0))
            if not len(points):
                continue

            def at(num_steps: int, points: NDArray[np.int64], horizon: float = horizon) -> NDArray[np.float64]:
                line = self._line(horizon, num_steps)
                return each_point(points, len(table.teams), lambda j: self._means_at(line, j))

            settled = within(MEAN_TOLERANCE * horizon, wanted)
            found[:, points] = np.where(wanted[:, points], refined(at, points, settled), found[:, points])
            table.forget()
        return found

    def _line(self, horizon: float, num_steps: int) -> "_Line":
        """The transforms of all times on a lattice, for differences."""
        table, laws = self.table, self.table.laws
        step, length = horizon / num_steps, 2 * int(next_fast_len(num_steps + 1))

        def transforms(masses: NDArray[np.float64]) -> Transforms:
            found: Transforms = rfft(masses, length, axis=-1)
            return found

        of_alone, _, ready = table.masses(laws.alone, horizon, num_steps)
        of_apart = table.masses(laws.apart, horizon, num_steps)[0]
        for masses in (of_alone, of_apart):  # what lies beyond the horizon is put there, and its excess added later
            masses[:, -1] += 1.0 - masses.sum(axis=1)
        alone, start = transforms(of_alone), transforms(ready)
        end, minutes = np.array([horizon]), table.roads.minutes[table.used[1]]
        beyond = np.array([law.excess(end, minutes)[0] for law in (laws.alone, laws.apart)])
        cancels = self._chance + (1.0 - self._chance) * np.abs(transforms(of_apart)) ** 2
        away = step * np.minimum(np.arange(length), length - np.arange(length))
        beyond[1] *= 1.0 - self._chance
        return _Line(length, alone, cancels.astype(np.complex128), start, away, beyond)

    def _means_at(self, line: "_Line", j: int) -> NDArray[np.float64]:
        """[team] mean minutes to one demand point, of teams of two; 0 for the others."""
        table, found = self.table, np.zeros(len(self.table.teams))
        num_links = table.routes.num_links[:, j].tolist()
        for t in np.flatnonzero(table.sizes == 2).tolist() if table.needs.trucks[j] == 2 else ():
            i, e = table.teams[t].tolist()
            if table.city.turnout.mean_minutes == 0.0 and 0 in (num_links[i], num_links[e]):
                continue  # a truck is there
            if i == e and (j, i) in table.two_roads:
                first, second, both = table.two_roads[j, i]
                found[t] = self._first_minutes(line, first, second, both, same=True)
                continue
            depth = num_links[i] if i == e else int(table.routes.shared_links[i, e, j])
            one, other = (table.used[0][j, a, : num_links[a]] for a in (i, e))
            first, second, both = one[: len(one) - depth], other[: len(other) - depth], one[len(one) - depth :]
            found[t] = self._first_minutes(line, first, second, both, same=i == e)
        return found

    def _first_minutes(
        self, line: "_Line", first: NDArray[np.int32], second: NDArray[np.int32], both: NDArray[np.int32], *, same: bool
    ) -> float:
        """The mean minutes until the first of two trucks, given the links of each alone and of both; of one station?"""
        table, turnout = self.table, self.table.city.turnout
        minutes, total, parts = table.roads.minutes[table.used[1]], 0.0, []
        for route in (first, second):
            product = (np.ones_like(line.start) if same and turnout.shared else line.start).copy()
            multiply_links(route, len(route), 0, len(route), line.alone, product)
            parts.append(product)
            total += float(minutes[route].sum() + minutes[both].sum()) + turnout.mean_minutes
            total -= float(line.beyond[0, route].sum() + line.beyond[1, both].sum())
        of_difference = parts[0] * np.conj(parts[1])
        multiply_links(both, len(both), 0, len(both), line.cancels, of_difference)
        return max(0.0, 0.5 * (total - float((irfft(of_difference, line.length) * line.away).sum())))


@dataclass(frozen=True)
class _Line:
    """The transforms of all times on a lattice, without weights, long enough for differences of both signs."""

    length: int
    alone: Transforms
    cancels: Transforms
    """[link, frequency] of the difference that a link which both drive over makes."""
    start: Transforms
    away: Vector
    """[step] minutes from 0."""
    beyond: NDArray[np.float64]
    """[2, link] the expected excess over the horizon of a link of one truck, and of one of two, as far as apart."""


class _Road:
    """The routes to one demand point on a plane."""

    def __init__(self, table: LatticeTable, plane: _Plane, j: int, chance: float, room: "_Room") -> None:
        self.table, self.plane, self.point, self.chance, self.room = table, plane, j, chance, room
        num_links = np.ascontiguousarray(table.routes.num_links[:, j])
        self.routes, self.num_links = table.used[0][j], num_links.tolist()
        self.shared = np.ascontiguousarray(table.routes.shared_links[:, :, j])
        # The parts of routes before every junction, and whole routes, with what comes before the first link
        self._rows = np.full((len(num_links), int(self.shared.max()) + 1), -1, np.int32)
        np.put_along_axis(self._rows, self.shared.astype(np.int64), 0, axis=1)
        self._rows[:, 0] = 0
        wanted = self._rows == 0
        self._rows[wanted] = np.arange(wanted.sum())
        places = np.empty(wanted.sum(), np.int32)
        products = np.empty((len(places), plane.length), np.complex128)
        own_products(self.routes, num_links, self._rows, plane.start, plane.alone, places, products)
        self._own = np.empty_like(products)
        self._own[places] = products * plane.until

    def alone(self) -> Vector:
        """[station] P(by T) of a single truck, on the plane."""
        found: Vector = self._own[self._rows[:, 0]].sum(axis=1).real
        return found

    def both(self, alone: Vector) -> NDArray[np.float64]:
        """[station, station] P(both trucks by T); on the diagonal of two trucks of one station, if it has two."""
        num = len(self.num_links)
        both = np.multiply.outer(alone, alone)
        grids: dict[tuple[int, int], Grid] = {}
        for i in range(num):
            several = self.table.city.stations[i].trucks > 1
            depths = {int(self.shared[i, e]) for e in range(num) if e != i}
            if several:
                depths.add(self.num_links[i])
            reached, grid = 0, self.room.grid(0)
            for depth in sorted(depths - {0}):
                members = np.flatnonzero(self.shared[i] >= depth)
                node = int(members[0]), depth
                if node not in grids:
                    grids[node] = self.room.grid(len(grids) + 1)
                    self._meet(i, reached, depth, members, grid, grids[node], both)
                reached, grid = depth, grids[node]
            if several and (self.point, i) in self.table.two_roads:
                both[i, i] = self._on_two_roads(i)
            elif several:
                both[i, i] = self._same(i, alone, grid)
        return both

    def _meet(
        self, i: int, reached: int, depth: int, members: NDArray[np.int64], before: Grid, grid: Grid,
        both: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Fill in the plane of a junction, from that of one before, and P(both by T) of stations that meet there."""
        _meet_plane(
            self.routes[i], self.num_links[i], reached, depth, self.chance, *self.plane.apart, *self.plane.together,
            *before, *grid, members, self.shared, self._rows, self._own, *self.room.sums, both,
        )  # fmt: skip
        if self.table.city.turnout.mean_minutes == 0.0:
            at_node = [a for a in members.tolist() if self.num_links[a] == depth]
            if len(at_node) > 1:
                more = self._on_diagonal(i, np.ones_like(self.plane.start))
                for first in at_node:
                    for second in at_node:
                        both[first, second] += more if first != second else 0.0

    def _same(self, i: int, alone: Vector, grid: Grid) -> float:
        """P(both by T) of two trucks of one station."""
        turnout, plane = self.table.city.turnout, self.plane
        ready = turnout.mean_minutes > 0.0
        if self.num_links[i] == 0:
            return float(alone[i] ** 2 if ready and not turnout.shared else alone[i])
        own = plane.until * (plane.start if ready and not turnout.shared else 1.0)
        together = plane.start_together if ready and turnout.shared else np.ones_like(plane.start_together)
        found = float(_sum_plane(own, own, together, *grid))
        if ready and not turnout.shared:
            return found
        return found + self._on_diagonal(i, plane.start if ready else np.ones_like(plane.start))

    def second_alone(self, i: int) -> float:
        """P(by T) of the second truck of a station that takes another road."""
        _, second, shared = self.table.two_roads[self.point, i]
        product = self.plane.start * self.plane.until
        for route in (second, shared):
            multiply_links(route, len(route), 0, len(route), self.plane.alone, product)
        return float(product.sum().real)

    def _on_two_roads(self, i: int) -> float:
        """P(both by T) of two trucks of one station on different roads."""
        plane, turnout = self.plane, self.table.city.turnout
        first, second, shared = self.table.two_roads[self.point, i]
        together = plane.start_together if turnout.shared else np.ones_like(plane.start_together)
        own = np.tile(np.ones_like(plane.start) if turnout.shared else plane.start, (2, 1)) * plane.until
        for route, product in zip((first, second), own, strict=True):
            multiply_links(route, len(route), 0, len(route), plane.alone, product)
        grid = _new_grid(plane.length)
        grid[0][:], grid[1][:] = 1.0, 0.0
        for first_frequency in range(plane.length):
            _extend_row(
                first_frequency, shared, len(shared), 0, len(shared), self.chance, *plane.apart, *plane.together,
                grid[0][first_frequency], grid[1][first_frequency],
            )  # fmt: skip
        found = float(_sum_plane(own[0], own[1], together, *grid))
        if len(first) or len(second) or (turnout.mean_minutes > 0.0 and not turnout.shared):
            return found
        return found + self._on_diagonal(i, plane.start)

    def _on_diagonal(self, i: int, begin: Transforms) -> float:
        """What half of a half leaves out of the mass at T of trucks that meet every link of a route together."""
        product, num = begin.copy(), self.num_links[i]
        multiply_links(self.routes[i], num, 0, num, self.plane.once, product)
        mass = float((product * self.plane.at_end).sum().real)
        return 0.25 * float(self.chance**num) * mass


def _new_grid(length: int) -> Grid:
    """Room for a plane."""
    return np.empty((length, length // 2 + 1)), np.empty((length, length // 2 + 1))


class _Room:
    """Room for one thread: planes, of which the first is 1 everywhere, and sums of each station."""

    def __init__(self, num_stations: int, length: int) -> None:
        one, half = _new_grid(length), length // 2 + 1
        one[0][:], one[1][:] = 1.0, 0.0
        self.grids = [one]
        self.sums: Grid = np.empty((num_stations, half)), np.empty((num_stations, half))

    def grid(self, number: int) -> Grid:
        """The plane of that number; there are as many as are asked for."""
        while len(self.grids) <= number:
            self.grids.append(_new_grid(2 * (self.grids[0][0].shape[1] - 1)))
        return self.grids[number]


@njit(cache=True, nogil=True, inline="always", fastmath={"reassoc", "contract", "nsz"})
def _extend_row(
    first: int, route: NDArray[np.int32], num_links: int, low: int, high: int, chance: float, apart: Vector,
    apart_imaginary: Vector, together: Vector, together_imaginary: Vector, row: Vector, other: Vector,
) -> None:  # fmt: skip
    """Multiply a row of G by the factors of the links at depths low+1..high of a route."""
    for depth in range(low + 1, high + 1):
        link = route[num_links - depth]
        a, b, c, d = apart[link], apart_imaginary[link], together[link], together_imaginary[link]
        x, y = (1.0 - chance) * a[first], (1.0 - chance) * b[first]
        for second in range(len(row)):
            re = chance * c[first + second] + x * a[second] - y * b[second]
            im = chance * d[first + second] + x * b[second] + y * a[second]
            old = row[second]
            row[second] = old * re - other[second] * im
            other[second] = old * im + other[second] * re


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _meet_plane(
    route: NDArray[np.int32], num_links: int, low: int, high: int, chance: float, apart: Vector,
    apart_imaginary: Vector, together: Vector, together_imaginary: Vector, before: Vector, before_imaginary: Vector,
    real: Vector, imaginary: Vector, members: NDArray[np.int64], shared: NDArray[np.int32], rows: NDArray[np.int32],
    own: Transforms, summed: Vector, summed_imaginary: Vector, both: Vector,
) -> None:  # fmt: skip
    """Set G to the one before times the factors of links, and P(both by T) of the members that meet at depth `high`.

    own [row, f] has the parts before a depth, times κ. A row of G stays in the cache while all that passes by.
    """
    half = real.shape[1]
    meets = np.zeros(len(members), np.bool_)
    for a in range(len(members)):
        for b in range(len(members)):
            meets[a] = meets[a] or (a != b and shared[members[a], members[b]] == high)
        if meets[a]:
            summed[a, :half] = 0.0
            summed_imaginary[a, :half] = 0.0
    for first in range(real.shape[0]):
        row, other = real[first], imaginary[first]
        for second in range(half):
            row[second], other[second] = before[first, second], before_imaginary[first, second]
        _extend_row(
            first, route, num_links, low, high, chance, apart, apart_imaginary, together, together_imaginary, row, other
        )
        for a in range(len(members)):
            if meets[a]:
                at = own[rows[members[a], high], first]
                x, y, to, to_imaginary = at.real, at.imag, summed[a], summed_imaginary[a]
                for second in range(half):
                    to[second] += x * row[second] - y * other[second]
                    to_imaginary[second] += x * other[second] + y * row[second]
    for a in range(len(members)):
        for b in range(a):
            i, e = members[a], members[b]
            if shared[i, e] != high:
                continue
            total, of_b = 0.0, own[rows[e, high]]
            for second in range(half):
                part = summed[a, second] * of_b[second].real - summed_imaginary[a, second] * of_b[second].imag
                total += part if second in (0, half - 1) else 2.0 * part
            both[i, e] = both[e, i] = total


@njit(cache=True, nogil=True)
def _sum_plane(one: Transforms, two: Transforms, together: Transforms, real: Vector, imaginary: Vector) -> float:
    """Σ one(f1) two(f2) together(f1 + f2) G(f1, f2) over all frequencies, from half of them."""
    total, last = 0.0, real.shape[1] - 1
    for first in range(real.shape[0]):
        for second in range(real.shape[1]):
            term = (
                one[first]
                * two[second]
                * together[first + second]
                * complex(real[first, second], imaginary[first, second])
            )
            total += term.real * (1.0 if second in (0, last) else 2.0)
    return total
