"""Tests of the teams that could go, against counting trucks team by team."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.mdp.problem import DispatchProblem
from runcard.policy.options import first_in_order, idle_teams, make_decision, team_ids

from ..mdp.problems import make_problem, random_problem
from ..mdp.reference import Dense


def large_problem(needed: int) -> DispatchProblem:
    """Seventy trucks at thirty-five stations: more than the bits of a number."""
    return make_problem([3, 1, 2, 1, 3] * 7, [needed, 1, needed], seed=4)


@each_seed(25)
def test_the_teams_that_could_go(seed: int) -> None:
    """In every state and at every point they are the teams of min(k, idle) trucks that take no more than is idle."""
    problem = random_problem(seed)
    dense = Dense(problem)
    for place, j in product(range(problem.num_states), range(problem.num_points)):
        found = idle_teams(problem, np.array(dense.states[place]), j)
        assert found.tolist() == dense.choices[place][j]


@each_seed(25)
def test_the_first_in_an_order(seed: int) -> None:
    """In every state and at every point it is the team of the first idle trucks along the order, counted one by one."""
    problem = random_problem(seed)
    dense, rng = Dense(problem), np.random.default_rng(seed)
    order = np.array([rng.permutation(problem.num_stations) for _ in range(problem.num_points)])
    table = dense.order_table(order)
    for place, j in product(range(problem.num_states), range(problem.num_points)):
        assert first_in_order(problem, order, np.array(dense.states[place]), j) == table[place, j]


@each_seed(25)
def test_a_team_is_found_by_its_stations(seed: int) -> None:
    """Every team has its own number, whatever the order its stations are named in."""
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    for number, team in enumerate(problem.teams.counts):
        stations = np.repeat(np.arange(problem.num_stations), team)
        assert problem.teams.number(rng.permutation(stations).tolist()) == number


@pytest.mark.parametrize("needed", [1, 2, 3])
def test_more_trucks_than_bits(needed: int) -> None:
    """With seventy trucks the teams, the first in the order and every number are right as well."""
    problem, rng = large_problem(needed), np.random.default_rng(needed)
    sizes = problem.teams.counts.sum(axis=1)
    for share in (0.0, 0.01, 0.05, 0.5, 1.0):
        idle = rng.binomial(problem.trucks, share)
        could_go = (problem.teams.counts <= idle).all(axis=1)
        for size in range(needed + 1):
            expected = np.flatnonzero(could_go & (sizes == size))
            assert np.array_equal(problem.teams.idle(idle, size), expected)
        wanted = min(needed, int(idle.sum()))
        assert np.array_equal(idle_teams(problem, idle, 0), np.flatnonzero(could_go & (sizes == wanted)))
        taken = np.array([i for i in problem.order[0] for _ in range(idle[i])][:needed], np.int64)
        counts = np.bincount(taken, minlength=problem.num_stations)
        assert np.array_equal(problem.teams.counts[first_in_order(problem, problem.order, idle, 0)], counts)
    for number in rng.integers(0, problem.num_teams, 200).tolist():
        assert problem.teams.number(np.repeat(np.arange(35), problem.teams.counts[number]).tolist()) == number


def test_ids_are_made_up_from_outside() -> None:
    """A team has an id for each truck, and "outside" for each that is missing at a point."""
    problem = make_problem([2, 1], [3, 1])
    assert team_ids(problem, 0, problem.teams.number([1, 0, 0])) == ("s0", "s0", "s1")
    assert team_ids(problem, 0, problem.teams.number([1])) == ("s1", "outside", "outside")
    assert team_ids(problem, 1, problem.teams.number([1])) == ("s1",)
    assert team_ids(problem, 1, problem.teams.number([])) == ("outside",)


def test_alternatives_are_ranked_and_never_the_team_itself() -> None:
    """The best four others follow, by P(late) + price and then as listed, wherever the team that goes ranks."""
    problem = make_problem([1] * 7, [1], seed=1)
    teams = np.arange(1, 8)
    cost = problem.cost.copy()
    cost[teams, 0] = [0.5, 0.2, 0.4, 0.1, 0.3, 0.2, 0.6]
    problem = replace(problem, cost=cost, measures={})
    for position, expected in (
        (3, ["s1", "s5", "s4", "s2"]),
        (6, ["s3", "s1", "s5", "s4"]),
        (1, ["s3", "s5", "s4", "s2"]),
    ):
        decision = make_decision(problem, 0, teams, np.zeros(7), position)
        assert decision.team == (f"s{position}",)
        assert [option.team[0] for option in decision.alternatives] == expected
