"""Tests of late incidents without teams: bounds, and teams that are passed over."""

from itertools import combinations

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.mdp.queueing.model import NEGLIGIBLE
from runcard.mdp.queueing.prices import find_savings, late_of_states, late_without_teams

from ..problems import every_state, make_problem, random_problem
from .cases import orders, queues_of


@each_seed(12)
def test_savings(seed: int) -> None:
    """What trucks that become busy can save is the sum over all teams, by listing them."""
    problem = random_problem(seed)
    queues, num = queues_of(problem), problem.num_trucks
    busy = queues.independent.with_outside(np.random.default_rng(seed).uniform(0.01, 0.9, num))
    station, teams = queues.independent.walks.station, problem.teams
    least, expected = problem.cost.min(axis=0), np.zeros(len(busy))
    for j, (own, k) in enumerate(zip(orders(problem), problem.trucks_needed.tolist(), strict=True)):
        order = [*own, *range(num, num + k)]
        for places in combinations(range(len(order)), k):
            team = [order[place] for place in places]
            others = [order[place] for place in range(places[-1]) if place not in places]
            cost = problem.cost[teams.number([int(station[n]) for n in team if n < num]), j]
            for n in team:
                chance = np.prod(busy[others]) * np.prod([1.0 - busy[m] for m in team if m != n])
                expected[n] += problem.incidents_per_day[j] * chance * (cost - least[j])
    saving = np.empty(len(busy))
    find_savings(queues.arrays.walks, busy, least, saving)
    np.testing.assert_allclose(saving[:num], expected[:num], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "horizon"), [("relaxing", 2.0), ("fixed", 2.0), ("fixed", 4.0)])
@each_seed(25)
def test_prices_are_not_below_their_bounds(seed: int, kind: str, horizon: float) -> None:
    """Late incidents fall by no more than the sum over the trucks that leave, though costs here have no structure."""
    problem = random_problem(seed)
    queues, rng = queues_of(problem, kind, horizon), np.random.default_rng(seed)
    for _ in range(3):
        idle = rng.integers(0, problem.trucks + 1)
        state, most = queues.fixed_point(idle), rng.integers(0, idle + 1)
        teams = np.flatnonzero((problem.teams.counts <= most).all(axis=1))
        saved = queues._most_saved(state)[queues.taken_trucks(idle, teams)].sum(axis=1)
        assert (queues.late_without(state, idle, teams) >= state.late - saved - NEGLIGIBLE / queues.horizon_days).all()


def test_states_by_number() -> None:
    """A range of states is the states of these numbers: the last station counts fastest."""
    problem = make_problem([2, 1, 3], [2, 3], seed=1)
    queues = queues_of(problem)
    late = np.empty(7)
    late_of_states(5, problem.trucks, queues.arrays, queues.independent.scratch(), late)
    for idle, found in zip(every_state(problem)[5:12], late, strict=True):
        assert found == queues.fixed_point(idle).late


def test_teams_are_passed_over() -> None:
    """In the given order, teams are passed over if their bound exceeds the smallest totals so far; -1 is no truck."""
    problem = make_problem([1] * 6, [2], seed=2)
    queues = queues_of(problem)
    state, taken = queues.fixed_point(problem.trucks), np.array([[0, 1], [2, -1], [3, 4], [1, 5]])
    idle, scratch = state.idle.copy(), queues.independent.scratch()

    def looked_at(least: list[float], num_best: int) -> list[int]:
        late = np.full(4, np.inf)
        late_without_teams(
            np.array([2, 0, 3, 1]), taken, np.zeros(4), np.array(least), num_best, idle, state.demand, queues.arrays,
            scratch, late,
        )  # fmt: skip
        return np.flatnonzero(np.isfinite(late)).tolist()

    assert looked_at([0.0] * 4, 1) == [0, 1, 2, 3]
    assert looked_at([1e9] * 4, 1) == [2]
    assert looked_at([1e9] * 4, 3) == [0, 2, 3]
    assert looked_at([1e9, 0.0, 1e9, 1e9], 1) == [1, 2]
    np.testing.assert_array_equal(idle, state.idle)
