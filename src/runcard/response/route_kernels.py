"""Kernels for routes: arrays in, arrays out, nothing of ours imported.

A graph comes as compressed rows (`Arcs`): the arcs of node u are start[u] to start[u + 1] - 1.

**Ties.** Let d(u) be the mean driving time from node u to the destination v. A truck at u may take any link (u, w) with
d(w) + minutes = d(u); it takes the one with the smallest hash of (seed, v, link). The choice depends on nothing else:
routes are repeatable, every tied link is equally likely over the seeds, and the routes to v form a tree, so that two
trucks that meet stay together. Sums of the same minutes in another order differ by rounding, so that two times are the
same if they differ by at most `TIE` of d(u). `routes.py` refuses links that are as short as that.

**Second routes.** The second truck of a station may take another road: of all routes those are taken that have the
fewest links in common with the first one, and of these the one with the smallest mean driving time. That is a shortest
route for the time of a link plus, on links of the first route, more than any route can take. A link that is driven the
other way is still the same link.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

TIE = 1e-12
"""Relative. A route of a thousand links adds up to a tenth of that by rounding."""

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class Arcs(NamedTuple):
    """The arcs that leave (or, in another table, reach) each node."""

    start: Ints
    """[node + 1] where the arcs of each node begin."""
    end: Ints
    """[arc] the node at its other end."""
    link: Ints
    """[arc] the link that it belongs to."""


class Walk(NamedTuple):
    """Room for following routes to one destination, each [node]."""

    next_arc: Ints
    visitor: Ints
    """The first station whose route visits the node; -1 if none does."""
    rest: Ints
    """The links from the node to the destination."""
    path: Ints


@njit(cache=True, nogil=True)
def mix(value: np.uint64) -> np.uint64:
    """The splitmix64 hash of a number."""
    z = value + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def route_key(seed: np.uint64, destination: int) -> np.uint64:
    """The hash of seed and destination, to which `next_arc` adds the link."""
    return mix(mix(seed) + np.uint64(destination))


def compress(from_node: Ints, to_node: Ints, directed: NDArray[np.bool_], num_nodes: int) -> Arcs:
    """The arcs that leave each node, if links lead from `from_node` to `to_node`."""
    (both,) = np.nonzero(~directed)
    links = np.concatenate([np.arange(len(from_node)), both])
    begin, end = np.concatenate([from_node, to_node[both]]), np.concatenate([to_node, from_node[both]])
    order = np.lexsort((links, begin))
    start = np.searchsorted(begin[order], np.arange(num_nodes + 1))
    return Arcs(start.astype(np.int32), end[order], links[order].astype(np.int32))


@njit(cache=True, nogil=True)
def fill_hops(arriving: Arcs, destinations: Ints, out: Floats) -> None:
    """Fill `out` [V, node] with the number of links to each destination, by breadth-first search; inf: no way."""
    queue = np.empty(len(arriving.start) - 1, dtype=np.int32)
    out[:] = np.inf
    for row in range(len(destinations)):
        hops = out[row]
        hops[destinations[row]] = 0.0
        queue[0] = destinations[row]
        head, size = 0, 1
        while head < size:
            w = queue[head]
            head += 1
            for arc in range(arriving.start[w], arriving.start[w + 1]):
                u = arriving.end[arc]
                if hops[u] == np.inf:
                    hops[u] = hops[w] + 1.0
                    queue[size] = u
                    size += 1


@njit(cache=True, nogil=True)
def next_arc(leaving: Arcs, minutes: Floats, distance: Floats, u: int, key: np.uint64) -> int:
    """The arc that a truck at node u takes, by the rule for ties; `key` is the hash of seed and destination."""
    chosen = -1
    smallest = np.uint64(0)
    for arc in range(leaving.start[u], leaving.start[u + 1]):
        rest = distance[leaving.end[arc]]
        # A strictly shorter rest guarantees that a route ends.
        if rest < distance[u] and abs(rest + minutes[leaving.link[arc]] - distance[u]) <= TIE * distance[u]:
            value = mix(key + np.uint64(leaving.link[arc]))
            if chosen < 0 or value < smallest:
                chosen, smallest = arc, value
    return chosen


@njit(cache=True, nogil=True)
def new_walk(num_nodes: int) -> Walk:
    """Room for following routes."""
    return Walk(
        np.empty(num_nodes, np.int32), np.empty(num_nodes, np.int32), np.empty(num_nodes, np.int32),
        np.empty(num_nodes, np.int32),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def follow(
    leaving: Arcs, minutes: Floats, distance: Floats, destination: int, key: np.uint64, stations: Ints, walk: Walk,
    num_links: Ints, shared_links: Ints,
) -> None:  # fmt: skip
    """Fill num_links [I], shared_links [I, I] and the walk for one destination.

    Each station's route is followed only to the first node x that an earlier route, of station f, has visited. From
    there the two are one, so that shared(i, e) = min(links from x on, shared(f, e)) for every earlier e.
    """
    walk.visitor[:] = -1
    walk.visitor[destination] = 0  # any station will do: nothing is shared where routes meet at the destination only
    walk.rest[destination] = 0
    for i in range(len(stations)):
        x = stations[i]
        steps = 0
        while walk.visitor[x] < 0:
            walk.visitor[x] = i
            walk.path[steps] = x
            steps += 1
            walk.next_arc[x] = next_arc(leaving, minutes, distance, x, key)
            x = leaving.end[walk.next_arc[x]]
        for step in range(steps):
            walk.rest[walk.path[step]] = walk.rest[x] + steps - step
        for e in range(i):
            shared_links[i, e] = shared_links[e, i] = min(walk.rest[x], shared_links[walk.visitor[x], e])
        num_links[i] = shared_links[i, i] = walk.rest[x] + steps


@njit(cache=True, nogil=True)
def trace(
    leaving: Arcs, minutes: Floats, distances: Floats, destinations: Ints, stations: Ints, seed: np.uint64,
    num_links: Ints, shared_links: Ints,
) -> Ints:  # fmt: skip
    """Fill num_links [V, I] and shared_links [V, I, I] from the distances [V, node] to each destination.

    Returns the links of all routes, one after another, each from the station on.
    """
    walk = new_walk(distances.shape[1])
    links, size = np.empty(1024, np.int32), 0
    for row in range(len(destinations)):
        key = route_key(seed, destinations[row])
        follow(
            leaving, minutes, distances[row], destinations[row], key, stations, walk, num_links[row], shared_links[row]
        )
        total = num_links[row].sum()
        if size + total > len(links):
            more = np.empty(2 * (size + total), np.int32)
            more[:size] = links[:size]
            links = more
        for station in stations:
            u = station
            while u != destinations[row]:
                links[size] = leaving.link[walk.next_arc[u]]
                size += 1
                u = leaving.end[walk.next_arc[u]]
    return links[:size].copy()


@njit(cache=True, nogil=True)
def fill_next_links(
    leaving: Arcs, minutes: Floats, distances: Floats, destinations: Ints, seed: np.uint64, found: Ints
) -> None:
    """Fill found [V, node] with the next link from every node to each destination; -1: there, or no way."""
    for row in range(len(destinations)):
        key = route_key(seed, destinations[row])
        for node in range(found.shape[1]):
            if node != destinations[row] and distances[row, node] < np.inf:
                arc = next_arc(leaving, minutes, distances[row], node, key)
                if arc >= 0:
                    found[row, node] = leaving.link[arc]


@njit(cache=True, nogil=True)
def second_route(leaving: Arcs, minutes: Floats, station: int, destination: int, first: Ints) -> Ints:
    """The links of the second route between two nodes, from the station on, given those of the first."""
    num_nodes = len(leaving.start) - 1
    is_first, much = np.zeros(len(minutes), np.bool_), 2.0 * minutes.sum()
    for link in first:
        is_first[link] = True
    best = np.full(num_nodes, np.inf)
    by, came_from = np.full(num_nodes, -1, np.int32), np.full(num_nodes, -1, np.int32)
    best[station] = 0.0
    heap = [(0.0, np.int64(station))]
    while len(heap) > 0:
        so_far, node = heappop(heap)
        if node == destination:
            break
        if so_far > best[node]:
            continue
        for arc in range(leaving.start[node], leaving.start[node + 1]):
            link, end = leaving.link[arc], leaving.end[arc]
            total = so_far + minutes[link] + (much if is_first[link] else 0.0)
            if total < best[end]:
                best[end], by[end], came_from[end] = total, link, node
                heappush(heap, (total, np.int64(end)))
    num, at = 0, destination
    while at != station:
        num, at = num + 1, came_from[at]
    route, at = np.empty(num, np.int32), destination
    for place in range(num - 1, -1, -1):
        route[place], at = by[at], came_from[at]
    return route
