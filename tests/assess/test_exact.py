"""Policies side by side."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runcard.assess.assessment import Assessment
from runcard.assess.exact import assess_exactly
from runcard.assess.steps import Steps
from runcard.city import City, Objective, generate_grid
from runcard.errors import InputError
from runcard.interval import Interval
from runcard.mdp.progress import Progress
from runcard.policy.solve import evaluate
from runcard.policy.solve_options import SolveOptions


@pytest.fixture(scope="module")
def grid() -> City:
    """A grid city of five trucks."""
    return generate_grid(side=5, num_stations=5, load=0.2, seed=3)


def test_a_comparison_is_what_evaluation_says(grid: City) -> None:
    """Every result holds the evaluation of its own policy."""
    comparison = assess_exactly(grid)
    assert comparison.failed == []
    for outcome, fleet in zip(comparison, comparison.fleets, strict=True):
        assert comparison[outcome.name] is outcome
        assert evaluate(fleet.policy).late_fraction == pytest.approx(outcome.missed.value, rel=1e-10)


def test_the_bounds_of_the_optimal_policy_are_those_of_the_optimum(grid: City) -> None:
    """With a loose tolerance the interval still holds the true optimum, which the evaluated policy may miss."""
    best = assess_exactly(grid, ["optimal"]).first.missed.value
    loose = assess_exactly(grid, ["optimal"], SolveOptions(tolerance=0.5)).first.missed
    assert loose.low <= best * (1.0 + 1e-9)
    assert best <= loose.value * (1.0 + 1e-9)
    assert loose.low <= loose.value <= loose.high


def test_the_distance_to_the_optimum_is_a_bound(grid: City) -> None:
    """Beside the optimum, every policy says how far it may be above it; without the optimum nobody knows."""
    comparison = assess_exactly(grid, ["closest-first", "optimal", "one-step-mean-field", "fixed-card"])
    best = comparison["optimal"].missed.value
    for outcome in comparison:
        gap = comparison.gap_to_optimum(outcome)
        assert gap is not None
        assert gap == pytest.approx(outcome.missed.value / best - 1.0, abs=1e-8)
        assert outcome.missed.value <= best * (1.0 + gap) * (1.0 + 1e-12)
    alone = assess_exactly(grid, ["CF"])
    assert alone.gap_to_optimum(alone.first) is None


def test_the_distance_to_the_optimum_counts_from_the_upper_end(grid: City) -> None:
    """At most so far above what no policy costs less than: of a cost that is not known exactly the largest value."""
    rough: Any = SimpleNamespace(cost=Interval(0.2, 0.19, 0.22), optimum=0.1)
    gap = Assessment(city=grid, outcomes=(rough,)).gap_to_optimum(rough)
    assert gap == pytest.approx(1.2)


def test_a_horizon_is_for_queueing_only(grid: City) -> None:
    """A horizon changes one-step-queueing and no other policy; where that is not compared, it is refused."""
    names = ["closest-first", "one-step-queueing", "one-step-queueing-printed"]
    usual, other = (assess_exactly(grid, names, SolveOptions(horizon_busy_times=horizon)) for horizon in (None, 0.05))
    late = [[outcome.missed.value for outcome in comparison] for comparison in (usual, other)]
    assert late[0][0] == late[1][0]
    assert late[0][1] != late[1][1]
    assert late[0][2] == late[1][2]
    with pytest.raises(InputError, match="horizon"):
        assess_exactly(grid, ["closest-first"], SolveOptions(horizon_busy_times=2.0))


class Heard(Steps):
    """Writes down the steps, each with what is heard while it lasts."""

    def __init__(self, heard: dict[str, list[Progress]]) -> None:
        self.heard = heard

    def begin(self, words: str) -> None:
        """A step begins."""
        self.heard[words] = []


def test_the_caller_is_told_what_goes_on(grid: City) -> None:
    """Policies are solved and evaluated after the driving times, and bounds that are heard hold their late fraction."""
    heard: dict[str, list[Progress]] = {}
    comparison = assess_exactly(
        grid,
        ["OPT", "CF"],
        SolveOptions(progress=lambda now: list(heard.values())[-1].append(now)),
        steps=Heard(heard),
    )
    driving, *names = heard
    assert driving == f"driving times to {len(grid.demand)} demand points"
    assert names == ["optimal", "closest-first", "optimal, evaluated", "closest-first, evaluated"]
    for name in names:
        late, steps = comparison[name.split(",")[0]].missed.value, heard[name]
        assert steps
        assert all(now.lower <= late * (1.0 + 1e-9) and late <= now.upper * (1.0 + 1e-9) for now in steps)


def test_nothing_late_is_no_improvement(grid: City) -> None:
    """A first policy that is never late leaves nothing to improve, and no division by zero."""
    easy = replace(grid, target_minutes=1e6)
    document = assess_exactly(easy).document()
    assert [policy["improvement_over_first"] for policy in document["policies"]] == [0.0, 0.0, 0.0]


def test_no_policy_is_no_comparison(grid: City) -> None:
    """An empty list is refused."""
    with pytest.raises(InputError, match="expected at least one policy"):
        assess_exactly(grid, [])


@pytest.mark.parametrize("objective", [Objective("minutes"), Objective("late+minutes", 0.05)], ids=lambda o: o.minimise)
def test_another_objective_is_compared_beside_the_late_fraction(grid: City, objective: Objective) -> None:
    """The late fraction stays what it is, the gap to the optimum is that of the cost, and JSON has both."""
    comparison = assess_exactly(replace(grid, objective=objective), ["closest-first", "optimal", "fixed-card"])
    by_late = assess_exactly(grid, ["closest-first", "optimal"])
    assert comparison.failed == []
    document = comparison.document()
    assert document["objective"] == {"minimise": objective.minimise, "weight": objective.weight}
    for entry in document["policies"]:
        minutes = entry["mean_response_minutes"]
        cost = minutes if objective.weight is None else entry["late_fraction"] + objective.weight * minutes
        assert entry["cost"] == pytest.approx(cost, rel=1e-9)
        assert entry["cost_lower"] <= entry["cost"] <= entry["cost_upper"]
        assert entry["lower"] <= entry["late_fraction"] <= entry["upper"]
        assert entry["gap_to_optimum"] == pytest.approx(entry["cost"] / document["policies"][1]["cost"] - 1.0, abs=1e-8)
    closest, optimal = (comparison[name] for name in ("closest-first", "optimal"))
    assert closest.missed.value == pytest.approx(by_late.first.missed.value, rel=1e-9)
    assert optimal.missed.value > by_late["optimal"].missed.value
    assert optimal.first_minutes < by_late["optimal"].first_minutes


def test_the_late_fraction_is_compared_without_a_cost(grid: City) -> None:
    """Where lateness is all that counts, the cost is the late fraction and JSON does not repeat it."""
    comparison = assess_exactly(grid, ["optimal"])
    assert comparison.first.cost == comparison.first.missed
    assert "objective" not in comparison.document()
    assert "cost" not in comparison.document()["policies"][0]


@pytest.mark.parametrize("objective", [Objective(), Objective("minutes")])
def test_late_fractions_by_rule(objective: Objective) -> None:
    """Where incidents are in time by several rules, each has its late fraction, as adding up all decisions says."""
    city = generate_grid(side=4, num_stations=4, load=0.3, seed=5)
    slow = tuple(replace(point, trucks=3, arrivals=2, target_minutes=9.0) for point in city.demand[::2])
    city = replace(city, demand=city.demand + slow, objective=objective)
    for result in assess_exactly(city, ["closest-first", "optimal"]).fleets:
        problem, evaluation = result.policy.problem, result.evaluation
        assert list(result.late_by_rule) == [f"1 of 2 in {city.target_minutes:g} min", "2 of 3 in 9 min"]
        for one, (rule, late) in zip(result.standards, result.late_by_rule.items(), strict=True):
            points = [j for j, point in enumerate(city.demand) if city.rule_of(point) == rule]
            expected = 0.0
            for f, idle in enumerate(np.ndindex(*(problem.trucks + 1))):
                for j in points:
                    decision = result.policy.decide(np.array(idle), j)
                    expected += evaluation.probability[f] * problem.incidents_per_day[j] * decision.p_late
            assert late == pytest.approx(expected / problem.incidents_per_day[points].sum(), rel=1e-7)
            assert one.missed is not None
            assert (
                one.missed.low - 1e-12 <= expected / problem.incidents_per_day[points].sum() <= one.missed.high + 1e-12
            )
            assert one.missed.high - one.missed.low < 1e-6
            assert one.minutes is not None


def test_one_rule_is_not_told_apart(grid: City) -> None:
    """Where all incidents are in time by the same rule, the late fraction is all there is to say."""
    comparison = assess_exactly(grid, ["closest-first"])
    assert comparison.fleets[0].late_by_rule == {}
    assert "late_by_rule" not in comparison.document()["policies"][0]
