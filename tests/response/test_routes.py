"""Tests of the routes: shortest, repeatable, tied ones equally likely, and a tree towards each demand point."""

from collections import Counter
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chi2

from runcard.city import City, Driving
from runcard.response import routes
from runcard.response.routes import find_routes, routes_to


def random_city(make_city: Any, seed: int, *, one_mean: bool) -> City:
    """Return a connected city of 40 nodes with one-way and two-way links, parallel links and self-loops."""
    rng = np.random.default_rng(seed)
    ring = [(u, (u + 1) % 40, bool(rng.integers(2)), 1.0) for u in range(40)]
    chords = [(*rng.integers(40, size=2).tolist(), bool(rng.integers(2)), 1.0) for _ in range(50)]
    edges = ring + chords + chords[:10] + [(3, 3, False, 1.0)]
    if not one_mean:  # eighths, so that ties between sums are exact and frequent
        edges = [(u, w, one_way, float(rng.integers(1, 9)) / 8) for u, w, one_way, _ in edges]
    stations = rng.choice(40, size=7, replace=False).tolist()
    demand = rng.choice(40, size=30).tolist()
    return make_city(edges, stations, demand, driving=Driving(route_seed=seed))


@pytest.fixture(params=[(seed, one_mean) for seed in range(4) for one_mean in (True, False)], ids=str)
def tangled(request: pytest.FixtureRequest, make_city: Any) -> City:
    """Return random cities with every kind of link, with one mean and with differing means."""
    seed, one_mean = request.param
    return random_city(make_city, seed, one_mean=one_mean)


def as_networkx(city: City) -> nx.MultiDiGraph:
    """Return the road graph as networkx has it."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(node.node_id for node in city.nodes)
    for link in city.links:
        graph.add_edge(link.from_node_id, link.to_node_id, key=link.link_id, minutes=link.mean_minutes)
        if not link.directed:
            graph.add_edge(link.to_node_id, link.from_node_id, key=link.link_id, minutes=link.mean_minutes)
    return graph


def nodes_along(city: City, station: int, route: tuple[str, ...]) -> list[str]:
    """Return the nodes of a route; fails where a link does not continue it in an allowed direction."""
    links = {link.link_id: link for link in city.links}
    nodes = [city.stations[station].node_id]
    for link_id in route:
        link = links[link_id]
        if link.from_node_id == nodes[-1]:
            nodes.append(link.to_node_id)
        else:
            assert not link.directed
            assert link.to_node_id == nodes[-1]
            nodes.append(link.from_node_id)
    return nodes


def test_line_by_hand(make_city: Any) -> None:
    """On the line 0-1-2-3 the stations at 0 and 1 share the two links from 1 to 3, and none to a point between them."""
    city = make_city([(0, 1), (1, 2), (2, 3)], [0, 1], [3, 0, 1], link_minutes=0.5)
    found = find_routes(city)
    assert found.num_links.tolist() == [[3, 0, 1], [2, 1, 0]]
    assert found.shared_links[0, 1].tolist() == found.shared_links[1, 0].tolist() == [2, 0, 0]
    assert found.drive_minutes.tolist() == [[1.5, 0.0, 0.5], [1.0, 0.5, 0.0]]
    assert routes_to(city, 0)[0] == ("e0", "e1", "e2")
    assert routes_to(city, 1)[0] == ()


def test_one_way(make_city: Any) -> None:
    """A one-way ring of four is driven in its own direction only."""
    city = make_city([(u, (u + 1) % 4, True, 1.0) for u in range(4)], [0, 1], [3, 0])
    assert find_routes(city).num_links.tolist() == [[3, 0], [2, 3]]
    assert routes_to(city, 1)[1] == ("e1", "e2", "e3")


def test_shortest_in_minutes_not_links(make_city: Any) -> None:
    """Where means differ, two links of one minute beat one of three, and the shorter of parallel links is taken."""
    city = make_city([(0, 1, False, 3.0), (0, 2, False, 1.0), (2, 1, False, 2.5), (2, 1, False, 1.0)], [0], [1])
    found = find_routes(city)
    assert found.num_links.tolist() == [[2]]
    assert found.drive_minutes.tolist() == [[2.0]]
    assert routes_to(city, 0)[0] == ("e1", "e3")


def test_distances_agree_with_networkx(tangled: City) -> None:
    """The mean driving times are those of networkx's Dijkstra on the multigraph."""
    graph = as_networkx(tangled)
    found = find_routes(tangled)
    for i, station in enumerate(tangled.stations):
        expected = nx.single_source_dijkstra_path_length(graph, station.node_id, weight="minutes")
        assert found.drive_minutes[i] == pytest.approx([expected[point.node_id] for point in tangled.demand], rel=1e-12)


def test_listed_routes_are_the_counted_ones(tangled: City) -> None:
    """A listed route leads to the demand point and has the links, minutes and shared links that were counted.

    The shared links are counted here by intersecting the sets of links.
    """
    found = find_routes(tangled)
    minutes = {link.link_id: link.mean_minutes for link in tangled.links}
    for j, point in enumerate(tangled.demand):
        listed = routes_to(tangled, j)
        assert listed[2] == routes_to(tangled, j)[2]
        for i, route in enumerate(listed):
            assert nodes_along(tangled, i, route)[-1] == point.node_id
            assert found.num_links[i, j] == len(route)
            assert found.drive_minutes[i, j] == pytest.approx(sum(minutes[link] for link in route), rel=1e-12)
            assert found.shared_links[i, :, j].tolist() == [len(set(route) & set(other)) for other in listed]


def test_routes_to_one_point_form_a_tree(tangled: City) -> None:
    """Whatever truck passes a node on its way to a demand point, it leaves it by the same link."""
    for j in range(len(tangled.demand)):
        leaves: dict[str, str] = {}
        for i, route in enumerate(routes_to(tangled, j)):
            for node, link in zip(nodes_along(tangled, i, route), route, strict=False):
                assert leaves.setdefault(node, link) == link


def test_order_of_stations_and_demand_does_not_matter(make_grid: Any) -> None:
    """Listing stations and demand points in another order permutes the routes and changes none."""
    city = make_grid(6, [0, 7, 21, 35, 5])
    turned = replace(city, stations=city.stations[::-1], demand=city.demand[::-1])
    found, other = find_routes(city), find_routes(turned)
    assert (other.num_links[::-1, ::-1] == found.num_links).all()
    assert (other.shared_links[::-1, ::-1, ::-1] == found.shared_links).all()


def test_demand_points_at_one_node_have_one_route(make_grid: Any) -> None:
    """Several demand rows at one node, such as incident classes, get the same routes."""
    city = make_grid(4, [0, 9])
    doubled = replace(city, demand=city.demand + city.demand[3:5])
    found = find_routes(doubled)
    assert found.shared_links[:, :, -2:].tolist() == found.shared_links[:, :, 3:5].tolist()
    assert found.num_links[:, :16].tolist() == find_routes(city).num_links.tolist()


@pytest.mark.parametrize("one_mean", [True, False])
def test_small_memory_gives_the_same(make_city: Any, monkeypatch: pytest.MonkeyPatch, one_mean: bool) -> None:
    """Tracing the demand points one at a time, as for a city too large to hold all distances, changes nothing."""
    city = random_city(make_city, 9, one_mean=one_mean)
    found = find_routes(city)
    monkeypatch.setattr(routes, "MAX_DISTANCES", 1)
    again = find_routes(city)
    assert (again.shared_links == found.shared_links).all()
    assert (again.drive_minutes == found.drive_minutes).all()


def test_seed_repeats_and_matters(make_grid: Any) -> None:
    """A seed gives the same routes each time, and on a grid other seeds give others; a seed may have any size."""
    city = make_grid(6, [0, 35])

    def listed(seed: int) -> list[tuple[tuple[str, ...], ...]]:
        seeded = replace(city, driving=Driving(route_seed=seed))
        return [routes_to(seeded, j) for j in range(36)]

    assert listed(1) == listed(1)
    assert listed(1) != listed(2)
    assert listed(2**70 + 1) == listed(1)


def ways(make_city: Any, num_ways: int, *, parallel: bool) -> City:
    """Return a city with equally short ways from node 0 to node 1: parallel links, or each through its own node."""
    if parallel:
        return make_city([(0, 1)] * num_ways, [0], [1])
    return make_city([edge for k in range(num_ways) for edge in ((0, 2 + k), (2 + k, 1))], [0], [1])


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [True, False])
def test_ties_are_equally_likely(make_city: Any, parallel: bool) -> None:
    """Over 1,000 consecutive seeds five tied ways are taken equally often, by a chi-square test at 1 in 10,000."""
    city = ways(make_city, 5, parallel=parallel)
    taken = Counter(routes_to(replace(city, driving=Driving(route_seed=seed)), 0)[0] for seed in range(1000))
    assert len(taken) == 5
    assert sum((count - 200) ** 2 / 200 for count in taken.values()) < chi2.ppf(0.9999, 4)


def test_ties_differ_between_destinations(make_grid: Any) -> None:
    """With one seed, trucks leave a corner of a grid along either side about equally often over the destinations."""
    city = make_grid(15, [0])
    inner = [j for j in range(225) if j % 15 and j >= 15]
    first = Counter(routes_to(city, j)[0][0] for j in inner)
    assert len(first) == 2
    assert sum((count - 98) ** 2 / 98 for count in first.values()) < chi2.ppf(0.9999, 1)


def test_roads_are_read_once_for_the_same_links(make_grid: Any) -> None:
    """Cities with the very same nodes and links share their roads; with other links, or another seed, they do not."""
    city = make_grid(3, [0, 8])
    roads = routes.road_graph(city)
    assert routes.road_graph(replace(city, demand=city.demand[:1])) is roads
    assert routes.road_graph(replace(city, driving=Driving(route_seed=5))).seed == 5
    slower = replace(city, links=tuple(replace(link, mean_minutes=2.0 * link.mean_minutes) for link in city.links))
    assert routes.road_graph(slower).minutes.tolist() == (2.0 * roads.minutes).tolist()
    assert routes.road_graph(city).minutes.tolist() == roads.minutes.tolist()
