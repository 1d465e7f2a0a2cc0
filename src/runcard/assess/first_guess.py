"""A first guess at what one more unit is worth, for every place at once: which places to look at first.

Units are busy independently, with the busy chances that they have now, less the part that the new unit takes over:
b' = b N / (N + 1), and so is the new one, as the mean of the others. Closest first: an incident at j asks the units
from the closest on until k_j are going. Each of them is there by the target with a chance of its own, as if units
shared no delay. With F_r(s, a) the chance that s units are going and a of them in time after r units were asked, and
V_r(s, a) the chance to miss the standard from there on,

    F_{r+1}(s, a) = b F_r(s, a) + (1 - b) { p F_r(s-1, a) + (1 - p) F_r(s-1, a-1) },     p = P(late) of unit r,
    V_r(s, a) = b V_{r+1}(s, a) + (1 - b) { p V_{r+1}(s+1, a) + (1 - p) V_{r+1}(s+1, a+1) },
    V_r(k, a) = [a < arrivals].

A new unit that stands between the r closest and the others takes one step from F_r to V_r, so that each place costs one
step, not a walk of its own. With k = arrivals = 1 and minutes in place of p, V is the mean of the minutes of the
closest idle unit. This is a guess: nothing that is proven depends on it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.aprons import apron_nodes, start_minutes, with_aprons
from runcard.city.model import City, Objective, Station, Unit
from runcard.response.engine import engine_for
from runcard.response.teams import Teams
from runcard.response.travel import Needs, Travel, needs_of, travel_of
from runcard.threads import run_each

Floats = NDArray[np.float64]
Points = NDArray[np.int64]

BATCH = 100
"""Places whose driving times are found at once."""


class Alone(NamedTuple):
    """What single units of some stations do at the demand points."""

    drive_minutes: Floats
    """[station, J] by which the closest is told."""
    late: tuple[Floats, ...]
    """By standard: [station, J] P(late), or minutes in place of it."""
    outside: tuple[Floats, ...]
    """By standard: [J] the same of a unit from outside."""


class Goal(NamedTuple):
    """One standard of every demand point, or its minutes: what counts, and how much."""

    trucks: Points
    arrivals: Points
    weight: Floats
    """[J] 0 where a demand point has no such standard."""


@dataclass(frozen=True, eq=False)
class Inserted:
    """What the chance of a miss is linear in, once a unit is put behind the r closest: [r, J] each."""

    settled: Floats
    """By what was sent before it."""
    not_sent: Floats
    late: Floats
    in_time: Floats

    def with_unit(self, rank: Points, busy: float, p_late: Floats) -> Floats:
        """[place, J] the chance of a miss with a unit behind the `rank` closest, late with such a chance."""
        at = rank, np.arange(rank.shape[1])
        sent = p_late * self.late[at] + (1.0 - p_late) * self.in_time[at]
        found: Floats = self.settled[at] + busy * self.not_sent[at] + (1.0 - busy) * sent
        return found


def inserted(p_late: Floats, busy: Floats, outside: Floats, trucks: int, arrivals: int) -> Inserted:
    """F and V of units from the closest on [unit, J], put together; those from outside come last."""
    num, num_points = p_late.shape
    shape = (num + 1, trucks + 1, arrivals + 1, num_points)  # more than enough arrivals count as enough
    reached, missed = np.zeros(shape), np.zeros(shape)
    reached[0, 0, 0] = 1.0
    more = np.minimum(np.arange(arrivals + 1) + 1, arrivals)
    for r in range(num):
        going = (1.0 - busy[r]) * reached[r, :trucks]
        reached[r + 1, trucks] = reached[r, trucks]
        reached[r + 1, :trucks] += busy[r] * reached[r, :trucks]
        reached[r + 1, 1:] += p_late[r] * going
        for a, next_a in enumerate(more.tolist()):
            reached[r + 1, 1:, next_a] += (1.0 - p_late[r]) * going[:, a]
    missed[:, trucks, :arrivals] = 1.0
    for s in range(trucks - 1, -1, -1):
        missed[num, s] = outside * missed[num, s + 1] + (1.0 - outside) * missed[num, s + 1, more]
    for r in range(num - 1, -1, -1):
        sent = p_late[r] * missed[r + 1, 1:] + (1.0 - p_late[r]) * missed[r + 1, 1:][:, more]
        missed[r, :trucks] = busy[r] * missed[r + 1, :trucks] + (1.0 - busy[r]) * sent
    open_ = reached[:, :trucks]
    return Inserted(
        settled=(reached[:, trucks] * missed[:, trucks]).sum(axis=1),
        not_sent=(open_ * missed[:, :trucks]).sum(axis=(1, 2)),
        late=(open_ * missed[:, 1:]).sum(axis=(1, 2)),
        in_time=(open_ * missed[:, 1:][:, :, more]).sum(axis=(1, 2)),
    )


class _Queue(NamedTuple):
    """The units of every demand point from the closest on."""

    drive_minutes: Floats
    """[unit, J], rising."""
    parts: list[list[tuple[Points, Inserted]]]
    """By goal: demand points that need equally many, and what is known of them."""


@dataclass(frozen=True, eq=False)
class FirstGuess:
    """Guesses at the mean cost of an incident with one more unit, for a city of one kind with these busy chances."""

    city: City
    busy: Floats
    """[I] of the units of each station."""
    threads: int = 1

    def today(self) -> float:
        """The mean cost of an incident with no more units, guessed in the same way."""
        cost = np.zeros(len(self.city.demand))
        for goal, of_goal in zip(self._goals, self._queue(1.0).parts, strict=True):
            for some, one in of_goal:
                cost[some] += goal.weight[some] * (one.settled + one.not_sent)[0]  # a unit that never goes
        return float(cost @ self._rate_shares)

    def costs(self, places: Sequence[str], progress: Callable[[float], None] | None = None) -> Floats:
        """[place] the mean cost of an incident with one more unit at a node, about."""
        trucks = self.city.trucks
        shrink = sum(trucks) / (sum(trucks) + 1.0)
        queue, new_busy = self._queue(shrink), float(shrink * np.repeat(self.busy, trucks).mean())
        done: list[int] = []

        def of_some(low: int) -> Floats:
            new = self._alone(_city_of(self.city, places[low : low + BATCH]))
            rank = (queue.drive_minutes[:, None, :] <= new.drive_minutes).sum(axis=0)
            cost = np.zeros(rank.shape)
            for goal, late, of_goal in zip(self._goals, new.late, queue.parts, strict=True):
                for some, one in of_goal:
                    cost[:, some] += goal.weight[some] * one.with_unit(rank[:, some], new_busy, late[:, some])
            done.append(low)
            if progress is not None:
                progress(min(1.0, len(done) * BATCH / len(places)))
            found: Floats = cost @ self._rate_shares
            return found

        return np.concatenate(run_each(of_some, range(0, len(places), BATCH), self.threads))

    def _queue(self, shrink: float) -> _Queue:
        """The units of today from the closest on, so many times as busy."""
        now, trucks = self._alone(self.city), self.city.trucks
        unit = np.repeat(np.arange(len(trucks)), trucks)
        order = np.argsort(now.drive_minutes[unit], axis=0, kind="stable")
        columns, busy = np.arange(order.shape[1]), (shrink * self.busy)[unit][order]
        parts = []
        for goal, late, outside in zip(self._goals, now.late, now.outside, strict=True):
            p_late = late[unit][order, columns]
            parts.append(
                [
                    (some, inserted(p_late[:, some], busy[:, some], outside[some], *needed))
                    for needed, some in _alike(goal)
                ]
            )
        return _Queue(now.drive_minutes[unit][order, columns], parts)

    @cached_property
    def _rate_shares(self) -> Floats:
        """[J] the part of all incidents."""
        rate = np.array([point.incidents_per_day for point in self.city.demand])
        shares: Floats = rate / rate.sum()
        return shares

    def _alone(self, city: City) -> Alone:
        """What single units of the stations of a city do."""
        travel = travel_of(city)
        late, outside = [], []
        for needs in needs_of(city) if _counts_late(city.objective) else ():
            p_late = _late_alone(travel, needs)
            late.append(p_late[1:])
            outside.append(p_late[0])
        if city.objective.minimise != "late":
            late.append(travel.minutes)
            outside.append(np.full(travel.minutes.shape[1], travel.outside_mean))
        return Alone(travel.routes.drive_minutes, tuple(late), tuple(outside))

    @cached_property
    def _goals(self) -> list[Goal]:
        """What counts, in the order of `Alone.late`."""
        city, found = self.city, list[Goal]()
        standards = [city.standards_of(point) for point in city.demand]
        for number, needs in enumerate(needs_of(city) if _counts_late(city.objective) else ()):
            weight = [own[number].weight if len(own) > number else 0.0 for own in standards]
            found.append(Goal(needs.trucks.astype(np.int64), needs.arrivals.astype(np.int64), np.array(weight)))
        if city.objective.minimise != "late":
            one = np.ones(len(city.demand), np.int64)
            per_minute = 1.0 if city.objective.weight is None else city.objective.weight
            found.append(Goal(one, one, np.full(len(one), per_minute)))
        return found


def _counts_late(objective: Objective) -> bool:
    return objective.minimise != "minutes"


def _alike(goal: Goal) -> Iterator[tuple[tuple[int, int], Points]]:
    """Demand points with equally many trucks and arrivals, and these numbers."""
    both = np.stack([goal.trucks, goal.arrivals])
    for trucks, arrivals in np.unique(both[:, goal.weight > 0.0], axis=1).T.tolist():
        alike = (goal.trucks == trucks) & (goal.arrivals == arrivals) & (goal.weight > 0.0)
        yield (trucks, arrivals), np.flatnonzero(alike)


def _late_alone(travel: Travel, needs: Needs) -> Floats:
    """[1 + station, J] P(late) of a unit from outside, and of one from each station."""
    num_stations, num_points = travel.routes.drive_minutes.shape
    one = np.ones(num_points, np.int32)
    # Demand points at one node with one target are the same.
    alike = np.stack([travel.routes.row.astype(np.float64), needs.targets])
    _, first, same = np.unique(alike, axis=1, return_index=True, return_inverse=True)
    some = first[np.isfinite(needs.targets[first])]
    found = np.zeros((num_stations + 1, len(first)))
    engine = engine_for(travel, Teams.of([1] * num_stations, 1), Needs(one, one, needs.targets), some)
    found[:, np.isfinite(needs.targets[first])] = engine.late(some)[0]
    spread: Floats = found[:, same.reshape(-1)]
    return spread


def _city_of(city: City, places: Sequence[str]) -> City:
    """The city with a station of one unit at each of some nodes, and no others."""
    stations = tuple(Station(f"place {n}", node_id, 1) for n, node_id in enumerate(places))
    kind, has_roster = city.units[0].kind, city.has_roster
    units = tuple(Unit(one.station_id, one.station_id, kind) for one in stations) if has_roster else ()
    found = replace(city, stations=stations, units=units)
    return with_aprons(found, start_minutes(city)) if apron_nodes(city) else found
