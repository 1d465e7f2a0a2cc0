"""The areas of a city as geometry: their shapes, which of them touch, and colours for who sends units to them.

The area of a demand node is the union of the Voronoi cells of the road nodes that belong to it (`city/areas.py`). What
is far from every road is nobody's: around each node is a square of side 4 s, and the edge of all squares together has
points of its own, whose cells are left out. So the map ends about s from the outermost roads, along water too. Roads
longer than s are cut into pieces, each with a cell that belongs to the nearer end, so that the map has no hole where
nodes are far apart. s is half of the median distance of a demand node from the nearest other, but in longitude and
latitude at least 250 m, and never so small that there are too many points.

Places are in a plane around 0, in which the city fits into a square of side 1.
"""

from collections.abc import Iterable, Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass
from itertools import count
from math import ceil, cos, inf, radians
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from runcard.city.areas import area_of_nodes, demand_nodes
from runcard.city.model import City
from runcard.city.places import coordinates_of, is_lonlat
from runcard.outputs.area_tidy import border_lengths, tidied

Places = NDArray[np.float64]
"""[place, axis] x and y."""
Positions = NDArray[np.int64]

METRES_PER_DEGREE: Final = 111_195.0
MARGIN_METRES: Final = 250.0
"""How far, at least, a map in longitude and latitude goes beyond the outermost roads."""
SMALLEST_DEGREES: Final = 1e-4
"""The width of a city, about ten metres, below which the map does not go that far beyond."""
FINEST: Final = 1.0 / 400.0
"""The smallest s, as a part of the width of the city: Voronoi takes far longer with many points in a row."""
TOGETHER: Final = 7
"""Places that are the same to so many decimals are one place."""
MOST_PIECES: Final = 5_000
"""Into which all roads together are cut, about."""
AREA_COLOURS: Final = (
    "#77AADD", "#EEDD88", "#44BB99", "#FFAABB", "#AAAA00", "#99DDFF", "#EE8866", "#BBCC33",
    "#9988F2", "#7E94A9", "#BFEDB6", "#D4667A",
)  # fmt: skip
"""Paul Tol's eight light colours, made for areas with words on them, and four that are least like them to any eye."""
NOBODY: Final = -1
"""Instead of a station: no truck goes, because the incident needs fewer."""


class MapPlane:
    """Where a city is drawn: around 0 and within a square of side 1.

    What looks like longitude and latitude is drawn to scale: a degree of longitude is cos(latitude) of one of latitude.
    """

    def __init__(self, city: City) -> None:
        coords = np.column_stack(coordinates_of(city))
        self.lonlat = is_lonlat(*coords.T)
        self._unit = float(np.abs(coords).max()) or 1.0  # differences of parts of it are never too large for a number
        self._stretch = np.array([cos(radians(float(coords[:, 1].mean()))) if self.lonlat else 1.0, 1.0])
        parts = coords / self._unit * self._stretch
        self._middle = (parts.min(axis=0) + parts.max(axis=0)) / 2.0
        self._width = float(np.ptp(parts, axis=0).max()) or 1.0
        self.nodes: Places = (parts - self._middle) / self._width
        """[node] its place."""

    def coordinates(self, places: Places) -> Places:
        """Places in the coordinates of the city."""
        coords: Places = (places * self._width + self._middle) / self._stretch * self._unit
        return coords

    @property
    def least_margin(self) -> float:
        """How far, at least, the map goes beyond the outermost roads."""
        degrees = self._unit * self._width
        return MARGIN_METRES / METRES_PER_DEGREE / max(degrees, SMALLEST_DEGREES) if self.lonlat else 0.0


@dataclass(frozen=True, eq=False)
class AreaShapes:
    """The areas of a city, one for each demand node; of nodes at one place only the first has a shape."""

    plane: MapPlane
    node_ids: tuple[str, ...]
    middles: Places
    """[area] the place of its demand node."""
    shapes: NDArray[Any]
    """[area] a shapely geometry in the plane; rings around it run counter-clockwise."""
    neighbours: list[tuple[int, int]]
    """Pairs of areas that have a border in common, each pair once, the lower number first."""

    @property
    def spacing(self) -> float:
        """The median distance from a demand node to the nearest other."""
        return _median_distance(self.middles) or 1.0

    def union(self, numbers: Sequence[int]) -> Any:
        """The shape of some areas together."""
        return shapely.coverage_union_all(shapely.get_parts(self.shapes[list(numbers)]))

    def territories(self, owners: Sequence[int]) -> list[list[int]]:
        """The areas in groups, the largest first: those of one owner that hang together."""
        groups = []
        for owner in dict.fromkeys(owners):
            numbers = [number for number, other in enumerate(owners) if other == owner]
            for part in shapely.get_parts(self.union(numbers)):
                inside = shapely.contains_xy(part, self.middles[numbers])
                groups.append([number for number, there in zip(numbers, inside.tolist(), strict=True) if there])
        return sorted(filter(None, groups), key=len, reverse=True)

    def polygons(self, decimals: int) -> dict[str, list[list[list[list[float]]]]]:
        """By demand node: the polygons of its area in the coordinates of the city, rounded, as GeoJSON has them.

        Of each the ring around it, counter-clockwise, then those around its holes, clockwise, all of them closed.
        """
        shapes = shapely.set_precision(shapely.transform(self.shapes, self.plane.coordinates), 10.0**-decimals)
        shapes = shapely.orient_polygons(shapely.normalize(shapes))
        polygons = ([[shapely.get_coordinates(ring).tolist() for ring in shapely.get_rings(part)]
                     for part in shapely.get_parts(shape)] for shape in shapes)  # fmt: skip
        return dict(zip(self.node_ids, polygons, strict=True))


def areas_of(city: City, *, tidy: bool = True) -> AreaShapes:
    """The areas of a city; if they are made easy on the eye (`area_tidy.py`), not every road node is inside its own."""
    plane, node_ids = MapPlane(city), demand_nodes(city)
    centres = [city.node_numbers[node_id] for node_id in node_ids]
    roads = roads_of(city)
    lengths = np.hypot(*(plane.nodes[roads[:, 1]] - plane.nodes[roads[:, 0]]).T)
    between = _median_distance(plane.nodes[centres]) or _median_distance(plane.nodes) or 2.0
    step = max(between / 2.0, plane.least_margin, FINEST, float(lengths.sum()) / MOST_PIECES)
    places, owner = _with_pieces(plane.nodes, area_of_nodes(city), roads[lengths > step], lengths[lengths > step], step)
    stays = np.zeros(len(places), np.bool_)
    stays[centres] = True
    shapes, neighbours = area_shapes(places, owner, len(node_ids), step, stays if tidy else None)
    return AreaShapes(plane, node_ids, plane.nodes[centres], shapes, neighbours)


def area_shapes(
    places: Places, owner: Positions, num_areas: int, step: float, stays: NDArray[np.bool_] | None = None
) -> tuple[NDArray[Any], list[tuple[int, int]]]:
    """[area] its shape, and which have a border in common; `owner` [place] is the area of each place.

    They are tidied if `stays` [place] says which places must stay in theirs.
    """
    from scipy.spatial import Voronoi  # here, because it takes a while to import

    used = owner >= 0
    distinct, first = np.unique(np.round(places[used], TOGETHER), axis=0, return_index=True)
    around = _around(distinct, step)
    owner = np.append(owner[used][first], np.full(len(around), NOBODY))
    diagram = Voronoi(np.vstack([distinct, around]))
    borders = border_lengths(diagram)
    if stays is not None:
        owner = tidied(borders, owner, np.append(stays[used][first], np.ones(len(around), np.bool_)))
    regions = [diagram.regions[diagram.point_region[place]] for place in np.flatnonzero(owner >= 0).tolist()]
    cell_of = np.repeat(np.arange(len(regions)), [len(region) for region in regions])
    cells = shapely.polygons(shapely.linearrings(diagram.vertices[np.concatenate(regions)], indices=cell_of))
    owned = owner[owner >= 0]
    order = np.argsort(owned, kind="stable")
    of_areas = np.split(cells[order], np.searchsorted(owned[order], np.arange(1, num_areas)))
    shapes = [shapely.coverage_union_all(of_area) for of_area in of_areas]
    long = borders.tocoo()
    pairs = owner[np.stack([long.row, long.col])[:, long.data > 1e-6 * step]]
    pairs = np.unique(pairs[:, (pairs[0] >= 0) & (pairs[0] < pairs[1])], axis=1)
    return shapely.orient_polygons(shapes), [(i, j) for i, j in pairs.T.tolist()]


def _median_distance(places: Places) -> float:
    """The median distance from a place to the nearest other; 0 where there is none."""
    from scipy.spatial import KDTree

    distinct = np.unique(places, axis=0)
    return float(np.median(np.asarray(KDTree(distinct).query(distinct, k=[2])[0]))) if len(distinct) > 1 else 0.0


def roads_of(city: City) -> Positions:
    """[road, 2] the nodes at the ends of each, once for both ways."""
    number = city.node_numbers
    ends = {tuple(sorted((number[link.from_node_id], number[link.to_node_id]))) for link in city.links}
    return np.array(sorted(ends), np.int64).reshape(-1, 2)


def _with_pieces(
    nodes: Places, area_of: Positions, roads: Positions, lengths: NDArray[np.float64], step: float
) -> tuple[Places, Positions]:
    """Places and their areas: the nodes, and points on roads, which are longer than `step`."""
    places, areas = [nodes], [area_of]
    for (start, end), length in zip(roads.tolist(), lengths.tolist(), strict=True):
        # Of an even number of pieces none is in the middle, where it would belong to neither end.
        pieces = 2 * ceil(length / step)
        along = (np.arange(pieces) + 0.5) / pieces
        places.append(nodes[start] + along[:, None] * (nodes[end] - nodes[start]))
        areas.append(np.where(along < 0.5, area_of[start], area_of[end]))
    return np.vstack(places), np.concatenate(areas)


def _around(places: Places, step: float) -> Places:
    """Points around places and far from all of them."""
    low, high = places - 2.0 * step, places + 2.0 * step
    edge = shapely.boundary(shapely.union_all(shapely.box(*low.T, *high.T)))
    return np.unique(shapely.get_coordinates(shapely.segmentize(edge, step)), axis=0)


def station_colours(stations: Places, areas: AreaShapes, maps: Iterable[Sequence[int]]) -> list[str]:
    """A colour for each station: on no map do areas of two stations with one colour touch.

    A map has the station of each area, as a number; below 0 or beyond the last is none.
    """
    pairs: set[tuple[int, int]] = set()
    for owners in maps:
        pairs |= {(owners[i], owners[j]) for i, j in areas.neighbours if owners[i] != owners[j]}
    known = {pair for pair in pairs if min(pair) >= 0 and max(pair) < len(stations)}
    return [*map(_area_colour, coloured(stations, known, len(AREA_COLOURS)))]


def coloured(places: Places, pairs: Iterable[tuple[int, int]], num_colours: int) -> list[int]:
    """A colour for each place, as a number, such that the two places of a pair never have the same.

    The place with most colours around it is next (DSATUR). It gets the colour whose places are farthest away; one that
    no place has is farther than any. A number from `num_colours` on is given only where pairs leave no other choice.
    """
    around: list[set[int]] = [set() for _ in places]
    for a, b in pairs:
        around[a].add(b)
        around[b].add(a)
    chosen: dict[int, int] = {}
    while len(chosen) < len(places):
        left = [place for place in range(len(places)) if place not in chosen]
        taken = {place: {chosen[other] for other in around[place] if other in chosen} for place in left}
        place = max(left, key=lambda place: (len(taken[place]), len(around[place]), -place))
        distance = {colour: inf for colour in range(num_colours) if colour not in taken[place]}
        for other, colour in chosen.items():
            if colour in distance:
                distance[colour] = min(distance[colour], float(np.hypot(*(places[place] - places[other]))))
        spare = next(colour for colour in count(num_colours) if colour not in taken[place])
        chosen[place] = max(distance, key=distance.__getitem__, default=spare)
    return [chosen[place] for place in range(len(places))]


def _area_colour(number: int) -> str:
    """The colour of a number; after those that have names come other hues, each far from the one before."""
    if number < len(AREA_COLOURS):
        return AREA_COLOURS[number]
    parts = hls_to_rgb(number * 0.618 % 1.0, 0.55 + 0.3 * (number * 0.755 % 1.0), 0.6)
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)
