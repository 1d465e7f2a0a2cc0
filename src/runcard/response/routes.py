"""Routes: the links that each truck drives over, and those that two trucks share.

A truck follows a shortest route by mean minutes. Where several are equally short, the seed of the roads picks one as
`route_kernels.py` says, so that the routes to one demand point form a tree: two trucks that meet stay together, and
what they share is the common last part of their routes. Routes are traced once; everything else asks `Routes`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City, Link, Node
from runcard.errors import InputError
from runcard.response import route_kernels as kernels
from runcard.threads import available_threads, run_each

MAX_DISTANCES = 1 << 24
"""Numbers held at once while routes are traced: 128 MiB."""

LEAST_LINK = 10.0 * kernels.TIE
"""No link may be shorter than this part of the longest route: rounding would choose the route."""
MOST_KEPT = 8
"""Places that were asked for alone, whose minutes are kept."""

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RoadGraph:
    """The road graph as arrays: links by their place in `city.links`, nodes by their place in `city.nodes`."""

    from_node: Ints
    to_node: Ints
    directed: NDArray[np.bool_]
    minutes: Floats
    num_nodes: int
    seed: np.uint64

    @cached_property
    def leaving(self) -> kernels.Arcs:
        """The arcs that leave each node."""
        return kernels.compress(self.from_node, self.to_node, self.directed, self.num_nodes)

    @cached_property
    def _arriving(self) -> kernels.Arcs:
        """The arcs that lead to each node."""
        return kernels.compress(self.to_node, self.from_node, self.directed, self.num_nodes)

    @cached_property
    def _graph(self) -> Any:
        """The same as a sparse array of minutes."""
        return _graph(self._arriving, self.minutes)

    @cached_property
    def one_mean(self) -> bool:
        """Whether every link has the same mean: then the shortest route is the one with the fewest links."""
        return bool((self.minutes == self.minutes[0]).all())

    @property
    def mean_minutes(self) -> float:
        """The mean over all links."""
        return float(self.minutes[0] if self.one_mean else self.minutes.mean())

    def minutes_to(self, nodes: Sequence[int] | Ints) -> Iterator[tuple[slice, Ints, Floats]]:
        """A few of the nodes at a time: their places, they, and the minutes to each from every node [row, node]."""
        step = max(1, MAX_DISTANCES // self.num_nodes)
        for low in range(0, len(nodes), step):
            part = np.array(nodes[low : low + step], np.int32)
            # A decision at one place asks for it again and again: for each kind, and for what is said of its units.
            found = self._kept(int(part[0])) if len(nodes) == 1 else self._minutes_to(part)
            yield slice(low, low + len(part)), part, found

    def _kept(self, node: int) -> Floats:
        found = self._last_ones.get(node)
        if found is None:
            found = self._minutes_to(np.array([node], np.int32))
            if len(self._last_ones) >= MOST_KEPT:
                self._last_ones.clear()
            self._last_ones[node] = found
        return found

    @cached_property
    def _last_ones(self) -> dict[int, Floats]:
        return {}

    def _minutes_to(self, nodes: Ints) -> Floats:
        """[row, node] the minutes to each of some nodes from every node."""
        if not self.one_mean:
            return _dijkstra(self._graph, nodes)
        found = np.empty((len(nodes), self.num_nodes))
        kernels.fill_hops(self._arriving, nodes, found)
        found *= self.minutes[0]
        return found

    def next_links(self, nodes: Ints, minutes: Floats) -> Ints:
        """[row, node] the next link from every node on the way to each of some nodes; -1: there, or no way."""
        found = np.full((len(nodes), self.num_nodes), -1, np.int32)
        kernels.fill_next_links(self.leaving, self.minutes, minutes, nodes, self.seed, found)
        return found


class TwoRoads(NamedTuple):
    """The links of two trucks of one station on different roads: of the first alone, the second alone, and both."""

    first: Ints
    second: Ints
    both: Ints


def two_roads(first: Ints, second: Ints) -> TwoRoads:
    """The links of two routes, sorted by who drives over them."""
    both = np.isin(first, second)
    return TwoRoads(first[~both], second[~np.isin(second, first)], first[both])


@dataclass(frozen=True, eq=False)
class Routes:
    """The routes from I stations to J demand points. Demand points at one node have the same row of routes."""

    roads: RoadGraph
    stations: Ints
    """[I] the node of each station."""
    nodes: Ints
    """[row] the different nodes of the demand points."""
    row: NDArray[np.int64]
    """[J] the row of each demand point."""
    num_links: Ints
    """[I, J]"""
    shared_links: Ints
    """[I, I, J] the links that two routes have in common; on the diagonal: num_links."""
    drive_minutes: Floats
    """[I, J] mean."""
    first_link: NDArray[np.int64]
    """[row × I + station, and one more] where the links of each route begin in `links`."""
    links: Ints
    """The links of all routes, one after another, each from the station on."""

    def route(self, row: int, i: int) -> Ints:
        """The links of the route of station i to the node of a row, from the station on."""
        number = row * len(self.stations) + i
        return self.links[self.first_link[number] : self.first_link[number + 1]]

    def sums(self, of_link: Floats) -> Floats:
        """[I, J] the sum of a number of each link over the links of every route."""
        totals = np.concatenate([[0.0], np.cumsum(of_link[self.links])])
        by_route = (totals[self.first_link[1:]] - totals[self.first_link[:-1]]).reshape(len(self.nodes), -1)
        return np.ascontiguousarray(by_route[self.row].T)

    def second_routes(self, several: Sequence[int]) -> dict[tuple[int, int], Ints]:
        """By row and station: the links of the road that the second truck of these stations takes."""
        leaving, minutes = self.roads.leaving, self.roads.minutes

        def find(pair: tuple[int, int]) -> Ints:
            station, node = int(self.stations[pair[1]]), int(self.nodes[pair[0]])
            return kernels.second_route(leaving, minutes, station, node, self.route(*pair))

        pairs = [(row, i) for row in range(len(self.nodes)) for i in several]
        return dict(zip(pairs, run_each(find, pairs, available_threads()), strict=True))


def find_routes(city: City, points: Sequence[int] | None = None) -> Routes:
    """The routes from every station to every demand point, or to some of them; a valid city has one for each."""
    roads, index = road_graph(city), city.node_numbers
    stations = np.array([index[station.node_id] for station in city.stations], np.int32)
    demand = [index[city.demand[j].node_id] for j in (range(len(city.demand)) if points is None else points)]
    row_of_node = {node: row for row, node in enumerate(dict.fromkeys(demand))}
    nodes, row = np.array(list(row_of_node), np.int32), np.array([row_of_node[node] for node in demand], np.int64)
    num_links = np.empty((len(nodes), len(stations)), np.int32)
    shared_links = np.empty((len(nodes), len(stations), len(stations)), np.int32)
    drive_minutes = np.empty((len(nodes), len(stations)))
    leaving, listed = roads.leaving, []
    for rows, part, minutes in roads.minutes_to(nodes):
        drive_minutes[rows] = minutes[:, stations]
        _check_ratio(city, roads, float(drive_minutes[rows].max()))
        listed.append(
            kernels.trace(
                leaving, roads.minutes, minutes, part, stations, roads.seed, num_links[rows], shared_links[rows]
            )
        )
    # Station by station: the shared links are the largest array of all, and two copies of it are enough.
    by_station = np.empty((len(stations), len(stations), len(row)), np.int32)
    for i in range(len(stations)):
        by_station[i] = shared_links[row, i].T
    return Routes(
        roads=roads,
        stations=stations,
        nodes=nodes,
        row=row,
        num_links=np.ascontiguousarray(num_links[row].T),
        shared_links=by_station,
        drive_minutes=np.ascontiguousarray(drive_minutes[row].T),
        first_link=np.concatenate([[0], np.cumsum(num_links)]).astype(np.int64),
        links=np.concatenate(listed),
    )


def routes_to(city: City, demand_index: int) -> tuple[tuple[str, ...], ...]:
    """The route of every station to one demand point, each as its link ids from the station on."""
    found = find_routes(city, [demand_index])
    return tuple(tuple(city.links[link].link_id for link in found.route(0, i)) for i in range(len(city.stations)))


class _Last(NamedTuple):
    """The roads that were read last, and what they were read from."""

    nodes: tuple[Node, ...] = ()
    links: tuple[Link, ...] = ()
    roads: RoadGraph | None = None


_last = _Last()


def road_graph(city: City) -> RoadGraph:
    """The road graph of a city as arrays; not read again for a city with the very nodes and links of the last one."""
    global _last
    seed, last = np.uint64(int(city.driving.route_seed) % 2**64), _last
    if last.roads is not None and last.nodes is city.nodes and last.links is city.links and last.roads.seed == seed:
        return last.roads
    index, links = city.node_numbers, city.links
    roads = RoadGraph(
        from_node=np.array([index[link.from_node_id] for link in links], dtype=np.int32),
        to_node=np.array([index[link.to_node_id] for link in links], dtype=np.int32),
        directed=np.array([link.directed for link in links], dtype=np.bool_),
        minutes=np.array([link.mean_minutes for link in links], dtype=np.float64),
        num_nodes=len(city.nodes),
        seed=seed,
    )
    _last = _Last(city.nodes, links, roads)
    return roads


def _check_ratio(city: City, roads: RoadGraph, longest: float) -> None:
    """Raise an error for a link that is so short beside a route that rounding would choose the route."""
    shortest = int(roads.minutes.argmin())
    if roads.minutes[shortest] <= LEAST_LINK * longest:
        raise InputError(
            f"link {city.links[shortest].link_id}: expected mean_minutes above {LEAST_LINK:g} of the longest route, "
            f"which takes {longest:g} minutes, got {roads.minutes[shortest]:g}"
        )


def _dijkstra(graph: Any, destinations: Ints) -> Floats:
    """The mean minutes to each destination from every node [destination, node], where means differ."""
    from scipy.sparse.csgraph import dijkstra

    return np.atleast_2d(dijkstra(graph, indices=destinations))


def _graph(arcs: kernels.Arcs, minutes: Floats) -> Any:
    """Arcs as a sparse array of minutes."""
    from scipy.sparse import csr_array  # here, because cities of one mean do without it

    start, end, links = arcs
    num_nodes = len(start) - 1
    node = np.repeat(np.arange(num_nodes), np.diff(start))
    # Of parallel links only the shortest counts; a sparse array would add them up.
    order = np.lexsort((minutes[links], end, node))
    node, end, weight = node[order], end[order], minutes[links][order]
    first = np.ones(len(node), dtype=np.bool_)
    first[1:] = (node[1:] != node[:-1]) | (end[1:] != end[:-1])
    return csr_array((weight[first], (node[first], end[first])), shape=(num_nodes, num_nodes))
