"""A city from raw files, as a whole."""

from pathlib import Path

import networkx as nx
import pytest

from runcard.city import City, generate_grid, read_city, write_city
from runcard.city.areas import area_of_nodes, demand_nodes
from runcard.city.importers import Imported, ImportOptions, import_city
from runcard.errors import CityError, InputError

from .cases import graph_of_city, route_times, street_grid, write_rows, write_stations


def imported(folder: Path, graph: nx.MultiDiGraph, **options: object) -> Imported:
    """The city of a street grid with stations in two corners."""
    return import_city(graph, write_stations(folder, graph), options=ImportOptions(**options))  # type: ignore[arg-type]


def plain_minutes(graph: nx.MultiDiGraph) -> nx.DiGraph:
    """The streets of a grid with their minutes at 25 mph."""
    plain = nx.DiGraph()
    for start, end, data in graph.edges(data=True):
        plain.add_edge(str(start), str(end), minutes=data["length"] / (25 * 1609.344 / 60))
    return plain


@pytest.mark.parametrize("seed", range(4))
def test_route_times_of_the_city_are_those_of_the_raw_roads(tmp_path: Path, seed: int) -> None:
    """Between all nodes of the city, networkx finds the same times on its links as on the roads of the file."""
    graph = street_grid(6, seed=seed)
    for one in (1014, 1021):  # two nodes where nothing is decided
        for other in list(graph.predecessors(one)):
            if other in (one - 6, one + 6):
                graph.remove_edges_from([(other, one), (one, other)])
    found = imported(tmp_path, graph, num_areas=6, widest_minutes=5.0)
    city = found.city
    ids = [node.node_id for node in city.nodes]
    assert found.summary.contracted_nodes == 36 - len(ids) - found.summary.dropped_nodes
    before, after = route_times(plain_minutes(graph), ids), route_times(graph_of_city(city), ids)
    assert after == pytest.approx(before, abs=1e-9)


def test_two_way_streets_are_one_link_and_keep_class_and_length(tmp_path: Path) -> None:
    """Links have the extra column road_class, and are directed only where the street is one-way."""
    graph = street_grid(seed=5)
    city = imported(tmp_path, graph, num_areas=25).city
    for link in city.links:
        data = graph.get_edge_data(int(link.from_node_id), int(link.to_node_id))[0]
        assert link.directed == (not graph.has_edge(int(link.to_node_id), int(link.from_node_id)))
        assert (link.length_m, dict(link.extra)) == (data["length"], {"road_class": data["highway"]})
    folder = write_city(city, tmp_path / "city")
    assert (folder / "link.csv").read_text().splitlines()[0].endswith("length_m,road_class")
    assert read_city(folder) == city


def test_two_one_way_roads_that_take_the_same_time_stay_two_links(tmp_path: Path) -> None:
    """The two carriageways between two junctions share nothing, so they are two directed links, equal as they are."""
    graph = street_grid(2)
    graph.add_nodes_from(
        [(1, {"x": -122.401, "y": 37.7}), (2, {"x": -122.402, "y": 37.7}), (3, {"x": -122.403, "y": 37.7})]
    )
    for start, end in [(1000, 1), (1, 3), (3, 2), (2, 1000), (3, 4), (4, 3)]:
        graph.add_edge(start, end, length=100.0, highway="primary", maxspeed="25 mph")
    graph.nodes[4].update({"x": -122.404, "y": 37.7})
    path = write_stations(tmp_path, graph, (1000, 4))
    city = import_city(graph, path, options=ImportOptions(num_areas=1, widest_minutes=50.0)).city
    ways = [
        (one.from_node_id, one.to_node_id, one.directed)
        for one in city.links
        if "3" in (one.from_node_id, one.to_node_id)
    ]
    assert sorted(ways) == [("1000", "3", True), ("3", "1000", True), ("3", "4", False)]


def test_demand_shares_the_total_by_road_length(tmp_path: Path) -> None:
    """Each street counts once, half for the area of either end; the areas are those of the demand nodes."""
    graph = street_grid(seed=6)
    city = imported(tmp_path, graph, num_areas=5, widest_minutes=50.0, incidents_per_day=30.0).city
    assert city.incidents_per_day == pytest.approx(30.0)
    whole = imported(tmp_path, graph, num_areas=25, widest_minutes=50.0).city
    number = {node.node_id: place for place, node in enumerate(whole.nodes)}
    lengths = dict.fromkeys(number, 0.0)
    for link in whole.links:
        for end in (link.from_node_id, link.to_node_id):
            lengths[end] += (link.length_m or 0.0) / 2
    total = sum(lengths.values())
    expected = {point.node_id: 100.0 * lengths[point.node_id] / total for point in whole.demand}
    assert {point.node_id: point.incidents_per_day for point in whole.demand} == pytest.approx(expected)
    assert area_of_nodes(whole).tolist() == [demand_nodes(whole).index(node.node_id) for node in whole.nodes]


def test_kinds_without_standards_get_one_of_each(tmp_path: Path) -> None:
    """A roster of engines and ladders has one type, one unit of each kind, by the target."""
    graph = street_grid()
    roster = write_rows(
        tmp_path / "roster.csv",
        [("unit_id", "station_id", "kind"), ("E1", "S1000", "engine"), ("L1", "S1024", "ladder")],
    )
    found = import_city(graph, write_stations(tmp_path, graph), roster=roster, options=ImportOptions(num_areas=3))
    assert [(one.type, one.kind, one.trucks, one.arrivals, one.target_minutes) for one in found.city.standards] == [
        ("incident", "engine", 1, 1, 6.0),
        ("incident", "ladder", 1, 1, 6.0),
    ]
    assert found.summary.units == {"engine": 1, "ladder": 1}
    assert found.city.target_minutes is None


def test_standards_give_every_area_a_row_for_each_type(tmp_path: Path) -> None:
    """Rates are shared equally among types."""
    graph = street_grid()
    roster = write_rows(
        tmp_path / "roster.csv",
        [("unit_id", "station_id", "kind"), ("E1", "S1000", "engine"), ("E2", "S1024", "engine")],
    )
    rules = write_rows(
        tmp_path / "t.csv",
        [
            ("type", "kind", "trucks", "arrivals", "target_minutes"),
            ("fire", "engine", 2, 1, 4),
            ("alarm", "engine", 1, 1, 8),
        ],
    )
    stations = write_stations(tmp_path, graph)
    city = import_city(graph, stations, roster=roster, standards=rules, options=ImportOptions(num_areas=4)).city
    rates = {of: sum(one.incidents_per_day for one in city.demand if one.type == of) for of in ("fire", "alarm")}
    assert rates == pytest.approx({"fire": 50.0, "alarm": 50.0})
    assert len(city.demand) == 2 * len(demand_nodes(city))
    rules.write_text("type,kind,trucks,arrivals,target_minutes\nfire,engine,two,1,4\n")
    with pytest.raises(CityError, match=r"t.csv: 1 fault: row 2: expected trucks to be a whole number"):
        import_city(graph, stations, roster=roster, standards=rules)


def test_a_city_folder_of_ours_is_a_gmns_folder(tmp_path: Path) -> None:
    """A city that is imported again has the same roads, stations and trucks."""
    city = generate_grid(side=4, num_stations=3, load=0.1, seed=1)
    folder = write_city(city, tmp_path / "city")
    found = import_city(folder, folder / "station.csv", options=ImportOptions(num_areas=100)).city
    ways = [(one.from_node_id, one.to_node_id, one.directed, one.mean_minutes) for one in city.links]
    assert {frozenset(way[:2]) for way in ways} == {
        frozenset((one.from_node_id, one.to_node_id)) for one in found.links
    }
    assert all((one.directed, one.mean_minutes) == (False, 1.0) for one in found.links)
    assert [(one.station_id, one.node_id, one.trucks) for one in found.stations] == [
        (one.station_id, one.node_id, one.trucks) for one in city.stations
    ]


def test_a_station_outside_the_largest_part_is_moved_and_said(tmp_path: Path) -> None:
    """Its node is dropped, so it is placed at the nearest one that is used, with the distance."""
    graph = street_grid()
    graph.add_node(5000, x=-122.41, y=37.7)
    graph.add_edge(1000, 5000, length=900.0, highway="service")
    path = write_rows(tmp_path / "stations.csv", [("id", "node"), ("A", 5000), ("B", 1024)])
    summary = import_city(graph, path).summary
    assert (summary.dropped_nodes, summary.dropped_links) == (1, 1)
    assert [(one.station_id, one.node_id) for one in summary.far_stations] == [("A", "1000")]
    assert summary.farthest_station_metres == pytest.approx(880, abs=3)


def test_projected_metres_stay_metres(tmp_path: Path) -> None:
    """Coordinates stay as they are; distances are plane."""
    graph = street_grid()
    for data in graph.nodes.values():
        data["x"], data["y"] = 5e5 + 88000 * (data["x"] + 122.4), 4.17e6 + 111000 * (data["y"] - 37.7)
    found = imported(tmp_path, graph)
    assert found.summary.coordinates == "metres"
    assert {(node.x_coord, node.y_coord) for node in found.city.nodes} <= {
        (data["x"], data["y"]) for data in graph.nodes.values()
    }
    path = write_rows(tmp_path / "other.csv", [("id", "x", "y"), ("A", -122.4, 37.7)])
    with pytest.raises(InputError, match="expected metres as the roads have"):
        import_city(graph, path)


@pytest.mark.parametrize("field", ["widest_minutes", "incidents_per_day", "target_minutes", "busy_minutes"])
def test_options_check_themselves(field: str) -> None:
    """Nothing, less than nothing and no number are refused."""
    for value in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="to be > 0 and finite"):
            ImportOptions(**{field: value})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one area"):
        ImportOptions(num_areas=0)


def test_the_same_files_give_the_same_city(tmp_path: Path) -> None:
    """Nothing is random."""
    one, two = (imported(tmp_path, street_grid(seed=7), num_areas=6).city for _ in range(2))
    assert isinstance(one, City)
    assert one == two
