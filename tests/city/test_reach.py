"""Which stations have a route to every demand point."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from runcard.city import DemandPoint, Link, Station
from runcard.city.check import route_faults


@given(
    num_nodes=st.integers(2, 7),
    pairs=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.booleans()), min_size=1, max_size=16),
    places=st.lists(st.integers(0, 6), min_size=1, max_size=4),
    demand=st.lists(st.integers(0, 6), min_size=1, max_size=4),
)
def test_missing_routes_are_those_networkx_misses(
    num_nodes: int, pairs: list[tuple[int, int, bool]], places: list[int], demand: list[int]
) -> None:
    """A station has a fault exactly if some demand point cannot be reached from it along the links' directions."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(num_nodes))
    links = []
    for index, (start, end, directed) in enumerate(pairs):
        start, end = start % num_nodes, end % num_nodes
        links.append(Link(f"e{index}", f"n{start}", f"n{end}", directed, 1.0))
        graph.add_edges_from([(start, end)] if directed else [(start, end), (end, start)])
    places = [place % num_nodes for place in places]
    demand = [node % num_nodes for node in demand]
    expected = [
        index for index, place in enumerate(places) if not all(nx.has_path(graph, place, node) for node in demand)
    ]
    stations = [Station(f"s{index}", f"n{place}", 1) for index, place in enumerate(places)]
    points = [DemandPoint(f"n{node}", 1.0) for node in demand]
    assert [fault.index for fault in route_faults(links, stations, points)] == expected
