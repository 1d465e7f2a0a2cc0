"""Distances and nearest nodes: longitude and latitude, and metres."""

from math import asin, cos, radians, sin, sqrt

import numpy as np
import pytest

from runcard.city.places import EARTH_METRES, looks_like_lonlat, nearest_nodes


def haversine(x: float, y: float, to_x: float, to_y: float) -> float:
    """The metres between two points, as the textbook writes it."""
    lon, lat, to_lon, to_lat = map(radians, (x, y, to_x, to_y))
    part = sin((to_lat - lat) / 2) ** 2 + cos(lat) * cos(to_lat) * sin((to_lon - lon) / 2) ** 2
    return 2.0 * EARTH_METRES * asin(sqrt(part))


@pytest.mark.parametrize(("west", "south"), [(-122.52, 37.70), (179.9, -10.0), (24.0, 69.0)])
def test_the_nearest_on_the_globe_is_that_of_an_exhaustive_search(west: float, south: float) -> None:
    """For points around nodes of three parts of the world: the same node and the same metres as by trying them all."""
    rng = np.random.default_rng(3)
    node_x, node_y = west + 0.1 * rng.random(80), south + 0.1 * rng.random(80)
    x, y = west + 0.14 * rng.random(50) - 0.02, south + 0.14 * rng.random(50) - 0.02
    found, metres = nearest_nodes(node_x, node_y, x, y)
    for point in range(50):
        every = [haversine(x[point], y[point], *node) for node in zip(node_x, node_y, strict=True)]
        assert int(np.argmin(every)) == found[point]
        assert metres[point] == pytest.approx(min(every), rel=1e-6, abs=1e-3)


def test_a_degree_of_longitude_is_shorter_in_the_north() -> None:
    """At 60 degrees a degree of longitude is half as long as one of latitude, so that the nearest node is another."""
    found, metres = nearest_nodes([24.5, 25.0], [60.0, 60.3], [25.0], [60.0])
    assert found.tolist() == [0]
    assert metres[0] == pytest.approx(0.5 * 111_195 / 2, rel=1e-3)


def test_metres_are_a_plane() -> None:
    """Projected coordinates are as far apart as Pythagoras says."""
    found, metres = nearest_nodes([551_000.0, 552_000.0], [4_180_000.0, 4_181_000.0], [551_300.0], [4_180_400.0])
    assert (found.tolist(), metres.tolist()) == ([0], [500.0])


@pytest.mark.parametrize(
    ("x", "y", "lonlat"),
    [
        ([-122.5, -122.4], [37.7, 37.8], True),
        ([0.0, 1.0, 2.0], [0.0, 0.0, 1.0], False),  # a grid
        ([551_000.0, 552_000.0], [4_180_000.0, 4_181_000.0], False),
        ([0.5, 80.5], [0.5, 60.5], False),  # no city is as wide
        ([37.7, 37.8], [-122.5, -122.4], False),  # swapped
    ],
)
def test_degrees_are_told_from_metres(x: list[float], y: list[float], lonlat: bool) -> None:
    """Degrees are in their range, close together and not all whole numbers."""
    assert looks_like_lonlat(x, y) is lonlat
