"""The plans that somebody asks for, by name, paper label or file: solved or read, for every kind and every period."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from runcard.assess.policy_choice import OF_WEEK, PolicyChoice, check_week
from runcard.assess.steps import NO_STEPS, NamedSteps, Steps, city_problem
from runcard.city.model import City
from runcard.city.periods import ALWAYS
from runcard.mdp.fingerprint import city_fingerprint
from runcard.mdp.problem import DispatchProblem
from runcard.plan.fleet import Fleet, fleet_of
from runcard.plan.plan import Plan, problems_of_periods
from runcard.policy.base import Policy
from runcard.policy.closest_first import NAME as CLOSEST
from runcard.policy.closest_first import quick_closest_first
from runcard.policy.fixed_card import quick_fixed_card
from runcard.policy.solve import check_size, solve_named
from runcard.policy.solve_options import SolveOptions

WEEK_POLICIES: Final = ("closest-first", f"optimal{OF_WEEK}", "optimal")
"""Those of a city with periods, where none are named."""


def default_policies(city: City) -> Sequence[str]:
    """The policies that are simulated where none are named."""
    return WEEK_POLICIES if city.has_periods else ("closest-first", "optimal")


QUICK: Final[Mapping[str, Callable[..., Policy]]] = {CLOSEST: quick_closest_first, "fixed-card": quick_fixed_card}
"""Policies whose exact prices, which take long, nobody looks at in a simulation."""


def solve_quickly(problem: DispatchProblem, name: str, options: SolveOptions) -> Policy:
    """The policy of that name, without prices where they take long and are not needed to decide."""
    return QUICK.get(name, partial(solve_named, name=name))(problem, options=options)


def of_each_kind(city: City, steps: Steps) -> dict[str, Steps]:
    """The steps of each kind that incidents need, which name it where there are several."""
    return {kind: steps if len(city.kinds) == 1 else NamedSteps(steps, kind) for kind in city.kinds}


def plans_for(
    city: City,
    choices: Sequence[PolicyChoice],
    options: SolveOptions,
    steps: Steps = NO_STEPS,
    *,
    problems: Mapping[str, DispatchProblem] | None = None,
    arrivals: bool = False,
    quickly: bool = False,
) -> dict[str, Plan]:
    """The plan of each choice for the kinds that incidents need, by its label, with the time that each policy took.

    `problems` are those of each kind at the mean rates, where they are known; where every policy is in a file, and the
    city has no periods, none are needed, unless the `arrivals` of the problems are wanted. Policies may be solved
    `quickly`: without prices that nobody looks at.
    """
    check_week(city, choices)
    solved = [choice.name for choice in choices if choice.file is None]
    for kind in city.kinds:  # before any work
        check_size(city.of_kind(kind).trucks, solved, kind=city.said(kind), device=options.device)
    fleets: dict[str, list[Fleet]] = {choice.label: [] for choice in choices}
    for kind, of_kind in of_each_kind(city, steps).items():
        seen, problem = city.of_kind(kind), None if problems is None else problems[kind]
        if problem is None and (arrivals or solved or city.has_periods):
            problem = city_problem(seen, minutes=quickly, arrivals=arrivals, steps=of_kind)
        for choice in choices:
            if problem is None:  # no need for the costs, which can take long
                fleets[choice.label].append(fleet_of(choice.read(kind, city_fingerprint(seen)), kind=kind))
            else:
                fleets[choice.label].append(_fleet(seen, choice, problem, options, of_kind, quickly))
    return {label: Plan(fleets=tuple(own)) for label, own in fleets.items()}


def _fleet(
    city: City, choice: PolicyChoice, problem: DispatchProblem, options: SolveOptions, steps: Steps, quickly: bool
) -> Fleet:
    """The fleet of a choice in a city of one kind."""
    (kind,), knows_hour = city.kinds, choice.knows_hour and city.has_periods
    problems = problems_of_periods(city, problem) if knows_hour else {"": problem}
    policies, seconds = [], []
    for number, (period, of_period) in enumerate(problems.items(), start=1):
        steps.begin(choice.label + (f", {period} ({number} of {len(problems)})" if period else ""))
        began = time.perf_counter()
        quick = quickly and choice.file is None
        policy = solve_quickly(of_period, choice.name, options) if quick else choice.policy(of_period, options, kind)
        policies.append(policy)
        seconds.append(time.perf_counter() - began)
    periods = city.periods if knows_hour else (ALWAYS,)
    return fleet_of(*policies, periods=periods, kind=kind, seconds=tuple(seconds))
