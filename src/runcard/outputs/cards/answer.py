"""A decision from the CSV file of run cards: the rule of a card, followed to the letter.

No policy is asked: the same function that decides where cards are simulated (`policy/run_card.py`) finds the line.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.periods import hour_of_week
from runcard.errors import InputError
from runcard.outputs.cards.csv_file import CardFile, CardKey, FileCard
from runcard.plan.situation import Situation, checked_units
from runcard.plan.words import expected_one_of, team_words
from runcard.policy.run_card import sent_by_card


@dataclass(frozen=True, kw_only=True)
class KindSent:
    """What one card sends."""

    kind: str
    units: tuple[str, ...]
    """"outside" for those that must come from there."""
    line: int | None
    """The line that fits, from 1; None where none does, and units go in the fallback order."""
    busy: str
    """The busy units of the state that the line was made for, in words."""

    @property
    def words(self) -> str:
        """Why these units go, in a sentence."""
        if self.line is None:
            return f"{self.kind}: no line of the card fits; the first idle units in the fallback order go."
        made = f", made for {self.busy} busy" if self.busy else ""
        return f"{self.kind}: line {self.line} of the card{made}."


@dataclass(frozen=True, kw_only=True)
class CardAnswer:
    """Who goes to an incident by the cards, of each kind."""

    key: CardKey
    """Of the first kind."""
    kinds: tuple[KindSent, ...]

    @property
    def headline(self) -> str:
        """What to do, in one sentence."""
        what = self.key.type or (f"class {self.key.row}" if self.key.row else "")
        place = self.key.area + (f" ({what})" if what else "")
        if len(self.kinds) == 1:
            return f"Send {team_words(self.kinds[0].units)} to {place}."
        teams = [f"{team_words(one.units)} ({one.kind})" for one in self.kinds]
        return f"Send {', '.join(teams[:-1])} and {teams[-1]} to {place}."

    def document(self) -> dict[str, Any]:
        """The answer as plain values, ready for JSON."""
        key = self.key
        return {
            "node": key.area,
            "area": key.area,
            "type": key.type,
            "team": [unit for one in self.kinds for unit in one.units],
            "units": {one.kind: list(one.units) for one in self.kinds},
            "kinds": [
                {"kind": one.kind, "units": list(one.units), "line": one.line, "when_busy": one.busy,
                 "reason": one.words}
                for one in self.kinds
            ],
            "reason": " ".join(one.words for one in self.kinds),
            **({"class": key.row} if key.row else {}),
            **({"period": key.period} if key.period else {}),
        }  # fmt: skip


def decide_by_cards(file: CardFile, situation: Situation) -> CardAnswer:
    """Who goes by the cards of a file to an incident in an area, with every unit at home."""
    area = situation.at
    if not isinstance(area, str) or situation.moved:
        raise InputError(f"{file.path}: run cards are for areas, with every unit at home")
    period = _period(file, situation.time)
    chosen = _cards_of({key: card for key, card in file.cards.items() if key.period == period}, area, situation)
    busy = checked_units(situation.busy or (), file.capacity, "busy", roster=False)
    free = Counter(file.capacity) - busy
    if situation.idle is not None:
        free = checked_units(situation.idle, file.capacity, "idle", roster=False)
    return CardAnswer(
        key=next(iter(chosen)), kinds=tuple(_sent(key.kind, card, free) for key, card in chosen.items())
    )  # fmt: skip


def _period(file: CardFile, time: datetime | int | None) -> str:
    """The period of a time; "" if the cards are for every hour."""
    if not file.periods:
        return ""
    names = "; ".join(f"{period.name}: {period.words}" for period in file.periods)
    if time is None:
        raise InputError(f"{file.path}: time: expected when the incident is: there are cards for each period ({names})")
    hour = time if isinstance(time, int) else hour_of_week(time)
    for period in file.periods:
        if hour in period.hours:
            return period.name
    raise InputError(f"{file.path}: expected a time in one of its periods ({names})")


def _cards_of(cards: Mapping[CardKey, FileCard], area: str, situation: Situation) -> dict[CardKey, FileCard]:
    """The cards of an area and a type or row, one for each kind."""
    found = {key: card for key, card in cards.items() if key.area == area}
    if not found:
        raise InputError(expected_one_of("place with a card", (key.area for key in cards), area))
    types = list(dict.fromkeys(key.type for key in found))
    if situation.type is not None:
        found = {key: card for key, card in found.items() if key.type == situation.type}
        if not found:
            choices = expected_one_of("type of incident", types, situation.type)
            raise InputError(f"area {area}: {'this file has no types' if types == [''] else choices}")
    if situation.row is not None:  # an area with one row has no number for it
        found = {key: card for key, card in found.items() if (key.row or 1) == situation.row}
        if not found:
            raise InputError(f"area {area}: expected a class of its cards, got --class {situation.row}")
    rows = sorted({(key.row, key.type, card.class_name) for key, card in found.items()})
    if len(rows) == 1:
        return found
    if rows[0][0] == 0:
        raise InputError(f"area {area} has cards for several types; choose one with --type: {', '.join(types)}")
    words = ", ".join(f"{number} ({name or of_type})" for number, of_type, name in rows)
    raise InputError(f"area {area} has cards for several classes; choose one with --class: {words}")


def _sent(kind: str, card: FileCard, free: Counter[str]) -> KindSent:
    """What a card sends with these units idle: those that its line names, and for one that is out a unit of its house.

    In the fallback order, of each house the first idle ones.
    """
    there = [[*(Counter(house) & free).elements()] for house in card.houses]
    line, numbers = sent_by_card(card.lines, range(len(card.houses)), [len(units) for units in there], card.needed)
    units = [""] * len(numbers) if line is None else list(card.units[line])
    for place, number in enumerate(numbers):
        if units[place] in there[number]:
            there[number].remove(units[place])
        else:
            units[place] = ""
    units = [unit or there[number].pop(0) for unit, number in zip(units, numbers, strict=True)]
    units += [OUTSIDE_ID] * (card.needed - len(units))
    busy = "" if line is None else card.busy[line]
    return KindSent(kind=kind, units=tuple(units), line=None if line is None else line + 1, busy=busy)
