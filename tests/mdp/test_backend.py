"""Tests of what is asked of a backend before it does anything."""

from typing import Any

import numpy as np
import pytest

from runcard.errors import InputError
from runcard.mdp.backend import Backend, backend_for
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.rows import OrderRule
from runcard.mdp.solve import solve_optimal
from runcard.policy.solve import POLICY_NAMES, evaluate, solve

from .problems import make_problem, random_values


@pytest.mark.parametrize("threads", [0, -3, 1.5, "two"])
def test_a_number_of_threads_that_means_nothing_is_refused(threads: Any) -> None:
    """Wherever threads are taken, none of them, or half of one, is an error in words."""
    problem = make_problem([1, 1], [1])
    policy = solve(problem, "closest-first")
    for work in (
        lambda: backend_for(problem, threads),
        lambda: solve_optimal(problem, threads=threads),
        lambda: evaluate_rule(problem, OrderRule(problem.order), threads=threads),
        lambda: evaluate(policy, threads=threads),
        *(lambda name=name: solve(problem, name, threads=threads) for name in POLICY_NAMES),
    ):
        with pytest.raises(InputError, match="threads"):
            work()


def test_the_four_operations_fit_together() -> None:
    """An improvement gives rows; swept by them, values have residuals that are closer together, and states a total."""
    problem = make_problem([2, 1], [2, 1], load=0.4, seed=2)
    backend: Backend = backend_for(problem, 1)
    value = random_values(problem, 1)
    rows, before = backend.improve(value)
    swept = backend.sweep(rows, value, 4)
    after = backend.residuals(rows, swept)
    assert problem.bounds(after).gap < 1e-3 * problem.bounds(before).gap
    assert backend.probabilities(rows, tolerance=1e-9, max_sweeps=500).probability.sum() == pytest.approx(1.0)
    assert backend.improve(value, want_rows=False).rows is None
    assert np.array_equal(value, random_values(problem, 1))
