"""Areas as GeoJSON, checked by shapely."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely
from shapely.geometry import shape

from runcard.city import City, demo_city, generate_grid
from runcard.city.areas import area_of_nodes, demand_nodes
from runcard.errors import InputError
from runcard.outputs.area_file import areas_document, write_areas
from runcard.outputs.areas import area_shapes


def town(side: int, num_areas: int, *, seed: int = 1) -> City:
    """A grid in longitude and latitude, about 100 m apart, with demand at some of its nodes."""
    city = generate_grid(side=side, num_stations=2, load=0.1, seed=seed, sparseness=0.6)
    random = np.random.default_rng(seed)
    nodes = tuple(
        replace(node, x_coord=7.0 + node.x_coord / 700.0, y_coord=51.0 + node.y_coord / 1100.0) for node in city.nodes
    )
    chosen = sorted(random.permutation(side * side)[:num_areas].tolist())
    return replace(city, nodes=nodes, demand=tuple(city.demand[one] for one in chosen))


@pytest.mark.parametrize("seed", range(4))
def test_areas_are_valid_apart_and_hold_their_nodes(seed: int) -> None:
    """Shapely finds every area valid, none overlapping, and every road node inside its own, on a grid full of ties."""
    city = town(9, 7, seed=seed)
    document = areas_document(city)
    areas = [shape(feature["geometry"]) for feature in document["features"]]
    assert all(area.is_valid and not area.is_empty for area in areas)
    assert shapely.union_all(areas).area == pytest.approx(sum(area.area for area in areas), rel=1e-6)
    for node, area in zip(city.nodes, area_of_nodes(city).tolist(), strict=True):
        assert areas[area].contains(shapely.Point(node.x_coord, node.y_coord))


def test_rings_turn_as_the_standard_wants() -> None:
    """Around an area counter-clockwise, around a hole clockwise, and closed."""
    for feature in areas_document(town(9, 7))["features"]:
        for polygon in feature["geometry"]["coordinates"]:
            for place, ring in enumerate(polygon):
                assert ring[0] == ring[-1]
                assert shapely.is_ccw(shapely.LinearRing(ring)) == (place == 0)


def test_an_area_inside_another_is_a_hole() -> None:
    """A place with an area of its own in the middle of a large one is cut out of it."""
    axis = np.arange(9) * 100.0
    places = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    area_of = np.zeros(81, np.int64)
    area_of[40] = 1
    (around, inner), neighbours = area_shapes(places, area_of, 2, 250.0)
    assert neighbours == [(0, 1)]
    assert inner.area == pytest.approx(1e4)
    assert around.is_valid
    (hole,) = around.interiors
    assert sorted(hole.coords[1:]) == sorted(inner.exterior.coords[1:])


def test_the_map_ends_near_the_roads() -> None:
    """Nothing in an area is farther than a few hundred metres from a road node, also where roads leave a bay."""
    axis = np.arange(40) * 100.0
    places = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    bay = places[(places[:, 0] < 1000.0) | (places[:, 1] < 1000.0)]
    (area,), _ = area_shapes(bay, np.zeros(len(bay), np.int64), 1, 250.0)
    assert area.is_valid
    assert not area.contains(shapely.Point(2500.0, 2500.0))
    roads = shapely.MultiPoint(bay)
    assert max(roads.distance(shapely.Point(corner)) for corner in area.exterior.coords) < 600.0


def test_properties_have_the_rates_of_each_type(tmp_path: Path) -> None:
    """The node, the incidents a day in all, and those of each type."""
    demo = demo_city()
    nodes = tuple(
        replace(node, x_coord=7.0 + node.x_coord / 1e5, y_coord=51.0 + node.y_coord / 1e5) for node in demo.nodes
    )
    city = replace(demo, nodes=nodes, stations=tuple(replace(one, trucks=0) for one in demo.stations))
    document = json.loads(write_areas(city, tmp_path / "a.geojson").read_text())
    assert [one["properties"]["node_id"] for one in document["features"]] == list(demand_nodes(city))
    first = document["features"][0]["properties"]
    points = [point for point in city.demand if point.node_id == first["node_id"]]
    assert first["incidents_per_day"] == pytest.approx(sum(point.incidents_per_day for point in points))
    for point in points:
        assert first[f"incidents_per_day {point.type}"] == point.incidents_per_day


def test_metres_are_refused() -> None:
    """GeoJSON has longitude and latitude only."""
    city = town(4, 3)
    nodes = tuple(replace(node, x_coord=1e5 * node.x_coord, y_coord=1e5 * node.y_coord) for node in city.nodes)
    with pytest.raises(InputError, match="not longitude and latitude, and GeoJSON has no others"):
        areas_document(replace(city, nodes=nodes))


def test_nodes_at_one_place_are_one_cell() -> None:
    """Two nodes with the same coordinates do not break the diagram."""
    city = town(4, 3)
    nodes = (replace(city.nodes[1], node_id="n0"), *city.nodes[1:])
    document = areas_document(replace(city, nodes=nodes))
    assert all(shape(one["geometry"]).is_valid for one in document["features"])
