"""A fleet: the units of one kind, and the policies that send them, one for each period of the week."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import OUTSIDE_ID, TRUCK
from runcard.city.model import Standard, Unit
from runcard.city.periods import ALWAYS, HOURS_PER_WEEK, Period
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.problem import DispatchProblem
from runcard.plan.words import class_facts
from runcard.policy.base import Decision, Option, Policy
from runcard.policy.options import team_number
from runcard.policy.solve import RECIPES

OTHER_CITY: Final = "the policy was made for another city, or for this one before it changed; solve it again"


@dataclass(frozen=True, eq=False, kw_only=True)
class Fleet:
    """The units of one kind, the incidents that need them, and the policies that send them."""

    kind: str
    policies: tuple[Policy, ...]
    """One for each period, which differ in their rates only."""
    periods: tuple[Period, ...] = (ALWAYS,)
    roster: tuple[Unit, ...] = ()
    """() where the city has none."""
    standards: tuple[Standard, ...] = ()
    types: tuple[str, ...] = ()
    """[J] the type of incident of each demand point of its problem; "" where the city has no standards."""
    seconds: tuple[float, ...] = ()
    """The time to solve each policy, where that is known."""

    @cached_property
    def policy(self) -> Policy:
        """The policy of the first period."""
        return self.policies[0]

    @cached_property
    def problem(self) -> DispatchProblem:
        """The problem of this kind, at the rates of the first period."""
        return self.policy.problem

    @property
    def name(self) -> str:
        """The name of its policy, or those of its periods where they differ."""
        return ", ".join(dict.fromkeys(policy.name for policy in self.policies))

    @cached_property
    def knows_hour(self) -> bool:
        """Whether it looks at the hour."""
        return self.periods != (ALWAYS,)

    @cached_property
    def of_hour(self) -> NDArray[np.int64]:
        """[168] the number of the period of each hour of the week."""
        numbers = np.full(HOURS_PER_WEEK, -1, np.int64)
        for number, period in enumerate(self.periods):
            numbers[list(period.hours)] = number
        if (numbers < 0).any() or sum(len(period.hours) for period in self.periods) != HOURS_PER_WEEK:
            raise InputError("expected every hour of the week in one period of a policy")
        return numbers

    def at_hour(self, hour: int) -> Policy:
        """The policy of an hour of the week."""
        return self.policies[int(self.of_hour[hour])]

    def in_period(self, number: int) -> "Fleet":
        """The fleet with the policy of one period at all hours."""
        if len(self.policies) == 1:
            return self
        seconds = self.seconds[number : number + 1]
        return replace(self, policies=(self.policies[number],), periods=(ALWAYS,), seconds=seconds)

    def made_for(self, problem: DispatchProblem) -> Policy:
        """The policy that was made for a problem, whatever its period, now of that very problem."""
        policy = self.of_fingerprint(problem.fingerprint)
        return RECIPES[policy.name].read(problem, policy.stored())

    def of_fingerprint(self, fingerprint: str) -> Policy:
        """The policy whose problem has a fingerprint, whatever its period."""
        for policy in self.policies:
            if policy.problem.fingerprint == fingerprint:
                return policy
        raise PolicyFileError(OTHER_CITY)

    def in_bulk(self, decisions: float) -> None:
        """Let each policy find what it needs for its part of so many decisions."""
        for policy, period in zip(self.policies, self.periods, strict=True):
            policy.in_bulk(period.part_of_week * decisions)

    @cached_property
    def rows(self) -> Mapping[tuple[str, str], tuple[int, ...]]:
        """The demand points of each node and type; the first one where the type says all that is needed there."""
        rows: dict[tuple[str, str], tuple[int, ...]] = {}
        for number, key in enumerate(zip(self.problem.point_ids, self.types, strict=True)):
            if not (self.standards and key in rows):
                rows[key] = (*rows.get(key, ()), number)
        return rows

    def point(self, node_id: str, incident_type: str, row: int | None = None) -> int | None:
        """The demand point of a node and a type of incident; None if such an incident does not need this kind.

        Without types, `row` says which of several at the node is meant, from 1.
        """
        if row is not None and self.standards:
            raise InputError("class: expected none, the types of this city are its classes")
        rows = self.rows.get((node_id, incident_type), ())
        if row is None and len(rows) > 1:
            facts = (f"{place} ({class_facts(self.problem, number)})" for place, number in enumerate(rows, start=1))
            raise InputError(
                f"class: expected a number, area {node_id} has {len(rows)} classes of incidents, got none; they are "
                f"{', '.join(facts)}"
            )
        if row is not None and not 1 <= row <= len(rows):
            raise InputError(f"class: expected 1 to {len(rows)} in area {node_id}, got {row}")
        return rows[(row or 1) - 1] if rows else None

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """In the order of the roster; without one a unit for each truck, those of a station with its name."""
        stations = zip(self.problem.station_ids, self.problem.trucks.tolist(), strict=True)
        return self.roster or tuple(Unit(home, home, self.kind) for home, trucks in stations for _ in range(trucks))

    @cached_property
    def every_unit(self) -> Counter[str]:
        """What its units are called, and how many have that name."""
        return Counter(unit.unit_id for unit in self.units)

    @cached_property
    def home_numbers(self) -> Mapping[str, int]:
        """The number of the station of each unit."""
        number = {station_id: i for i, station_id in enumerate(self.problem.station_ids)}
        return {unit.unit_id: number[unit.station_id] for unit in self.units}

    @cached_property
    def by_station(self) -> Mapping[str, tuple[str, ...]]:
        """The units of each station."""
        at: dict[str, list[str]] = {station_id: [] for station_id in self.problem.station_ids}
        for unit in self.units:
            at[unit.station_id].append(unit.unit_id)
        return {station_id: tuple(there) for station_id, there in at.items()}

    @cached_property
    def _only(self) -> Mapping[str, str]:
        """What the units of each station are called where all have one name."""
        return {OUTSIDE_ID: OUTSIDE_ID} | {
            home: there[0] for home, there in self.by_station.items() if len(set(there)) == 1
        }

    def idle_trucks(self, idle: Collection[str]) -> NDArray[np.int64]:
        """[I] how many of the idle units each station has; those that share a name are named, or counted, each."""
        counts, numbers = [0] * self.problem.num_stations, self.home_numbers
        for unit_id, number in (idle if isinstance(idle, Counter) else Counter(idle)).items():
            if unit_id in numbers:
                counts[numbers[unit_id]] += number
        return np.array(counts, np.int64)

    def unit_ids(self, team: Collection[str], idle: Collection[str]) -> tuple[str, ...]:
        """The units of a team of station ids: of each station the first that are idle."""
        try:
            return tuple([self._only[station_id] for station_id in team])
        except KeyError:  # some station has several
            by_station, sent = self.by_station, list[str]()
        for station_id in team:
            there = (OUTSIDE_ID,) if station_id == OUTSIDE_ID else by_station[station_id]
            if len(there) > 1:
                there = tuple(unit_id for unit_id in there if unit_id in idle and unit_id not in sent)
            sent.append(there[0])
        return tuple(sent)

    def decide(self, trucks: NDArray[np.int64], point: int, idle: Collection[str] | None = None) -> "KindDecision":
        """What this kind sends to a demand point when `trucks` [I] of each station are idle.

        The idle units are `idle`; if that is left out, the first of each station.
        """
        decision = self.policy.decide(trucks, point)
        if idle is None:
            idle = [name for names, n in zip(self.by_station.values(), trucks, strict=True) for name in names[:n]]
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
        types = dict.fromkeys(standard.type for standard in self.standards)
        return {name: tuple(of for of in self.standards if of.type == name) for name in types}

    def chances(self, point: int, option: Option) -> tuple[float, ...]:
        """The chance that a team misses each standard of a demand point."""
        team, num = team_number(self.problem, option.team), len(self.standards_at(point))
        return tuple(self.problem.missed(number).item(team, point) for number in range(num))


def fleet_of(
    *policies: Policy,
    periods: tuple[Period, ...] = (ALWAYS,),
    kind: str = TRUCK,
    seconds: tuple[float, ...] = (),
) -> Fleet:
    """The fleet of the policies of one kind, without a roster and without standards."""
    types = ("",) * policies[0].problem.num_points
    return Fleet(kind=kind, policies=policies, periods=periods, types=types, seconds=seconds)


@dataclass(frozen=True, eq=False, kw_only=True)
class KindDecision:
    """What one kind sends: the decision in stations, and the units."""

    fleet: Fleet
    point: int
    trucks: NDArray[np.int64]
    """[I] the idle trucks of each station."""
    idle: Collection[str]
    """The idle units, of all kinds."""
    decision: Decision
    units: tuple[str, ...]
    """ "outside" for those that must come from there."""
    find_arrivals: Callable[[Decision], DispatchProblem] | None = None
    """Of a place that is in no table: the problem that has the arrivals of the teams of a decision."""
    like: int | None = None
    """The demand point in whose stead it is about such a place."""
