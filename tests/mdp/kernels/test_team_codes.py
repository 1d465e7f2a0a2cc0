"""Tests of teams inside kernels, against itertools."""

from itertools import combinations, product

import numpy as np

from runcard.mdp.kernels.team_codes import first_set, next_set


def test_sets_come_in_colexicographic_order() -> None:
    """Every set of positions comes once, those below a position before all that have it or a later one."""
    for size, top in product(range(5), range(8)):
        positions, found = np.full(max(size, 1), -1), []
        there = first_set(positions, size, top)
        while there:
            found.append(tuple(positions[:size].tolist()))
            there = next_set(positions, size, top)
        assert found == sorted(combinations(range(top), size), key=lambda one: one[::-1])
