"""Policies that know the hour: one solution for each period of the week.

Each period is solved as if it lasted for ever, at its own rates. That is nearly right where periods are long beside the
busy times: what a decision changes later is over within a few busy times.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import near
from runcard.city.model import City
from runcard.city.periods import HOURS_PER_WEEK, Period, hour_of_week
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem, with_rates_of
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.policy.base import Policy
from runcard.policy.department import Department, department_of, names_by_kind
from runcard.policy.ground import Ground
from runcard.policy.solve import solve_named
from runcard.policy.solve_options import DEFAULTS, SolveOptions


@dataclass(frozen=True, eq=False, kw_only=True)
class HourlyPolicy:
    """One kind's policy for each period: the incident's hour of the week says which one decides."""

    periods: tuple[Period, ...]
    policies: tuple[Policy, ...]

    @property
    def name(self) -> str:
        """The name of its policy, or those of its periods where they differ."""
        return ", ".join(dict.fromkeys(policy.name for policy in self.policies))

    @cached_property
    def of_hour(self) -> NDArray[np.int64]:
        """[168] the number of the period of each hour of the week."""
        found = np.full(HOURS_PER_WEEK, -1, np.int64)
        for number, period in enumerate(self.periods):
            found[list(period.hours)] = number
        if (found < 0).any() or sum(len(one.hours) for one in self.periods) != HOURS_PER_WEEK:
            raise InputError("expected every hour of the week in one period of a policy")
        return found

    def at_hour(self, hour: int) -> Policy:
        """The policy of an hour of the week."""
        return self.policies[int(self.of_hour[hour])]

    def in_bulk(self, decisions: float) -> None:
        """Let each policy find what it needs for its part of so many decisions."""
        for policy, part in zip(self.policies, self.hour_parts, strict=True):
            policy.in_bulk(part * decisions)

    @property
    def hour_parts(self) -> list[float]:
        """The part of the week that each period has."""
        return [len(one.hours) / HOURS_PER_WEEK for one in self.periods]


AnyPolicy = Policy | HourlyPolicy


@dataclass(frozen=True, eq=False, kw_only=True)
class Week:
    """A department for each period of the week."""

    periods: tuple[Period, ...]
    """Their hours; the rates are in the problems of the departments."""
    departments: Mapping[str, Department]
    """By the name of the period."""

    def at(self, time: datetime) -> Department:
        """The department at a time by the clock on the wall."""
        return self.departments[self.period_at(hour_of_week(time)).name]

    def period_at(self, hour: int) -> Period:
        """The period of an hour of the week."""
        return period_of_hour(self.periods, hour)

    def department(self, period: str) -> Department:
        """The department of a period."""
        if period not in self.departments:
            names = list(self.departments)
            raise InputError(f"expected a period ({', '.join(names)}), got {period!r}{near(str(period), names)}")
        return self.departments[period]

    def by_kind(self) -> dict[str, HourlyPolicy]:
        """The policy of each kind, which the simulation switches as time passes."""
        first = self.departments[self.periods[0].name]
        return {
            fleet.kind: HourlyPolicy(
                periods=self.periods,
                policies=tuple(self.departments[one.name].fleet(fleet.kind).policy for one in self.periods),
            )
            for fleet in first.fleets
        }


def period_of_hour(periods: tuple[Period, ...], hour: int) -> Period:
    """The period of an hour of the week."""
    for one in periods:
        if hour in one.hours:
            return one
    raise InputError(f"expected an hour of the week from 0 to {HOURS_PER_WEEK - 1}, got {hour!r}")


def problems_of_periods(city: City, problem: DispatchProblem) -> dict[str, DispatchProblem]:
    """The problem of each period of a city of one kind, given that of its mean rates, whose tables they share."""
    return {one.name: with_rates_of(problem, city.in_period(one.name)) for one in city.periods}


def solve_week(
    city: City,
    policy: str | Mapping[str, str] = "optimal",
    *,
    tolerance: float = DEFAULTS.tolerance,
    horizon_busy_times: float | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Week:
    """A department for each period of a city, as `solve_department` solves one; tables are found once for all."""
    options = SolveOptions(
        tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads, progress=progress
    )
    names = names_by_kind(city, policy, options)
    solved: dict[str, dict[str, Policy]] = {one.name: {} for one in city.periods}
    for kind, name in names.items():
        seen = city.of_kind(kind)
        for period, problem in problems_of_periods(seen, dispatch_problem(seen)).items():
            solved[period][kind] = solve_named(problem, name, options)
    return week_of(city, solved)


def week_of(city: City, policies: Mapping[str, Mapping[str, Policy]]) -> Week:
    """The week of a city, given the policy of each of its kinds in every period."""
    ground = Ground(city)
    departments = {
        one.name: replace(department_of(city.in_period(one.name), policies[one.name]), ground=ground)
        for one in city.periods
    }
    return Week(periods=city.periods, departments=departments)
