"""Tests of the improvement step, state by state, against the definition of its rows and residuals."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.seeds import each_seed

from runcard.mdp.bounds import Residuals
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import PolicyRows, ValueRule

from ..problems import make_problem, random_problem, random_values
from ..reference import Dense, Table


def improvement(problem: DispatchProblem, value: NDArray[np.float64], bits: int) -> tuple[PolicyRows, Residuals]:
    """The rows of every state, and the residuals at each level, of a problem of one chunk."""
    (rows,), residuals = cpu_backend(problem, 1).improve(value, coarse=bits == 32)
    return rows, residuals


def sent(problem: DispatchProblem, rows: PolicyRows) -> NDArray[np.float64]:
    """[states, teams] the rate at which each team is sent."""
    rates = np.zeros((problem.num_states, problem.num_teams))
    state = np.searchsorted(rows.end, np.arange(len(rows.team)), side="right")
    np.add.at(rates, (state, rows.team), rows.rate)
    return rates


def sent_by(problem: DispatchProblem, table: Table) -> NDArray[np.float64]:
    """[states, teams] the same, of a policy given as a table."""
    rates = np.zeros((problem.num_states, problem.num_teams))
    for state, row in enumerate(table):
        np.add.at(rates[state], row, problem.incidents_per_day)
    return rates


@pytest.mark.parametrize("size", [0.1, 1.0, 1e4])
@each_seed(20)
def test_rows_of_the_greedy_policy(seed: int, size: float) -> None:
    """The rows list each team that is best somewhere, with its rate, and the costs and minutes that go with it."""
    problem = random_problem(seed)
    dense = Dense(problem)
    value = random_values(problem, seed, size=size)
    rows, found = improvement(problem, value, 64)
    table = dense.greedy_table(value)
    np.testing.assert_allclose(sent(problem, rows), sent_by(problem, table), rtol=1e-12, atol=0)
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
    coarse, fine = improvement(problem, value, 32), improvement(problem, value, 64)
    np.testing.assert_allclose(coarse[1].lowest, fine[1].lowest, rtol=0, atol=unit)
    np.testing.assert_allclose(coarse[1].highest, fine[1].highest, rtol=0, atol=unit)
    after = np.array([[value[dense.after(f, team)] if (problem.teams.counts[team] <= f).all() else 0.0
                       for team in range(problem.num_teams)] for f in dense.states])  # fmt: skip
    totals = [rows.cost + (sent(problem, rows) * after).sum(axis=1) for rows in (coarse[0], fine[0])]
    np.testing.assert_allclose(totals[0], totals[1], rtol=0, atol=2 * unit)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("size", [1.0, 1e3])
def test_costs_of_zero_and_one_only(bits: int, size: float) -> None:
    """Costs at both ends of their range, and prices beyond it, still give the best team: cut-off prices do not tie."""
    for seed in range(10):
        problem = make_problem([1, 2, 1], [1, 2, 2], cost=[0.0, 1.0], seed=seed)
        value = random_values(problem, seed, size=size)
        rows = improvement(problem, value, bits)[0]
        table = Dense(problem).greedy_table(value)
        np.testing.assert_allclose(sent(problem, rows), sent_by(problem, table), rtol=1e-12, atol=0)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("trucks", [[1], [2], [1, 1], [2, 1], [1, 1, 1], [2, 2], [3, 2], [1, 1, 1, 1], [3, 3], [5, 1]])
def test_any_number_of_states(trucks: list[int], bits: int) -> None:
    """Numbers of states that are no multiple of a block of eight are swept whole: every incident gets its team."""
    problem = make_problem(trucks, [2, 1, 1, 3, 4, 2], seed=7)
    rows = improvement(problem, random_values(problem, 7), bits)[0]
    np.testing.assert_allclose(sent(problem, rows).sum(axis=1), problem.total_incidents_per_day, rtol=1e-12)
    assert len(rows.end) == problem.num_states
