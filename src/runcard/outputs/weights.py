"""What a minute is worth: policies for late + weight × minutes, and how much late fraction each weight costs.

With weight 0 nothing but lateness counts. As the weight grows, the optimal policy has never more minutes and never
fewer late incidents, along a convex curve (see `mdp/objective.py`); the heuristics come close to that curve.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runcard.assess.policy_choice import PolicyChoice, names_file
from runcard.assess.steps import NO_STEPS, Steps, city_problem
from runcard.city.conditions import MAX_WEIGHT
from runcard.city.model import LATE, City, Objective
from runcard.errors import InputError
from runcard.mdp.memory import check_states
from runcard.mdp.objective import with_objective
from runcard.outputs.compare import ComparedPolicy, solved_result
from runcard.policy.solve import policy_names
from runcard.policy.solve_options import DEFAULTS, SolveOptions
from runcard.policy.warm_up import load_kernels


@dataclass(frozen=True, eq=False)
class WeightResult:
    """What the policy for one weight achieves, and what that costs and saves against the policy for weight 0."""

    weight: float
    result: ComparedPolicy
    late_fraction: float
    mean_minutes: float
    more_late: float
    """The late fraction, less that of weight 0."""
    minutes_saved: float
    """The mean response minutes of weight 0, less these."""

    def document(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        own = {"weight": self.weight, "more_late": self.more_late, "minutes_saved": self.minutes_saved}
        return own | self.result.entry(with_cost=True)


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
            if not point.result.converged
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
        for name in names:
            choice, words = PolicyChoice(label=name, name=name), f", weight {weight:g}"
            first = found[name][0] if found[name] else None
            before = first.result.evaluation if first else None
            result = solved_result(problem, choice, options, kind=city.kinds[0], first=before, steps=steps, words=words)
            late, minutes = result.evaluation.late_fraction, result.evaluation.mean_response_minutes
            assert minutes is not None  # the problem of a city has them unless they are left out
            more_late, saved = (late - first.late_fraction, first.mean_minutes - minutes) if first else (0.0, 0.0)
            found[name].append(WeightResult(weight, result, late, minutes, more_late, saved))
    return WeightComparison(city=city, curves=found)
