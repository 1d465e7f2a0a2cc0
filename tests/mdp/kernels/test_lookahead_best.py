"""Tests of decisions in bulk that look one event ahead: the same as one at a time, and bounds that are never above."""

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.mdp.kernels.lookahead_best import bound_of, team_ahead
from runcard.policy import ahead_rule
from runcard.policy.ahead import AheadPolicy
from runcard.policy.options import idle_teams

from ..problems import every_state, make_problem
from .test_lookahead import CASES, tables_of_size


def best_of_all(policy: AheadPolicy, idle: NDArray[np.int64], point: int) -> int:
    """The team with the smallest cost + price, with the price of every team found."""
    teams = idle_teams(policy.problem, idle, point)
    return int(teams[(policy.problem.cost[teams, point] + policy._prices(idle, teams)).argmin()])


def check_same(policy: AheadPolicy, states: list[NDArray[np.int64]]) -> None:
    """In each state and at each demand point, bulk decisions are those of one at a time, and leave the state alone."""
    rule = policy._in_kernels
    scratch = rule.scratch()
    for idle in states:
        for point in range(policy.problem.num_points):
            given = idle.copy()
            assert team_ahead(point, given, scratch, *rule) == best_of_all(policy, idle, point), (idle, point)
            assert np.array_equal(given, idle)


@pytest.mark.parametrize("few_teams", [0, 256])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_the_same_decisions_in_every_state(case: int, few_teams: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With values of no structure, in every state, whether or not any team may be chosen: decisions are the same."""
    monkeypatch.setattr(ahead_rule, "FEW_TEAMS", few_teams)
    problem, size = CASES[case]
    policy = AheadPolicy(name="ahead", problem=problem, values=tables_of_size(problem, size, seed=case))
    check_same(policy, every_state(problem))


@pytest.mark.parametrize("seed", range(6))
def test_the_same_decisions_with_many_stations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten stations of one to three trucks and tables of four of them, needs of 1 to 4: decisions are the same.

    Half of the problems have costs and rates that repeat, so that many teams are equally good.
    """
    monkeypatch.setattr(ahead_rule, "FEW_TEAMS", 0)
    rng = np.random.default_rng(seed)
    needed = [1, 2, 3, 2, 1, 3] if seed < 4 else [4, 1, 2, 4]
    cost = [0.25, 0.5, 0.75] if seed % 2 else None
    problem = make_problem(rng.integers(1, 4, 10).tolist(), needed, seed=seed, load=0.5, cost=cost)
    policy = AheadPolicy(name="ahead", problem=problem, values=tables_of_size(problem, 4, seed))
    check_same(policy, [rng.integers(0, problem.trucks + 1) for _ in range(40)])


@pytest.mark.parametrize("case", range(len(CASES)))
def test_bounds_are_not_above_prices(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every state no bound is above the price."""
    monkeypatch.setattr(ahead_rule, "FEW_TEAMS", 0)
    problem, size = CASES[case]
    policy = AheadPolicy(name="ahead", problem=problem, values=tables_of_size(problem, size, seed=case))
    rule, rate = policy._in_kernels, problem.total_incidents_per_day
    scratch = rule.scratch()
    for idle in every_state(problem):
        for point in range(problem.num_points):
            teams = idle_teams(problem, idle, point)
            if len(teams) < 2:
                continue
            team_ahead(point, idle, scratch, *rule)
            number = int(problem.trucks_needed[point])
            weight = rate + problem.returns_per_day * (problem.num_trucks - idle.sum() + number)
            prices = policy._prices(idle, teams)
            for team, price in zip(teams.tolist(), prices, strict=True):
                assert bound_of(team, number, scratch, rule.teams) <= weight * price + 1e-9


def test_teams_that_are_not_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With only a few teams ranked by cost, all others are gone through, and decisions are the same."""
    monkeypatch.setattr(ahead_rule, "FEW_TEAMS", 0)
    monkeypatch.setattr(ahead_rule, "MOST_RANKED", 12)
    rng = np.random.default_rng(1)
    problem = make_problem([1, 2, 1, 1, 1, 2], [2, 3, 1, 2], seed=9, load=1.0)
    policy = AheadPolicy(name="ahead", problem=problem, values=tables_of_size(problem, 3, seed=9))
    assert np.diff(policy._in_kernels.ranked.first).tolist() == [3] * 4
    check_same(policy, [rng.integers(0, problem.trucks + 1) for _ in range(60)])
