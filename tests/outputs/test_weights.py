"""What a minute is worth: policies side by side for several weights."""

from dataclasses import replace
from itertools import pairwise

import pytest

from runcard.assess.assessment import Assessment
from runcard.assess.steps import Steps
from runcard.city import City, Objective, generate_grid
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.progress import Progress
from runcard.outputs.weights import (
    compare_weights,
    failed_weights,
    minutes_saved,
    more_late,
    weight_of,
    weights_document,
)
from runcard.policy.solve import evaluate, solve_problem
from runcard.policy.solve_options import SolveOptions

WEIGHTS = (0.1, 0.01, 1.0, 0.001)


@pytest.fixture(scope="module")
def grid() -> City:
    """A grid city of five trucks."""
    return generate_grid(side=5, num_stations=5, load=0.2, seed=3)


@pytest.fixture(scope="module")
def curves(grid: City) -> dict[str, Assessment]:
    """Its optimal policies and those of closest-first."""
    return compare_weights(grid, WEIGHTS, ["optimal", "CF"])


def test_weights_rise_from_zero(curves: dict[str, Assessment]) -> None:
    """They come by size, each once, with 0 first whether it was asked for or not."""
    for found in curves.values():
        assert [weight_of(outcome) for outcome in found] == [0.0, 0.001, 0.01, 0.1, 1.0]


def test_each_point_is_the_policy_of_that_objective(grid: City, curves: dict[str, Assessment]) -> None:
    """A city that states the objective itself gives the same late fraction and minutes; weight 0 is lateness alone."""
    for outcome in curves["optimal"]:
        weight = weight_of(outcome)
        objective = Objective("late+minutes", weight) if weight else Objective()
        alone = evaluate(solve_problem(dispatch_problem(replace(grid, objective=objective)), "optimal"))
        assert outcome.missed.value == pytest.approx(alone.late_fraction, rel=1e-9)
        assert outcome.first_minutes == pytest.approx(alone.mean_response_minutes, rel=1e-9)
        assert outcome.missed.low <= alone.late_fraction <= outcome.missed.high


def test_what_a_weight_costs_and_saves(curves: dict[str, Assessment]) -> None:
    """Each is counted against weight 0; for the optimal policy both only grow, each step at its weight's price."""
    optimal, closest = curves.values()
    assert (more_late(optimal, optimal.first), minutes_saved(optimal, optimal.first)) == (0.0, 0.0)
    for one, other in pairwise(optimal):
        more, saved = (of(optimal, other) - of(optimal, one) for of in (more_late, minutes_saved))
        assert more == pytest.approx(other.missed.value - one.missed.value, abs=1e-15)
        assert saved == pytest.approx(one.first_minutes - other.first_minutes, abs=1e-12)
        assert more > 0.0
        assert saved > 0.0
        assert weight_of(one) * saved - 1e-8 <= more <= weight_of(other) * saved + 1e-8
    for outcome in closest:  # it looks at no costs
        assert more_late(closest, outcome) == pytest.approx(0.0, abs=1e-9)
        assert minutes_saved(closest, outcome) == pytest.approx(0.0, abs=1e-9)


def test_the_objective_of_the_city_is_set_aside(grid: City, curves: dict[str, Assessment]) -> None:
    """Weights say what is minimised, whatever the city states."""
    other = compare_weights(replace(grid, objective=Objective("minutes")), [0.1])
    known = curves["optimal"].outcomes
    assert [outcome.missed.value for outcome in other["optimal"]] == [known[place].missed.value for place in (0, 3)]


def test_the_document_has_every_point(grid: City, curves: dict[str, Assessment]) -> None:
    """JSON has each policy with its weights, and costs that are late + weight × minutes."""
    document = weights_document(grid, curves)
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
    curves = compare_weights(
        grid,
        [0.1],
        ["optimal"],
        SolveOptions(progress=lambda now: list(heard.values())[-1].append(now)),
        steps=Heard(heard),
    )
    _, *names = heard
    assert names == [f"optimal, weight {weight}{of}" for weight in ("0", "0.1") for of in ("", ", evaluated")]
    for number, name in enumerate(names):
        cost, steps = curves["optimal"].outcomes[number // 2].cost.value, heard[name]
        assert steps
        assert all(now.lower <= cost * (1.0 + 1e-9) and cost <= now.upper * (1.0 + 1e-9) for now in steps)


def test_results_that_did_not_converge_are_named(curves: dict[str, Assessment]) -> None:
    """The policy and the weight of each are in the words."""
    assert failed_weights(curves) == []
    optimal = curves["optimal"]
    first, second, third, *others = optimal.outcomes
    doubtful = replace(third, periods={"always": {"truck": replace(third.fleets["truck"], converged=False)}})
    changed = curves | {"optimal": replace(optimal, outcomes=(first, second, doubtful, *others))}
    assert failed_weights(changed) == ["optimal with weight 0.01"]


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
