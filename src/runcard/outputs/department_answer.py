"""The answer of a plan: which units go, of each kind, which standards they meet, and what else could go."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.city.address import Place, Spot
from runcard.city.model import Standard
from runcard.errors import InputError
from runcard.outputs.explain import Explanation, explain
from runcard.outputs.situation import find_point, idle_trucks
from runcard.outputs.words import expected_one_of, percent, team_words
from runcard.plan.fleet import Fleet, KindDecision
from runcard.plan.plan import Answer, Plan
from runcard.policy.base import Option
from runcard.policy.options import NUM_ALTERNATIVES


@dataclass(frozen=True, kw_only=True)
class KindAnswer:
    """What one kind sends: an explanation that names units, and the chance to miss each standard."""

    kind: str
    explanation: Explanation
    standards: tuple[tuple[Standard, float], ...]

    @property
    def notes(self) -> list[str]:
        """The chance to meet each standard, and when the units are there, in words."""
        met = [f"{one.rule}: {percent(1.0 - missed)}" for one, missed in self.standards]
        words = [f"Chance to meet the standards: {'; '.join(met)}."] if met else []
        return words + self.explanation.notes

    def document(self) -> dict[str, Any]:
        """The answer as plain values, ready for JSON."""
        names = ("arrivals", "target_minutes", "weight")
        met = [{name: getattr(one, name) for name in names} | {"p_miss": missed} for one, missed in self.standards]
        return {"kind": self.kind} | self.explanation.document() | ({"standards": met} if met else {})


@dataclass(frozen=True, kw_only=True)
class DepartmentAnswer:
    """Who goes to an incident, by kind, and why."""

    node_id: str
    type: str
    kinds: tuple[KindAnswer, ...]
    spot: Spot | None = None
    """Where the incident is, if it is an address, or if units are not at home."""
    area: str = ""
    """The demand point that is closest to it by road."""
    moved: Mapping[str, Spot] = field(default_factory=dict)
    """Where units are that are not at home."""
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What is to be known of the place and of units that are not at home, in words."""
        if self.spot is None:
            return []
        words = [self.spot.words] if self.spot.words else []
        if self.area != self.node_id:
            own = f"{self.node_id} is no demand point of such incidents; the closest by road is {self.area}"
            words.append(f"{own}. Driving times are to {self.node_id}, prices are those of the policy.")
        for unit_id, spot in self.moved.items():
            words.append(f"{unit_id} is free at {spot.node_id}: it has no turnout, and the price of its station.")
            words += [spot.words] if spot.words else []
        return [*words, *self.remarks]

    def address(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON; empty for a demand point with every unit at home."""
        if self.spot is None:
            return {}
        moved = {unit_id: spot.document() for unit_id, spot in self.moved.items()}
        return {"place": self.spot.document() | {"demand_point": self.area}, "moved": moved, "notes": self.notes}

    @property
    def headline(self) -> str:
        """What to do, in one sentence."""
        of_type = f" ({self.type})" if self.type else ""
        if len(self.kinds) == 1:
            return self.kinds[0].explanation.headline
        teams = [f"{team_words(one.explanation.decision.team)} ({one.kind})" for one in self.kinds]
        return f"Send {', '.join(teams[:-1])} and {teams[-1]} to {self.node_id}{of_type}."

    def document(self) -> dict[str, Any]:
        """The answer as plain values, ready for JSON: all kinds together, and then one by one.

        An alternative of all kinds together sends another team of one kind.
        """
        decisions = [one.explanation.decision for one in self.kinds]
        others = []
        for number, one in enumerate(decisions):
            for option in one.alternatives:
                changed: list[Option] = [*decisions[:number], option, *decisions[number + 1 :]]
                others.append((sum(each.total for each in changed), _together(changed)))
        others.sort(key=lambda other: other[0])
        return {
            "node": self.node_id,
            **({"type": self.type} if self.type else {}),
            **_together(decisions),
            "alternatives": [document for _, document in others[:NUM_ALTERNATIVES]],
            "kinds": [one.document() for one in self.kinds],
            **self.address(),
        }


def _together(options: Collection[Option]) -> dict[str, Any]:
    """The teams of all kinds as one."""
    return {
        "team": [unit for one in options for unit in one.team],
        "p_late": sum(one.p_late for one in options),
        "price": sum(one.price for one in options),
    }


def decided(
    plan: Plan,
    place: Place,
    incident_type: str | None,
    *,
    idle: str | None = None,
    busy: str | None = None,
    incident_class: int | None = None,
    moved: Mapping[str, Place] | None = None,
) -> Answer:
    """The decision of a department, from the words of a person: which units are idle, or which are busy.

    The place is a demand point, or with the city of the department any node or coordinates, and then units may be
    `moved`: free at other places than their stations.
    """
    if (idle is None) == (busy is None):
        raise InputError(f"expected the idle units or the busy ones, got {'neither' if idle is None else 'both'}")
    if plan.types and incident_class is not None:
        raise InputError("expected a type of incident and no class: the types of this city are its classes")
    if not plan.types and incident_type is not None:
        raise InputError(f"expected no type of incident: this city has none, got {incident_type!r}")
    if moved or not isinstance(place, str) or not (plan.ground is None or _known(plan, place, incident_type)):
        return _anywhere(plan, place, incident_type, idle, busy, incident_class, moved)
    node_id = place
    if plan.types:
        incident_type = _type(plan, node_id, incident_type)
    if not plan.unit_ids:  # no roster: stations stand for their trucks
        (fleet,) = plan.fleets
        return _by_station(fleet, node_id, incident_type or "", idle, busy, incident_class)
    free = idle_units(plan.unit_ids, idle, busy)
    if plan.types:
        return plan.decide(free, node_id, incident_type or "")
    (fleet,) = plan.fleets
    point = find_point(fleet.problem, node_id, incident_class)
    return Answer(node_id=node_id, type="", kinds=(fleet.decide(fleet.idle_trucks(free), point, free),))


def _by_station(
    fleet: Fleet, node_id: str, incident_type: str, idle: str | None, busy: str | None, incident_class: int | None
) -> Answer:
    """The decision of a city without a roster."""
    if incident_type:
        point = fleet.point(node_id, incident_type)
        assert point is not None  # `_type` has looked for it
    else:
        point = find_point(fleet.problem, node_id, incident_class)
    decision = fleet.decide(_trucks(fleet, idle, busy), point)
    return Answer(node_id=node_id, type=incident_type, kinds=(decision,))


def _trucks(fleet: Fleet, idle: str | None, busy: str | None) -> NDArray[np.int64]:
    """[I] the idle trucks of each station."""
    if idle is not None:
        return idle_trucks(fleet.problem, idle)
    return fleet.problem.trucks - idle_trucks(fleet.problem, str(busy), what="busy")


def _known(plan: Plan, node_id: str, incident_type: str | None) -> bool:
    """Whether the policies know a node as a demand point, of that type if one is given."""
    return any(
        point_id == node_id and incident_type in (None, of_point)
        for fleet in plan.fleets
        for point_id, of_point in zip(fleet.problem.point_ids, fleet.types, strict=True)
    )


def _anywhere(
    plan: Plan,
    place: Place,
    incident_type: str | None,
    idle: str | None,
    busy: str | None,
    incident_class: int | None,
    moved: Mapping[str, Place] | None,
) -> Answer:
    """The decision for any place, and with units that are not at home."""
    from runcard.plan.anywhere import NO_CITY, decide_anywhere

    if plan.ground is None:
        raise InputError(NO_CITY)
    free: Mapping[str, int] | frozenset[str]
    if plan.unit_ids:
        free = idle_units(plan.unit_ids, idle, busy)
    else:
        (fleet,) = plan.fleets
        free = dict(zip(fleet.problem.station_ids, _trucks(fleet, idle, busy).tolist(), strict=True))
    if plan.types:
        node_id = plan.ground.spots.find(place).node_id
        incident_type = _type_anywhere(plan, node_id, incident_type)
    return decide_anywhere(
        plan, free, place, incident_type or "", moved=moved,
        choose_point=lambda fleet, node_id: find_point(fleet.problem, node_id, incident_class),
    )  # fmt: skip


def _type_anywhere(plan: Plan, node_id: str, incident_type: str | None) -> str:
    """The type of an incident at any node; it may be left out where there is only one."""
    if incident_type is None and _known(plan, node_id, None):
        return _type(plan, node_id, None)
    if incident_type is None and len(plan.types) == 1:
        return plan.types[0]
    if incident_type is None:
        raise InputError(f"expected a type of incident, got none; choose one with --type: {', '.join(plan.types)}")
    if incident_type not in plan.types:
        raise InputError(expected_one_of("type of incident", plan.types, incident_type))
    return incident_type


def _type(plan: Plan, node_id: str, incident_type: str | None) -> str:
    """The type of an incident at a node, if there is such a one; it may be left out where there is only one."""
    here = dict.fromkeys(
        of_point
        for fleet in plan.fleets
        for point_id, of_point in zip(fleet.problem.point_ids, fleet.types, strict=True)
        if point_id == node_id
    )
    if not here:
        nodes = (point_id for fleet in plan.fleets for point_id in fleet.problem.point_ids)
        raise InputError(expected_one_of("demand point", nodes, node_id))
    if incident_type is None and len(here) == 1:
        return next(iter(here))
    if incident_type is None:
        raise InputError(f"node {node_id} has incidents of several types; choose one with --type: {', '.join(here)}")
    if incident_type not in here:
        wrong = expected_one_of("type of incident", here, incident_type)
        hint = "; a row of demand.csv with 0 incidents_per_day adds one" if incident_type in plan.types else ""
        raise InputError(f"node {node_id}: {wrong}{hint}")
    return incident_type


def idle_units(unit_ids: Collection[str], idle: str | None, busy: str | None) -> frozenset[str]:
    """The idle units: those that are named, or all but the busy ones that are; "all" and "none" are words, too."""
    words = idle if idle is not None else busy or ""
    named = {"all": frozenset(unit_ids), "none": frozenset[str]()}.get(words.strip())
    if named is None:
        listed = [word.strip() for word in words.split(",")]
        for word in listed:
            what = "idle" if idle is not None else "busy"
            if word not in unit_ids:
                choices = expected_one_of("unit", unit_ids, word, guess=False)
                raise InputError(f"{what} units: {choices}; or say just all or none")
            if listed.count(word) > 1:
                raise InputError(f"{what} units: expected every unit once, got {word} {listed.count(word)} times")
        named = frozenset(listed)
    return named if idle is not None else frozenset(unit_ids) - named


def explain_department(found: Answer) -> DepartmentAnswer:
    """The reasons of a decision."""
    kinds = tuple(_explained(one, found) for one in found.kinds)
    return DepartmentAnswer(
        node_id=found.node_id, type=found.type, kinds=kinds, spot=found.spot, area=found.area, moved=found.moved,
        remarks=found.notes,
    )  # fmt: skip


def _explained(one: KindDecision, found: Answer) -> KindAnswer:
    """The explanation of what one kind sends, in units where there is a roster."""
    fleet = one.fleet
    explanation = explain(fleet.policy, one.trucks, one.point, one.decision)
    missed = fleet.chances(one.point, one.decision)
    standards = tuple(zip(fleet.standards_at(one.point), missed, strict=True))
    place = f"{found.node_id} ({found.type})" if found.type else explanation.place
    explanation = replace(explanation, place=place, truck="truck" if not fleet.units else fleet.kind)
    if fleet.units:
        explanation = _in_units(explanation, one)
    return KindAnswer(kind=fleet.kind, explanation=explanation, standards=standards)


def _in_units(explanation: Explanation, one: KindDecision) -> Explanation:
    """The explanation with units in place of stations."""

    def of(option: Option) -> Any:
        return replace(option, team=one.fleet.unit_ids(option.team, one.idle))

    alternatives = tuple(of(other) for other in explanation.decision.alternatives)
    homes = {unit.unit_id: unit.station_id for unit in one.fleet.units if unit.unit_id in one.idle}
    return replace(
        explanation,
        decision=replace(of(explanation.decision), alternatives=alternatives),
        best_now=of(explanation.best_now),
        closest=of(explanation.closest),
        arrivals={one.fleet.unit_ids(team, one.idle): known for team, known in explanation.arrivals.items()},
        truck_prices={unit_id: explanation.truck_prices[home] for unit_id, home in homes.items()},
    )
