"""Tests of how a problem is laid out: numbers of states, chunks and waves, and teams."""

import numpy as np
import pytest

from runcard.city.conditions import MAX_TRUCKS_PER_INCIDENT
from runcard.mdp import layout
from runcard.mdp.layout import starts, strides
from runcard.response.teams import Teams

from .problems import make_problem
from .reference import Dense


def test_states_are_numbered_with_the_last_station_fastest() -> None:
    """The number of a state is the sum of its digits times the strides, and a team is a distance between numbers."""
    problem = make_problem([2, 1, 3], [3, 1])
    dense, stride = Dense(problem), strides(problem.trucks)
    assert [int(np.dot(state, stride)) for state in dense.states] == list(range(problem.num_states))
    for team, counts in enumerate(problem.teams.counts):
        assert problem.layout.offset[team] == np.dot(counts, stride)
    assert starts([2, 0, 3]).tolist() == [0, 2, 2, 5]


def test_numbers_and_masks_hold_every_problem_of_fewer_states() -> None:
    """With less than 2^33 states, 16 bits number every team of up to four trucks; with less than 2^37, 64 make a mask.

    More than four trucks at a station make no more teams and no more bits.
    """
    assert len(Teams.of([MAX_TRUCKS_PER_INCIDENT] * 32, MAX_TRUCKS_PER_INCIDENT)) <= 2**16
    for trucks in range(1, MAX_TRUCKS_PER_INCIDENT + 1):
        assert trucks * 37 <= 64 * np.log2(trucks + 1)


@pytest.mark.parametrize("chunk_states", [1, 2, 7, 12, 1000])
@pytest.mark.parametrize("trucks", [[1], [5], [1, 2, 3], [3, 1, 1, 2]])
def test_chunks_cover_every_state_once(trucks: list[int], chunk_states: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks follow each other without a gap; a return leads to the same chunk or a higher wave, a team to a lower."""
    monkeypatch.setattr(layout, "CHUNK_STATES", chunk_states)
    problem = make_problem(trucks, [1, 2])
    chunks, dense = problem.layout.chunks, Dense(problem)
    assert [chunk.start for chunk in chunks] == [0, *[chunk.stop for chunk in chunks[:-1]]]
    assert chunks[-1].stop == problem.num_states
    assert sorted(number for wave in problem.layout.waves for number in wave) == list(range(len(chunks)))
    chunk_of = [number for number, chunk in enumerate(chunks) for _ in range(chunk.start, chunk.stop)]
    for place, state in enumerate(dense.states):
        own = chunk_of[place]
        for i, trucks_there in enumerate(trucks):
            if state[i] < trucks_there:
                up = chunk_of[dense.number[*state[:i], state[i] + 1, *state[i + 1 :]]]
                assert up == own or chunks[up].wave > chunks[own].wave
        for teams in dense.choices[place]:
            for team in teams:
                down = chunk_of[dense.after(state, team)]
                assert down == own or chunks[down].wave < chunks[own].wave
