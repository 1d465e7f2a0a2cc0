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
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any, Final

import numpy as np

from runcard.assess.assess import simulated_assessment
from runcard.assess.assessment import Assessment
from runcard.assess.auto import CLOSEST, Effort
from runcard.assess.outcome import Outcome
from runcard.assess.plans import of_each_kind, plans_for
from runcard.assess.policy_choice import PolicyChoice, check_week
from runcard.assess.steps import city_problem
from runcard.city.model import LATE, City
from runcard.errors import InputError
from runcard.interval import Interval
from runcard.mdp.bound import BoundProgress, LowerBound, lower_bound
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import DispatchProblem
from runcard.policy.solve import check_size
from runcard.simulate.engine import prepare_policies
from runcard.simulate.result import ratio_interval

INCIDENTS: Final = 200_000
"""Simulated for each policy, where nothing else is said. A precision to wait for would be no use: what is hardly ever
late takes for ever."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Bounded:
    """What no policy of a city is below, for each incident, and beside it what some reach in a simulation."""

    beside: Assessment
    """The policies, in a city with constant rates."""
    bounds: Mapping[str, LowerBound]
    """By kind, for each incident that needs it."""
    errors: Mapping[str, float]
    """By kind, how far the chances of those who went may be off."""
    proven: bool
    """Whether the bounds are; else the errors of the chances in them are estimated."""
    seed: int

    @property
    def city(self) -> City:
        """The city, as it was bounded."""
        return self.beside.city

    @cached_property
    def kinds(self) -> "dict[str, Bounded]":
        """The same of each kind alone."""
        return {
            kind: replace(
                self, beside=self.beside.of_kind(kind), bounds={kind: bound}, errors={kind: self.errors[kind]}
            )
            for kind, bound in self.bounds.items()
        }

    @cached_property
    def lower(self) -> float:
        """What no policy is below: the sum over kinds of what each has for an incident that needs it, by their rates.

        It is rounded down, by what adding up the rates of all demand points and then the kinds can be off at most.
        """
        total, found = self.city.incidents_per_day, 0.0
        for kind, bound in self.bounds.items():
            share = self.city.of_kind(kind).incidents_per_day / total
            if share == len(self.bounds) == 1:
                return bound.lower
            found += share * bound.lower
        return found * (1.0 - (2 * len(self.city.demand) + len(self.bounds) + 8) * float(np.finfo(np.float64).eps))

    @property
    def _error(self) -> float:
        return sum(self.errors.values())  # at most, since no kind is needed more than always

    def missed(self, outcome: Outcome) -> Interval:
        """The late fraction, or the weighted sum of missed standards, with all that it may be off by."""
        found, error = outcome.missed, self._error
        return replace(found, low=max(0.0, found.low - error), high=min(outcome.city.most_weight, found.high + error))

    def gap(self, outcome: Outcome, *, most: bool = False) -> float:
        """The part of what a policy misses that another one could avoid, at most; of the upper end, if wanted.

        It is 0 if what it misses is below the bound, which only a simulated value can be.
        """
        missed = self.missed(outcome)
        value = missed.high if most else missed.value
        return max(0.0, 1.0 - self.lower / value) if value > 0.0 else 0.0

    def share(self, outcome: Outcome) -> Interval | None:
        """Of all that can be gained over closest-first, the part that a policy has at least.

        None of closest-first itself, where that is not beside it, and where nothing can be gained. The low end counts
        how far the chances may be off.
        """
        named = zip(self.beside, self.beside.choices, strict=True)
        closest = next((other for other, choice in named if choice.name == CLOSEST), outcome)
        if closest is outcome:
            return None
        (misses, incidents), (left, _) = _batches(closest), _batches(outcome)
        gained, can_be_gained = misses - left, misses - self.lower * incidents
        if can_be_gained.sum() <= 0.0:
            return None
        found, error = ratio_interval(gained, can_be_gained), self._error
        low = ratio_interval(gained - 2.0 * error * incidents, can_be_gained + error * incidents).low
        return Interval(min(1.0, found.value), min(1.0, low), min(1.0, found.high))

    def _policies(self) -> list[dict[str, Any]]:
        """What each policy reaches, as plain values."""
        documents = []
        for outcome in self.beside:
            missed, share, minutes = self.missed(outcome).document(), self.share(outcome), outcome.first_minutes
            documents.append(
                {
                    "name": outcome.name,
                    "late_fraction": missed.pop("mean"),
                    **missed,
                    "mean_response_minutes": minutes if isfinite(minutes) else None,
                    "gap": self.gap(outcome),
                    "gap_high": self.gap(outcome, most=True),
                    "share_of_gain": None if share is None else share.document()["mean"],
                    "share_of_gain_low": None if share is None else share.document()["low"],
                }
            )
        return documents

    def _work(self) -> dict[str, Any]:
        """What was done for the bounds, as plain values."""
        found = self.bounds.values()
        return {
            "neighbourhood": max(bound.neighbourhood for bound in found),
            "num_neighbourhoods": sum(bound.num_neighbourhoods for bound in found),
            "steps": max(bound.steps for bound in found),
            "seconds": sum(bound.seconds for bound in found),
        }

    def document(self) -> dict[str, Any]:
        """The content as plain values, for JSON; fractions are fractions, not percentages."""
        return {
            "city": self.city.name,
            "lower": self.lower,
            "proven": self.proven,
            **self._work(),
            "incidents": self.beside.num_incidents,
            "seed": self.seed,
            "kinds": [
                {"kind": kind, "lower": own.lower, **own._work(), "policies": own._policies()}
                for kind, own in self.kinds.items()
            ],
            "policies": self._policies(),
        }


def _batches(outcome: Outcome) -> tuple[Any, Any]:
    """What a policy missed in each batch of a simulation, and the incidents."""
    assert outcome.missed.batches is not None  # all of them are simulated
    return outcome.missed.batches


def bound_city(
    city: City,
    choices: Sequence[PolicyChoice],
    effort: Effort,
    *,
    neighbourhood: int = 9,
    num_steps: int = 300,
    bounded: Callable[[BoundProgress], None] | None = None,
) -> Bounded:
    """The lower bound of a city, of each kind and of all together, and what policies reach beside it.

    A neighbourhood has so many trucks, and the search for payments so many steps; `bounded` is told how far it is.
    Policies are solved and simulated first, so that one that cannot be is refused before the long work.
    """
    for choice in choices:
        if choice.plan is not None and choice.knows_hour:
            raise InputError(f"{choice.label}: expected a policy for the mean rates of the week, got one by periods")
    check_week(city, choices)
    choices = [replace(choice, of_week=False) for choice in choices]  # all of them are
    city, options, problems = city.of_week, effort.options, dict[str, DispatchProblem]()
    names = [choice.name for choice in choices if choice.file is None]
    for kind in city.kinds:  # before any work
        check_size(city.of_kind(kind).trucks, names, kind=city.said(kind))
    for kind, steps in of_each_kind(city, effort.steps).items():
        problems[kind] = city_problem(city.of_kind(kind), minutes=False, steps=steps)
    plans = plans_for(city, choices, options, effort.steps, problems=problems, quickly=True)
    incidents = effort.incidents or INCIDENTS
    for kind in city.kinds:
        fleets = [plan.fleet(kind) for plan in plans.values()]
        prepare_policies(city, fleets, incidents=incidents, begin=effort.steps.begin, kind=kind)
    beside = simulated_assessment(city, plans, incidents, effort.seed, options, effort.steps)
    counted = {kind: with_objective(problem, LATE) for kind, problem in problems.items()}
    bounds = {}
    for kind, problem in counted.items():
        effort.steps.begin("lower bound" if len(counted) == 1 else f"{kind}: lower bound")
        bounds[kind] = lower_bound(
            problem, neighbourhood=neighbourhood, steps=num_steps, threads=options.threads, progress=bounded
        )
    return Bounded(
        beside=replace(beside, choices=tuple(choices)),
        bounds=bounds,
        errors={kind: problem.cost_error for kind, problem in counted.items()},
        proven=all(problem.proven for problem in counted.values()),
        seed=effort.seed,
    )
