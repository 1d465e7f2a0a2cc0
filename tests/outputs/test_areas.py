"""Cells, borders, territories, colours and spots for labels."""

from itertools import combinations, product
from math import cos, radians

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.outputs.areas import PlaceCells, borders, cells_of, coloured, free_spot, projected, territories


def holds(areas: PlaceCells, spot: complex, slack: float = 0.0) -> list[int]:
    """The cells that a spot lies in: on the left of every side, going round counter-clockwise."""
    found = []
    for cell, corners in enumerate(areas.corners):
        sides = zip(corners, (*corners[1:], corners[0]), strict=True)
        turns = [((end - start).conjugate() * (spot - start)).imag / abs(end - start) for start, end in sides]
        if min(turns) >= slack:
            found.append(cell)
    return found


def size_of(corners: tuple[complex, ...]) -> float:
    """The area of a polygon, by the shoelace formula."""
    pairs = zip(corners, (*corners[1:], corners[0]), strict=True)
    return sum((start.conjugate() * end).imag for start, end in pairs) / 2.0


def grid(side: int) -> NDArray[np.complex128]:
    """The places of a square grid, column by column."""
    x, y = np.divmod(np.arange(side * side), side)
    return projected(x.tolist(), y.tolist())


CITIES = {
    "spread": lambda rng: rng.random((300, 2)),
    "two towns": lambda rng: np.concatenate([rng.random((60, 2)), 0.2 * rng.random((60, 2)) + (3.0, 1.0)]),
    "one line": lambda rng: np.column_stack([np.sort(rng.random(40)), np.zeros(40)]),
    "one line aslant": lambda rng: rng.random((40, 1)) * (3.0, 1.0),
    "twice": lambda rng: np.tile(rng.random((30, 2)), (2, 1)),
    "two": lambda rng: rng.random((2, 2)),
    "three": lambda rng: rng.random((3, 2)),
    "one": lambda rng: rng.random((1, 2)),
    "one spot": lambda rng: np.full((5, 2), 7.5),
    "a far one": lambda rng: np.concatenate([rng.random((50, 2)), [(400.0, -90.0)]]),
    "huge": lambda rng: 1e308 * (2.0 * rng.random((30, 2)) - 1.0),
    "tiny": lambda rng: 1e-320 * rng.random((30, 2)),
    "far away": lambda rng: 1e6 * rng.random((30, 2)) + 5e9,
    "a grid": lambda rng: np.array(list(product(range(12), range(9))), float),
}


@pytest.mark.parametrize("name", CITIES)
def test_every_place_is_in_exactly_one_cell_and_cells_cover_what_is_near(name: str) -> None:
    """A place lies in its own cell only; so does any spot near it among the places that it is nearest to."""
    rng = np.random.default_rng(3)
    coords = CITIES[name](rng)
    places = projected(coords[:, 0].tolist(), coords[:, 1].tolist())
    assert np.abs(places.real).max() <= 0.5 + 1e-9
    assert np.abs(places.imag).max() <= 0.5 + 1e-9
    areas = cells_of(places)
    middles = np.array(areas.middles)
    assert len(areas.cell_of) == len(places)
    assert np.abs(middles[areas.cell_of] - places).max() < 2e-6
    for cell, middle in enumerate(areas.middles):
        assert holds(areas, middle) == [cell]
    for first, second in rng.integers(len(places), size=(200, 2)):
        spot = places[first] + rng.random() * (places[second] - places[first])
        distances = np.sort(np.abs(middles - spot))
        inside = holds(areas, spot)
        assert len(holds(areas, spot, 1e-9)) <= 1
        if distances[0] < 1.99 * areas.spacing:
            assert int(np.abs(middles - spot).argmin()) in inside or distances[1] - distances[0] < 1e-9
        if distances[0] > 4.0 * areas.spacing:
            assert inside == []


def test_no_cell_reaches_far_out_of_the_city() -> None:
    """No corner is more than half a spacing outside of the places, in each of 48 directions."""
    places = projected(*np.random.default_rng(4).random((2, 80)).tolist())
    areas = cells_of(places)
    for way in np.exp(2j * np.pi * np.arange(48) / 48.0):
        reach = max((corner * way.conjugate()).real for corners in areas.corners for corner in corners)
        assert reach <= (places * way.conjugate()).real.max() + 0.5 * areas.spacing + 1e-6


def test_a_grid_gives_squares_with_the_neighbours_of_the_grid() -> None:
    """Cells of a grid are squares of one size, and touch along the links of the full grid, no corner to corner."""
    side = 6
    areas = cells_of(grid(side))
    inner = [areas.cell_of[x * side + y] for x in range(1, side - 1) for y in range(1, side - 1)]
    assert [size_of(areas.corners[cell]) for cell in inner] == pytest.approx([(1.0 / (side - 1)) ** 2] * len(inner))
    numbers = areas.cell_of.reshape(side, side)
    links = [*zip(numbers[1:].ravel(), numbers[:-1].ravel(), strict=True)]
    links += [*zip(numbers[:, 1:].ravel(), numbers[:, :-1].ravel(), strict=True)]
    assert areas.neighbours == sorted((min(a, b), max(a, b)) for a, b in links)


def test_longitude_and_latitude_are_drawn_to_scale() -> None:
    """At 60 degrees north a degree of longitude is half of one of latitude; metres and large grids stay as they are."""
    degrees = projected([4.0, 5.0, 4.0], [59.5, 59.5, 60.5])
    assert abs(degrees[1] - degrees[0]) / abs(degrees[2] - degrees[0]) == pytest.approx(cos(radians(59.83)), abs=1e-3)
    for scale in (1000.0, 1e-3, 10.0):
        square = projected([0.0, scale, 0.0], [0.0, 0.0, scale])
        assert abs(square[1] - square[0]) == pytest.approx(abs(square[2] - square[0]), rel=1e-3)
    assert projected([500_000.0, 501_000.0], [4_500_000.0, 4_500_000.0]) == pytest.approx([-0.5, 0.5])


def test_borders_and_territories_of_two_halves_and_an_island() -> None:
    """The border of a half goes straight through the grid; a cell inside it may be a territory of its own."""
    areas = cells_of(grid(6))
    numbers = areas.cell_of.reshape(6, 6)
    owners = np.zeros(36, int)
    owners[numbers[3:].ravel()] = 1
    groups = territories(areas, owners.tolist())
    assert sorted(map(sorted, groups)) == sorted([sorted(numbers[:3].ravel()), sorted(numbers[3:].ravel())])
    between = borders(areas, owners.tolist(), numbers[2])
    length = sum(abs(end - start) for start, end in between if max(abs(start.real), abs(end.real)) < 1e-6)
    assert length == pytest.approx(1.2)  # six cells, each a fifth of the distance from the first place to the last
    owners[numbers[1, 1]] = 2
    assert [len(group) for group in territories(areas, owners.tolist())] == [18, 17, 1]
    assert len(borders(areas, owners.tolist(), [numbers[1, 1]])) == 4


def test_two_of_a_pair_never_have_one_colour_even_if_colours_run_out() -> None:
    """Random graphs and a complete one, which needs as many colours as it has places."""
    rng = np.random.default_rng(5)
    places = (rng.random(40) + 1j * rng.random(40)).tolist()
    for density in (0.05, 0.2, 0.8):
        pairs = [pair for pair in combinations(range(40), 2) if rng.random() < density]
        colours = coloured(places, pairs, 8)
        assert all(colours[a] != colours[b] for a, b in pairs)
        assert density > 0.1 or max(colours) < 8
    assert sorted(coloured(places, combinations(range(40), 2), 8)) == list(range(40))


def test_colours_differ_while_there_are_enough_and_then_lie_apart() -> None:
    """Nine places have nine colours; a tenth takes that of the place farthest from it."""
    colours = coloured([complex(number, 0.0) for number in range(10)], [], 9)
    assert sorted(colours[:9]) == list(range(9))
    assert colours[9] == colours[0]


def test_a_label_takes_the_first_spot_that_is_free() -> None:
    """Not on another label and not out of the frame; if there is none, that is said."""
    frame, taken = (0.0, 0.0, 10.0, 10.0), [(4.0, 4.0, 6.0, 6.0)]
    assert free_spot([5 + 5j, 9.5 + 5j, 5 + 7j], 2.0, 1.0, taken, frame) == 5 + 7j
    assert free_spot([5 + 6.5j], 2.0, 1.0, taken, frame) == 5 + 6.5j  # boxes may touch
    assert free_spot([5 + 5j, 9.5 + 5j], 2.0, 1.0, taken, frame) is None
