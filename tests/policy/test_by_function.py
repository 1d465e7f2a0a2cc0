"""Policies that are functions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mdp.problems import every_state
from tests.simulate.cases import simulated
from tests.town import plain_town

from runcard import DispatchProblem, dispatch_problem, evaluate, generate_grid, solve_problem
from runcard.errors import InputError, SizeError
from runcard.mdp.rows import ValueRule
from runcard.policy import by_function
from runcard.policy.by_function import FunctionPolicy
from runcard.policy.by_table import table_rule
from runcard.policy.options import first_in_order
from runcard.simulate.rules import array_rule

CITY = generate_grid(side=4, num_stations=3, load=0.2, seed=3)
CITY = replace(
    CITY,
    stations=tuple(replace(station, trucks=1 + (n == 0)) for n, station in enumerate(CITY.stations)),
    demand=tuple(replace(point, trucks=1 + n % 2) for n, point in enumerate(CITY.demand)),
)


@pytest.fixture(scope="module")
def problem() -> DispatchProblem:
    """Four trucks, two of them at one station, and incidents that need one or two."""
    return dispatch_problem(CITY)


def closest(problem: DispatchProblem) -> FunctionPolicy:
    """Closest-first, written as a function."""

    def choose(idle: NDArray[np.int64], point: int, teams: NDArray[np.int64]) -> int:
        del teams
        return first_in_order(problem, problem.order, idle, point)

    return FunctionPolicy(name="by hand", problem=problem, choose=choose)


def greedy(problem: DispatchProblem) -> FunctionPolicy:
    """The team that is late least, whatever comes after."""
    return FunctionPolicy(
        name="greedy", problem=problem, choose=lambda _, point, teams: teams[problem.cost[teams, point].argmin()]
    )


def test_closest_first_as_a_function_is_closest_first(problem: DispatchProblem) -> None:
    """The same decisions have the same late fraction, the same prices and the same teams."""
    known, policy = solve_problem(problem, "closest-first"), closest(problem)
    assert evaluate(policy).late_fraction == pytest.approx(evaluate(known).late_fraction, rel=1e-9)
    for idle in every_state(problem):
        for point in range(problem.num_points):
            expected, decision = known.decide(idle, point), policy.decide(idle, point)
            assert decision.team == expected.team
            assert decision.price == pytest.approx(expected.price, abs=1e-9)
            found = [option.total for option in decision.alternatives]
            assert found == pytest.approx([option.total for option in expected.alternatives], abs=1e-9)
    singles = np.arange(1, 1 + problem.num_stations)
    assert policy.prices(problem.trucks, singles) == pytest.approx(known.prices(problem.trucks, singles), abs=1e-9)


def test_the_optimum_as_a_function_is_the_optimum(problem: DispatchProblem) -> None:
    """A function that chooses what the optimal policy does is as good, and a greedy one is not better."""
    optimal = solve_problem(problem, "optimal")
    assert isinstance(optimal.rule, ValueRule)
    table = table_rule(problem, optimal.rule).table.reshape(*(problem.trucks + 1), -1)
    policy = FunctionPolicy(name="looked up", problem=problem, choose=lambda idle, point, _: table[(*idle, point)])
    best = evaluate(optimal).late_fraction
    assert evaluate(policy).late_fraction == pytest.approx(best, rel=1e-8)
    assert evaluate(greedy(problem)).late_fraction >= best * (1.0 - 1e-8)


def test_where_states_are_too_many(problem: DispatchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no rule then and no price, but decisions and simulations are those of the policy that it is.

    The cheapest come first.
    """
    small = closest(problem)
    table = small.rule.table
    monkeypatch.setattr(by_function, "MOST_DECISIONS", table.size - 1)
    policy = closest(problem)
    with pytest.raises(
        SizeError, match=rf"by hand: expected at most {table.size - 1} states times .*, got {table.size}"
    ):
        _ = policy.rule
    assert array_rule(policy) is None
    decision = policy.decide(problem.trucks, 1)
    assert decision.team == small.decide(problem.trucks, 1).team
    assert np.isnan(decision.price)
    assert np.isnan(policy.prices(problem.trucks, np.array([0, 1]))).all()
    p_late = [option.p_late for option in decision.alternatives]
    assert p_late == sorted(p_late)
    found = simulated(CITY, [solve_problem(problem, "closest-first"), small, policy], incidents=1000, seed=2)
    known, asked, looked_up = ([batch.late for batch in result.batches] for result in found.policies)
    assert known == asked == looked_up


@pytest.mark.parametrize(
    ("answer", "words"), [(-1, "team -1"), (0, "team 0"), (99, "team 99"), (2.0, "2.0"), (None, "None")]
)
def test_a_team_that_cannot_go(problem: DispatchProblem, answer: Any, words: str) -> None:
    """Whatever is not the number of a team that can go is an error that names the policy and the answer."""
    policy = FunctionPolicy(name="odd", problem=problem, choose=lambda *_: answer)
    with pytest.raises(InputError, match=f"odd: expected .*{words}"):
        policy.decide(problem.trucks, 1)
    with pytest.raises(InputError, match="odd: expected "):
        _ = policy.rule


@pytest.mark.parametrize("argument", [0, 2])
def test_a_function_that_changes_its_arguments(problem: DispatchProblem, argument: int) -> None:
    """It is an error that says so: it was evaluated as another policy, whose idle trucks and teams it had changed."""

    def choose(*arguments: Any) -> Any:
        arguments[argument][::-1].sort()
        return arguments[2][0]

    policy, idle = FunctionPolicy(name="odd", problem=problem, choose=choose), problem.trucks.copy()
    for ask in (lambda: policy.decide(idle, 1), lambda: policy.rule, lambda: evaluate(policy)):
        with pytest.raises(InputError, match="odd: a function must not change its arguments"):
            ask()
    assert np.array_equal(idle, problem.trucks)


def test_the_numbers_of_the_guide() -> None:
    """The guide says how late closest-first, a greedy function and the optimum are in the demo town."""
    problem = dispatch_problem(plain_town())
    policies = [solve_problem(problem, "closest-first"), greedy(problem), solve_problem(problem, "optimal")]
    first, second, third = (f"{100 * evaluate(policy).late_fraction:.2f} %" for policy in policies)
    guide = Path(__file__).parents[2] / "docs" / "guides" / "learning.md"
    assert f"In the demo town that is {first}, {second} and {third}." in guide.read_text(encoding="utf-8")
