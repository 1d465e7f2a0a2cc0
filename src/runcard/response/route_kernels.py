"""Kernels for shortest routes: arrays in, arrays out, nothing of ours imported.

A graph comes as compressed rows: the arcs of node u are start[u] to start[u + 1], each with the node at its other end
and the link it belongs to.

**Ties.** Let d(u) be the mean driving time from node u to the destination v. A truck at u may take any link (u, w) with
d(w) + minutes = d(u); it takes the one with the smallest hash of (seed, v, link). The choice depends on nothing else:
routes are repeatable, every tied link is equally likely over the seeds, and the routes to v form a tree, so that two
trucks that meet stay together.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

TIE = 1e-9  # relative; sums of the same minutes in another order differ by far less

Rows = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


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


@njit(cache=True, nogil=True)
def compress(
    from_node: NDArray[np.int32], to_node: NDArray[np.int32], directed: NDArray[np.bool_], num_nodes: int
) -> Rows:
    """The arcs that leave each node, as compressed rows (start, other end, link)."""
    start = np.zeros(num_nodes + 1, dtype=np.int32)
    for link in range(len(from_node)):
        start[from_node[link] + 1] += 1
        if not directed[link]:
            start[to_node[link] + 1] += 1
    for node in range(num_nodes):
        start[node + 1] += start[node]
    place = start[:-1].copy()
    end = np.empty(start[-1], dtype=np.int32)
    links = np.empty(start[-1], dtype=np.int32)
    for link in range(len(from_node)):
        u, w = from_node[link], to_node[link]
        end[place[u]], links[place[u]] = w, link
        place[u] += 1
        if not directed[link]:
            end[place[w]], links[place[w]] = u, link
            place[w] += 1
    return start, end, links


@njit(cache=True, nogil=True)
def fill_hops(arriving: Rows, destinations: NDArray[np.int32], out: NDArray[np.float64]) -> None:
    """Fill `out` [V, node] with the number of links to each destination, by breadth-first search; inf: no way."""
    start, end, _ = arriving
    queue = np.empty(len(start) - 1, dtype=np.int32)
    out[:] = np.inf
    for row in range(len(destinations)):
        hops = out[row]
        hops[destinations[row]] = 0.0
        queue[0] = destinations[row]
        head, size = 0, 1
        while head < size:
            w = queue[head]
            head += 1
            for arc in range(start[w], start[w + 1]):
                u = end[arc]
                if hops[u] == np.inf:
                    hops[u] = hops[w] + 1.0
                    queue[size] = u
                    size += 1


@njit(cache=True, nogil=True)
def next_arc(leaving: Rows, minutes: NDArray[np.float64], distance: NDArray[np.float64], u: int, key: np.uint64) -> int:
    """The arc that a truck at node u takes, by the rule for ties; `key` is the hash of seed and destination."""
    start, end, links = leaving
    chosen = -1
    smallest = np.uint64(0)
    for arc in range(start[u], start[u + 1]):
        w = end[arc]
        # A strictly shorter rest guarantees that a route ends.
        if distance[w] < distance[u] and abs(distance[w] + minutes[links[arc]] - distance[u]) <= TIE * distance[u]:
            value = mix(key + np.uint64(links[arc]))
            if chosen < 0 or value < smallest:
                chosen, smallest = arc, value
    return chosen


@njit(cache=True, nogil=True)
def trace(
    leaving: Rows,
    minutes: NDArray[np.float64],
    distance: NDArray[np.float64],
    destination: int,
    key: np.uint64,
    stations: NDArray[np.int32],
    work: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]],
    num_links: NDArray[np.int32],
    shared_links: NDArray[np.int32],
) -> None:
    """Fill num_links [I] and shared_links [I, I] for one destination.

    Each station's route is followed only to the first node x that an earlier route, of station f, has visited. From
    there the two are one, so that shared(i, e) = min(links from x on, shared(f, e)) for every earlier e.
    """
    visitor, rest, path = work
    visitor[:] = -1
    visitor[destination] = 0  # any station will do: nothing is shared where routes meet at the destination only
    rest[destination] = 0
    for i in range(len(stations)):
        x = stations[i]
        steps = 0
        while visitor[x] < 0:
            visitor[x] = i
            path[steps] = x
            steps += 1
            x = leaving[1][next_arc(leaving, minutes, distance, x, key)]
        for step in range(steps):
            rest[path[step]] = rest[x] + steps - step
        for e in range(i):
            shared_links[i, e] = shared_links[e, i] = min(rest[x], shared_links[visitor[x], e])
        num_links[i] = shared_links[i, i] = rest[x] + steps


@njit(cache=True, nogil=True)
def trace_all(
    leaving: Rows,
    minutes: NDArray[np.float64],
    distances: NDArray[np.float64],
    destinations: NDArray[np.int32],
    stations: NDArray[np.int32],
    seed: np.uint64,
    num_links: NDArray[np.int32],
    shared_links: NDArray[np.int32],
) -> None:
    """Fill num_links [V, I] and shared_links [V, I, I] from the distances [V, node] to each destination."""
    num_nodes = distances.shape[1]
    work = (
        np.empty(num_nodes, dtype=np.int32),
        np.empty(num_nodes, dtype=np.int32),
        np.empty(num_nodes, dtype=np.int32),
    )
    for row in range(len(destinations)):
        v = destinations[row]
        key = route_key(seed, v)
        trace(leaving, minutes, distances[row], v, key, stations, work, num_links[row], shared_links[row])


@njit(cache=True, nogil=True)
def list_links(
    leaving: Rows,
    minutes: NDArray[np.float64],
    distance: NDArray[np.float64],
    station: int,
    destination: int,
    seed: np.uint64,
) -> NDArray[np.int32]:
    """The links of one route, from the station on."""
    key = route_key(seed, destination)
    route = np.empty(len(distance), dtype=np.int32)
    steps = 0
    u = station
    while u != destination:
        arc = next_arc(leaving, minutes, distance, u, key)
        route[steps] = leaving[2][arc]
        steps += 1
        u = leaving[1][arc]
    return route[:steps].copy()
