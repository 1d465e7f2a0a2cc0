"""The log replayed, incident by incident, under policies and as it was: who would have come, and how late.

The city is fitted on the first part of the log, and policies are judged on the rest. Every policy meets the same
incidents at the same moments. A unit that it sends is busy as long as the log says for the first, second, ... unit of
that kind at that incident, or the mean of its kind and type where fewer went. Driving times come from the model,
because nobody knows how long a unit would have taken that did not go. They are the same draws for every policy and for
what really went: the first, second, ... unit of a kind and station has its own turnout and roads, and on each link all
meet the same delay in so far as delays are shared. What was sent is taken as sent from home, and cut to as many units
as the city sends. So the difference between policies has little noise, and the interval of each is over incidents.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.clock import local_seconds
from runcard.calibrate.draws import drawn_drives, drawn_turnouts
from runcard.calibrate.fit import Fit
from runcard.calibrate.homes import origins, station_nodes, with_roster_kinds
from runcard.calibrate.log import Log
from runcard.calibrate.numbers import finite_or_none, mean_interval
from runcard.calibrate.placing import place_incidents
from runcard.calibrate.rejected import Rejected
from runcard.calibrate.trips import Paths, find_paths
from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import City, Standard
from runcard.errors import InputError
from runcard.plan.plan import Plan
from runcard.plan.situation import Situation
from runcard.response.routes import find_routes
from runcard.response.travel import outside_route

AS_IT_WAS: Final = "as it was"
DRAWS: Final = 100
WARM_UP_SECONDS: Final = 3 * 3600.0
"""At first all units are idle, which they were not; incidents of this time do not count."""
LEAST_INCIDENTS: Final = 30
OUTSIDE: Final = -1

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Dispatch = Callable[[datetime], Plan]
"""The plan that decides at a local time."""
_Unit = tuple[int, str, int]
"""A unit of a team: its station and kind, and which of those of its station it is."""


@dataclass(frozen=True, eq=False)
class Replayed:
    """What a policy would have done: the weighted sum of missed standards of each incident, and each standard."""

    name: str
    missed: Floats
    """[incident]"""
    standards: tuple[tuple[Standard, float, float, float], ...]
    """Each with the part of its incidents that miss it, and its interval."""
    same_as_first: float
    """The part of incidents to which it sends the same units as the first policy."""

    @property
    def per_incident(self) -> tuple[float, float, float]:
        """The mean of missed, with its interval."""
        return mean_interval(self.missed)


@dataclass(frozen=True, eq=False)
class Backtest:
    """Policies on the part of a log that the city was not fitted to."""

    num_incidents: int
    num_skipped: int
    """Incidents that cannot be replayed: without a place, of a type without standards, with fewer known units."""
    first: datetime
    last: datetime
    policies: tuple[Replayed, ...]

    def fewer(self, number: int) -> tuple[float, float, float]:
        """How much less is missed per incident than by the first policy, with its interval: over the same incidents."""
        return mean_interval(self.policies[0].missed - self.policies[number].missed)

    def document(self) -> dict[str, Any]:
        """The results as plain values, ready for JSON."""
        return {
            "incidents": self.num_incidents,
            "skipped": self.num_skipped,
            "first": self.first.isoformat(timespec="minutes"),
            "last": self.last.isoformat(timespec="minutes"),
            "policies": [
                {
                    "name": one.name,
                    **dict(zip(("missed_per_incident", "low", "high"), one.per_incident, strict=True)),
                    "fewer_than_first": dict(zip(("value", "low", "high"), self.fewer(number), strict=True)),
                    "same_as_first": one.same_as_first,
                    "standards": [
                        {
                            **standard.document(),
                            "miss_fraction": value,
                            "low": finite_or_none(low),
                            "high": finite_or_none(high),
                        }
                        for standard, value, low, high in one.standards
                    ],
                }
                for number, one in enumerate(self.policies)
            ],
        }


def split_log(log: Log, part: float) -> tuple[Log, Log]:
    """The first part of the incidents of a log, by time, and the rest."""
    if not 0.0 < part < 1.0:
        raise InputError(f"expected a part between 0 and 1 of the log to fit on, got {part:g}")
    border = float(np.quantile(log.incidents["time"], part))
    return _cut(log, log.incidents["time"] <= border), _cut(log, log.incidents["time"] > border)


def _cut(log: Log, keep: NDArray[np.bool_]) -> Log:
    number = np.cumsum(keep) - 1
    responses = log.responses[keep[log.responses["incident"]]]
    responses["incident"] = number[responses["incident"]]
    ids = tuple(name for name, fine in zip(log.incident_ids, keep.tolist(), strict=True) if fine)
    elsewhere = len(log.responses) - len(responses)
    return replace(log, incidents=log.incidents[keep], responses=responses, incident_ids=ids, num_elsewhere=elsewhere)


@dataclass(frozen=True, eq=False)
class _Incident:
    """An incident of the part that is judged."""

    seconds: float
    time: datetime
    node: int
    centre: str
    type: str
    wanted: Mapping[str, int]
    """By kind, how many units go."""
    sent: Mapping[str, tuple[int, ...]]
    """By kind, the stations that were really sent from, in the order of dispatch."""
    busy_seconds: Mapping[str, tuple[float, ...]]


def backtest(
    fit: Fit,
    rest: Log,
    policies: Mapping[str, Dispatch],
    *,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Backtest:
    """The policies on the rest of a log, by name, and what really happened last."""
    city = fit.city
    if not city.has_roster:
        raise InputError("expected a city with a roster: a replay has to know which unit is where")
    incidents = _incidents(fit, rest)
    start = incidents[0].seconds + WARM_UP_SECONDS if incidents else 0.0
    counted = [number for number, one in enumerate(incidents) if one.seconds >= start]
    if len(counted) < LEAST_INCIDENTS:
        raise InputError(f"expected at least {LEAST_INCIDENTS} incidents to judge policies on, got {len(counted)}")
    teams = []
    for place, dispatch in enumerate(policies.values()):
        done = (lambda part, place=place: progress((place + part) / len(policies))) if progress is not None else None
        teams.append(_replay(city, incidents, dispatch, done))
    teams.append([one.sent for one in incidents])
    names = [*policies, AS_IT_WAS]
    missed, by_standard = _judge(fit, incidents, counted, teams, np.random.default_rng(seed))
    found = []
    for number, name in enumerate(names):
        rows = tuple((one, *mean_interval(np.array(own[number]))) for one, own in by_standard.items() if own[number])
        same = np.mean([_same(teams[number][one], teams[0][one]) for one in counted])
        found.append(Replayed(name, missed[number], rows, float(same)))
    skipped = len(rest.incidents) - len(incidents)
    return Backtest(len(counted), skipped, incidents[counted[0]].time, incidents[-1].time, tuple(found))


def _same(one: Mapping[str, Sequence[int]], other: Mapping[str, Sequence[int]]) -> bool:
    return all(sorted(one.get(kind, ())) == sorted(other.get(kind, ())) for kind in {*one, *other})


def _incidents(fit: Fit, rest: Log) -> list[_Incident]:
    """The incidents of a log that the fitted city knows: placed, of a type with standards, with known stations.

    What was really sent is cut to as many units of each kind as the city sends, the first ones, so that policies are
    judged by whom they send and not by how many. Where fewer are known, rows may be missing: these are left out.
    """
    # Rows of the rest are not those of the fit: what is far from any road is skipped here, and rejected nowhere.
    rest = replace(with_roster_kinds(fit.city, rest), rejected=Rejected())
    city, placed = fit.city, place_incidents(fit.before, rest)
    station = origins(city, rest, list(fit.homes))
    wanted: dict[str, dict[str, int]] = defaultdict(dict)
    for standard in city.standards:
        wanted[standard.type][standard.kind] = standard.trucks
    rows = rest.responses
    of_incident: dict[int, list[int]] = defaultdict(list)
    for place in np.argsort(rows["dispatched"], kind="stable").tolist():
        of_incident[int(rows["incident"][place])].append(place)
    own_busy = {(one.type, one.kind): one.busy_minutes for one in city.standards if one.busy_minutes is not None}
    times = local_seconds(rest.incidents["time"], rest.time_zone)
    types, found = rest.types or fit.types, []
    for number in np.argsort(rest.incidents["time"], kind="stable").tolist():
        name = types[max(int(rest.incidents["type"][number]), 0)]
        if placed.node[number] < 0 or name not in wanted:
            continue
        sent: dict[str, list[int]] = defaultdict(list)
        busy: dict[str, list[float]] = defaultdict(list)
        known = True
        for place in of_incident[number]:
            kind = rest.kinds[rows["kind"][place]] if rows["kind"][place] >= 0 else ""
            if kind not in wanted[name]:
                continue
            known &= bool(station[place] >= 0)
            sent[kind].append(int(station[place]))
            busy[kind].append(float(rows["available"][place] - rows["dispatched"][place]))
        if not known or any(len(sent[kind]) < needed for kind, needed in wanted[name].items()):
            continue
        for kind, needed in wanted[name].items():
            mean = 60.0 * own_busy.get((name, kind), city.busy_minutes_of(kind))
            times_busy = [mean if one != one else one for one in busy[kind]]
            busy[kind] = times_busy + [mean] * (needed - len(times_busy))
        seconds = float(rest.incidents["time"][number])
        found.append(
            _Incident(
                seconds,
                datetime(1970, 1, 1) + timedelta(seconds=float(times[number])),
                int(placed.node[number]),
                placed.centres[int(placed.area[number])],
                name,
                wanted[name],
                {kind: tuple(own[: wanted[name][kind]]) for kind, own in sent.items()},
                {kind: tuple(own) for kind, own in busy.items()},
            )
        )
    return found


def _replay(
    city: City, incidents: list[_Incident], dispatch: Dispatch, progress: Callable[[float], None] | None
) -> list[Mapping[str, tuple[int, ...]]]:
    """[incident] the stations that a policy sends from, by kind."""
    free_at = {unit.unit_id: -np.inf for unit in city.units}
    home = {unit.unit_id: city.station_numbers[unit.station_id] for unit in city.units}
    found: list[Mapping[str, tuple[int, ...]]] = []
    for number, one in enumerate(incidents):
        idle = frozenset(unit for unit, until in free_at.items() if until <= one.seconds)
        decision = dispatch(one.time).decide(Situation(at=one.centre, type=one.type, idle=idle))
        sent: dict[str, tuple[int, ...]] = {}
        for part in decision.kinds:
            kind = part.fleet.kind
            for place, unit in enumerate(part.units):
                if unit != OUTSIDE_ID:
                    free_at[unit] = one.seconds + one.busy_seconds[kind][place]
            sent[kind] = tuple(OUTSIDE if unit == OUTSIDE_ID else home[unit] for unit in part.units)
        found.append(sent)
        if progress is not None and number % 50 == 0:
            progress(number / len(incidents))
    return found


def _judge(
    fit: Fit,
    incidents: list[_Incident],
    counted: list[int],
    teams: Sequence[Sequence[Mapping[str, tuple[int, ...]]]],
    rng: np.random.Generator,
) -> tuple[Floats, dict[Standard, list[list[float]]]]:
    """[policy, incident] the weighted sum of missed standards, and [policy] the misses of each standard."""
    city = fit.city
    nodes = station_nodes(city)
    pairs = {
        (station, incidents[number].node)
        for number in counted
        for team in teams
        for own in team[number].values()
        for station in own
        if station != OUTSIDE
    }
    listed = {pair: place for place, pair in enumerate(sorted(pairs))}
    paths = find_paths(city, [int(nodes[station]) for station, _ in listed], [node for _, node in listed])
    roads = _Roads(city, paths)
    by_type: dict[str, list[Standard]] = defaultdict(list)
    for standard in city.standards:
        by_type[standard.type].append(standard)
    missed = np.zeros((len(teams), len(counted)))
    by_standard: dict[Standard, list[list[float]]] = {one: [[] for _ in teams] for one in city.standards}
    for place, number in enumerate(counted):
        one = incidents[number]
        units = sorted({unit for team in teams for kind in one.wanted for unit in _units(team[number], kind)})
        times = roads.responses(rng, units, [listed[station, one.node] for station, _, _ in units])
        for kind in one.wanted:
            outside = [roads.outside(rng, kind) for _ in range(one.wanted[kind])]
            for number_of_policy, team in enumerate(teams):
                near = [times[unit] for unit in _units(team[number], kind)]
                num_outside = len(team[number].get(kind, ())) - len(near)
                there = np.sort(near + outside[:num_outside], axis=0)
                for standard in by_type[one.type]:
                    if standard.kind == kind:
                        late = _late(there, standard)
                        missed[number_of_policy, place] += standard.weight * late
                        by_standard[standard][number_of_policy].append(late)
    return missed, by_standard


def _units(team: Mapping[str, Sequence[int]], kind: str) -> list[_Unit]:
    """The units of a kind that a team has: each has the same draws in every team."""
    met: Counter[int] = Counter()
    found = []
    for station in team.get(kind, ()):
        if station != OUTSIDE:
            found.append((station, kind, met[station]))
            met[station] += 1
    return found


def _late(there: Floats, standard: Standard) -> float:
    """The part of draws in which too few are there by the target."""
    if len(there) < standard.arrivals:
        return 1.0
    return float((there[standard.arrivals - 1] > standard.target_minutes).mean())


class _Roads:
    """Draws response times on the roads of a fitted city."""

    def __init__(self, city: City, paths: Paths) -> None:
        self.city, self.paths = city, paths
        self.minutes = np.array([link.mean_minutes for link in city.links])
        self.scale = float(city.driving.scale_minutes or 1.0)
        links, mean = outside_route(city, find_routes(city))
        self.outside_mean = links * mean

    def draw(self, rng: np.random.Generator, places: list[int]) -> Floats:
        """[path, draw] driving minutes over some paths to one node."""
        return drawn_drives(
            rng,
            self.paths.links[places],
            self.minutes,
            scale=self.scale,
            shared_delay=self.city.shared_delay,
            num=DRAWS,
        )

    def responses(self, rng: np.random.Generator, units: list[_Unit], places: list[int]) -> dict[_Unit, Floats]:
        """[draw] the response minutes of each unit, given the paths of all."""
        drives, kinds, homes = self.draw(rng, places), [unit[1] for unit in units], [unit[0] for unit in units]
        return dict(zip(units, drives + drawn_turnouts(rng, self.city, kinds, homes, DRAWS), strict=True))

    def outside(self, rng: np.random.Generator, kind: str) -> Floats:
        """[draw] the minutes of a truck from outside."""
        drive = rng.gamma(self.outside_mean / self.scale, self.scale, DRAWS)
        return np.asarray(drive + drawn_turnouts(rng, self.city, [kind], [OUTSIDE], DRAWS)[0])
