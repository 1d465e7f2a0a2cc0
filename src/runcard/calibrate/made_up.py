"""What the units of a known city do, drawn incident by incident in plain Python: a log whose truth is known.

Incidents come at the city's rates, by period of the week where it has periods. The closest idle units go. Turnout,
driving and busy times follow the laws of the city. A unit is back at its station as soon as it is free, as in the
model. Nothing here uses the kernels of the simulation, so that a fit to such a log also checks the model itself.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.clock import EPOCH
from runcard.calibrate.hours import HOURS, MONDAY
from runcard.calibrate.trips import Paths, find_paths, minutes_between
from runcard.city.model import City, Driving, Turnout
from runcard.errors import InputError

CHUNK: Final = 4096
CALL_MINUTES: Final = 1.0
"""The mean time from the call to dispatch."""
LEAST_SCENE: Final = 0.1
"""The mean time on scene is at least this part of the busy time."""
SAME_MINUTES: Final = 1e-9
"""Drives that differ by less are equally long."""

Floats = NDArray[np.float64]
Generator = np.random.Generator


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
    """The units of one kind: where they stand and until when they are busy."""

    def __init__(self, city: City, kind: str, drive: Floats) -> None:
        listed = [unit for unit in city.units if unit.kind == kind]
        self.names = [unit.unit_id for unit in listed]
        self.home = np.array([city.station_numbers[unit.station_id] for unit in listed])
        self.free_at = np.full(len(self.home), -np.inf)
        self.turnout = city.turnout_by_kind.get(kind, city.turnout)
        self.order = np.argsort(drive[self.home], axis=0, kind="stable").T
        """[row, place] the units, the closest first."""

    def take(self, time: float, row: int, needed: int) -> NDArray[np.int64]:
        """The closest idle units, at most `needed`."""
        order = self.order[row]
        found: NDArray[np.int64] = order[self.free_at[order] <= time][:needed]
        return found


def make_up(city: City, *, incidents: int, seed: int, start: datetime) -> tuple[list[Happened], list[SentUnit]]:
    """The incidents of a city from a local time on, and every unit that was sent."""
    if start.tzinfo is not None:
        raise InputError("expected a local time, without an offset from UTC, as the start of a made-up log")
    rng = np.random.default_rng(seed)
    homes, nodes, rows = _places(city)
    drive = minutes_between(city, homes, nodes)
    every = [(i, row) for row in range(len(nodes)) for i in range(len(homes))]
    paths = find_paths(city, [homes[i] for i, _ in every], [nodes[row] for _, row in every])
    roads = _Roads(city, paths, len(homes))
    crews = {kind: _Crew(city, kind, drive) for kind in city.sent_kinds}
    happened, sent = [], []
    begin = (start - datetime(EPOCH.year, EPOCH.month, EPOCH.day)).total_seconds()
    for time, point in _arrivals(city, incidents, rng, begin):
        happened.append(Happened(point, time))
        received = time - 60.0 * rng.exponential(CALL_MINUTES)
        wanted, row = _wanted(city, point), rows[point]
        teams = [crews[kind].take(time, row, needed) for kind, needed, _ in wanted]
        stations = [crews[kind].home[units] for (kind, _, _), units in zip(wanted, teams, strict=True)]
        # All kinds together: on one road they meet the same delays.
        drives = np.split(
            roads.drives(rng, np.concatenate(stations), row), np.cumsum([len(own) for own in stations])[:-1]
        )
        for (kind, _, busy_minutes), units, own, minutes in zip(wanted, teams, stations, drives, strict=True):
            crew = crews[kind]
            leave = time + 60.0 * _turnouts(rng, crew.turnout, own)
            there = leave + 60.0 * minutes
            expected = crew.turnout.mean_minutes + drive[own, row]
            # The mean from dispatch on is that of the city, and nobody is free before being there.
            end = there + 60.0 * rng.exponential(np.maximum(busy_minutes - expected, LEAST_SCENE * busy_minutes))
            crew.free_at[units] = end
            for order, unit in enumerate(units.tolist()):
                moments = map(float, (received, time, leave[order], there[order], end[order]))
                sent.append(SentUnit(len(happened) - 1, crew.names[unit], kind, int(own[order]), order + 1, *moments))
    return happened, sent


@dataclass(frozen=True, slots=True)
class Workload:
    """What a unit does if the closest idle ones go."""

    busy: float
    """The part of its time."""
    per_day: float
    """How often it is sent."""
    first_due: bool
    """Whether no unit of its kind is closer to some demand point that the kind is sent to."""


def workloads(city: City, *, incidents: int, seed: int) -> dict[str, Workload]:
    """The work of each unit if the closest idle ones go."""
    rng = np.random.default_rng(seed)
    homes, nodes, rows = _places(city)
    drive = minutes_between(city, homes, nodes)
    crews = {kind: _Crew(city, kind, drive) for kind in city.sent_kinds}
    busy, sent = ({kind: np.zeros(len(crew.home)) for kind, crew in crews.items()} for _ in range(2))
    first_due = {kind: np.zeros(len(crew.home), np.bool_) for kind, crew in crews.items()}
    wanted = [_wanted(city, number) for number in range(len(city.demand))]
    for number, of in enumerate(city.demand):
        for kind, _, _ in wanted[number] if of.incidents_per_day > 0.0 else ():
            minutes = drive[crews[kind].home, rows[number]]
            first_due[kind] |= minutes <= minutes.min() + SAME_MINUTES
    now = 0.0
    for now, point in _arrivals(city, incidents, rng, 0.0):
        for kind, needed, minutes in wanted[point]:
            crew = crews[kind]
            units = crew.take(now, rows[point], needed)
            spent = 60.0 * rng.exponential(minutes, len(units))
            crew.free_at[units] = now + spent
            busy[kind][units] += spent
            sent[kind][units] += 1.0
    seconds = max(now, 1.0)
    found: dict[str, Workload] = {}
    for kind, crew in crews.items():
        numbers = (busy[kind] / seconds).tolist(), (86400.0 * sent[kind] / seconds).tolist(), first_due[kind].tolist()
        found |= {name: Workload(*own) for name, *own in zip(crew.names, *numbers, strict=True)}
    return found


def _places(city: City) -> tuple[list[int], list[int], list[int]]:
    """[station] its node, the different nodes of demand points, and [demand point] which of these it has."""
    index = city.node_numbers
    nodes = list(dict.fromkeys(index[point.node_id] for point in city.demand))
    row_of = {node: row for row, node in enumerate(nodes)}
    homes = [index[station.node_id] for station in city.stations]
    return homes, nodes, [row_of[index[point.node_id]] for point in city.demand]


def _wanted(city: City, point: int) -> list[tuple[str, int, float]]:
    """The kinds that go to an incident at a demand point, how many of each, and how long they are busy on average."""
    standards = city.standards_of(city.demand[point])
    trucks = {standard.kind: standard.trucks for standard in standards}
    own = {standard.kind: standard.busy_minutes for standard in standards if standard.busy_minutes is not None}
    return [(kind, number, float(own.get(kind, city.busy_minutes_of(kind)))) for kind, number in trucks.items()]


def _arrivals(city: City, incidents: int, rng: Generator, begin: float) -> list[tuple[float, int]]:
    """So many incidents: their moments and demand points."""
    rates = np.array([point.incidents_per_day for point in city.demand]) / 86400.0
    profile = _profile(city)
    most = float((rates * profile.max(axis=0)).sum())
    found: list[tuple[float, int]] = []
    now = begin
    bounds, highest = np.cumsum(rates * profile.max(axis=0)) / most, profile.max(axis=0)
    while len(found) < incidents:
        times = now + np.cumsum(rng.exponential(1.0 / most, CHUNK))
        points = np.minimum(np.searchsorted(bounds, rng.random(CHUNK), side="right"), len(rates) - 1)
        hours = ((times - MONDAY) // 3600 % HOURS).astype(np.int64)
        kept = rng.random(CHUNK) * highest[points] < profile[hours, points]
        found += zip(times[kept].tolist(), points[kept].tolist(), strict=True)
        now = float(times[-1])
    return found[:incidents]


def _profile(city: City) -> Floats:
    """[hour of the week, demand point] what its rate is multiplied by."""
    found = np.ones((HOURS, len(city.demand)))
    for period in city.periods:
        within = city.in_period(period.name)
        ratio = [
            now.incidents_per_day / always.incidents_per_day if always.incidents_per_day else 1.0
            for now, always in zip(within.demand, city.demand, strict=True)
        ]
        found[list(period.hours)] = ratio
    return found


def _turnouts(rng: Generator, turnout: Turnout, stations: NDArray[np.int64]) -> Floats:
    """[unit] minutes before each unit leaves; those of one station leave together if turnout is shared."""
    if not turnout.mean_minutes:
        return np.zeros(len(stations))
    own = draw(rng, turnout.model, turnout.cv, np.full(len(stations), turnout.mean_minutes))
    if turnout.shared:
        for place in range(1, len(stations)):
            before = np.flatnonzero(stations[:place] == stations[place])
            if len(before):
                own[place] = own[before[0]]
    return own


def draw(rng: Generator, model: str, cv: float | None, means: Floats) -> Floats:
    """Times of a law with these means."""
    if model == "exponential":
        return rng.exponential(means)
    if cv is None:
        raise InputError(f"a made-up log cannot be drawn with the law {model}")
    if cv < 1e-9:
        return means.copy()
    if model == "gamma":
        return rng.gamma(cv**-2, cv**2 * means)
    if model == "lognormal":
        variance = np.log1p(cv**2)
        return np.asarray(means * np.exp(np.sqrt(variance) * rng.standard_normal(len(means)) - variance / 2.0))
    raise InputError(f"a made-up log cannot be drawn with the law {model}")


@dataclass(frozen=True, eq=False)
class _Team:
    """The routes of some units to one place, what they share, and their minutes."""

    routes: list[NDArray[np.int32]]
    shared: NDArray[np.int64]
    """[shared link] that more than one of them uses."""
    on: NDArray[np.bool_]
    """[unit, shared link] whether it is on the unit's route."""
    still: Floats
    """[unit] minutes that do not vary."""
    common: Floats
    """[shared link] mean minutes that are met together."""
    apart: Floats
    """[unit] mean minutes of the rest."""


class _Roads:
    """Draws driving times over the routes of a city."""

    def __init__(self, city: City, paths: Paths, num_stations: int) -> None:
        self.driving: Driving = city.driving
        self.shared_delay = city.shared_delay
        self.minutes = np.array([link.mean_minutes for link in city.links])
        self.links = [row[row >= 0] for row in paths.links]
        self.num_stations = num_stations
        self.scale = city.driving.scale_minutes
        self.known: dict[tuple[int, ...], _Team] = {}

    def drives(self, rng: Generator, stations: NDArray[np.int64], row: int) -> Floats:
        """[unit] minutes."""
        key = (row, *stations.tolist())
        if key not in self.known:
            self.known[key] = self._team(key[1:], row)
        team = self.known[key]
        if not team.routes:
            return np.empty(0)
        return np.asarray(team.still + (self._by_link if self.scale is None else self._by_scale)(rng, team))

    def _team(self, stations: Sequence[int], row: int) -> "_Team":
        """The routes of a team, and what they share."""
        routes = [self.links[row * self.num_stations + i] for i in stations]
        number = Counter(link for route in routes for link in route.tolist() if self.shared_delay > 0.0)
        shared = np.array(sorted(link for link in number if number[link] > 1), np.int64)
        on = np.array([np.isin(shared, route) for route in routes]).reshape(len(routes), len(shared))
        minutes = np.array([self.minutes[route].sum() for route in routes])
        loose = 1.0 - self.driving.fixed_part
        common = self.shared_delay * loose * self.minutes[shared]
        return _Team(routes, shared, on, self.driving.fixed_part * minutes, common, loose * minutes - on @ common)

    def _by_scale(self, rng: Generator, team: "_Team") -> Floats:
        """Gamma times of one scale: a part of each shared link is met together, the rest of a route apart."""
        assert self.scale is not None
        delays = rng.gamma(team.common / self.scale, self.scale)
        return np.asarray(team.on @ delays + rng.gamma(np.maximum(team.apart, 0.0) / self.scale, self.scale))

    def _by_link(self, rng: Generator, team: "_Team") -> Floats:
        """Times of any other law: a shared link is met together with a chance, or apart."""
        model, cv, loose = self.driving.model, self.driving.cv, 1.0 - self.driving.fixed_part
        joint = team.shared[rng.random(len(team.shared)) < self.shared_delay]
        delays = draw(rng, model, cv, loose * self.minutes[joint])
        found = np.empty(len(team.routes))
        for place, route in enumerate(team.routes):
            own = route[~np.isin(route, joint)]
            found[place] = delays[np.isin(joint, route)].sum() + draw(rng, model, cv, loose * self.minutes[own]).sum()
        return found
