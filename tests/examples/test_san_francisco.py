"""The example of San Francisco, built from the raw files where these are."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from tests.examples.readme import missing_lines, run_example, said_lines

from runcard import City, read_city
from runcard.cli import main

DATA = Path(__file__).parents[3] / "shared" / "data" / "sanfrancisco"
EXAMPLE = Path(__file__).parents[2] / "examples" / "san-francisco"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="the raw data of San Francisco are not beside the project"),
]


@dataclass(frozen=True)
class Built:
    """What the example printed, the city that it wrote, and its numbers."""

    output: str
    city: City
    document: dict[str, Any]
    seconds: float


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The example, built once."""
    out = tmp_path_factory.mktemp("san-francisco")
    output, seconds = run_example(EXAMPLE / "build.py", str(DATA), str(out))
    document = json.loads((out / "city" / "fit.json").read_text(encoding="utf-8"))
    return Built(output, read_city(out / "city"), document, seconds)


def test_it_prints_what_the_readme_says(built: Built) -> None:
    """Every line that the README shows is printed, numbers within rounding, in less than 60 seconds."""
    assert len(said_lines(EXAMPLE / "README.md")) > 20
    assert missing_lines(EXAMPLE / "README.md", built.output) == []
    assert built.seconds < 60.0


def test_the_city_has_all_units_that_can_be_placed(built: Built) -> None:
    """All 44 engines by their names, 18 ladders by their drives; the two others are named in a note."""
    assert Counter(unit.kind for unit in built.city.units) == {"engine": 44, "ladder": 18}
    homes = {one["unit"]: one for one in built.document["homes"]}
    assert {one["known_by"] for one in homes.values() if one["kind"] == "engine"} == {"name"}
    own_number = [
        unit for unit, one in homes.items() if one["kind"] == "ladder" and one["station"] == unit[1:].lstrip("0")
    ]
    assert len(own_number) == 16
    assert {unit: homes[unit]["station"] for unit in homes if unit in ("T16", "T17")} == {"T16": "10", "T17": "25"}
    assert any("T04, T48" in note for note in built.document["notes"])
    assert any("is doubtful" in note for note in built.document["notes"])
    assert len(built.city.demand) == 1600


def test_the_areas_tell_every_engine_from_its_neighbours(built: Built) -> None:
    """Every engine is first due somewhere: by a search of our own for the station of each area with the shortest drive.
    E38 and E05, which are first due nowhere with 135 areas, have more than half of their responses, and no more than a
    tenth of the work beyond chance is at other stations."""
    engines = {one["unit"]: one for one in built.document["goodness"]["busy"] if one["kind"] == "engine"}
    city = built.city.of_kind("engine")
    graph = nx.DiGraph()
    for link in city.links:
        ends = (link.from_node_id, link.to_node_id)
        graph.add_edge(*ends, weight=link.mean_minutes)
        if not link.directed:
            graph.add_edge(*ends[::-1], weight=link.mean_minutes)
    minutes = {
        station.station_id: nx.single_source_dijkstra_path_length(graph, station.node_id) for station in city.stations
    }
    areas = {point.node_id for point in city.demand}
    closest = {min(minutes, key=lambda station: minutes[station][area]) for area in areas}
    assert closest == set(minutes)
    assert all(one["first_due"] for one in engines.values())
    for unit in ("E05", "E38"):
        assert engines[unit]["predicted_responses_per_day"] > 0.5 * engines[unit]["responses_per_day"] > 5.0
    faults = built.document["goodness"]["faults"]
    assert not any("First due nowhere" in fault or "at other stations" in fault for fault in faults)


def test_its_standards_are_those_of_the_example(built: Built) -> None:
    """Each type and kind that is sent has the target of standards.csv."""
    targets = {(one.type, one.kind): one.target_minutes for one in built.city.standards}
    engines = dict.fromkeys([(name, "engine") for name in ("fire", "outside", "alarm", "medical")], 5.33)
    assert targets == {**engines, ("fire", "ladder"): 8.0, ("alarm", "ladder"): 8.0}


def test_shared_delay_is_not_one(built: Built) -> None:
    """The interval holds 0 and the 0.05 of an independent look, and ends below the 1 of the paper."""
    (shared,) = (one for one in built.document["numbers"] if one["name"] == "shared_delay")
    assert shared["low"] < 0.05 < shared["high"] < 0.9
    assert built.city.shared_delay == pytest.approx(shared["value"])


def test_raw_files_that_are_not_there_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without roads ends the build with the message of the import."""
    command = ["import", str(tmp_path / "out"), "--roads", str(tmp_path), "--stations", str(DATA / "stations.csv")]
    assert main([*command, "--mapping", str(EXAMPLE / "mapping.toml")]) == 2
    assert "road_nodes.csv" in capsys.readouterr().err
