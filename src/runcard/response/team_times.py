"""The chance that all trucks of a team are there by T, on one coarse lattice (`team_lattice.py`, `team_kernels.py`)."""

from dataclasses import dataclass, field
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from runcard.response import team_kernels as kernels
from runcard.response.lattice import Lattice
from runcard.response.lattice_table import LatticeTable
from runcard.response.laws import Vector, turnout_law
from runcard.response.team_lattice import (
    BEFORE,
    POINTS_OF_FOUR,
    POINTS_OF_THREE,
    Arrivals,
    Masses,
    Window,
    law_masses,
    parts,
)
from runcard.response.team_line import LineTimes
from runcard.response.team_tree import TeamTree, team_tree
from runcard.response.tree_kernels import own_products
from runcard.threads import available_threads

FINE_POINTS = 256
FINE_THETA = 12.0

Chances = tuple[Vector, Vector, Vector, Vector]
"""P(all by T) of teams of one to four leaves, by rank."""


@dataclass(frozen=True)
class TeamTimes:
    """The times of a city, for teams on coarse lattices."""

    table: LatticeTable
    _on_line: dict[tuple[float, int], LineTimes] = field(default_factory=dict)

    @cached_property
    def chance(self) -> float:
        """That of meeting a link together."""
        chance = self.table.laws.together_chance
        return float(self.table.city.shared_delay if chance is None else chance)

    @cached_property
    def _masses(self) -> tuple[Masses, Masses, Masses, Masses]:
        """Of the time on a link of a truck alone, of trucks apart and of trucks together; and of the turnout."""
        laws, turnout = self.table.laws, law_masses(turnout_law(self.table.city.turnout))
        alone = law_masses(laws.alone)
        if laws.together_chance is None:
            return alone, alone, alone, turnout
        return alone, law_masses(laws.apart), law_masses(laws.together), turnout

    @cached_property
    def trucks(self) -> NDArray[np.int64]:
        """[station] its trucks that take the same road."""
        several = self.table.city.driving.second_route == "same"
        return np.array([station.trucks if several else 1 for station in self.table.city.stations], np.int64)

    def on_line(self, target: float, num_steps: int) -> LineTimes:
        """All times on the lattice of one line of time."""
        if (target, num_steps) not in self._on_line:
            self._on_line[target, num_steps] = self._line_times(Lattice(target, num_steps))
        return self._on_line[target, num_steps]

    def _line_times(self, lattice: Lattice) -> LineTimes:
        """See `on_line`."""
        table, laws = self.table, self.table.laws
        times = table.times(lattice)
        together, apart = times.of_link, times.of_link
        if laws.together_chance is not None:
            together, apart = (
                lattice.transforms(table.masses(law, lattice.horizon, lattice.num_steps)[0])
                for law in (laws.together, laws.apart)
            )
        shared = table.city.turnout.shared
        return LineTimes(lattice, times.of_link, together, apart, times.start, self.chance, shared, times.outside)

    def forget(self) -> None:
        """Let go of all times up to the last target."""
        self._on_line.clear()
        self.table.forget()

    def tree(self, j: int, stations: NDArray[np.int64]) -> TeamTree:
        """The routes of some stations to a demand point."""
        table, turnout = self.table, self.table.city.turnout
        return team_tree(
            table.used[0][j], table.routes.num_links[:, j], table.routes.shared_links[:, :, j], self.trucks, stations,
            begin_together=turnout.shared and turnout.mean_minutes > 0.0,
        )  # fmt: skip

    def minutes(self, links: NDArray[np.int32]) -> Vector:
        """[link] the mean minutes of links."""
        return np.asarray(self.table.roads.minutes[self.table.used[1][links]], np.float64)

    def alone(self, window: Window, minutes: Vector) -> NDArray[np.complex128]:
        """[link, frequency] the transforms of links of one truck."""
        return window.transforms(self._masses[0], minutes)

    def start(self, window: Window, trucks: int = 1) -> NDArray[np.complex128]:
        """[frequency] the transform of what so many trucks have together before the first link."""
        mean = self.table.city.turnout.mean_minutes
        if mean == 0.0:
            return np.ones(window.length, np.complex128)
        return np.asarray(window.transforms(self._masses[3], np.array([mean]), trucks)[0])

    def factors(self, window: Window, minutes: Vector, size: int) -> kernels.Factors:
        """The factors of links for `size` trucks; last, of what trucks of one station have together at the start."""
        chance = np.append(np.full(len(minutes), self.chance), 1.0)
        of_apart = np.vstack([window.transforms(self._masses[1], minutes), np.zeros((1, window.length))])
        of_together = np.vstack([window.transforms(self._masses[2], minutes, size), self.start(window, size)[None]])
        return chance, *parts(of_apart), *parts(np.hstack([of_together, of_together]))

    def own(self, tree: TeamTree, window: Window) -> NDArray[np.complex128]:
        """[row, frequency] the transforms of the own parts of a tree."""
        places, products = np.empty(tree.num_rows, np.int32), np.empty((tree.num_rows, window.length), np.complex128)
        of_link = self.alone(window, self.minutes(tree.links))
        own_products(tree.routes, tree.num_links, tree.depths, self.start(window), of_link, places, products)
        found = np.empty_like(products)
        found[places] = products
        return found

    def from_outside(self, window: Window) -> NDArray[np.complex128]:
        """[1, frequency] the transform of the time of a truck from outside."""
        links, mean = self.table.outside
        return np.asarray(self.alone(window, np.array([mean])) ** links * self.start(window))

    def outside(self, target: float) -> float:
        """The chance that a truck from outside is there by T."""
        window = Window(target, FINE_POINTS, 0, FINE_THETA)
        return float(arrivals(self.from_outside(window), window)[0][0])

    def singles(self, tree: TeamTree, target: float) -> tuple[Vector, Arrivals]:
        """[leaf] the chance that a truck is there by T, and how the chances rise until then."""
        window = Window(target, FINE_POINTS, 0, FINE_THETA)
        return arrivals(self.own(tree, window)[tree.depths[:, 0]], window)

    def chances(self, tree: TeamTree, window: Window, size: int) -> Chances:
        """P(all by T) of teams of up to `size` leaves."""
        length, num, nodes = window.length, len(tree.stations), tree.nodes
        half, own = length // 2 + 1, self.own(tree, window) * window.until
        one = own[tree.depths[:, 0]].sum(axis=1).real
        unit = parts(window.until * (1.0 if self.table.city.turnout.shared else self.start(window)))
        room, minutes = _room(nodes, length, size), self.minutes(tree.links)
        found = [np.zeros(comb(num + n - 1, n)) for n in (2, 3, 4)]
        factors = {n: self.factors(window, minutes, n) for n in range(2, size + 1)}
        planes, cubes = _arrays(len(nodes[0]), length, length), _arrays(0, half * length, length)
        kernels.fill_edges(nodes, 2, tree.edges, factors[2], planes)
        parts_of_own = parts(own)
        kernels.pairs_below(nodes, 0, _ones(half, length), planes, parts_of_own, unit, room, -1, -1, found[0])
        if size > 3:
            cubes = _arrays(len(nodes[0]), half * length, length)
            kernels.fill_edges(nodes, 3, tree.edges, factors[3], cubes)
        if size > 2:
            kernels.triples_below(
                nodes, 0, _ones(half * length, length), tree.edges, factors[3], planes, cubes, parts_of_own, unit, room,
                -1, found[1],
            )  # fmt: skip
        if size > 3:
            kernels.quads_below(nodes, 0, tree.edges, factors[4], planes, cubes, parts_of_own, unit, room, found[2])
        return one, found[0], found[1], found[2]


def arrivals(own: NDArray[np.complex128], window: Window) -> tuple[Vector, Arrivals]:
    """[row] the chances of times with these transforms to be at most T, and how they rise until then."""
    rising = Arrivals(window.target, 1.0 - not_there(own, window).min(axis=0, initial=1.0))
    return np.clip((own * window.until).sum(axis=1).real, 0.0, 1.0), rising


def not_there(own: NDArray[np.complex128], window: Window) -> NDArray[np.float64]:
    """[row, step] the chances of times with these transforms to be more than kh, half of what is at kh counted in."""
    points = np.arange(-BEFORE, window.num_steps + 1)
    masses = np.fft.ifft(own, axis=1).real[:, points] * np.exp(window.theta / window.length * points)
    found = 1.0 - np.cumsum(masses, axis=1) + 0.5 * masses
    return np.asarray(np.clip(found[:, BEFORE:], 0.0, 1.0))


def room_bytes(num_stations: int, size: int) -> float:
    """The memory for teams of three or four on the finest lattice, on all threads."""
    length = Window(1.0, (POINTS_OF_THREE if size < 4 else POINTS_OF_FOUR)[-1], 0, 0.0).length
    levels = 2 + int(np.log2(num_stations))
    return 16.0 * available_threads() * levels * (length // 2 + 1) * float(length) ** (size - 1)


def _arrays(*shape: int) -> kernels.Parts:
    """Room for real and imaginary parts."""
    return np.empty(shape), np.empty(shape)


def _ones(*shape: int) -> kernels.Parts:
    """Transforms that are 1."""
    return np.ones(shape), np.zeros(shape)


def _room(nodes: kernels.Tree, length: int, size: int) -> kernels.Rooms:
    """Room for Z of two to `size` trucks."""
    half = length // 2 + 1
    levels = [int(kernels.plan(nodes, 0, n)[:, 2].max()) + 1 if n <= size else 0 for n in (2, 3, 4)]
    two, three, four = (_arrays(num, half * length**n, length) for n, num in enumerate(levels))
    return two, three, four
