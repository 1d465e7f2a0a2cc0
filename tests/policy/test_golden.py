"""Tests against the golden cities: an independent implementation's answers."""

import pytest

from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.policy.solve import POLICY_NAMES, evaluate, solve_problem

from ..conftest import GoldenCity
from ..mdp.reference import Dense


@pytest.fixture(scope="module")
def problem(golden: GoldenCity) -> DispatchProblem:
    """The dispatch problem of each golden city."""
    return dispatch_problem(golden.city)


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_late_fractions(golden: GoldenCity, problem: DispatchProblem, name: str) -> None:
    """The late fraction of each exact policy is the golden one within 1e-9, and lies in the bounds that come with it.

    No policy beats the optimum, and none is worse than closest-first. Where solving gives bounds, they are close and
    hold. Of policies with an inner fixed point the printed one has a golden answer, too: see test_queueing.py.
    """
    policy, answers = solve_problem(problem, name), golden.answers["late_fraction"]
    found, bounds = evaluate(policy), policy.certificate
    assert found.converged
    assert answers["optimal"] * (1 - 1e-9) <= found.late_fraction <= answers["closest-first"] * (1 + 1e-9)
    if name in ("closest-first", "optimal", "one-step"):
        expected = answers[name]
        assert found.late_fraction == pytest.approx(expected, rel=1e-9)
        assert found.lower * (1 - 1e-12) <= expected <= found.upper * (1 + 1e-12)
        assert found.late_per_day == pytest.approx(expected * golden.city.incidents_per_day, rel=1e-9)
        assert (bounds is None) == (name == "one-step")
        if bounds is not None:
            assert bounds.converged
            assert bounds.lower * (1 - 1e-12) <= expected <= bounds.upper * (1 + 1e-12)
            assert bounds.upper - bounds.lower <= 1e-9 * bounds.upper + 1e-13


def test_optimal_teams(golden: GoldenCity, problem: DispatchProblem) -> None:
    """With every truck idle, the optimal policy sends the golden team to each node where it is unique."""
    policy = solve_problem(problem, "optimal")
    teams = golden.answers["optimal_team_all_idle"]
    assert teams
    for node, team in teams.items():
        decision = policy.decide(problem.trucks, problem.point_ids.index(node))
        assert list(decision.team) == sorted(team), node


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
