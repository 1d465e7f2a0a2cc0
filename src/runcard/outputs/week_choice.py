"""The policies that are asked for in a city with periods: those that know the hour, and those that do not."""

from collections.abc import Sequence
from typing import Any, Final

from runcard.city.model import City
from runcard.outputs.policy_choice import OF_WEEK, PolicyChoice, policies_for
from runcard.outputs.simulate import interval_values
from runcard.outputs.steps import NO_STEPS, Steps, city_problem
from runcard.plan.fleet import Fleet, fleet_of
from runcard.plan.plan import problems_of_periods
from runcard.policy.solve import check_size
from runcard.policy.solve_options import SolveOptions
from runcard.simulate.department import DepartmentSimulation

WEEK_POLICIES: Final = ("closest-first", f"optimal{OF_WEEK}", "optimal")
"""Those of a city with periods, where none are named."""


def default_policies(city: City) -> Sequence[str]:
    """The policies that are simulated where none are named."""
    return WEEK_POLICIES if city.has_periods else ("closest-first", "optimal")


def fleets_for(
    city: City, choices: Sequence[PolicyChoice], options: SolveOptions, steps: Steps = NO_STEPS
) -> list[Fleet]:
    """The fleets of a city of one kind, with the policies of `policies_for`; in one with periods some know the hour."""
    (kind,) = city.kinds
    if not city.has_periods:
        return [fleet_of(policy, kind=kind) for policy in policies_for(city, choices, options, steps)]
    solved = [one.name for one in choices if one.file is None]
    check_size(city.trucks, solved, kind=city.said(kind))
    problem = city_problem(city, minutes=False, steps=steps)
    by_period = problems_of_periods(city, problem)
    found: list[Fleet] = []
    for choice in choices:
        if not choice.knows_hour:
            steps.begin(choice.label)
            found.append(fleet_of(choice.policy(problem, options, kind), kind=kind))
            continue
        policies = []
        for number, (name, own) in enumerate(by_period.items(), start=1):
            steps.begin(f"{choice.label}, {name} ({number} of {len(by_period)})")
            policies.append(choice.policy(own, options, kind))
        found.append(fleet_of(*policies, periods=city.periods, kind=kind))
    return found


def pairs_by_hour(choices: Sequence[PolicyChoice]) -> list[tuple[int, int]]:
    """The numbers of each policy that does not know the hour, and of the same one that does."""
    return [
        (number, other)
        for number, choice in enumerate(choices)
        for other, knowing in enumerate(choices)
        if not choice.knows_hour and knowing.knows_hour and choice.name == knowing.name
    ]


def hour_gains(city: City, found: DepartmentSimulation, choices: Sequence[PolicyChoice]) -> dict[str, Any]:
    """What knowing the hour gains in a simulation, as plain values, for JSON; nothing in a city without periods."""
    if not city.has_periods:
        return {}
    gains = []
    for blind, knowing in pairs_by_hour(choices):
        gain = interval_values(found.gain_over(blind, knowing))
        gains.append({"name": choices[knowing].label, "without": choices[blind].label, "improvement": gain})
    return {"knowing_the_hour": gains}
