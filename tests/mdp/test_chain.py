"""Tests of the chain of one policy: values of the cost and of any measure against dense algebra, and what it tells."""

from dataclasses import replace

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.mdp.chain import chain_of
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.progress import Progress
from runcard.mdp.rows import OrderRule, TableRule

from .problems import make_problem, random_problem
from .reference import Dense, value_error


@each_seed(12)
def test_values_of_the_cost_and_of_any_measure(seed: int) -> None:
    """Whatever is counted, g lies in the bounds and h is that of dense algebra with the same numbers as costs."""
    problem = random_problem(seed)
    dense = Dense(problem)
    table = dense.random_table(np.random.default_rng(seed))
    tables = [problem.measures["minutes"], np.where(np.isfinite(problem.cost), 1.0 - problem.cost, np.inf)]
    chain = chain_of(problem, TableRule(table), tables, threads=1)
    for measure, counted in ((None, problem.cost), (0, tables[0]), (1, tables[1])):
        other = Dense(replace(problem, cost=counted, measures={}))
        found, exact = chain.values(measure), other.evaluate(table)
        assert found.converged
        slack = 1e-13 * other.tau * (1.0 + np.abs(exact.value).max())
        assert found.lower - slack <= exact.late_fraction * problem.total_incidents_per_day <= found.upper + slack
        assert value_error(found.value, exact, problem) <= 1e-6


def test_probabilities_that_do_not_settle_say_so() -> None:
    """With too few sweeps allowed, probabilities are what they are and did not converge."""
    problem = make_problem([2, 1, 2], [2, 1, 4], load=0.7)
    found = chain_of(problem, OrderRule(problem.order)).probabilities(tolerance=1e-15, max_sweeps=2)
    assert not found.converged
    assert found.probability.sum() == pytest.approx(1.0)


def test_progress_is_told_after_every_cycle() -> None:
    """The bounds close from step to step, and the last ones are those of the result."""
    problem = make_problem([1, 2, 1, 2], [2, 3, 1, 2], load=0.8, seed=2)
    steps: list[Progress] = []
    found = chain_of(problem, OrderRule(problem.order)).values(progress=steps.append)
    assert [now.step for now in steps] == list(range(1, len(steps) + 1))
    total = problem.total_incidents_per_day
    assert (steps[-1].lower * total, steps[-1].upper * total) == pytest.approx((found.lower, found.upper), rel=1e-15)


@pytest.mark.parametrize(("load", "expected"), [(1e-6, 4), (0.4, 5), (5.0, 6)])
def test_more_incidents_take_more_sweeps(load: float, expected: int) -> None:
    """Few sweeps before each extrapolation where little happens during a busy time, and never more than six."""
    assert cpu_backend(make_problem([2, 2], [1], load=load)).sweeps_per_cycle == expected
