"""Changes of a department: units that come, go or move, stations that close, more or fewer incidents.

A place is a station or any node of the roads. A node without a station gets one, named after the node; if the stations
of the city have aprons (see `city/aprons.py`), so does the new one. All changes happen at once: a unit that moves away
from a station stays when the station closes. Nodes, links and demand points of the city keep their places in its
tables, and what is new comes last, so a simulation finds the same roads in both cities (see `effect.py`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import ClassVar, Final

from runcard.city.aprons import apron_nodes, start_minutes, with_aprons
from runcard.city.check import route_faults
from runcard.city.conditions import near, shown
from runcard.city.model import City, Station, Unit
from runcard.errors import InputError
from runcard.plan.words import article, counted, expected_one_of

MOST_LOAD: Final = 100.0


@dataclass(frozen=True)
class ChangeOfUnits:
    """A change of units; as text, the option of `runcard whatif` that asks for it."""

    what: str
    """A unit, a station, or the kind of a unit that comes; where there is no roster, a truck by its station."""
    place: str = ""
    option: ClassVar[str]
    form: ClassVar[str] = ""
    """What the option expects, if it has a place."""
    sign: ClassVar[str] = ""
    """Before the place."""

    def __str__(self) -> str:
        return f"{self.option} {self.what}{self.sign}{self.place}"


class Add(ChangeOfUnits):
    """One more unit of a kind at a place."""

    option, form, sign = "--add", "KIND@PLACE", "@"


class Close(ChangeOfUnits):
    """A station closes, and the units that are still there go away."""

    option = "--close"


class Remove(ChangeOfUnits):
    """A unit goes away; where there is no roster, one truck of a station."""

    option = "--remove"


class Move(ChangeOfUnits):
    """A unit moves to a place; where there is no roster, one truck of a station does."""

    option, form, sign = "--move", "UNIT:PLACE", ":"


@dataclass(frozen=True)
class Load:
    """So many times as many incidents, everywhere."""

    factor: float

    def __str__(self) -> str:
        return f"--load {self.factor:g}"


CityChange = ChangeOfUnits | Load


def read_changes(
    city: City,
    *,
    add: Iterable[str] = (),
    close: Iterable[str] = (),
    remove: Iterable[str] = (),
    move: Iterable[str] = (),
    load: float | None = None,
) -> tuple[CityChange, ...]:
    """The changes of these words, each of which may name several with commas between.

    The city tells where a unit ends and its place begins, whatever signs their names have.
    """
    places = {*city.station_numbers, *city.node_numbers}
    movable = city.unit_numbers if city.has_roster else city.station_numbers
    found: list[CityChange] = []
    for change, texts, heads in ((Move, move, movable), (Close, close, ()), (Remove, remove, ()),
                                 (Add, add, city.sent_kinds)):  # fmt: skip
        words = _split_all(texts, change.sign, heads, places)
        found += [change(*(_parts(text, change, heads) if change.sign else (text,))) for text in words]
    if load is not None:
        if not (isfinite(load) and 0.0 < load <= MOST_LOAD):
            raise InputError(f"--load: expected a factor above 0 and at most {MOST_LOAD:g}, got {load:g}")
        if load != 1.0:
            found.append(Load(load))
    if not found:
        raise InputError(
            "nothing changes: expected --add KIND@PLACE, --close STATION, --remove UNIT, --move UNIT:PLACE, "
            "or a --load other than 1"
        )
    return tuple(found)


def _split_all(texts: Iterable[str], sign: str, heads: Iterable[str], places: Collection[str]) -> list[str]:
    """The words between commas; a place whose id has a comma stays whole."""
    found = []
    for text in texts:
        whole = sign and any(
            text == f"{head}{sign}{text[len(head) + 1 :]}" and text[len(head) + 1 :] in places for head in heads
        )
        found += [text] if whole else [word.strip() for word in text.split(",") if word.strip()]
    return found


def _parts(text: str, change: type[ChangeOfUnits], heads: Iterable[str]) -> tuple[str, str]:
    """What stands before and behind a sign: the longest known head, or up to the first sign."""
    sign = change.sign
    known = [head for head in heads if text.startswith(head + sign)]
    head = max(known, key=len) if known else text.partition(sign)[0]
    place = text[len(head) + 1 :].strip()
    if sign not in text or not head.strip() or not place:
        raise InputError(f"{change.option}: expected {change.form}, got {shown(text)}")
    return head.strip(), place


def apply_changes(city: City, changes: Sequence[CityChange]) -> City:
    """The city after all changes, checked as any city is; an InputError says which change cannot be."""
    return _Draft(city, changes).city()


class _Draft:
    """A city that is being changed."""

    def __init__(self, city: City, changes: Sequence[CityChange]) -> None:
        self._before, self._changes = city, changes
        self._stations = {one.station_id: one for one in city.stations}
        self._aprons = apron_nodes(city)
        self._station_at = {
            self._aprons.get(one.node_id, one.node_id): one.station_id for one in reversed(city.stations)
        }
        self._units = {one.unit_id: one for one in city.units}
        self._closed = {change.what for change in changes if isinstance(change, Close)}
        self._new: list[Station] = []

    def city(self) -> City:
        """The changed city."""
        self._check_twice()
        for change in self._changes:  # moves come first, and so leave a station before it closes
            if isinstance(change, Move):
                self._move(change)
        for change in self._changes:
            if isinstance(change, Remove):
                self._remove(change)
            elif isinstance(change, Add):
                self._add(change)
        for change in self._changes:
            if isinstance(change, Close):
                self._close(change)
        return self._checked()

    def _check_twice(self) -> None:
        """Raise an error if one unit is moved or removed twice, or one station closed twice."""
        seen: dict[tuple[bool, str], CityChange] = {}
        once = (Close, Move, Remove) if self._before.has_roster else Close
        for change in self._changes:
            if isinstance(change, once):
                key = isinstance(change, Close), change.what
                if key in seen:
                    raise InputError(f"{change}: expected one change for each, got {seen[key]} as well")
                seen[key] = change

    def _place(self, change: Add | Move) -> str:
        """The id of the station at a place, made if there is none."""
        place = change.place
        if place in self._stations:
            station_id: str | None = place
        elif place in self._before.node_numbers:
            node_id = self._aprons.get(place, place)
            station_id = self._station_at.get(node_id)
            if station_id is None:
                return self._open(change, node_id)
        else:
            found = f"got {shown(place)}{near(place, [*self._stations, *self._before.node_numbers])}"
            raise InputError(f"{change}: expected a station or a node of {self._before.name}, {found}")
        if station_id in self._closed:
            raise InputError(f"{change}: expected a station that stays open, got {station_id}, which closes")
        return str(station_id)

    def _open(self, change: Add | Move, node_id: str) -> str:
        """Make a station at a node."""
        station_id = f"at-{node_id}".replace(",", "-")
        while station_id in self._stations:
            station_id += "'"
        name = self._before.name_of(node_id)
        station = Station(station_id, node_id, 0, name)
        for fault in route_faults(self._before.links, [station], self._before.demand):
            raise InputError(f"{change}: node {node_id}: {fault.text}")
        self._stations[station_id] = station
        self._station_at[node_id] = station_id
        self._new.append(station)
        return station_id

    def _unit(self, change: Move | Remove) -> Unit:
        """The unit that a change names; where there is no roster, one of the station that it names."""
        if self._before.has_roster:
            if change.what not in self._units:
                raise InputError(f"{change}: {expected_one_of('unit', self._units, change.what)}")
            return self._units[change.what]
        known = self._before.station_numbers
        if change.what not in known:
            raise InputError(f"{change}: {expected_one_of('station', known, change.what)}")
        there = [unit for unit in self._units.values() if unit.station_id == change.what]
        if not there:
            raise InputError(f"{change}: expected a truck to be left at {change.what}, got none")
        return there[0]

    def _move(self, change: Move) -> None:
        after, unit = self._place(change), self._unit(change)
        if after == unit.station_id:
            raise InputError(f"{change}: expected another place, got {after}, where it stands now")
        self._units[unit.unit_id] = replace(unit, station_id=after)

    def _close(self, change: Close) -> None:
        if change.what not in self._before.station_numbers:
            raise InputError(f"{change}: {expected_one_of('station', self._before.station_numbers, change.what)}")
        for unit in list(self._units.values()):
            if unit.station_id == change.what:
                del self._units[unit.unit_id]

    def _remove(self, change: Remove) -> None:
        unit = self._unit(change)
        if unit.station_id in self._closed:
            raise InputError(f"{change}: expected a unit that would stay, got one of {unit.station_id}, which closes")
        del self._units[unit.unit_id]

    def _add(self, change: Add) -> None:
        kinds = self._before.sent_kinds
        if change.what not in kinds:
            raise InputError(f"{change}: {expected_one_of('kind of units that incidents need', kinds, change.what)}")
        station_id = self._place(change)
        number = 1
        while (unit_id := f"{change.what}-new-{number}") in self._units:
            number += 1
        self._units[unit_id] = Unit(unit_id, station_id, change.what)

    def _checked(self) -> City:
        """The city, once it is known to have units of every kind that it needs."""
        city, words = self._before, " ".join(map(str, self._changes))
        left = Counter(unit.kind for unit in self._units.values())
        for kind in city.sent_kinds:
            if not left[kind]:
                raise InputError(f"{words}: expected {article(kind)} {kind} to be left in {city.name}, got none")
        factor = next((one.factor for one in self._changes if isinstance(one, Load)), 1.0)
        stations = self._left_stations()
        found = replace(
            city,
            stations=tuple(stations),
            units=tuple(self._units.values()) if city.has_roster else (),
            demand=tuple(replace(one, incidents_per_day=factor * one.incidents_per_day) for one in city.demand),
        )
        has_aprons = bool(self._aprons) and all(one.node_id in self._aprons for one in city.stations)
        return with_aprons(found, start_minutes(city)) if self._new and has_aprons else found

    def _left_stations(self) -> list[Station]:
        """The stations after the changes: not those that lost their last unit."""
        homes = Counter(unit.station_id for unit in self._units.values())
        had_none = {one.station_id for one in self._before.stations if one.trucks == 0}
        return [
            replace(one, trucks=homes[one.station_id])
            for one in self._stations.values()
            if homes[one.station_id] or one.station_id in had_none - self._closed
        ]


def changed_kinds(before: City, after: City) -> tuple[str, ...]:
    """The kinds that see another city; an InputError if no kind that incidents need does."""
    found = []
    for kind in before.kinds:
        old, new = before.of_kind(kind), after.of_kind(kind)
        if (old.stations, old.units, old.demand) != (new.stations, new.units, new.demand):
            found.append(kind)
    if not found:
        raise InputError(f"nothing changes: incidents need only {', '.join(before.kinds)}, and of these none changes")
    return tuple(found)


def change_words(before: City, after: City) -> list[str]:
    """What changes, one sentence for each: who comes, who goes, which stations open and close."""
    old, new = ({one.station_id: one for one in city.stations} for city in (before, after))

    def place(station_id: str) -> str:
        station = new.get(station_id) or old[station_id]
        return f"{station_id} ({station.name})" if station.name and station.name != station_id else station_id

    lines = [f"Station {place(one)} closes." for one in old if one not in new]
    lines += [f"A station opens at node {_road_node(after, new[one])}: {place(one)}." for one in new if one not in old]
    for unit, start, end in unit_moves(before, after):
        name = f"{unit.unit_id} ({unit.kind})"
        if start is None or end is None:
            lines.append(f"{name} comes to {place(str(end))}." if start is None else f"{name} of {place(start)} goes.")
        else:
            lines.append(f"{name} moves from {place(start)} to {place(end)}.")
    for station_id, trucks, left in truck_changes(before, after):
        lines.append(f"{place(station_id)} has {counted(left, 'truck')} instead of {trucks}.")
    factor = after.incidents_per_day / before.incidents_per_day
    if abs(factor - 1.0) > 1e-9:
        lines.append(f"There are {factor:g} times as many incidents: {after.incidents_per_day:.4g} a day.")
    return lines


def unit_moves(before: City, after: City) -> list[tuple[Unit, str | None, str | None]]:
    """The units of a roster that go, move or come, with their stations before and after; those that come stand last."""
    if not before.has_roster:
        return []
    old, new = ({unit.unit_id: unit.station_id for unit in city.units} for city in (before, after))
    units = {unit.unit_id: unit for unit in (*before.units, *after.units)}
    moves = [(unit, old.get(name), new.get(name)) for name, unit in units.items()]
    return [(unit, start, end) for unit, start, end in moves if start != end]


def truck_changes(before: City, after: City) -> list[tuple[str, int, int]]:
    """The stations whose number of trucks changes, with both numbers; none where there is a roster."""
    old, new = ({one.station_id: one.trucks for one in city.stations} for city in (before, after))
    both = ((name, old.get(name, 0), new.get(name, 0)) for name in (old | new if not before.has_roster else ()))
    return [(name, trucks, left) for name, trucks, left in both if trucks != left]


def _road_node(city: City, station: Station) -> str:
    """The node of the road that a station stands at."""
    return apron_nodes(city).get(station.node_id, station.node_id)
