"""How far from the best possible policies are in a city of any size: a lower bound, and beside it what they reach.

The lower bound l holds for every policy that sends exactly min(k, n) of n idle trucks (see `mdp/bound`). The value v of
a policy is simulated, as the mean chance of those who went (see `chances.py`), with a 95 % interval. Of what the policy
misses, no other one avoids more than

    gap = (v - l) / v,

and with c the value of closest-first it has at least this share of all that can be gained over that:

    share = (c - v) / (c - l),        an interval by batches, as of any ratio (see `simulate/result.py`).

Both are worst cases: they are reached only if some policy reaches l. Where there are kinds of units, l and v are sums
over them: with Λ_k the incidents a day that need kind k and Λ all of them, Σ_k (Λ_k / Λ) × that of kind k.

The model is the one with constant rates: a city with periods is taken at the mean rates of its week. The bound is on
the late fraction, or the weighted sum of missed standards, whatever the objective is that policies minimise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np

from runcard.assess.auto import CLOSEST
from runcard.assess.outcome import Outcome
from runcard.assess.plans import solve_quickly
from runcard.assess.policy_choice import PolicyChoice, check_week
from runcard.assess.simulated import simulated_outcomes
from runcard.assess.steps import NO_STEPS, NamedSteps, Steps, city_problem
from runcard.city.model import LATE, City
from runcard.errors import InputError
from runcard.interval import Interval
from runcard.mdp.bound import BoundProgress, LowerBound, lower_bound
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import DispatchProblem
from runcard.plan.plan import plan_of
from runcard.policy.solve import check_size
from runcard.policy.solve_options import DEFAULTS, SolveOptions
from runcard.simulate.engine import prepare_policies
from runcard.simulate.result import ratio_interval


@dataclass(frozen=True, kw_only=True)
class BoundEffort:
    """How much is done for a bound and for the policies beside it."""

    neighbourhood: int = 9
    """Trucks of a neighbourhood."""
    num_steps: int = 300
    """Of the search for payments."""
    incidents: int = 200_000
    """To simulate for each policy. A precision to wait for would be no use: what is hardly ever late takes for ever."""
    seed: int = 1
    options: SolveOptions = field(default_factory=lambda: DEFAULTS)
    steps: Steps = NO_STEPS
    bounded: Callable[[BoundProgress], None] | None = None
    """Is told how far the bound is."""


@dataclass(frozen=True, kw_only=True)
class BoundedPolicy:
    """What one policy reaches, beside the lower bound."""

    name: str
    missed: Interval
    """The late fraction, or the weighted sum of missed standards per incident."""
    mean_minutes: float
    """Until the first unit is there."""
    gap: float
    """The part of what it misses that another policy could avoid, at most."""
    gap_high: float
    """The same at the upper end of the interval."""
    share: Interval | None
    """Of all that can be gained over closest-first, the part that it has at least; None where that is not known."""

    def document(self) -> dict[str, Any]:
        """The content as plain values, for JSON."""
        missed = self.missed.document()
        share: Mapping[str, float | None] = {} if self.share is None else self.share.document()
        return {
            "name": self.name,
            "late_fraction": missed.pop("mean"),
            **missed,
            "mean_response_minutes": self.mean_minutes if isfinite(self.mean_minutes) else None,
            "gap": self.gap,
            "gap_high": self.gap_high,
            "share_of_gain": share.get("mean"),
            "share_of_gain_low": share.get("low"),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class KindBound:
    """The bound of one kind of units and what policies reach, for each incident that needs the kind."""

    kind: str
    city: City
    """As the kind sees it."""
    found: LowerBound
    policies: tuple[BoundedPolicy, ...]

    @property
    def lower(self) -> float:
        """What no policy is below."""
        return self.found.lower


@dataclass(frozen=True, eq=False, kw_only=True)
class CityBound:
    """The bound of a city and what policies reach, for each incident of the city."""

    city: City
    """As it was bounded: at constant rates."""
    lower: float
    """What no policy is below."""
    proven: bool
    """Whether that is proven; else the errors of the chances in it are estimated."""
    kinds: tuple[KindBound, ...]
    policies: tuple[BoundedPolicy, ...]
    incidents: int
    """Simulated for each policy."""
    seed: int

    def document(self) -> dict[str, Any]:
        """The content as plain values, for JSON; fractions are fractions, not percentages."""
        found = [one.found for one in self.kinds]
        return {
            "city": self.city.name,
            "lower": self.lower,
            "proven": self.proven,
            "neighbourhood": max(one.neighbourhood for one in found),
            "num_neighbourhoods": sum(one.num_neighbourhoods for one in found),
            "steps": max(one.steps for one in found),
            "seconds": sum(one.seconds for one in found),
            "incidents": self.incidents,
            "seed": self.seed,
            "kinds": [
                {
                    "kind": one.kind,
                    "lower": one.lower,
                    "neighbourhood": one.found.neighbourhood,
                    "num_neighbourhoods": one.found.num_neighbourhoods,
                    "steps": one.found.steps,
                    "seconds": one.found.seconds,
                    "policies": [policy.document() for policy in one.policies],
                }
                for one in self.kinds
            ],
            "policies": [policy.document() for policy in self.policies],
        }


def bound_city(city: City, choices: Sequence[PolicyChoice], effort: BoundEffort) -> CityBound:
    """The lower bound of a city, of each kind and of all together, and what policies reach beside it.

    Policies are solved and simulated first, so that one that cannot be is refused before the long work.
    """
    check_week(city, choices)
    for choice in choices:
        if choice.plan is not None and choice.knows_hour:
            raise InputError(f"{choice.label}: expected a policy for the mean rates of the week, got one by periods")
    city = city.of_week
    cities = {kind: city.of_kind(kind) for kind in city.sent_kinds}
    names = [choice.name for choice in choices if choice.file is None]
    for kind in city.kinds:
        check_size(cities[kind].trucks, names, kind=city.said(kind))
    problems = {}
    for kind, seen in cities.items():
        steps = effort.steps if len(cities) == 1 else NamedSteps(effort.steps, kind)
        problems[kind] = city_problem(seen, minutes=False, steps=steps)
    outcomes = _simulated(city, choices, problems, effort)
    counted = {kind: with_objective(problems[kind], LATE) for kind in city.kinds}
    kinds = []
    for kind, problem in counted.items():
        bound = _bounded(kind, problem, effort, alone=len(counted) == 1)
        of_kind = [outcome.of_kind(kind) for outcome in outcomes]
        policies = _beside(choices, of_kind, lower=bound.lower, error=problem.cost_error)
        kinds.append(KindBound(kind=kind, city=cities[kind], found=bound, policies=policies))
    lower = sum_of_kinds(city, kinds)
    error = sum(problem.cost_error for problem in counted.values())  # at most, since no kind is needed more than always
    return CityBound(
        city=city,
        lower=lower,
        proven=all(problem.proven for problem in counted.values()),
        kinds=tuple(kinds),
        policies=_beside(choices, outcomes, lower=lower, error=error),
        incidents=effort.incidents,
        seed=effort.seed,
    )


def _simulated(
    city: City, choices: Sequence[PolicyChoice], problems: Mapping[str, DispatchProblem], effort: BoundEffort
) -> Sequence[Outcome]:
    """All kinds under each policy over the same incidents."""
    plans = {}
    for choice in choices:
        policies = {}
        for kind, problem in problems.items():
            effort.steps.begin(choice.label if len(problems) == 1 else f"{kind}: {choice.label}")
            # A kind that no incident needs is not simulated, but a plan has a policy for it.
            name = choice.name if kind in city.kinds else CLOSEST
            if choice.file is None or kind not in city.kinds:
                policies[kind] = solve_quickly(problem, name, effort.options)
            else:
                policies[kind] = choice.policy(problem, effort.options, kind)
        plans[choice.label] = plan_of(city, policies)
    for kind in city.kinds:
        fleets = [plan.fleet(kind) for plan in plans.values()]
        prepare_policies(city, fleets, incidents=effort.incidents, begin=effort.steps.begin, kind=kind)
    outcomes, _ = simulated_outcomes(
        city, plans, incidents=effort.incidents, seed=effort.seed, threads=effort.options.threads, steps=effort.steps
    )
    return outcomes


def _bounded(kind: str, problem: DispatchProblem, effort: BoundEffort, *, alone: bool) -> LowerBound:
    """The bound on what a kind misses."""
    effort.steps.begin("lower bound" if alone else f"{kind}: lower bound")
    return lower_bound(
        problem,
        neighbourhood=effort.neighbourhood,
        steps=effort.num_steps,
        threads=effort.options.threads,
        progress=effort.bounded,
    )


def sum_of_kinds(city: City, kinds: Sequence[KindBound]) -> float:
    """The bound of a city: the sum over kinds of what each has for an incident that needs it, by their rates.

    It is rounded down, by what adding up the rates of all demand points and then the kinds can be off at most.
    """
    total = city.incidents_per_day
    shares = [one.city.incidents_per_day / total for one in kinds]
    if shares == [1.0]:
        return kinds[0].lower
    found = sum(share * one.lower for share, one in zip(shares, kinds, strict=True))
    return found * (1.0 - (2 * len(city.demand) + len(kinds) + 8) * float(np.finfo(np.float64).eps))


def _beside(
    choices: Sequence[PolicyChoice], outcomes: Sequence[Outcome], *, lower: float, error: float
) -> tuple[BoundedPolicy, ...]:
    """What policies reach beside a bound; `error` is how far the chances of those who went may be off."""
    closest = next((number for number, choice in enumerate(choices) if choice.name == CLOSEST), None)
    found = []
    for number, outcome in enumerate(outcomes):
        missed, most = outcome.missed, outcome.city.most_weight
        missed = replace(missed, low=max(0.0, missed.low - error), high=min(most, missed.high + error))
        share = None if closest in (None, number) else share_of_gain(outcomes[closest].missed, missed, lower, error)
        found.append(
            BoundedPolicy(
                name=outcome.name,
                missed=missed,
                mean_minutes=outcome.first_minutes,
                gap=gap_to(lower, missed.value),
                gap_high=gap_to(lower, missed.high),
                share=share,
            )
        )
    return tuple(found)


def gap_to(lower: float, value: float) -> float:
    """The part of a value that is above the bound; 0 if it is below, which only a simulated value can be."""
    return max(0.0, 1.0 - lower / value) if value > 0.0 else 0.0


def share_of_gain(before: Interval, after: Interval, lower: float, error: float = 0.0) -> Interval | None:
    """The share of all that can be gained over closest-first that a policy has at least; None if nothing can be.

    `error` is how far the chances of those who went may be off; its low end counts that.
    """
    assert before.batches is not None  # both are simulated
    assert after.batches is not None
    misses, incidents = before.batches
    gained, can_be_gained = misses - after.batches[0], misses - lower * incidents
    if can_be_gained.sum() <= 0.0:
        return None
    found = ratio_interval(gained, can_be_gained)
    low = ratio_interval(gained - 2.0 * error * incidents, can_be_gained + error * incidents).low
    return Interval(min(1.0, found.value), min(1.0, low), min(1.0, found.high))
