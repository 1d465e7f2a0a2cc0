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
from runcard.plan.words import counted, decimals_for, expected_one_of, in_decimals, incidents_a_day, unit_name
from runcard.response.routes import find_routes
from runcard.response.table import response_table
from runcard.response.travel import outside_route
from runcard.table import Table


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
    document = asdict(one)
    for team in document["teams"]:
        for name in ("shared_links",) if one.standards else ("shared_links", "missed"):
            del team[name]
    names = ("arrivals", "target_minutes", "weight")
    document["standards"] = [{name: getattr(standard, name) for name in names} for standard in one.standards]
    return {name: value for name, value in document.items() if value or name not in ("kind", "type", "standards")}


def lateness_at(city: City, node_id: str, incident_type: str | None = None) -> list[ClassLateness]:
    """P(late) of every team that could be sent to a node, for each of its incident classes as in demand.csv.

    In a department that is for each kind that they need, in turn, and if wanted for one type of incident only. A node
    that is no demand point has incidents of every type, or without types those of the demand point that is closest by
    road; there are none a day.
    """
    if node_id not in city.node_numbers:
        raise InputError(expected_one_of(f"node of {city.name}", city.node_numbers, node_id))
    if incident_type is not None and incident_type not in city.types:
        raise InputError(f"node {node_id}: {expected_one_of('type of incident', city.types, incident_type)}")
    here = [point for point in city.demand if point.node_id == node_id and incident_type in (None, point.type)]
    more = [] if here else _incidents_at(city, node_id, incident_type)
    every = [one for kind in city.sent_kinds for one in _lateness_of_kind(city.of_kind(kind), node_id, more)]
    return [one for one in every if incident_type is None or one.type == incident_type]


def _incidents_at(city: City, node_id: str, incident_type: str | None) -> list[DemandPoint]:
    """The incident classes of a node that has none of its own."""
    if city.types:
        wanted = dict.fromkeys(point.type for point in city.demand) if incident_type is None else [incident_type]
        return [DemandPoint(node_id, 0.0, type=name) for name in wanted]
    minutes, number = Ground(city).minutes_to(node_id), city.node_numbers
    area = min((point.node_id for point in city.demand), key=lambda name: float(minutes[number[name]]))
    rows = (point for point in city.demand if point.node_id == area)
    return [replace(point, node_id=node_id, incidents_per_day=0.0) for point in rows]


def _lateness_of_kind(city: City, node_id: str, more: Sequence[DemandPoint]) -> list[ClassLateness]:
    """The same for a city of one kind, with more incident classes than it has."""
    if added := [point for point in more if city.standards_of(point)]:
        # Trucks from outside come from as far as they do for its own demand points.
        links, _ = outside_route(city, find_routes(city))
        city = replace(city, demand=(*city.demand, *added), outside=replace(city.outside, links=links))
    points = [index for index, point in enumerate(city.demand) if point.node_id == node_id]
    if not points:
        return []
    table, classes = response_table(city, points=points, arrivals=True), []
    assert table.arrivals is not None
    arrivals = table.arrivals.means["last"], table.arrivals.p90("first"), table.arrivals.p90("last")
    for place, number in enumerate(points):
        point, teams, standards = city.demand[number], [], city.standards_of(city.demand[number])
        missed = np.array([one[:, place] for one in table.missed[: len(standards)]])
        p_late = np.array([standard.weight for standard in standards]) @ missed
        for team in np.flatnonzero(np.isfinite(p_late)).tolist():
            going = [i for i in table.teams.stations[team].tolist() if i >= 0]
            alike = len(going) == 2 and (going[0] != going[1] or city.driving.second_route == "same")
            last, first_p90, last_p90 = (float(minutes[team, place]) for minutes in arrivals)
            teams.append(
                TeamLateness(
                    team=(*_names(city, going), *[OUTSIDE_ID] * (standards[0].trucks - len(going))),
                    p_late=float(p_late[team]),
                    mean_minutes=float(table.mean_minutes[team, place]),
                    shared_links=int(table.routes.shared_links[going[0], going[1], number]) if alike else None,
                    last_minutes=last,
                    first_p90_minutes=first_p90,
                    last_p90_minutes=last_p90,
                    missed=tuple(missed[:, team].tolist()) if city.types else (),
                )
            )
        classes.append(
            ClassLateness(
                name=point.name,
                trucks=standards[0].trucks,
                arrivals=standards[0].arrivals,
                target_minutes=standards[0].target_minutes,
                incidents_per_day=point.incidents_per_day,
                teams=tuple(sorted(teams, key=lambda team: team.p_late)),
                kind=city.said(standards[0].kind),
                type=point.type if city.types else "",
                standards=standards if city.types else (),
            )
        )
    return classes


def _names(city: City, going: Sequence[int]) -> list[str]:
    """What the trucks of some stations are called: their units, the first of each station, or the stations."""
    homes = [city.stations[i].station_id for i in going]
    return [unit_name(city, city.units_at[home][homes[:n].count(home)]) for n, home in enumerate(homes)]


def class_line(one: ClassLateness) -> str:
    """An incident class in one line."""
    name = f"{one.name}, " if one.name else ""
    if one.kind:
        rules = "; ".join(standard.rule for standard in one.standards)
        what = f"{name}{one.type}, " if one.type else name
        return f"{what}{counted(one.trucks, one.kind)}, {rules}, {incidents_a_day(one.incidents_per_day)}"
    in_time = "" if one.arrivals == 1 else f", {one.arrivals} of them in time"
    return (
        f"{name}{counted(one.trucks, 'truck')}{in_time}, target {one.target_minutes:g} min, "
        f"{incidents_a_day(one.incidents_per_day)}"
    )


def lateness_table(lateness: ClassLateness, *, top: int | None = None) -> Table:
    """The teams of an incident class with P(late), best first; only the first `top` if given."""
    several = lateness.trucks > 1
    headings = ["team", "late\n%", "first\nmean min", "90 % in\nmin"]
    headings += ["last\nmean min", "90 % in\nmin"] if several else []
    if lateness.standards:
        headings[1] = "missed\nin all, %"
        headings[2:2] = [standard.rule.replace(" in ", "\nin ") + ", %" for standard in lateness.standards]
    if any(team.shared_links is not None for team in lateness.teams):
        headings.append("shared\nlinks")
    decimals = decimals_for((100.0 * team.p_late for team in lateness.teams), significant=2)
    rows = [
        (
            ", ".join(team.team),
            in_decimals(100.0 * team.p_late, decimals),
            *(in_decimals(100.0 * missed, decimals) for missed in team.missed),
            f"{team.mean_minutes:.3f}",
            f"{team.first_p90_minutes:.2f}",
            *([f"{team.last_minutes:.3f}", f"{team.last_p90_minutes:.2f}"] if several else []),
            "" if team.shared_links is None else str(team.shared_links),
        )[: len(headings)]
        for team in lateness.teams[:top]
    ]
    return Table(headings, rows)
