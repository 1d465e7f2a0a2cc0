"""A day of the audit log, to be played back like a simulated one.

Who went is what the outcome of a decision says, or what was advised where nobody said; what was late is what the drift
of the log counts (`audit.scores`). The log does not know when units were free again: a unit counts as busy for the mean
busy time of its kind after it was sent, and until it was there, but not beyond the next time that it was sent.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import City
from runcard.service.audit.scores import Times, scores_of, times_of


def logged_day(
    decisions: Iterable[Mapping[str, Any]], city: City, kinds: Mapping[str, str], start: datetime
) -> list[dict[str, Any]]:
    """The incidents of some decisions with their outcomes, in minutes from `start` on; `kinds` is that of each unit."""
    events = [_event(one, start) for one in decisions]
    events.sort(key=lambda one: one["minutes"])
    given = city.busy_minutes
    by_kind, mean_minutes = (given, city.mean_busy_minutes) if isinstance(given, Mapping) else ({}, given)
    sent_next: dict[str, float] = {}
    for event in reversed(events):
        for unit in event["units"]:
            name, back = unit["unit"], unit["back"]
            if back is None:
                busy_until = event["minutes"] + float(by_kind.get(kinds.get(name, ""), mean_minutes))
                back = busy_until if unit["there"] is None else max(busy_until, unit["there"])
            unit["back"] = round(min(back, sent_next.get(name, back)), 2)
        sent_next |= {unit["unit"]: event["minutes"] for unit in event["units"]}
    return events


def _event(decision: Mapping[str, Any], start: datetime) -> dict[str, Any]:
    """One decision, with the outcome that counts."""
    times: Times = times_of(decision)
    units = decision["team"] if times.units is None else times.units
    sent = (times.sent - start).total_seconds() / 60.0
    scores = list(scores_of(decision))
    met = [score.met for score in scores if score.standard is not None]
    return {
        "minutes": round(sent, 2),
        "area": decision.get("area") or decision["node"],
        "type": decision.get("type", ""),
        "units": [
            {"unit": name, "there": _at(sent, times.arrived.get(name)), "back": _at(sent, times.cancelled.get(name))}
            for name in units
            if name != OUTSIDE_ID
        ],
        "outside": list(units).count(OUTSIDE_ID),
        "first_minutes": {
            score.kind: round(score.first_minutes, 2) for score in scores if score.first_minutes is not None
        },
        "late": True if False in met else None if None in met or not met else False,
    }


def _at(sent: float, after: float | None) -> float | None:
    """A time of the day, from minutes after units were sent."""
    return None if after is None else round(sent + after, 2)
