"""Tests of the fixed points of states: that they are fixed points, and which."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.seeds import each_seed

from runcard.mdp.queueing import TruckQueues
from runcard.mdp.queueing.fixed_point import late_at_fixed_point

from ..problems import every_state, make_problem, random_problem
from .cases import chances_of, queues_of, rates_of

KINDS = [
    ("relaxing", 2.0), ("fixed", 2.0), ("printed", 1.0), ("printed", 0.5), ("printed rates", 2.0),
    ("printed chances", 2.0),
]  # fmt: skip
"""Versions of the queues, and their horizons."""


def plain_steps(queues: TruckQueues, idle: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
    """D of each truck after plain steps from p = 0 until nothing moves, and the late incidents per day there."""
    demand, flags = rates_of(queues, np.zeros(queues.problem.num_trucks)), queues.idle_trucks(idle)
    for _ in range(100_000):
        busy = chances_of(queues, demand, flags)
        following = rates_of(queues, busy)
        if np.allclose(following, demand, rtol=1e-13, atol=1e-14 * queues.problem.total_incidents_per_day):
            break
        demand = following
    return demand, queues.independent.asked_and_late(busy)[1]


@pytest.mark.parametrize("load", [1e-6, 1e-3, 0.1, 0.6, 2.0, 10.0, 500.0])
@pytest.mark.parametrize(("kind", "horizon"), [*KINDS, ("fixed", 0.7)])
def test_fixed_points_at_any_load(kind: str, horizon: float, load: float) -> None:
    """At every load each state has a fixed point: its rates give its chances, and those give the rates again."""
    for trucks, needed, rates in (
        ([1], [1], None),
        ([1], [3, 2], None),
        ([1] * 4, [4, 2, 4], None),
        ([1, 1, 1, 1], [2] * 8, None),
        ([3, 1, 2], [1, 2, 3, 2], [1.0, 0.0, 2.0, 1.0]),
    ):
        problem = make_problem(trucks, needed, load=load, seed=3, rates=rates)
        queues, num = queues_of(problem, kind, horizon), problem.num_trucks
        for idle in every_state(problem):
            found = queues.fixed_point(idle)
            asked, busy = rates_of(queues, found.busy[:num]), chances_of(queues, found.demand, found.idle)
            np.testing.assert_allclose(asked, found.demand, rtol=2e-10, atol=1e-13 * problem.total_incidents_per_day)
            np.testing.assert_allclose(found.busy[:num], busy, rtol=1e-9, atol=1e-9)


def test_trucks_that_are_never_asked() -> None:
    """A truck without demand is no exception: idle it stays idle, and busy it is so for its share of the horizon."""
    problem = make_problem([1, 1, 1], [1], rates=[1.0], load=1e-6)
    last = int(problem.order[0, -1])
    for kind, when_busy in (("relaxing", 0.5), ("fixed", 0.5), ("printed", 0.0)):
        for idle in (0, 1):
            state = np.ones(3, np.int64)
            state[last] = idle
            found = queues_of(problem, kind).fixed_point(state)
            assert found.busy[last] == pytest.approx(0.0 if idle else when_busy, abs=1e-6)


@pytest.mark.parametrize(("kind", "horizon"), [("relaxing", 1.0), ("relaxing", 2.0), ("fixed", 2.0), ("fixed", 5.0)])
@each_seed(15)
def test_one_fixed_point_that_rises(seed: int, kind: str, horizon: float) -> None:
    """Where it is unique, any start leads to the same fixed point, and no chance falls when a truck becomes busy."""
    problem = random_problem(seed)
    queues, rng = queues_of(problem, kind, horizon), np.random.default_rng(seed)
    assert queues.unique
    idle, scratch = rng.integers(0, problem.trucks + 1), queues.independent.scratch()
    state = queues.fixed_point(idle)
    start = rng.random(problem.num_trucks) * problem.total_incidents_per_day
    late, _, busy = late_at_fixed_point(state.idle, start, queues.arrays, scratch)
    np.testing.assert_allclose(busy, state.busy, rtol=1e-8, atol=1e-12)
    assert late == pytest.approx(state.late, rel=1e-8)
    for i in np.flatnonzero(idle):
        fewer = idle.copy()
        fewer[i] -= 1
        assert (queues.fixed_point(fewer).busy >= state.busy - 1e-9).all()


@pytest.mark.parametrize(("kind", "horizon"), [*KINDS, ("printed rates", 1.0)])
@each_seed(8)
def test_the_smallest_fixed_point(seed: int, kind: str, horizon: float) -> None:
    """Every way of asking gives what plain steps from p = 0 reach: state by state, as a range, and without teams."""
    problem = random_problem(seed)
    queues = queues_of(problem, kind, horizon)
    assert queues.unique == (kind in ("relaxing", "fixed"))
    late, stride = queues.late_in(0, problem.num_states), np.append(np.cumprod(problem.trucks[:0:-1] + 1)[::-1], 1)
    for number, idle in enumerate(every_state(problem)):
        demand, expected = plain_steps(queues, idle)
        state = queues.fixed_point(idle)
        np.testing.assert_allclose(state.demand, demand, rtol=1e-8, atol=1e-12)
        assert late[number] == pytest.approx(expected, rel=1e-8, abs=1e-13 * problem.total_incidents_per_day)
        assert late[number] == state.late
        teams = np.flatnonzero((problem.teams.counts <= idle).all(axis=1))
        without = late[number - problem.teams.counts[teams] @ stride]
        np.testing.assert_allclose(queues.late_without(state, idle, teams), without, rtol=1e-7)
