"""Tests of the improvement step, state by state, against the definition of its rows and residuals."""

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.mdp.cpu import cpu_backend
from runcard.mdp.rows import ValueRule

from ..problems import make_problem, random_problem, random_values
from ..reference import Dense


@pytest.mark.parametrize("size", [0.1, 1.0, 1e4])
@each_seed(20)
def test_rows_of_the_greedy_policy(seed: int, size: float) -> None:
    """The rows list each team that is best somewhere, with its rate, and the costs and minutes that go with it."""
    problem = random_problem(seed)
    dense = Dense(problem)
    value = random_values(problem, seed, size=size)
    (rows,), found = cpu_backend(problem, 1).improve(value)
    table = dense.greedy_table(value)
    np.testing.assert_allclose(dense.sent_by_rows(rows), dense.sent_by_table(table), rtol=1e-12, atol=0)
    np.testing.assert_allclose(rows.cost, dense.rate_of(problem.cost, table), rtol=1e-11 * (1 + size))
    tables = [problem.measures["minutes"], problem.cost]
    (measured,) = cpu_backend(problem, 1).rows(ValueRule(value), tables)
    expected = [dense.rate_of(measure, table) for measure in tables]
    np.testing.assert_allclose(measured.measured, expected, rtol=1e-12)
    assert all(np.array_equal(one, other) for one, other in zip(measured[:3], rows[:3], strict=True))
    assert rows.unit == problem.layout.wide.unit
    # The costs of a rule are those of the table, not of keys.
    assert np.array_equal(measured.cost, measured.measured[1])
    assert measured.unit == 0.0
    h = value[: problem.num_states]
    residual = dense.rate_of(problem.cost, table) + dense.tau * (dense.matrix(table) @ h - h)
    levels = np.array(dense.states).sum(axis=1)
    for n in range(problem.num_trucks + 1):
        here = residual[levels == n]
        np.testing.assert_allclose([found.lowest[n], found.highest[n]], [here.min(), here.max()], rtol=1e-9)
        assert found.largest[n] == np.abs(h[levels == n]).max()


@each_seed(20)
def test_keys_of_32_bits_agree_up_to_their_unit(seed: int) -> None:
    """Keys of 32 bits choose a team within two of their units of the best, and move a residual by at most one."""
    problem = random_problem(seed)
    dense = Dense(problem)
    value = random_values(problem, seed)
    unit = problem.layout.narrow.unit + 1e-12 * problem.total_incidents_per_day
    (coarse,), found = cpu_backend(problem, 1).improve(value, coarse=True)
    (fine,), expected = cpu_backend(problem, 1).improve(value)
    np.testing.assert_allclose(found.lowest, expected.lowest, rtol=0, atol=unit)
    np.testing.assert_allclose(found.highest, expected.highest, rtol=0, atol=unit)
    after = np.array([[value[dense.after(f, team)] if (problem.teams.counts[team] <= f).all() else 0.0
                       for team in range(problem.num_teams)] for f in dense.states])  # fmt: skip
    totals = [rows.cost + (dense.sent_by_rows(rows) * after).sum(axis=1) for rows in (coarse, fine)]
    np.testing.assert_allclose(totals[0], totals[1], rtol=0, atol=2 * unit)


@pytest.mark.parametrize("coarse", [True, False])
@pytest.mark.parametrize("size", [1.0, 1e3])
def test_costs_of_zero_and_one_only(coarse: bool, size: float) -> None:
    """Costs at both ends of their range, and prices beyond it, still give the best team: cut-off prices do not tie."""
    for seed in range(10):
        problem = make_problem([1, 2, 1], [1, 2, 2], cost=[0.0, 1.0], seed=seed)
        value, dense = random_values(problem, seed, size=size), Dense(problem)
        (rows,), _ = cpu_backend(problem, 1).improve(value, coarse=coarse)
        expected = dense.sent_by_table(dense.greedy_table(value))
        np.testing.assert_allclose(dense.sent_by_rows(rows), expected, rtol=1e-12, atol=0)
