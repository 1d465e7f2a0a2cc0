"""Tests of the teams: complete, in order, never more trucks than a station has."""

from itertools import combinations_with_replacement

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runcard.response import enumerate_teams


def test_by_hand() -> None:
    """Two trucks at the first station and one at the second make these five teams of at most two, in this order."""
    teams = enumerate_teams([2, 1], 2)
    assert teams.dtype == np.int8
    assert teams.tolist() == [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1]]


def test_nobody() -> None:
    """Of size zero there is the empty team only, also where trucks are fewer than the size allows."""
    assert enumerate_teams([1, 1, 1], 0).tolist() == [[0, 0, 0]]
    assert enumerate_teams([1], 3).tolist() == [[0], [1]]


@given(trucks=st.lists(st.integers(1, 3), min_size=1, max_size=6), max_size=st.integers(0, 4))
def test_every_team_once(trucks: list[int], max_size: int) -> None:
    """The teams are the multisets of stations that itertools lists, less those with more trucks than there are."""
    expected = []
    for size in range(max_size + 1):
        for stations in combinations_with_replacement(range(len(trucks)), size):
            counts = [stations.count(i) for i in range(len(trucks))]
            if all(count <= available for count, available in zip(counts, trucks, strict=True)):
                expected.append(counts)
    assert enumerate_teams(trucks, max_size).tolist() == expected


def test_large() -> None:
    """200 stations of one truck each have C(200, 2) pairs, and 20 stations C(20, 3) triples."""
    pairs = enumerate_teams([1] * 200, 2)
    assert pairs.shape == (1 + 200 + 200 * 199 // 2, 200)
    triples = enumerate_teams([1] * 20, 3)
    assert np.bincount(triples.sum(axis=1)).tolist() == [1, 20, 190, 1140]
