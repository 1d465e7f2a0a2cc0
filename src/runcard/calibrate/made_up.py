"""What the units of a known city do under closest-first: a log whose truth is known, and the work of each unit.

Incidents, turnout and drives are those of the simulation (`simulate/kernels/day.py`), with every law and period of the
city. A unit is back at its station as soon as it is free, as in the model. In a log it is free after a time on scene,
so that nobody is free before being there, and the mean from dispatch on is that of the city for every unit that goes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from runcard.calibrate.clock import EPOCH
from runcard.city.model import MINUTES_PER_DAY, City
from runcard.errors import InputError
from runcard.response.routes import find_routes
from runcard.simulate.engine import batch_key
from runcard.simulate.kernels.agenda import note
from runcard.simulate.kernels.day import advance, begin, send
from runcard.simulate.kernels.run import run_batch
from runcard.simulate.model import build_model
from runcard.simulate.rules import order_rule
from runcard.simulate.scenario import Busy, Scenario
from runcard.simulate.shifts import trucks_of
from runcard.simulate.state import RECORD, new_state, no_counts

CALL_MINUTES: Final = 1.0
"""The mean time from the call to dispatch."""
LEAST_SCENE: Final = 0.1
"""The mean time on scene is at least this part of the busy time."""
SAME_MINUTES: Final = 1e-9
"""Drives that differ by less are equally long."""


@dataclass(frozen=True, slots=True)
class SentUnit:
    """A unit that was sent: who, and its moments in local seconds since 1970."""

    incident: int
    unit: str
    kind: str
    station: int
    order: int
    received: float
    dispatched: float
    en_route: float
    on_scene: float
    available: float


@dataclass(frozen=True, slots=True)
class Happened:
    """An incident: its demand point, by number, and its moment."""

    point: int
    time: float


class _Crew:
    """The units of one kind, all idle at a time in minutes of a week."""

    def __init__(self, city: City, kind: str, seed: int, start: float) -> None:
        by_type = any(standard.busy_minutes is not None for standard in city.standards)
        self.model = build_model(city, Scenario(busy=Busy(by_type=by_type)), kind)
        self.state = new_state(self.model)
        self.names = [city.units[number].unit_id for number in trucks_of(city, kind)]
        self.rates = np.array([point.incidents_per_day for point in city.of_kind(kind).demand])
        self.drive = find_routes(city.of_kind(kind)).drive_minutes
        self.order = np.argsort(self.drive, axis=0, kind="stable").T
        """[own demand point, place] the stations, the closest first."""
        self.team = np.empty(self.model.most_needed, np.int64)
        begin(self.model, self.state, batch_key(seed, 0), start)

    def next_incident(self) -> tuple[int, float]:
        """The demand point of the next incident, which may not need the kind, and its minute."""
        advance(self.model, self.state, np.inf)
        return int(self.state.clock[0]["point"]), float(self.state.clock[0]["now"])

    def send_closest(self, rng: np.random.Generator) -> Iterator[tuple[str, int, float, float, float]]:
        """The units that go to the incident: their names and stations, and when they leave, arrive and are free."""
        point, state = self.model.points[self.state.clock[0]["point"]], self.state
        if not point["needed"]:
            return
        order = self.order[point["own"]]
        team = np.repeat(order, state.idle[order])[: point["needed"]]
        self.team[:] = -1
        self.team[: len(team)] = team
        send(self.model, state, self.team)
        away = self.model.turnout_minutes + self.drive[team, point["own"]]
        scene = rng.exponential(np.maximum(point["busy_minutes"] - away, LEAST_SCENE * point["busy_minutes"]))
        free = state.sent["there_at"][: len(team)] + scene
        for sent, station, until in zip(state.sent, self.model.stations["number"][team].tolist(), free, strict=False):
            note(state, sent["truck"], until)
            yield self.names[sent["truck"]], station, float(sent["start_at"]), float(sent["there_at"]), float(until)


def make_up(city: City, *, incidents: int, seed: int, start: datetime) -> tuple[list[Happened], list[SentUnit]]:
    """The incidents of a city from a local time on, and every unit that was sent."""
    if start.tzinfo is not None:
        raise InputError("expected a local time, without an offset from UTC, as the start of a made-up log")
    rng = np.random.default_rng(seed)
    monday = datetime(start.year, start.month, start.day) - timedelta(days=start.weekday())
    begin_minutes = (start - monday).total_seconds() / 60.0
    monday_seconds = (monday - datetime(EPOCH.year, EPOCH.month, EPOCH.day)).total_seconds()
    crews = {kind: _Crew(city, kind, seed, begin_minutes) for kind in city.kinds}
    happened, sent = [], []
    for number in range(incidents):
        # All kinds meet the same incidents, each in a simulation of its own.
        ((point, minute),) = {crew.next_incident() for crew in crews.values()}
        time = monday_seconds + 60.0 * minute
        happened.append(Happened(point, time))
        received = time - 60.0 * rng.exponential(CALL_MINUTES)
        for kind, crew in crews.items():
            for order, (unit, station, *minutes) in enumerate(crew.send_closest(rng), start=1):
                moments = [monday_seconds + 60.0 * moment for moment in minutes]
                sent.append(SentUnit(number, unit, kind, station, order, received, time, *moments))
    return happened, sent


@dataclass(frozen=True, slots=True)
class Workload:
    """What a unit does if the closest idle ones go."""

    busy: float = 0.0
    """The part of its time."""
    per_day: float = 0.0
    """How often it is sent."""
    first_due: bool = False
    """Whether no unit of its kind is closer to some demand point that the kind is sent to."""


def workloads(city: City, *, incidents: int, seed: int) -> dict[str, Workload]:
    """The work of each unit of a kind that is sent if the closest idle ones go."""
    found = {unit.unit_id: Workload() for unit in city.units if unit.kind in city.sent_kinds}
    for kind in city.kinds:
        crew = _Crew(city, kind, seed, 0.0)
        counts = no_counts(len(crew.model.standards))
        crew.state.clock["measured_from"] = 0.0
        run_batch(
            crew.model, crew.state, order_rule(crew.order), counts, np.zeros(0, RECORD), crew.team, 0, incidents, np.inf
        )
        trucks, minutes = crew.state.trucks, counts.sums[0]["minutes"]
        drive = crew.drive[:, crew.rates > 0.0]
        first_due = (drive <= drive.min(axis=0) + SAME_MINUTES).any(axis=1)[crew.model.station_of]
        busy, per_day = trucks["busy_minutes"] / minutes, trucks["dispatches"] * MINUTES_PER_DAY / minutes
        work = zip(busy.tolist(), per_day.tolist(), first_due.tolist(), strict=True)
        found |= {name: Workload(*numbers) for name, numbers in zip(crew.names, work, strict=True)}
    return found
