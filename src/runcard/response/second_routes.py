"""The second truck of a station on another road: the shortest route that shares as few links as possible.

Of all routes from the station, those are taken that have the fewest links in common with the route of the first truck,
and of these the one with the smallest mean driving time: a shortest route for the time of a link plus, on links of the
first route, more than any route can take. A link that is driven the other way is still the same link.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from runcard.response import route_kernels as kernels
from runcard.response.routes import Roads


@dataclass(frozen=True)
class SecondRoutes:
    """The roads as a graph whose links of one route can be made expensive."""

    roads: Roads

    @cached_property
    def _arcs(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The arcs ordered by their ends: from, to and link of each, and where each pair of ends begins."""
        start, end, links = kernels.compress(
            self.roads.from_node, self.roads.to_node, self.roads.directed, self.roads.num_nodes
        )
        node = np.repeat(np.arange(self.roads.num_nodes), np.diff(start))
        order = np.lexsort((self.roads.minutes[links], end, node))
        node, end, links = node[order], end[order].astype(np.int64), links[order].astype(np.int64)
        new = np.ones(len(node), np.bool_)
        new[1:] = (node[1:] != node[:-1]) | (end[1:] != end[:-1])
        return node, end, links, np.flatnonzero(new)

    def find(self, station: int, destination: int, first: NDArray[np.int64]) -> NDArray[np.int64]:
        """The links of the second route between two nodes, from the station on, given those of the first."""
        if station == destination:
            return np.empty(0, np.int64)
        node, end, links, pairs = self._arcs
        weight = self.roads.minutes.copy()
        weight[first] += 2.0 * weight.sum()
        # Of parallel links the cheapest counts, and that depends on the first route.
        by_arc = weight[links]
        cheapest = np.minimum.reduceat(by_arc, pairs)
        num = self.roads.num_nodes
        graph = csr_array((cheapest, (node[pairs], end[pairs])), shape=(num, num))
        before = dijkstra(graph, indices=np.array([station]), return_predecessors=True)[1][0]
        route, at = [], destination
        lengths = np.diff(np.append(pairs, len(links)))
        key = node[pairs] * num + end[pairs]
        while at != station:
            previous = int(before[at])
            pair = int(np.searchsorted(key, previous * num + at))
            arcs = slice(pairs[pair], pairs[pair] + lengths[pair])
            route.append(int(links[arcs][by_arc[arcs].argmin()]))
            at = previous
        return np.array(route[::-1], np.int64)
