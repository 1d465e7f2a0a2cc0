"""The routes of drives."""

from dataclasses import replace
from itertools import product

import networkx as nx
import numpy as np
import pytest
from tests.calibrate.cities import road_city

from runcard.calibrate.homes import station_nodes
from runcard.calibrate.trips import find_paths, link_classes, minutes_between
from runcard.city import City, generate_grid
from runcard.city.demo import demo_city
from runcard.response.routes import find_routes

CITIES = [road_city(), demo_city(), generate_grid(side=6, num_stations=5, load=0.1, seed=2)]


@pytest.mark.parametrize("city", CITIES, ids=lambda city: city.name)
def test_paths_are_the_routes_of_the_model(city: City) -> None:
    """From stations to demand nodes the links are those of `response.routes`, in grids with many ties, too."""
    routes, homes = find_routes(city), station_nodes(city)
    pairs = list(product(range(len(routes.nodes)), range(len(homes))))
    paths = find_paths(city, [homes[i] for _, i in pairs], [int(routes.nodes[row]) for row, _ in pairs])
    for place, (row, i) in enumerate(pairs):
        own = paths.links[place]
        assert own[own >= 0][::-1].tolist() == routes.route(row, i).tolist()
    column = {int(row): j for j, row in enumerate(routes.row)}
    expected = [routes.drive_minutes[i, column[row]] for row, i in pairs]
    assert paths.minutes == pytest.approx(np.array(expected), rel=1e-12)
    minutes = np.array([link.mean_minutes for link in city.links])
    assert paths.sums(minutes) == pytest.approx(paths.minutes, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("city", CITIES, ids=lambda city: city.name)
def test_shared_minutes_are_those_of_the_common_links(city: City) -> None:
    """What two paths to one node share is the sum over the links that are in both, found as sets."""
    nodes = range(0, len(city.nodes), 2)
    pairs = [(start, end) for end in nodes for start in nodes]
    paths = find_paths(city, [start for start, _ in pairs], [end for _, end in pairs])
    minutes = np.random.default_rng(1).random(len(city.links))
    rng = np.random.default_rng(2)
    first = rng.integers(len(pairs), size=400)
    second = (first // len(nodes)) * len(nodes) + rng.integers(len(nodes), size=400)  # to the same end
    sets = [{link for link in row.tolist() if link >= 0} for row in paths.links]
    expected = [sum(minutes[link] for link in sets[a] & sets[b]) for a, b in zip(first, second, strict=True)]
    assert paths.shared(first, second, minutes) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-12)


def test_minutes_between_are_those_of_networkx() -> None:
    """With one-way streets and parallel links, shortest times are those of another library."""
    city = road_city()
    one_way = replace(city.links[3], directed=True)
    city = replace(
        city,
        links=(*city.links[:3], one_way, *city.links[4:], replace(city.links[0], link_id="slow", mean_minutes=9.0)),
    )
    graph = nx.DiGraph()
    for link in city.links:
        for a, b in ((link.from_node_id, link.to_node_id), (link.to_node_id, link.from_node_id))[: 2 - link.directed]:
            if not graph.has_edge(a, b) or graph[a][b]["weight"] > link.mean_minutes:
                graph.add_edge(a, b, weight=link.mean_minutes)
    expected = dict(nx.all_pairs_dijkstra_path_length(graph))
    names = [node.node_id for node in city.nodes]
    found = minutes_between(city, np.arange(len(names)), np.arange(len(names)))
    assert found == pytest.approx(np.array([[expected[a][b] for b in names] for a in names]), rel=1e-12)


def test_a_path_to_where_it_begins_has_no_links() -> None:
    """No drive takes no time and shares nothing."""
    paths = find_paths(road_city(), [3, 3], [3, 3])
    assert (paths.links == -1).all()
    assert paths.minutes.tolist() == [0.0, 0.0]
    assert paths.shared(np.array([0]), np.array([1]), np.ones(40)).tolist() == [0.0]


def test_classes_of_road() -> None:
    """Links have the class that their extra column says, and all are of one class where it is missing."""
    city = road_city()
    classes, of_link = link_classes(city)
    assert classes == ("main", "side")
    assert [classes[one] for one in of_link] == [dict(link.extra)["road_class"] for link in city.links]
    assert link_classes(demo_city())[0] == ("road",)
