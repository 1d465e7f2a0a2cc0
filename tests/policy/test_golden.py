"""Tests against the golden cities: an independent implementation's answers."""

import numpy as np
import pytest

from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.policy.by_order import OrderPolicy
from runcard.policy.solve import POLICY_NAMES, evaluate, solve_problem

from ..conftest import GoldenCity
from ..mdp.reference import Dense

EXACT = ("closest-first", "optimal", "one-step")
"""The policies whose golden answers need no inner fixed point."""


@pytest.fixture(scope="module")
def problem(golden: GoldenCity) -> DispatchProblem:
    """The dispatch problem of each golden city."""
    return dispatch_problem(golden.city)


@pytest.mark.parametrize("name", EXACT)
def test_late_fractions(golden: GoldenCity, problem: DispatchProblem, name: str) -> None:
    """The late fraction of each policy is the golden one within 1e-9, and lies in the bounds that come with it.

    The printed queueing policy has a golden answer too, to 1e-6: tests/policy/test_queueing.py compares it.
    """
    found = evaluate(solve_problem(problem, name))
    expected = golden.answers["late_fraction"][name]
    assert found.converged
    assert found.late_fraction == pytest.approx(expected, rel=1e-9)
    assert found.lower * (1 - 1e-12) <= expected <= found.upper * (1 + 1e-12)
    assert found.late_per_day == pytest.approx(expected * golden.city.incidents_per_day, rel=1e-9)


def test_no_policy_beats_the_optimum(golden: GoldenCity, problem: DispatchProblem) -> None:
    """No policy has a smaller late fraction than the golden optimum; those that improve on closest-first do so here."""
    optimal, first = (golden.answers["late_fraction"][name] for name in ("optimal", "closest-first"))
    for name in POLICY_NAMES:
        found = evaluate(solve_problem(problem, name))
        assert found.converged
        assert optimal * (1 - 1e-9) <= found.late_fraction <= first * (1 + 1e-9), name


@pytest.mark.parametrize("name", ["closest-first", "optimal"])
def test_certificates(golden: GoldenCity, problem: DispatchProblem, name: str) -> None:
    """Solving gives bounds within 1e-9 of each other that hold the golden late fraction."""
    certificate = solve_problem(problem, name).certificate
    assert certificate is not None
    assert certificate.converged
    expected = golden.answers["late_fraction"][name]
    assert certificate.lower * (1 - 1e-12) <= expected <= certificate.upper * (1 + 1e-12)
    assert certificate.upper - certificate.lower <= 1e-9 * certificate.upper + 1e-13


def test_optimal_teams(golden: GoldenCity, problem: DispatchProblem) -> None:
    """With every truck idle, the optimal policy sends the golden team to each node where it is unique."""
    policy = solve_problem(problem, "optimal")
    teams = golden.answers["optimal_team_all_idle"]
    assert teams
    for node, team in teams.items():
        decision = policy.decide(problem.trucks, problem.point_ids.index(node))
        assert list(decision.team) == sorted(team), node


def test_everything_else_by_linear_algebra(problem: DispatchProblem) -> None:
    """Mean response, shares, busy fractions and state probabilities of each policy are those of dense algebra."""
    dense = Dense(problem)
    for name in POLICY_NAMES:
        policy = solve_problem(problem, name)
        if isinstance(policy, OrderPolicy):
            table = dense.order_table(policy.order)
        else:
            value = policy.rule.start
            assert value is not None
            table = dense.greedy_table(value)
        found, exact = evaluate(policy), dense.evaluate(table)
        assert found.mean_response_minutes == pytest.approx(exact.mean_response_minutes, rel=1e-9)
        np.testing.assert_allclose(found.probability, exact.probability, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.dispatch_share, exact.dispatch_share, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.busy_fractions, exact.busy_fractions, rtol=0, atol=1e-10)
        assert found.outside_share == pytest.approx(exact.outside_share, abs=1e-11)
        np.testing.assert_allclose(found.value[: len(exact.value)], exact.value, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["closest-first", "optimal", "fixed-card"])
def test_no_truck_is_worth_less_than_nothing(problem: DispatchProblem, name: str) -> None:
    """In every state, sending one more truck away costs some future late incidents: single prices are positive."""
    value, dense = solve_problem(problem, name).rule.start, Dense(problem)
    assert value is not None
    for place, state in enumerate(dense.states):
        for i, idle in enumerate(state):
            if idle:
                fewer = dense.number[*state[:i], idle - 1, *state[i + 1 :]]
                assert value[fewer] - value[place] > 0.0, (state, i)
