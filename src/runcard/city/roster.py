"""What must hold between the roster, the incident types and the rest of a city; every fault is collected.

A roster that names what is not there, or types that contradict one another, would give answers about units that do not
exist. So each of these is a fault of its own, with its row.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from runcard.city.conditions import (
    MAX_NAMED,
    OPTIONAL_TABLES,
    TRUCK,
    UNREAD,
    Fault,
    Place,
    is_team_size,
    near,
    shown,
)

_OWN_NEEDS = ("trucks", "arrivals", "target_minutes")
"""The columns of a demand point that say what standards say where there are any."""


def department_faults(
    settings: Mapping[str, Any], tables: Mapping[str, Sequence[Any]], place: Place, unread: Collection[str] = ()
) -> Iterator[Fault]:
    """Every fault of a roster, of incident types, and of settings by kind.

    A table that is not there, or is there but could not be read, is not checked, and neither is what depends on it.
    """
    units, standards, demand = (tables.get(name, ()) for name in ("unit", "incident_type", "demand"))
    empty = [name for name in OPTIONAL_TABLES if name in unread or (name in tables and not tables[name])]
    if "unit" not in empty:
        yield from _truck_faults(tables.get("station", ()), units)
    kinds = dict.fromkeys(unit.kind for unit in units if unit.kind) or {TRUCK: None}
    if UNREAD not in kinds and not empty:
        yield from _kind_faults(settings, standards, kinds, has_roster=bool(units))
    if standards:
        yield from standard_faults(standards, place)
        yield from _type_faults(standards, demand)
    elif "incident_type" not in empty and "target_minutes" in settings and settings["target_minutes"] is None:
        yield Fault("city", None, "expected target_minutes, or standards in incident_type.csv, got neither")


def _truck_faults(stations: Sequence[Any], units: Sequence[Any]) -> Iterator[Fault]:
    """A fault for every station without trucks, or with another number of them than the roster lists."""
    homes = [unit.station_id for unit in units]
    for index, station in enumerate(stations):
        number, listed = station.trucks, homes.count(station.station_id)
        if not isinstance(number, int) or UNREAD in homes:
            continue
        if not units and number < 1:
            yield Fault("station", index, f"expected trucks >= 1, got {number}")
        elif units and number not in (0, listed):
            yield Fault(
                "station", index, f"expected trucks {listed}, the units that unit.csv lists there, got {number}"
            )


def _kind_faults(
    settings: Mapping[str, Any], standards: Sequence[Any], kinds: Iterable[str], *, has_roster: bool
) -> Iterator[Fault]:
    """A fault for every kind that is named but has no units, or has units but is not named where all must be."""
    known = f"a kind of unit.csv ({_listed(kinds)})" if has_roster else f"the kind {TRUCK}, without a unit.csv"
    for index, standard in enumerate(standards):
        if standard.kind is not UNREAD and standard.kind not in kinds:
            text = f"expected {known}, got {shown(standard.kind)}{near(str(standard.kind), kinds)}"
            yield Fault("incident_type", index, text)
    if not standards and len(list(kinds)) > 1:
        text = f"expected incident_type.csv to say which kinds go, with several kinds of units ({_listed(kinds)})"
        yield Fault("unit", None, text)
    busy = settings.get("busy_minutes")
    of_busy = busy if isinstance(busy, Mapping) else {}
    for key, by_kind in (("busy_minutes", of_busy), ("turnout", settings.get("turnout_by_kind", {}))):
        for kind in by_kind:
            if kind not in kinds:
                yield Fault("city", None, f"{key}: expected {known}, got {shown(kind)}{near(kind, kinds)}")
    needed = {standard.kind for standard in standards} or set(kinds)
    for kind in kinds if isinstance(busy, Mapping) else ():
        if kind in needed and kind not in of_busy:
            yield Fault("city", None, f"expected busy_minutes for the kind {shown(kind)}, got none")


def standard_faults(standards: Sequence[Any], place: Place) -> Iterator[Fault]:
    """A fault for every standard that cannot be met, is there twice, or contradicts another one of its team."""
    first: dict[Any, int] = {}
    seen: dict[Any, int] = {}
    busy: dict[Any, int] = {}
    for index, one in enumerate(standards):
        if UNREAD in (one.type, one.kind, one.trucks, one.arrivals, one.target_minutes):
            continue
        if is_team_size(one.trucks) and is_team_size(one.arrivals) and one.arrivals > one.trucks:
            text = f"expected arrivals <= trucks, got {one.arrivals} of {one.trucks} trucks"
            yield Fault("incident_type", index, text)
        team = (one.type, one.kind)
        before = first.setdefault(team, index)
        if standards[before].trucks != one.trucks:
            where, number = place("incident_type", before), standards[before].trucks
            text = f"expected trucks {number} as in {where}, which is about the same team, got {one.trucks}"
            yield Fault("incident_type", index, text)
        before = seen.setdefault((*team, one.arrivals, one.target_minutes), index)
        if before != index:
            where = place("incident_type", before)
            yield Fault("incident_type", index, f"expected each standard once, got that of {where} again")
        if one.busy_minutes is not None and one.busy_minutes is not UNREAD:
            before = busy.setdefault(team, index)
            if standards[before].busy_minutes != one.busy_minutes:
                where, number = place("incident_type", before), standards[before].busy_minutes
                text = f"expected busy_minutes {number:g} as in {where}, which is about the same team"
                yield Fault("incident_type", index, f"{text}, got {one.busy_minutes:g}")


def _type_faults(standards: Sequence[Any], demand: Sequence[Any]) -> Iterator[Fault]:
    """A fault for every demand point of an unknown type or with needs of its own, and for every type without any."""
    types = dict.fromkeys(one.type for one in standards)
    if UNREAD in types or not demand:
        return
    used = {point.type for point in demand}
    for index, point in enumerate(demand):
        if point.type is not UNREAD and point.type not in types:
            text = f"expected a type of incident_type.csv ({_listed(types)}), got {shown(point.type)}"
            yield Fault("demand", index, f"{text}{near(str(point.type), types)}")
        for field in _OWN_NEEDS:
            value = getattr(point, field)
            if value is not None and value is not UNREAD:
                text = f"expected no {field} beside incident_type.csv, which says it for every type, got {shown(value)}"
                yield Fault("demand", index, text)
    for index, one in enumerate(standards):
        if UNREAD not in used and one.type not in used:
            text = f"expected some row of demand.csv with the type {shown(one.type)}, got none"
            yield Fault("incident_type", index, text)


def _listed(names: Iterable[str]) -> str:
    """Some names, the first few of them."""
    shown_names = list(map(str, names))
    more = f" and {len(shown_names) - MAX_NAMED} more" if len(shown_names) > MAX_NAMED else ""
    return ", ".join(shown_names[:MAX_NAMED]) + more
