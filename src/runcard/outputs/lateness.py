"""P(late) of every team at one place, best first: what a choice is made from when nothing else matters."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import City
from runcard.errors import InputError
from runcard.outputs.words import expected_one_of
from runcard.response.table import response_table


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


def lateness_document(node_id: str, classes: Sequence[ClassLateness]) -> dict[str, Any]:
    """The teams for a node as plain values, ready for JSON.

    `teams` are those of the node's incident class. A node with several has `classes` as well, with the teams of each,
    and `teams` are those of the first.
    """
    by_class = [asdict(one) for one in classes]
    for team in (team for one in by_class for team in one["teams"]):
        del team["shared_links"]
    document = {"node": node_id, "teams": by_class[0]["teams"]}
    return document if len(by_class) == 1 else document | {"classes": by_class}


def lateness_at(city: City, node_id: str) -> list[ClassLateness]:
    """P(late) of every team that could be sent to a node, for each of its incident classes as in demand.csv."""
    points = [index for index, point in enumerate(city.demand) if point.node_id == node_id]
    if not points:
        if any(node.node_id == node_id for node in city.nodes):
            raise InputError(f"node {node_id!r} of {city.name} is no demand point: no row of demand.csv names it")
        nodes = (point.node_id for point in city.demand)
        raise InputError(expected_one_of(f"demand point of {city.name}", nodes, node_id))
    table, classes = response_table(city, points=points), []
    for place, number in enumerate(points):
        point, teams = city.demand[number], []
        trucks = city.trucks_for(point)
        p_late, mean_minutes = table.p_late[:, place].tolist(), table.mean_minutes[:, place].tolist()
        for team in np.flatnonzero(np.isfinite(p_late)).tolist():
            going = [i for i in table.teams.stations[team].tolist() if i >= 0]
            alike = len(going) == 2 and (going[0] != going[1] or city.driving.second_route == "same")
            ids = (*(city.stations[i].station_id for i in going), *[OUTSIDE_ID] * (trucks - len(going)))
            shared_links = int(table.routes.shared_links[going[0], going[1], number]) if alike else None
            teams.append(TeamLateness(ids, p_late[team], mean_minutes[team], shared_links))
        one = ClassLateness(
            name=point.name,
            trucks=trucks,
            arrivals=point.arrivals or city.arrivals_per_incident,
            target_minutes=city.standards_of(point)[0].target_minutes,
            incidents_per_day=point.incidents_per_day,
            teams=tuple(sorted(teams, key=lambda team: team.p_late)),
        )
        classes.append(one)
    return classes
