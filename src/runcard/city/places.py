"""Distances between places, in metres: longitude and latitude on the globe, or metres in the plane.

On a globe of radius R, points are unit vectors u, and the distance along the surface is

    d(u, v) = 2 R asin(|u - v| / 2),

the haversine formula. It grows with |u - v|, so that the nearest point in space is the nearest one on the globe.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

EARTH_METRES: Final = 6_371_008.8
"""The mean radius."""

WIDEST_DEGREES: Final = 5.0
"""No city is wider: 550 km from south to north."""


def looks_like_lonlat(x: ArrayLike, y: ArrayLike) -> bool:
    """Whether coordinates are likely longitude and latitude: degrees, close together, and not all whole numbers.

    Whole numbers from 0 on are a grid that was drawn or generated.
    """
    lon, lat = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if not lon.size or np.abs(lon).max() > 180.0 or np.abs(lat).max() > 90.0:
        return False
    close = max(np.ptp(lon), np.ptp(lat)) <= WIDEST_DEGREES
    return bool(close and ((lon % 1.0 != 0.0) | (lat % 1.0 != 0.0)).any())


def nearest_nodes(node_x: ArrayLike, node_y: ArrayLike, x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.int64], Floats]:
    """The place of the nearest node to each point, and how many metres away it is.

    The coordinates of the nodes say whether all are longitude and latitude, or metres. Of equally near nodes it is any.
    """
    from scipy.spatial import KDTree  # here, because it takes a while to import

    lonlat = looks_like_lonlat(node_x, node_y)
    nodes, points = (_in_space(*of, lonlat=lonlat) for of in ((node_x, node_y), (x, y)))
    distance, found = KDTree(nodes).query(points)
    metres = 2.0 * EARTH_METRES * np.arcsin(np.minimum(distance / 2.0, 1.0)) if lonlat else distance
    return np.asarray(found, np.int64), np.asarray(metres, np.float64)


def _in_space(x: ArrayLike, y: ArrayLike, *, lonlat: bool) -> Floats:
    """[point, 2 or 3] points of the plane, or of the globe as unit vectors."""
    first, second = np.atleast_1d(np.asarray(x, np.float64)), np.atleast_1d(np.asarray(y, np.float64))
    axes: list[Any] = [first, second]
    if lonlat:
        lon, lat = np.radians(first), np.radians(second)
        axes = [np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)]
    return np.stack(axes, axis=1)
