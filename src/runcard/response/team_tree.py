"""The routes of some stations to a demand point, as a tree with two branches at every junction (`team_kernels.py`)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.response.team_kernels import Edges, Tree

MOST_TRUCKS = 4


@dataclass(frozen=True)
class TeamTree:
    """A tree whose leaves are stations, the nodes before what is above them."""

    stations: NDArray[np.int64]
    """[leaf]"""
    links: NDArray[np.int32]
    """The links of all routes."""
    nodes: Tree
    edges: Edges
    """The places of links of each edge among `links`; one more for what trucks of a leaf have together at the start."""
    routes: NDArray[np.int32]
    """[leaf, place] the places of links among `links`, from the station on."""
    num_links: NDArray[np.int32]
    depths: NDArray[np.int32]
    """[leaf, depth] the row of the own part of each leaf before a depth; -1 where none is needed."""

    @property
    def num_rows(self) -> int:
        """How many own parts there are."""
        return int(self.depths.max()) + 1


@dataclass
class _Growth:
    """What is known of a tree while it grows."""

    routes: list[NDArray[np.int64]]
    shared: NDArray[np.int32]
    begin_together: list[int]
    """What is added to the edge of each leaf."""
    nodes: list[tuple[int, int, int, int]]
    edges: list[list[int]]
    at: list[int]
    leaves: list[int]

    def grow(self, members: list[int], low: int) -> int:
        """Add the tree of some stations whose routes have come together up to a depth; returns its node."""
        node = len(self.nodes)
        self.nodes.append((-1, -1, 0, 0))
        lead = self.routes[members[0]]
        if len(members) == 1:
            self.edges.append([*lead[: len(lead) - low].tolist(), *self.begin_together])
            self.at.append(len(lead))
            self.leaves.append(members[0])
            self.nodes[node] = -1, -1, len(self.leaves) - 1, len(self.leaves)
            return node
        depth = min(int(self.shared[a, b]) for a in members for b in members if a != b)
        self.edges.append(lead[len(lead) - depth : len(lead) - low].tolist())
        self.at.append(depth)
        first = len(self.leaves)
        left, right = self._branch(list(self._groups(members, depth)), depth)
        self.nodes[node] = left, right, first, len(self.leaves)
        return node

    def _groups(self, members: list[int], depth: int) -> Iterator[list[int]]:
        """The stations whose routes meet before a depth, together."""
        while members:
            lead = members[0]
            yield [a for a in members if a == lead or self.shared[a, lead] > depth]
            members = [a for a in members if a != lead and self.shared[a, lead] <= depth]

    def _branch(self, groups: list[list[int]], depth: int) -> tuple[int, int]:
        """Add the two branches of a junction; where more meet, the second is a junction of the others."""
        left = self.grow(groups[0], depth)
        if len(groups) == 2:
            return left, self.grow(groups[1], depth)
        right, first = len(self.nodes), len(self.leaves)
        self.nodes.append((-1, -1, 0, 0))
        self.edges.append([])
        self.at.append(depth)
        one, other = self._branch(groups[1:], depth)
        self.nodes[right] = one, other, first, len(self.leaves)
        return left, right


def team_tree(
    routes: NDArray[np.int32], num_links: NDArray[np.int32], shared: NDArray[np.int32], trucks: NDArray[np.int64],
    stations: NDArray[np.int64], *, begin_together: bool,
) -> TeamTree:  # fmt: skip
    """The tree of some stations, given the routes and trucks of all; whether trucks of one station leave together."""
    used = [routes[i, : num_links[i]] for i in stations.tolist()]
    links = np.unique(np.concatenate(used))
    numbered = [np.searchsorted(links, route) for route in used]
    growth = _Growth(
        numbered, shared[np.ix_(stations, stations)], [len(links)] if begin_together else [], [], [], [], []
    )
    growth.grow(list(range(len(stations))), 0)
    left, right, first, last = np.array(growth.nodes, np.int64).T.copy()
    order = np.array(growth.leaves)
    capacity = np.minimum(trucks[stations[order]], MOST_TRUCKS)
    below = np.array([capacity[a:b].sum() for a, b in zip(first.tolist(), last.tolist(), strict=True)], np.int64)
    at = np.array(growth.at)
    depths, rows = np.full((len(order), int(at.max()) + 1), -1, np.int32), np.full((len(left), len(order)), -1)
    num = 0
    for leaf in range(len(order)):
        depths[leaf, 0], num = num, num + 1
        for node in np.flatnonzero((first <= leaf) & (leaf < last) & (left >= 0)).tolist():
            if depths[leaf, at[node]] < 0:
                depths[leaf, at[node]], num = num, num + 1
            rows[node, leaf] = depths[leaf, at[node]]
    starts = np.concatenate([[0], np.cumsum([len(edge) for edge in growth.edges])])
    places = np.array([place for edge in growth.edges for place in edge], np.int64)
    lengths = np.array([len(numbered[a]) for a in order.tolist()], np.int32)
    padded = np.full((len(order), max(1, int(lengths.max()))), -1, np.int32)
    for leaf, a in enumerate(order.tolist()):
        padded[leaf, : lengths[leaf]] = numbered[a]
    return TeamTree(
        stations[order], links, (left, right, first, last, below, capacity, rows), (starts, places), padded, lengths,
        depths,
    )  # fmt: skip
