"""Tests of the rows of orders, run cards and tables, and of the use of teams, against the dense reference."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.seeds import each_seed

from runcard.mdp.cpu import cpu_backend
from runcard.mdp.kernels.order_rows import team_use
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import CardRule, OrderRule, PolicyRows, TableRule

from ..problems import random_problem
from ..reference import Dense, Table


def sent_by_rows(problem: DispatchProblem, rows: PolicyRows) -> NDArray[np.float64]:
    """[states, teams] the rate at which each team is sent."""
    rates = np.zeros((problem.num_states, problem.num_teams))
    np.add.at(rates, (np.searchsorted(rows.end, np.arange(len(rows.team)), side="right"), rows.team), rows.rate)
    return rates


def sent_by_table(problem: DispatchProblem, table: Table) -> NDArray[np.float64]:
    """[states, teams] the same, of a policy given as a table."""
    rates = np.zeros((problem.num_states, problem.num_teams))
    for state, row in enumerate(table):
        np.add.at(rates[state], row, problem.incidents_per_day)
    return rates


def random_lines(problem: DispatchProblem, rng: np.random.Generator, depth: int = 3) -> NDArray[np.int64]:
    """[J, depth] random teams of the size that each demand point needs, -1 behind the last."""
    lines = np.full((problem.num_points, depth), -1)
    for j, needed in enumerate(problem.trucks_needed.tolist()):
        teams = problem.teams.idle(problem.trucks, min(needed, problem.num_trucks))
        chosen = rng.permutation(teams)[: int(rng.integers(0, depth + 1))]
        lines[j, : len(chosen)] = chosen
    return lines


def card_table(dense: Dense, lines: NDArray[np.int64], order: NDArray[np.int64]) -> Table:
    """The policy of run cards, state by state, from the counts of trucks of each team."""
    table, counts = dense.order_table(order), dense.problem.teams.counts
    for place, state in enumerate(dense.states):
        for j, own in enumerate(lines):
            fitting = [team for team in own.tolist() if team >= 0 and (counts[team] <= np.array(state)).all()]
            table[place, j] = fitting[0] if fitting else table[place, j]
    return table


@each_seed(20)
def test_rows_are_those_of_the_policy(seed: int) -> None:
    """Orders, run cards and tables give the teams of the policy with their rates, and the sums of every measure."""
    problem = random_problem(seed)
    dense, rng = Dense(problem), np.random.default_rng(seed)
    order = np.array([rng.permutation(problem.num_stations) for _ in range(problem.num_points)])
    anything = dense.random_table(rng)
    tables = [problem.measures["minutes"], problem.cost]
    lines = random_lines(problem, rng)
    for rule, table in (
        (OrderRule(order), dense.order_table(order)),
        (TableRule(anything), anything),
        (CardRule(lines, order), card_table(dense, lines, order)),
    ):
        (rows,) = cpu_backend(problem, 1).rows(rule, tables)
        np.testing.assert_allclose(sent_by_rows(problem, rows), sent_by_table(problem, table), rtol=1e-12)
        np.testing.assert_allclose(rows.cost, dense.rate_of(problem.cost, table), rtol=1e-12)
        expected = [dense.rate_of(measure, table) for measure in tables]
        np.testing.assert_allclose(rows.measured, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_use_of_teams(seed: int) -> None:
    """The incidents per day that get each team are the rates of the rows, weighed by the states."""
    problem = random_problem(seed)
    (rows,) = cpu_backend(problem, 1).rows(OrderRule(problem.order))
    probability, use = np.random.default_rng(seed).random(problem.num_states), np.zeros(problem.num_teams)
    team_use(0, probability, rows, use)
    np.testing.assert_allclose(use, probability @ sent_by_rows(problem, rows), rtol=1e-12)
