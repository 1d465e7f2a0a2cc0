"""`runcard import` and `runcard areas`."""

import csv
import json
from pathlib import Path

import networkx as nx
import pytest

from runcard.city import generate_grid, read_city, write_city

DOCS = Path(__file__).parents[2] / "docs"

NODES = "id,lon,lat\n" + "".join(f"{one},{-122.4 + one / 500},{37.7 + one % 3 / 500}\n" for one in range(12))
LINKS = "a,b,metres,mph\n" + "".join(f"{one},{one + 1},250,25\n{one + 1},{one},250,25\n" for one in range(11))
MAPPING = """
[nodes]
file = "n.csv"
id = "id"
x = "lon"
y = "lat"
[links]
file = "l.csv"
from = "a"
to = "b"
length = "metres"
speed = "mph"
speed_unit = "mph"
[log]
anything = "of fit"
"""


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Raw files: a street of twelve nodes, a road that leads nowhere, two stations, and one without a place."""
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "n.csv").write_text(NODES + "99,-122.4,37.71\n")
    (folder / "l.csv").write_text(LINKS + "0,99,900,25\n3,3,5,25\n0,1,900,25\n0,77,1,25\n")
    (folder / "m.toml").write_text(MAPPING)
    (folder / "stations.csv").write_text("station,longitude,latitude\nA,-122.4,37.7\nB,-122.378,37.706\nLost,,\n")
    return folder


def arguments(raw: Path, *more: object) -> list[object]:
    """The command that imports the raw files."""
    own = ["--roads", raw, "--mapping", raw / "m.toml", "--stations", raw / "stations.csv"]
    return ["import", raw.parent / "city", *own, *more]


def test_an_import_says_everything_that_it_did(run, raw: Path) -> None:
    """Every count is printed, the city can be read, and the rows that were left out are listed in a file."""
    ran = run(*arguments(raw, "--areas", 4, "--widest-minutes", 3))
    assert (ran.code, ran.err) == (0, "")
    for words in (
        "Roads read: 13 nodes and 26 links; coordinates: longitude and latitude (guessed from their range)",
        "25 from a stated speed",
        "Self loops dropped: 1",
        "Parallel links dropped, because another one is faster: 1",
        "1 node and 1 link outside the largest part",
        "nodes along roads contracted, without changing a route time",
        "2 of 3 stations placed at the nearest node",
        "demand areas",
        "The incident rates are not data",
        "l.csv row 27: expected to to be a known node, got '77'",
        "stations.csv row 4: 'Lost': expected x to be a number, got ''",
        "2 rows could not be used and are listed in import-rejected.csv",
    ):
        assert words in " ".join(ran.out.split()), words
    city = read_city(raw.parent / "city")
    assert city.name == "city"
    assert [one.station_id for one in city.stations] == ["A", "B"]
    with (raw.parent / "city" / "import-rejected.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["file", "row", "reason"]
    assert [row[:2] for row in rows[1:]] == [["l.csv", "27"], ["stations.csv", "4"]]


def test_json_has_every_count_and_is_documented(run, raw: Path) -> None:
    """The same numbers for programs; each key stands in the reference."""
    ran = run(*arguments(raw, "--json"))
    assert ran.code == 0
    document = json.loads(ran.out)
    assert (document["nodes_read"], document["self_loops"], document["parallel_links"]) == (13, 1, 1)
    assert document["rejected"] == {"l.csv": 1, "stations.csv": 1}
    text = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    section = text.split("## `runcard import", 1)[1].split("## `", 1)[0]
    assert [key for key in document if f"`{key}`" not in section] == []


def test_every_option_reaches_the_city(run, raw: Path) -> None:
    """No option is swallowed on the way."""
    (raw / "roster.csv").write_text("unit_id,station_id,kind\nE1,A,engine\nE2,B,engine\n")
    (raw / "types.csv").write_text("type,kind,trucks,arrivals,target_minutes\nfire,engine,2,1,4\n")
    options = ["--units", raw / "roster.csv", "--incidents-per-day", 12, "--busy-minutes", 33, "--name", "Old Town"]
    assert run(*arguments(raw, *options, "--target-minutes", 7)).code == 0
    city = read_city(raw.parent / "city")
    assert (city.name, city.busy_minutes, city.target_minutes) == ("Old Town", 33.0, 7.0)
    assert city.incidents_per_day == pytest.approx(12.0)
    assert [unit.unit_id for unit in city.units] == ["E1", "E2"]
    assert run(*arguments(raw, *options, "--standards", raw / "types.csv", "--overwrite")).code == 0
    assert [one.target_minutes for one in read_city(raw.parent / "city").standards] == [4.0]


def test_a_city_in_the_way_stays_and_a_list_of_before_goes(run, raw: Path) -> None:
    """Without --overwrite nothing changes; an import without rejected rows leaves no list."""
    assert run(*arguments(raw)).code == 0
    ran = run(*arguments(raw))
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "--overwrite" in ran.err
    (raw / "l.csv").write_text(LINKS)
    (raw / "stations.csv").write_text("station,longitude,latitude\nA,-122.4,37.7\n")
    assert run(*arguments(raw, "--overwrite")).code == 0
    assert not (raw.parent / "city" / "import-rejected.csv").exists()


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("stations.csv", "station,longitude,latitude\nA,37.7,-122.4\n", "are swapped: it lies near the roads only if"),
        ("n.csv", "id,lat,lon\n1,-122.4,37.7\n2,-122.41,37.71\n", "longitude and latitude are swapped"),
        ("m.toml", "[nodes]\nfiel = 'n.csv'\n", "unknown key fiel (did you mean file?)"),
        ("l.csv", "a,b,metres\n", "missing column mph, the speed of [links]"),
        ("l.csv", "", "l.csv: expected a header row, got an empty one"),
        (
            "n.csv",
            "id,lon,lat\n1,here,37.7\n",
            "1 of 1 nodes cannot be used, the first in row 2: expected x to be a number",
        ),
    ],
)
def test_mistakes_are_one_readable_line(run, raw: Path, file: str, text: str, words: str) -> None:
    """Exit code 2, one line that says where and what was expected, and no folder."""
    (raw / file).write_text(text)
    ran = run(*arguments(raw))
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert words in ran.err
    assert not (raw.parent / "city").exists()


def test_graphml_needs_no_mapping(run, tmp_path: Path) -> None:
    """Roads of OSMnx and stations with usual names of columns are enough."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from((one, {"x": 7.0 + one / 100, "y": 51.0}) for one in range(4))
    for one in range(3):
        graph.add_edge(one, one + 1, length=700.0, highway="residential")
        graph.add_edge(one + 1, one, length=700.0, highway="residential")
    nx.write_graphml(graph, tmp_path / "town.graphml")
    (tmp_path / "stations.csv").write_text("Station,Longitude,Latitude\n7,7.0,51.0\n")
    ran = run(
        "import", tmp_path / "city", "--roads", tmp_path / "town.graphml", "--stations", tmp_path / "stations.csv"
    )
    assert (ran.code, ran.err) == (0, "")
    assert "6 from the usual speed of its road class" in ran.out
    assert "1 station placed at the nearest node, 0 m away" in ran.out
    assert [link.mean_minutes for link in read_city(tmp_path / "city").links] == pytest.approx([1.4] * 3)


def test_areas_are_written_as_geojson(run, raw: Path, tmp_path: Path) -> None:
    """A feature for each demand node; a city in metres is refused in a sentence."""
    assert run(*arguments(raw, "--areas", 4)).code == 0
    ran = run("areas", tmp_path / "city", "-o", tmp_path / "areas.geojson")
    assert ran.code == 0
    assert "4 areas" in ran.out
    document = json.loads((tmp_path / "areas.geojson").read_text())
    assert len(document["features"]) == 4
    grid = write_city(generate_grid(side=8, num_stations=2, load=0.1, seed=1), tmp_path / "grid")
    ran = run("areas", grid, "-o", tmp_path / "grid.geojson")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "not longitude and latitude" in ran.err
