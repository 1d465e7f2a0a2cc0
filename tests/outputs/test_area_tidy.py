"""Tidied areas: no teeth, no small pieces, and every demand node where it was."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Voronoi

from runcard.outputs.area_tidy import border_lengths, tidied


def grid(side: int) -> tuple[np.ndarray, Voronoi]:
    """The places of a grid, x and y, and their diagram."""
    places = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2).astype(float)
    return places, Voronoi(places)


def num_pieces(diagram: Voronoi, owner: np.ndarray) -> int:
    """How many pieces the areas have together, by the sides that cells share."""
    ends = np.array(diagram.ridge_vertices)
    lengths = np.hypot(*(diagram.vertices[ends[:, 0]] - diagram.vertices[ends[:, 1]]).T)
    pairs = diagram.ridge_points[(ends.min(axis=1) < 0) | (lengths > 1e-9)]
    pairs = pairs[owner[pairs[:, 0]] == owner[pairs[:, 1]]]
    joined = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(owner), len(owner)))
    return int(connected_components(joined, directed=False)[0])


def test_an_island_goes_to_the_area_around_it_unless_it_must_stay() -> None:
    """A single cell inside another area, and the same cell with a demand node."""
    places, diagram = grid(9)
    owner = (places[:, 0] > 4).astype(np.int64)
    island = int(np.flatnonzero((places == [7, 4]).all(axis=1))[0])
    owner[island] = 0
    stays = np.zeros(len(owner), np.bool_)
    assert tidied(border_lengths(diagram), owner, stays)[island] == 1
    stays[island] = True
    assert tidied(border_lengths(diagram), owner, stays)[island] == 0


def test_teeth_along_a_border_are_filed_off() -> None:
    """Where two areas interlock row by row, the border becomes straight: no cell has more of the other area around."""
    places, diagram = grid(10)
    odd = places[:, 1] % 2 == 1
    owner = np.where(odd, places[:, 0] > 6, places[:, 0] > 3).astype(np.int64)
    found = tidied(border_lengths(diagram), owner, np.zeros(len(owner), np.bool_))
    before, after = (
        sum(one[a] != one[b] for a, b in diagram.ridge_points if abs(places[a] - places[b]).sum() == 1.0)
        for one in (owner, found)
    )
    assert after < before / 2
    assert num_pieces(diagram, found) == 2


@pytest.mark.parametrize("seed", range(5))
def test_random_areas_become_few_pieces_and_keep_their_middles(seed: int) -> None:
    """With one cell in ten given to another area, almost all of these pieces are gone; nobody's cells stay nobody's."""
    random = np.random.default_rng(seed)
    places = random.uniform(0.0, 1.0, (600, 2))
    diagram = Voronoi(places)
    centres = places[:12]
    owner = np.linalg.norm(places[:, None] - centres, axis=2).argmin(axis=1)
    strays = random.permutation(np.arange(12, 600))[:60]
    owner[strays] = random.integers(0, 12, 60)
    nobody = np.linalg.norm(places - 0.5, axis=1) > 0.6
    nobody[:12] = False
    owner[nobody] = -1
    stays = np.arange(600) < 12
    found = tidied(border_lengths(diagram), owner, stays)
    assert (found[:12] == np.arange(12)).all()
    assert ((found == -1) == nobody).all()
    inside = owner >= 0
    keep = np.where(inside, owner, 100 + np.arange(600))
    tidy = np.where(inside, found, 100 + np.arange(600))
    assert num_pieces(diagram, tidy) - nobody.sum() <= 0.4 * (num_pieces(diagram, keep) - nobody.sum())
