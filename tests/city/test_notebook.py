"""Cities in a notebook."""

from dataclasses import replace

import numpy as np
import pytest
from tests.markup import HOSTILE, shown
from tests.weeks import with_days

from runcard.city import City, DemandPoint, Link, Node, Station, demo_city, generate_grid
from runcard.city.model import taken_as_sound


def test_the_table_says_what_the_city_has() -> None:
    """Stations, units of each kind, incidents of each type and standards are those of the city."""
    city = demo_city()
    (table,) = shown(city).tables
    rows = dict(table)
    assert (rows["stations"], rows["units: engine"], rows["units: ladder"]) == ("9", "10", "2")
    assert rows["incidents a day"] == f"{city.incidents_per_day:.3g}"
    fires = sum(point.incidents_per_day for point in city.demand if point.type == "fire")
    assert rows["incidents a day: fire"] == f"{fires:.3g}"
    assert sum(name.startswith("standard: ") for name, _ in table) == len(city.standards)


def test_a_plain_city_and_one_with_periods() -> None:
    """A city of one kind says when an incident is in time; periods are named."""
    city = with_days(generate_grid(side=3, num_stations=2, load=0.1, seed=1))
    rows = dict(shown(city).tables[0])
    assert rows["units: truck"] == "2"
    assert rows["in time"] == city.rule_of(city.demand[0])
    assert rows["periods"] == "day, night"


def test_the_map_shows_roads_demand_and_stations() -> None:
    """A line for each road, a dot for each demand node whose area grows with its rate, and every station by name."""
    city = demo_city()
    page = shown(city)
    paths = [attributes["d"] or "" for tag, attributes in page.tags if tag == "path"]
    assert paths[0].count("M") == len({frozenset((link.from_node_id, link.to_node_id)) for link in city.links})
    radii = [float(attributes["r"] or 0) for tag, attributes in page.tags if tag == "circle"]
    assert len(radii) == len({point.node_id for point in city.demand})
    rates: dict[str, float] = {}
    for point in city.demand:
        rates[point.node_id] = rates.get(point.node_id, 0.0) + point.incidents_per_day
    found = np.sort(radii)[::-1] ** 2 / max(radii) ** 2
    expected = np.sort(list(rates.values()))[::-1] / max(rates.values())
    np.testing.assert_allclose(found, expected, atol=0.05)
    assert all(station.name in page.words for station in city.stations)
    assert "E01" in page.words


def test_north_is_up_and_places_lie_as_they_do() -> None:
    """Distances in the picture are those of the coordinates times one number, with y turned around."""
    nodes = (Node("a", 0.0, 0.0), Node("b", 300.0, 0.0), Node("c", 0.0, 200.0))
    links = (Link("1", "a", "b", False, 1.0), Link("2", "a", "c", False, 1.0))
    stations = tuple(Station(node.node_id, node.node_id, 1) for node in nodes)
    city = City("three", 30.0, 5.0, nodes, links, stations, (DemandPoint("a", 1.0),))
    squares = [attributes for tag, attributes in shown(city).tags if tag == "rect"]
    (ax, ay), (bx, by), (cx, cy) = ((float(one["x"] or 0), float(one["y"] or 0)) for one in squares)
    assert (ay, ax) == (by, cx)
    assert bx > ax
    assert cy < ay
    assert (ay - cy) / (bx - ax) == pytest.approx(200.0 / 300.0, abs=0.01)


def test_hostile_names_are_only_text() -> None:
    """Names of the city, of stations and of types that are scripts are shown, and do nothing."""
    city = demo_city()
    hostile = replace(
        city,
        name=HOSTILE,
        stations=tuple(replace(one, name=HOSTILE) for one in city.stations),
        standards=tuple(replace(one, type=HOSTILE) if one.type == "fire" else one for one in city.standards),
        demand=tuple(replace(one, type=HOSTILE) if one.type == "fire" else one for one in city.demand),
    )
    page = shown(hostile)
    assert HOSTILE in page.words
    assert "alert" not in str([attributes for _, attributes in page.tags])


@pytest.mark.slow
def test_a_large_city_stays_small() -> None:
    """With 40,000 nodes, 80,000 links and stations of long names it is below 200 kB, in degrees and in other units."""
    side, names = 200, "Station & " * 8
    places = [(x, y) for x in range(side) for y in range(side)]
    pairs = [(f"{x}-{y}", f"{x + dx}-{y + dy}") for x, y in places for dx, dy in ((0, 1), (1, 0))
             if x + dx < side and y + dy < side]  # fmt: skip
    links = tuple(Link(str(number), start, end, False, 0.1) for number, (start, end) in enumerate(pairs))
    for scale in (1.0, 0.001):
        nodes = tuple(Node(f"{x}-{y}", scale * (x + 0.5), scale * (y + 0.5)) for x, y in places)
        stations = tuple(Station(f"s{n}", node.node_id, 1, name=names) for n, node in enumerate(nodes[::100]))
        demand = tuple(DemandPoint(node.node_id, 1.0) for node in nodes)
        with taken_as_sound():
            city = City("large", 30.0, 5.0, nodes, links, stations, demand)
        assert len(city._repr_html_().encode()) < 200_000
        shown(city)


def test_a_city_without_extent() -> None:
    """Where all nodes are in one place there is a map of one place."""
    nodes, links = (Node("a", 3.0, 4.0), Node("b", 3.0, 4.0)), (Link("1", "a", "b", False, 1.0),)
    city = City("dot", 30.0, 5.0, nodes, links, (Station("home", "a", 1),), (DemandPoint("a", 1.0),))
    assert "nan" not in city._repr_html_()
    assert "home" in shown(city).words
