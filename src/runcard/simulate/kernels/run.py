"""A batch of incidents under one policy: decide, send, count.

A policy decides by an order of the stations, by its value function (the idle team with the smallest cost + value of the
state that is left), by a table of teams, or by a run card (the first of some teams that is idle, else an order). One
that knows the hour has all of this for each period of the week, one after another. What is counted takes the same
memory however many incidents there are: arrivals go into bins whose width is a fixed part of the minutes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.kernels.bare import bare_kernel, inlined_kernel
from runcard.mdp.kernels.lookahead_best import team_ahead
from runcard.mdp.kernels.states import state_mask
from runcard.simulate.kernels.day import advance, finish, send, week_hour_at

BY_ORDER, BY_VALUE, BY_TABLE, BY_CARD = range(4)
"""How a policy decides."""

LEAST_MINUTES = 0.01
BIN_WIDTH = 0.005
NUM_BINS = 3000
"""From LEAST_MINUTES on, each bin is wider than the one before by this part: the last one ends after three weeks."""


@inlined_kernel
def choose(model: Any, state: Any, rule: Any, stations: NDArray[np.int64]) -> None:
    """Fill `stations` with the team that a rule sends to the incident, and -1 after the last."""
    point = model.points[state.clock[0].point]
    j, wanted, first_value = point.own, min(point.needed, state.clock[0].num_idle), 0
    if len(rule.period) > 0:
        period = rule.period[week_hour_at(state.clock[0].now)]
        j, first_value = j + period * rule.num_points, period * rule.num_values
    stations[:] = -1
    if rule.kind == BY_CARD:
        for team in rule.table[j]:
            if team < 0:
                break
            fits, same = True, 0
            for r in range(rule.members.shape[1]):
                i = rule.members[team, r]
                # The stations of a team rise: the n-th truck of one needs n idle ones there.
                same = same + 1 if r > 0 and i == rule.members[team, r - 1] else 1
                if i >= 0 and state.idle[i] < same:
                    fits = False
            if fits:
                for r in range(rule.members.shape[1]):
                    stations[r] = rule.members[team, r]
                return
    if rule.kind == BY_ORDER or rule.kind == BY_CARD:
        num = 0
        for i in rule.order[j]:
            for _ in range(min(state.idle[i], wanted - num)):
                stations[num] = i
                num += 1
            if num == wanted:
                break
        return
    team, code = 0, state.clock[0].code
    if rule.kind == BY_TABLE:
        team = rule.table[code, j]
    elif len(rule.known) > 0 and rule.known[code, j] >= 0:
        team = rule.known[code, j]
    elif wanted > 0:
        best, busy = np.inf, ~state_mask(rule, state.idle, 0, np.uint64(0))
        for t in range(rule.first_of_size[wanted], rule.first_of_size[wanted + 1]):
            if rule.mask[t] & busy == 0:
                total = rule.cost[j, t] + rule.value[first_value + code - rule.offset[t]]
                if total < best:
                    best, team = total, t
        if len(rule.known) > 0:
            rule.known[code, j] = team
    for r in range(rule.members.shape[1]):
        stations[r] = rule.members[team, r]


@bare_kernel
def bin_of(minutes: float) -> int:
    """The bin that an arrival counts in."""
    if minutes <= LEAST_MINUTES:
        return 0
    return min(NUM_BINS - 1, 1 + int(np.log(minutes / LEAST_MINUTES) / BIN_WIDTH))


@bare_kernel
def run_batch(
    model: Any, state: Any, rule: Any, found: Any, records: Any, stations: NDArray[np.int64], first_counted: int,
    num_incidents: int, end: float,
) -> None:  # fmt: skip
    """Send teams to incidents, and count them: all from time 0 to `end`, or `num_incidents` from a number on.

    Without an end, what is measured begins with the incident before `first_counted` and ends with the last one. It does
    not begin at a fixed time: such a time is likely in a long gap between incidents, and the next incident would find
    more trucks idle than others do. `records` may be empty; `stations` is scratch for a team.
    """
    while found.sums[0].of_city < num_incidents and advance(model, state, end):
        if model.points[state.clock[0].point].needed > 0:
            choose(model, state, rule, stations)
            send(model, state, stations)
        tally(model, state, found, records, stations, first_counted)
    finish(state)
    found.sums[0].minutes = state.clock[0].now - state.clock[0].measured_from


@bare_kernel
def run_batch_ahead(
    model: Any, state: Any, scratch: Any, ranked: Any, teams: Any, tables: Any, found: Any, records: Any,
    stations: NDArray[np.int64], first_counted: int, num_incidents: int, end: float,
) -> None:  # fmt: skip
    """The same as `run_batch` for a policy that looks one event ahead (see `policy.ahead_rule`).

    It may be called again with a later end; `finish` is left to the caller.
    """
    while found.sums[0].of_city < num_incidents and advance(model, state, end):
        point = model.points[state.clock[0].point]
        if point.needed > 0:
            team = team_ahead(point.own, state.idle, scratch, ranked, teams, tables)
            for r in range(len(stations)):
                stations[r] = teams.members[team, r]
            send(model, state, stations)
        tally(model, state, found, records, stations, first_counted)


@inlined_kernel
def tally(model: Any, state: Any, found: Any, records: Any, stations: NDArray[np.int64], first_counted: int) -> None:
    """Count the incident that a team was sent to, and write it down, if measuring has begun.

    One that does not need the kind only counts as one of the city, so that the batches of all kinds are the same.
    """
    clock, sums, point = state.clock[0], found.sums[0], model.points[state.clock[0].point]
    if clock.now < clock.measured_from:
        if clock.measured_from == np.inf:
            sums.before += 1
            if sums.before >= first_counted:
                clock.measured_from = clock.now
        return
    sums.of_city += 1
    if point.needed > 0:
        if len(records) > 0:
            record = records[sums.incidents]
            record.incident = sums.of_city - 1
            record.minutes, record.point, record.idle = clock.now - clock.measured_from, clock.point, clock.num_idle
            for r in range(len(record.stations)):
                record.stations[r] = stations[r] if r < len(stations) else -1
            record.first, record.last, record.late, record.missed = clock.first, clock.last, clock.late, clock.missed
            record.outside, record.turned = clock.outside, clock.turned
        if len(found.free) > 0:
            for i in range(len(state.idle)):
                found.free[sums.incidents, i] = state.idle[i]
            for i in stations:
                if i >= 0:
                    found.free[sums.incidents, i] += 1
        sums.incidents += 1
        sums.late += clock.late
        sums.outside += clock.outside
        sums.turned += clock.turned
        sums.first_sum += clock.first
        sums.last_sum += clock.last
        found.bins[0, bin_of(clock.first)] += 1
        found.bins[1, bin_of(clock.last)] += 1
        for s in range(point.first_standard, point.last_standard):
            found.standards[model.standards[s].number, 0] += 1
            found.standards[model.standards[s].number, 1] += state.missed[s - point.first_standard]
