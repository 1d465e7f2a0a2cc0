"""Who answers when a policy does not in time: the order of a card, or the closest first. It takes no time to find.

For a place that is no demand point, the card is that of the closest one as the crow flies, and units that are free
elsewhere count as at home; the answer says so.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.places import distance_metres, is_lonlat
from runcard.errors import InputError
from runcard.mdp.problem import P_LATE
from runcard.outputs.cards.answer import decide_by_cards
from runcard.outputs.cards.csv_file import CARDS_ENDING, CardFile, read_cards
from runcard.plan.answer import Answer
from runcard.plan.fleet import Fleet, KindDecision
from runcard.plan.plan import Plan
from runcard.plan.reasons import BY_TIME, ON_CARD
from runcard.policy.base import Decision
from runcard.policy.options import first_in_order, team_ids, team_number
from runcard.service.policies import CLOSEST_FIRST, LoadedPolicy, PolicyStore, load_policy, version_of

if TYPE_CHECKING:
    from runcard.service.answers import Asked


class Instead(NamedTuple):
    """The decision of the fallback: its document, how it was made, and the version of the file that it is from."""

    document: dict[str, Any]
    method: str
    version: str


class Fallback:
    """Closest-first, or the orders or the cards of a file."""

    def __init__(self, store: PolicyStore, path: Path | None = None) -> None:
        self._store = store
        self._policy: LoadedPolicy | None = None
        self._cards: CardFile | None = None
        if path is not None and path.suffix.lower() == CARDS_ENDING:
            self._cards, self._cards_version = read_cards(path), version_of(path)
            _check_cards(self._cards, store)
        elif path is not None:
            self._policy = load_policy(path)
            store.check(self._policy)
            if not all(fleet.policy.fixed_order is not None for fleet in self._policy.plan.fleets):
                raise InputError(
                    f"{path}: expected a quick fallback (closest-first, fixed-card, or run cards as .csv), "
                    f"got {self._policy.method}"
                )

    def decide(self, asked: "Asked") -> Instead:
        """Who goes instead."""
        area, notes = _area_of(asked)
        spot, remarks = asked.spot, tuple(notes)
        policy = self._store.by_name[CLOSEST_FIRST]
        if self._policy is not None and (not self._policy.periods or asked.period in self._policy.plan.by_period):
            policy = self._policy
        method, version, kinds = policy.method, policy.version, None
        if self._cards is not None and (kinds := self._by_cards(self._cards, asked, area)) is not None:
            method, version = "run-card", self._cards_version
        if kinds is None:
            plans = policy.plan.by_period
            kinds = _by_order(plans.get(asked.period or "") or policy.in_period(None), asked, area)
        answer = Answer(
            node_id=area, type=asked.situation.type or "", kinds=kinds, ground=asked.policy.ground, remarks=remarks
        )  # fmt: skip
        if spot is not None:
            remarks = ((spot.words,) if spot.words else ()) + remarks
            answer = replace(answer, node_id=spot.node_id, area=area, remarks=remarks)
        order = BY_TIME if method == CLOSEST_FIRST else ON_CARD
        return Instead(answer.document(order=order), method, version)

    def _by_cards(self, cards: CardFile, asked: "Asked", area: str) -> tuple[KindDecision, ...] | None:
        """Who goes by the cards of a file; None where it has no card for that."""
        hour = next((one.hours[0] for one in cards.periods or () if one.name == asked.period), None)
        points, on_cards = _points_of(asked.plan, asked, area), {key.kind for key in cards.cards}
        # Cards know nothing of units that no incident needs, or of kinds that they were not made for.
        fleets = [fleet for fleet in asked.plan.fleets if fleet.kind in on_cards]
        idle = [unit.unit_id for fleet in fleets for unit in fleet.units if unit.unit_id in asked.idle]
        try:
            answer = decide_by_cards(cards, replace(asked.situation, at=area, idle=idle, moved=None, time=hour))
        except InputError:
            return None
        if {sent.kind for sent in answer.kinds} != points.keys():
            return None
        kinds = []
        for sent in answer.kinds:
            fleet = asked.plan.fleet(sent.kind)
            homes = {unit.unit_id: unit.station_id for unit in fleet.units}
            team = tuple(homes.get(unit, OUTSIDE_ID) for unit in sent.units)
            kinds.append(chosen(fleet, points[sent.kind], asked.idle, team, sent.units))
        return tuple(kinds)


def _points_of(plan: Plan, asked: "Asked", area: str) -> dict[str, int]:
    """The demand point of an area for each kind that the incident needs."""
    of_type, row = asked.situation.type or "", asked.situation.row
    points = {fleet.kind: fleet.point(area, of_type, row) for fleet in plan.fleets}
    return {kind: point for kind, point in points.items() if point is not None}


def _by_order(plan: Plan, asked: "Asked", area: str) -> tuple[KindDecision, ...]:
    """Who goes by the orders of a plan: without prices, so that it takes no time."""
    kinds = []
    for kind, point in _points_of(plan, asked, area).items():
        fleet = plan.fleet(kind)
        order = fleet.policy.fixed_order
        assert order is not None  # checked when it was loaded
        number = first_in_order(fleet.problem, order, fleet.idle_trucks(asked.idle), point)
        kinds.append(chosen(fleet, point, asked.idle, team_ids(fleet.problem, point, number)))
    return tuple(kinds)


def chosen(
    fleet: Fleet, point: int, idle: Collection[str], team: tuple[str, ...], units: tuple[str, ...] | None = None
) -> KindDecision:
    """The decision for a team of station ids that somebody else chose; its price is not known."""
    problem = fleet.problem
    p_late = problem.measures[P_LATE].item(team_number(problem, team), point)
    decision = Decision(team=team, p_late=p_late, price=float("nan"), alternatives=())
    units = fleet.unit_ids(team, idle) if units is None else units
    trucks = fleet.idle_trucks(idle)
    return KindDecision(fleet=fleet, point=point, trucks=trucks, idle=idle, decision=decision, units=units)


def _area_of(asked: "Asked") -> tuple[str, list[str]]:
    """The demand point whose card is used, and what is to be known of it."""
    notes, spot, plan = list[str](), asked.spot, asked.plan
    if asked.situation.moved:
        notes.append("The fallback counts every free unit as at home.")
    if spot is None:
        return str(asked.situation.at), notes
    of_type = asked.situation.type or ""
    if of_type in plan.types_at.get(spot.node_id, ()):
        return spot.node_id, notes
    (areas, (x, y)), node = asked.policy.areas[of_type], asked.policy.city.node(spot.node_id)
    away = distance_metres(x, y, node.x_coord, node.y_coord, lonlat=is_lonlat(x, y))
    area = areas[int(away.argmin())]
    return area, [*notes, f"The fallback uses the card of {area}, the closest as the crow flies."]


def _check_cards(cards: CardFile, store: PolicyStore) -> None:
    """Raise an InputError about cards that name units which the department does not have."""
    known = frozenset(store.serving.plan.unit_ids)
    for card in cards.cards.values():
        for unit in (unit for house in card.houses for unit in house):
            if unit not in known:
                raise InputError(
                    f"{cards.path}: expected the cards of {store.serving.city.name}, got the unit {unit!r}"
                )
