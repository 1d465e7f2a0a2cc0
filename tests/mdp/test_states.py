"""Tests of the states of a problem, and of what is kept for it and for how long."""

import gc
import weakref

import pytest

from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.rows import OrderRule
from runcard.mdp.solve import solve_optimal

from .problems import make_problem


def test_what_policies_share_is_made_once_and_read_only() -> None:
    """Policies of one problem share its states, its levels and its layout, and nobody can write to them."""
    problem = make_problem([1, 2], [2])
    found = evaluate_rule(problem, OrderRule(problem.order))
    assert problem.states is problem.states
    assert problem.layout is problem.layout
    states, levels = problem.states, problem.levels
    shared = [states.level, states.even_probability, states.even_arrivals, states.weights, levels.idle_distribution,
              levels.generator, levels.arrivals, problem.layout.offset, problem.teams.counts]  # fmt: skip
    for array in (*shared, found.idle_distribution, found.value, found.probability):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_nothing_outlives_its_problem() -> None:
    """A solved and evaluated problem is freed with its last reference, so that studies of many cities do not grow."""
    problem = make_problem([1, 2, 1], [2, 1])
    solve_optimal(problem)
    evaluate_rule(problem, OrderRule(problem.order))
    alive = weakref.ref(problem)
    gc.disable()  # what a problem holds does not hold the problem, so that nobody has to look for circles
    try:
        del problem
        assert alive() is None
    finally:
        gc.enable()
