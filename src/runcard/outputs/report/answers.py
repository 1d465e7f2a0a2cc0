"""Who goes to each demand point with every unit idle: recommended, closest first, and what the difference gains.

With c(a) the cost of team a now and p(a) its price (see `policy/base.py`), sending the recommended team a in place of
that of closest-first, b, is expected to gain c(b) + p(b) - c(a) - p(a): missed standards, unless the city minimises
something else.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.assess.assessment import Assessment
from runcard.city.model import City
from runcard.plan.everywhere import everywhere
from runcard.plan.fleet import fleet_of
from runcard.policy.base import Policy
from runcard.response.routes import find_routes

FAR_TIMES: Final = 2.0
FAR_MINUTES: Final = 2.0
"""A unit is far away if it drives more than so many times as long as the closest one, and so many minutes longer."""


@dataclass(frozen=True, kw_only=True)
class AreaAnswer:
    """The teams of one demand point, as numbers of stations, the closest first."""

    point: int
    team: tuple[int, ...]
    closest: tuple[int, ...]
    gain: float
    """What the recommended team is expected to gain; 0 where it is the same."""
    missed: float
    """The standards that the recommended team is expected to miss now."""
    closest_missed: float

    @property
    def departs(self) -> bool:
        """Whether the recommended team is another one."""
        return self.team != self.closest


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


def answers_of(policy: Policy) -> tuple[AreaAnswer, ...]:
    """The answer of a policy for each demand point."""
    sent = everywhere(fleet_of(policy))
    teams = ([tuple(i for i in team if i >= 0) for team in one.stations.tolist()] for one in (sent, sent.closest))
    missed = (one.missed_in_all.tolist() for one in (sent, sent.closest))
    columns = (sent.points.tolist(), *teams, sent.gains().tolist(), *missed)
    return tuple(
        AreaAnswer(point=point, team=team, closest=closest, gain=gain, missed=own, closest_missed=other)
        for point, team, closest, gain, own, other in zip(*columns, strict=True)
    )


def far_units(solved: Assessment, kind: str, answers: tuple[AreaAnswer, ...]) -> list[FarUnit]:
    """The recommended units that look absurd: far away, or beyond a standard that those of closest-first would meet.

    For each standard the unit is looked at that it is about: the first, the second, ... to arrive.
    """
    seen, departing = solved.city.of_kind(kind), [one for one in answers if one.departs]
    if not departing:
        return []
    minutes = _minutes(seen)
    found: dict[tuple[str, str, int], FarUnit] = {}
    for answer in departing:
        demand = seen.demand[answer.point]
        for standard in seen.standards_of(demand):
            rank = standard.arrivals - 1
            if rank >= min(len(answer.team), len(answer.closest)) or answer.team[rank] == answer.closest[rank]:
                continue
            own, other = answer.team[rank], answer.closest[rank]
            drive, least = float(minutes[own, answer.point]), float(minutes[other, answer.point])
            is_far = drive > FAR_TIMES * least and drive > FAR_MINUTES + least + 1e-6
            if is_far or drive > standard.target_minutes >= least:
                found[demand.node_id, demand.type, own] = FarUnit(
                    kind=kind, node_id=demand.node_id, type=demand.type, station=own, minutes=drive, closest=other,
                    closest_minutes=least, target_minutes=standard.target_minutes,
                )  # fmt: skip
    return list(found.values())


def _minutes(city: City) -> NDArray[np.float64]:
    """[I, J] the mean minutes from the call until a unit of each station is there."""
    found: NDArray[np.float64] = find_routes(city).drive_minutes + city.turnout.mean_minutes
    return found
