"""Predicted and seen, for every standard of a decision.

A standard wants `arrivals` units of its kind within `target_minutes` after they were sent. It is met if so many were
there in time. It is missed if it is not met and cannot have been: neither by units whose time nobody knows, nor by
units that were called back within the target. Else nobody knows, and it counts as neither.

A time that cannot be (`believable`) is a wrong clock, and not known either.

The predicted chance is that of the units that were recommended. So it can be compared only where these were sent.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from runcard.city.conditions import OUTSIDE_ID
from runcard.service.audit.outcomes import TIMES, believable, merged_outcome, moment_of


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
    units: tuple[str, ...] | None = None
    """Who was sent; None if nobody said."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The kind of each unit, as the outcome says it."""
    arrived: Mapping[str, float] = field(default_factory=dict)
    cancelled: Mapping[str, float] = field(default_factory=dict)
    wrong_clock: bool = False
    """Whether there were times that cannot be."""


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
        return Times(sent=decided)
    units, kinds = tuple(outcome["units"]), outcome.get("kinds", {})
    sent = moment_of(outcome["sent"], "sent") if outcome.get("sent") else decided
    if not believable(sent, decided):  # minutes would count from nowhere
        return Times(sent=decided, units=units, kinds=kinds, wrong_clock=True)
    minutes: dict[str, dict[str, float]] = {key: {} for key in TIMES}
    wrong = False
    for key, of_units in minutes.items():
        for unit, text in (outcome.get(key) or {}).items():
            moment = moment_of(text, key)
            if moment < sent or not believable(moment, decided):
                wrong = True
            else:
                of_units[unit] = (moment - sent).total_seconds() / 60.0
    arrived, cancelled = minutes.values()
    return Times(sent=sent, units=units, kinds=kinds, arrived=arrived, cancelled=cancelled, wrong_clock=wrong)


def scores_of(decision: Mapping[str, Any]) -> Iterator[Score]:
    """A score for every kind and standard of a decision, and for a kind without any, by the outcome that counts."""
    times = times_of(decision)
    kinds: Sequence[Mapping[str, Any]] = decision.get("kinds") or []
    sent = {} if times.units is None else _sent(times.units, times.kinds, kinds)
    all_known = sum(map(len, sent.values())) == len(times.units or ())
    for one in kinds:
        units, going = tuple(one.get("units", ())), sent.get(one["kind"])
        facts: dict[str, Any] = {"kind": one["kind"], "units": units, "predicted_minutes": one.get("first_minutes")}
        if going is not None:
            arrived, cancelled = _minutes(times.arrived, going), _minutes(times.cancelled, going)
            followed = all_known and Counter(going) == Counter(units)
            facts |= {"sent": going, "followed": followed, "first_minutes": min(arrived, default=None)}
        for standard, chance in _standards(decision, one):
            if going is not None:
                counted = arrived[standard.arrivals - 1] if len(arrived) >= standard.arrivals else None
                facts |= {"counted_minutes": counted, "met": _met(standard, len(going), arrived, cancelled)}
            yield Score(**facts, standard=standard, chance=chance)
        if not _standards(decision, one):
            yield Score(**facts)


def _minutes(after: Mapping[str, float], units: Sequence[str]) -> list[float]:
    """The known minutes of some units, in order; one time of several units from outside is nobody's."""
    return sorted(after[unit] for unit in units if unit in after and units.count(unit) == 1)


def _met(standard: StandardKey, num_sent: int, arrived: Sequence[float], cancelled: Sequence[float]) -> bool | None:
    """Whether so many units were there in time."""
    in_time = sum(minutes <= standard.target_minutes for minutes in arrived)
    if in_time >= standard.arrivals:
        return True
    num_unknown = num_sent - len(arrived) - len(cancelled)
    num_unknown += sum(minutes < standard.target_minutes for minutes in cancelled)
    return None if in_time + num_unknown >= standard.arrivals else False


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


def _sent(
    units: Sequence[str], known_kinds: Mapping[str, str], kinds: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[str, ...]]:
    """The units that were sent, by kind; those of an unknown kind are left out."""
    kind_of = {**{unit: one["kind"] for one in kinds for unit in one.get("units", ())}, **known_kinds}
    from_outside = _from_outside(units.count(OUTSIDE_ID), kinds)
    return {
        one["kind"]: (
            *(unit for unit in units if unit != OUTSIDE_ID and kind_of.get(unit) == one["kind"]),
            *[OUTSIDE_ID] * from_outside.get(one["kind"], 0),
        )
        for one in kinds
    }


def _from_outside(count: int, kinds: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Of which kinds units from outside are: as recommended, or all of the only kind; else nobody knows."""
    wanted = {one["kind"]: list(one.get("units", ())).count(OUTSIDE_ID) for one in kinds}
    if count == sum(wanted.values()):
        return wanted
    return dict.fromkeys(wanted, count) if len(wanted) == 1 else {}
