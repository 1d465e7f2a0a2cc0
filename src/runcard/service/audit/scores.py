"""Predicted and seen, for every standard of a decision.

A standard wants `arrivals` units of its kind within `target_minutes` after they were sent. It is met if so many were
there in time. It is missed if it is not met and cannot have been: neither by units whose time nobody knows, nor by
units that were called back within the target. Else nobody knows, and it counts as neither.

A time that cannot be (`believable`) is a wrong clock, and not known either.

The predicted chance is that of the units that were recommended. So it can be compared only where these were sent.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from runcard.city.conditions import OUTSIDE_ID
from runcard.service.audit.outcomes import believable, merged_outcome, moment_of


class StandardKey(NamedTuple):
    """What tells a standard from others."""

    type: str
    kind: str
    arrivals: int
    target_minutes: float

    @property
    def words(self) -> str:
        """As a chief says it: fire: first engine within 6 min."""
        who = f"first {self.kind}" if self.arrivals == 1 else f"{self.arrivals} {self.kind}s"
        return f"{self.type + ': ' if self.type else ''}{who} within {self.target_minutes:g} min"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One kind and one standard of a decision; None is what is not known."""

    kind: str
    units: tuple[str, ...]
    """Recommended."""
    standard: StandardKey | None = None
    chance: float | None = None
    """The predicted chance to meet it."""
    predicted_minutes: float | None = None
    """The predicted mean time of the first arrival."""
    sent: tuple[str, ...] | None = None
    followed: bool | None = None
    first_minutes: float | None = None
    counted_minutes: float | None = None
    """When the unit was there that the standard waits for."""
    met: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """When units were sent, and minutes after that by unit: when each was there, or was called back."""

    sent: datetime
    units: tuple[str, ...] | None
    """Who was sent; None if nobody said."""
    arrived: Mapping[str, float]
    cancelled: Mapping[str, float]
    wrong_clock: bool = False
    """Whether there were times that cannot be."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What became of the units of one kind: minutes of arrival, and of being called back, after they were sent."""

    units: tuple[str, ...]
    arrived: tuple[float, ...]
    cancelled: tuple[float, ...]

    def met(self, arrivals: int, target_minutes: float) -> bool | None:
        """Whether so many were there in time."""
        in_time = sum(minutes <= target_minutes for minutes in self.arrived)
        if in_time >= arrivals:
            return True
        num_unknown = len(self.units) - len(self.arrived) - len(self.cancelled)
        num_unknown += sum(minutes < target_minutes for minutes in self.cancelled)
        return None if in_time + num_unknown >= arrivals else False


def decision_time(decision: Mapping[str, Any]) -> datetime:
    """When a decision was made."""
    return moment_of(decision.get("time"), f"decision {decision.get('decision_id')}: time")


def known_outcome(decision: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The outcome that counts: all of them together."""
    outcomes = decision.get("outcomes")
    return merged_outcome(outcomes) if outcomes else None


def times_of(decision: Mapping[str, Any]) -> Times:
    """What is known of the times of a decision, by the outcome that counts."""
    outcome, decided = known_outcome(decision), decision_time(decision)
    if outcome is None:
        return Times(sent=decided, units=None, arrived={}, cancelled={})
    units = tuple(outcome["units"])
    sent = moment_of(outcome["sent"], "sent") if outcome.get("sent") else decided
    if not believable(sent, decided):  # minutes would count from nowhere
        return Times(sent=decided, units=units, arrived={}, cancelled={}, wrong_clock=True)
    minutes: dict[str, dict[str, float]] = {"arrivals": {}, "cancelled": {}}
    wrong = False
    for key, found in minutes.items():
        for unit, text in (outcome.get(key) or {}).items():
            moment = moment_of(text, key)
            if moment < sent or not believable(moment, decided):
                wrong = True
            else:
                found[unit] = (moment - sent).total_seconds() / 60.0
    return Times(sent=sent, units=units, arrived=minutes["arrivals"], cancelled=minutes["cancelled"], wrong_clock=wrong)


def scores_of(decision: Mapping[str, Any]) -> Iterator[Score]:
    """A score for every kind and standard of a decision, and for a kind without any, by the outcome that counts."""
    outcome = known_outcome(decision)
    kinds: Sequence[Mapping[str, Any]] = decision.get("kinds") or []
    seen = {} if outcome is None else _seen(decision, outcome, kinds)
    known_kinds = outcome is not None and sum(len(one.units) for one in seen.values()) == len(outcome["units"])
    for one in kinds:
        units = tuple(one.get("units", ()))
        facts: dict[str, Any] = {"kind": one["kind"], "units": units, "predicted_minutes": one.get("first_minutes")}
        mine = seen.get(one["kind"])
        if mine is not None:
            followed = known_kinds and Counter(mine.units) == Counter(units)
            facts |= {"sent": mine.units, "followed": followed, "first_minutes": min(mine.arrived, default=None)}
        for standard, chance in _standards(decision, one):
            if mine is None:
                yield Score(**facts, standard=standard, chance=chance)
                continue
            counted = mine.arrived[standard.arrivals - 1] if len(mine.arrived) >= standard.arrivals else None
            met = mine.met(standard.arrivals, standard.target_minutes)
            yield Score(**facts, standard=standard, chance=chance, counted_minutes=counted, met=met)
        if not _standards(decision, one):
            yield Score(**facts)


def _standards(decision: Mapping[str, Any], kind: Mapping[str, Any]) -> list[tuple[StandardKey, float]]:
    """The standards of a kind and the chance to meet each; without standards the target of the city is one."""
    of_type, name = decision.get("type") or "", kind["kind"]
    found = [
        (StandardKey(of_type, name, int(one["arrivals"]), float(one["target_minutes"])), float(one["chance"]))
        for one in kind.get("standards") or ()
    ]
    if not found and kind.get("target_minutes") is not None:
        key = StandardKey(of_type, name, int(kind.get("arrivals", 1)), float(kind["target_minutes"]))
        found = [(key, 1.0 - float(kind["p_late"]))]
    return found


def _seen(
    decision: Mapping[str, Any], outcome: Mapping[str, Any], kinds: Sequence[Mapping[str, Any]]
) -> dict[str, _Seen]:
    """What became of the units that were sent, by kind; those of an unknown kind are left out."""
    times = times_of(decision)
    kind_of = {unit: one["kind"] for one in kinds for unit in one.get("units", ())} | outcome.get("kinds", {})
    by_kind: dict[str, list[str]] = {one["kind"]: [] for one in kinds}
    for unit in outcome["units"]:
        if unit != OUTSIDE_ID and kind_of.get(unit) in by_kind:
            by_kind[kind_of[unit]].append(unit)
    for kind, count in _from_outside(outcome["units"].count(OUTSIDE_ID), kinds).items():
        by_kind[kind] += [OUTSIDE_ID] * count

    def minutes(after: Mapping[str, float], units: Sequence[str]) -> tuple[float, ...]:
        # One time of several units from outside is nobody's.
        return tuple(sorted(after[unit] for unit in units if unit in after and units.count(unit) == 1))

    return {
        kind: _Seen(tuple(units), minutes(times.arrived, units), minutes(times.cancelled, units))
        for kind, units in by_kind.items()
    }


def _from_outside(count: int, kinds: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Of which kinds units from outside are: as recommended, or all of the only kind; else nobody knows."""
    wanted = {one["kind"]: list(one.get("units", ())).count(OUTSIDE_ID) for one in kinds}
    if count == sum(wanted.values()):
        return wanted
    return dict.fromkeys(wanted, count) if len(wanted) == 1 else {}
