"""Tests of asked rates, lateness and their derivatives with independent trucks, against differences and enumeration."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.mdp.independent import IndependentTrucks
from runcard.mdp.kernels.order_slopes import asked_slopes, late_slopes
from runcard.mdp.problem import DispatchProblem
from runcard.policy.card_models import Chances

from ..problems import make_problem, random_problem

PROBLEMS = [
    *map(random_problem, range(10)),
    *(make_problem([1] * 6, [needed] * 3, load=0.3, seed=needed) for needed in (1, 2, 3, 4)),
    make_problem([3, 1, 2], [1, 2, 3, 3], load=1.0, seed=5),
    make_problem([5, 1, 2], [4, 2, 1, 4], load=1.0, seed=6),
    make_problem([1, 2], [4, 3], load=1.0, seed=7),
]


def asked(problem: DispatchProblem, busy: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How often the trucks of each station are asked, and the derivatives."""
    rates, slope = np.zeros(problem.num_stations), np.zeros((problem.num_stations, problem.num_stations))
    points = np.arange(problem.num_points)
    needed, per_day = problem.trucks_needed, problem.incidents_per_day
    asked_slopes(points, problem.order, needed, per_day, problem.trucks, busy, rates, slope)
    return rates, slope


def late(problem: DispatchProblem, busy: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """The late incidents per day, and the derivatives."""
    slope, empty = np.zeros(problem.num_stations), np.empty((0, 0))
    points = np.arange(problem.num_points)
    costs = Chances(empty, empty, slope, problem.cost, problem.teams.number_of_code, problem.teams.base)
    needed, per_day = problem.trucks_needed, problem.incidents_per_day
    found = late_slopes(points, problem.order, needed, per_day, problem.trucks, busy, costs, slope)
    return found, slope


def differences(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64] | float], busy: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Central differences of a function of the busy chances, the chance as the last axis."""
    step = 1e-5
    moves = step * np.eye(len(busy))
    return np.stack([(function(busy + move) - function(busy - move)) / (2.0 * step) for move in moves], axis=-1)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_rates_and_slopes(problem: DispatchProblem) -> None:
    """Rates are those of independent trucks, and the slopes those of differences."""
    busy = np.random.default_rng(1).uniform(0.05, 0.9, problem.num_stations)
    independent = IndependentTrucks(problem, problem.order)
    expected, late_expected = independent.asked_and_late(np.repeat(busy, problem.trucks))
    by_station = np.add.reduceat(expected[: problem.num_trucks], np.cumsum(problem.trucks) - problem.trucks)
    total = problem.total_incidents_per_day
    rates, slope = asked(problem, busy)
    np.testing.assert_allclose(rates, by_station, rtol=1e-10)
    np.testing.assert_allclose(slope, differences(lambda p: asked(problem, p)[0], busy), rtol=0, atol=1e-7 * total)
    found, late_slope = late(problem, busy)
    assert found == pytest.approx(late_expected, rel=1e-10)
    np.testing.assert_allclose(late_slope, differences(lambda p: late(problem, p)[0], busy), rtol=0, atol=1e-7 * total)


def test_trucks_that_are_never_or_nearly_always_busy() -> None:
    """Chances of 0 and close to 1 give numbers: who is never busy is never passed over."""
    problem = make_problem([1, 1, 1], [2, 1], seed=6)
    rates, slope = asked(problem, np.zeros(3))
    found, late_slope = late(problem, np.zeros(3))
    order, cost = problem.order, problem.cost
    pair = np.zeros(3, np.int8)
    pair[order[0, :2]] = 1
    single = np.zeros(3, np.int8)
    single[order[1, 0]] = 1
    teams = problem.teams.counts.tolist()
    expected = [cost[teams.index(pair.tolist()), 0], cost[teams.index(single.tolist()), 1]]
    assert found == pytest.approx(problem.incidents_per_day @ expected, rel=1e-12)
    np.testing.assert_allclose(rates, problem.incidents_per_day @ [pair, single], rtol=1e-12)
    for numbers in (slope, late_slope, *asked(problem, np.full(3, 0.9999)), late(problem, np.full(3, 0.9999))[1]):
        assert np.isfinite(numbers).all()
