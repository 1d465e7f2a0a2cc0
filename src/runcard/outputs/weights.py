"""What a minute is worth: policies for late + weight × minutes, and how much late fraction each weight costs.

With weight 0 nothing but lateness counts. As the weight grows, the optimal policy has never more minutes and never
fewer late incidents, along a convex curve (see `mdp/objective.py`); the heuristics come close to that curve.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runcard.assess.assessment import Assessment
from runcard.assess.exact import fleet_outcome
from runcard.assess.outcome import FleetOutcome, Outcome
from runcard.assess.policy_choice import names_file
from runcard.assess.steps import NO_STEPS, Steps, city_problem
from runcard.city.conditions import MAX_WEIGHT
from runcard.city.model import LATE, City, Objective
from runcard.city.periods import ALWAYS
from runcard.errors import InputError
from runcard.mdp.memory import check_states
from runcard.mdp.objective import with_objective
from runcard.policy.solve import policy_names, solve_named
from runcard.policy.solve_options import DEFAULTS, SolveOptions
from runcard.policy.warm_up import load_kernels


@dataclass(frozen=True, eq=False)
class WeightResult:
    """What the policy for one weight achieves, and what that costs and saves against the policy for weight 0."""

    weight: float
    assessment: Assessment
    """Of the policy for weight 0, and of this one."""

    @property
    def fleet(self) -> FleetOutcome:
        """What the units do."""
        return next(iter(self.assessment.outcomes[-1].fleets.values()))

    @property
    def late_fraction(self) -> float:
        """The late fraction."""
        return self.fleet.missed.value

    @property
    def mean_minutes(self) -> float:
        """The mean response minutes."""
        return self.fleet.first_minutes

    @property
    def more_late(self) -> float:
        """The late fraction, less that of weight 0."""
        return self.late_fraction - self.assessment.first.missed.value

    @property
    def minutes_saved(self) -> float:
        """The mean response minutes of weight 0, less these."""
        return self.assessment.first.first_minutes - self.mean_minutes

    def document(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        numbers = {"weight": self.weight, "more_late": self.more_late, "minutes_saved": self.minutes_saved}
        outcome = self.assessment.outcomes[-1]
        return numbers | self.assessment.numbers(outcome) | self.fleet.arrivals | self.fleet.costs


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightComparison:
    """The curves of several policies for one city: of each its results by rising weight, the first for weight 0."""

    city: City
    curves: Mapping[str, Sequence[WeightResult]]

    @property
    def failed(self) -> list[str]:
        """Which results did not converge, in words."""
        return [
            f"{policy} with weight {point.weight:g}"
            for policy, points in self.curves.items()
            for point in points
            if not point.fleet.converged
        ]

    def document(self) -> dict[str, Any]:
        """The comparison as plain values, ready for JSON; fractions are fractions, not percentages."""
        curves = self.curves.items()
        policies = [{"name": name, "weights": [point.document() for point in points]} for name, points in curves]
        return {"city": self.city.name, "policies": policies}


def compare_weights(
    city: City,
    weights: Sequence[float],
    policies: Sequence[str] = ("optimal",),
    options: SolveOptions = DEFAULTS,
    *,
    steps: Steps = NO_STEPS,
) -> WeightComparison:
    """How policies do that minimise late + weight × minutes, for each weight; the city's own objective is set aside."""
    for word in policies:
        if names_file(word):
            raise InputError(f"expected names of policies to solve for each weight, got the file {word}")
    names = policy_names(policies, options)
    if not weights:
        raise InputError("expected at least one weight to compare, got none")
    for weight in weights:
        if not 0.0 <= weight <= MAX_WEIGHT:
            raise InputError(f"expected weights from 0 to {MAX_WEIGHT:g} late incidents per minute, got {weight!r}")
    city = city.of_kind()
    check_states(city.trucks)
    by_late = city_problem(replace(city, objective=LATE), arrivals=True, steps=steps)
    load_kernels(by_late, names)
    found: dict[str, list[WeightResult]] = {name: [] for name in names}
    for weight in sorted({0.0, *map(float, weights)}):
        # One problem at a time: whatever is kept with it goes when it does.
        problem = with_objective(by_late, Objective("late+minutes", weight) if weight > 0.0 else LATE)
        seen = replace(city, objective=problem.objective)
        for name in names:
            words = f"{name}, weight {weight:g}"
            steps.begin(words)
            began = time.perf_counter()
            policy = solve_named(problem, name, options)
            seconds = time.perf_counter() - began
            fleet = fleet_outcome(seen, problem, policy, options, name=words, solve_seconds=seconds, steps=steps)
            outcome = Outcome(name=name, city=seen, periods={ALWAYS.name: {fleet.kind: fleet}})
            before = (found[name][0].assessment.first,) if found[name] else ()
            found[name].append(WeightResult(weight, Assessment(city=seen, outcomes=(*before, outcome))))
    return WeightComparison(city=city, curves=found)
