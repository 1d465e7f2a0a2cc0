"""Who answers when a policy does not in time: the order of a card, or the closest first. It takes no time to find.

For a place that is no demand point, the card is that of the closest one as the crow flies, and units that are free
elsewhere count as at home; the answer says so.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runcard.city.address import Spot
from runcard.city.conditions import OUTSIDE_ID
from runcard.errors import InputError
from runcard.outputs.cards.answer import decide_by_cards
from runcard.outputs.cards.csv_file import CARDS_ENDING, CardFile, read_cards
from runcard.plan.answer import Answer
from runcard.plan.reasons import BY_TIME, ON_CARD
from runcard.plan.situation import Situation
from runcard.service.desk import Desk, decided_team
from runcard.service.policies import CLOSEST_FIRST, LoadedPolicy, PolicyStore, load_policy, version_of

if TYPE_CHECKING:
    from runcard.service.answers import Asked


class Instead(NamedTuple):
    """The decision of the fallback."""

    answer: Answer
    method: str
    order: str
    """What its order is, in words."""
    version: str
    """That of the file which it is from."""


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
        own = asked.policy.desks[asked.period]
        area, notes = self._area(asked, own)
        if self._cards is not None and (found := self._by_cards(asked, own, area)) is not None:
            return Instead(_noted(found, asked, area, notes), "run-card", ON_CARD, self._cards_version)
        desk, by, version = own, CLOSEST_FIRST, self._store.by_name[CLOSEST_FIRST].version
        if self._policy is not None:
            period = asked.period if asked.period in self._policy.desks else None
            if period in self._policy.desks:
                desk, by, version = self._policy.desks[period], self._policy.method, self._policy.version
        if by == CLOSEST_FIRST:
            desk = self._closest_first(asked, own)
        found = desk.decide_by_order(asked.idle, area, asked.type, incident_class=asked.incident_class)
        order = BY_TIME if by == CLOSEST_FIRST else ON_CARD
        return Instead(_noted(found, asked, area, notes), by, order, version)

    def _closest_first(self, asked: "Asked", own: Desk) -> Desk:
        policy = self._store.by_name[CLOSEST_FIRST]
        return policy.desks.get(asked.period) or own

    def _area(self, asked: "Asked", desk: Desk) -> tuple[str, list[str]]:
        """The demand point whose card is used."""
        notes = []
        if asked.moved:
            notes.append("The fallback counts every free unit as at home.")
        if asked.spot is None:
            return str(asked.place), notes
        if desk.has(asked.spot.node_id, asked.type):
            return asked.spot.node_id, notes
        number = desk.ground.node_numbers[asked.spot.node_id]
        node = desk.city.nodes[number]
        area = desk.nearest_area(node.x_coord, node.y_coord, asked.type)
        return area, [*notes, f"The fallback uses the card of {area}, the closest as the crow flies."]

    def _by_cards(self, asked: "Asked", desk: Desk, area: str) -> Answer | None:
        """Who goes by the cards of a file; None where it has no card for that."""
        assert self._cards is not None
        hour = None
        if self._cards.periods:
            hour = next((one.hours[0] for one in self._cards.periods if one.name == asked.period), None)
        on_cards = {key.kind for key in self._cards.cards}
        points = {
            fleet.kind: fleet.point(area, asked.type, asked.incident_class) for fleet in desk.plan.fleets
        }  # fmt: skip
        # Cards know nothing of units that no incident needs, or of kinds that they were not made for.
        fleets = [fleet for fleet in desk.plan.fleets if fleet.kind in on_cards]
        idle = [unit.unit_id for fleet in fleets for unit in fleet.units if unit.unit_id in asked.idle]
        try:
            answer = decide_by_cards(
                self._cards,
                Situation(at=area, type=asked.type or None, idle=idle, time=hour, row=asked.incident_class),
            )
        except InputError:
            return None
        if {sent.kind for sent in answer.kinds} != {kind for kind, point in points.items() if point is not None}:
            return None
        kinds = []
        for sent in answer.kinds:
            fleet, point = desk.plan.fleet(sent.kind), points[sent.kind]
            assert point is not None
            homes = {unit.unit_id: unit.station_id for unit in fleet.units}
            team = tuple(homes.get(unit, OUTSIDE_ID) for unit in sent.units)
            trucks = fleet.idle_trucks(asked.idle)
            kinds.append(decided_team(fleet, point, trucks, asked.idle, team, sent.units))
        return Answer(node_id=area, type=asked.type, kinds=tuple(kinds), ground=desk.ground)


def _noted(found: Answer, asked: "Asked", area: str, notes: list[str]) -> Answer:
    """A decision for the place that was asked for."""
    if asked.spot is None:
        return replace(found, remarks=tuple(notes))
    spot: Spot = asked.spot
    return replace(found, node_id=spot.node_id, area=area, remarks=tuple(([spot.words] if spot.words else []) + notes))


def _check_cards(cards: CardFile, store: PolicyStore) -> None:
    """Raise an InputError about cards that name units which the department does not have."""
    known = frozenset(store.serving.plan.unit_ids)
    for card in cards.cards.values():
        for unit in (unit for house in card.houses for unit in house):
            if unit not in known:
                raise InputError(
                    f"{cards.path}: expected the cards of {store.serving.city.name}, got the unit {unit!r}"
                )
