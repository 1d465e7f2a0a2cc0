"""Tests that proven intervals count the errors of costs and measures, with dense solutions of the true costs."""

from dataclasses import replace

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.city import Objective
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule
from runcard.mdp.solve import solve_optimal
from runcard.policy.solve import solve_problem

from .problems import make_problem, random_problem
from .reference import Dense


def moved(problem: DispatchProblem, error: float, seed: int) -> DispatchProblem:
    """The same problem with every cost moved by at most `error`, most of them by all of it, and the error stated."""
    rng = np.random.default_rng([seed, 5])
    move = error * np.clip(rng.uniform(-2.0, 2.0, problem.cost.shape), -1.0, 1.0)
    return replace(problem, cost=problem.cost + move, cost_error=error, measures={})


@pytest.mark.parametrize("error", [1e-9, 1e-4, 0.1])
@each_seed(8)
def test_the_true_values_lie_in_the_intervals(seed: int, error: float) -> None:
    """With costs that are off by at most the stated error, the true optimum and policies are where it is proven."""
    truth = random_problem(seed)
    found, dense = moved(truth, error, seed), Dense(truth)
    slack = 1e-13
    optimum, solution = dense.optimum()[1].late_fraction, solve_optimal(found)
    assert solution.converged
    assert solution.lower - slack <= optimum <= solution.upper + slack
    exact = dense.evaluate(dense.order_table(truth.order)).late_fraction
    evaluation = evaluate_rule(found, OrderRule(found.order))
    assert evaluation.converged
    assert evaluation.lower - slack <= exact <= evaluation.upper + slack
    for name in ("closest-first", "optimal", "fixed-card"):
        certificate = solve_problem(found, name).certificate
        assert certificate is not None
        assert certificate.converged
        assert certificate.upper - certificate.lower >= 0.99 * min(error, 1.0 - certificate.lower)


def test_an_error_that_all_costs_have_is_just_counted() -> None:
    """If all costs are too small by the error, the true value is the upper end, and no less would do."""
    truth, error = make_problem([1, 2], [2, 1], load=0.4), 1e-3
    found = replace(truth, cost=truth.cost - error, cost_error=error, measures={})
    optimum = Dense(truth).optimum()[1].late_fraction
    assert solve_optimal(found).upper == pytest.approx(optimum, rel=1e-9)
    assert solve_optimal(found).lower == pytest.approx(optimum - 2.0 * error, rel=1e-9)


def test_chances_stay_chances() -> None:
    """However large the error, a late fraction is between 0 and 1, and mean minutes are not below 0."""
    problem = replace(make_problem([1, 2], [2, 1]), cost_error=5.0, measure_errors={"minutes": 100.0})
    solution = solve_optimal(problem)
    assert (solution.lower, solution.upper) == (0.0, 1.0)
    by_minutes = evaluate_rule(with_objective(problem, Objective("minutes")), OrderRule(problem.order))
    assert (by_minutes.lower, by_minutes.upper, by_minutes.cost_lower) == (0.0, 1.0, 0.0)
    assert by_minutes.cost_upper == pytest.approx(by_minutes.cost + 100.0)
    below = replace(problem, cost=problem.cost - 0.5, measures={}, measure_errors={})
    assert solve_optimal(below).lower < -4.5
    assert solve_optimal(below).upper > 4.5


@pytest.mark.parametrize(
    ("objective", "error"),
    [(Objective(), 0.01), (Objective("minutes"), 0.5), (Objective("late+minutes", 0.1), 0.01 + 0.1 * 0.5)],
)
def test_the_error_of_a_cost_is_that_of_its_measures(objective: Objective, error: float) -> None:
    """P(late) off by 0.01 and minutes off by 0.5 make costs that are off by as much as they count; there and back."""
    problem = replace(make_problem([1, 2], [2, 1]), cost_error=0.01, measure_errors={"minutes": 0.5})
    found = with_objective(problem, objective)
    assert found.cost_error == pytest.approx(error)
    assert dict(found.measure_errors) == {"late": 0.01, "minutes": 0.5}
    assert with_objective(found, Objective()).cost_error == 0.01
    evaluation = evaluate_rule(found, OrderRule(found.order))
    assert evaluation.upper - evaluation.lower == pytest.approx(0.02, rel=1e-6)
    assert evaluation.cost_upper - evaluation.cost_lower == pytest.approx(2.0 * error, rel=1e-6)


def test_the_tolerance_is_the_solvers_own() -> None:
    """Errors of costs widen what is proven, and change neither the policy, the steps nor whether it converged."""
    problem = make_problem([1, 2, 1], [2, 1, 3], load=0.5)
    exact, rough = solve_optimal(problem), solve_optimal(replace(problem, cost_error=0.2))
    assert (rough.converged, rough.improvements) == (exact.converged, exact.improvements) == (True, exact.improvements)
    assert rough.value.tobytes() == exact.value.tobytes()
    assert rough.upper == min(1.0, exact.upper + 0.2)
