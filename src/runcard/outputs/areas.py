"""The areas of a map as plain geometry: cells, their neighbours, territories, colours and spots for labels.

A place is a complex number x + iy. The cell of a place p_i is all that is nearer to it than to other places, but not
far from it, nor far outside of them all:

    |z - p_i| <= |z - p_j| for every j;    <z - p_i, n> <= reach_i,  <z, n> <= max_j <p_j, n> + s/2  in 48 directions n,

with s the median distance from a place to the nearest one. `reach_i` is 1.5 times the distance to the third nearest
place, but at least 2 s and at most 4 s. So cells never overlap, a grid gives squares, and water stays empty.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, pairwise
from math import cos, inf, radians
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, Delaunay, KDTree

from runcard.city.places import is_lonlat

Places = NDArray[np.complex128]
Box = tuple[float, float, float, float]
"""Left, bottom, right and top."""

DIRECTIONS: Final = np.exp(2j * np.pi * np.arange(48) / 48)
TOGETHER: Final = 1e-6
"""Places that are this close, as a part of the whole map, are one place."""


@dataclass(frozen=True, eq=False)
class PlaceCells:
    """The cells of places; places that are together have one cell."""

    cell_of: NDArray[np.int64]
    """By place: the number of its cell."""
    middles: tuple[complex, ...]
    """By cell: the place that it belongs to."""
    corners: tuple[tuple[complex, ...], ...]
    """By cell: its corners, counter-clockwise."""
    across: tuple[tuple[int, ...], ...]
    """By cell: what is across the side from each corner to the next, a cell, or -1 for the end of the map."""
    spacing: float
    """The median distance from a place to the nearest one."""

    @cached_property
    def neighbours(self) -> list[tuple[int, int]]:
        """Pairs of cells that have a side in common, each pair once, the lower number first."""
        return sorted({(min(i, j), max(i, j)) for i, sides in enumerate(self.across) for j in sides if j >= 0})


def projected(x_coords: Sequence[float], y_coords: Sequence[float]) -> Places:
    """Places for coordinates, around 0 and within a square of side 1.

    What looks like longitude and latitude is drawn to scale: a degree of longitude is cos(latitude) of one of latitude.
    """
    coords = np.array([x_coords, y_coords], np.float64)
    largest = np.abs(coords).max() or 1.0
    unit = coords / largest  # differences of these are never too large for a number
    if is_lonlat(*coords):
        unit[0] *= cos(radians(float(coords[1].mean())))
    unit -= (unit.min(axis=1, keepdims=True) + unit.max(axis=1, keepdims=True)) / 2.0
    x, y = unit / (np.ptp(unit, axis=1).max() or 1.0)
    places: Places = x + 1j * y
    return places


def cells_of(places: Places) -> PlaceCells:
    """The cells of places around 0 within a square of side 1, as `projected` gives them."""
    middles, cell_of = np.unique(np.round(places / TOGETHER) * TOGETHER, return_inverse=True)
    points = np.column_stack([middles.real, middles.imag])
    nearest, third = np.full((2, 1), 0.5)
    if len(middles) > 1:
        nearest, third = np.asarray(KDTree(points).query(points, k=[2, min(4, len(middles))])[0]).T
    spacing = float(np.median(nearest))
    reach = np.clip(1.5 * third, 2.0 * spacing, 4.0 * spacing)
    along = np.outer(middles, DIRECTIONS.conj()).real
    room = np.minimum(reach[:, None], along.max(axis=0) + spacing / 2.0 - along)
    # With four places far away, places on one line, or few of them, have a triangulation too.
    far = 10.0 * np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    starts, others = Delaunay(np.vstack([points, far])).vertex_neighbor_vertices
    all_corners, all_across = [], []
    for i, here in enumerate(middles):
        around = others[starts[i] : starts[i + 1]]
        around = around[around < len(middles)]
        # With h the place, the cell is all z with <z - h, w> <= 1 for each w. The hull of all w goes around with them:
        # its corners are the w of the cell's sides, in order, and where the lines of two of them cross is a corner.
        lines = np.append(2.0 / (middles[around] - here).conj(), DIRECTIONS / room[i])
        sides = ConvexHull(np.column_stack([lines.real, lines.imag])).vertices
        before, after = lines[np.roll(sides, 1)], lines[sides]
        corners = here + 1j * (before - after) / (before.conj() * after).imag
        long = np.abs(np.roll(corners, -1) - corners) > 1e-6 * spacing
        all_corners.append(tuple(corners[long].tolist()))
        all_across.append(tuple(np.append(around, np.full(len(DIRECTIONS), -1))[sides[long]].tolist()))
    return PlaceCells(cell_of.ravel(), tuple(middles.tolist()), tuple(all_corners), tuple(all_across), spacing)


def borders(areas: PlaceCells, owners: Sequence[int], cells: Iterable[int]) -> list[tuple[complex, complex]]:
    """The sides of cells that have another owner across, or the end of the map."""
    return [
        side
        for i in cells
        for side, j in zip(pairwise((*areas.corners[i], areas.corners[i][0])), areas.across[i], strict=True)
        if j < 0 or owners[j] != owners[i]
    ]


def territories(areas: PlaceCells, owners: Sequence[int]) -> list[list[int]]:
    """The cells in groups, the largest first: neighbours with the same owner are in one group."""
    pairs = np.array([(i, j) for i, j in areas.neighbours if owners[i] == owners[j]], np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (len(owners), len(owners)))
    num_groups, group_of = connected_components(graph, directed=False)
    return sorted((np.flatnonzero(group_of == one).tolist() for one in range(num_groups)), key=len, reverse=True)


def coloured(places: Sequence[complex], pairs: Iterable[tuple[int, int]], num_colours: int) -> list[int]:
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
        rest = [one for one in range(len(places)) if one not in chosen]
        taken = {one: {chosen[other] for other in around[one] if other in chosen} for one in rest}
        place = max(rest, key=lambda one: (len(taken[one]), len(around[one]), -one))
        distance = {colour: inf for colour in range(num_colours) if colour not in taken[place]}
        for other, colour in chosen.items():
            if colour in distance:
                distance[colour] = min(distance[colour], abs(places[place] - places[other]))
        spare = next(colour for colour in count(num_colours) if colour not in taken[place])
        chosen[place] = max(distance, key=distance.__getitem__, default=spare)
    return [chosen[one] for one in range(len(places))]


def free_spot(
    spots: Iterable[complex], width: float, height: float, taken: Collection[Box], frame: Box
) -> complex | None:
    """The first spot around which a label of this size is free of boxes that are taken and stays in the frame."""
    for spot in spots:
        left, bottom, right, top = box_around(spot, width, height)
        inside = left >= frame[0] and bottom >= frame[1] and right <= frame[2] and top <= frame[3]
        if inside and not any(left < x2 and right > x1 and bottom < y2 and top > y1 for x1, y1, x2, y2 in taken):
            return spot
    return None


def box_around(spot: complex, width: float, height: float) -> Box:
    """The box of this size with a spot in its middle."""
    return spot.real - width / 2, spot.imag - height / 2, spot.real + width / 2, spot.imag + height / 2
