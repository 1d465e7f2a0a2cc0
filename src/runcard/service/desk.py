"""A plan as the service asks it: lookups that take the same time in a town and in a city, found once.

`Plan.decide` says who goes. The desk says beforehand whether a request makes sense, and afterwards what the
answer is in plain values.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.address import Place
from runcard.city.conditions import OUTSIDE_ID, near
from runcard.city.model import City
from runcard.city.places import distance_metres, is_lonlat
from runcard.errors import InputError
from runcard.mdp.problem import P_LATE
from runcard.plan.answer import Answer
from runcard.plan.fleet import Fleet, KindDecision
from runcard.plan.plan import Plan
from runcard.plan.situation import Situation
from runcard.policy.base import Decision
from runcard.policy.options import first_in_order, team_ids

NO_TYPES: Final = ("",)


class Desk:
    """What is asked of the plan of one period."""

    def __init__(self, plan: Plan) -> None:
        assert plan.ground is not None
        self.plan, self.ground = plan, plan.ground
        self.unit_ids = frozenset(plan.unit_ids)
        self.types = plan.types or NO_TYPES

    @property
    def city(self) -> City:
        """The city of the plan."""
        return self.ground.city

    def warm_up(self) -> None:
        """Find what the first answers need."""
        _ = self.plan.types_at, self._rows  # made when they are first asked for

    def samples(self) -> list[tuple[str, str, int | None]]:
        """A demand point of every type, the type and a class, to try."""
        found: dict[str, str] = {}
        for area, types in self.plan.types_at.items():
            for one in types:
                found.setdefault(one, area)
        return [(area, one, None if self.plan.types else 1) for one, area in found.items()]

    def try_address(self) -> None:
        """Decide for a node that is no demand point: it reads the roads and loads what the first address would need."""
        area, incident_type, row = self.samples()[0]
        places = (node.node_id for node in self.city.nodes if not self.is_area(node.node_id))
        with suppress(InputError):  # no road may lead there
            self.decide(self.unit_ids, next(places, area), incident_type, incident_class=row)

    def is_area(self, node_id: str) -> bool:
        """Whether a node is a demand point."""
        return node_id in self.plan.types_at

    def has(self, place: Place, incident_type: str) -> bool:
        """Whether a place is a demand point of that type."""
        return isinstance(place, str) and incident_type in self.plan.types_at.get(place, ())

    def check_area(self, area: str) -> None:
        """Raise an InputError about an area that is none."""
        if area not in self.plan.types_at:
            if area in self.ground.node_numbers:
                raise InputError(f"area: expected a demand point, got {area!r}, a node of the roads: send it as node")
            raise InputError(f"area: expected a demand point, got {area!r}{near(area, list(self.plan.types_at))}")

    def decide(
        self,
        idle: frozenset[str],
        place: Place,
        incident_type: str,
        *,
        incident_class: int | None = None,
        moved: Mapping[str, Place] | None = None,
    ) -> Answer:
        """The answer of the plan."""
        return self.plan.decide(
            Situation(at=place, type=incident_type or None, idle=idle, moved=moved, row=incident_class)
        )

    def decide_by_order(
        self, idle: frozenset[str], area: str, incident_type: str, *, incident_class: int | None = None
    ) -> Answer:
        """Who goes by the order of the card, or by the closest first: without prices, so that it takes no time."""
        kinds = []
        for fleet in self.plan.fleets:
            point = fleet.point(area, incident_type, incident_class)
            if point is not None:
                order = fleet.problem.order if fleet.policy.fixed_order is None else fleet.policy.fixed_order
                trucks = fleet.idle_trucks(idle)
                number = first_in_order(fleet.problem, order, trucks, point)
                kinds.append(decided_team(fleet, point, trucks, idle, team_ids(fleet.problem, point, number)))
        return Answer(node_id=area, type=incident_type, kinds=tuple(kinds), ground=self.ground)

    @cached_property
    def _rows(self) -> Mapping[str, tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]]:
        """By type: its demand points, their x and their y."""
        node = {one.node_id: one for one in self.city.nodes}
        found = {}
        for name in self.types:
            areas = tuple(area for area, types in self.plan.types_at.items() if name in types)
            x = np.array([node[area].x_coord for area in areas])
            found[name] = (areas, x, np.array([node[area].y_coord for area in areas]))
        return found

    def nearest_area(self, x: float, y: float, incident_type: str) -> str:
        """The demand point of a type that is closest as the crow flies."""
        areas, area_x, area_y = self._rows[incident_type]
        return areas[int(distance_metres(area_x, area_y, x, y, lonlat=is_lonlat(area_x, area_y)).argmin())]


def decided_team(
    fleet: Fleet,
    point: int,
    trucks: NDArray[np.int64],
    idle: frozenset[str],
    team: tuple[str, ...],
    units: tuple[str, ...] | None = None,
) -> KindDecision:
    """The decision for a team of station ids that somebody else chose; its price is not known."""
    problem = fleet.problem
    number = problem.teams.number([problem.station_ids.index(one) for one in team if one != OUTSIDE_ID])
    decision = Decision(
        team=team, p_late=float(problem.measures[P_LATE][number, point]), price=float("nan"), alternatives=()
    )
    units = fleet.unit_ids(team, idle) if units is None else units
    return KindDecision(fleet=fleet, point=point, trucks=trucks, idle=idle, decision=decision, units=units)
