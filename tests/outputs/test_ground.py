"""The ground of maps: areas, roads and stations as plain values."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import shapely
from tests.page.pages import large_city

from runcard.city import City, DemandPoint, Link, Node, Station, demo_city, generate_grid
from runcard.city.areas import area_of_nodes, demand_nodes
from runcard.outputs.ground import ground_of
from runcard.page import embedded


def shapes(city: City) -> dict[str, shapely.Geometry]:
    """The areas of the ground of a city; a ring inside another is a hole."""
    found = {}
    for area in ground_of(city)["areas"]:
        shape = shapely.Polygon()
        for ring in area["rings"]:
            shape = shape.symmetric_difference(shapely.Polygon(np.array(ring).reshape(-1, 2)))
        found[area["id"]] = shape
    return found


@pytest.mark.parametrize("city", [demo_city(), large_city(12, 40)], ids=["demo", "large"])
def test_areas_cover_their_middles_and_do_not_overlap(city: City) -> None:
    """Every demand node is inside its own area, and no two areas have more in common than rounding makes."""
    found = shapes(city)
    places = {node.node_id: shapely.Point(node.x_coord, node.y_coord) for node in city.nodes}
    assert list(found) == list(demand_nodes(city))
    assert all(found[node_id].contains(places[node_id]) for node_id in found)
    assert shapely.union_all(list(found.values())).area == pytest.approx(
        sum(shape.area for shape in found.values()), rel=1e-3
    )


def test_a_whole_grid_gives_its_blocks() -> None:
    """With plain coordinates and a node in every area, an area is the square around it, whatever the unit."""
    city = generate_grid(side=5, num_stations=2, load=0.1, seed=1, sparseness=1.0)
    for factor in (1.0, 100.0, 1e5):
        nodes = (replace(one, x_coord=factor * one.x_coord, y_coord=factor * one.y_coord) for one in city.nodes)
        larger = replace(city, nodes=tuple(nodes))
        for shape in shapes(larger).values():
            assert shape.area == pytest.approx(factor**2, rel=0.03)


def test_most_nodes_lie_in_their_own_area() -> None:
    """Tidying moves borders a little: of a random town, fewer than one node in ten."""
    city = large_city(20, 40)
    found, names = shapes(city), demand_nodes(city)
    inside = [
        found[names[area]].contains(shapely.Point(node.x_coord, node.y_coord))
        for node, area in zip(city.nodes, area_of_nodes(city).tolist(), strict=True)
    ]
    assert np.mean(inside) > 0.9


def test_roads_of_both_directions_are_drawn_once() -> None:
    """A piece of road with a link each way is one piece."""
    city = generate_grid(side=3, num_stations=1, load=0.1, seed=1, sparseness=1.0)
    back = tuple(
        replace(link, link_id=f"{link.link_id}b", from_node_id=link.to_node_id, to_node_id=link.from_node_id)
        for link in city.links
    )
    assert len(ground_of(replace(city, links=city.links + back))["roads"]) == len(city.links) == 12


def test_stations_have_their_units() -> None:
    """With a roster by name and kind; without one a truck for each that the station has."""
    stations = {one["id"]: one for one in ground_of(demo_city())["stations"]}
    assert stations["central"]["name"] == "Central"
    assert {"id": "E01", "kind": "engine"} in stations["central"]["units"]
    plain = generate_grid(side=3, num_stations=2, load=0.1, seed=1)
    assert [len(one["units"]) for one in ground_of(plain)["stations"]] == [one.trucks for one in plain.stations]


@pytest.mark.slow
def test_the_ground_of_a_large_city_stays_small() -> None:
    """540 areas and 10,000 pieces of road are less than a megabyte."""
    city = large_city(72, 540)
    ground = ground_of(city)
    assert (len(ground["areas"]), len(ground["roads"])) == (540, len(city.links))
    assert len(embedded(ground).encode()) < 1_000_000
    assert json.loads(embedded(ground)) == ground


def line_city(*places: tuple[float, float]) -> City:
    """A city of some nodes in a row, each with demand, and a station at the first."""
    grid = generate_grid(side=2, num_stations=1, load=0.1, seed=1)
    names = [f"n{number}" for number in range(len(places))]
    return replace(
        grid,
        nodes=tuple(Node(name, *place) for name, place in zip(names, places, strict=True)),
        links=tuple(Link(f"l{one}", one, other, False, 1.0) for one, other in pairwise(names)),
        stations=(Station("s", names[0], 2),),
        demand=tuple(DemandPoint(name, 1.0) for name in names),
    )


@pytest.mark.parametrize(
    "places",
    [
        [(0.0, 0.0), (1.0, 0.0)],
        [(5.0, 5.0), (5.0, 5.0)],
        [(550000.0, 4180000.0), (550500.0, 4180000.0), (550000.0, 4180700.0)],
        [(7.00001, 51.00001), (7.00002, 51.00001)],
        [(0.0, 0.0), (0.001, 0.0), (0.002, 0.0), (1000.0, 0.0)],
        [(0.0, 0.0), (1e-9, 0.0), (1e9, 1e9)],
    ],
    ids=["two", "one place", "metres", "close", "thin", "far"],
)
def test_odd_cities_have_a_ground(places: list[tuple[float, float]]) -> None:
    """Two nodes, nodes in one place, a thin town with a far outpost: each has areas."""
    city = line_city(*places)
    areas = ground_of(city)["areas"]
    assert len(areas) == len(places)
    assert areas[0]["rings"]
