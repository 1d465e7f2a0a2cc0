"""The second truck of a station on another road: the shortest route that shares as few links as possible.

Of all routes from the station, those are taken that have the fewest links in common with the route of the first truck,
and of these the one with the smallest mean driving time: a shortest route for the time of a link plus, on links of the
first route, more than any route can take. A link that is driven the other way is still the same link.
"""

from heapq import heappop, heappush

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.response.route_kernels import Rows


@njit(cache=True, nogil=True)
def second_route(
    leaving: Rows, minutes: NDArray[np.float64], station: int, destination: int, first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The links of the second route between two nodes, from the station on, given those of the first."""
    start, end, links = leaving
    num_nodes = len(start) - 1
    is_first, much = np.zeros(len(minutes), np.bool_), 2.0 * minutes.sum()
    for link in first:
        is_first[link] = True
    best = np.full(num_nodes, np.inf)
    by, came_from = np.full(num_nodes, -1), np.full(num_nodes, -1)
    best[station] = 0.0
    heap = [(0.0, np.int64(station))]
    while len(heap) > 0:
        so_far, node = heappop(heap)
        if node == destination:
            break
        if so_far > best[node]:
            continue
        for arc in range(start[node], start[node + 1]):
            link = links[arc]
            total = so_far + minutes[link] + (much if is_first[link] else 0.0)
            if total < best[end[arc]]:
                best[end[arc]], by[end[arc]], came_from[end[arc]] = total, link, node
                heappush(heap, (total, np.int64(end[arc])))
    num, at = 0, destination
    while at != station:
        num, at = num + 1, came_from[at]
    route, at = np.empty(num, np.int64), destination
    for place in range(num - 1, -1, -1):
        route[place], at = by[at], came_from[at]
    return route
