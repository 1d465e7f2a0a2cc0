"""Tests of walking through the states, against listing them."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.mdp.kernels.states import enter_state, next_state, previous_state, state_mask, team_of_all
from runcard.response.teams import Teams

from ..problems import every_state, make_problem

TRUCKS = [[1], [3], [1, 1, 1], [2, 1, 3], [5, 2]]


def mask_of(teams: Teams, idle: NDArray[np.int64]) -> np.uint64:
    """The mask of a state, as `Teams` describes it."""
    return np.uint64((((1 << np.minimum(idle, teams.bits)) - 1) << teams.first_bit).sum())


@pytest.mark.parametrize("trucks", TRUCKS)
def test_walking_up_and_down_meets_every_state(trucks: list[int]) -> None:
    """From any state the next one up and down are those of the list, with the rates and distances of returns."""
    problem = make_problem(trucks, [2, 4])
    states, space = list(product(*(range(number + 1) for number in trucks))), problem.layout.states

    def check(place: int) -> None:
        assert tuple(idle.tolist()) == states[place]
        busy = np.array(trucks) - idle
        assert weight.tolist() == (problem.returns_per_day * busy).tolist()
        for i in range(len(trucks)):
            up = list(states[place])
            up[i] = min(up[i] + 1, trucks[i])
            assert states[place + step[i]] == tuple(up)

    for place in range(len(states)):
        arrays = idle, weight, step = enter_state(place, space)
        check(place)
        first = next_state(space, *arrays)
        check((place + 1) % len(states))
        before, after = states[place], states[(place + 1) % len(states)]
        assert first == next((i for i in range(len(trucks)) if before[i] != after[i]), 0)
        previous_state(space, *arrays)
        check(place)
        previous_state(space, *arrays)
        check((place - 1) % len(states))


@pytest.mark.parametrize("trucks", TRUCKS)
def test_masks_are_those_of_the_catalogue(trucks: list[int]) -> None:
    """The mask of a state is that of the catalogue, made whole or from the stations before one that changed.

    A state with at most four idle trucks is the mask of one team, found by its number.
    """
    problem = make_problem(trucks, [4])
    states, teams = problem.layout.states, problem.teams
    for idle in every_state(problem):
        expected = mask_of(teams, idle)
        for first in range(len(trucks)):
            before = mask_of(teams, np.where(np.arange(len(trucks)) < first, idle, problem.trucks))
            assert state_mask(states, idle, first, before) == expected
    for team, counts in enumerate(teams.counts.astype(np.int64)):
        assert team_of_all(mask_of(teams, counts), states, teams.number_of_code) == team
