"""The decisions of a value function as a table."""

import pytest

from runcard import dispatch_problem, evaluate, generate_grid, solve_problem
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.rows import ValueRule
from runcard.policy.by_table import table_rule


def test_a_table_of_decisions_is_the_policy() -> None:
    """Where the costs are the same, the table of what a policy sends is worth as much as the policy."""
    problem = dispatch_problem(generate_grid(side=4, num_stations=3, load=0.1, seed=3))
    policy = solve_problem(problem, "optimal")
    expected = evaluate(policy).late_fraction
    assert isinstance(policy.rule, ValueRule)
    table = table_rule(problem, policy.rule)
    assert evaluate_rule(problem, table).late_fraction == pytest.approx(expected, rel=1e-8)
