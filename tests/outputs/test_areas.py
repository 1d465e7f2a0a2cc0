"""The shapes of areas, which of them touch, territories and colours."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, pairwise, product
from math import cos, radians

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from runcard.city import City, DemandPoint, Link, Node, Station, generate_grid
from runcard.outputs.areas import MapPlane, areas_of, coloured

Random = np.random.Generator


def row_city(places: NDArray[np.float64]) -> City:
    """A city of some nodes in a row, each with demand, and a station at the first."""
    names = [f"n{number}" for number in range(len(places))]
    return replace(
        generate_grid(side=2, num_stations=1, load=0.1, seed=1),
        nodes=tuple(Node(name, *place) for name, place in zip(names, places.tolist(), strict=True)),
        links=tuple(Link(f"l{start}", start, end, False, 1.0) for start, end in pairwise(names)),
        stations=(Station("s", names[0], 2),),
        demand=tuple(DemandPoint(name, 1.0) for name in names),
    )


CITIES: dict[str, Callable[[Random], NDArray[np.float64]]] = {
    "spread": lambda rng: rng.random((300, 2)),
    "two towns": lambda rng: np.concatenate([rng.random((60, 2)), 0.2 * rng.random((60, 2)) + (3.0, 1.0)]),
    "one line": lambda rng: np.column_stack([np.sort(rng.random(40)), np.zeros(40)]),
    "one line aslant": lambda rng: rng.random((40, 1)) * (3.0, 1.0),
    "twice": lambda rng: np.tile(rng.random((30, 2)), (2, 1)),
    "two": lambda rng: rng.random((2, 2)),
    "three": lambda rng: rng.random((3, 2)),
    "one spot": lambda rng: np.full((5, 2), 7.5),
    "a far one": lambda rng: np.concatenate([rng.random((50, 2)), [(400.0, -90.0)]]),
    "huge": lambda rng: 1e12 * (2.0 * rng.random((30, 2)) - 1.0),
    "tiny": lambda rng: 1e-320 * rng.random((30, 2)),
    "far away": lambda rng: 1e6 * rng.random((30, 2)) + 5e9,
    "a grid": lambda rng: np.array(list(product(range(12), range(9))), float),
}


@pytest.mark.parametrize("name", CITIES)
def test_every_place_is_in_its_own_area_and_no_two_areas_overlap(name: str) -> None:
    """The plane is a square of side 1 around 0; a demand node lies in its area, of several at one place the first."""
    areas = areas_of(row_city(CITIES[name](np.random.default_rng(3))))
    assert np.abs(areas.plane.nodes).max() <= 0.5 + 1e-9
    assert shapely.is_valid(areas.shapes).all()
    _, first = np.unique(areas.middles, axis=0, return_index=True)
    assert shapely.contains_xy(areas.shapes[first], areas.middles[first]).all()
    total = sum(shape.area for shape in areas.shapes)
    assert shapely.union_all(areas.shapes).area == pytest.approx(total, rel=1e-6)


def grid(side: int) -> City:
    """A whole grid, with demand at every node; the number of a node is row by row."""
    return generate_grid(side=side, num_stations=2, load=0.1, seed=1, sparseness=1.0)


def test_a_grid_gives_squares_with_the_neighbours_of_the_grid() -> None:
    """Areas of a grid are squares of one size, and touch along the links of the full grid, no corner to corner."""
    city, side = grid(6), 6
    areas = areas_of(city)
    inner = [n for n, node in enumerate(city.nodes) if {node.x_coord, node.y_coord}.isdisjoint({0.0, side - 1.0})]
    assert len(inner) == (side - 2) ** 2
    assert [areas.shapes[n].area for n in inner] == pytest.approx([(1.0 / (side - 1)) ** 2] * len(inner))
    number = city.node_numbers
    links = [(number[link.from_node_id], number[link.to_node_id]) for link in city.links]
    assert areas.neighbours == sorted((min(pair), max(pair)) for pair in links)
    assert areas.spacing == pytest.approx(0.2)


def test_longitude_and_latitude_are_drawn_to_scale() -> None:
    """At 60 degrees north a degree of longitude is half of one of latitude; metres and large grids stay as they are.

    Back in coordinates every node is where it was.
    """

    def places(*coords: tuple[float, float]) -> NDArray[np.float64]:
        city = row_city(np.array(coords))
        plane = MapPlane(city)
        assert plane.coordinates(plane.nodes) == pytest.approx(np.array(coords), rel=1e-12)
        return plane.nodes

    def far(start: NDArray[np.float64], end: NDArray[np.float64]) -> float:
        return float(np.hypot(*(end - start)))

    degrees = places((4.0, 59.5), (5.0, 59.5), (4.0, 60.5))
    assert far(degrees[0], degrees[1]) / far(degrees[0], degrees[2]) == pytest.approx(cos(radians(59.83)), abs=1e-3)
    for scale in (1000.0, 1e-3, 10.0):
        square = places((0.0, 0.0), (scale, 0.0), (0.0, scale))
        assert far(square[0], square[1]) == pytest.approx(far(square[0], square[2]), rel=1e-3)
    assert places((5e5, 4.5e6), (5.01e5, 4.5e6)) == pytest.approx(np.array([(-0.5, 0.0), (0.5, 0.0)]))


def test_territories_of_two_halves_and_an_island() -> None:
    """Each half hangs together; an area inside it may be a territory of its own; the border goes straight through."""
    city = grid(6)
    areas, owners = areas_of(city), [int(node.x_coord >= 3.0) for node in city.nodes]
    halves = [[n for n, owner in enumerate(owners) if owner == half] for half in (0, 1)]
    assert sorted(areas.territories(owners)) == sorted(halves)
    between = shapely.intersection(areas.union(halves[0]), areas.union(halves[1]))
    assert between.length == pytest.approx(1.2, rel=0.02)  # six areas, each a fifth of the distance between the ends
    island = next(n for n, node in enumerate(city.nodes) if (node.x_coord, node.y_coord) == (1.0, 1.0))
    owners[island] = 2
    assert [len(group) for group in areas.territories(owners)] == [18, 17, 1]


def test_two_of_a_pair_never_have_one_colour_even_if_colours_run_out() -> None:
    """Random graphs and a complete one, which needs as many colours as it has places."""
    rng = np.random.default_rng(5)
    places = rng.random((40, 2))
    for density in (0.05, 0.2, 0.8):
        pairs = [pair for pair in combinations(range(40), 2) if rng.random() < density]
        colours = coloured(places, pairs, 8)
        assert all(colours[a] != colours[b] for a, b in pairs)
        assert density > 0.1 or max(colours) < 8
    assert sorted(coloured(places, combinations(range(40), 2), 8)) == list(range(40))


def test_colours_differ_while_there_are_enough_and_then_lie_apart() -> None:
    """Nine places have nine colours; a tenth takes that of the place farthest from it."""
    colours = coloured(np.array([(float(number), 0.0) for number in range(10)]), [], 9)
    assert sorted(colours[:9]) == list(range(9))
    assert colours[9] == colours[0]
