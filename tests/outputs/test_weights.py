"""What a minute is worth: policies side by side for several weights."""

from dataclasses import replace
from itertools import pairwise

import pytest

from runcard.assess.steps import Steps
from runcard.city import City, Objective, generate_grid
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.progress import Progress
from runcard.outputs.weights import WeightComparison, compare_weights
from runcard.policy.solve import evaluate, solve_problem
from runcard.policy.solve_options import SolveOptions

WEIGHTS = (0.1, 0.01, 1.0, 0.001)


@pytest.fixture(scope="module")
def grid() -> City:
    """A grid city of five trucks."""
    return generate_grid(side=5, num_stations=5, load=0.2, seed=3)


@pytest.fixture(scope="module")
def comparison(grid: City) -> WeightComparison:
    """Its optimal policies and those of closest-first."""
    return compare_weights(grid, WEIGHTS, ["optimal", "CF"])


def test_weights_rise_from_zero(comparison: WeightComparison) -> None:
    """They come by size, each once, with 0 first whether it was asked for or not."""
    for points in comparison.curves.values():
        assert [point.weight for point in points] == [0.0, 0.001, 0.01, 0.1, 1.0]


def test_each_point_is_the_policy_of_that_objective(grid: City, comparison: WeightComparison) -> None:
    """A city that states the objective itself gives the same late fraction and minutes; weight 0 is lateness alone."""
    for point in comparison.curves["optimal"]:
        objective = Objective("late+minutes", point.weight) if point.weight else Objective()
        alone = evaluate(solve_problem(dispatch_problem(replace(grid, objective=objective)), "optimal"))
        assert point.late_fraction == pytest.approx(alone.late_fraction, rel=1e-9)
        assert point.mean_minutes == pytest.approx(alone.mean_response_minutes, rel=1e-9)
        assert point.fleet.missed.low <= alone.late_fraction <= point.fleet.missed.high


def test_what_a_weight_costs_and_saves(comparison: WeightComparison) -> None:
    """Each is counted against weight 0; for the optimal policy both only grow, each step at its weight's price."""
    optimal, closest = comparison.curves.values()
    first = optimal[0]
    assert (first.more_late, first.minutes_saved) == (0.0, 0.0)
    for one, other in pairwise(optimal):
        assert other.more_late == other.late_fraction - first.late_fraction
        assert other.minutes_saved == first.mean_minutes - other.mean_minutes
        assert other.more_late > one.more_late
        saved = other.minutes_saved - one.minutes_saved
        assert saved > 0.0
        assert one.weight * saved - 1e-8 <= other.more_late - one.more_late <= other.weight * saved + 1e-8
    for point in closest:  # it looks at no costs
        assert point.more_late == pytest.approx(0.0, abs=1e-9)
        assert point.minutes_saved == pytest.approx(0.0, abs=1e-9)


def test_the_objective_of_the_city_is_set_aside(grid: City, comparison: WeightComparison) -> None:
    """Weights say what is minimised, whatever the city states."""
    other = compare_weights(replace(grid, objective=Objective("minutes")), [0.1])
    assert [point.late_fraction for point in other.curves["optimal"]] == [
        comparison.curves["optimal"][place].late_fraction for place in (0, 3)
    ]


def test_the_document_has_every_point(comparison: WeightComparison) -> None:
    """JSON has each policy with its weights, and costs that are late + weight × minutes."""
    document = comparison.document()
    assert [policy["name"] for policy in document["policies"]] == ["optimal", "closest-first"]
    for policy in document["policies"]:
        for entry in policy["weights"]:
            cost = entry["late_fraction"] + entry["weight"] * entry["mean_response_minutes"]
            assert entry["cost"] == pytest.approx(cost, rel=1e-9)
            assert entry["cost_lower"] <= entry["cost"] <= entry["cost_upper"]
            assert entry["converged"] is True


class Heard(Steps):
    """Writes down the steps, each with what is heard while it lasts."""

    def __init__(self, heard: dict[str, list[Progress]]) -> None:
        self.heard = heard

    def begin(self, words: str) -> None:
        """A step begins."""
        self.heard[words] = []


def test_the_caller_is_told_what_goes_on(grid: City) -> None:
    """Each weight is solved and evaluated after the driving times, and the bounds that are heard hold its cost."""
    heard: dict[str, list[Progress]] = {}
    comparison = compare_weights(
        grid,
        [0.1],
        ["optimal"],
        SolveOptions(progress=lambda now: list(heard.values())[-1].append(now)),
        steps=Heard(heard),
    )
    _, *names = heard
    assert names == [f"optimal, weight {weight}{of}" for weight in ("0", "0.1") for of in ("", ", evaluated")]
    for number, name in enumerate(names):
        cost, steps = comparison.curves["optimal"][number // 2].fleet.cost.value, heard[name]
        assert steps
        assert all(now.lower <= cost * (1.0 + 1e-9) and cost <= now.upper * (1.0 + 1e-9) for now in steps)


def test_results_that_did_not_converge_are_named(comparison: WeightComparison) -> None:
    """The policy and the weight of each are in the words."""
    assert comparison.failed == []
    points = list(comparison.curves["optimal"])
    first, outcome = points[2].assessment.outcomes
    doubtful = replace(outcome, periods={"always": {"truck": replace(points[2].fleet, converged=False)}})
    points[2] = replace(points[2], assessment=replace(points[2].assessment, outcomes=(first, doubtful)))
    curves = {**comparison.curves, "optimal": points}
    assert replace(comparison, curves=curves).failed == ["optimal with weight 0.01"]


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf"), 1e4])
def test_weights_out_of_range_are_refused(grid: City, weight: float) -> None:
    """The message says which range is meant."""
    with pytest.raises(InputError, match="expected weights from 0 to 1000 late incidents per minute, got"):
        compare_weights(grid, [0.1, weight])


def test_no_weight_is_no_comparison(grid: City) -> None:
    """An empty list is refused, of weights as of policies."""
    with pytest.raises(InputError, match="at least one weight"):
        compare_weights(grid, [])
    with pytest.raises(InputError, match="at least one policy"):
        compare_weights(grid, [0.1], [])
