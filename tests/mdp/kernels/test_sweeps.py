"""Tests of the sweeps over values, residuals and probabilities, against the dense solution of the same equations."""

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.mdp.bounds import Residuals
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.kernels.sweeps import (
    probability_sweep_down,
    probability_sweep_up,
    residual_sweep,
    value_sweep_down,
    value_sweep_up,
)
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule, PolicyRows

from ..problems import make_problem, padded, random_problem, random_values
from ..reference import Dense

PROBLEMS = [*map(random_problem, range(12)), make_problem([2, 1, 3], [2, 4, 1], load=30.0, seed=1)]


def rows_of(problem: DispatchProblem) -> PolicyRows:
    """The rows of closest-first in every state."""
    (rows,) = cpu_backend(problem, 1).rows(OrderRule(problem.order))
    return rows


def swept(problem: DispatchProblem, rows: PolicyRows, value: NDArray[np.float64], *, up: bool) -> float:
    """Sweep values in place; returns the gain that the sweep found."""
    states, offset, gain = problem.layout.states, problem.layout.offset, np.zeros(1)
    last, total = problem.num_states - 1, problem.total_incidents_per_day
    sweep = value_sweep_up if up else value_sweep_down
    sweep(0, last + 1, 0 if up else last, value, gain, states, offset, total, rows, rows.cost)
    return float(gain[0])


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_values_that_are_right_stay_so(problem: DispatchProblem, up: bool) -> None:
    """A sweep in either direction changes nothing about the dense solution, but for a constant, and finds its gain."""
    dense, rows = Dense(problem), rows_of(problem)
    gain, exact = dense.values(dense.order_table(problem.order))
    value = padded(exact - exact[0] if up else exact)
    before = value.copy()
    size = 1.0 + np.abs(exact).max()
    assert swept(problem, rows, value, up=up) == pytest.approx(gain, rel=1e-9, abs=1e-10 * size * dense.tau)
    np.testing.assert_allclose(value, before, rtol=0, atol=1e-10 * size)


@pytest.mark.parametrize(
    ("load", "up"), [(0.01, False), (0.3, False), (1.0, False), (1.0, True), (10.0, True), (900.0, True)]
)
def test_sweeps_lead_to_the_solution(load: float, up: bool) -> None:
    """From any values, sweeps down at low load and up at high load lead to the dense solution."""
    problem = make_problem([2, 1, 1], [2, 1, 3], load=load, seed=2)
    dense, rows = Dense(problem), rows_of(problem)
    gain, exact = dense.values(dense.order_table(problem.order))
    value = random_values(problem, 1)
    for _ in range(300):
        found = swept(problem, rows, value, up=up)
    assert found == pytest.approx(gain, rel=1e-10)
    found_values = value[: problem.num_states] - value[problem.num_states - 1]
    np.testing.assert_allclose(found_values, exact, rtol=0, atol=1e-9 * (1.0 + np.abs(exact).max()))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_residuals_by_level(problem: DispatchProblem) -> None:
    """The lowest and highest residual of each level are those of the dense equations, at any values, also below 0."""
    dense, rows, value = Dense(problem), rows_of(problem), random_values(problem, 3) - 0.75
    table, h = dense.order_table(problem.order), value[: problem.num_states]
    residual = dense.rate_of(problem.cost, table) + dense.tau * (dense.matrix(table) @ h - h)
    found = Residuals.none(problem.num_trucks)
    residual_sweep(0, problem.num_states, value, problem.layout.states, problem.layout.offset, rows, rows.cost, found)
    levels = np.array(dense.states).sum(axis=1)
    for n in range(problem.num_trucks + 1):
        here = levels == n
        expected = [residual[here].min(), residual[here].max()]
        np.testing.assert_allclose([found.lowest[n], found.highest[n]], expected, rtol=1e-10, atol=1e-10 * dense.tau)
        assert found.largest[n] == np.abs(h[here]).max()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_probabilities_that_are_right_stay_so(problem: DispatchProblem) -> None:
    """A sweep in either direction changes nothing about the dense probabilities, and finds their arrivals."""
    dense, rows = Dense(problem), rows_of(problem)
    table = dense.order_table(problem.order)
    exact = dense.probabilities(table)
    arriving = np.zeros((1, problem.num_states))
    for state, f in zip(dense.states[1:], range(1, problem.num_states), strict=True):
        for j, rate in enumerate(problem.incidents_per_day):
            arriving[0, dense.after(state, table[f, j])] += rate * exact[f]
    layout, total, slack = problem.layout, problem.total_incidents_per_day, 1e-12
    up, arrived = exact.copy(), np.zeros(problem.num_states)
    probability_sweep_up(0, len(exact), up, arriving, arrived, layout.states, layout.offset, total, rows)
    down, arrived_down = exact.copy(), np.zeros((2, problem.num_states))
    probability_sweep_down(
        0, len(exact), down, arrived_down, arrived_down[1], layout.states, layout.offset, total, rows
    )
    for found, there in ((up, arrived), (down, arrived_down.sum(axis=0))):
        np.testing.assert_allclose(found, exact, rtol=1e-9, atol=slack)
        np.testing.assert_allclose(there, arriving[0], rtol=1e-9, atol=slack * dense.tau)
