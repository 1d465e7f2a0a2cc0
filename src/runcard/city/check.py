"""What must hold for a city: every field, reference and route is checked once, and every fault is collected.

The same checks serve a city built in memory and one read from a folder. So a `Fault` names its table and the position
in it. Whoever raises the error turns that into words: `stations[1]` here, `station.csv row 3` in a folder.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from runcard.city.conditions import (
    COLUMN_CONDITIONS,
    LEAST_CV,
    LEAST_RATE,
    MAX_NAMED,
    OPTIONAL_TABLES,
    REFERENCE,
    SETTING_CONDITIONS,
    STATION_REFERENCE,
    TABLE_ATTRIBUTES,
    UNIQUE,
    UNREAD,
    UNSTATED,
    USES,
    Fault,
    Place,
    is_team_size,
    plain,
    shown,
)
from runcard.city.periods import ALWAYS, period_faults
from runcard.city.roster import department_faults
from runcard.errors import CityError

if TYPE_CHECKING:
    from runcard.city.model import City, Objective


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


def check_city(city: "City") -> None:
    """Raise one CityError that lists every fault of the city; return nothing if there is none."""
    if _taken_as_sound.get():
        return
    settings = {key: attrgetter(key)(city) for key in SETTING_CONDITIONS}
    settings["turnout_by_kind"] = {kind: asdict(turnout) for kind, turnout in city.turnout_by_kind.items()}
    if city.periods not in ((), (ALWAYS,)):
        settings["periods"] = city.periods
    tables = {table: getattr(city, attribute) for table, attribute in TABLE_ATTRIBUTES.items()}
    for table in OPTIONAL_TABLES:
        if not tables[table]:
            del tables[table]
    if "unit" in tables:  # it is counted again, whatever it was before
        tables["station"] = [replace(station, trucks=0) for station in tables["station"]]

    def place(table: str, index: int | None) -> str:
        if table == "city":
            return ""
        return TABLE_ATTRIBUTES[table] + ("" if index is None else f"[{index}]")

    if faults := [fault_words(fault, place) for fault in find_faults(settings, tables, place)]:
        raise CityError(f"city {shown(city.name)}", faults)


def objective_faults(objective: "Objective") -> list[str]:
    """Every fault of an objective that belongs to no city."""
    return list(_setting_faults({"objective.minimise": objective.minimise, "objective.weight": objective.weight}))


def fault_words(fault: Fault, place: Place) -> str:
    """A fault in words, with its place."""
    where = place(fault.table, fault.index)
    return f"{where}: {fault.text}" if where else fault.text


def find_faults(
    settings: Mapping[str, Any],
    tables: Mapping[str, Sequence[Any]],
    place: Place,
    *,
    routes: bool = True,
    unread: Collection[str] = (),
) -> list[Fault]:
    """Every fault of a city given as settings and tables; a setting or table that is absent is not checked.

    Routes are checked only if `routes` is set and all else is sound. Otherwise one link that could not be read would
    make half the city unreachable.
    """
    settings = dict(settings)
    periods = settings.pop("periods", ())
    faults = [Fault("city", None, text) for text in _setting_faults(settings)]
    types = list(dict.fromkeys(point.type for point in tables.get("demand", ()))) or [UNREAD]
    faults += [Fault("city", None, text) for text in period_faults(periods, types) if periods]
    for table, rows in tables.items():
        faults += _table_faults(table, rows, place)
    if "incident_type" not in tables:
        faults += _arrival_faults(settings, tables.get("demand", ()))
    faults += _reference_faults(tables)
    try:
        faults += list(department_faults(settings, tables, place, unread))
    except (TypeError, AttributeError, ValueError):
        if not faults:  # else it is because of those
            raise
    if routes and not faults:
        faults += route_faults(tables["link"], tables["station"], tables["demand"])
    return faults


def _reference_faults(tables: Mapping[str, Sequence[Any]]) -> Iterator[Fault]:
    """A fault for every row that names a node or a station that is not there."""
    for condition, table, id_field in ((REFERENCE, "node", "node_id"), (STATION_REFERENCE, "station", "station_id")):
        known = {getattr(row, id_field) for row in tables.get(table, ())}
        if not known or UNREAD in known:
            continue
        for name, rows in tables.items():
            for field in (field for field, of_field in COLUMN_CONDITIONS[name].items() if of_field is condition):
                for index, row in enumerate(rows):
                    value = getattr(row, field)
                    if value not in known and value is not UNREAD:
                        yield Fault(name, index, f"expected {field} {condition.words}, got {shown(value)}")


def _setting_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """The faults of each setting on its own, and of those that do not fit together, if each of them is sound."""
    sound = {key: value for key, value in settings.items() if value is not UNREAD}
    for key, value in settings.items():
        if key == "turnout_by_kind" or (key == "busy_minutes" and isinstance(value, Mapping)):
            del sound[key]
            yield from _by_kind_faults(key, value)
        elif fault := SETTING_CONDITIONS[key].fault(key, value):
            del sound[key]
            yield fault
    unsound = settings.keys() - sound
    known = UNSTATED | sound
    for key, (chooser, words, users, needed) in USES.items():
        choice, value = known[chooser], known.get(key)
        if unsound & {chooser, key}:
            continue
        if value is not None and choice not in users:
            yield f"expected no {key} for {words} {choice}, which does not use it, got {value!r}"
        elif value is None and choice in users and needed:
            if (key, choice) == ("driving.cv", "gamma"):
                if known.get("driving.scale_minutes") is None and "driving.scale_minutes" not in unsound:
                    yield f"expected {key} or driving.scale_minutes, one of which {words} {choice} needs, got none"
                continue
            yield f"expected {key}, which {words} {choice} needs, got none"
        elif value is not None and users is LEAST_CV and value < LEAST_CV[choice]:
            yield f"expected {key} >= {LEAST_CV[choice]:g} for the model {choice}, got {value!r}"
    if known["driving.model"] == "gamma" and None not in (known.get("driving.cv"), known.get("driving.scale_minutes")):
        yield "expected driving.cv or driving.scale_minutes, got both"
    if known.get("driving.coupled_branch") is not None and (shared := known.get("shared_delay", 1.0)) != 1.0:
        yield (
            "expected no shared_delay beside driving.coupled_branch, whose chance is that of its branch, "
            f"got {shown(shared)}"
        )
    varied = known.get("turnout.cv") is not None or known["turnout.model"] != "exponential"
    if varied and known.get("turnout.mean_minutes", 0.0) == 0.0 and "turnout.mean_minutes" not in unsound:
        yield "expected turnout.mean_minutes > 0 beside turnout.model or turnout.cv, got 0"


def _by_kind_faults(key: str, by_kind: Mapping[str, Any]) -> Iterator[str]:
    """The faults of busy minutes, or of turnout, that are given for each kind."""
    for kind, value in by_kind.items():
        if key == "busy_minutes":
            if fault := SETTING_CONDITIONS[key].fault(f"{key}.{plain(kind)}", value):
                yield fault
            continue
        for fault in _setting_faults({f"turnout.{field}": found for field, found in value.items()}):
            yield fault.replace("turnout.", f"turnout.{plain(kind)}.")


def _arrival_faults(settings: Mapping[str, Any], demand: Sequence[Any]) -> Iterator[Fault]:
    """A fault wherever an incident needs the arrival of more trucks than are sent."""
    sent, wanted = settings.get("trucks_per_incident", 2), settings.get("arrivals_per_incident", 1)
    if not (is_team_size(sent) and is_team_size(wanted)):
        return
    if wanted > sent:
        words = "expected arrivals_per_incident <= trucks_per_incident"
        yield Fault("city", None, f"{words}, got {wanted} of {sent} trucks")
        return
    for index, point in enumerate(demand):
        trucks = sent if point.trucks is None else point.trucks
        arrivals = wanted if point.arrivals is None else point.arrivals
        if is_team_size(trucks) and is_team_size(arrivals) and arrivals > trucks:
            yield Fault("demand", index, f"expected arrivals <= trucks, got {arrivals} of {trucks} trucks")


def _table_faults(table: str, rows: Sequence[Any], place: Place) -> Iterator[Fault]:
    """The faults of one table on its own: no rows, a field out of range, an id twice, no incidents at all."""
    if not rows:
        yield Fault(table, None, "expected at least one row, got none")
        return
    for field, condition in COLUMN_CONDITIONS[table].items():
        for index, row in enumerate(rows):
            value = getattr(row, field)
            # See `roster.py`: these depend on other tables.
            later = (table, field) == ("demand", "type") or ((table, field) == ("station", "trucks") and value == 0)
            if not later and (fault := condition.fault(field, value)):
                yield Fault(table, index, fault)
    first: dict[Any, int] = {}
    for index, value in enumerate(getattr(row, UNIQUE[table]) for row in rows if table in UNIQUE):
        if value is not UNREAD and first.setdefault(value, index) != index:
            again = f"got {shown(value)} again (first at {place(table, first[value])})"
            yield Fault(table, index, f"expected {UNIQUE[table]} to be unique, {again}")
    if table == "demand":
        rates = [point.incidents_per_day for point in rows]
        if all(rate == 0.0 for rate in rates):
            yield Fault(table, None, "expected at least one incidents_per_day > 0, got none")
        elif all(isinstance(rate, float | int) and 0.0 <= rate < LEAST_RATE for rate in rates):
            yield Fault(table, None, f"expected at least one incidents_per_day >= {LEAST_RATE:g}, got {max(rates)!r}")


def route_faults(links: Sequence[Any], stations: Sequence[Any], demand: Sequence[Any]) -> Iterator[Fault]:
    """A fault for every station without a route to some demand point.

    Stations that can reach one another reach the same nodes, so that one search is enough for all of them.
    """
    from scipy.sparse import csr_array  # here, because it takes a while to import
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    ways = [(link.from_node_id, link.to_node_id) for link in links]
    ways += [(link.to_node_id, link.from_node_id) for link in links if not link.directed]
    wanted = dict.fromkeys(point.node_id for point in demand)
    names = dict.fromkeys([*(node_id for way in ways for node_id in way), *wanted, *(one.node_id for one in stations)])
    number = {node_id: place for place, node_id in enumerate(names)}
    ends = np.array([(number[start], number[end]) for start, end in ways]).T
    graph = csr_array((np.ones(len(ways)), (ends[0], ends[1])), shape=(len(number), len(number)))
    part = connected_components(graph, connection="strong")[1].tolist()
    missed: dict[int, list[str]] = {}
    for index, station in enumerate(stations):
        here = number[station.node_id]
        if part[here] not in missed:
            reached = set(breadth_first_order(graph, here, return_predecessors=False).tolist())
            missed[part[here]] = [node_id for node_id in wanted if number[node_id] not in reached]
        if found := missed[part[here]]:
            named = ", ".join(found[:MAX_NAMED])
            more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
            yield Fault("station", index, f"expected a route to every demand point, got none to {named}{more}")
