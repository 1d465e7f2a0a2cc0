"""The policies that are asked for in a city with periods: those that know the hour, and those that do not."""

from collections.abc import Sequence
from typing import Any, Final

from runcard.assess.policy_choice import OF_WEEK, PolicyChoice, check_week
from runcard.assess.steps import NO_STEPS, Steps, city_problem
from runcard.city.model import City
from runcard.city.periods import ALWAYS
from runcard.mdp.fingerprint import city_fingerprint
from runcard.outputs.simulate import interval_values
from runcard.plan.fleet import Fleet, fleet_of
from runcard.plan.plan import problems_of_periods
from runcard.policy.base import Policy
from runcard.policy.solve import check_size
from runcard.policy.solve_options import SolveOptions
from runcard.simulate.department import DepartmentSimulation

WEEK_POLICIES: Final = ("closest-first", f"optimal{OF_WEEK}", "optimal")
"""Those of a city with periods, where none are named."""


def default_policies(city: City) -> Sequence[str]:
    """The policies that are simulated where none are named."""
    return WEEK_POLICIES if city.has_periods else ("closest-first", "optimal")


def fleets_for(
    city: City,
    choices: Sequence[PolicyChoice],
    options: SolveOptions,
    steps: Steps = NO_STEPS,
    *,
    arrivals: bool = False,
) -> list[Fleet]:
    """The fleets of a city of one kind, in the order in which their policies were asked for; with arrivals if wanted.

    In a city with periods some policies know the hour.
    """
    (kind,) = city.kinds
    seen = city.of_kind(kind)
    check_week(city, choices)
    solved = [choice.name for choice in choices if choice.file is None]
    check_size(seen.trucks, solved, kind=city.said(kind), device=options.device)
    if not (arrivals or solved or city.has_periods):  # no need for the costs, which can take long
        return [fleet_of(choice.read(kind, city_fingerprint(seen)), kind=kind) for choice in choices]
    problem = city_problem(seen, minutes=False, arrivals=arrivals, steps=steps)
    by_period, fleets = problems_of_periods(seen, problem), list[Fleet]()
    for choice in choices:
        policies, knows_hour = list[Policy](), choice.knows_hour and city.has_periods
        for number, (name, own) in enumerate(by_period.items() if knows_hour else [("", problem)], start=1):
            steps.begin(choice.label + (f", {name} ({number} of {len(by_period)})" if name else ""))
            policies.append(choice.policy(own, options, kind))
        fleets.append(fleet_of(*policies, periods=city.periods if knows_hour else (ALWAYS,), kind=kind))
    return fleets


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
