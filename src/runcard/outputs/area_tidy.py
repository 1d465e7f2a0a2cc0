"""Areas made easy on the eye: teeth along their borders and small pieces go to the area around them.

The two carriageways of a road, or a road on a bridge above another, may belong to different areas. Drawn as they are,
the cells of their nodes interlock like the teeth of a zip. With b(v, a) the length of the border between the cell v and
the cells of area a, a cell changes from its area a to the area a' with the longest border if b(v, a') > 1.5 b(v, a), a
few times over. Then every piece of an area that is apart from the rest and small goes to the area around it. The cells
of demand nodes stay, so that every area keeps its middle.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

Positions = NDArray[np.int64]

CLEARLY: Final = 1.5
SMALL_PIECE: Final = 0.25
"""A piece with a smaller part of the cells of the largest piece of its area is small."""
MAX_PASSES: Final = 6


def border_lengths(diagram: Any) -> csr_array:
    """[place, place] the length of the border between two cells of scipy's Voronoi diagram; not of endless ones."""
    ends, pairs = np.array(diagram.ridge_vertices), diagram.ridge_points
    lengths = np.hypot(*(diagram.vertices[ends[:, 0]] - diagram.vertices[ends[:, 1]]).T)
    (low, high), known = pairs[ends.min(axis=1) >= 0].T, lengths[ends.min(axis=1) >= 0]
    both = np.append(known, known), (np.append(low, high), np.append(high, low))
    return csr_array(coo_array(both, shape=(len(diagram.points), len(diagram.points))))


def tidied(borders: csr_array, owner: Positions, stays: NDArray[np.bool_]) -> Positions:
    """[place] its area, tidied; `borders` are those of their cells, `owner` is -1 where nobody is."""
    fixed, still = stays | (owner < 0), 0
    for turn in range(2 * MAX_PASSES):
        shared = _shared(borders, owner)
        best = np.asarray(shared.argmax(axis=1)).ravel()
        most = shared.max(axis=1).toarray().ravel()
        own = np.asarray(shared[np.arange(len(owner)), np.maximum(owner, 0)]).ravel()
        moves = ~fixed & (most > CLEARLY * own) & (best != owner)
        # Neighbours that both moved at once could exchange their areas for ever.
        moves &= np.arange(len(owner)) % 2 == turn % 2
        owner = np.where(moves, best, owner)
        still = 0 if moves.any() else still + 1
        if still == 2:  # neither the even nor the odd ones move any more
            break
    for _ in range(MAX_PASSES):
        before, owner = owner, _without_small_pieces(borders, owner, fixed)
        if np.array_equal(before, owner):
            break
    return owner


def _shared(borders: csr_array, owner: Positions) -> csr_array:
    """[place, area] the length of the border between a cell and the cells of an area."""
    places = np.flatnonzero(owner >= 0)
    belongs = coo_array((np.ones(len(places)), (places, owner[places])), shape=(len(owner), int(owner.max()) + 1))
    return csr_array(borders @ belongs.tocsr())


def _without_small_pieces(borders: csr_array, owner: Positions, fixed: NDArray[np.bool_]) -> Positions:
    """[place] its area, after each small piece went to the area that it has the longest border with."""
    pairs = borders.tocoo()
    same = owner[pairs.row] == owner[pairs.col]
    joined = coo_array((np.ones(same.sum()), (pairs.row[same], pairs.col[same])), shape=borders.shape)
    num_pieces, piece = connected_components(joined, directed=False)
    cells, owner_of = np.bincount(piece), np.full(num_pieces, -1, np.int64)
    owner_of[piece] = owner
    largest = np.zeros(int(owner.max()) + 2)
    np.maximum.at(largest, owner_of, cells)  # the last is for nobody
    small = (cells < SMALL_PIECE * largest[owner_of]) & (owner_of >= 0)
    small[piece[fixed]] = False
    places = coo_array((np.ones(len(piece)), (piece, np.arange(len(piece)))), shape=(num_pieces, len(piece)))
    around = (places.tocsr()[small] @ _shared(borders, owner)).toarray()
    around[np.arange(len(around)), owner_of[small]] = 0.0
    owner_of[small] = np.where(around.any(axis=1), around.argmax(axis=1), owner_of[small])
    return owner_of[piece]
