"""The importer on other people's data, where these are beside the project."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from runcard.city.areas import area_of_nodes, demand_nodes, driving_graph
from runcard.city.importers import Imported, ImportOptions, import_city, mapping_of, read_roads

DATA = Path(__file__).parents[4] / "shared" / "data"
MANHATTAN, SAN_FRANCISCO = DATA / "manhattan", DATA / "sanfrancisco"
no_manhattan = pytest.mark.skipif(not MANHATTAN.is_dir(), reason="the raw data of Manhattan are not beside the project")
no_san_francisco = pytest.mark.skipif(
    not SAN_FRANCISCO.is_dir(), reason="the raw data of San Francisco are not beside the project"
)

MANHATTAN_MAPPING = mapping_of(
    {
        "nodes": {"file": "nodes.csv", "skip_rows": 1, "id": "index", "x": "x", "y": "y"},
        "links": {
            "file": "arcs.csv", "skip_rows": 5, "id": "index", "from": "fromNode", "to": "toNode", "minutes": "mode_1",
            "minutes_unit": "days",
        },
        "stations": {"id": "FacilityName", "x": "Longitude", "y": "Latitude", "name": "FacilityAddress"},
    }
)  # fmt: skip
SAN_FRANCISCO_MAPPING = mapping_of(
    {
        "nodes": {"file": "road_nodes.csv", "id": "osmid", "x": "x", "y": "y"},
        "links": {
            "file": "road_edges.csv", "id": "uniqueid", "from": "u", "to": "v", "length": "length", "length_unit": "m",
            "speed": "speed_mph", "speed_unit": "mph", "road_class": "speed_mph",
        },
        "stations": {"id": "station", "x": "longitude", "y": "latitude", "name": "address"},
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def manhattan() -> Imported:
    """Manhattan, imported once."""
    return import_city(MANHATTAN, MANHATTAN / "firehouses.csv", mapping=MANHATTAN_MAPPING)


def times_from(found: Imported, ids: list[str]) -> np.ndarray:
    """[start, end] minutes between nodes of an imported city, by scipy."""
    number = {node.node_id: place for place, node in enumerate(found.city.nodes)}
    ways = [(one.from_node_id, one.to_node_id, one.mean_minutes) for one in found.city.links]
    ways += [(one.to_node_id, one.from_node_id, one.mean_minutes) for one in found.city.links if not one.directed]
    starts, ends = (np.array([number[way[side]] for way in ways]) for side in (0, 1))
    graph = driving_graph(len(number), starts, ends, np.array([way[2] for way in ways]))
    places = [number[one] for one in ids]
    return dijkstra(graph, indices=places)[:, places]


@no_manhattan
def test_manhattan_is_imported_whole(manhattan: Imported) -> None:
    """It has 16,811 nodes, one firehouse without coordinates is named, and the counts add up."""
    found, summary = manhattan, manhattan.summary
    assert (summary.nodes_read, summary.links_read, summary.dropped_nodes) == (16_811, 24_437, 0)
    assert (summary.stations_read, summary.stations, summary.areas) == (48, 47, 400)
    assert [one.reason for one in found.rejected] == ["'Marine 1': expected x to be a number, got ''"]
    assert summary.nodes + summary.contracted_nodes == 16_811
    assert summary.widest_area_minutes <= 3.0
    assert summary.farthest_station_metres < 300.0


@pytest.mark.slow
@no_manhattan
def test_contracting_manhattan_changes_no_route_time(manhattan: Imported) -> None:
    """From all firehouses to all demand nodes, the raw arcs give the same minutes within 1e-9."""
    found = manhattan
    roads = read_roads(MANHATTAN, MANHATTAN_MAPPING).roads
    raw = driving_graph(roads.num_nodes, roads.arcs.start, roads.arcs.end, np.maximum(roads.arcs.minutes, 0.001))
    ids = list(dict.fromkeys([one.node_id for one in found.city.stations] + list(demand_nodes(found.city))))
    places = [roads.node_ids.index(one) for one in ids]
    before = dijkstra(raw, indices=places[:47])[:, places]
    assert np.abs(times_from(found, ids)[:47] - before).max() < 1e-9
    assert before.max() > 10.0


@no_manhattan
def test_every_node_of_manhattan_has_an_area(manhattan: Imported) -> None:
    """The areas are found again from the city alone."""
    found = manhattan
    area = area_of_nodes(found.city)
    assert set(area.tolist()) == set(range(400))


@no_san_francisco
def test_san_francisco_is_imported() -> None:
    """Forty-five stations, at most 600 m from a node; every link has its speed as its class."""
    found = import_city(
        SAN_FRANCISCO,
        SAN_FRANCISCO / "stations.csv",
        mapping=SAN_FRANCISCO_MAPPING,
        options=ImportOptions(num_areas=300),
    )
    summary = found.summary
    assert (summary.nodes_read, summary.links_read, summary.stations, summary.areas) == (1947, 4324, 45, 300)
    assert summary.farthest_station_metres < 600.0
    assert summary.minutes_from == {"minutes": 0, "speed": 4324, "usual": 0}
    assert found.rejected == ()
    assert {dict(link.extra)["road_class"] for link in found.city.links} >= {"25", "30", "35"}
