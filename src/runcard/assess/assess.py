"""What plans achieve in a city: the one way to ask."""

from collections.abc import Mapping, Sequence
from typing import Final

from runcard.assess.assessment import Assessment
from runcard.assess.auto import incidents_for
from runcard.assess.exact import DEFAULT_POLICIES, assess_exactly, outcomes_of
from runcard.assess.plans import of_each_kind, plans_for
from runcard.assess.policy_choice import is_small, policy_choices
from runcard.assess.simulated import simulated_outcomes
from runcard.assess.steps import NO_STEPS, Steps, city_problem
from runcard.assess.workers import HERE, Workers
from runcard.city.conditions import shown
from runcard.city.model import City
from runcard.errors import InputError
from runcard.plan.plan import Plan
from runcard.plan.words import expected_one_of
from runcard.policy.solve_options import DEFAULTS, SolveOptions

WAYS: Final = ("auto", "exact", "simulate")


def assess(
    city: City,
    plans: Mapping[str, Plan] | Sequence[str] = DEFAULT_POLICIES,
    how: str = "auto",
    *,
    incidents: int | None = None,
    seed: int = 1,
    options: SolveOptions = DEFAULTS,
    steps: Steps = NO_STEPS,
    workers: Workers = HERE,
) -> Assessment:
    """What plans of a city achieve, side by side; others improve on the first of them.

    Plans have names, or are given by policy: by name, paper label or file. They are assessed exactly, or over the same
    simulated `incidents`, which are as many as take some seconds if left out; "auto" simulates where incidents are
    given, or where solving one of the kinds exactly would take more than some seconds. The assessment says which.
    """
    _check_given(city, plans, incidents=incidents, seed=seed)
    if how not in WAYS:
        raise InputError(expected_one_of("way to assess", WAYS, how))
    if how == "exact" and incidents is not None:
        raise InputError(f"expected no number of incidents where every state is evaluated, got {incidents}")
    if how == "auto":
        small = all(is_small(city.of_kind(kind)) for kind in city.kinds)
        how = "exact" if small and incidents is None else "simulate"
    if not isinstance(plans, Mapping):
        if how == "exact":
            return assess_exactly(city, plans, options, steps=steps, workers=workers)
        choices = policy_choices(plans, options)
        named = plans_for(city, choices, options, steps, arrivals=True, quickly=True)
        return simulated_assessment(city, named, incidents, seed, options, steps)
    for name, plan in plans.items():
        missing = [kind for kind in city.kinds if kind not in {fleet.kind for fleet in plan.fleets}]
        if missing:
            raise InputError(f"{name}: expected a plan for every kind that incidents need, got none for {missing[0]}")
    if how == "simulate":
        return simulated_assessment(city, plans, incidents, seed, options, steps)
    problems = {
        kind: city_problem(city.of_kind(kind), arrivals=True, steps=of_kind)
        for kind, of_kind in of_each_kind(city, steps).items()
    }
    return Assessment(city=city, outcomes=outcomes_of(city, plans, problems, options, steps, workers))


def _check_given(city: City, plans: Mapping[str, Plan] | Sequence[str], **numbers: int | None) -> None:
    """Raise an error for arguments of another kind than those that can be assessed."""
    if not isinstance(city, City):
        raise InputError(f"expected a city, as runcard.read_city gives it, got {shown(city)}")
    if isinstance(plans, str) or not isinstance(plans, Mapping | Sequence):
        raise InputError(f"expected plans by name, or a list of policies, got {shown(plans)}")
    if not plans:
        raise InputError("expected at least one policy, got none")
    for name, plan in plans.items() if isinstance(plans, Mapping) else ():
        if not isinstance(plan, Plan):
            raise InputError(f"{name}: expected a plan, as runcard.solve gives it, got {shown(plan)}")
    for word in () if isinstance(plans, Mapping) else plans:
        if not isinstance(word, str):
            raise InputError(
                f"expected a list of policies by name, paper label or file, got {shown(word)} in it; plans are given "
                "by name, as in {'mine': plan}"
            )
    for noun, number in numbers.items():
        if number is not None and not hasattr(number, "__index__"):
            raise InputError(f"{noun}: expected a whole number, got {shown(number)}")


def simulated_assessment(
    city: City, plans: Mapping[str, Plan], incidents: int | None, seed: int, options: SolveOptions, steps: Steps
) -> Assessment:
    """What plans achieve over the same incidents, as time passes through the periods of the city."""
    if incidents is None:
        incidents = incidents_for({fleet.kind: fleet.problem for fleet in next(iter(plans.values())).fleets})
    outcomes, _ = simulated_outcomes(city, plans, incidents=incidents, seed=seed, threads=options.threads, steps=steps)
    return Assessment(city=city, outcomes=outcomes, num_incidents=incidents)
