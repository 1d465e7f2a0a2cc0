"""The city: a road graph, stations with trucks, and demand points with incident rates.

Everything here is frozen. A `City` is checked when it is made (`check.py`), so every city that exists is valid. Times
are minutes, rates are per day, coordinates are in any unit that suits a map.

A city has units of some kinds, which never stand in for one another; standards, which say how many of each kind go to
each type of incident, and by when; and periods of the week. What nobody gave is `Derived`: a unit for each truck, all
of one kind; a standard for each need that demand points state; the period `always`. `City.of_kind` is the part of the
city that one kind sees.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Final, TypeVar

from runcard.city.conditions import LEAST_RATE, TEAM_SIZE, TRUCK, Chance, Minutes, TeamSize, Text, conditions_of, near
from runcard.city.parts import (
    LATE,
    SECTIONS,
    DemandPoint,
    Driving,
    Link,
    Node,
    Objective,
    Outside,
    Standard,
    Station,
    Turnout,
    Unit,
)
from runcard.city.periods import ALWAYS, Period, hour_of_week, scaled_rate
from runcard.errors import InputError

__all__ = [  # with the parts of which it is made
    "DAYS_PER_YEAR", "LATE", "MINUTES_PER_DAY", "QUIET_RATE", "SETTING_CONDITIONS", "City", "DemandPoint", "Derived",
    "Driving", "Link", "Node", "Objective", "Outside", "Standard", "Station", "Turnout", "Unit", "taken_as_sound",
]  # fmt: skip

MINUTES_PER_DAY: Final = 1440.0
DAYS_PER_YEAR: Final = 365.0
QUIET_RATE: Final = 1e-9
"""Incidents a day that are next to none."""

Row = TypeVar("Row")


class Derived(tuple[Row, ...]):
    """Rows that nobody gave: a city makes them from its others, and makes them again when these are replaced."""

    __slots__ = ()


_taken_as_sound: ContextVar[bool] = ContextVar("taken_as_sound", default=False)


@contextmanager
def taken_as_sound() -> Iterator[None]:
    """Make cities without checking them: only where they come from a checked one, and what changes cannot be wrong.

    Checking every link of a large city takes far longer than a decision in it.
    """
    token = _taken_as_sound.set(True)
    try:
        yield
    finally:
        _taken_as_sound.reset(token)


@dataclass(frozen=True)
class City:
    """A city, as read from a folder or generated; raises one CityError with every fault if it is not valid."""

    name: Text
    busy_minutes: Minutes | Mapping[str, float] = field(hash=False)
    """The mean time that a truck is busy, for all or by kind."""
    target_minutes: Minutes | None
    """None only in a city with standards, which have targets of their own."""
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    stations: tuple[Station, ...]
    demand: tuple[DemandPoint, ...]
    trucks_per_incident: TeamSize = 2
    arrivals_per_incident: Annotated[int, TEAM_SIZE._replace(quiet=True)] = 1
    shared_delay: Chance = 1.0
    driving: Driving = field(default_factory=Driving)
    turnout: Turnout = field(default_factory=Turnout)
    outside: Outside = field(default_factory=Outside)
    objective: Objective = LATE
    units: tuple[Unit, ...] = ()
    """The roster; where none is given, a unit for each truck, all of one kind."""
    standards: tuple[Standard, ...] = ()
    """By type and kind; where none are given, one for each different need that the settings and demand points state."""
    turnout_by_kind: Mapping[str, Turnout] = field(default_factory=dict, hash=False)
    """The turnout of kinds that have one of their own."""
    periods: tuple[Period, ...] = ()
    """Parts of the week with other incident rates, whose mean `demand` has; where none are given, `always`."""

    def __post_init__(self) -> None:
        for name in ("units", "standards", "periods"):
            rows = getattr(self, name)
            object.__setattr__(self, name, () if isinstance(rows, Derived) else tuple(rows))
        for name in ("busy_minutes", "turnout_by_kind"):
            if isinstance(given := getattr(self, name), Mapping):
                object.__setattr__(self, name, dict(given))  # nobody else can change it
        if not _taken_as_sound.get():
            from runcard.city.check import check_city  # it knows the keys of a city

            check_city(self)
        object.__setattr__(self, "periods", self.periods or (ALWAYS,))
        if self.units:
            trucks = Counter(unit.station_id for unit in self.units)
            stations = (replace(station, trucks=trucks[station.station_id]) for station in self.stations)
            object.__setattr__(self, "stations", tuple(stations))
        else:
            object.__setattr__(self, "units", _units_of(self.stations))
        if not self.standards:
            object.__setattr__(self, "standards", self._standards_of_needs())

    def __getstate__(self) -> dict[str, Any]:
        """Its fields, as pickle and copy take them: what was found from them is found again."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    @cached_property
    def node_numbers(self) -> Mapping[str, int]:
        """The place of each node among `nodes`."""
        return {node.node_id: number for number, node in enumerate(self.nodes)}

    @cached_property
    def station_numbers(self) -> Mapping[str, int]:
        """The place of each station among `stations`."""
        return {station.station_id: number for number, station in enumerate(self.stations)}

    @cached_property
    def unit_numbers(self) -> Mapping[str, int]:
        """The place of each unit among `units`."""
        return {unit.unit_id: number for number, unit in enumerate(self.units)}

    @cached_property
    def units_at(self) -> Mapping[str, tuple[Unit, ...]]:
        """The units of each station, in the order of the roster."""
        listed: dict[str, list[Unit]] = {station.station_id: [] for station in self.stations}
        for unit in self.units:
            listed[unit.station_id].append(unit)
        return {station_id: tuple(units) for station_id, units in listed.items()}

    def node(self, node_id: str) -> Node:
        """The node of that id."""
        return self.nodes[self.node_numbers[node_id]]

    def name_of(self, node_id: str) -> str:
        """What a person calls a node."""
        return self.node(node_id).name or node_id

    @property
    def plain(self) -> bool:
        """Whether no types of incidents were given: those who print say "late" then, instead of standards."""
        return isinstance(self.standards, Derived)

    @property
    def has_roster(self) -> bool:
        """Whether its units were given: else they are the trucks of its stations."""
        return not isinstance(self.units, Derived)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types of incidents that were given; none in a plain city, where a type is only a word."""
        return () if self.plain else tuple(dict.fromkeys(standard.type for standard in self.standards))

    def said(self, kind: str) -> str:
        """A kind as messages name it; "" where trucks are all there are."""
        return "" if self.plain and not self.has_roster else kind

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that some incident needs, in the order of the roster."""
        happen = {self._need(point) for point in self.demand if point.incidents_per_day >= LEAST_RATE}
        needed = {standard.kind for need in happen for standard in self._by_need.get(need, ())}
        return tuple(kind for kind in self.sent_kinds if kind in needed)

    @cached_property
    def sent_kinds(self) -> tuple[str, ...]:
        """The kinds that are sent to some type of incident, even to one that never happens."""
        sent = {standard.kind for standard in self.standards}
        return tuple(kind for kind in dict.fromkeys(unit.kind for unit in self.units) if kind in sent)

    def of_kind(self, kind: str | None = None) -> "City":
        """The city that one kind sees: its stations, and the incidents that need it.

        The kind may be left out where incidents need only one. Where none needs it, the incidents of its types are next
        to none.
        """
        if kind is None and len(self.kinds) > 1:
            raise InputError(f"{self.name}: expected one of its kinds of units ({', '.join(self.kinds)}), got none")
        kinds = self.sent_kinds
        kind = (self.kinds or kinds)[0] if kind is None else kind
        if kind not in kinds:
            found = f"got {kind!r}{near(str(kind), kinds)}"
            raise InputError(f"{self.name}: expected a kind that incidents need ({', '.join(kinds)}), {found}")
        if kind not in self._of_kinds:
            self._of_kinds[kind] = self._seen_by(kind)
        return self._of_kinds[kind]

    @cached_property
    def _of_kinds(self) -> dict[str, "City"]:
        """The cities that kinds see, as far as they were asked for."""
        return {}

    def _seen_by(self, kind: str) -> "City":
        """The part of the city that a kind sees; the city itself, where that is all of it."""
        # What was derived stays so: then it is made again, and is the same.
        units = type(self.units)(unit for unit in self.units if unit.kind == kind)
        standards = type(self.standards)(standard for standard in self.standards if standard.kind == kind)
        types, homes = {standard.type for standard in standards}, {unit.station_id for unit in units}
        demand = tuple(point for point in self.demand if point.type in types)
        heard = any(point.incidents_per_day >= LEAST_RATE for point in demand)  # else there is next to none at each
        with taken_as_sound():  # a part of this city, which was checked
            part = replace(
                self,
                busy_minutes=self.busy_minutes_of(kind),
                turnout=self.turnout_by_kind.get(kind, self.turnout),
                turnout_by_kind={},
                stations=tuple(station for station in self.stations if station.station_id in homes) or self.stations,
                demand=demand if heard else tuple(replace(one, incidents_per_day=QUIET_RATE) for one in demand),
                units=units,
                standards=standards,
                periods=tuple(period.of_types(types) for period in self.periods),
            )
        return self if part == self else part

    @property
    def has_periods(self) -> bool:
        """Whether it has several periods, whose rates differ."""
        return len(self.periods) > 1

    def period(self, name: str) -> Period:
        """The period of that name."""
        for one in self.periods:
            if one.name == name:
                return one
        if not self.has_periods:
            raise InputError(f"{self.name}: expected no period: this city has none, got {name!r}")
        names = [one.name for one in self.periods]
        raise InputError(f"{self.name}: expected a period ({', '.join(names)}), got {name!r}{near(str(name), names)}")

    def period_at(self, time: datetime) -> Period:
        """The period that a time by the clock on the wall belongs to."""
        hour = hour_of_week(time)
        return next(period for period in self.periods if hour in period.hours)

    def in_period(self, name: str) -> "City":
        """The city with the rates of a period at all hours, and no periods."""
        period = self.period(name)
        if not self.has_periods:
            return self.of_week
        demand = tuple(
            # What is next to none stays so in every period.
            replace(point, incidents_per_day=max(QUIET_RATE, self.rate_in(period, point)))
            if point.incidents_per_day > QUIET_RATE
            else point
            for point in self.demand
        )
        with taken_as_sound():  # only rates are others
            return replace(self, demand=demand, periods=())

    def rate_in(self, period: Period, point: DemandPoint) -> float:
        """The incidents a day of a demand point in a period."""
        return point.incidents_per_day * scaled_rate(self.periods, period, point.type)

    @property
    def of_week(self) -> "City":
        """The city with its mean rates at all hours, and no periods."""
        with taken_as_sound():
            return self if self.periods == (ALWAYS,) else replace(self, periods=())

    def standards_of(self, point: DemandPoint) -> tuple[Standard, ...]:
        """What counts for the incidents of a demand point, of every kind."""
        return self._by_need.get(self._need(point), ())

    def _need(self, point: DemandPoint) -> Any:
        """What tells incidents apart: their type and, where nobody gave standards, what they need."""
        if not self.plain:
            return point.type
        return (
            point.type,
            point.trucks or self.trucks_per_incident,
            point.arrivals or self.arrivals_per_incident,
            point.target_minutes or self.target_minutes,
        )

    @cached_property
    def _by_need(self) -> Mapping[Any, tuple[Standard, ...]]:
        """The standards that count for one incident together."""
        found: dict[Any, tuple[Standard, ...]] = {}
        for one in self.standards:
            need = (one.type, one.trucks, one.arrivals, one.target_minutes) if self.plain else one.type
            found[need] = (*found.get(need, ()), one)
        return found

    def _standards_of_needs(self) -> Derived[Standard]:
        """A standard for each different need of the demand points."""
        object.__setattr__(self, "standards", Derived())  # so that `_need` knows
        needs = dict.fromkeys(map(self._need, self.demand))
        return Derived(Standard(name, self.units[0].kind, *need) for name, *need in needs)

    @property
    def most_weight(self) -> float:
        """The weight of all standards of one incident, at most."""
        return max(sum(standard.weight for standard in together) for together in self._by_need.values())

    def trucks_for(self, point: DemandPoint) -> int:
        """How many trucks go to an incident at a demand point, of the one kind that the city has."""
        return self.standards_of(point)[0].trucks

    def rule_of(self, point: DemandPoint) -> str:
        """When an incident at a demand point is in time, in words: 1 of 2 in 6 min, 2 of 2 in 8 min."""
        return ", ".join(standard.rule for standard in self.standards_of(point))

    @cached_property
    def trucks(self) -> tuple[int, ...]:
        """[I] the number of trucks of each station."""
        return tuple(station.trucks for station in self.stations)

    @property
    def num_trucks(self) -> int:
        """The number of trucks of all stations together."""
        return sum(self.trucks)

    @property
    def incidents_per_day(self) -> float:
        """The number of incidents a day of all demand points together."""
        return sum(point.incidents_per_day for point in self.demand)

    def busy_minutes_of(self, kind: str) -> float:
        """The mean time that a truck of a kind is busy, where its type of incident does not say it."""
        return self.busy_minutes[kind] if isinstance(self.busy_minutes, Mapping) else self.busy_minutes

    @property
    def mean_busy_minutes(self) -> float:
        """The mean time that a truck is busy: the number of the city, or the mean over all trucks that are sent."""
        if not isinstance(self.busy_minutes, Mapping) and all(one.busy_minutes is None for one in self.standards):
            return self.busy_minutes
        sent, minutes = 0.0, 0.0
        for point in self.demand:
            # The rows of one type and kind are about the same trucks; one of them may say how long these are busy.
            trucks = {standard.kind: standard.trucks for standard in self.standards_of(point)}
            own = {one.kind: one.busy_minutes for one in self.standards_of(point) if one.busy_minutes is not None}
            for kind, number in trucks.items():
                sent += point.incidents_per_day * number
                minutes += point.incidents_per_day * number * own.get(kind, self.busy_minutes_of(kind))
        return minutes / sent

    def _repr_html_(self) -> str:
        """The city in a notebook: a table and a map."""
        from runcard.city.notebook import city_html  # it draws cities

        return city_html(self)

    @property
    def load(self) -> float:
        """The incidents per truck and busy time: the paper's ρ = Σλ / (μ ΣC)."""
        return self.incidents_per_day * self.mean_busy_minutes / (MINUTES_PER_DAY * self.num_trucks)


SETTING_CONDITIONS: Final = conditions_of(City) | {
    f"{section}.{key}": condition for section, of in SECTIONS.items() for key, condition in conditions_of(of).items()
}
"""What must hold for each key of `city.toml`, in the order in which they are written."""


def _units_of(stations: Iterable[Station]) -> Derived[Unit]:
    """A unit for each truck: s1 at a station with one, s1-1 and s1-2 at one with two."""
    units: dict[str, Unit] = {}
    for station in stations:
        home = station.station_id
        for number in range(1, station.trucks + 1):
            name = home if station.trucks == 1 else f"{home}-{number}"
            while name in units:  # the trucks of s1, and a station s1-1
                name += "'"
            units[name] = Unit(name, home, TRUCK)
    return Derived(units.values())
