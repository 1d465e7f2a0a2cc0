"""A plan: who goes, for every kind of units and every period of the week; and who goes to an incident.

Kinds never stand in for one another, so the answer for an incident is one decision for each kind that its type needs
(see `mdp/from_city.py`). Of the idle units of a station the one that comes first in the roster goes.

Each period is solved as if it lasted for ever, at its own rates. That is nearly right where periods are long beside the
busy times: what a decision changes later is over within a few busy times.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from os import PathLike
from pathlib import Path

from runcard.city.address import Place
from runcard.city.conditions import near, shown
from runcard.city.model import City, Unit
from runcard.city.periods import ALWAYS, HOURS_PER_WEEK, Period, hour_of_week
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem, with_rates_of
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.plan.answer import Answer
from runcard.plan.fleet import Fleet
from runcard.plan.ground import Ground
from runcard.plan.situation import Situation, checked_units
from runcard.plan.words import expected_one_of
from runcard.policy.base import Policy
from runcard.policy.solve import check_size, policy_name, policy_names, solve_named
from runcard.policy.solve_options import DEFAULTS, SolveOptions


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Plan:
    """Who goes: a policy for every kind of units in every period of the week."""

    fleets: tuple[Fleet, ...]
    spare: tuple[Unit, ...] = ()
    """Units of kinds that no incident needs."""
    ground: Ground | None = None
    """Its city, for incidents and units anywhere; None if it knows demand points only."""
    fit_faults: tuple[str, ...] = ()
    """In which ways its city is badly fitted to a log, as the fit says it."""

    def __repr__(self) -> str:
        """Its policies and kinds of units."""
        return f"<Plan {self.name} for {', '.join(fleet.kind for fleet in self.fleets)}>"

    @property
    def name(self) -> str:
        """The name of its policy, or those of its kinds where they differ."""
        names = {fleet.name for fleet in self.fleets}
        return names.pop() if len(names) == 1 else ", ".join(f"{fleet.name} ({fleet.kind})" for fleet in self.fleets)

    @property
    def periods(self) -> tuple[Period, ...]:
        """Its periods, of the same hours for every kind; the one period `always` if it does not look at the hour."""
        return self.fleets[0].periods

    @cached_property
    def knows_hour(self) -> bool:
        """Whether it looks at the hour."""
        return self.fleets[0].knows_hour

    def at(self, time: datetime | int | None) -> "Plan":
        """The plan of a time by the clock on the wall, or of an hour of the week, at all hours."""
        return self.in_period(self.period_of(time).name) if self.knows_hour else self

    def period_of(self, time: datetime | int | None) -> Period:
        """The period of a time or of an hour of the week; it may be left out where there is only one period."""
        if time is not None:
            return period_of_hour(self.periods, hour_of_week(time) if isinstance(time, datetime) else time)
        if len(self.periods) > 1:
            names = "; ".join(f"{period.name}: {period.words}" for period in self.periods)
            raise InputError(f"time: expected when the incident is: there is a policy for each period ({names})")
        return self.periods[0]

    def in_period(self, period: str) -> "Plan":
        """The plan of a period, at all hours."""
        if period not in self.by_period:
            names = list(self.by_period)
            raise InputError(f"expected a period ({', '.join(names)}), got {period!r}{near(str(period), names)}")
        return self.by_period[period]

    @cached_property
    def by_period(self) -> Mapping[str, "Plan"]:
        """The plan of each period at all hours, by its name."""
        if not self.knows_hour:
            return {ALWAYS.name: self}
        return {
            period.name: replace(self, fleets=tuple(fleet.in_period(number) for fleet in self.fleets))
            for number, period in enumerate(self.periods)
        }

    def with_policies(self, change: Callable[[Policy], Policy]) -> "Plan":
        """The same with other policies, each made from that in its place."""
        fleets = tuple(replace(fleet, policies=tuple(map(change, fleet.policies))) for fleet in self.fleets)
        return replace(self, fleets=fleets)

    def on(self, ground: Ground) -> "Plan":
        """The same with a city."""
        return replace(self, ground=ground)

    @property
    def has_roster(self) -> bool:
        """Whether each unit has a name of its own; else the trucks of a station have that of the station."""
        return bool(self.fleets[0].roster)

    def with_roster(self) -> "Plan":
        """The same with a name for each truck: where there is no roster, those that its city gives them."""
        if self.has_roster or self.ground is None:
            return self
        (fleet,) = self.fleets
        return replace(self, fleets=(replace(fleet, roster=tuple(self.ground.city.units)),))

    def save(self, path: str | PathLike[str]) -> Path:
        """The file that now holds it."""
        from runcard.plan.file import save  # it knows this class

        return save(self, path)

    def fleet(self, kind: str) -> Fleet:
        """The fleet of a kind."""
        for fleet in self.fleets:
            if fleet.kind == kind:
                return fleet
        kinds = [fleet.kind for fleet in self.fleets]
        raise InputError(f"expected a kind of units ({', '.join(kinds)}), got {kind!r}{near(kind, kinds)}")

    @cached_property
    def unit_ids(self) -> tuple[str, ...]:
        """Every unit, also of kinds that nobody needs."""
        return tuple(unit.unit_id for unit in self.units)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The same with their stations and kinds, in the order of the roster."""
        return (*(unit for fleet in self.fleets for unit in fleet.units), *self.spare)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Every type of incident."""
        return tuple(dict.fromkeys(standard.type for fleet in self.fleets for standard in fleet.standards))

    @cached_property
    def capacity(self) -> Mapping[str, int]:
        """What units are called, and how many have that name: without a roster trucks have that of their station."""
        return Counter(self.unit_ids)

    @cached_property
    def types_at(self) -> Mapping[str, tuple[str, ...]]:
        """The types of each demand point; "" without types."""
        here: dict[str, dict[str, None]] = {}
        for fleet in self.fleets:
            for node_id, of_type in zip(fleet.problem.point_ids, fleet.types, strict=True):
                here.setdefault(node_id, {})[of_type] = None
        return {node_id: tuple(types) for node_id, types in here.items()}

    def decide(self, situation: Situation) -> Answer:
        """Who goes to an incident."""
        if not isinstance(situation, Situation):
            raise InputError(f"expected a situation, such as Situation(at='n14'), got {shown(situation)}")
        if self.knows_hour:
            period = self.period_of(situation.time).name
            return replace(self.in_period(period).decide(situation), period=period)
        place = situation.at
        idle, incident_type = self.idle_in(situation), self.type_of(place, situation.type)
        if situation.moved or not isinstance(place, str) or incident_type not in self.types_at.get(place, ()):
            return self._anywhere(idle, situation, incident_type)
        points = [(fleet, fleet.point(place, incident_type, situation.row)) for fleet in self.fleets]
        kinds = [fleet.decide(fleet.idle_trucks(idle), point, idle) for fleet, point in points if point is not None]
        return Answer(node_id=place, type=incident_type, kinds=tuple(kinds), ground=self.ground)

    def idle_in(self, situation: Situation) -> Counter[str]:
        """The idle units of a situation, and how many those are that share a name."""
        if situation.idle is not None:
            return checked_units(situation.idle, self.capacity, "idle", roster=self.has_roster)
        busy = checked_units(situation.busy or (), self.capacity, "busy", roster=self.has_roster)
        return Counter(self.capacity) - busy

    def type_of(self, place: Place, given: str | None) -> str:
        """The type of an incident; it may be left out where there is only one."""
        types = self.types
        if given and given not in types:
            none = f"expected none, this city has no types of incidents, got {given!r}"
            raise InputError(f"type: {expected_one_of('type of incident', types, given) if types else none}")
        here = (given,) if given else types or ("",)
        if not given and isinstance(place, str):
            here = self.types_at.get(place, here)
        if len(here) > 1:
            raise InputError(f"type: expected one of several types of incidents ({', '.join(here)}), got none")
        return here[0]

    def _anywhere(self, idle: Counter[str], situation: Situation, incident_type: str) -> Answer:
        """The answer for a place that is no demand point of that type, or with units that are not at home."""
        from runcard.plan.anywhere import decide_anywhere  # it makes fleets

        place = situation.at
        if self.ground is None and not situation.moved and isinstance(place, str):
            if place not in self.types_at:
                raise InputError(expected_one_of("demand point", self.types_at, place))
            here = self.types_at[place]
            raise InputError(f"type: area {place}: {expected_one_of('type of incident', here, incident_type)}")
        return decide_anywhere(self, situation, idle, incident_type)


def period_of_hour(periods: Sequence[Period], hour: int) -> Period:
    """The period of an hour of the week."""
    for period in periods:
        if hour in period.hours:
            return period
    raise InputError(f"expected an hour of the week from 0 to {HOURS_PER_WEEK - 1}, got {hour!r}")


def problems_of_periods(city: City, problem: DispatchProblem) -> dict[str, DispatchProblem]:
    """The problem of each period of a city of one kind, given that of its mean rates, whose tables they share."""
    if not city.has_periods:
        return {city.periods[0].name: problem}
    return {period.name: with_rates_of(problem, city.in_period(period.name)) for period in city.periods}


def plan_of(city: City, policies: Mapping[str, Policy]) -> Plan:
    """The plan of a city, given the policy of each of its kinds, for all hours."""
    return plan_of_periods(city, {kind: (policy,) for kind, policy in policies.items()}, (ALWAYS,))


def plan_of_periods(
    city: City, policies: Mapping[str, Sequence[Policy]], periods: Sequence[Period] | None = None
) -> Plan:
    """The same, given the policies of each kind, one for each period of the city."""
    periods, fleets = tuple(periods or city.periods), []
    for kind in city.sent_kinds:
        seen = city.of_kind(kind)
        fleets.append(
            Fleet(
                kind=kind,
                policies=tuple(policies[kind]),
                periods=periods,
                roster=seen.units if city.has_roster else (),
                standards=seen.standards if city.types else (),
                types=tuple(point.type if city.types else "" for point in seen.demand),
            )
        )
    spare = tuple(unit for unit in city.units if unit.kind not in city.sent_kinds)
    return Plan(fleets=tuple(fleets), spare=spare, ground=Ground(city))


def solve(
    city: City,
    policy: str | Mapping[str, str] = "optimal",
    *,
    tolerance: float = DEFAULTS.tolerance,
    horizon_busy_times: float | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Plan:
    """The plan of a city: the policy of that name or label, or one for each kind, solved for every kind and period.

    Driving times are found once for all periods.
    """
    given: object = city
    if isinstance(given, DispatchProblem):
        raise InputError("expected a city, got a DispatchProblem: solve_problem solves the problem of one kind")
    options = SolveOptions(
        tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads, progress=progress
    )
    solved: dict[str, list[Policy]] = {}
    for kind, name in names_by_kind(city, policy, options).items():
        seen = city.of_kind(kind)
        problems = problems_of_periods(seen, dispatch_problem(seen))
        solved[kind] = [solve_named(problem, name, options) for problem in problems.values()]
    return plan_of_periods(city, solved)


def names_by_kind(city: City, policy: str | Mapping[str, str], options: SolveOptions) -> dict[str, str]:
    """The name of the policy of each kind, given one for all or for each; a SizeError if a kind is too large for it."""
    words = dict.fromkeys(city.sent_kinds, policy) if isinstance(policy, str) else policy
    if set(words) != set(city.sent_kinds):
        raise InputError(
            f"expected a policy for each kind ({', '.join(city.sent_kinds)}), got {', '.join(words) or 'none'}"
        )
    names = {kind: policy_name(words[kind]) for kind in city.sent_kinds}
    policy_names(list(names.values()), options)
    for kind, name in names.items():
        check_size([station.trucks for station in city.of_kind(kind).stations], [name], kind=kind)
    return names
