"""Tests of what every policy does and says when the objective is not the late fraction."""

from dataclasses import replace

import pytest
from tests.mdp.problems import every_state

from runcard.city import Objective, generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import DispatchProblem
from runcard.policy.solve import POLICY_NAMES, evaluate, solve_problem


@pytest.fixture(scope="module")
def problem() -> DispatchProblem:
    """A small city's problem."""
    return dispatch_problem(generate_grid(side=4, num_stations=4, load=0.2, seed=5))


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_another_unit_changes_no_decision(problem: DispatchProblem, name: str) -> None:
    """With minutes that are P(late) once more, their sum is P(late) times 8: the same teams, at 8 times the price."""
    again = with_objective(replace(problem, measures={"minutes": problem.cost}), Objective("late+minutes", 7.0))
    expected, found = solve_problem(problem, name), solve_problem(again, name)
    for idle in every_state(problem):
        for point in range(problem.num_points):
            mine, theirs = found.decide(idle, point), expected.decide(idle, point)
            assert mine.p_late == theirs.p_late
            assert mine.price == pytest.approx(8.0 * theirs.price, rel=1e-5, abs=1e-7)
            assert mine.team == theirs.team or mine.total == pytest.approx(8.0 * theirs.total, rel=1e-6)
            assert theirs.cost is None
            assert theirs.minutes is None
    late = evaluate(expected).late_fraction
    assert evaluate(found).late_fraction == pytest.approx(late, rel=1e-6)
    assert evaluate(found).cost == pytest.approx(8.0 * late, rel=1e-6)


@pytest.mark.parametrize("name", POLICY_NAMES)
@pytest.mark.parametrize("objective", [Objective("minutes"), Objective("late+minutes", 0.05)], ids=lambda o: o.minimise)
def test_a_decision_says_p_late_and_minutes(problem: DispatchProblem, name: str, objective: Objective) -> None:
    """P(late) and minutes of each team are those of the problem, and alternatives come by the cost now + price."""
    other = with_objective(problem, objective)
    policy = solve_problem(other, name)
    looks = name not in ("closest-first", "fixed-card")
    for point in range(problem.num_points):
        decision = policy.decide(problem.trucks, point)
        for option in (decision, *decision.alternatives):
            team = other.teams.number([other.station_ids.index(station) for station in option.team])
            assert option.p_late == problem.cost[team, point]
            assert option.minutes == other.measures["minutes"][team, point]
            assert option.cost == other.cost[team, point]
            assert option.total == option.cost + option.price
        totals = [option.total for option in decision.alternatives]
        assert totals == sorted(totals)
        assert not looks or decision.total <= totals[0]


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_a_policy_for_minutes_is_sooner(problem: DispatchProblem, name: str) -> None:
    """Policies that look at costs have fewer mean minutes when they minimise them; closest-first does not look."""
    by_late, by_minutes = (
        evaluate(solve_problem(with_objective(problem, Objective(minimise)), name)) for minimise in ("late", "minutes")
    )
    assert by_late.mean_response_minutes is not None
    if name == "closest-first":
        assert by_minutes.mean_response_minutes == pytest.approx(by_late.mean_response_minutes, rel=1e-12)
    else:
        assert by_minutes.mean_response_minutes < by_late.mean_response_minutes
    assert by_minutes.cost == pytest.approx(by_minutes.mean_response_minutes, rel=1e-9)
