"""Teams of up to four on one line of time, given how links are met (`team_ways.py`).

Given which of the shared links are met together and which apart, trucks have in common only the times of the former,
and what they meet apart is their own. Of that, it only matters how many links there are of each mean: the way a. Let
Y_a be their time, and at a node of the tree

    Q(t; a)   the chance that all of some trucks that come through it have at most t behind them, Y_a for each counted:
              at a station P(Y_a <= t)^trucks, and of a truck that comes alone what is its own and Y_a,
    along a link       q ∫ ψ(x) Q(t - x; a) dx + (1-q) Q(t; a + link),    ψ of its time for trucks together,
    at a junction      Q_left(t; a) Q_right(t; a).

The other way round, let G(x; a) be the mass of x minutes together and of a between the demand point and a node; so

    P(all by T) = Σ_a ∫ G(x; a) Q_left(T - x; a) Q_right(T - x; a) dx

for trucks that meet there: one product of two matrices for all teams of one junction. The same goes for every sum
∫ w(t) P(all by t) dt, with what w and G make together in place of G. Times lie on the lattice of `lattice.py`, half of
the mass at a point counted in; at 0, where all of Q may be, the product of two halves is a half.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.fft import irfft, rfft

from runcard.response.lattice import Lattice, Transforms, survivals
from runcard.response.laws import Vector
from runcard.response.team_kernels import team_rank
from runcard.response.team_ways import Ints, Ways
from runcard.response.tree_kernels import own_products

MOST_NUMBERS = 1 << 21
"""Of what is carried along at once."""

Lines = NDArray[np.float64]
"""[team, way, step]"""
Moving = tuple[Ints, Transforms]
"""Teams [team, truck] of leaves, and the transforms of their Q [team, way, frequency]."""


@dataclass(frozen=True)
class LineTimes:
    """The transforms of times on a lattice [link, frequency]."""

    lattice: Lattice
    alone: Transforms
    together: Transforms
    apart: Transforms
    start: Transforms
    """[frequency] of what comes before the first link."""
    chance: float
    """That of meeting a link together."""
    start_together: bool
    """Whether trucks of a station have their start together."""
    outside: Vector
    """[step] the chance that a truck from outside is there."""


class TeamsOnLine:
    """Σ_k w_k P(all by kh) of the teams of a tree on one lattice, for some weights w."""

    def __init__(self, ways: Ways, times: LineTimes, most: int, weights: NDArray[np.float64]) -> None:
        """Of teams of up to `most` trucks, for weights [sum, step]."""
        self.ways, self.times, self.lattice, self.most, tree = ways, times, times.lattice, most, ways.tree
        self.weights = weights
        alone, self._together, self._apart = (
            each[tree.links] for each in (times.alone, times.together, times.apart)
        )  # fmt: skip
        places = np.empty(tree.num_rows, np.int32)
        products = np.empty((tree.num_rows, self.lattice.num_frequencies), np.complex128)
        own_products(tree.routes, tree.num_links, tree.depths, times.start, alone, places, products)
        self._own = np.empty_like(products)
        self._own[places] = products
        num = len(tree.stations)
        self._found = [
            np.zeros((len(weights), comb(num + size - 1, size) if size <= most else 0)) for size in (1, 2, 3, 4)
        ]
        self._lines: dict[int, Lines] = {}
        self._weighted: dict[int, NDArray[np.float64]] = {}

    def sums(self) -> list[NDArray[np.float64]]:
        """[sum, team] of teams of one to four leaves, by rank."""
        self._found[0][:] = self.weights @ self.alone().T
        if self.ways.tree.nodes[4][0] > 1:
            self._visit(0)
        return self._found

    def alone(self) -> NDArray[np.float64]:
        """[leaf, step] the chance that a truck is there by kh."""
        return self._until(self._own[self.ways.tree.depths[:, 0]])

    def _visit(self, node: int) -> list[Moving]:
        """Fill in the sums of teams below a node.

        Returns the teams that may be a part of one that is larger by two trucks or more; all others are carried on.
        """
        left, right, first, _, below, trucks, _ = self.ways.tree.nodes
        if left[node] < 0:
            leaf = int(first[node])
            start = 1.0 if self.times.start_together else self.times.start
            line = self._until(self._of_ways(node) * start)
            kept: list[Moving] = []
            for size in range(2, min(self.most, int(trucks[leaf])) + 1):
                both = line**size
                both[:, 0] *= 2.0 ** (size - 1)
                teams = np.full((1, size), leaf)
                self._note(teams, (both * self._behind(node)).sum(axis=(1, 2))[:, None])
                kept += self._go_on(node, teams, both[None])
            return kept
        sides: list[list[tuple[Ints, Lines]]] = []
        going: list[Moving] = []
        for branch in (int(left[node]), int(right[node])):
            climbed = [self._climb(branch, moving) for moving in self._visit(branch)] if below[branch] > 1 else []
            sides.append(
                [self._singles(node, branch), *((teams, self.lattice.masses(some)) for teams, some in climbed)]
            )
            going += climbed
        for teams, lines in sides[0]:
            for more, of_more in sides[1]:
                if teams.shape[1] + more.shape[1] <= self.most:
                    going += self._meet(node, teams, lines, more, of_more)
        return going

    def _meet(self, node: int, teams: Ints, lines: Lines, more: Ints, of_more: Lines) -> list[Moving]:
        """Note the teams of which some come by one branch and some by the other; returns those of `_go_on`."""
        kept: list[Moving] = []
        self._note(joined(teams, more), _contracted(lines, of_more, self._behind(node)))
        if node and teams.shape[1] + more.shape[1] < self.most:
            chunk = max(1, MOST_NUMBERS // of_more.size)
            for begin in range(0, len(teams), chunk):
                part = slice(begin, begin + chunk)
                both = (lines[part, None] * of_more[None]).reshape(-1, *of_more.shape[1:])
                both[:, :, 0] *= 2.0
                kept += self._go_on(node, joined(teams[part], more), both)
        return kept

    def _go_on(self, node: int, teams: Ints, lines: Lines) -> list[Moving]:
        """Carry teams to the demand point that only single trucks may join; returns the others."""
        size = teams.shape[1]
        if not node or size == self.most:
            return []
        moving = (teams, self.lattice.transforms(lines))
        if size < self.most - 1:
            return [moving]
        self._carry(node, moving)
        return []

    def _carry(self, node: int, moving: Moving) -> None:
        """Note all teams of these and one more truck that joins them further on."""
        left, right = self.ways.tree.nodes[:2]
        while node:
            parent, moving = self.ways.parents[node], self._climb(node, moving)
            other = int(right[parent] if left[parent] == node else left[parent])
            singles, lines = self._singles(parent, other)
            sums = _contracted(self.lattice.masses(moving[1]), lines, self._behind(parent))
            self._note(joined(moving[0], singles), sums)
            node = parent

    def _climb(self, node: int, moving: Moving) -> Moving:
        """Teams at the other end of the edge of a node."""
        teams, some = moving
        for link, together, apart in self.ways.passed[node]:
            if link < 0:
                some *= self.times.start
                continue
            along(some, together, apart, self.times.chance, self._together[link])
            some = some[:, : len(together)]
        return teams, some

    def _behind(self, node: int) -> NDArray[np.float64]:
        """[sum, way, step] the weight of what trucks have behind them at a node: Σ_i w_(k+i) G_i."""
        if node not in self._weighted:
            masses, length = self.lattice.masses(self._met[node]), 2 * self.lattice.num_steps + 2
            if np.count_nonzero(self.weights) == 1:  # at the last step
                found = self.weights[:, None, -1:] * masses[None, :, ::-1]
            else:
                product = np.conj(rfft(masses, length))[None] * rfft(self.weights, length)[:, None]
                found = irfft(product, length)[..., : self.lattice.num_steps + 1]
            self._weighted[node] = np.asarray(found)
        return self._weighted[node]

    @cached_property
    def _met(self) -> list[Transforms]:
        """[node] the transforms [way, frequency] of G."""
        found: list[Transforms] = []
        for node, parent in enumerate(self.ways.parents):
            if self.ways.tree.nodes[4][node] < 2:
                found.append(np.zeros((0, self.lattice.num_frequencies), np.complex128))
                continue
            some = found[parent] if parent >= 0 else np.ones((1, self.lattice.num_frequencies), np.complex128)
            for link, together, apart in reversed(self.ways.passed[node]):
                if link < 0:
                    some = some * self.times.start
                    continue
                longer = np.zeros((int(apart[-1]) + 1, some.shape[1]), np.complex128)
                longer[together] = self.times.chance * self._together[link] * some
                longer[apart] += (1.0 - self.times.chance) * some
                some = longer
            found.append(some)
        return found

    def _of_ways(self, node: int) -> Transforms:
        """[way, frequency] the transforms of Y at a node."""
        some = np.ones((1, self.lattice.num_frequencies), np.complex128)
        for link, num in zip(self.ways.leads, self.ways.shapes[node], strict=True):
            if num > 1:
                powers = np.empty((num, some.shape[1]), np.complex128)
                powers[0], powers[1:] = 1.0, self._apart[link]
                some = (some[:, None] * np.cumprod(powers, axis=0)[None]).reshape(-1, some.shape[1])
        return some

    def _singles(self, node: int, branch: int) -> tuple[Ints, Lines]:
        """The leaves of a branch of a junction, and their Q there, each truck alone."""
        _, _, first, last, _, _, rows = self.ways.tree.nodes
        if node not in self._lines:
            own = self._own[rows[node, first[node] : last[node]]]
            self._lines[node] = self._until(own[:, None] * self._of_ways(node)[None])
        begin, end = int(first[branch]), int(last[branch])
        return np.arange(begin, end)[:, None], self._lines[node][begin - first[node] : end - first[node]]

    def _until(self, some: Transforms) -> NDArray[np.float64]:
        """[..., step] the chance of at most kh, half of what is at kh counted in, of times with these transforms."""
        return 1.0 - survivals(self.lattice.masses(some))

    def _note(self, teams: Ints, sums: NDArray[np.float64]) -> None:
        """Keep the sums [sum, team] of teams."""
        _note_sums(teams, sums, self._found[teams.shape[1] - 1])


def joined(teams: Ints, others: Ints) -> Ints:
    """Every team with every one of others."""
    return np.concatenate([np.repeat(teams, len(others), axis=0), np.tile(others, (len(teams), 1))], axis=1)


def _contracted(lines: Lines, others: Lines, behind: NDArray[np.float64]) -> NDArray[np.float64]:
    """[sum, team and other team] of all of both teams."""
    weights = behind.copy()
    weights[:, :, 0] *= 2.0
    flat = others.reshape(len(others), -1).T
    return np.stack([((lines * one).reshape(len(lines), -1) @ flat).reshape(-1) for one in weights])


@njit(cache=True, nogil=True)
def _note_sums(teams: Ints, sums: NDArray[np.float64], found: NDArray[np.float64]) -> None:
    """Set the sums of teams by rank."""
    size = teams.shape[1]
    for t in range(len(teams)):
        c = teams[t, 2] if size > 2 else -1
        d = teams[t, 3] if size > 3 else -1
        found[:, team_rank(teams[t, 0], teams[t, 1], c, d)] = sums[:, t]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def along(some: Transforms, together: Ints, apart: Ints, chance: float, time: Transforms) -> None:
    """Take teams along a link, in place, given the places [way there] of ways with the link together, and apart."""
    for team in range(len(some)):
        for way in range(len(together)):
            one, other = some[team, together[way]], some[team, apart[way]]
            for f in range(len(time)):
                some[team, way, f] = chance * time[f] * one[f] + (1.0 - chance) * other[f]
