"""Tests of objectives other than the late fraction, against a dense solver, every policy there is, and convexity."""

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.seeds import each_seed

from runcard.city import Objective, generate_grid
from runcard.city.model import LATE
from runcard.errors import InputError
from runcard.mdp.evaluate import Evaluation, evaluate_rule
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.objective import cost_of, with_objective
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule, TableRule, ValueRule
from runcard.mdp.solve import solve_optimal
from runcard.policy.by_table import table_rule
from runcard.response.table import response_table

from .problems import make_problem, random_problem, random_values
from .reference import Dense, Table

MINUTES = Objective("minutes")
WEIGHTS = (0.0, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 10.0, 1000.0)


def weighted(weight: float) -> Objective:
    """The objective of a weight; that of weight 0 is the late fraction."""
    return Objective("late+minutes", weight) if weight else LATE


def optimum(problem: DispatchProblem) -> Evaluation:
    """What the optimal policy of a problem achieves."""
    solution = solve_optimal(problem)
    assert solution.converged
    found = evaluate_rule(problem, ValueRule(solution.value))
    assert found.converged
    assert solution.lower * (1 - 1e-12) <= found.cost <= solution.upper * (1 + 1e-12)
    return found


def dense_means(problem: DispatchProblem, table: Table) -> tuple[float, float]:
    """The late fraction and the mean response minutes of a policy, by linear algebra from P(late) and the minutes."""
    dense, total = Dense(problem), problem.incidents_per_day.sum()
    probability = dense.probabilities(table)
    late, minutes = (
        float(probability @ dense.rate_of(problem.measures[name], table) / total) for name in ("late", "minutes")
    )
    return late, minutes


@pytest.mark.parametrize("minutes", [True, False])
def test_the_costs_of_a_city_are_what_its_objective_counts(minutes: bool) -> None:
    """P(late), mean minutes, or P(late) + weight × minutes of the response table; P(late) is there in each case."""
    city = generate_grid(side=4, num_stations=3, load=0.2, seed=4, trucks_per_station=2)
    city = replace(city, demand=tuple(replace(p, trucks=1 + j % 2) for j, p in enumerate(city.demand)))
    table = response_table(city)
    for objective, cost in (
        (LATE, table.p_late),
        (MINUTES, table.mean_minutes),
        (Objective("late+minutes", 0.25), table.p_late + 0.25 * table.mean_minutes),
    ):
        problem = dispatch_problem(replace(city, objective=objective), minutes=minutes)
        assert np.array_equal(problem.cost, cost)
        assert np.array_equal(problem.measures["late"], table.p_late)
        assert (problem.measures["late"] is problem.cost) == (objective == LATE)
        assert ("minutes" in problem.measures) == (objective != LATE or minutes)
        assert problem.objective == objective


def test_costs_by_hand() -> None:
    """Two teams, of which one is too large for the second place; its minutes, whatever they are, count nowhere."""
    p_late, minutes = np.array([[0.5, 0.25], [0.125, np.inf]]), np.array([[8.0, 4.0], [2.0, np.nan]])
    measures = {"late": p_late, "minutes": minutes}
    assert cost_of(LATE, {"late": p_late}) is p_late
    assert cost_of(MINUTES, measures).tolist() == [[8.0, 4.0], [2.0, np.inf]]
    assert cost_of(Objective("late+minutes", 0.5), measures).tolist() == [[4.5, 2.25], [1.125, np.inf]]


def test_no_policy_of_all_is_better() -> None:
    """On a problem of three trucks each of its 576 policies is tried, by what it does to lateness and to minutes."""
    problem = make_problem([1, 1, 1], [1, 1], seed=3)
    dense = Dense(problem)
    shape, choices = (len(dense.states), problem.num_points), [teams for row in dense.choices for teams in row]
    every = [dense_means(problem, np.array(chosen).reshape(shape)) for chosen in product(*choices)]
    assert len(every) == 576
    reached = set()
    for weight in WEIGHTS:
        totals = [late + weight * minutes for late, minutes in every]
        found = optimum(with_objective(problem, weighted(weight)))
        assert found.cost == pytest.approx(min(totals), rel=1e-9)
        late, minutes = every[int(np.argmin(totals))]
        assert found.late_fraction == pytest.approx(late, rel=1e-7)
        assert found.mean_response_minutes == pytest.approx(minutes, rel=1e-7)
        reached.add((late, minutes))
    assert len(reached) > 2


@each_seed(6)
def test_the_curve_is_monotone_and_convex(seed: int) -> None:
    """More weight never has more minutes nor fewer late; each point lies above the line through it of every other."""
    problem = random_problem(seed)
    points = [optimum(with_objective(problem, weighted(weight))) for weight in WEIGHTS]
    late = np.array([point.late_fraction for point in points])
    minutes = np.array([point.mean_response_minutes for point in points], float)
    # Solved to 1e-9 of a cost that is up to weight × minutes, a late fraction is known no better than that.
    slack = 1e-8 * (1.0 + np.array(WEIGHTS) * minutes)
    for (one, other), low, high in zip(pairwise(range(len(points))), slack, slack[1:], strict=False):
        assert late[other] >= late[one] - low - high
        assert minutes[other] <= minutes[one] + (low + high) / WEIGHTS[other]
    for weight, point, loose in zip(WEIGHTS, points, slack, strict=True):
        assert (late + weight * minutes >= point.cost - loose).all()
    # Almost no weight gives the least late fraction there is, and the largest weight the least minutes.
    by_minutes = optimum(with_objective(problem, MINUTES))
    assert by_minutes.cost == pytest.approx(by_minutes.mean_response_minutes, rel=1e-9)
    assert by_minutes.late_fraction >= late[0] * (1 - 1e-9)
    assert optimum(with_objective(problem, weighted(1e-9))).late_fraction == pytest.approx(late[0], rel=1e-6)
    assert minutes[-1] == pytest.approx(by_minutes.cost, rel=2e-4)


@pytest.mark.parametrize("objective", [MINUTES, weighted(0.05)], ids=lambda one: one.minimise)
def test_every_rule_keeps_its_teams_whatever_is_counted(objective: Objective) -> None:
    """Orders, tables and values: late fraction and minutes are those of the teams that each of them sends."""
    problem = with_objective(make_problem([2, 1, 2], [1, 2, 3], seed=7), objective)
    dense, values = Dense(problem), random_values(problem, 1)
    for rule, table in (
        (OrderRule(problem.order), dense.order_table(problem.order)),
        (ValueRule(values), dense.greedy_table(values)),
        (TableRule(dense.first_table()), dense.first_table()),
    ):
        found = evaluate_rule(problem, rule, threads=2)
        late, minutes = dense_means(problem, table)
        assert found.late_fraction == pytest.approx(late, rel=1e-9)
        assert found.late_per_day == pytest.approx(late * problem.total_incidents_per_day, rel=1e-9)
        assert found.lower <= late * (1 + 1e-12) + 1e-15
        assert late <= found.upper * (1 + 1e-12) + 1e-15
        assert found.mean_response_minutes == pytest.approx(minutes, rel=1e-9)
        expected = minutes if objective == MINUTES else late + 0.05 * minutes
        assert found.cost == pytest.approx(expected, rel=1e-9)
        assert found.cost_lower <= found.cost <= found.cost_upper
        exact = dense.values(table)[1]
        assert found.value[: len(exact)] == pytest.approx(exact, abs=1e-6 * (1.0 + np.abs(exact).max()))


def test_a_rule_of_one_objective_on_the_problem_of_another() -> None:
    """Written out as a table, the weighted optimum is as late and as soon, whatever the problem counts."""
    problem = make_problem([1, 2, 1], [2, 1, 2], seed=5)
    own = with_objective(problem, weighted(0.05))
    value = solve_optimal(own).value
    table, found = table_rule(own, ValueRule(value)), evaluate_rule(own, ValueRule(value))
    for objective, cost in ((LATE, found.late_fraction), (MINUTES, found.mean_response_minutes)):
        other = evaluate_rule(with_objective(problem, objective), table)
        assert other.late_fraction == pytest.approx(found.late_fraction, rel=1e-9)
        assert other.mean_response_minutes == pytest.approx(found.mean_response_minutes, rel=1e-9)
        assert other.cost == pytest.approx(cost, rel=1e-9)
    assert evaluate_rule(problem, ValueRule(value)).late_fraction != pytest.approx(found.late_fraction, rel=1e-3)


def test_there_and_back_is_the_same_problem() -> None:
    """Changing the objective and changing it back gives the same fingerprint; each objective has its own.

    It knows what a decision says: with the same costs and another P(late) problems decide alike, and say otherwise.
    """
    problem = make_problem([1, 2], [2, 1])
    assert with_objective(problem, LATE) is problem
    found = evaluate_rule(problem, OrderRule(problem.order))
    assert (found.cost, found.cost_lower, found.cost_upper) == (found.late_fraction, found.lower, found.upper)
    others = [with_objective(problem, one) for one in (MINUTES, weighted(0.1), weighted(0.2))]
    assert len({problem.fingerprint, *[other.fingerprint for other in others]}) == 4
    for other in others:
        assert with_objective(other, LATE).fingerprint == problem.fingerprint
        assert with_objective(other, MINUTES).fingerprint == others[0].fingerprint
        late = {**other.measures, "late": other.measures["late"] / 2.0}
        assert replace(other, measures=late).fingerprint != other.fingerprint


def changed(problem: DispatchProblem, name: str, table: NDArray[np.float64] | None) -> dict[str, Any]:
    """The measures of a problem with one of them changed, or left out."""
    others = {other: kept for other, kept in problem.measures.items() if other != name}
    return {"measures": others if table is None else {**others, name: table}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"late": np.zeros((1, 1))}, "late of shape"),
        ({"late": np.full((5, 2), np.nan)}, "finite late"),
        ({"late": None}, "late and minutes, which minimising minutes needs"),
        ({"minutes": None}, "late and minutes, which minimising minutes needs"),
        ({"objective": LATE}, "late to be the cost, if that is minimised"),
        ({"objective": Objective("minutes", 0.1)}, "no objective.weight"),
        ({"objective": Objective("late+minutes")}, "objective.weight, which minimising late"),
        ({"objective": Objective("late+minutes", -1.0)}, "objective.weight > 0"),
        ({"objective": Objective("cost")}, "objective.minimise to be late or minutes"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    """A problem whose costs and objective do not fit together is refused with a message that says why."""
    problem = with_objective(make_problem([1, 2], [2, 1]), MINUTES)
    ((name, value),) = changes.items()
    with pytest.raises(InputError, match=message):
        replace(problem, **(changes if name == "objective" else changed(problem, name, value)))


def test_minutes_cannot_be_minimised_without_them() -> None:
    """A problem that was made without response minutes says so, and so does a bad objective."""
    problem = replace(make_problem([1, 2], [2, 1]), measures={})
    with pytest.raises(InputError, match="mean response minutes of every team"):
        with_objective(problem, MINUTES)
    with pytest.raises(InputError, match=r"objective\.weight > 0 and at most 1000, got nan"):
        with_objective(problem, Objective("late+minutes", float("nan")))
