"""One day of a department, to be played back: what happened, who went, when they were there and when they were free.

A simulated day is that of `simulate`, incident by incident (`begin`, `advance`, `send`): the agenda of its state knows
when each unit is home again. It begins some busy times before midnight, so that units are busy when the day begins.
Kinds are simulated one after another over the same incidents.

The model that policies are solved for draws the time that a unit is busy apart from its driving, so that a unit may be
free before it is there. That is sound on average and nonsense to who watches: here a unit drives there, works and
drives back, with the same mean (see the scenario).

A day of the audit log is played back like a simulated one. Who went is what the outcome of a decision says, or what was
advised where nobody said; what was late is what the drift of the log counts (`audit.scores`). The log does not know
when units were free again: a unit counts as busy for the mean busy time of its kind after it was sent, and until it was
there, but not beyond the next time that it was sent.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import numpy as np

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import MINUTES_PER_DAY, City
from runcard.plan.fleet import Fleet
from runcard.plan.plan import Plan
from runcard.service.audit.scores import scores_of, times_of
from runcard.simulate.engine import batch_key
from runcard.simulate.kernels.day import advance, begin, send, week_hour_at
from runcard.simulate.model import build_model
from runcard.simulate.scenario import read_scenario
from runcard.simulate.state import new_state

SCENARIO: Final = "there-and-back"
WARM_BUSY_TIMES: Final = 4.0
MOST_INCIDENTS: Final = 5000
"""More of them would make a page slow, and mean nothing to who watches."""


def simulated_day(city: City, plan: Plan, *, day: int = 0, seed: int = 1) -> list[dict[str, Any]]:
    """The incidents of a day, 0 for Monday, in the order of time, as `merged` has them."""
    events: dict[int, dict[str, Any]] = {}
    for fleet in plan.fleets:
        if fleet.kind in city.kinds:
            _simulate(city, fleet, day, seed, events)
    return [events[number] for number in sorted(events)]


def _simulate(city: City, fleet: Fleet, day: int, seed: int, events: dict[int, dict[str, Any]]) -> None:
    """Add what one kind does to the incidents of a day."""
    model = build_model(city, read_scenario(SCENARIO), fleet.kind)
    state, start = new_state(model), MINUTES_PER_DAY * day
    names = [unit.unit_id for i in fleet.problem.station_ids for unit in fleet.units if unit.station_id == i]
    begin(model, state, batch_key(seed, day), start - WARM_BUSY_TIMES * city.mean_busy_minutes)
    clock, sent, number = state.clock[0], np.empty(model.most_needed, np.int64), 0
    while number < MOST_INCIDENTS and advance(model, state, start + MINUTES_PER_DAY):
        number += 1
        point, now = model.points[clock["point"]], float(clock["now"])
        if point["needed"] == 0:
            continue
        policy = fleet.at_hour(week_hour_at(now))
        team = int(policy.teams(state.idle.copy(), np.array([point["own"]]))[0])
        sent[:] = -1
        stations = policy.problem.teams.stations[team]
        sent[: len(stations)] = stations[: len(sent)]
        send(model, state, sent)
        demand = city.demand[int(clock["point"])]
        event = events.setdefault(number, {
            "minutes": round(now - start, 2), "area": demand.node_id, "type": demand.type, "units": list[Any](),
            "outside": 0, "first_minutes": dict[str, float](), "late": False,
        })  # fmt: skip
        event["late"] = event["late"] or bool(clock["late"])
        event["first_minutes"][fleet.kind] = round(float(clock["first"]), 2)
        event["outside"] += int(clock["outside"])
        event["units"] += [
            {
                "unit": names[one["truck"]],
                "there": round(float(one["there_at"]) - start, 2),
                "back": round(float(state.slots[one["truck"]]["time"]) - start, 2),
            }
            for one in state.sent[: int(point["needed"])]
            if one["truck"] >= 0
        ]


def still_there(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The incidents of the day, and those before it whose units are still busy when it begins."""
    return [one for one in events if one["minutes"] >= 0.0 or any(unit["back"] > 0.0 for unit in one["units"])]


def summary_of(events: list[dict[str, Any]]) -> Mapping[str, Any]:
    """How many incidents a day had, of how many an arrival is known, how many were late and of how many that is not
    known, and the mean minutes of the first unit of each kind."""
    own = [one for one in events if one["minutes"] >= 0.0]
    kinds = dict.fromkeys(kind for one in own for kind in one["first_minutes"])
    means = {kind: float(np.mean([one["first_minutes"][kind] for one in own if kind in one["first_minutes"]]))
             for kind in kinds}  # fmt: skip
    return {
        "incidents": len(own),
        "arrivals_known": sum(bool(one["first_minutes"]) for one in own),
        "late": sum(one["late"] is True for one in own),
        "unknown": sum(one["late"] is None for one in own),
        "first_minutes": means,
    }


def logged_day(
    decisions: Iterable[Mapping[str, Any]], city: City, kinds: Mapping[str, str], start: datetime
) -> list[dict[str, Any]]:
    """The incidents of some decisions with their outcomes, in minutes from `start` on; `kinds` is that of each unit."""
    events = [_logged_event(one, start) for one in decisions]
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


def _logged_event(decision: Mapping[str, Any], start: datetime) -> dict[str, Any]:
    """One decision, with the outcome that counts."""
    times = times_of(decision)
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
