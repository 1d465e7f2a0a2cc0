"""The paper's random cities: a square grid with some links removed, stations and rates at random.

With d nodes a side the full grid has E = 2d(d-1) links, each of the same mean. Then

    links     removed one by one, uniformly at random among those that leave the graph connected, until at most s E are
              left or none can go; s is the fraction *kept*, drawn from U(0.4, 1) unless it is given
    stations  on distinct nodes, uniformly at random, one after the other
    rates     λ_j ~ U(0, 1) at every node, scaled to the load ρ = Σ_j λ_j / (μ Σ_i C_i), with 1/μ the busy time
    target    t* = γ max_{i,j} (mean driving time from station i to node j)

Which links go is found without testing connectivity. The order in which links are considered for removal is drawn once.
A link that cannot go now can never go later, so skipping it for good is the same as drawing again. Without the limit
s E this is the reverse-delete algorithm with the order as weights: it leaves the minimum spanning tree of the reversed
order. A link is skipped if and only if it is in that tree, and the limit only ends the removals early. So the links
removed are the first ones of the order outside the tree.

Each ingredient has its own random stream. Another load changes only the scale of the rates, another number of stations
adds or removes the last ones, and giving the s that would have been drawn changes nothing.
"""

from math import floor, inf

import numpy as np

from runcard.city.areas import driving_graph
from runcard.city.model import MINUTES_PER_DAY, City, DemandPoint, Driving, Link, Node, Station
from runcard.errors import InputError

Edge = tuple[int, int]

MAX_SIDE = 1000


def generate_grid(
    *,
    side: int,
    num_stations: int,
    load: float,
    seed: int,
    gamma: float = 0.6,
    sparseness: float | None = None,
    shared_delay: float = 1.0,
    busy_minutes: float = 60.0,
    trucks_per_station: int = 1,
    link_minutes: float = 1.0,
) -> City:
    """A random grid city of `side` x `side` nodes; the same arguments always give the same city.

    `sparseness` is the fraction of links kept, `gamma` the target as a fraction of the longest route. The seed also
    breaks ties between equally short routes.
    """
    conditions = (  # the city itself checks the others
        (side >= 2, f"side >= 2, got {side}"),
        (side <= MAX_SIDE, f"side <= {MAX_SIDE}, got {side}"),
        (num_stations >= 1, f"at least one station, got {num_stations}"),
        (num_stations <= side * side, f"at most one station per node ({side * side} in all), got {num_stations}"),
        (0.0 < load < inf, f"load > 0, got {load}"),
        (seed >= 0, f"seed >= 0, got {seed}"),
        (0.0 < gamma < inf, f"gamma > 0, got {gamma}"),
        (sparseness is None or 0.0 <= sparseness <= 1.0, f"sparseness from 0 to 1, got {sparseness}"),
        (0.0 < busy_minutes < inf, f"busy_minutes > 0, got {busy_minutes}"),
        (trucks_per_station >= 1, f"trucks_per_station >= 1, got {trucks_per_station}"),
        (0.0 < link_minutes < inf, f"link_minutes > 0, got {link_minutes}"),
    )
    if faults := [text for holds, text in conditions if not holds]:
        raise InputError("a grid city cannot be generated: expected " + "; ".join(faults))
    num_nodes = side * side
    seeds = np.random.SeedSequence(seed).spawn(4)
    kept_stream, link_stream, station_stream, rate_stream = map(np.random.default_rng, seeds)

    grid = grid_edges(side)
    kept = kept_stream.uniform(0.4, 1.0) if sparseness is None else sparseness
    # The margin keeps 0.29 of 100 links at 29, where the product falls just short of it.
    edges = thinned(grid, link_stream.permutation(len(grid)).tolist(), num_kept=floor(kept * len(grid) + 1e-9))
    places = station_stream.permutation(num_nodes)[:num_stations].tolist()
    weights = rate_stream.random(num_nodes)
    incidents_per_day = load * num_stations * trucks_per_station * MINUTES_PER_DAY / busy_minutes
    rates = (weights * (incidents_per_day / weights.sum())).tolist()

    return City(
        name=f"grid-{side}x{side}-stations-{num_stations}-load-{load:g}-seed-{seed}",
        busy_minutes=busy_minutes,
        target_minutes=gamma * link_minutes * longest_route(edges, places),
        nodes=tuple(Node(f"n{node}", float(node % side), float(node // side)) for node in range(num_nodes)),
        links=tuple(
            Link(f"e{index}", f"n{start}", f"n{end}", False, link_minutes) for index, (start, end) in enumerate(edges)
        ),
        stations=tuple(Station(f"s{index}", f"n{node}", trucks_per_station) for index, node in enumerate(places)),
        demand=tuple(DemandPoint(f"n{node}", rate) for node, rate in enumerate(rates)),
        shared_delay=shared_delay,
        driving=Driving(route_seed=seed),
    )


def grid_edges(side: int) -> list[Edge]:
    """The links of the full grid as pairs of nodes, numbered row by row: for each node right, then down."""
    right = [(node, node + 1) for node in range(side * side) if (node + 1) % side]
    return sorted(right + [(node, node + side) for node in range(side * (side - 1))])


def thinned(edges: list[Edge], order: list[int], *, num_kept: int) -> list[Edge]:
    """The edges left after removing in the given order whatever leaves the graph connected, down to `num_kept`.

    `order` holds the positions of the edges, first to be considered first; the graph of all edges is connected.
    """
    from scipy.sparse.csgraph import minimum_spanning_tree  # here, because it takes a while to import

    ranks = len(order) - np.argsort(order).astype(np.float64)  # the last has rank 1
    starts, ends = np.array(edges).T
    tree = minimum_spanning_tree(driving_graph(1 + int(ends.max()), starts, ends, ranks))
    needed = {order[-int(rank)] for rank in tree.data.tolist()}
    spare = [position for position in order if position not in needed]
    removed = set(spare[: max(0, len(edges) - num_kept)])
    return [edge for position, edge in enumerate(edges) if position not in removed]


def longest_route(edges: list[Edge], places: list[int]) -> int:
    """The number of links of the longest of the shortest routes from any of the places to any node."""
    from scipy.sparse.csgraph import dijkstra

    starts, ends = np.array(edges).T
    graph = driving_graph(1 + int(ends.max()), starts, ends, np.ones(len(edges)))
    return max(int(dijkstra(graph, directed=False, indices=[place], unweighted=True).max()) for place in places)
