"""Routes: the links that each truck drives over, and those that two trucks share.

A truck follows a shortest route by mean minutes. Where several are equally short, `city.driving.route_seed` picks one
as `route_kernels.py` says, so that the routes to one demand point form a tree: two trucks that meet stay together, and
what they share is the common last part of their routes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.response import route_kernels as kernels

MAX_DISTANCES = 1 << 24  # numbers held at once while routes are traced: 128 MiB


@dataclass(frozen=True, slots=True)
class Routes:
    """The length of every route, station to demand point, and what each two have in common."""

    num_links: NDArray[np.int32]  # [station, demand point]
    shared_links: NDArray[np.int32]  # [station, station, demand point]; on the diagonal: num_links
    drive_minutes: NDArray[np.float64]  # mean [station, demand point]


@dataclass(frozen=True, slots=True)
class Roads:
    """The road graph as arrays: links by their place in `city.links`, nodes by their place in `city.nodes`."""

    from_node: NDArray[np.int32]
    to_node: NDArray[np.int32]
    directed: NDArray[np.bool_]
    minutes: NDArray[np.float64]
    stations: NDArray[np.int32]
    demand: NDArray[np.int32]
    num_nodes: int
    seed: np.uint64

    @property
    def leaving(self) -> kernels.Rows:
        """The arcs that leave each node."""
        return kernels.compress(self.from_node, self.to_node, self.directed, self.num_nodes)

    @property
    def one_mean(self) -> bool:
        """Whether every link has the same mean: then the shortest route is the one with the fewest links."""
        return bool((self.minutes == self.minutes[0]).all())

    def minutes_to(self, destinations: NDArray[np.int32]) -> NDArray[np.float64]:
        """The mean minutes to each destination from every node [destination, node]; inf: no way."""
        arriving = kernels.compress(self.to_node, self.from_node, self.directed, self.num_nodes)
        if self.one_mean:
            hops = np.empty((len(destinations), self.num_nodes))
            kernels.fill_hops(arriving, destinations, hops)
            hops *= self.minutes[0]
            return hops
        return _dijkstra(arriving, self.minutes, destinations)


def find_routes(city: City) -> Routes:
    """The routes from every station to every demand point; a valid city has one for each."""
    roads = read_roads(city)
    leaving = roads.leaving
    distinct = np.array(list(dict.fromkeys(roads.demand.tolist())), dtype=np.int32)
    num_stations = len(roads.stations)
    num_links = np.empty((len(distinct), num_stations), dtype=np.int32)
    shared_links = np.empty((len(distinct), num_stations, num_stations), dtype=np.int32)
    drive_minutes = np.empty((len(distinct), num_stations))
    chunk = max(1, MAX_DISTANCES // roads.num_nodes)
    for low in range(0, len(distinct), chunk):
        part = slice(low, low + chunk)
        minutes = roads.minutes_to(distinct[part])
        drive_minutes[part] = minutes[:, roads.stations]
        kernels.trace_all(
            leaving,
            roads.minutes,
            minutes,
            distinct[part],
            roads.stations,
            roads.seed,
            num_links[part],
            shared_links[part],
        )
    row_of_node = np.empty(roads.num_nodes, dtype=np.int32)
    row_of_node[distinct] = np.arange(len(distinct), dtype=np.int32)
    rows = row_of_node[roads.demand]
    # Station by station: the shared links are the largest array of all, and two copies of it are enough.
    by_station = np.empty((num_stations, num_stations, len(rows)), dtype=np.int32)
    for i in range(num_stations):
        by_station[i] = shared_links[rows, i].T
    return Routes(
        np.ascontiguousarray(num_links[rows].T),
        by_station,
        np.ascontiguousarray(drive_minutes[rows].T),
    )


def routes_to(city: City, demand_index: int) -> tuple[tuple[str, ...], ...]:
    """The route of every station to one demand point, each as its link ids from the station on."""
    roads = read_roads(city)
    leaving = roads.leaving
    destination = roads.demand[demand_index]
    minutes = roads.minutes_to(roads.demand[demand_index : demand_index + 1])[0]
    return tuple(
        tuple(
            city.links[link].link_id
            for link in kernels.list_links(leaving, roads.minutes, minutes, station, destination, roads.seed)
        )
        for station in roads.stations
    )


def route_of(city: City, station_index: int, demand_index: int) -> tuple[str, ...]:
    """The link ids of one route, from the station on."""
    return routes_to(city, demand_index)[station_index]


def outside_route(city: City, longest: int, link_minutes: float) -> tuple[int, float]:
    """The links of the route of a truck from outside, and their mean minutes.

    `longest` are the links of the longest route in the city, and `link_minutes` the mean of its links.
    """
    links, given = city.outside.links, city.outside.link_minutes
    return max(1, 2 * longest) if links is None else int(links), link_minutes if given is None else float(given)


def read_roads(city: City) -> Roads:
    """The road graph of a city as arrays."""
    index = {node.node_id: place for place, node in enumerate(city.nodes)}
    links = city.links
    return Roads(
        from_node=np.array([index[link.from_node_id] for link in links], dtype=np.int32),
        to_node=np.array([index[link.to_node_id] for link in links], dtype=np.int32),
        directed=np.array([link.directed for link in links], dtype=np.bool_),
        minutes=np.array([link.mean_minutes for link in links], dtype=np.float64),
        stations=np.array([index[station.node_id] for station in city.stations], dtype=np.int32),
        demand=np.array([index[point.node_id] for point in city.demand], dtype=np.int32),
        num_nodes=len(city.nodes),
        seed=np.uint64(int(city.driving.route_seed) % 2**64),
    )


def _dijkstra(
    arriving: kernels.Rows, minutes: NDArray[np.float64], destinations: NDArray[np.int32]
) -> NDArray[np.float64]:
    """The mean minutes to each destination from every node [destination, node], where means differ."""
    from scipy.sparse import csr_array  # here, because cities of one mean do without it
    from scipy.sparse.csgraph import dijkstra

    start, end, links = arriving
    num_nodes = len(start) - 1
    node = np.repeat(np.arange(num_nodes), np.diff(start))
    # Of parallel links only the shortest counts; a sparse array would add them up.
    order = np.lexsort((minutes[links], end, node))
    node, end, weight = node[order], end[order], minutes[links][order]
    first = np.ones(len(node), dtype=np.bool_)
    first[1:] = (node[1:] != node[:-1]) | (end[1:] != end[:-1])
    graph = csr_array((weight[first], (node[first], end[first])), shape=(num_nodes, num_nodes))
    return np.atleast_2d(dijkstra(graph, indices=destinations))
