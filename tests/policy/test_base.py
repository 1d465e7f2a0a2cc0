"""What every policy says of itself: how it is stored, read and asked in bulk, and what a new one has to touch."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.policy_files import load_policy, save_policy
from tests.simulate.cases import simulated

from runcard.assess.exact import assess_exactly
from runcard.city import City, generate_grid
from runcard.errors import PolicyFileError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule
from runcard.outputs.explain import explain
from runcard.plan.fleet import fleet_of
from runcard.policy.base import BulkRule, Certificate, Decision, Policy, Recipe, Stored
from runcard.policy.by_function import FunctionPolicy
from runcard.policy.options import first_in_order, idle_teams, make_decision
from runcard.policy.solve import POLICY_NAMES, RECIPES, evaluate, solve_problem


@pytest.fixture(scope="module")
def city() -> City:
    """A small city."""
    return generate_grid(side=3, num_stations=3, load=0.2, seed=5, trucks_per_station=2)


@pytest.fixture(scope="module")
def problem(city: City) -> DispatchProblem:
    """Its problem."""
    return dispatch_problem(city)


@dataclass(frozen=True, eq=False, kw_only=True)
class FarthestFirst:
    """A policy that nobody should have, in one piece: the farthest trucks go."""

    problem: DispatchProblem
    name: str = "farthest-first"
    certificate: Certificate | None = None
    reason: str = "is the farthest"

    @property
    def order(self) -> NDArray[np.int64]:
        """[J, I] the stations from the farthest to the closest."""
        return np.ascontiguousarray(self.problem.order[:, ::-1])

    @property
    def rule(self) -> OrderRule:
        """The order."""
        return OrderRule(self.order)

    def in_bulk(self, decisions: float) -> BulkRule:
        """The order."""
        return BulkRule(order=self.order)

    def stored(self) -> Stored:
        """Nothing but the problem."""
        return Stored()

    def prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """It knows no prices."""
        return np.zeros(len(teams))

    def decide(self, idle: NDArray[np.int64], point: int) -> Decision:
        """The farthest team."""
        teams = idle_teams(self.problem, idle, point)
        chosen = int(np.searchsorted(teams, first_in_order(self.problem, self.order, idle, point)))
        return make_decision(self.problem, point, teams, np.zeros(len(teams)), chosen)


def test_a_new_policy_is_one_class_and_one_recipe(
    city: City, problem: DispatchProblem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its recipe listed, a policy can be solved, evaluated, compared, simulated, explained, saved and loaded."""
    recipe = Recipe(
        name="farthest-first",
        label="FF",
        solve=lambda problem, _: FarthestFirst(problem=problem),
        read=lambda problem, _: FarthestFirst(problem=problem),
    )
    monkeypatch.setitem(RECIPES, recipe.name, recipe)
    policy: Policy = solve_problem(problem, "Farthest-First")
    exact = evaluate(policy).late_fraction
    assert exact > evaluate(solve_problem(problem, "closest-first")).late_fraction
    found = load_policy(save_policy(policy, tmp_path / "p"), problem)
    assert (type(found), found.name) == (FarthestFirst, "farthest-first")
    for point in range(problem.num_points):
        assert found.decide(problem.trucks, point) == policy.decide(problem.trucks, point)
    comparison = assess_exactly(city, ["closest-first", "farthest-first"])
    assert comparison["farthest-first"].missed.value == exact
    late = simulated(city, [found], incidents=20_000).policies[0].late_fraction
    assert late.low - late.half <= exact <= late.high + late.half
    assert "it is the farthest:" in explain(fleet_of(policy).decide(problem.trucks, 0)).reasons[0]


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_a_bulk_rule_is_one_array(problem: DispatchProblem, name: str) -> None:
    """Every policy of a small problem is asked in bulk, by exactly one array."""
    bulk = solve_problem(problem, name).in_bulk(1000.0)
    assert bulk is not None
    assert sum(array is not None for array in (bulk.order, bulk.value, bulk.table)) == 1


def test_a_function_has_no_file(problem: DispatchProblem, tmp_path: Path) -> None:
    """Saving a policy that is a function fails in words, and writes nothing."""
    policy = FunctionPolicy(name="mine", problem=problem, choose=lambda idle, point, teams: teams[0])
    with pytest.raises(PolicyFileError, match="mine: a policy that is a function cannot be written to a file"):
        save_policy(policy, tmp_path / "p")
    assert list(tmp_path.iterdir()) == []


def test_a_stored_array_of_another_kind_is_refused() -> None:
    """An array that is missing, or of another type or shape, is refused with what was expected."""
    for arrays in ({}, *({"value": array} for array in (np.zeros(3, np.float32), np.zeros((3, 1)), np.zeros(2)))):
        with pytest.raises(PolicyFileError, match=r"expected the array value of float64 \(3,\)"):
            Stored(arrays=arrays).array("value", np.float64, (3,))
