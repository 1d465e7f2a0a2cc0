"""Tests of the teams that could go, against counting trucks team by team."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.policy.options import first_in_order, idle_teams, make_decision, team_ids

from ..mdp.problems import make_problem, random_problem
from ..mdp.reference import Dense


@each_seed(25)
def test_the_teams_that_could_go(seed: int) -> None:
    """In every state they are the teams of min(k, idle) trucks that take no more than is idle; the first in an order
    is the team of the first idle trucks along it, counted one by one; and every team has its own number, in any order.
    """
    problem = random_problem(seed)
    dense, rng = Dense(problem), np.random.default_rng(seed)
    order = np.array([rng.permutation(problem.num_stations) for _ in range(problem.num_points)])
    table = dense.order_table(order)
    for place, j in product(range(problem.num_states), range(problem.num_points)):
        idle = np.array(dense.states[place])
        assert idle_teams(problem, idle, j).tolist() == dense.choices[place][j]
        assert first_in_order(problem, order, idle, j) == table[place, j]
    shuffled = rng.permuted(problem.teams.stations, axis=1)
    teams = list(range(problem.num_teams))
    assert [problem.teams.number([i for i in row if i >= 0]) for row in shuffled.tolist()] == teams
    assert problem.teams.find(shuffled).tolist() == problem.teams.numbers(shuffled).tolist() == teams


@pytest.mark.parametrize("needed", [1, 2, 3])
def test_more_trucks_than_bits(needed: int) -> None:
    """With seventy trucks the teams, the first in the order and every number are right as well."""
    problem = make_problem([3, 1, 2, 1, 3] * 7, [needed, 1, needed], seed=4)
    rng = np.random.default_rng(needed)
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
    for position, others in ((3, (1, 5, 4, 2)), (6, (3, 1, 5, 4)), (1, (3, 5, 4, 2))):
        decision = make_decision(problem, 0, teams, np.zeros(7), position)
        sent = [option.team for option in (decision, *decision.alternatives)]
        assert sent == [(f"s{number}",) for number in (position, *others)]
