"""Tests of the rows of the look-ahead, against the formulas of the kernel's docstring written out."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.mdp.kernels.lookahead_rows import fill_rows

from ..problems import every_state, make_problem
from .test_lookahead import tables_of_size


def test_rows_of_a_table() -> None:
    """Increments and slack of a table add up to p and q of the docstring, with a search through all removals for d."""
    problem = make_problem([2, 1, 2], [2, 2], seed=3)
    values = tables_of_size(problem, 3, seed=3)
    tables, rate, mu = values.tables, 5.0, 0.7
    num_local = int(tables.first_local[1])
    states = every_state(problem)
    increment, slack = np.empty((len(states), num_local)), np.empty((len(states), num_local))
    fill_rows(0, problem.trucks, 2, rate, mu, tables, increment, slack)
    value = dict(zip(map(tuple, states), values.value, strict=False))
    members = [problem.teams.counts[team].astype(np.int64) for team in tables.local_team[:num_local]]
    removals = [np.array(b) for b in product(range(3), range(2), range(3)) if sum(b) <= 2]

    def price(idle: NDArray[np.int64], team: NDArray[np.int64]) -> float:
        return float(value[tuple(idle - team)] - value[tuple(idle)])

    for x, idle in enumerate(states):
        for n, team in enumerate(members):
            if (team > idle).any():
                assert increment[x, n] == slack[x, n] == 0.0
                continue
            parts = [n, *(part for part in tables.local_parts[n].tolist() if part >= 0)]
            here = price(idle, team)
            assert increment[x, parts].sum() == pytest.approx(here, abs=1e-12)
            least = min(price(idle - b, team) for b in removals if (team + b <= idle).all())
            changes = sum(
                busy * (price(idle + one, team) - here)
                for busy, one in zip(problem.trucks - idle, np.eye(3, dtype=np.int64), strict=True)
                if busy > 0
            )
            assert slack[x, parts].sum() == pytest.approx(mu * changes - rate * (here - least), abs=1e-12)
