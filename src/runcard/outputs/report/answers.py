"""Who goes to each demand point with every unit idle: recommended, closest first, and what the difference gains.

With c(a) the cost of team a now and p(a) its price (see `policy/base.py`), sending the recommended team a in place of
that of closest-first, b, is expected to gain c(b) + p(b) - c(a) - p(a): missed standards, unless the city minimises
something else.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.mdp.problem import P_LATE, DispatchProblem
from runcard.outputs.report.solved import Solved
from runcard.policy.base import Policy
from runcard.policy.closest_first import quick_closest_first
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
    problem, found = policy.problem, []
    late = problem.measures[P_LATE]
    points = np.arange(problem.num_points)
    pairs = (one.teams(problem.trucks, points).tolist() for one in (policy, quick_closest_first(problem)))
    for point, (team, closest) in enumerate(zip(*pairs, strict=True)):
        gain = 0.0
        if team != closest:
            prices = policy.prices(problem.trucks, np.array([team, closest]))
            gain = float(problem.cost[closest, point] + prices[1] - problem.cost[team, point] - prices[0])
        found.append(
            AreaAnswer(
                point=point,
                team=_ranked(problem, team, point),
                closest=_ranked(problem, closest, point),
                gain=gain,
                missed=float(late[team, point]),
                closest_missed=float(late[closest, point]),
            )
        )
    return tuple(found)


def _ranked(problem: DispatchProblem, team: int, point: int) -> tuple[int, ...]:
    """The stations of a team, one for each unit, the closest first."""
    members = [i for i in problem.teams.stations[team].tolist() if i >= 0]
    return tuple(sorted(members, key=problem.order[point].tolist().index))


def far_units(solved: Solved, kind: str, answers: tuple[AreaAnswer, ...]) -> list[FarUnit]:
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
