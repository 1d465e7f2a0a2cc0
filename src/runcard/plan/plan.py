"""A plan: who goes, for every kind of units and every period of the week; and who goes to an incident.

Kinds never stand in for one another, so the answer for an incident is one decision for each kind that its type needs
(see `mdp/from_city.py`). Of the idle units of a station the one that comes first in the roster goes.

Each period is solved as if it lasted for ever, at its own rates. That is nearly right where periods are long beside the
busy times: what a decision changes later is over within a few busy times.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from runcard.city.address import Place, Spot
from runcard.city.conditions import near
from runcard.city.model import City, Unit
from runcard.city.periods import HOURS_PER_WEEK, Period, hour_of_week
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem, with_rates_of
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.plan.fleet import ALWAYS, Fleet, KindDecision
from runcard.plan.ground import Ground
from runcard.policy.base import Policy
from runcard.policy.solve import check_size, policy_name, policy_names, solve_named
from runcard.policy.solve_options import DEFAULTS, SolveOptions


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """Who goes to an incident, of each kind that it needs."""

    node_id: str
    type: str
    kinds: tuple[KindDecision, ...]
    spot: Spot | None = None
    """Where the incident is, if it is an address, or if units are not at home (see `anywhere.py`)."""
    area: str = ""
    """The demand point that is closest to it by road."""
    moved: Mapping[str, Spot] = field(default_factory=dict)
    """Where units are that are not at home."""
    notes: tuple[str, ...] = ()
    """What else is to be known of how it was found."""
    ground: Ground | None = None
    """The city, for a map; None if it is not known."""

    @property
    def units(self) -> tuple[str, ...]:
        """The units of all kinds together."""
        return tuple(unit for kind in self.kinds for unit in kind.units)

    def _repr_html_(self) -> str:
        """The answer in a notebook."""
        from runcard.plan.notebook import answer_html  # it knows this class

        return answer_html(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """Who goes: a policy for every kind of units in every period of the week."""

    fleets: tuple[Fleet, ...]
    spare: tuple[Unit, ...] = ()
    """Units of kinds that no incident needs."""
    ground: Ground | None = None
    """Its city, for incidents and units anywhere; None if it knows demand points only."""

    @property
    def name(self) -> str:
        """The name of its policy, or those of its kinds where they differ."""
        names = {fleet.name for fleet in self.fleets}
        return names.pop() if len(names) == 1 else ", ".join(f"{fleet.name} ({fleet.kind})" for fleet in self.fleets)

    @property
    def periods(self) -> tuple[Period, ...]:
        """Its periods, of the same hours for every kind; the one period `always` if it does not look at the hour."""
        return self.fleets[0].periods

    @property
    def knows_hour(self) -> bool:
        """Whether it looks at the hour."""
        return self.fleets[0].knows_hour

    def at(self, time: datetime) -> "Plan":
        """The plan of the period of a time by the clock on the wall, at all hours."""
        return self.in_period(self.period_at(hour_of_week(time)).name)

    def at_hour(self, hour: int | None) -> "Plan":
        """The plan of an hour of the week, at all hours; the hour may be left out where it does not matter."""
        if hour is None and self.knows_hour:
            names = "; ".join(f"{period.name}: {period.words}" for period in self.periods)
            raise InputError(f"it holds a policy for each period ({names}): say with --time when the incident is")
        return self if hour is None else self.in_period(self.period_at(hour).name)

    def period_at(self, hour: int) -> Period:
        """The period of an hour of the week."""
        return period_of_hour(self.periods, hour)

    def in_period(self, period: str) -> "Plan":
        """The plan of a period, at all hours."""
        if period not in self._by_period:
            names = list(self._by_period)
            raise InputError(f"expected a period ({', '.join(names)}), got {period!r}{near(str(period), names)}")
        return self._by_period[period]

    @cached_property
    def _by_period(self) -> Mapping[str, "Plan"]:
        if not self.knows_hour:
            return {ALWAYS.name: self}
        return {
            period.name: replace(self, fleets=tuple(fleet.in_period(number) for fleet in self.fleets))
            for number, period in enumerate(self.periods)
        }

    @property
    def by_period(self) -> Mapping[str, "Plan"]:
        """The plan of each period, by its name."""
        return self._by_period

    def with_policies(self, change: Callable[[Policy], Policy]) -> "Plan":
        """The same with other policies, each made from that in its place."""
        fleets = tuple(replace(fleet, policies=tuple(map(change, fleet.policies))) for fleet in self.fleets)
        return replace(self, fleets=fleets)

    def on(self, ground: Ground) -> "Plan":
        """The same with a city."""
        return replace(self, ground=ground)

    def save(self, path: str | PathLike[str]) -> Path:
        """The file that now holds it."""
        from runcard.plan.file import save  # it knows this class

        return save(self, path)

    @property
    def is_plain(self) -> bool:
        """Whether it has neither a roster nor standards: its one fleet is all there is."""
        return not (self.fleets[0].units or self.fleets[0].standards)

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
    def _known(self) -> frozenset[str]:
        return frozenset(self.unit_ids)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Every type of incident."""
        return tuple(dict.fromkeys(standard.type for fleet in self.fleets for standard in fleet.standards))

    def decide(
        self,
        idle: Collection[str],
        node_id: Place,
        incident_type: str = "",
        *,
        moved: Mapping[str, Place] | None = None,
    ) -> Answer:
        """Who goes to an incident at a node when these units are idle.

        With its city, the node may be any node of the roads, or coordinates (x, y), and units may be `moved`: idle at
        another node, or at other coordinates, than that of their station.
        """
        texts: tuple[Any, ...] = (node_id, incident_type)  # they come from other programs
        anywhere = bool(moved) or isinstance(node_id, tuple)
        if isinstance(idle, str) or not all(isinstance(text, str) for text in texts[anywhere:]):
            given = f"{idle!r:.40}, {node_id!r:.40} and {incident_type!r:.40}"
            raise InputError(f"expected idle units as a collection, and a node and a type as text, got {given}")
        if moved is not None and not isinstance(moved, Mapping):
            raise InputError(f"expected moved units as a mapping from unit to place, got {moved!r:.80}")
        if not self._known:
            return self._by_station(idle, node_id, incident_type, moved)
        try:
            wanted = idle if isinstance(idle, set | frozenset) else frozenset(idle)
        except TypeError as error:
            raise InputError(f"expected the ids of idle units, got {idle!r:.80}") from error
        if not wanted <= self._known:
            unknown = min(map(str, wanted - self._known))
            raise InputError(f"expected units of the roster, got {unknown!r}")
        if anywhere or not isinstance(node_id, str):
            return self._anywhere(wanted, node_id, incident_type, moved)
        kinds = []
        for fleet in self.fleets:
            point = fleet.point(node_id, incident_type)
            if point is not None:
                kinds.append(fleet.decide(fleet.idle_trucks(wanted), point, wanted))
        if not kinds:
            return self._anywhere(wanted, node_id, incident_type)
        return Answer(node_id=node_id, type=incident_type, kinds=tuple(kinds), ground=self.ground)

    def _anywhere(
        self,
        idle: Mapping[str, int] | Collection[str],
        place: Place,
        incident_type: str,
        moved: Mapping[str, Place] | None = None,
    ) -> Answer:
        """The same for a place that is no demand point of that type, or with units that are not at home."""
        from runcard.plan.anywhere import NO_CITY, decide_anywhere  # it makes fleets

        self._check_type(incident_type)
        if self.ground is None:
            if moved or not isinstance(place, str):
                raise InputError(NO_CITY)
            self._refuse(place, incident_type)
        return decide_anywhere(self, idle, place, incident_type, moved=moved)

    def _by_station(
        self, idle: Collection[str], node_id: Place, incident_type: str, moved: Mapping[str, Place] | None
    ) -> Answer:
        """The same without a roster: `idle` has the id of a station once for each of its idle trucks."""
        (fleet,) = self.fleets
        counts, station_ids = Counter(idle), fleet.problem.station_ids
        for station_id in counts.keys() - set(station_ids):
            raise InputError(f"expected stations, got {station_id!r:.80}{near(str(station_id), station_ids)}")
        if moved or not isinstance(node_id, str) or (point := fleet.point(node_id, incident_type)) is None:
            return self._anywhere(counts, node_id, incident_type, moved)
        trucks = np.array([counts[station_id] for station_id in station_ids], np.int64)
        kinds = (fleet.decide(trucks, point),)
        return Answer(node_id=node_id, type=incident_type, kinds=kinds, ground=self.ground)

    def _check_type(self, incident_type: str) -> None:
        """Raise an InputError about a type that no incident has."""
        if not self.types and incident_type:
            raise InputError(f"expected no type of incident: this city has none, got {incident_type!r}")
        if self.types and incident_type not in self.types:
            found = f"got {incident_type!r}{near(incident_type, self.types)}"
            raise InputError(f"expected a type of incident ({', '.join(self.types)}), {found}")

    def _refuse(self, node_id: str, incident_type: str) -> NoReturn:
        """Raise an InputError about a node that is not there, or does not have a type."""
        nodes = dict.fromkeys(point_id for one in self.fleets for point_id in one.problem.point_ids)
        if node_id not in nodes:
            raise InputError(f"expected a demand point, got {node_id!r}{near(node_id, nodes)}")
        here = dict.fromkeys(
            of_point for one in self.fleets for point, of_point in zip(one.problem.point_ids, one.types, strict=True)
            if point == node_id
        )  # fmt: skip
        raise InputError(f"expected a type of incident of node {node_id} ({', '.join(here)}), got {incident_type!r}")


def period_of_hour(periods: Sequence[Period], hour: int) -> Period:
    """The period of an hour of the week."""
    for period in periods:
        if hour in period.hours:
            return period
    raise InputError(f"expected an hour of the week from 0 to {HOURS_PER_WEEK - 1}, got {hour!r}")


def problems_of_periods(city: City, problem: DispatchProblem) -> dict[str, DispatchProblem]:
    """The problem of each period of a city of one kind, given that of its mean rates, whose tables they share.

    Without periods it is the problem itself.
    """
    if not city.periods:
        return {ALWAYS.name: problem}
    return {period.name: with_rates_of(problem, city.in_period(period.name)) for period in city.periods}


def plan_of(city: City, policies: Mapping[str, Policy]) -> Plan:
    """The plan of a city, given the policy of each of its kinds, for all hours."""
    return plan_of_periods(city, {kind: (policy,) for kind, policy in policies.items()}, (ALWAYS,))


def plan_of_periods(
    city: City, policies: Mapping[str, Sequence[Policy]], periods: Sequence[Period] | None = None
) -> Plan:
    """The same, given the policies of each kind, one for each period of the city."""
    periods, fleets = tuple(periods or city.periods or (ALWAYS,)), []
    for kind in city.sent_kinds:
        seen = city.of_kind(kind)
        types = tuple(point.type if city.standards else "" for point in seen.demand)
        fleets.append(
            Fleet(
                kind=kind,
                policies=tuple(policies[kind]),
                periods=periods,
                units=seen.units,
                standards=seen.standards,
                types=types,
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
