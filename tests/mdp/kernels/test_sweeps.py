"""Tests of the sweeps over values, and of residuals, against the dense solution of the same equations.

Those over probabilities are in every evaluation: see tests/mdp/test_evaluate.py.
"""

import numpy as np
import pytest

from runcard.mdp.arrays import frozen
from runcard.mdp.bounds import Residuals
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.kernels.sweeps import residual_sweep, value_sweep_down, value_sweep_up
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule, PolicyRows

from ..problems import make_problem, random_problem, random_values
from ..reference import Dense

PROBLEMS = [*map(random_problem, range(12)), make_problem([2, 1, 3], [2, 4, 1], load=30.0, seed=1)]


def rows_of(problem: DispatchProblem) -> PolicyRows:
    """The rows of closest-first in every state."""
    (rows,) = cpu_backend(problem, 1).rows(OrderRule(problem.order))
    return rows


@pytest.mark.parametrize(
    ("load", "up"), [(0.01, False), (0.3, False), (1.0, False), (1.0, True), (10.0, True), (900.0, True)]
)
def test_sweeps_lead_to_the_solution(load: float, up: bool) -> None:
    """From any values, sweeps down at low load and up at high load lead to the dense solution."""
    problem = make_problem([2, 1, 1], [2, 1, 3], load=load, seed=2)
    dense, rows = Dense(problem), rows_of(problem)
    gain, exact = dense.values(dense.order_table(problem.order))
    value, found, last = random_values(problem, 1), np.zeros(1), problem.num_states - 1
    states, offset, total = problem.layout.states, problem.layout.offset, problem.total_incidents_per_day
    sweep = value_sweep_up if up else value_sweep_down
    for _ in range(300):
        sweep(0, last + 1, 0 if up else last, value, found, states, offset, total, rows, rows.cost)
    assert found[0] == pytest.approx(gain, rel=1e-10)
    found_values = value[: last + 1] - value[last]
    np.testing.assert_allclose(found_values, exact, rtol=0, atol=1e-9 * (1.0 + np.abs(exact).max()))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_residuals_by_level(problem: DispatchProblem) -> None:
    """The lowest and highest residual of each level are those of the dense equations, at any values, also below 0."""
    dense, rows, value = Dense(problem), rows_of(problem), frozen(random_values(problem, 3) - 0.75)
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
