"""The same roads from every format, and roads that no format may get past."""

import sys
from pathlib import Path

import networkx as nx
import numpy as np
import osmnx
import pytest

from runcard.city.importers import mapping_of, read_roads, roads_from_graph
from runcard.city.importers.roads import ReadRoads
from runcard.errors import InputError, MissingExtraError

from .cases import graph_of, street_grid, write_rows

NODE_HEADER = ("node_id", "x_coord", "y_coord")
LINK_HEADER = ("link_id", "from_node_id", "to_node_id", "directed", "length", "free_speed", "facility_type")


def minutes_of(graph: nx.MultiDiGraph) -> nx.DiGraph:
    """What the roads of a street grid must be, worked out here: 25 mph, and the faster of parallel streets."""
    expected = nx.DiGraph()
    for start, end, data in graph.edges(data=True):
        minutes = data["length"] / (25 * 1609.344 / 60)
        before = expected.get_edge_data(str(start), str(end), {"minutes": np.inf})["minutes"]
        expected.add_edge(str(start), str(end), minutes=min(minutes, before))
    return expected


def assert_same(read: ReadRoads, graph: nx.MultiDiGraph) -> None:
    """The roads that were read are those of the graph: nodes, places, ways, minutes, lengths and classes."""
    roads, expected = read.roads, minutes_of(graph)
    found = graph_of(roads)
    assert dict(found.nodes) == dict(expected.nodes)
    assert found.edges.keys() == expected.edges.keys()
    for start, end in expected.edges:
        assert found.edges[start, end]["minutes"] == pytest.approx(expected.edges[start, end]["minutes"], rel=1e-9)
    for place, one in enumerate(roads.node_ids):
        assert (roads.x[place], roads.y[place]) == pytest.approx(
            (graph.nodes[int(one)]["x"], graph.nodes[int(one)]["y"])
        )
    assert roads.lonlat
    lengths = sorted(data["length"] for _, _, data in graph.edges(data=True))
    assert sorted(roads.arcs.length_m.tolist()) == pytest.approx(lengths)
    assert set(roads.arcs.road_class) == {"residential", "secondary"}
    assert read.rejected == ()


def write_gmns(folder: Path, graph: nx.MultiDiGraph, *, kilometres: bool) -> Path:
    """A GMNS folder; in miles and mph it needs its config.csv. Two-way streets are one undirected link."""
    folder.mkdir()
    length, speed = (1e-3, 25 * 1.609344) if kilometres else (1 / 1609.344, 25)
    if not kilometres:
        write_rows(folder / "config.csv", [("dataset_name", "long_length", "speed"), ("town", "mile", "mph")])
    nodes = [(one, data["x"], data["y"]) for one, data in graph.nodes(data=True)]
    write_rows(folder / "node.csv", [NODE_HEADER, *nodes])
    links: list[tuple[object, ...]] = [LINK_HEADER]
    for number, (start, end, data) in enumerate(graph.edges(data=True)):
        two_way = graph.has_edge(end, start)
        if not two_way or start < end:
            links.append((number, start, end, int(not two_way), data["length"] * length, speed, data["highway"]))
    write_rows(folder / "link.csv", links)
    return folder


def saved(folder: Path, graph: nx.MultiDiGraph, ending: str) -> Path:
    """The file or folder of a graph in a format."""
    path = folder / f"town.{ending}"
    if ending == "graphml":
        osmnx.save_graphml(graph, path)
    elif ending == "gpkg":
        osmnx.save_graph_geopackage(graph, path, directed=True)
    else:
        write_gmns(path, graph, kilometres=ending == "kilometres")
    return path


@pytest.mark.parametrize("ending", ["graphml", "gpkg", "kilometres", "miles"])
def test_every_format_is_read(tmp_path: Path, ending: str) -> None:
    """What OSMnx saves, and GMNS: in kilometres without a config.csv, else in its units; undirected links both ways.

    A graph in memory needs no file.
    """
    graph = street_grid(seed=len(ending))
    assert_same(roads_from_graph(graph), graph)
    assert_same(read_roads(saved(tmp_path, graph, ending)), graph)


@pytest.mark.parametrize("text", ["", "id\n", "long_length,speed\n,km/h\n"])
def test_a_configuration_that_says_nothing_is_passed_over(tmp_path: Path, text: str) -> None:
    """Then lengths are kilometres, and speeds km/h."""
    folder = tables(tmp_path, NODES, LINKS)
    plain = read_roads(folder).roads
    (folder / "config.csv").write_text(text)
    assert read_roads(folder).roads.arcs.minutes.tolist() == plain.arcs.minutes.tolist()


def test_tables_with_a_mapping_are_read(tmp_path: Path) -> None:
    """Other names, other units, rows above the header, and a one-way column."""
    graph = street_grid(seed=4)
    nodes = [(f"{one}.0", data["y"], data["x"]) for one, data in graph.nodes(data=True)]
    write_rows(tmp_path / "n.csv", [("nodes", len(nodes)), ("nr", "lat", "lon"), *nodes])
    links = [
        (start, end, data["length"] / 0.3048, 25, data["highway"], "yes" if not graph.has_edge(end, start) else "no")
        for start, end, data in graph.edges(data=True)
        if not graph.has_edge(end, start) or start < end
    ]
    write_rows(tmp_path / "l.csv", [("a", "b", "feet", "v", "class", "oneway"), *links])
    mapping = mapping_of(
        {
            "nodes": {"file": "n.csv", "skip_rows": 1, "id": "nr", "x": "lon", "y": "lat"},
            "links": {
                "file": "l.csv", "from": "a", "to": "b", "length": "feet", "length_unit": "ft", "speed": "v",
                "speed_unit": "mph", "road_class": "class", "one_way": "oneway",
            },
        }
    )  # fmt: skip
    assert_same(read_roads(tmp_path, mapping), graph)


def test_times_of_osmnx_come_before_speeds() -> None:
    """travel_time, then speed_kph, then maxspeed, then the usual speed of the class; how many of each is counted."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from((one, {"x": 10.0 * one, "y": 1000.0}) for one in range(2000, 2005))
    common = {"length": 1000.0, "highway": "['primary', 'secondary']"}
    graph.add_edge(2000, 2001, **common, travel_time="90", speed_kph=10)
    graph.add_edge(2001, 2002, **common, speed_kph="20", maxspeed="50")
    graph.add_edge(2002, 2003, **common, maxspeed="['30', '50']")
    graph.add_edge(2003, 2004, **common)
    read = roads_from_graph(graph)
    assert read.roads.arcs.minutes.tolist() == pytest.approx([1.5, 3.0, 1.5, 1.0])
    assert read.minutes_from == {"minutes": 1, "speed": 2, "usual": 1}
    assert set(read.roads.arcs.road_class) == {"primary"}
    assert not read.roads.lonlat


def test_an_undirected_graph_is_two_way_but_for_one_way_streets() -> None:
    """Then `oneway` says which."""
    graph = nx.Graph()
    graph.add_nodes_from((one, {"x": 1e5, "y": 2e6}) for one in "123")
    graph.add_edge("1", "2", length=10)
    graph.add_edge("2", "3", length=10, oneway="True")
    roads = roads_from_graph(graph).roads
    assert {(roads.node_ids[a], roads.node_ids[b]) for a, b in zip(roads.arcs.start, roads.arcs.end, strict=True)} == {
        ("1", "2"),
        ("2", "1"),
        ("2", "3"),
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("not xml", "expected roads in GraphML"),
        ("", "expected roads in GraphML"),
        ("<html></html>", "expected roads in GraphML"),
        (
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed"/></graphml>',
            "expected roads, got a graph without nodes",
        ),
        (
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed"><node id="1"/>'
            "</graph></graphml>",
            "expected numbers x and y at its nodes, 1 of 1 have none",
        ),
    ],
)
def test_graphml_that_cannot_be_used_is_a_sentence(tmp_path: Path, content: str, words: str) -> None:
    """Other text, other XML, no nodes and no places."""
    path = tmp_path / "a.graphml"
    path.write_text(content)
    with pytest.raises(InputError, match=words):
        read_roads(path)


def test_roads_of_no_known_format_are_refused(tmp_path: Path) -> None:
    """The error says which formats there are."""
    with pytest.raises(InputError, match=r"GraphML file .* got nothing"):
        read_roads(tmp_path / "none")
    (tmp_path / "a.shp").touch()
    with pytest.raises(InputError, match=r"got a file that ends in \.shp"):
        read_roads(tmp_path / "a.shp")
    with pytest.raises(InputError, match=r"a GMNS folder .* got a folder without them"):
        read_roads(tmp_path)
    (tmp_path / "a.gpkg").write_text("x")
    with pytest.raises(InputError, match="expected a GeoPackage with a layer nodes"):
        read_roads(tmp_path / "a.gpkg")


def test_a_geopackage_without_the_extra_names_its_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a missing extra helps."""
    monkeypatch.setitem(sys.modules, "geopandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'runcard\[geo\]'"):
        read_roads(tmp_path / "a.gpkg")


def tables(folder: Path, nodes: str, links: str) -> Path:
    """A GMNS folder of these texts."""
    (folder / "node.csv").write_text(nodes)
    (folder / "link.csv").write_text(links)
    return folder


NODES = "node_id,x_coord,y_coord\n" + "".join(f"{one},{-122.4 + one / 1000},37.7\n" for one in range(1, 9))
LINKS = "link_id,from_node_id,to_node_id,directed,length,free_speed\n" + "".join(
    f"{one},{one},{one + 1},0,0.1,50\n" for one in range(1, 8)
)


def test_rows_that_cannot_be_used_are_listed_with_their_number(tmp_path: Path) -> None:
    """Unknown nodes, negative lengths, words for numbers, no speed and repeated nodes: each with its row and reason."""
    links = LINKS + "8,1,77,0,0.1,50\n9,1,2,0,-3,50\n10,1,2,0,far,50\n11,1,2,0,0.1,0\n12,1,2,maybe,0.1,50\n"
    read = read_roads(tables(tmp_path, NODES + "1,-122.399,37.7\n9,x,37.7\n", links))
    assert [(one.file, one.row, one.reason) for one in read.rejected] == [
        ("node.csv", 11, "expected x to be a number, got 'x'"),
        ("node.csv", 10, "id '1' again, at the same place"),
        ("link.csv", 9, "expected to to be a known node, got '77'"),
        ("link.csv", 11, "expected length to be a number, got 'far'"),
        ("link.csv", 10, "expected length >= 0, got '-3'"),
        ("link.csv", 12, "expected speed > 0 and at most 400 km/h, got '0'"),
        ("link.csv", 13, "expected one_way to be 1 or 0, true or false, yes or no, got 'maybe'"),
    ]
    assert read.num_links == 12
    assert len(read.roads.arcs) == 14


@pytest.mark.parametrize(
    ("nodes", "links", "words"),
    [
        (NODES.replace("-122.4", "37.7"), LINKS.replace("from_node_id", "from_node"), "missing column from_node_id"),
        (NODES + "1,-122.3,37.7\n", LINKS, r"node.csv row 10: expected ids to be unique, got '1', also in row 2"),
        (NODES, LINKS.replace("free_speed", "x"), "expected free_speed, mean_minutes or facility_type"),
        (NODES, LINKS.replace(",0,0.1", ",0,-1"), r"link.csv: 7 of 7 links cannot be used, the first in row 2: "),
        (NODES.replace(",37.7", ",x"), LINKS, r"node.csv: 8 of 8 nodes cannot be used, the first in row 2"),
        ("", LINKS, "node.csv: expected a header row"),
    ],
)
def test_tables_that_cannot_be_used_are_a_sentence(tmp_path: Path, nodes: str, links: str, words: str) -> None:
    """A missing column, one id for two places, and a mistake in most rows stop the import."""
    with pytest.raises(InputError, match=words):
        read_roads(tables(tmp_path, nodes, links))


def test_exchanged_coordinates_of_nodes_are_noticed(tmp_path: Path) -> None:
    """A latitude of -122 is none; the error says what to do."""
    swapped = "node_id,x_coord,y_coord\n" + "".join(f"{one},37.7,{-122.4 + one / 1000}\n" for one in range(1, 9))
    with pytest.raises(InputError, match=r"longitude and latitude are swapped: exchange x and y, in \[nodes\]"):
        read_roads(tables(tmp_path, swapped, LINKS))


def test_the_coordinates_of_any_format_can_be_stated(tmp_path: Path) -> None:
    """A section with `crs` alone overrules the guess, and is no table of nodes."""
    mapping = mapping_of({"nodes": {"crs": "metres"}})
    folder = write_gmns(tmp_path / "gmns", street_grid(), kilometres=True)
    osmnx.save_graphml(street_grid(), tmp_path / "town.graphml")
    for path in (folder, tmp_path / "town.graphml"):
        read = read_roads(path, mapping)
        assert (read.roads.lonlat, read.guessed_crs) == (False, False)
        assert read_roads(path).guessed_crs


def test_a_mapping_must_name_what_is_needed(tmp_path: Path) -> None:
    """Both sections, the ends of a link, and something that gives its time."""
    nodes = {"file": "node.csv", "id": "node_id", "x": "x_coord", "y": "y_coord"}
    with pytest.raises(InputError, match=r"expected a section \[links\]"):
        read_roads(tmp_path, mapping_of({"nodes": nodes}))
    with pytest.raises(InputError, match=r"expected from in \[links\], got none"):
        read_roads(tmp_path, mapping_of({"nodes": nodes, "links": {"file": "link.csv"}}))
    with pytest.raises(InputError, match=r"expected speed, minutes or road_class in \[links\]"):
        read_roads(tmp_path, mapping_of({"nodes": nodes, "links": {"file": "link.csv", "from": "a", "to": "b"}}))
    given = mapping_of(
        {"nodes": nodes | {"crs": "lonlat"}, "links": {"file": "l", "from": "a", "to": "b", "minutes": "m"}}
    )
    with pytest.raises(InputError, match="expected longitudes and latitudes"):
        read_roads(tables(tmp_path, NODES.replace("37.7", "4200000"), LINKS), given)
