"""The log replayed, incident by incident, under policies and as it was: who would have come, and how late.

The city is fitted on the first part of the log, and policies are judged on the rest. Every policy meets the same
incidents at the same moments. A unit that it sends is busy as long as the log says for the first, second, ... unit of
that kind at that incident, or the mean of its kind and type where fewer went. What is missed is the chance that the
plan gives for the units that it sends, from their stations to the demand area, because nobody knows how long a unit
would have taken that did not go. What was sent is judged alike: as sent from home, and cut to as many units as the
city sends. So nothing is drawn, and the interval of each policy, and of each difference, is over incidents.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.clock import local_seconds
from runcard.calibrate.fit import Fit
from runcard.calibrate.homes import origins, with_roster_kinds
from runcard.calibrate.log import Log
from runcard.calibrate.numbers import finite_or_none, mean_interval
from runcard.calibrate.placing import place_incidents
from runcard.calibrate.rejected import Rejected
from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import City, Standard
from runcard.errors import InputError
from runcard.plan.plan import Plan
from runcard.plan.situation import Situation
from runcard.policy.base import Option

AS_IT_WAS: Final = "as it was"
WARM_UP_SECONDS: Final = 3 * 3600.0
"""At first all units are idle, which they were not; incidents of this time do not count."""
LEAST_INCIDENTS: Final = 30

Floats = NDArray[np.float64]
Dispatch = Callable[[datetime], Plan]
"""The plan that decides at a local time."""
_Team = Mapping[str, Sequence[str]]
"""By kind, the stations that units are sent from."""


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
    centre: str
    type: str
    wanted: Mapping[str, int]
    """By kind, how many units go."""
    sent: _Team
    """What was really sent, in the order of dispatch."""
    busy_seconds: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, eq=False)
class _Reply:
    """What is sent to an incident, and the chance that each standard of its type is missed."""

    team: _Team
    missed: Mapping[Standard, float]

    @property
    def units(self) -> Counter[tuple[str, str]]:
        """The kinds and stations of its units, and how many each has."""
        return Counter((kind, station) for kind, stations in self.team.items() for station in stations)

    @property
    def weight(self) -> float:
        """The weighted sum of missed standards."""
        return sum(standard.weight * chance for standard, chance in self.missed.items())


def backtest(
    fit: Fit,
    rest: Log,
    policies: Mapping[str, Dispatch],
    *,
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
    replies = []
    for place, dispatch in enumerate(policies.values()):
        done = (lambda part, place=place: progress((place + part) / len(policies))) if progress is not None else None
        replies.append(_replay(city, incidents, dispatch, done))
    plan = next(iter(policies.values()))
    replies.append([_reply(plan(one.time), one, one.sent) for one in incidents])
    found = []
    for name, by_incident in zip([*policies, AS_IT_WAS], replies, strict=True):
        by_standard: dict[Standard, list[float]] = {standard: [] for standard in city.standards}
        for number in counted:
            for standard, chance in by_incident[number].missed.items():
                by_standard[standard].append(chance)
        rows = tuple((standard, *mean_interval(np.array(own))) for standard, own in by_standard.items() if own)
        missed = np.array([by_incident[number].weight for number in counted])
        same = np.mean([by_incident[number].units == replies[0][number].units for number in counted])
        found.append(Replayed(name, missed, rows, float(same)))
    skipped = len(rest.incidents) - len(incidents)
    return Backtest(len(counted), skipped, incidents[counted[0]].time, incidents[-1].time, tuple(found))


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
    houses = Counter((unit.kind, unit.station_id) for unit in city.units)
    types, found = rest.types or fit.types, []
    for number in np.argsort(rest.incidents["time"], kind="stable").tolist():
        name = types[max(int(rest.incidents["type"][number]), 0)]
        if placed.node[number] < 0 or name not in wanted:
            continue
        sent: dict[str, list[str]] = defaultdict(list)
        busy: dict[str, list[float]] = defaultdict(list)
        known = True
        for place in of_incident[number]:
            kind = rest.kinds[rows["kind"][place]] if rows["kind"][place] >= 0 else ""
            if kind not in wanted[name]:
                continue
            known &= bool(station[place] >= 0)
            sent[kind].append(city.stations[station[place]].station_id)
            busy[kind].append(float(rows["available"][place] - rows["dispatched"][place]))
        team = {kind: tuple(sent[kind][:needed]) for kind, needed in wanted[name].items()}
        units = Counter((kind, home) for kind, homes in team.items() for home in homes)
        if not known or units.total() < sum(wanted[name].values()) or not units <= houses:
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
                placed.centres[int(placed.area[number])],
                name,
                wanted[name],
                team,
                {kind: tuple(own) for kind, own in busy.items()},
            )
        )
    return found


def _replay(
    city: City, incidents: list[_Incident], dispatch: Dispatch, progress: Callable[[float], None] | None
) -> list[_Reply]:
    """[incident] what a policy sends."""
    free_at = {unit.unit_id: -np.inf for unit in city.units}
    found = []
    for number, one in enumerate(incidents):
        idle = frozenset(unit for unit, until in free_at.items() if until <= one.seconds)
        decision = dispatch(one.time).decide(Situation(at=one.centre, type=one.type, idle=idle))
        for part in decision.kinds:
            for unit, seconds in zip(part.units, one.busy_seconds[part.fleet.kind], strict=False):
                if unit != OUTSIDE_ID:
                    free_at[unit] = one.seconds + seconds
        team = {part.fleet.kind: part.decision.team for part in decision.kinds}
        found.append(_reply(dispatch(one.time), one, team))
        if progress is not None and number % 50 == 0:
            progress(number / len(incidents))
    return found


def _reply(plan: Plan, incident: _Incident, team: _Team) -> _Reply:
    """A team with the chances that a plan gives for it."""
    missed: dict[Standard, float] = {}
    for kind, stations in team.items():
        fleet = plan.fleet(kind)
        point = fleet.point(incident.centre, incident.type)
        assert point is not None
        option = Option(team=tuple(stations), p_late=np.nan, price=np.nan)
        missed |= dict(zip(fleet.standards_at(point), fleet.chances(point, option), strict=True))
    return _Reply(team, missed)
