"""A plan as the service asks it: lookups that take the same time in a town and in a city, found once.

`Plan.decide` says who goes. The desk says beforehand whether a request makes sense, and afterwards what the
answer is in plain values.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.address import Place
from runcard.city.conditions import OUTSIDE_ID, near
from runcard.city.model import City, Standard
from runcard.city.places import distance_metres, is_lonlat
from runcard.errors import InputError
from runcard.mdp.problem import P_LATE
from runcard.outputs.kind_document import kind_document
from runcard.outputs.words import expected_one_of
from runcard.plan.fleet import Fleet, KindDecision
from runcard.plan.plan import Answer, Plan
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

    @cached_property
    def _types_at(self) -> Mapping[str, tuple[str, ...]]:
        """The types of each demand point; "" without types."""
        found: dict[str, dict[str, None]] = {}
        for fleet in self.plan.fleets:
            for node_id, of_type in zip(fleet.problem.point_ids, fleet.types, strict=True):
                found.setdefault(node_id, {})[of_type] = None
        return {node_id: tuple(types) for node_id, types in found.items()}

    @cached_property
    def _classes(self) -> Mapping[str, tuple[int, ...]]:
        """In a city without types: the rows of each demand point."""
        found: dict[str, list[int]] = {}
        if not self.plan.types:
            for number, node_id in enumerate(self.plan.fleets[0].problem.point_ids):
                found.setdefault(node_id, []).append(number)
        return {node_id: tuple(rows) for node_id, rows in found.items()}

    def warm_up(self) -> None:
        """Find what the first answers need."""
        _ = self._types_at, self._classes, self._rows  # made when they are first asked for

    def samples(self) -> list[tuple[str, str, int | None]]:
        """A demand point of every type, the type and a class, to try."""
        found: dict[str, str] = {}
        for area, types in self._types_at.items():
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
        return node_id in self._types_at

    def has(self, place: Place, incident_type: str) -> bool:
        """Whether a place is a demand point of that type."""
        return isinstance(place, str) and incident_type in self._types_at.get(place, ())

    def type_of(self, place: Place, given: str | None) -> str:
        """The type of an incident; it may be left out where there is only one."""
        if given is not None and given in self.types and given:
            return given
        if given is not None:
            if self.types == NO_TYPES:
                raise InputError(f"type: expected none, this city has no types of incidents, got {given!r}")
            raise InputError(f"type: {expected_one_of('type of incident', self.types, given)}")
        here = self._types_at.get(place, self.types) if isinstance(place, str) else self.types
        if len(here) > 1:
            raise InputError(f"type: expected one of several types of incidents ({', '.join(here)}), got none")
        return here[0]

    def row_of(self, node_id: str, incident_class: int | None) -> int:
        """In a city without types: the row of a demand point."""
        rows = self._classes[node_id]
        if incident_class is None and len(rows) > 1:
            raise InputError(f"class: expected a number, area {node_id} has {len(rows)} classes of incidents, got none")
        if incident_class is not None and incident_class > len(rows):
            raise InputError(f"class: expected 1 to {len(rows)} in area {node_id}, got {incident_class}")
        return rows[(incident_class or 1) - 1]

    def check_area(self, area: str) -> None:
        """Raise an InputError about an area that is none."""
        if area not in self._types_at:
            if area in self.ground.node_numbers:
                raise InputError(f"area: expected a demand point, got {area!r}, a node of the roads: send it as node")
            raise InputError(f"area: expected a demand point, got {area!r}{near(area, list(self._types_at))}")

    def decide(
        self,
        idle: frozenset[str],
        place: Place,
        incident_type: str,
        *,
        incident_class: int | None = None,
        moved: Mapping[str, Place] | None = None,
    ) -> Answer:
        """The decision of the policy, as `Plan.decide` has it."""
        if self.plan.types:
            if incident_class is not None:
                raise InputError("class: expected none, the types of this city are its classes")
            return self.plan.decide(idle, place, incident_type, moved=moved)
        (fleet,) = self.plan.fleets
        if moved or not self.has(place, ""):
            from runcard.plan.anywhere import decide_anywhere  # it takes a while to import

            return decide_anywhere(
                self.plan, idle, place, moved=moved,
                choose_point=lambda _, node_id: self.row_of(node_id, incident_class),
            )  # fmt: skip
        point = self.row_of(str(place), incident_class)
        one = fleet.decide(fleet.idle_trucks(idle), point, idle)
        return Answer(node_id=str(place), type="", kinds=(one,))

    def decide_by_order(
        self, idle: frozenset[str], area: str, incident_type: str, *, incident_class: int | None = None
    ) -> Answer:
        """Who goes by the order of the card, or by the closest first: without prices, so that it takes no time."""
        kinds = []
        for fleet in self.plan.fleets:
            typed = bool(self.plan.types)
            point = fleet.point(area, incident_type) if typed else self.row_of(area, incident_class)
            if point is not None:
                order = getattr(fleet.policy, "order", fleet.problem.order)
                trucks = fleet.idle_trucks(idle)
                number = first_in_order(fleet.problem, order, trucks, point)
                kinds.append(decided_team(fleet, point, trucks, idle, team_ids(fleet.problem, point, number)))
        return Answer(node_id=area, type=incident_type, kinds=tuple(kinds))

    @cached_property
    def _rows(self) -> Mapping[str, tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]]:
        """By type: its demand points, their x and their y."""
        node = {one.node_id: one for one in self.city.nodes}
        found = {}
        for name in self.types:
            areas = tuple(area for area, types in self._types_at.items() if name in types)
            x = np.array([node[area].x_coord for area in areas])
            found[name] = (areas, x, np.array([node[area].y_coord for area in areas]))
        return found

    def nearest_area(self, x: float, y: float, incident_type: str) -> str:
        """The demand point of a type that is closest as the crow flies."""
        areas, area_x, area_y = self._rows[incident_type]
        return areas[int(distance_metres(area_x, area_y, x, y, lonlat=is_lonlat(area_x, area_y)).argmin())]

    def document(
        self,
        found: Answer,
        *,
        incident_class: int | None = None,
        order: str | None = None,
        minutes: bool = True,
    ) -> dict[str, Any]:
        """A decision as plain values, ready for JSON: who goes of each kind, and why."""
        area = found.area or found.node_id
        kinds = [
            kind_document(one, self._standards_at(one, area, incident_class), order=order, minutes=minutes)
            for one in found.kinds
        ]
        price: float | None = 0.0
        for one in kinds:
            price = None if price is None or one["price"] is None else price + one["price"]
        return {
            "node": found.node_id,
            "area": area,
            "type": found.type,
            "team": [unit for one in kinds for unit in one["units"]],
            "units": {one["kind"]: one["units"] for one in kinds},
            "p_late": sum(one["p_late"] for one in kinds),
            "price": price,
            "kinds": kinds,
            "reason": " ".join(one["reason"] for one in kinds),
            "notes": _notes(found, area),
        }

    def _standards_at(self, one: KindDecision, area: str, incident_class: int | None) -> tuple[Standard, ...]:
        """What counts; in a city without standards that is its target."""
        return one.fleet.standards_at(one.point) or (self._standards[self.row_of(area, incident_class)],)

    @cached_property
    def _standards(self) -> tuple[Standard, ...]:
        seen = self.ground.seen_by(self.plan.fleets[0])
        return tuple(seen.standards_of(point)[0] for point in seen.demand)


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


def _notes(found: Answer, area: str) -> list[str]:
    """What is to be known of the place and of units that are not at home, in words."""
    if found.spot is None:
        return list(found.notes)
    words = [found.spot.words] if found.spot.words else []
    if area != found.node_id:
        words.append(f"{found.node_id} is no demand point of such incidents; the closest by road is {area}.")
    for unit_id, spot in found.moved.items():
        words.append(f"{unit_id} is free at {spot.node_id}, not at home.")
        words += [spot.words] if spot.words else []
    return [*words, *found.notes]
