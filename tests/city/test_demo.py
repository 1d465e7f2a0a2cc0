"""The built-in city."""

import networkx as nx

from runcard.city import demo_city


def test_the_demo_city_is_as_promised() -> None:
    """A town of about a hundred nodes, nine stations, ten engines, two ladders, equal links and a moderate load."""
    city = demo_city()
    assert city.name == "Two Bridges"
    assert 60 <= len(city.nodes) <= 120
    assert sorted(station.trucks for station in city.of_kind("engine").stations) == [1] * 8 + [2]
    assert [unit.station_id for unit in city.units if unit.kind == "ladder"] == ["central", "harbour"]
    assert {point.type for point in city.demand} == {"fire", "alarm", "medical"}
    assert {link.mean_minutes for link in city.links} == {1.0}
    assert 0.05 <= city.load <= 0.15
    assert all(item.name for item in (*city.nodes, *city.stations))


def test_the_two_bridges_alone_join_the_banks_of_the_demo_city() -> None:
    """Without the Old Bridge and the Harbour Bridge the town falls into a northern and a southern half."""
    city = demo_city()
    names = {node.node_id: node.name for node in city.nodes}
    graph = nx.Graph((link.from_node_id, link.to_node_id) for link in city.links)
    bridges = [edge for edge in graph.edges if all("Bridge" in names[node_id] for node_id in edge)]
    assert len(bridges) == 2
    graph.remove_edges_from(bridges)
    assert nx.number_connected_components(graph) == 2
