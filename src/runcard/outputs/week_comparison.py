"""Policies side by side in a city with periods: a comparison for each period, and the mean of the week.

With n_p the hours of period p, Λ_p its incidents a day and x_p what a policy has there for each incident, the mean of
the week is Σ_p w_p x_p, where w_p = n_p Λ_p / Σ_q n_q Λ_q. Every period is taken as if it lasted for ever. Proven
bounds are averaged in the same way, and prove the same mean.

A policy that knows the hour is solved for each period. One that does not (`optimal/week`, or a file that has no
periods) is made once, at the mean rates of the week, and evaluated at those of each period.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runcard.assess.policy_choice import PolicyChoice, policy_choices
from runcard.assess.steps import NO_STEPS, NamedSteps, Steps, city_problem
from runcard.city.model import LATE, City
from runcard.mdp.memory import check_states
from runcard.outputs.compare import Comparison, StandardResult, compare_policies
from runcard.outputs.department_comparison import DepartmentComparison, DepartmentResult
from runcard.outputs.week_choice import WEEK_POLICIES, pairs_by_hour
from runcard.plan.plan import problems_of_periods
from runcard.policy.base import Policy
from runcard.policy.solve_options import DEFAULTS, SolveOptions
from runcard.policy.warm_up import load_kernels


@dataclass(frozen=True, eq=False, kw_only=True)
class WeekResult:
    """What one policy achieves over the week; numbers are for each incident of the city."""

    name: str
    missed: float
    """The late fraction, or the weighted sum of missed standards, which lies in [lower, upper]."""
    lower: float
    upper: float
    mean_minutes: float
    improvement_over_first: float
    gap_to_optimum: float | None
    """Above the smallest mean of the periods' optima at most; None where `optimal` was not asked for."""
    seconds: float
    converged: bool
    standards: tuple[StandardResult, ...]
    periods: tuple[DepartmentResult, ...]
    """[period] what it achieves in each."""


@dataclass(frozen=True, eq=False, kw_only=True)
class WeekComparison:
    """The comparisons of the same policies in every period of a city."""

    city: City
    periods: Mapping[str, DepartmentComparison]
    choices: tuple[PolicyChoice, ...]
    seconds: Mapping[str, float]
    """The time to solve each policy that does not know the hour."""

    def _repr_html_(self) -> str:
        """The comparison in a notebook."""
        from runcard.outputs.notebook import week_comparison_html  # it knows this class

        return week_comparison_html(self)

    @property
    def proven(self) -> bool:
        """Whether the intervals are proven; else they are estimated."""
        return all(one.proven for one in self.periods.values())

    @property
    def failed(self) -> list[str]:
        """The policies that did not converge, with their period."""
        return [f"{name} in {period}" for period, one in self.periods.items() for name in one.failed]

    @property
    def names(self) -> list[str]:
        """What the policies are called."""
        return [choice.label for choice in self.choices]

    @cached_property
    def weights(self) -> dict[str, float]:
        """The part of the week's incidents that each period has."""
        return self._shares(lambda one: one.city.incidents_per_day)

    def _shares(self, per_day: Callable[[DepartmentComparison], float]) -> dict[str, float]:
        """The part of the week that each period has of something, given how much of it a day has there; 0 if none."""
        hours = {one.name: len(one.hours) for one in self.city.periods}
        found = {name: hours[name] * per_day(one) for name, one in self.periods.items()}
        total = sum(found.values())
        return {name: one / total if total > 0.0 else 0.0 for name, one in found.items()}

    @cached_property
    def results(self) -> tuple[WeekResult, ...]:
        """What each policy achieves over the week."""
        found: list[WeekResult] = []
        for number, choice in enumerate(self.choices):
            own = {period: one.results[number] for period, one in self.periods.items()}
            missed, upper = self._mean(own, "missed"), self._mean(own, "upper")
            before = found[0].missed if found else missed
            result = WeekResult(
                name=choice.label,
                missed=missed,
                lower=self._mean(own, "lower"),
                upper=upper,
                mean_minutes=self._mean_minutes(number),
                improvement_over_first=1.0 - missed / before if before > 0.0 else 0.0,
                gap_to_optimum=max(0.0, upper / self._optimum - 1.0) if self._optimum else None,
                seconds=sum(one.seconds for one in own.values()) + self.seconds.get(choice.label, 0.0),
                converged=all(one.converged for one in own.values()),
                standards=self._standards(number),
                periods=tuple(own.values()),
            )
            found.append(result)
        return tuple(found)

    def _mean(self, own: Mapping[str, DepartmentResult], which: str) -> float:
        return sum(self.weights[period] * float(getattr(one, which)) for period, one in own.items())

    @cached_property
    def _optimum(self) -> float:
        """The smallest mean of the periods' optima at least; 0 if it is not known, or something else is minimised."""
        first = next(iter(self.periods.values()))
        for number in range(len(self.choices)):
            if self.city.objective == LATE and all(one.results[number].is_optimum for one in first.kinds.values()):
                return self._mean({period: one.results[number] for period, one in self.periods.items()}, "lower")
        return 0.0

    def _mean_minutes(self, number: int) -> float:
        """The mean time until the first unit of a kind is there, over all kinds that incidents need."""
        weights = self._shares(lambda one: sum(kind.city.incidents_per_day for kind in one.kinds.values()))
        return sum(weights[period] * one.mean_minutes(number) for period, one in self.periods.items())

    def _standards(self, number: int) -> tuple[StandardResult, ...]:
        """How often each standard is missed over the week: the mean over the incidents of its type."""
        found = []
        for place, standard in enumerate(() if self.city.plain else self.city.standards):
            shares = self._shares(
                lambda one, own=standard.type: sum(  # type: ignore[misc]
                    point.incidents_per_day for point in one.city.demand if point.type == own
                )
            )
            own = {period: one.results[number].standards[place] for period, one in self.periods.items()}
            names = ("miss_fraction", "lower", "upper", "mean_minutes")
            means = {
                name: sum(shares[period] * getattr(one, name) for period, one in own.items())
                for name in names
                if all(getattr(one, name) is not None for one in own.values())
            }
            found.append(StandardResult(standard, **means))
        return tuple(found)

    @property
    def knowing_the_hour(self) -> list[tuple[WeekResult, WeekResult, float]]:
        """Each policy that does not know the hour, the same one that does, and the part of misses that it avoids."""
        results = self.results
        return [
            (results[blind], results[knowing], 1.0 - results[knowing].missed / results[blind].missed)
            for blind, knowing in pairs_by_hour(self.choices)
            if results[blind].missed > 0.0
        ]

    def document(self) -> dict[str, Any]:
        """The comparison as plain values, ready for JSON; fractions are fractions, not percentages."""
        by_period = {period: one.document() for period, one in self.periods.items()}
        first = next(iter(by_period.values()))
        objective = {"objective": first["objective"]} if "objective" in first else {}
        policies = []
        for number, result in enumerate(self.results):
            own = [
                {"period": name, "share_of_incidents": self.weights[name]} | document["policies"][number]
                for name, document in by_period.items()
            ]
            policies.append(
                {
                    "name": result.name,
                    "late_fraction": result.missed,
                    "late_per_day": result.missed * self.city.incidents_per_day,
                    "mean_response_minutes": result.mean_minutes,
                    "lower": result.lower,
                    "upper": result.upper,
                    "improvement_over_first": result.improvement_over_first,
                    "seconds": result.seconds,
                    "converged": result.converged,
                    "proven": self.proven,
                    "gap_to_optimum": result.gap_to_optimum,
                    **({"standards": [one.document() for one in result.standards]} if result.standards else {}),
                    "periods": own,
                }
            )
        gains = [
            {"name": knowing.name, "without": blind.name, "improvement": gain}
            for blind, knowing, gain in self.knowing_the_hour
        ]
        return {"city": self.city.name} | objective | {"policies": policies, "knowing_the_hour": gains}


def compare_week(
    city: City,
    policies: Sequence[str] = WEEK_POLICIES,
    options: SolveOptions = DEFAULTS,
    *,
    steps: Steps = NO_STEPS,
) -> WeekComparison:
    """The comparison of policies in every period of a city; driving times are found once for all of them."""
    choices = policy_choices(policies, options)
    for kind in city.kinds:  # before any work
        check_states(city.of_kind(kind).trucks, kind=city.said(kind))
    found: dict[str, dict[str, Comparison]] = {one.name: {} for one in city.periods}
    seconds: dict[str, float] = {}
    for kind in city.kinds:
        of_kind = steps if len(city.kinds) == 1 else NamedSteps(steps, kind)
        seen = city.of_kind(kind)
        problem = city_problem(seen, arrivals=True, steps=of_kind)
        load_kernels(problem, [choice.name_for(kind) for choice in choices])
        ready: dict[str, Policy] = {}
        for choice in (one for one in choices if not one.knows_hour):
            of_kind.begin(choice.label)
            began = time.perf_counter()
            ready[choice.label] = choice.policy(problem, options, kind)
            seconds[choice.label] = seconds.get(choice.label, 0.0) + time.perf_counter() - began
        for period, own in problems_of_periods(seen, problem).items():
            found[period][kind] = compare_policies(
                city.in_period(period), policies, options, kind=kind, steps=NamedSteps(of_kind, period), problem=own,
                ready=ready,
            )  # fmt: skip
    by_period = {
        period: DepartmentComparison(city=city.in_period(period), kinds=kinds) for period, kinds in found.items()
    }
    return WeekComparison(city=city, periods=by_period, choices=tuple(choices), seconds=seconds)
