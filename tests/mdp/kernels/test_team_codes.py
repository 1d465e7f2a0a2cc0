"""Tests of teams inside kernels, against itertools and the dense reference."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.mdp.kernels.team_codes import first_idle_team, first_set, next_set

from ..problems import random_problem
from ..reference import Dense


@each_seed(12)
def test_the_first_idle_trucks_in_an_order(seed: int) -> None:
    """In every state and for every demand point, the team is the one that dense enumeration finds."""
    problem = random_problem(seed)
    dense = Dense(problem)
    table, codes = dense.order_table(problem.order), problem.teams.number_of_code
    for (place, state), j in product(enumerate(dense.states), range(problem.num_points)):
        found = first_idle_team(problem.order, j, np.array(state), problem.trucks_needed[j], codes)
        assert found == table[place, j]


@pytest.mark.parametrize("top", range(8))
@pytest.mark.parametrize("size", range(5))
def test_sets_come_in_colexicographic_order(size: int, top: int) -> None:
    """Every set of positions comes once, those below a position before all that have it or a later one."""
    positions, found = np.full(max(size, 1), -1), []
    there = first_set(positions, size, top)
    while there:
        found.append(tuple(positions[:size].tolist()))
        there = next_set(positions, size, top)
    assert found == sorted(combinations(range(top), size), key=lambda one: one[::-1])
    assert len(found) == comb(top, size)
