"""P(late) of every team at one place, best first: what a choice is made from when nothing else matters."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from runcard.city.address import Spot
from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import City, DemandPoint, Standard
from runcard.errors import InputError
from runcard.plan.ground import Ground
from runcard.plan.words import expected_one_of
from runcard.response.routes import find_routes
from runcard.response.table import response_table
from runcard.response.travel import outside_route


@dataclass(frozen=True)
class TeamLateness:
    """One team: station ids ("outside" for the rest), P(late), mean minutes to the first arrival, and shared links.

    `shared_links` counts the links that both of two trucks drive over; None where not two come from stations, or where
    the second of a station takes a road of its own.
    """

    team: tuple[str, ...]
    p_late: float
    mean_minutes: float
    shared_links: int | None
    last_minutes: float | None = None
    first_p90_minutes: float | None = None
    last_p90_minutes: float | None = None
    missed: tuple[float, ...] = ()
    """The chance to miss each standard, where the city has any; `p_late` is then their weighted sum."""


@dataclass(frozen=True, kw_only=True)
class ClassLateness:
    """The teams for one incident class (one row of demand.csv) of a node, best first."""

    name: str
    trucks: int
    arrivals: int
    """How many of them must be there by the target."""
    target_minutes: float
    incidents_per_day: float
    teams: tuple[TeamLateness, ...]
    kind: str = ""
    """The kind of units that go, where the city has a roster or standards."""
    type: str = ""
    standards: tuple[Standard, ...] = ()


def lateness_document(spot: Spot, classes: Sequence[ClassLateness]) -> dict[str, Any]:
    """The teams for a node as plain values, ready for JSON.

    `teams` are those of the node's incident class. A node with several has `classes` as well, with the teams of each,
    and `teams` are those of the first.
    """
    by_class = [_plain(one) for one in classes]
    place = {} if spot.coordinates is None else {"place": spot.document()}
    document = {"node": spot.node_id, **place, "teams": by_class[0]["teams"]}
    return document if len(by_class) == 1 and not classes[0].kind else document | {"classes": by_class}


def _plain(one: ClassLateness) -> dict[str, Any]:
    """A class as plain values; kinds and standards only where there are any."""
    found = asdict(one)
    for team in found["teams"]:
        del team["shared_links"]
        if not one.standards:
            del team["missed"]
    said = ("arrivals", "target_minutes", "weight")
    found["standards"] = [{name: getattr(standard, name) for name in said} for standard in one.standards]
    for name in ("kind", "type", "standards"):
        if not found[name]:
            del found[name]
    return found


def lateness_at(city: City, node_id: str, incident_type: str | None = None) -> list[ClassLateness]:
    """P(late) of every team that could be sent to a node, for each of its incident classes as in demand.csv.

    In a department that is for each kind that they need, in turn, and if wanted for one type of incident only. A node
    that is no demand point has incidents of every type, or without types those of the demand point that is closest by
    road; there are none a day.
    """
    if node_id not in city.node_numbers:
        raise InputError(expected_one_of(f"node of {city.name}", city.node_numbers, node_id))
    types = dict.fromkeys(standard.type for standard in city.standards if not city.plain)
    if incident_type is not None and incident_type not in types:
        raise InputError(f"node {node_id}: {expected_one_of('type of incident', types, incident_type)}")
    rows = [point for point in city.demand if point.node_id == node_id and incident_type in (None, point.type)]
    more = [] if rows else _incidents_at(city, node_id, incident_type)
    every = [one for kind in city.sent_kinds for one in _lateness_of_kind(city.of_kind(kind), node_id, more)]
    return [one for one in every if incident_type is None or one.type == incident_type]


def _incidents_at(city: City, node_id: str, incident_type: str | None) -> list[DemandPoint]:
    """The incident classes of a node that has none of its own."""
    if not city.plain:
        wanted = dict.fromkeys(point.type for point in city.demand) if incident_type is None else [incident_type]
        return [DemandPoint(node_id, 0.0, type=name) for name in wanted]
    ground = Ground(city)
    minutes = ground.minutes_to(node_id)
    area = min((point.node_id for point in city.demand), key=lambda name: float(minutes[ground.node_numbers[name]]))
    rows = (point for point in city.demand if point.node_id == area)
    return [replace(point, node_id=node_id, incidents_per_day=0.0) for point in rows]


def _lateness_of_kind(city: City, node_id: str, more: Sequence[DemandPoint]) -> list[ClassLateness]:
    """The same for a city of one kind, with more incident classes than it has."""
    types = {standard.type for standard in city.standards}
    if added := [point for point in more if city.plain or point.type in types]:
        # Trucks from outside come from as far as they do for its own demand points.
        links, _ = outside_route(city, find_routes(city))
        city = replace(city, demand=(*city.demand, *added), outside=replace(city.outside, links=links))
    points = [index for index, point in enumerate(city.demand) if point.node_id == node_id]
    if not points:
        return []
    table, classes = response_table(city, points=points, arrivals=True), []
    assert table.arrivals is not None
    arrivals = table.arrivals.last_minutes, table.arrivals.p90("first"), table.arrivals.p90("last")
    for place, number in enumerate(points):
        point, teams = city.demand[number], []
        first, *_ = rules = city.standards_of(point)
        trucks = first.trucks
        missed = np.array([one[:, place] for one in table.missed[: len(rules)]])
        p_late = (np.array([one.weight for one in rules]) @ missed).tolist()
        mean_minutes = table.mean_minutes[:, place].tolist()
        for team in np.flatnonzero(np.isfinite(p_late)).tolist():
            going = [i for i in table.teams.stations[team].tolist() if i >= 0]
            alike = len(going) == 2 and (going[0] != going[1] or city.driving.second_route == "same")
            ids = (*_ids(city, going), *[OUTSIDE_ID] * (trucks - len(going)))
            shared_links = int(table.routes.shared_links[going[0], going[1], number]) if alike else None
            own = tuple(missed[:, team].tolist()) if not city.plain else ()
            last, *p90 = (float(minutes[team, place]) for minutes in arrivals)
            one = TeamLateness(ids, p_late[team], mean_minutes[team], shared_links, last, p90[0], p90[1], own)
            teams.append(one)
        found = ClassLateness(
            name=point.name,
            trucks=trucks,
            arrivals=first.arrivals,
            target_minutes=first.target_minutes,
            incidents_per_day=point.incidents_per_day,
            teams=tuple(sorted(teams, key=lambda team: team.p_late)),
            kind=city.said(first.kind),
            type="" if city.plain else point.type,
            standards=() if city.plain else rules,
        )
        classes.append(found)
    return classes


def _ids(city: City, going: Sequence[int]) -> list[str]:
    """What the trucks of some stations are called: their units, the first of each station, or the stations."""
    names = [city.stations[i].station_id for i in going]
    units = [city.units_at[name][names[:n].count(name)] for n, name in enumerate(names)]
    return [unit.unit_id for unit in units] if city.has_roster else names
