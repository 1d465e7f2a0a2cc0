"""What must hold for a city: every field, reference and route is checked once, and every fault is collected.

The same checks serve a city built in memory and one read from a folder. So a `Fault` names its table and the position
in it. Whoever raises the error turns that into words: `stations[1]` here, `station.csv row 3` in a folder.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from runcard.city.areas import driving_graph
from runcard.city.conditions import (
    LEAST_CV,
    LEAST_RATE,
    TRUCK,
    UNREAD,
    Fault,
    Place,
    is_team_size,
    listed,
    not_among,
    plain,
    shown,
)
from runcard.city.model import SETTING_CONDITIONS, City
from runcard.city.parts import COLUMN_CONDITIONS, OPTIONAL_ROWS, ROWS, Objective
from runcard.city.periods import period_faults
from runcard.errors import CityError

_OWN_NEEDS = ("trucks", "arrivals", "target_minutes")
"""The columns of a demand point that say what standards say where there are any."""


def check_city(city: City) -> None:
    """Raise one CityError that lists every fault of the city; return nothing if there is none."""
    fields = {name: value for name, value in vars(city).items() if value or name not in OPTIONAL_ROWS}
    if city.units:  # trucks are counted again, whatever they were before
        fields["stations"] = [replace(station, trucks=0) for station in city.stations]

    def place(table: str, index: int | None) -> str:
        return table if index is None else f"{table}[{index}]"

    if faults := find_faults(fields, place):
        texts = [one.text if one.table == "city" else f"{place(one.table, one.index)}: {one.text}" for one in faults]
        raise CityError(f"city {shown(city.name)}", texts)


def objective_faults(objective: Objective) -> list[str]:
    """Every fault of an objective that belongs to no city."""
    return list(_setting_faults({"objective": objective}))


def find_faults(fields: Mapping[str, Any], place: Place, *, routes: bool = True) -> list[Fault]:
    """Every fault of a city given as its fields; one that is absent or UNREAD is not checked.

    Routes are checked only if `routes` is set and all else is sound. Otherwise one link that could not be read would
    make half the city unreachable.
    """
    tables = {table: fields[table] for table in ROWS if fields.get(table, UNREAD) is not UNREAD}
    faults = [Fault("city", None, text) for text in _setting_faults(fields)]
    types = list(dict.fromkeys(point.type for point in tables.get("demand", ()))) or [UNREAD]
    if fields.get("periods"):
        faults += [Fault("city", None, text) for text in period_faults(fields["periods"], types)]
    for table, rows in tables.items():
        faults += _table_faults(table, rows, place)
    if "standards" not in tables:
        faults += _arrival_faults(fields, tables.get("demand", ()))
    faults += _reference_faults(tables)
    try:
        faults += list(department_faults(fields, tables, place))
    except (TypeError, AttributeError, ValueError):
        if not faults:  # else it is because of those
            raise
    if routes and not faults:
        faults += route_faults(tables["links"], tables["stations"], tables["demand"])
    return faults


def _reference_faults(tables: Mapping[str, Sequence[Any]]) -> Iterator[Fault]:
    """A fault for every row that names a node or a station that is not there."""
    for referred in ("node", "station"):
        known = {getattr(row, f"{referred}_id") for row in tables.get(f"{referred}s", ())}
        if not known or UNREAD in known:
            continue
        for name, rows in tables.items():
            for field, condition in COLUMN_CONDITIONS[name].items():
                for index, row in enumerate(rows if condition.refers == referred else ()):
                    value = getattr(row, field)
                    if value not in known and value is not UNREAD:
                        yield Fault(name, index, f"expected {field} {condition.words}, got {shown(value)}")


def _setting_faults(fields: Mapping[str, Any]) -> Iterator[str]:
    """The faults of each setting on its own, and of those that do not fit together, if each of them is sound."""
    known = {key: condition.default for key, condition in SETTING_CONDITIONS.items()}
    for key, condition in SETTING_CONDITIONS.items():
        field, _, name = key.partition(".")
        if field not in fields or (key == "busy_minutes" and isinstance(fields[key], Mapping)):
            continue
        known[key] = getattr(fields[field], name) if name else fields[field]
        if fault := condition.fault(key, known[key]):
            known[key] = UNREAD
            yield fault
    yield from _by_kind_faults(fields)
    for key, condition in SETTING_CONDITIONS.items():
        if condition.only_with is None:
            continue
        chooser, users, needed, words = condition.only_with
        choice, value = known[f"{key.partition('.')[0]}.{chooser}"], known[key]
        if UNREAD in (choice, value):
            continue
        if value is not None and choice not in users:
            yield f"expected no {key} for {words} {choice}, which does not use it, got {value!r}"
        elif value is None and choice in users and needed:
            if (key, choice) != ("driving.cv", "gamma"):
                yield f"expected {key}, which {words} {choice} needs, got none"
            elif known["driving.scale_minutes"] is None:
                yield f"expected {key} or driving.scale_minutes, one of which {words} {choice} needs, got none"
        elif value is not None and key.endswith(".cv") and value < LEAST_CV[choice]:
            yield f"expected {key} >= {LEAST_CV[choice]:g} for the model {choice}, got {value!r}"
    sound = {key: SETTING_CONDITIONS[key].default if value is UNREAD else value for key, value in known.items()}
    if sound["driving.model"] == "gamma" and None not in (sound["driving.cv"], sound["driving.scale_minutes"]):
        yield "expected driving.cv or driving.scale_minutes, got both"
    if sound["driving.coupled_branch"] is not None and sound["shared_delay"] != 1.0:
        yield (
            "expected no shared_delay beside driving.coupled_branch, whose chance is that of its branch, "
            f"got {shown(sound['shared_delay'])}"
        )
    varied = sound["turnout.cv"] is not None or sound["turnout.model"] != "exponential"
    if varied and known["turnout.mean_minutes"] == 0.0:
        yield "expected turnout.mean_minutes > 0 beside turnout.model or turnout.cv, got 0"


def _by_kind_faults(fields: Mapping[str, Any]) -> Iterator[str]:
    """The faults of busy minutes, and of turnout, that are given for each kind."""
    for kind, minutes in _by_kind(fields.get("busy_minutes")).items():
        if fault := SETTING_CONDITIONS["busy_minutes"].fault(f"busy_minutes.{plain(kind)}", minutes):
            yield fault
    for kind, turnout in fields.get("turnout_by_kind", {}).items():
        for fault in _setting_faults({"turnout": turnout}):
            yield fault.replace("turnout.", f"turnout.{plain(kind)}.")


def _by_kind(minutes: Any) -> Mapping[str, Any]:
    """Busy minutes by kind, if they are given so."""
    return minutes if isinstance(minutes, Mapping) else {}


def _arrival_faults(fields: Mapping[str, Any], demand: Sequence[Any]) -> Iterator[Fault]:
    """A fault wherever an incident needs the arrival of more trucks than are sent."""
    sent, wanted = fields.get("trucks_per_incident", 2), fields.get("arrivals_per_incident", 1)
    if too_many := _too_many(wanted, sent, of="_per_incident"):
        yield Fault("city", None, too_many)
    elif is_team_size(sent) and is_team_size(wanted):
        for index, point in enumerate(demand):
            trucks = sent if point.trucks is None else point.trucks
            if too_many := _too_many(wanted if point.arrivals is None else point.arrivals, trucks):
                yield Fault("demand", index, too_many)


def _too_many(arrivals: Any, trucks: Any, *, of: str = "") -> str:
    """What is wrong if more arrivals count than trucks are sent."""
    if not (is_team_size(arrivals) and is_team_size(trucks)) or arrivals <= trucks:
        return ""
    return f"expected arrivals{of} <= trucks{of}, got {arrivals} of {trucks} trucks"


def _table_faults(table: str, rows: Sequence[Any], place: Place) -> Iterator[Fault]:
    """The faults of one table on its own: no rows, a field out of range, an id twice, no incidents at all."""
    if not rows:
        yield Fault(table, None, "expected at least one row, got none")
        return
    for field, condition in COLUMN_CONDITIONS[table].items():
        for index, row in enumerate(rows):
            if fault := condition.fault(field, getattr(row, field)):
                yield Fault(table, index, fault)
    first: dict[Any, int] = {}
    name = f"{table.removesuffix('s')}_id"
    for index, row in enumerate(rows if name in COLUMN_CONDITIONS[table] else ()):
        value = getattr(row, name)
        if value is not UNREAD and first.setdefault(value, index) != index:
            again = f"got {shown(value)} again (first at {place(table, first[value])})"
            yield Fault(table, index, f"expected {name} to be unique, {again}")
    if table == "demand":
        rates = [point.incidents_per_day for point in rows]
        if all(rate == 0.0 for rate in rates):
            yield Fault(table, None, "expected at least one incidents_per_day > 0, got none")
        elif all(isinstance(rate, float | int) and 0.0 <= rate < LEAST_RATE for rate in rates):
            yield Fault(table, None, f"expected at least one incidents_per_day >= {LEAST_RATE:g}, got {max(rates)!r}")


def department_faults(fields: Mapping[str, Any], tables: Mapping[str, Sequence[Any]], place: Place) -> Iterator[Fault]:
    """Every fault of a roster, of incident types, and of settings by kind.

    A table that is not there, or is there but could not be read, is not checked, and neither is what depends on it.
    """
    units, standards, demand = (tables.get(name, ()) for name in ("units", "standards", "demand"))
    empty = [name for name in OPTIONAL_ROWS if name in fields and not tables.get(name)]
    if "units" not in empty:
        yield from _truck_faults(tables.get("stations", ()), units)
    kinds = dict.fromkeys(unit.kind for unit in units if unit.kind) or {TRUCK: None}
    if UNREAD not in kinds and not empty:
        yield from _kind_faults(fields, standards, kinds, has_roster=bool(units))
    if standards:
        yield from standard_faults(standards, place)
        yield from _type_faults(standards, demand)
    elif "standards" not in empty and fields.get("target_minutes", UNREAD) is None:
        yield Fault("city", None, "expected target_minutes, or standards in incident_type.csv, got neither")


def _truck_faults(stations: Sequence[Any], units: Sequence[Any]) -> Iterator[Fault]:
    """A fault for every station without trucks, or with another number of them than the roster lists."""
    homes = [unit.station_id for unit in units]
    for index, station in enumerate(stations):
        number, listed = station.trucks, homes.count(station.station_id)
        if not isinstance(number, int) or UNREAD in homes:
            continue
        if not units and number < 1:
            yield Fault("stations", index, f"expected trucks >= 1, got {number}")
        elif units and number not in (0, listed):
            yield Fault(
                "stations", index, f"expected trucks {listed}, the units that unit.csv lists there, got {number}"
            )


def _kind_faults(
    fields: Mapping[str, Any], standards: Sequence[Any], kinds: Mapping[str, None], *, has_roster: bool
) -> Iterator[Fault]:
    """A fault for every kind that is named but has no units, or has units but is not named where all must be."""
    known = f"a kind of unit.csv ({listed(kinds)})" if has_roster else f"the kind {TRUCK}, without a unit.csv"
    for index, standard in enumerate(standards):
        if standard.kind is not UNREAD and standard.kind not in kinds:
            yield Fault("standards", index, not_among(known, standard.kind, kinds))
    if not standards and len(kinds) > 1:
        text = f"expected incident_type.csv to say which kinds go, with several kinds of units ({listed(kinds)})"
        yield Fault("units", None, text)
    of_busy = _by_kind(fields.get("busy_minutes"))
    for key, by_kind in (("busy_minutes", of_busy), ("turnout", fields.get("turnout_by_kind", {}))):
        for kind in by_kind:
            if kind not in kinds:
                yield Fault("city", None, f"{key}: {not_among(known, kind, kinds)}")
    needed = {standard.kind for standard in standards} or kinds.keys()
    for kind in kinds if isinstance(fields.get("busy_minutes"), Mapping) else ():
        if kind in needed and kind not in of_busy:
            yield Fault("city", None, f"expected busy_minutes for the kind {shown(kind)}, got none")


def standard_faults(standards: Sequence[Any], place: Place) -> Iterator[Fault]:
    """A fault for every standard that cannot be met, is there twice, or contradicts another one of its team."""
    first: dict[Any, int] = {}
    for index, standard in enumerate(standards):
        team, rule = (standard.type, standard.kind), (standard.arrivals, standard.target_minutes)
        if UNREAD in (*team, *rule, standard.trucks):
            continue
        if too_many := _too_many(standard.arrivals, standard.trucks):
            yield Fault("standards", index, too_many)
        if (before := first.setdefault((team, rule), index)) != index:
            again = f"expected each standard once, got that of {place('standards', before)} again"
            yield Fault("standards", index, again)
        for name in ("trucks", "busy_minutes"):
            value = getattr(standard, name)
            if value is None or value is UNREAD:
                continue
            before = first.setdefault((team, name), index)
            if (agreed := getattr(standards[before], name)) != value:
                same = f"as in {place('standards', before)}, which is about the same team"
                yield Fault("standards", index, f"expected {name} {agreed:g} {same}, got {value:g}")


def _type_faults(standards: Sequence[Any], demand: Sequence[Any]) -> Iterator[Fault]:
    """A fault for every demand point of an unknown type or with needs of its own, and for every type without any."""
    types = dict.fromkeys(standard.type for standard in standards)
    if UNREAD in types or not demand:
        return
    used = {point.type for point in demand}
    for index, point in enumerate(demand):
        if point.type is not UNREAD and point.type not in types:
            yield Fault("demand", index, not_among(f"a type of incident_type.csv ({listed(types)})", point.type, types))
        for field in _OWN_NEEDS:
            value = getattr(point, field)
            if value is not None and value is not UNREAD:
                text = f"expected no {field} beside incident_type.csv, which says it for every type, got {shown(value)}"
                yield Fault("demand", index, text)
    for index, standard in enumerate(standards):
        if UNREAD not in used and standard.type not in used:
            text = f"expected some row of demand.csv with the type {shown(standard.type)}, got none"
            yield Fault("standards", index, text)


def route_faults(links: Sequence[Any], stations: Sequence[Any], demand: Sequence[Any]) -> Iterator[Fault]:
    """A fault for every station without a route to some demand point.

    Stations that can reach one another reach the same nodes, so that one search is enough for all of them.
    """
    from scipy.sparse.csgraph import (  # here, because it takes a while to import
        breadth_first_order,
        connected_components,
    )

    ways = [(link.from_node_id, link.to_node_id) for link in links]
    ways += [(link.to_node_id, link.from_node_id) for link in links if not link.directed]
    wanted = dict.fromkeys(point.node_id for point in demand)
    names = dict.fromkeys([*(node_id for way in ways for node_id in way), *wanted, *(one.node_id for one in stations)])
    number = {node_id: place for place, node_id in enumerate(names)}
    starts, ends = np.array([(number[start], number[end]) for start, end in ways]).T
    graph = driving_graph(len(number), starts, ends, np.ones(len(ways)))
    part = connected_components(graph, connection="strong")[1].tolist()
    missed: dict[int, list[str]] = {}
    for index, station in enumerate(stations):
        here = number[station.node_id]
        if part[here] not in missed:
            reached = set(breadth_first_order(graph, here, return_predecessors=False).tolist())
            missed[part[here]] = [node_id for node_id in wanted if number[node_id] not in reached]
        if missing := missed[part[here]]:
            yield Fault("stations", index, f"expected a route to every demand point, got none to {listed(missing)}")
