"""The paper's random grids."""

from dataclasses import replace
from math import floor, sqrt

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.city import City, generate_grid
from runcard.city.grid import grid_edges, thinned
from runcard.errors import CityError, InputError

sides = st.integers(2, 6)
seeds = st.integers(0, 2**32)


def graph_of(city: City) -> nx.Graph:
    """The road graph of a city as networkx sees it."""
    graph = nx.Graph()
    graph.add_nodes_from(node.node_id for node in city.nodes)
    graph.add_edges_from((link.from_node_id, link.to_node_id) for link in city.links)
    return graph


def removed_literally(side: int, order: list[int], num_kept: int) -> list[tuple[int, int]]:
    """What is left when the paper's procedure is followed step by step, testing connectivity after each removal."""
    edges = grid_edges(side)
    graph = nx.Graph(edges)
    for position in order:
        if graph.number_of_edges() <= num_kept:
            break
        graph.remove_edge(*edges[position])
        if not nx.is_connected(graph):
            graph.add_edge(*edges[position])
    return [edge for edge in edges if graph.has_edge(*edge)]


@given(side=st.integers(2, 5), kept=st.floats(0.0, 1.0), data=st.data())
def test_thinning_is_the_literal_procedure(side: int, kept: float, data: st.DataObject) -> None:
    """The spanning tree of the reversed order tells which links the paper's procedure removes, for every limit."""
    order = data.draw(st.permutations(range(2 * side * (side - 1))))
    num_kept = floor(kept * len(order))
    assert thinned(grid_edges(side), list(order), num_kept=num_kept) == removed_literally(side, list(order), num_kept)


@given(
    side=sides, sparseness=st.floats(0.0, 1.0), load=st.floats(0.001, 2.0), busy=st.floats(1.0, 200.0),
    trucks=st.integers(1, 3), gamma=st.floats(0.1, 2.0), link_minutes=st.floats(0.1, 10.0), seed=seeds,
)  # fmt: skip
def test_a_grid_has_the_links_load_and_target_asked_for(
    side: int, sparseness: float, load: float, busy: float, trucks: int, gamma: float, link_minutes: float, seed: int
) -> None:
    """It is connected, by the given fraction of the full grid's links, rounded down, or a spanning tree if it is more.

    The load is exact to rounding, and t* is gamma times the longest of all shortest routes from a station, in mean
    minutes.
    """
    city = generate_grid(
        side=side, num_stations=3, load=load, seed=seed, sparseness=sparseness, busy_minutes=busy,
        trucks_per_station=trucks, gamma=gamma, link_minutes=link_minutes,
    )  # fmt: skip
    graph = graph_of(city)
    assert nx.is_connected(graph)
    assert len(city.nodes) == len(city.demand) == side * side
    assert len(city.links) == max(floor(sparseness * 2 * side * (side - 1) + 1e-9), side * side - 1)
    assert city.load == pytest.approx(load, rel=1e-12)
    assert city.num_trucks == 3 * trucks
    longest = max(nx.eccentricity(graph, station.node_id) for station in city.stations)
    assert city.target_minutes == pytest.approx(gamma * link_minutes * longest, rel=1e-14)


def test_the_same_seed_gives_the_same_city() -> None:
    """A city can be made again from its arguments, and another seed gives another one."""
    options = {"side": 5, "num_stations": 4, "load": 0.2}
    assert generate_grid(**options, seed=8) == generate_grid(**options, seed=8)
    assert generate_grid(**options, seed=8).links != generate_grid(**options, seed=9).links


def test_each_ingredient_has_its_own_randomness() -> None:
    """The load scales the rates and no more; one station more leaves the others, the links and the weights alone."""
    city = generate_grid(side=5, num_stations=4, load=0.1, seed=8)
    loaded = generate_grid(side=5, num_stations=4, load=0.2, seed=8)
    assert replace(loaded, name=city.name, demand=city.demand) == city
    ratios = [
        high.incidents_per_day / low.incidents_per_day for high, low in zip(loaded.demand, city.demand, strict=True)
    ]
    assert ratios == pytest.approx([2.0] * 25, rel=1e-12)
    larger = generate_grid(side=5, num_stations=5, load=0.1, seed=8)
    assert (larger.links, larger.stations[:4]) == (city.links, city.stations)
    denser = generate_grid(side=5, num_stations=4, load=0.1, seed=8, sparseness=1.0)
    assert (denser.stations, denser.demand) == (city.stations, city.demand)


def test_the_fraction_of_links_kept_is_uniform() -> None:
    """The mean number of links over 400 grids of 6 x 6 is that of max(floor(60 s), 35) for s uniform on (0.4, 1)."""
    counts = [len(generate_grid(side=6, num_stations=1, load=0.1, seed=seed).links) for seed in range(400)]
    expected = np.maximum(np.floor(60 * (0.4 + 0.6 * (np.arange(36_000) + 0.5) / 36_000)), 35)
    assert abs(np.mean(counts) - expected.mean()) < 3.0 * expected.std() / sqrt(len(counts))


def test_rates_and_stations_are_uniform() -> None:
    """Over 400 grids of 2 x 2 each node is the first station equally often, and has a quarter of the incidents."""
    cities = [generate_grid(side=2, num_stations=2, load=0.1, seed=seed) for seed in range(400)]
    first = np.bincount([int(city.stations[0].node_id[1:]) for city in cities], minlength=4)
    assert ((first - 100.0) ** 2 / 100.0).sum() < 11.34  # 99 % of chi-squared with 3 degrees of freedom
    shares = np.array([[point.incidents_per_day / city.incidents_per_day for point in city.demand] for city in cities])
    assert (abs(shares.mean(axis=0) - 0.25) < 3.0 * shares.std(axis=0) / 20.0).all()
    assert all(len({station.node_id for station in city.stations}) == 2 for city in cities)


def test_ids_and_coordinates_run_row_by_row() -> None:
    """Nodes, links and stations are numbered as in the golden cities."""
    city = generate_grid(side=3, num_stations=9, load=0.1, seed=0, sparseness=1.0)
    assert [(node.node_id, node.x_coord, node.y_coord) for node in city.nodes[2:4]] == [
        ("n2", 2.0, 0.0),
        ("n3", 0.0, 1.0),
    ]
    assert [(link.link_id, link.from_node_id, link.to_node_id) for link in city.links[:3]] == [
        ("e0", "n0", "n1"),
        ("e1", "n0", "n3"),
        ("e2", "n1", "n2"),
    ]
    assert [station.station_id for station in city.stations] == [f"s{index}" for index in range(9)]
    assert city.driving.route_seed == 0


def test_nonsense_is_refused_with_every_reason() -> None:
    """All arguments that make no city are named in one error."""
    with pytest.raises(InputError) as caught:
        generate_grid(side=3, num_stations=10, load=0.0, seed=-1, gamma=0.0, sparseness=1.5, busy_minutes=-1.0)
    assert str(caught.value) == (
        "a grid city cannot be generated: expected at most one station per node (9 in all), got 10; load > 0, got 0.0; "
        "seed >= 0, got -1; gamma > 0, got 0.0; sparseness from 0 to 1, got 1.5; busy_minutes > 0, got -1.0"
    )
    with pytest.raises(InputError, match="side >= 2, got 1"):
        generate_grid(side=1, num_stations=1, load=0.1, seed=0)
    with pytest.raises(CityError, match="expected shared_delay from 0 to 1, got 2"):
        generate_grid(side=3, num_stations=1, load=0.1, seed=0, shared_delay=2.0)


def test_a_large_grid_is_no_trouble_and_one_larger_than_memory_is_refused() -> None:
    """Twenty stations on 400 nodes are a city; a side that would take gigabytes is an error, no machine that swaps."""
    assert nx.number_connected_components(graph_of(generate_grid(side=20, num_stations=20, load=0.1, seed=1))) == 1
    with pytest.raises(InputError, match="side <= 1000, got 100000"):
        generate_grid(side=100_000, num_stations=2, load=0.1, seed=1)
