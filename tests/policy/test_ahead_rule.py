"""Tests of bulk decisions of one-step-mean-field in cities: the same teams as `decide`, in bounded memory."""

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.city import generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.policy.ahead import AheadPolicy
from runcard.policy.ahead_rule import MOST_RANKED, AheadRule
from runcard.policy.mean_field import solve_mean_field
from runcard.policy.options import team_number

from ..departments import grid_department

pytestmark = pytest.mark.usefixtures("coarse_values")


def rule_of(policy: AheadPolicy) -> AheadRule:
    """What its kernels decide by."""
    rule = policy.in_bulk(0.0).ahead
    assert rule is not None
    return rule


def check_same(policy: AheadPolicy, number: int, points: NDArray[np.int64]) -> None:
    """In states from nobody idle to everybody, what the kernel sends to some points at once is what `decide` does."""
    problem, rng = policy.problem, np.random.default_rng(3)
    assert policy.in_bulk(len(points)).ahead is not None
    some = (rng.binomial(problem.trucks, rng.random()) for _ in range(number - 2))
    for idle in (0 * problem.trucks, problem.trucks, *some):
        decided = [team_number(problem, policy.decide(idle, point).team) for point in points.tolist()]
        assert policy.teams(idle, points).tolist() == decided


def test_the_explorer_sends_the_same_teams_to_every_point() -> None:
    """Asked for all points in one state after another, the explorer sends what `decide` does, in the kernel."""
    problem = dispatch_problem(grid_department(side=5, engines=16, ladders=9), kind="ladder", minutes=False)
    check_same(solve_mean_field(problem), 5, np.arange(problem.num_points))


def test_memory_is_bounded() -> None:
    """What is kept does not grow with decisions, and stays below its limits."""
    city = generate_grid(side=7, num_stations=44, load=0.1, seed=1, gamma=0.2, shared_delay=0.0)
    policy = solve_mean_field(dispatch_problem(city, minutes=False))
    rule = rule_of(policy)
    arrays = [*rule.ranked, *rule.teams, *rule.scratch()]
    assert len(rule.ranked.team) == len(rule.ranked.cost) <= MOST_RANKED
    assert sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) < 64 * 2**20
    assert rule_of(policy) is rule
    check_same(policy, 7, np.arange(0, 49, 16))


def test_values_of_every_state_come_first() -> None:
    """Where the values of every state take less time than the decisions, a simulation has those."""
    city = generate_grid(side=4, num_stations=5, load=0.1, seed=1)
    policy = solve_mean_field(dispatch_problem(city, minutes=False))
    assert rule_of(policy)
    few = policy.in_bulk(1000.0)
    assert few is not None
    assert few.ahead is None
    assert few.value is not None
