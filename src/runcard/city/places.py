"""Where things are: distances, the road node nearest to a place, and coordinates that were exchanged.

Coordinates are longitude and latitude in degrees (x is the longitude), or metres of a projection. Nothing says which,
so it is guessed from their range, in one place: `is_lonlat`. Between (x, y) and (x', y') there are

    lonlat    2 R asin √( sin²((φ' - φ)/2) + cos φ cos φ' sin²((λ' - λ)/2) )
    metres    √( (x' - x)² + (y' - y)² )

metres, with λ = x, φ = y and R = 6,371,009 m.

The nearest node is found in a k-d tree. On the sphere the tree holds (cos φ cos λ, cos φ sin λ, sin φ): the chord c
between two of these grows with the distance, which is 2 R asin(c/2).
"""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runcard.city.aprons import apron_nodes
from runcard.city.model import City

Floats = NDArray[np.float64]
Coordinates = tuple[ArrayLike, ArrayLike]

EARTH_METRES: Final = 6_371_009.0
"""The mean radius of the earth."""
MOST_DEGREES: Final = 4.0
"""Longitudes and latitudes of one city span no more than this; coordinates that do are something else."""
FAR_METRES: Final = 500.0
"""A place this far from every road node is worth a word."""
LOST_METRES: Final = 20_000.0
"""A place this far from every road node belongs to another city, or its coordinates are wrong."""


def coordinates_of(city: City) -> tuple[Floats, Floats]:
    """[node] x, and [node] y."""
    x = np.array([node.x_coord for node in city.nodes], np.float64)
    return x, np.array([node.y_coord for node in city.nodes], np.float64)


def is_lonlat(x: ArrayLike, y: ArrayLike) -> bool:
    """Whether coordinates look like longitude and latitude: in their range, not wider than a region, and not all whole.

    Whole numbers are a grid that was drawn or generated.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if not x.size or np.abs(x).max() > 180.0 or np.abs(y).max() >= 90.0:
        return False
    whole = bool(((x % 1.0 == 0.0) & (y % 1.0 == 0.0)).all())
    return not whole and float(max(np.ptp(x), np.ptp(y))) <= MOST_DEGREES


def are_exchanged(x: ArrayLike, y: ArrayLike) -> bool:
    """Whether coordinates can only be latitude and longitude, in this order: y is no latitude, and x is."""
    return bool(np.abs(np.asarray(y, np.float64)).max(initial=0.0) >= 90.0) and is_lonlat(y, x)


def distance_metres(x: ArrayLike, y: ArrayLike, to_x: ArrayLike, to_y: ArrayLike, *, lonlat: bool) -> Floats:
    """Metres from places to others, as the crow flies."""
    x, y, to_x, to_y = (np.asarray(one, np.float64) for one in (x, y, to_x, to_y))
    if not lonlat:
        return np.asarray(np.hypot(to_x - x, to_y - y))
    east, north = np.radians(to_x - x), np.radians(to_y - y)
    square = np.sin(north / 2) ** 2 + np.cos(np.radians(y)) * np.cos(np.radians(to_y)) * np.sin(east / 2) ** 2
    return np.asarray(2.0 * EARTH_METRES * np.arcsin(np.sqrt(np.clip(square, 0.0, 1.0))))


class NearestNodes:
    """The nodes of a city, or any with these x and y, in a tree: for whoever asks more than once.

    The aprons of a city are passed over. Whether all coordinates are longitude and latitude is guessed from those of
    the nodes, unless it is given.
    """

    def __init__(self, nodes: City | Coordinates, *, lonlat: bool | None = None) -> None:
        from scipy.spatial import cKDTree  # here, because it takes a while to import

        self._listed: NDArray[np.int64] | None = None
        if isinstance(nodes, City):
            aprons = apron_nodes(nodes)
            listed = [place for place, node in enumerate(nodes.nodes) if node.node_id not in aprons]
            self._listed = np.array(listed, np.int64)
            x, y = (of[self._listed] for of in coordinates_of(nodes))
        else:
            x, y = (np.asarray(of, np.float64) for of in nodes)
        self.lonlat = is_lonlat(x, y) if lonlat is None else lonlat
        self._tree: Any = cKDTree(_points(x, y, lonlat=self.lonlat))

    def find(self, x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.int64], Floats]:
        """[place] the position of the nearest node, and [place] the metres to it, infinite if beyond all numbers."""
        places = _points(np.atleast_1d(x), np.atleast_1d(y), lonlat=self.lonlat)
        apart, index = self._tree.query(places)
        metres = 2.0 * EARTH_METRES * np.arcsin(np.clip(apart / 2.0, 0.0, 1.0)) if self.lonlat else apart
        found = np.minimum(index, self._tree.n - 1).astype(np.int64)  # the tree says n where no distance is a number
        return found if self._listed is None else self._listed[found], np.asarray(metres, np.float64)


def nearest_nodes(
    nodes: City | Coordinates, x: ArrayLike, y: ArrayLike, *, lonlat: bool | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """[place] the position of the nearest node, and [place] the metres to it (see `NearestNodes`)."""
    return NearestNodes(nodes, lonlat=lonlat).find(x, y)


def exchanged_places(nodes: Coordinates, x: ArrayLike, y: ArrayLike, *, lonlat: bool) -> NDArray[np.bool_]:
    """[place] whether it is lost as it stands, but near the nodes with its x and y exchanged."""
    as_given = nearest_nodes(nodes, x, y, lonlat=lonlat)[1]
    exchanged = nearest_nodes(nodes, y, x, lonlat=lonlat)[1]
    return (as_given > LOST_METRES) & (exchanged < LOST_METRES)


def _points(x: ArrayLike, y: ArrayLike, *, lonlat: bool) -> Floats:
    """[place, axis] points whose straight distances order places as their distances do."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if not lonlat:
        return np.column_stack([x, y])
    longitude, latitude = np.radians(x), np.radians(y)
    return np.column_stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
    )
