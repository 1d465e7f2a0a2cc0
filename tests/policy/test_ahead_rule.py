"""Tests of bulk decisions of one-step-mean-field in cities: the same teams as `decide`, in bounded memory."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.city import City, generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.kernels.lookahead_best import team_ahead
from runcard.policy.ahead import AheadPolicy
from runcard.policy.ahead_rule import MOST_RANKED, AheadRule
from runcard.policy.mean_field import solve_mean_field
from runcard.policy.options import team_number

from ..departments import grid_department

pytestmark = pytest.mark.usefixtures("coarse_values")


def with_needs(city: City, needs: tuple[int, ...], num_points: int) -> City:
    """The city with some of its demand points, one after another of these needs."""
    points = (replace(point, trucks=needs[n % len(needs)]) for n, point in enumerate(city.demand[:num_points]))
    return replace(city, demand=tuple(points))


def rule_of(policy: AheadPolicy) -> AheadRule:
    """What its kernels decide by."""
    rule = policy.in_bulk(0.0).ahead
    assert rule is not None
    return rule


def random_states(policy: AheadPolicy, number: int, seed: int) -> list[NDArray[np.int64]]:
    """No truck idle, all idle, and states from nearly all busy to nearly all idle."""
    rng, trucks = np.random.default_rng(seed), policy.problem.trucks
    return [np.zeros_like(trucks), trucks.copy(), *(rng.binomial(trucks, rng.random()) for _ in range(number - 2))]


def check_same(policy: AheadPolicy, number: int, seed: int = 1) -> None:
    """So many decisions, each in another state, are those of `decide`."""
    rule, problem = rule_of(policy), policy.problem
    scratch, rng = rule.scratch(), np.random.default_rng([seed, 1])
    for idle in random_states(policy, number, seed):
        point = int(rng.integers(problem.num_points))
        team = team_ahead(point, idle.copy(), scratch, *rule)
        assert team == team_number(problem, policy.decide(idle, point).team), (idle, point)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_stations", "trucks_per_station", "needs", "gamma", "number"),
    [(8, 2, (2, 1, 3), 0.3, 100), (24, 1, (2,), 0.3, 100), (30, 1, (1, 2, 3), 0.15, 60), (11, 3, (1, 4), 0.2, 20)],
)
def test_the_same_teams_as_decide(
    num_stations: int, trucks_per_station: int, needs: tuple[int, ...], gamma: float, number: int
) -> None:
    """In grids of 16 to 33 trucks, with needs of 1 to 4, from nobody idle to everybody: the teams are the same."""
    city = generate_grid(
        side=6, num_stations=num_stations, trucks_per_station=trucks_per_station, load=0.1, seed=2, gamma=gamma,
        shared_delay=0.0,
    )  # fmt: skip
    problem = dispatch_problem(with_needs(city, needs, num_points=30), minutes=False)
    check_same(solve_mean_field(problem), number)


def test_the_explorer_sends_the_same_teams_to_every_point() -> None:
    """Asked for all points in one state after another, the explorer sends what `decide` does, in the kernel."""
    problem = dispatch_problem(grid_department(side=5, engines=16, ladders=9), kind="ladder", minutes=False)
    policy, points = solve_mean_field(problem), np.arange(problem.num_points)
    assert policy.in_bulk(len(points)).ahead is not None
    for idle in random_states(policy, 5, seed=3):
        decided = [team_number(problem, policy.decide(idle, point).team) for point in points.tolist()]
        assert policy.teams(idle, points).tolist() == decided


def test_memory_is_bounded() -> None:
    """What is kept does not grow with decisions, and stays below its limits."""
    city = generate_grid(side=7, num_stations=44, load=0.1, seed=1, gamma=0.2, shared_delay=0.0)
    policy = solve_mean_field(dispatch_problem(city, minutes=False))
    rule = rule_of(policy)
    arrays = [*rule.ranked, *rule.teams, *rule.scratch()]
    assert len(rule.ranked.team) == len(rule.ranked.cost) <= MOST_RANKED
    assert sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) < 64 * 2**20
    assert rule_of(policy) is rule
    check_same(policy, 20)


def test_values_of_every_state_come_first() -> None:
    """Where the values of every state take less time than the decisions, a simulation has those."""
    city = generate_grid(side=4, num_stations=5, load=0.1, seed=1)
    policy = solve_mean_field(dispatch_problem(city, minutes=False))
    assert rule_of(policy)
    few = policy.in_bulk(1000.0)
    assert few is not None
    assert few.ahead is None
    assert few.value is not None
