"""A department: every kind of units with the policy that sends it, and decisions that name units.

Kinds never stand in for one another, so the decision for an incident is one decision for each kind that its type needs
(see `mdp/from_city.py`). Of the idle units of a station the one that comes first in the roster goes.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from runcard.city.address import Place, Spot
from runcard.city.conditions import OUTSIDE_ID, near
from runcard.city.model import City, Standard, Unit
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.policy.base import Decision, Option, Policy
from runcard.policy.ground import Ground
from runcard.policy.options import team_number
from runcard.policy.solve import check_size, policy_name, policy_names, solve_named
from runcard.policy.solve_options import DEFAULTS, SolveOptions


@dataclass(frozen=True, eq=False, kw_only=True)
class Fleet:
    """The units of one kind, the incidents that need them, and the policy that sends them."""

    kind: str
    policy: Policy
    units: tuple[Unit, ...] = ()
    """In the order of the roster; () where the city has none, and stations stand for their trucks."""
    standards: tuple[Standard, ...] = ()
    types: tuple[str, ...] = ()
    """[J] the type of incident of each demand point of its problem; "" where the city has no standards."""

    @property
    def problem(self) -> DispatchProblem:
        """The problem of this kind."""
        return self.policy.problem

    @cached_property
    def _points(self) -> Mapping[tuple[str, str], int]:
        """The demand point of each node and type; of equal ones the first."""
        keys = zip(self.problem.point_ids, self.types, strict=True)
        return {key: number for number, key in reversed(list(enumerate(keys)))}

    def point(self, node_id: str, incident_type: str) -> int | None:
        """The demand point of a node and a type of incident; None if such an incident does not need this kind."""
        found = self._points.get((node_id, incident_type))
        if not self.standards and self.problem.point_ids.count(node_id) > 1:
            raise InputError(f"node {node_id} has several incident classes: ask the fleet with the number of one")
        return found

    @cached_property
    def _place(self) -> Mapping[str, int]:
        """The number of the station of each unit."""
        number = {station_id: i for i, station_id in enumerate(self.problem.station_ids)}
        return {unit.unit_id: number[unit.station_id] for unit in self.units}

    @cached_property
    def _by_station(self) -> Mapping[str, tuple[str, ...]]:
        """The units of each station."""
        found: dict[str, list[str]] = {station_id: [] for station_id in self.problem.station_ids}
        for unit in self.units:
            found[unit.station_id].append(unit.unit_id)
        return {station_id: tuple(there) for station_id, there in found.items()}

    @cached_property
    def _only(self) -> Mapping[str, str]:
        """The unit of each station that has one."""
        return {OUTSIDE_ID: OUTSIDE_ID} | {
            home: there[0] for home, there in self._by_station.items() if len(there) == 1
        }

    def idle_trucks(self, idle: Collection[str]) -> NDArray[np.int64]:
        """[I] how many of the idle units each station has."""
        counts = [0] * self.problem.num_stations
        for unit_id, i in self._place.items():
            if unit_id in idle:
                counts[i] += 1
        return np.array(counts, np.int64)

    def unit_ids(self, team: Collection[str], idle: Collection[str]) -> tuple[str, ...]:
        """The units of a team of station ids: of each station the first that are idle."""
        if not self.units:
            return tuple(team)
        try:
            return tuple([self._only[station_id] for station_id in team])
        except KeyError:  # some station has several
            by_station, found = self._by_station, list[str]()
        for station_id in team:
            there = (OUTSIDE_ID,) if station_id == OUTSIDE_ID else by_station[station_id]
            if len(there) > 1:
                there = tuple(one for one in there if one in idle and one not in found)
            found.append(there[0])
        return tuple(found)

    def decide(self, trucks: NDArray[np.int64], point: int, idle: Collection[str] = ()) -> "KindDecision":
        """What this kind sends to a demand point when `trucks` [I] of each station are idle, the units `idle`."""
        decision = self.policy.decide(trucks, point)
        units = self.unit_ids(decision.team, idle)
        return KindDecision(fleet=self, point=point, trucks=trucks, idle=idle, decision=decision, units=units)

    def standards_at(self, point: int) -> tuple[Standard, ...]:
        """The standards of the incidents of a demand point, in the order of the measures of the problem."""
        return self.standards_of(self.types[point])

    def standards_of(self, incident_type: str) -> tuple[Standard, ...]:
        """The standards of a type of incident."""
        return self._by_type.get(incident_type, ())

    @cached_property
    def _by_type(self) -> Mapping[str, tuple[Standard, ...]]:
        types = dict.fromkeys(one.type for one in self.standards)
        return {name: tuple(one for one in self.standards if one.type == name) for name in types}

    def chances(self, point: int, option: Option) -> tuple[float, ...]:
        """The chance that a team misses each standard of a demand point."""
        team, num = team_number(self.problem, option.team), len(self.standards_at(point))
        return tuple(self.problem.missed(number).item(team, point) for number in range(num))


@dataclass(frozen=True, eq=False, kw_only=True)
class KindDecision:
    """What one kind sends: the decision in stations, and the units."""

    fleet: Fleet
    point: int
    trucks: NDArray[np.int64]
    """[I] the idle trucks of each station."""
    idle: Collection[str]
    """The idle units, of all kinds, if there is a roster."""
    decision: Decision
    units: tuple[str, ...]
    """ "outside" for those that must come from there."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DepartmentDecision:
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
        return tuple(unit for one in self.kinds for unit in one.units)

    def _repr_html_(self) -> str:
        """The decision in a notebook."""
        from runcard.policy.notebook import department_decision_html  # it knows this class

        return department_decision_html(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class Department:
    """One policy for every kind of a department."""

    fleets: tuple[Fleet, ...]
    spare: tuple[Unit, ...] = ()
    """Units of kinds that no incident needs."""
    ground: Ground | None = None
    """Its city, for incidents and units anywhere; None if it knows demand points only."""

    @property
    def name(self) -> str:
        """The name of its policy, or those of its kinds where they differ."""
        names = {fleet.policy.name for fleet in self.fleets}
        return names.pop() if len(names) == 1 else ", ".join(f"{one.policy.name} ({one.kind})" for one in self.fleets)

    @property
    def is_plain(self) -> bool:
        """Whether it has neither a roster nor standards: its one fleet is all there is."""
        return not (self.fleets[0].units or self.fleets[0].standards)

    def fleet(self, kind: str) -> Fleet:
        """The fleet of a kind."""
        for one in self.fleets:
            if one.kind == kind:
                return one
        kinds = [one.kind for one in self.fleets]
        raise InputError(f"expected a kind of units ({', '.join(kinds)}), got {kind!r}{near(kind, kinds)}")

    @cached_property
    def unit_ids(self) -> tuple[str, ...]:
        """Every unit, also of kinds that nobody needs."""
        return tuple(unit.unit_id for units in (*(one.units for one in self.fleets), self.spare) for unit in units)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.unit_ids)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Every type of incident."""
        return tuple(dict.fromkeys(standard.type for one in self.fleets for standard in one.standards))

    def decide(
        self,
        idle: Collection[str],
        node_id: Place,
        incident_type: str = "",
        *,
        moved: Mapping[str, Place] | None = None,
    ) -> DepartmentDecision:
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
        return DepartmentDecision(node_id=node_id, type=incident_type, kinds=tuple(kinds), ground=self.ground)

    def _anywhere(
        self,
        idle: Mapping[str, int] | Collection[str],
        place: Place,
        incident_type: str,
        moved: Mapping[str, Place] | None = None,
    ) -> DepartmentDecision:
        """The same for a place that is no demand point of that type, or with units that are not at home."""
        from runcard.policy.anywhere import NO_CITY, decide_anywhere  # it makes fleets

        self._check_type(incident_type)
        if self.ground is None:
            if moved or not isinstance(place, str):
                raise InputError(NO_CITY)
            self._refuse(place, incident_type)
        return decide_anywhere(self, idle, place, incident_type, moved=moved)

    def _by_station(
        self, idle: Collection[str], node_id: Place, incident_type: str, moved: Mapping[str, Place] | None
    ) -> DepartmentDecision:
        """The same without a roster: `idle` has the id of a station once for each of its idle trucks."""
        (fleet,) = self.fleets
        counts, station_ids = Counter(idle), fleet.problem.station_ids
        for station_id in counts.keys() - set(station_ids):
            raise InputError(f"expected stations, got {station_id!r:.80}{near(str(station_id), station_ids)}")
        if moved or not isinstance(node_id, str) or (point := fleet.point(node_id, incident_type)) is None:
            return self._anywhere(counts, node_id, incident_type, moved)
        trucks = np.array([counts[station_id] for station_id in station_ids], np.int64)
        kinds = (fleet.decide(trucks, point),)
        return DepartmentDecision(node_id=node_id, type=incident_type, kinds=kinds, ground=self.ground)

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


def department_of(city: City, policies: Mapping[str, Policy]) -> Department:
    """The department of a city, given the policy of each of its kinds."""
    fleets = []
    for kind in city.sent_kinds:
        seen = city.of_kind(kind)
        types = tuple("" if city.plain else point.type for point in seen.demand)
        units, standards = seen.units if city.has_roster else (), () if city.plain else seen.standards
        fleets.append(Fleet(kind=kind, policy=policies[kind], units=units, standards=standards, types=types))
    spare = tuple(unit for unit in city.units if unit.kind not in city.sent_kinds)
    return Department(fleets=tuple(fleets), spare=spare, ground=Ground(city))


def solve_department(
    city: City,
    policy: str | Mapping[str, str] = "optimal",
    *,
    tolerance: float = DEFAULTS.tolerance,
    horizon_busy_times: float | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Department:
    """The department of a city with the policy of that name or label, or one for each kind, solved for every kind."""
    options = SolveOptions(
        tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads, progress=progress
    )
    names = names_by_kind(city, policy, options)
    solved = {kind: solve_named(dispatch_problem(city, kind=kind), name, options) for kind, name in names.items()}
    return department_of(city, solved)


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
