"""How links of a tree of routes are met: of those that are met apart, how many there are of each mean.

Links of one mean are of one *kind*. At a node of the tree, a *way* says how many links of each kind between it and the
demand point are met apart; the others are met together. A city of equal links has as few ways as a route has links, and
one way more.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.response.laws import Vector
from runcard.response.team_tree import TeamTree

Ints = NDArray[np.int64]
Passed = tuple[int, Ints, Ints]
"""A link, and the places [way behind it] among the ways before it if it is met together, and apart; -1 for what trucks
of a station have together at the start."""


@dataclass(frozen=True)
class Ways:
    """The ways at the nodes of a tree."""

    tree: TeamTree
    minutes: Vector
    """[link of the tree] its mean."""

    @cached_property
    def kinds(self) -> Ints:
        """[link of the tree]"""
        return np.asarray(np.unique(self.minutes, return_inverse=True)[1], np.int64)

    @cached_property
    def leads(self) -> list[int]:
        """[kind] a link of it."""
        return [int(link) for link in np.unique(self.kinds, return_index=True)[1]]

    @cached_property
    def parents(self) -> list[int]:
        """[node] the one above; -1 of the first."""
        found = np.full(len(self.tree.nodes[0]), -1)
        for branch in self.tree.nodes[:2]:
            found[branch[branch >= 0]] = np.flatnonzero(branch >= 0)
        return [int(node) for node in found]

    def edge(self, node: int) -> list[int]:
        """The links from a node on; one more for what trucks of a station have together at the start."""
        starts, links = self.tree.edges
        return [int(link) for link in links[starts[node] : starts[node + 1]]]

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """[node] one more than the links of each kind between it and the demand point that several trucks can share."""
        found: list[tuple[int, ...]] = []
        for node, parent in enumerate(self.parents):
            shape = np.array(found[parent]) if parent >= 0 else np.ones(len(self.leads), np.int64)
            links = [link for link in self.edge(node) if link < len(self.kinds)]
            if self.tree.nodes[4][node] > 1:
                shape = shape + np.bincount(self.kinds[links], minlength=len(shape))
            found.append(tuple(shape.tolist()))
        return found

    @cached_property
    def passed(self) -> list[list[Passed]]:
        """[node] the links from it on, one by one."""
        found = []
        for node, shape in enumerate(self.shapes):
            some = []
            for link in self.edge(node) if self.tree.nodes[4][node] > 1 else ():
                if link < len(self.kinds):
                    shape, together, apart = without(shape, int(self.kinds[link]))
                    some.append((link, together, apart))
                else:
                    some.append((-1, np.zeros(0, np.int64), np.zeros(0, np.int64)))
            found.append(some)
        return found


def without(shape: tuple[int, ...], kind: int) -> tuple[tuple[int, ...], Ints, Ints]:
    """The ways without one link of a kind, and where each is among those with it, if it is met together, and apart."""
    places = np.arange(int(np.prod(shape))).reshape(-1, shape[kind], int(np.prod(shape[kind + 1 :])))
    fewer = tuple(num - (place == kind) for place, num in enumerate(shape))
    return fewer, places[:, :-1].reshape(-1).copy(), places[:, 1:].reshape(-1).copy()
