"""Tests of the kernels of the mean field, against enumeration and a dense path."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.mdp.kernels.independent import follow_order
from runcard.mdp.kernels.mean_field import (
    LEAST_IDLE,
    add_taken,
    chances_of_counts,
    chances_of_states,
    fill_states,
    find_steady,
)
from runcard.mdp.mean_field import MeanField
from runcard.mdp.problem import DispatchProblem

from ..problems import make_problem, random_problem
from ..reference import Dense

PROBLEMS = [
    make_problem([1, 1, 1], [1, 2], load=0.2, seed=1),
    make_problem([2, 1, 3], [2, 1, 3], load=0.4, seed=2),
    make_problem([3, 2], [4, 1], load=1.0, seed=3),
]


def counts_of(problem: DispatchProblem, busy: NDArray[np.float64]) -> NDArray[np.float64]:
    """[I, C + 1] the chance of each number of idle trucks, all of a station busy with the same chance."""
    counts = np.zeros((problem.num_stations, int(problem.trucks.max()) + 1))
    chances_of_counts(problem.trucks, problem.trucks, busy, busy, counts)
    return counts


def test_counts_are_those_of_independent_trucks() -> None:
    """Trucks that were idle at the start have one chance, the others another: every set of idle trucks, added up."""
    trucks, start = np.array([3, 2]), np.array([1, 2])
    from_idle, from_busy = np.array([0.2, 0.5]), np.array([0.7, 0.9])
    counts = np.zeros((2, 4))
    chances_of_counts(trucks, start, from_idle, from_busy, counts)
    for i in range(2):
        expected = np.zeros(4)
        busy = [from_idle[i] if n < start[i] else from_busy[i] for n in range(trucks[i])]
        for idle in product([0, 1], repeat=int(trucks[i])):
            expected[sum(idle)] += np.prod([1.0 - p if one else p for one, p in zip(idle, busy, strict=True)])
        np.testing.assert_allclose(counts[i], expected, rtol=1e-13, atol=1e-16)


def test_a_truck_is_never_wholly_busy() -> None:
    """What is asked of a truck that is busy for sure is defined: it counts as idle with a tiny chance."""
    counts = counts_of(make_problem([1], [1]), np.ones(1))
    assert counts[0, 1] == LEAST_IDLE


@pytest.mark.parametrize("problem", PROBLEMS)
def test_states_are_products_of_counts(problem: DispatchProblem) -> None:
    """The chance of a state is the product over its stations, the last of which counts ones."""
    busy = np.random.default_rng(1).uniform(0.1, 0.9, problem.num_stations)
    counts = np.array([counts_of(problem, busy), counts_of(problem, 1.0 - busy)])
    chance = np.empty((problem.num_states, 2))
    chances_of_states(np.arange(problem.num_stations), problem.num_stations, problem.trucks, counts, chance)
    for path in range(2):
        for place, state in enumerate(Dense(problem).states):
            expected = np.prod([counts[path, i, y] for i, y in enumerate(state)])
            assert chance[place, path] == pytest.approx(expected, rel=1e-13)
        assert chance[:, path].sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_what_points_take_in_a_state(problem: DispatchProblem) -> None:
    """In a state with enough idle trucks, each point takes the team with the smallest cost + price."""
    dense, rng = Dense(problem), np.random.default_rng(2)
    price = rng.random((problem.num_states, problem.num_teams))
    late, taken = np.zeros(problem.num_states), np.zeros((problem.num_states, problem.num_stations))
    stations, points = np.arange(problem.num_stations), np.arange(problem.num_points)
    fill_states(
        stations, problem.trucks, points, problem.incidents_per_day, problem.trucks_needed, problem.cost,
        np.array(problem.cost), price, np.arange(problem.num_teams), problem.teams.sizes,
        problem.teams.counts.astype(np.int64), late, taken,
    )  # fmt: skip
    for place, state in enumerate(dense.states):
        expected, sent = 0.0, np.zeros(problem.num_stations)
        for j, teams in enumerate(dense.choices[place]):
            if sum(state) >= problem.trucks_needed[j]:
                team = teams[int((problem.cost[teams, j] + price[place, teams]).argmin())]
                expected += problem.incidents_per_day[j] * problem.cost[team, j]
                sent += problem.incidents_per_day[j] * problem.teams.counts[team]
        assert late[place] == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(taken[place], sent, rtol=1e-12)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_group_takes_its_mean_over_the_states(problem: DispatchProblem) -> None:
    """With the whole department as one neighbourhood, a group takes and costs its mean over all states."""
    field = MeanField(problem, problem.order, local_states=10**6)
    groups, dense = field._groups(None), Dense(problem)
    assert len(field.members) == 1
    table = dense.order_table(problem.order)
    sent = np.einsum("j,sji->si", problem.incidents_per_day, problem.teams.counts[table].astype(float))
    counts = counts_of(problem, np.random.default_rng(3).uniform(0.1, 0.8, problem.num_stations))
    taken, late = np.zeros((1, problem.num_stations)), np.empty(1)
    add_taken(0, groups, problem.trucks, counts[None], np.empty(groups.most_states), taken, late)
    chance = np.array([np.prod([counts[i, y] for i, y in enumerate(state)]) for state in dense.states])
    assert late[0] == pytest.approx(chance @ dense.rate_of(problem.cost, table), rel=1e-10)
    np.testing.assert_allclose(taken[0], chance @ sent, rtol=1e-10)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_steady_chances_repeat_themselves(problem: DispatchProblem) -> None:
    """A truck is asked and returns equally often at the steady chances, which are found from any start."""
    field = MeanField(problem, problem.order)
    groups, found = field._groups(None), []
    for start in (0.1, 0.9):
        busy, by_group = np.full(problem.num_stations, start), np.zeros((len(field.members), problem.num_stations))
        assert find_steady(groups, problem.trucks, problem.returns_per_day, busy, 2000, by_group) < 1e-12
        leaving = problem.returns_per_day * busy * problem.trucks
        np.testing.assert_allclose(by_group.sum(axis=0), leaving, rtol=1e-8)
        found.append(busy)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_some_points_ask_as_all_do_one_by_one(seed: int) -> None:
    """What several points ask and how late they are is the sum over them, and over all points that of the order."""
    problem = random_problem(seed)
    independent = MeanField(problem, problem.order).independent
    chance = independent.with_outside(np.random.default_rng(seed).uniform(0.05, 0.95, problem.num_trucks))
    together, late_together = np.zeros_like(chance), 0.0
    for j in range(problem.num_points):
        late_together += follow_order(np.array([j]), independent.walks, chance, independent.scratch(), together)
    asked = np.zeros_like(chance)
    late = follow_order(np.arange(problem.num_points), independent.walks, chance, independent.scratch(), asked)
    np.testing.assert_allclose(asked, together, rtol=1e-12)
    assert late == pytest.approx(late_together, rel=1e-12)
    expected_asked, expected_late = independent.asked_and_late(chance[: problem.num_trucks])
    np.testing.assert_allclose(asked[: problem.num_trucks], expected_asked, rtol=1e-12)
    assert late == pytest.approx(expected_late, rel=1e-12)
