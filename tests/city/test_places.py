"""Distances, nearest nodes, and coordinates that were exchanged."""

import numpy as np
import pytest
from pyproj import Geod

from runcard.city import generate_grid
from runcard.city.places import are_exchanged, distance_metres, exchanged_places, is_lonlat, nearest_nodes

SAN_FRANCISCO = (-122.4, 37.77)


def places_near(longitude: float, latitude: float, number: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random places within a few kilometres."""
    random = np.random.default_rng(seed)
    return longitude + random.uniform(-0.05, 0.05, number), latitude + random.uniform(-0.05, 0.05, number)


def test_distances_on_the_globe_are_those_of_a_geodesic() -> None:
    """The sphere agrees with the ellipsoid of pyproj within half a per cent."""
    x, y = places_near(*SAN_FRANCISCO, 20)
    to_x, to_y = places_near(*SAN_FRANCISCO, 20, seed=1)
    exact = Geod(ellps="WGS84").inv(x, y, to_x, to_y)[2]
    assert distance_metres(x, y, to_x, to_y, lonlat=True) == pytest.approx(exact, rel=5e-3)


def test_distances_in_metres_are_plain() -> None:
    """A triangle of sides 3, 4 and 5."""
    assert distance_metres(0.0, 0.0, 3.0, 4.0, lonlat=False) == 5.0


@pytest.mark.parametrize("lonlat", [True, False])
def test_the_nearest_node_is_that_of_a_full_search(lonlat: bool) -> None:
    """The tree finds what comparing all distances finds, and the same metres."""
    x, y = places_near(*SAN_FRANCISCO, 300) if lonlat else np.random.default_rng(2).uniform(0, 1e4, (2, 300))
    to_x, to_y = (x[:40] + 0.001, y[:40] - 0.002)
    index, metres = nearest_nodes((x, y), to_x, to_y)
    every = distance_metres(to_x[:, None], to_y[:, None], x[None], y[None], lonlat=lonlat)
    assert index.tolist() == every.argmin(axis=1).tolist()
    assert metres == pytest.approx(every.min(axis=1), abs=1e-6)


def test_a_city_and_one_place_will_do() -> None:
    """A city gives its own coordinates, and one place gives one answer."""
    city = generate_grid(side=3, num_stations=1, load=0.1, seed=1)
    index, metres = nearest_nodes(city, 2.0, 1.0)
    assert (city.nodes[int(index[0])].node_id, float(metres[0])) == ("n5", 0.0)


def test_degrees_and_metres_are_told_apart() -> None:
    """The range decides: a region in degrees, projected metres, and numbers that are no latitude."""
    x, y = places_near(*SAN_FRANCISCO, 10)
    assert is_lonlat(x, y)
    assert not is_lonlat(x * 1e4, y * 1e5)
    assert not is_lonlat(y, x)
    assert are_exchanged(y, x)
    assert not are_exchanged(x, y)
    assert not is_lonlat([], [])


def test_exchanged_places_are_noticed_one_by_one() -> None:
    """A place that is near the roads only with x and y exchanged is found, also where both would be a latitude."""
    x, y = places_near(4.9, 52.4, 50)
    wrong = exchanged_places((x, y), [4.9, 52.4, 80.0], [52.4, 4.9, 10.0], lonlat=True)
    assert wrong.tolist() == [False, True, False]
