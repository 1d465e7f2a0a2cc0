"""What plans achieve in a city: the one way to ask."""

from collections.abc import Mapping, Sequence

from runcard.assess.assessment import Assessment
from runcard.assess.exact import DEFAULT_POLICIES, assess_exactly, outcomes_of
from runcard.assess.plans import of_each_kind
from runcard.assess.steps import NO_STEPS, Steps, city_problem
from runcard.city.model import City
from runcard.errors import InputError
from runcard.plan.plan import Plan
from runcard.policy.solve_options import DEFAULTS, SolveOptions


def assess(
    city: City,
    plans: Mapping[str, Plan] | Sequence[str] = DEFAULT_POLICIES,
    *,
    options: SolveOptions = DEFAULTS,
    steps: Steps = NO_STEPS,
) -> Assessment:
    """What plans of a city achieve, side by side; others improve on the first of them.

    Plans have names, or are given by policy: by name, paper label or file.
    """
    if isinstance(plans, str):
        raise InputError(f"expected plans by name, or a list of policies, got {plans!r}")
    if not isinstance(plans, Mapping):
        return assess_exactly(city, plans, options, steps=steps)
    for name, plan in plans.items():
        missing = [kind for kind in city.kinds if kind not in {fleet.kind for fleet in plan.fleets}]
        if missing:
            raise InputError(f"{name}: expected a plan for every kind that incidents need, got none for {missing[0]}")
    problems = {
        kind: city_problem(city.of_kind(kind), arrivals=True, steps=of_kind)
        for kind, of_kind in of_each_kind(city, steps).items()
    }
    return Assessment(city=city, outcomes=outcomes_of(city, plans, problems, options, steps))
