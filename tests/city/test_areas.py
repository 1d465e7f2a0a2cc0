"""Demand areas: how many, how wide, and which node belongs to which."""

import networkx as nx
import numpy as np
import pytest

from runcard.city import City, DemandPoint, Link, Node, Station, generate_grid
from runcard.city.areas import (
    NO_AREA,
    area_of_nodes,
    demand_nodes,
    drive_minutes,
    driving_graph,
    spread_areas,
    street_graph,
)
from runcard.errors import InputError


def random_streets(num_nodes: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A ring of streets with as many shortcuts, some of them parallel; starts, ends and minutes."""
    random = np.random.default_rng(seed)
    starts = np.append(np.arange(num_nodes), random.integers(0, num_nodes, num_nodes))
    ends = np.append((np.arange(num_nodes) + 1) % num_nodes, random.integers(0, num_nodes, num_nodes))
    return starts, ends, random.uniform(0.1, 1.0, 2 * num_nodes)


def undirected(starts: np.ndarray, ends: np.ndarray, minutes: np.ndarray) -> nx.Graph:
    """The streets as a graph of networkx, the faster of parallel ones."""
    graph = nx.Graph()
    for start, end, time in zip(starts.tolist(), ends.tolist(), minutes.tolist(), strict=True):
        graph.add_edge(start, end, minutes=min(time, graph.get_edge_data(start, end, {"minutes": time})["minutes"]))
    return graph


@pytest.mark.parametrize("seed", range(3))
def test_no_area_is_wider_than_asked(seed: int) -> None:
    """By networkx, every node is within half of the width of its centre, which is the nearest one."""
    starts, ends, minutes = random_streets(80, seed)
    graph = undirected(starts, ends, minutes)
    found = spread_areas(street_graph(80, starts, ends, minutes), num_areas=5, widest_minutes=1.5)
    assert len(found.centres) > 5
    assert found.widest_minutes <= 1.5
    apart = dict(nx.all_pairs_dijkstra_path_length(graph, weight="minutes"))
    for node in range(80):
        nearest = min(apart[centre][node] for centre in found.centres.tolist())
        assert apart[int(found.centres[found.area_of[node]])][node] == pytest.approx(nearest)
        assert found.minutes[node] == pytest.approx(nearest)


def test_the_number_of_areas_is_met_where_they_are_narrow_enough() -> None:
    """With a generous width there are as many as asked, or one for each node, and always the same ones."""
    streets = street_graph(60, *random_streets(60, 1))
    one, again = (spread_areas(streets, num_areas=12, widest_minutes=100.0) for _ in range(2))
    assert len(one.centres) == 12
    assert one.centres.tolist() == again.centres.tolist() == sorted(one.centres.tolist())
    assert one.area_of.tolist() == again.area_of.tolist()
    assert len(spread_areas(streets, num_areas=1000, widest_minutes=1.0).centres) == 60


def test_farthest_point_seeding_is_within_twice_the_best() -> None:
    """On a small ring, no three centres have less than half of the width that was found."""
    starts, ends, minutes = random_streets(12, 3)
    apart = np.array(nx.floyd_warshall_numpy(undirected(starts, ends, minutes), nodelist=range(12), weight="minutes"))
    found = spread_areas(street_graph(12, starts, ends, minutes), num_areas=3, widest_minutes=100.0)
    triples = [(a, b, c) for a in range(12) for b in range(a) for c in range(b)]
    best = min(2.0 * apart[list(triple)].min(axis=0).max() for triple in triples)
    assert best <= found.widest_minutes <= 2.0 * best + 1e-12


def test_one_way_signs_count_only_in_the_driving_time() -> None:
    """Upstream of its centre a node is near along the street, and far to drive to."""
    ring = (np.arange(6), (np.arange(6) + 1) % 6, np.ones(6))
    found = spread_areas(street_graph(6, *ring), num_areas=1, widest_minutes=100.0)
    assert found.minutes.tolist() == [0.0, 1.0, 2.0, 3.0, 2.0, 1.0]
    assert drive_minutes(driving_graph(6, *ring), found).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_the_areas_of_a_city_come_from_its_demand_nodes_alone() -> None:
    """Each node belongs to the nearest demand node; a node that no street leads to belongs to none."""
    nodes = tuple(Node(f"n{one}", float(one), 0.0) for one in range(6))
    links = tuple(Link(f"l{one}", f"n{one}", f"n{one + 1}", one == 3, 1.0 + one / 10) for one in range(4))
    demand = tuple(DemandPoint(node, 1.0, type=of) for node in ("n3", "n0") for of in ("fire", "medical"))
    stations = (Station("s", "n0", 1),)
    city = City("line", 60.0, 5.0, nodes, links, stations, demand)
    assert demand_nodes(city) == ("n3", "n0")
    assert area_of_nodes(city).tolist() == [1, 1, 0, 0, 0, NO_AREA]
    grid = generate_grid(side=4, num_stations=2, load=0.1, seed=1)
    assert area_of_nodes(grid).tolist() == list(range(16))


def test_a_width_of_nothing_is_refused() -> None:
    """No area at all, and no width at all, are mistakes."""
    streets = street_graph(6, *random_streets(6, 1))
    with pytest.raises(InputError, match="at least one area, got 0"):
        spread_areas(streets, num_areas=0, widest_minutes=1.0)
    with pytest.raises(InputError, match="more than 0 minutes, got 0"):
        spread_areas(streets, num_areas=1, widest_minutes=0.0)
