"""What looks absurd of who goes with every unit idle: units from far away, in place of closer ones."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from runcard.assess.assessment import Assessment
from runcard.plan.everywhere import Everywhere
from runcard.response.routes import find_routes

FAR_TIMES: Final = 2.0
FAR_MINUTES: Final = 2.0
"""A unit is far away if it drives more than so many times as long as the closest one, and so many minutes longer."""


@dataclass(frozen=True, kw_only=True)
class FarUnit:
    """A recommended unit that drives far longer than the one of closest-first, with every unit idle."""

    kind: str
    node_id: str
    type: str
    station: int
    minutes: float
    closest: int
    closest_minutes: float
    target_minutes: float


def far_units(solved: Assessment, kind: str, sent: Everywhere) -> list[FarUnit]:
    """The recommended units that look absurd: far away, or beyond a standard that those of closest-first would meet.

    For each standard the unit is looked at that it is about: the first, the second, ... to arrive.
    """
    seen, departing = solved.city.of_kind(kind), np.flatnonzero(sent.teams != sent.closest.teams).tolist()
    if not departing:
        return []
    minutes = find_routes(seen).drive_minutes + seen.turnout.mean_minutes  # [I, J] until a unit is there
    found: dict[tuple[str, str, int], FarUnit] = {}
    for place in departing:
        point = int(sent.points[place])
        demand, teams = seen.demand[point], [of.stations[place].tolist() for of in (sent, sent.closest)]
        for standard in seen.standards_of(demand):
            own, other = (team[standard.arrivals - 1] if standard.arrivals <= len(team) else -1 for team in teams)
            if own == other or min(own, other) < 0:
                continue
            drive, least = float(minutes[own, point]), float(minutes[other, point])
            is_far = drive > FAR_TIMES * least and drive > FAR_MINUTES + least + 1e-6
            if is_far or drive > standard.target_minutes >= least:
                found[demand.node_id, demand.type, own] = FarUnit(
                    kind=kind, node_id=demand.node_id, type=demand.type, station=own, minutes=drive, closest=other,
                    closest_minutes=least, target_minutes=standard.target_minutes,
                )  # fmt: skip
    return list(found.values())
