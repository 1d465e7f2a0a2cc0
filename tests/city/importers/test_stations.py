"""Stations and rosters, put at road nodes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runcard.city.importers import mapping_of, roads_from_graph
from runcard.city.importers.mapping import Section
from runcard.city.importers.roads import clean_roads
from runcard.city.importers.stations import PlacedStations, read_roster, read_stations
from runcard.errors import InputError

from .cases import street_grid

GRID = street_grid()
READ = roads_from_graph(GRID).roads
ROADS = clean_roads(READ)[0]
Place = Callable[..., PlacedStations]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Place the stations of a text."""

    def placed(text: str, section: Section | None = None) -> PlacedStations:
        path = tmp_path / "stations.csv"
        path.write_text(text, encoding="utf-8")
        return read_stations(path, section, ROADS, READ)

    return placed


def section_of(name: str, **keys: object) -> Section | None:
    """A section of a mapping file."""
    return getattr(mapping_of({name: keys}), name)


def test_stations_are_at_the_nearest_node(place: Place) -> None:
    """By coordinates, with usual names of columns; the distance is kept."""
    found = place("Station,Longitude,Latitude,Address\n1.0,-122.3999,37.7,1 Main St\n2,-122.384,37.712,\n")
    assert found.ids == ("1", "2")
    assert [ROADS.node_ids[one] for one in found.nodes] == ["1000", "1024"]
    assert found.metres.tolist() == pytest.approx([8.8, 0.0], abs=0.1)
    assert found.names == ("1 Main St", "")
    assert found.trucks == (1, 1)


def test_stations_can_be_given_by_node_and_with_trucks(place: Place) -> None:
    """As our own station.csv has them."""
    found = place("station_id,node_id,trucks\nA,1003,2\nB,1007,\n")
    assert [ROADS.node_ids[one] for one in found.nodes] == ["1003", "1007"]
    assert found.trucks == (2, 1)
    assert found.metres.tolist() == [0.0, 0.0]


def test_rows_that_cannot_be_used_are_listed(place: Place) -> None:
    """No coordinates, an id again, a word with a meaning, a place in another country, and half a truck."""
    good = "".join(f"S{one},-122.4,37.7,1\n" for one in range(6))
    found = place(
        "id,x,y,trucks\n" + good + "T,,37.7,1\nS1,-122.4,37.7,1\nall,-122.4,37.7,1\nU,0,0,1\nV,-122.4,37.7,1.5\n"
    )
    assert len(found.ids) == 6
    assert [(one.row, one.reason.split(",")[0]) for one in found.rejected] == [
        (8, "'T': expected x to be a number"),
        (9, "expected stations to be unique"),
        (10, "expected no station called all"),
        (12, "expected trucks to be a whole number from 1 to 1000"),
        (11, "expected a station near the roads"),
    ]


def test_texts_are_cleaned_and_counted(place: Place) -> None:
    """Control characters and commas in ids would break lists and terminals."""
    found = place('id,x,y,name\n"A,1",-122.4,37.7,Fire\x1b[31m\nB\x07,-122.4,37.7,\n')
    assert found.ids == ("A 1", "B")
    assert found.names[0] == "Fire[31m"
    assert found.num_cleaned == 2


def test_exchanged_coordinates_are_noticed(place: Place) -> None:
    """All of them, or one row of many: an error that says where, and how to fix it."""
    with pytest.raises(
        InputError, match=r"stations.csv row 2: longitude and latitude .* 2 of 2 rows do; .*\[stations\]"
    ):
        place("id,x,y\nA,37.7,-122.4\nB,37.71,-122.39\n")
    with pytest.raises(InputError, match=r"stations.csv row 3: .* 1 of 3 rows do"):
        place("id,x,y\nA,-122.4,37.7\nB,37.71,-122.39\nC,-122.4,37.7\n")


def test_what_a_file_lacks_is_named(place: Place) -> None:
    """Without usual names the mapping must say which columns there are."""
    with pytest.raises(InputError, match=r"expected columns for id, x, y .or a node.; name them in \[stations\]"):
        place("A,B\n1,2\n")
    with pytest.raises(InputError, match="missing column lon, the x of"):
        place("id,long,lat\n1,2,3\n", section_of("stations", x="lon", y="lat"))
    with pytest.raises(InputError, match="2 of 2 stations cannot be used"):
        place("id,node\nA,nowhere\nB,nowhere\n")
    with pytest.raises(InputError, match="expected stations near the roads, got none"):
        place("id,x,y\nA,0,0\n")


def test_a_roster_names_stations_or_places(place: Place, tmp_path: Path) -> None:
    """By the station's id, or by coordinates, whose nearest station is the home."""
    stations = place("id,x,y\nA,-122.4,37.7\nB,-122.384,37.712\n")
    path = tmp_path / "roster.csv"
    path.write_text(
        "unit,station,kind\nE1,A,engine\nE2,C,engine\nT1,B,ladder/truck\nE1,B,engine\nE3,B,\nE4,B,engine\nE5,A,x\n"
    )
    units, rejected = read_roster(path, None, stations, ROADS, READ)
    assert [(one.unit_id, one.station_id, one.kind) for one in units] == [
        ("E1", "A", "engine"),
        ("T1", "B", "ladder-truck"),
        ("E4", "B", "engine"),
        ("E5", "A", "x"),
    ]
    assert [one.row for one in rejected] == [3, 5, 6]
    path.write_text("unit,lon,lat,type\nE1,-122.385,37.711,engine\nE2,-122.399,37.7,engine\n")
    units, _ = read_roster(path, None, stations, ROADS, READ)
    assert [one.station_id for one in units] == ["B", "A"]
