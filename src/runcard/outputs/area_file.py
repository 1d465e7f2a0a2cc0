"""The areas of a city as GeoJSON, for QGIS and others.

The area of a demand node is the union of the Voronoi cells of the road nodes that belong to it (`city/areas.py`). What
is far from every road is nobody's: the plane around the roads has a grid of more points, at a distance of at least 2 s
from every node with s the side of the grid, and their cells are left out. So no cell has to be cut off, and the map
ends about s from the outermost roads, along water too.

Two cells share a side, which runs between two corners of the diagram. The border of an area is the sides that have
another area across, each with the area on its left. Walked from corner to corner they close to rings: those around an
area run counter-clockwise, those around a hole clockwise, as RFC 7946 wants it. A corner that a walk meets twice cuts
off a ring of its own, so that no ring touches itself.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from math import cos, radians, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.areas import area_of_nodes, demand_nodes
from runcard.city.model import City
from runcard.city.places import coordinates_of, is_lonlat
from runcard.errors import InputError
from runcard.outputs.files import write_whole

Places = NDArray[np.float64]
"""[place, axis] x and y."""
Ring = list[int]
"""Corners, the first of them not repeated at the end."""

METRES_PER_DEGREE: Final = 111_195.0
MARGIN_METRES: Final = 250.0
"""About how far beyond the outermost roads the map goes."""
MAX_GRID: Final = 40_000
DECIMALS: Final = 7
"""Of degrees: a centimetre."""


def write_areas(city: City, path: Path) -> Path:
    """The GeoJSON file of the areas of a city."""
    return write_whole(path, json.dumps(areas_document(city), allow_nan=False).encode())


def areas_document(city: City) -> dict[str, Any]:
    """The areas of a city as a GeoJSON FeatureCollection, a feature for each demand node."""
    x, y = coordinates_of(city)
    if not is_lonlat(x, y):
        raise InputError(
            f"{city.name}: its coordinates are not longitude and latitude, and GeoJSON has no others; "
            "import the roads with longitude and latitude"
        )
    middle = np.array([x.mean(), y.mean()])
    scale = METRES_PER_DEGREE * np.array([cos(radians(float(middle[1]))), 1.0])
    corners, rings_of = area_rings((np.column_stack([x, y]) - middle) * scale, area_of_nodes(city))
    degrees = np.round(corners / scale + middle, DECIMALS)
    rates = _rates(city)
    features = []
    for area, node_id in enumerate(demand_nodes(city)):
        closed = ([_closed(degrees, ring) for ring in rings] for rings in rings_of.get(area, []))
        polygons = [[ring for ring in rings if len(ring) > 3] for rings in closed if len(rings[0]) > 3]
        features.append(
            {
                "type": "Feature",
                "properties": {"node_id": node_id, **rates[node_id]},
                "geometry": {"type": "MultiPolygon", "coordinates": polygons},
            }
        )
    return {"type": "FeatureCollection", "name": city.name, "features": features}


def area_rings(places: Places, area_of: NDArray[np.int64]) -> tuple[Places, dict[int, list[list[Ring]]]]:
    """Corners in metres, and the polygons of each area: the ring around it, and those around its holes."""
    from scipy.spatial import Voronoi  # here, because it takes a while to import

    used = area_of >= 0
    distinct, first = np.unique(places[used], axis=0, return_index=True)
    around = _grid_around(distinct)
    owner = np.append(area_of[used][first], np.full(len(around), -1))
    diagram = Voronoi(np.vstack([distinct, around]))
    sides: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (one, other), ends in zip(diagram.ridge_points.tolist(), diagram.ridge_vertices, strict=True):
        if owner[one] == owner[other] or min(ends) < 0:
            continue
        start, end = ends
        (ax, ay), (bx, by), (px, py) = diagram.vertices[start], diagram.vertices[end], diagram.points[one]
        if (bx - ax) * (py - ay) - (by - ay) * (px - ax) < 0.0:  # `one` is on the right
            start, end = end, start
        sides[int(owner[one])].append((start, end))
        sides[int(owner[other])].append((end, start))
    sides.pop(-1, None)
    corners: Places = diagram.vertices
    return corners, {area: _polygons(corners, _rings(found)) for area, found in sides.items()}


def _grid_around(places: Places) -> Places:
    """Points of a grid around places and far from all of them."""
    from scipy.spatial import cKDTree

    low, high = places.min(axis=0), places.max(axis=0)
    step = max(MARGIN_METRES, sqrt(float(np.prod(high - low + 8.0 * MARGIN_METRES)) / MAX_GRID))
    axes = [np.arange(low[axis] - 4.0 * step, high[axis] + 5.0 * step, step) for axis in (0, 1)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    apart, _ = cKDTree(places).query(grid)
    return np.asarray(grid[apart >= 2.0 * step])


def _rings(sides: Sequence[tuple[int, int]]) -> list[Ring]:
    """The rings that sides close to; none of them meets a corner twice."""
    following: dict[int, list[int]] = defaultdict(list)
    for start, end in sorted(sides, reverse=True):
        following[start].append(end)
    rings = []
    for first in sorted(following):
        while following[first]:
            path, place_of, here = [first], {first: 0}, first
            while following[here]:
                here = following[here].pop()
                if here in place_of:
                    begin = place_of[here]
                    rings.append(path[begin:])
                    for corner in path[begin + 1 :]:
                        del place_of[corner]
                    del path[begin + 1 :]
                else:
                    place_of[here] = len(path)
                    path.append(here)
    return rings


def _polygons(corners: Places, rings: Sequence[Ring]) -> list[list[Ring]]:
    """Each ring around something, with the holes in it."""
    outer = [ring for ring in rings if _twice_area(corners[ring]) > 0.0]
    polygons = [[ring] for ring in outer]
    for hole in rings:
        if _twice_area(corners[hole]) > 0.0:
            continue
        # The middle of a side is on no other ring, even where two rings share a corner.
        spot = corners[hole[:2]].mean(axis=0)
        inside = [place for place, ring in enumerate(outer) if _contains(corners[ring], spot)]
        smallest = min(inside, key=lambda place: _twice_area(corners[outer[place]]), default=None)
        if smallest is not None:
            polygons[smallest].append(hole)
    return polygons


def _twice_area(ring: Places) -> float:
    """Twice the area of a ring, negative if it runs clockwise."""
    after = np.roll(ring, -1, axis=0)
    return float((ring[:, 0] * after[:, 1] - ring[:, 1] * after[:, 0]).sum())


def _contains(ring: Places, spot: Places) -> bool:
    """Whether a spot is inside a ring: a ray from it crosses the ring an odd number of times."""
    after = np.roll(ring, -1, axis=0)
    crosses = (ring[:, 1] > spot[1]) != (after[:, 1] > spot[1])
    a, b = ring[crosses], after[crosses]
    where = a[:, 0] + (spot[1] - a[:, 1]) / (b[:, 1] - a[:, 1]) * (b[:, 0] - a[:, 0])
    return bool((where > spot[0]).sum() % 2)


def _closed(degrees: Places, ring: Ring) -> list[list[float]]:
    """The coordinates of a ring, the first repeated at the end; corners that rounding put together are one."""
    found: list[list[float]] = []
    for place in degrees[ring].tolist():
        if not found or place != found[-1]:
            found.append(place)
    return found if found[0] == found[-1] and len(found) > 1 else [*found, found[0]]


def _rates(city: City) -> dict[str, dict[str, Any]]:
    """By demand node: its incidents per day, in all and by type where there are types."""
    rates: dict[str, dict[str, Any]] = defaultdict(lambda: {"incidents_per_day": 0.0})
    for point in city.demand:
        of_node = rates[point.node_id]
        of_node["incidents_per_day"] += point.incidents_per_day
        if point.type:
            key = f"incidents_per_day {point.type}"
            of_node[key] = of_node.get(key, 0.0) + point.incidents_per_day
    return rates
