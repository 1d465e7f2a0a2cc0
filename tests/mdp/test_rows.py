"""Tests of chunks and of the rows of every rule."""

import numpy as np
import pytest

from runcard.city.check import MAX_TRUCKS_PER_INCIDENT
from runcard.mdp import rows as rows_module
from runcard.mdp.chain import policy_rows
from runcard.mdp.rows import OrderRule, Rule, TableRule, ValueRule, chunks_of
from runcard.mdp.space import state_space
from runcard.response.teams import Teams

from .problems import make_problem, random_problem, random_values
from .reference import Dense


@pytest.mark.parametrize("seed", range(12))
def test_every_rule_sends_a_team_to_every_incident(seed: int) -> None:
    """The rates of a row add up to Σλ, and its teams are idle in its state and of the size some point wants."""
    problem = random_problem(seed)
    dense = Dense(problem)
    rules: tuple[Rule, ...] = (
        OrderRule(problem.order),
        TableRule(dense.random_table(np.random.default_rng(seed))),
        ValueRule(random_values(problem, seed)),
        ValueRule(random_values(problem, seed), key_bits=32),
    )
    for rule in rules:
        (rows,) = policy_rows(state_space(problem, 1), rule, minutes=False)
        assert rows.end[-1] == len(rows.team) == len(rows.rate)
        assert len(rows.minutes) == 0
        for state, (first, last) in zip(dense.states, np.stack([np.append(0, rows.end[:-1]), rows.end]).T, strict=True):
            assert rows.rate[first:last].sum() == pytest.approx(problem.total_incidents_per_day, rel=1e-12)
            teams = problem.teams.counts[rows.team[first:last]]
            assert (teams <= state).all()
            wanted = {min(k, sum(state)) for k in problem.trucks_needed.tolist()}
            assert set(teams.sum(axis=1).tolist()) <= wanted


def test_numbers_and_masks_hold_every_problem_of_fewer_states() -> None:
    """With less than 2^33 states, 16 bits number every team of up to four trucks; with less than 2^37, 64 make a mask.

    More than four trucks at a station make no more teams and no more bits.
    """
    assert len(Teams.of([MAX_TRUCKS_PER_INCIDENT] * 32, MAX_TRUCKS_PER_INCIDENT)) <= 2**16
    for trucks in range(1, MAX_TRUCKS_PER_INCIDENT + 1):
        assert trucks * 37 <= 64 * np.log2(trucks + 1)


def test_rows_are_small() -> None:
    """Rows take one entry for each different team of a state, not one for each demand point."""
    problem = make_problem([1, 1, 1], [2] * 50, seed=1)
    (rows,) = policy_rows(state_space(problem, 1), OrderRule(problem.order), minutes=False)
    assert len(rows.team) <= 3 + 3 + 3 + 1
    assert sum(array.nbytes for array in rows) < 8 * 8 + 10 * 10 + 8 * 8 + 1


@pytest.mark.parametrize("chunk_states", [1, 2, 7, 12, 1000])
@pytest.mark.parametrize("trucks", [[1], [5], [1, 2, 3], [3, 1, 1, 2]])
def test_chunks_cover_every_state_once(trucks: list[int], chunk_states: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks follow each other without a gap, and no state of a wave reaches another chunk of it by a return."""
    monkeypatch.setattr(rows_module, "CHUNK_STATES", chunk_states)
    problem = make_problem(trucks, [1])
    chunks, dense = chunks_of(problem.trucks), Dense(problem)
    assert [chunk.start for chunk in chunks] == [0, *[chunk.stop for chunk in chunks[:-1]]]
    assert chunks[-1].stop == problem.num_states
    chunk_of = [number for number, chunk in enumerate(chunks) for _ in range(chunk.start, chunk.stop)]
    for place, state in enumerate(dense.states):
        for i, trucks_there in enumerate(trucks):
            if state[i] < trucks_there:
                up = dense.number[*state[:i], state[i] + 1, *state[i + 1 :]]
                assert chunk_of[up] == chunk_of[place] or chunks[chunk_of[up]].wave > chunks[chunk_of[place]].wave
