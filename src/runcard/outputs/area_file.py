"""The areas of a city as GeoJSON, for QGIS and others.

The area of a demand node is the union of the Voronoi cells of the road nodes that belong to it (`city/areas.py`). What
is far from every road is nobody's: the plane around the roads has a grid of more points, at a distance of at least 2 s
from every node with s the side of the grid, and their cells are left out. So no cell has to be cut off, and the map
ends about s from the outermost roads, along water too. Roads longer than s are cut into pieces, each with a cell that
belongs to the nearer end, so that the map has no hole where nodes are far apart. s is half of the median distance of a
demand node from the nearest other, but in longitude and latitude at least 250 m, and never less than what a grid of
40,000 points allows.

Rings around an area run counter-clockwise, those around a hole clockwise, as RFC 7946 wants it. None touches itself.
Each starts at the first of its corners in the diagram, so that one city gives one file.
"""

import json
from collections import defaultdict
from math import ceil, cos, radians, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.areas import area_of_nodes, demand_nodes
from runcard.city.model import City
from runcard.city.places import coordinates_of, is_lonlat
from runcard.errors import InputError
from runcard.output_file import write_whole

Places = NDArray[np.float64]
"""[place, axis] x and y."""
Polygon = list[list[list[float]]]
"""The ring around it and those around its holes, each of places [x, y] with the first repeated at the end."""

METRES_PER_DEGREE: Final = 111_195.0
MARGIN_METRES: Final = 250.0
"""How far, at least, a map in longitude and latitude goes beyond the outermost roads."""
MAX_GRID: Final = 40_000
DECIMALS: Final = 7
"""Of degrees: a centimetre."""


def write_areas(city: City, path: Path) -> Path:
    """The GeoJSON file of the areas of a city."""
    return write_whole(path, json.dumps(areas_document(city), allow_nan=False).encode())


def areas_document(city: City) -> dict[str, Any]:
    """The areas of a city as a GeoJSON FeatureCollection, a feature for each demand node."""
    check_lonlat(city)
    rates = area_rates(city)
    features = [
        {
            "type": "Feature",
            "properties": {"node_id": node_id, **rates[node_id]},
            "geometry": {"type": "MultiPolygon", "coordinates": polygons},
        }
        for node_id, polygons in area_polygons(city, decimals=DECIMALS).items()
    ]
    return {"type": "FeatureCollection", "name": city.name, "features": features}


def check_lonlat(city: City) -> None:
    """Raise an InputError if the coordinates of a city are no longitude and latitude."""
    if not is_lonlat(*coordinates_of(city)):
        raise InputError(
            f"{city.name}: its coordinates are not longitude and latitude, and GeoJSON has no others; "
            "import the roads with longitude and latitude"
        )


def area_polygons(city: City, *, decimals: int, tidy: bool = False) -> dict[str, list[Polygon]]:
    """By demand node: the polygons of its area in the coordinates of the city, rounded, each ring closed.

    If `tidy`, they are made easy on the eye (`area_tidy.py`); then not every road node is inside its area.
    """
    x, y = coordinates_of(city)
    middle, scale = np.array([x.mean(), y.mean()]), np.ones(2)
    if is_lonlat(x, y):
        scale = METRES_PER_DEGREE * np.array([cos(radians(float(middle[1]))), 1.0])
    nodes = (np.column_stack([x, y]) - middle) * scale
    margin = _step(nodes, _margin(city, nodes, least=MARGIN_METRES if is_lonlat(x, y) else 0.0))
    places, area_of = _with_roads(city, nodes, area_of_nodes(city), margin)
    stays = np.zeros(len(places), np.bool_)
    stays[[city.node_numbers[node_id] for node_id in demand_nodes(city)]] = True
    num_areas = len(demand_nodes(city))
    shapes = area_shapes(places, area_of, num_areas, margin=margin, stays=stays if tidy else None)
    polygons: dict[str, list[Polygon]] = {node_id: [] for node_id in demand_nodes(city)}
    for node_id, parts in zip(polygons, shapes, strict=True):
        for part in parts:
            corners = (np.asarray(ring.coords) / scale + middle for ring in (part.exterior, *part.interiors))
            outer, *holes = (_rounded(ring, decimals) for ring in corners)
            if len(outer) > 3:
                polygons[node_id].append([outer, *(hole for hole in holes if len(hole) > 3)])
    return polygons


def _rounded(ring: Places, decimals: int) -> list[list[float]]:
    """A closed ring, rounded; corners that this put together are one."""
    corners = np.round(ring, decimals)
    listed: list[list[float]] = corners[np.append(True, np.any(np.diff(corners, axis=0) != 0.0, axis=1))].tolist()
    return listed


def _margin(city: City, nodes: Places, *, least: float) -> float:
    """About how far beyond the outermost roads a map goes."""
    from scipy.spatial import cKDTree  # here, because it takes a while to import

    shown = nodes[[city.node_numbers[node_id] for node_id in demand_nodes(city)]]
    for places in (np.unique(shown, axis=0), np.unique(nodes, axis=0)):
        if len(places) > 1:
            return max(least, float(np.median(np.asarray(cKDTree(places).query(places, k=2)[0])[:, 1])) / 2.0)
    return least or 1.0


def _with_roads(
    city: City, nodes: Places, area_of: NDArray[np.int64], longest: float
) -> tuple[Places, NDArray[np.int64]]:
    """Places and their areas: the nodes, and points on roads that are longer than `longest`."""
    number = city.node_numbers
    pairs = {(number[link.from_node_id], number[link.to_node_id]) for link in city.links}
    ends = np.array(sorted({(min(pair), max(pair)) for pair in pairs}), np.int64).reshape(-1, 2)
    lengths = np.hypot(*(nodes[ends[:, 1]] - nodes[ends[:, 0]]).T)
    longest = max(longest, 8.0 * float(lengths.sum()) / MAX_GRID)  # a limited number of pieces
    places, areas = [nodes], [area_of]
    for (start, end), length in zip(ends.tolist(), lengths.tolist(), strict=True):
        if length > longest:
            # Of an even number of pieces none is in the middle, where it would belong to neither end.
            pieces = 2 * ceil(length / longest)
            along = (np.arange(pieces) + 0.5) / pieces
            places.append(nodes[start] + along[:, None] * (nodes[end] - nodes[start]))
            areas.append(np.where(along < 0.5, area_of[start], area_of[end]))
    return np.vstack(places), np.concatenate(areas)


def area_shapes(
    places: Places,
    area_of: NDArray[np.int64],
    num_areas: int,
    *,
    margin: float = MARGIN_METRES,
    stays: NDArray[np.bool_] | None = None,
) -> list[list[Any]]:
    """[area] its polygons; the areas are tidied if `stays` [place] says which places must stay in theirs."""
    import shapely  # here, because it takes a while to import
    from scipy.spatial import Voronoi

    used = area_of >= 0
    distinct, first = np.unique(places[used], axis=0, return_index=True)
    around = _grid_around(distinct, margin)
    owner = np.append(area_of[used][first], np.full(len(around), -1))
    diagram = Voronoi(np.vstack([distinct, around]))
    if stays is not None:
        from runcard.outputs.area_tidy import tidied

        owner = tidied(diagram, owner, np.append(stays[used][first], np.ones(len(around), np.bool_)))
    owned = np.flatnonzero(owner >= 0)
    regions = [diagram.regions[diagram.point_region[place]] for place in owned.tolist()]
    cell_of = np.repeat(np.arange(len(regions)), [len(region) for region in regions])
    cells = shapely.polygons(shapely.linearrings(diagram.vertices[np.concatenate(regions)], indices=cell_of))
    number = {tuple(corner): place for place, corner in enumerate(diagram.vertices.tolist())}

    def turned(ring: Any) -> list[Any]:
        """The corners of a ring, the first corner of the diagram first."""
        corners = list(ring.coords)[:-1]
        start = min(range(len(corners)), key=lambda place: number[corners[place]])
        return corners[start:] + corners[:start]

    def polygon(part: Any) -> Any:
        holes = sorted(map(turned, part.interiors), key=lambda hole: number[hole[0]])
        return shapely.Polygon(turned(part.exterior), holes)

    whole = shapely.orient_polygons(
        [shapely.coverage_union_all(cells[owner[owned] == area]) for area in range(num_areas)]
    )
    parts = (map(polygon, shapely.get_parts(area)) for area in whole)
    return [sorted(of_area, key=lambda part: number[part.exterior.coords[0]]) for of_area in parts]


def _step(places: Places, margin: float) -> float:
    """The side of the grid around places: the margin, or more where the grid would have too many points."""
    wide, high = float(np.ptp(places[:, 0])), float(np.ptp(places[:, 1]))
    # The grid goes nine steps beyond, also along a thin city, whose points in a row take Voronoi far longer.
    thin = 9.0 * (wide + high) / (MAX_GRID / 8)
    return max(margin, sqrt((wide + 8.0 * margin) * (high + 8.0 * margin) / MAX_GRID), thin)


def _grid_around(places: Places, margin: float) -> Places:
    """Points of a grid around places and far from all of them."""
    from scipy.spatial import cKDTree

    low, high, step = places.min(axis=0), places.max(axis=0), _step(places, margin)
    axes = [np.arange(low[axis] - 4.0 * step, high[axis] + 5.0 * step, step) for axis in (0, 1)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    apart, _ = cKDTree(places).query(grid)
    return np.asarray(grid[apart >= 2.0 * step * (1.0 - 1e-9)])  # a grid of roads is exactly so far away


def area_rates(city: City) -> dict[str, dict[str, Any]]:
    """By demand node: its incidents per day, in all and by type where there are types."""
    rates: dict[str, dict[str, Any]] = defaultdict(lambda: {"incidents_per_day": 0.0})
    for point in city.demand:
        of_node = rates[point.node_id]
        of_node["incidents_per_day"] += point.incidents_per_day
        if point.type:
            key = f"incidents_per_day {point.type}"
            of_node[key] = of_node.get(key, 0.0) + point.incidents_per_day
    return rates
