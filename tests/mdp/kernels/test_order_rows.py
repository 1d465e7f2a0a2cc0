"""Tests of the rows of orders, run cards and tables, and of the use of teams, against the dense reference."""

import numpy as np
from numpy.typing import NDArray
from tests.seeds import each_seed

from runcard.mdp.arrays import frozen
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.kernels.order_rows import team_use
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import CardRule, OrderRule, TableRule

from ..problems import random_problem
from ..reference import Dense, Table


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
    """Orders, cards and tables give the teams of the policy with their rates, the sums of measures, and their use."""
    problem = random_problem(seed)
    dense, rng = Dense(problem), np.random.default_rng(seed)
    order = frozen(np.array([rng.permutation(problem.num_stations) for _ in range(problem.num_points)]))
    anything = dense.random_table(rng)
    tables = [problem.measures["minutes"], problem.cost]
    lines = random_lines(problem, rng)
    for rule, table in (
        (OrderRule(order), dense.order_table(order)),
        (TableRule(anything), anything),
        (CardRule(lines, order), card_table(dense, lines, order)),
    ):
        (rows,) = cpu_backend(problem, 1).rows(rule, tables)
        sent = dense.sent_by_rows(rows)
        np.testing.assert_allclose(sent, dense.sent_by_table(table), rtol=1e-12)
        np.testing.assert_allclose(rows.cost, dense.rate_of(problem.cost, table), rtol=1e-12)
        expected = [dense.rate_of(measure, table) for measure in tables]
        np.testing.assert_allclose(rows.measured, expected, rtol=1e-12)
        probability, use = rng.random(problem.num_states), np.zeros(problem.num_teams)
        team_use(0, probability, rows, use)
        np.testing.assert_allclose(use, probability @ sent, rtol=1e-12)
