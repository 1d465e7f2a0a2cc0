"""One department from incident to incident: `begin`, then `advance` to the next incident, `send` a team, and again.

A truck is *away* from the moment it is sent until it is home, and *out* while it is broken or off its shift. It can be
sent if it is neither and, where trucks can be redirected, also while it drives home. Events between two incidents are
returns, releases (a truck leaves the scene and may be redirected), outages and shifts. Each is a slot of the agenda:

    truck           it is home             num_trucks + truck          it is released
    2 num_trucks + truck    its outage begins or ends        3 num_trucks + n    shift n begins or ends

All times are minutes. Week 0 begins at time 0, a Monday. What is measured counts from `measured_from` on.
"""

from typing import Any

import numpy as np

from runcard.mdp.kernels.bare import bare_kernel, inlined_kernel
from runcard.simulate.kernels import draws
from runcard.simulate.kernels.agenda import next_time, note, strike
from runcard.simulate.kernels.draws import draw_key, draw_time, incident_key, uniform
from runcard.simulate.kernels.drive import drive_route, drive_tree, drive_until, scale_time

MINUTES_PER_WEEK = 10080.0
HOURS_PER_WEEK = 168
MINUTES_PER_YEAR = 525960.0
MOMENT = 1e-6


@bare_kernel
def begin(model: Any, state: Any, key: np.uint64, start: float) -> None:
    """Begin at time `start` with a new state, every truck in its station, and draw what happens first."""
    clock = state.clock[0]
    clock.key, clock.now, clock.changed_at = key, start, start
    if model.breakdowns_per_year > 0.0:
        for n in range(len(model.station_of)):
            _first_outage(model, state, n)
    for s in range(len(model.shifts)):
        _next_shift(model, state, s)
    _next_incident(model, state)


@bare_kernel
def _first_outage(model: Any, state: Any, n: int) -> None:
    """Draw whether truck n is broken at the start, as it may be at any time, and when that changes."""
    between = MINUTES_PER_YEAR / model.breakdowns_per_year
    chance = model.repair_minutes / (between + model.repair_minutes)
    if uniform(draw_key(state.clock[0].key, draws.OUTAGE, model.truck_number[n], 0)) < chance:
        state.trucks[n].outages = 1
        _put_out(model, state, n, 1)
    _next_outage(model, state, n)


@bare_kernel
def _next_outage(model: Any, state: Any, n: int) -> None:
    """Draw when the outage of truck n begins, or when it ends."""
    clock = state.clock[0]
    state.trucks[n].outages += 1
    begins = state.trucks[n].outages % 2 == 1
    what, who = draws.OUTAGE if begins else draws.REPAIR, model.truck_number[n]
    hashed = draw_key(clock.key, what, who, state.trucks[n].outages)
    mean = MINUTES_PER_YEAR / model.breakdowns_per_year if begins else model.repair_minutes
    time = draw_time(model.exponential, mean, hashed)
    note(state, 2 * len(model.station_of) + n, clock.now + time)


@bare_kernel
def _next_shift(model: Any, state: Any, s: int) -> None:
    """Put the truck of shift s in or out of service by the time of the week, and note the next change."""
    clock = state.clock[0]
    # A moment later, so that rounding never puts the time before a change that is due.
    in_week = (clock.now + MOMENT - model.shifts[s].start) % MINUTES_PER_WEEK
    off = in_week < model.shifts[s].minutes
    if off != state.shift_off[s]:
        _put_out(model, state, model.shifts[s].truck, 1 if off else -1)
    state.shift_off[s] = off
    rest = (model.shifts[s].minutes if off else MINUTES_PER_WEEK) - in_week
    note(state, 3 * len(model.station_of) + s, clock.now + rest + MOMENT)


@inlined_kernel
def _count_minutes(state: Any) -> None:
    """Count the minutes since the number of idle trucks changed."""
    clock = state.clock[0]
    since = max(clock.changed_at, clock.measured_from)
    if clock.now > since:
        state.idle_minutes[clock.num_idle] += clock.now - since
    clock.changed_at = clock.now


@inlined_kernel
def _count_idle(model: Any, state: Any, n: int, by: int) -> None:
    """Count truck n as idle (1), or no longer (-1)."""
    _count_minutes(state)
    clock, i = state.clock[0], model.station_of[n]
    state.idle[i] += by
    clock.num_idle += by
    clock.code += by * model.stations[i].stride
    state.trucks[n].ready = by > 0


@bare_kernel
def _put_out(model: Any, state: Any, n: int, by: int) -> None:
    """Take truck n out of service for one more reason (1), or one less (-1)."""
    state.trucks[n].out += by
    if by > 0 and state.trucks[n].ready:
        _count_idle(model, state, n, -1)
    elif by < 0 and state.trucks[n].out == 0 and (not state.trucks[n].away or state.trucks[n].released):
        _count_idle(model, state, n, 1)


@bare_kernel
def week_hour_at(minutes: float) -> int:
    """The hour of the week of a time; a moment before Monday may be rounded to hour 168, which is hour 0."""
    return int(minutes % MINUTES_PER_WEEK / 60.0) % HOURS_PER_WEEK


@inlined_kernel
def _next_incident(model: Any, state: Any) -> None:
    """Draw the time and the demand point of the next incident; after the last one of a log the point is -1."""
    clock = state.clock[0]
    number = clock.number
    if len(model.log) > 0:
        clock.number += 1
        clock.next_key = incident_key(clock.key, number)
        clock.next_point = model.log[number].point if number < len(model.log) else -1
        clock.next_time = model.log[number].minutes if number < len(model.log) else np.inf
        return
    time, row = clock.now, 0
    while True:
        key = incident_key(clock.key, number)
        time -= np.log(uniform(draw_key(key, draws.GAP, draws.EVERYBODY, 0))) / model.incidents_per_minute
        number += 1
        if len(model.hour_share) == 0:
            break
        hour = week_hour_at(time) % len(model.hour_share)
        if uniform(draw_key(key, draws.KEEP, draws.EVERYBODY, 0)) < model.hour_share[hour]:
            break
    clock.number, clock.next_time, clock.next_key = number, time, key
    if len(model.rate_row) > 0:
        row = model.rate_row[week_hour_at(time)]
    below = model.rate_below[row]
    place = uniform(draw_key(key, draws.POINT, draws.EVERYBODY, 0)) * below[-1]
    point = np.searchsorted(below, place, side="right")
    clock.next_point = min(point, len(below) - 1)


@inlined_kernel
def advance(model: Any, state: Any, end: float) -> bool:
    """Go on to the next incident, which then waits at `clock.point`; returns whether it comes before `end`."""
    clock = state.clock[0]
    stop = min(clock.next_time, end)
    num_trucks = len(model.station_of)
    while clock.num_noted > 0 and next_time(state) <= stop:
        slot = state.heap[0]
        clock.now = state.slots[slot].time
        strike(state, slot)
        n = slot % num_trucks
        truck = state.trucks[n]
        if slot < 2 * num_trucks:
            truck.released = slot >= num_trucks
            if slot < num_trucks:
                _count_busy(state, n)
                strike(state, num_trucks + n)  # at the same moment, if home is at the scene
                truck.away = False
            if truck.out == 0 and not truck.ready:
                _count_idle(model, state, n, 1)
        elif slot < 3 * num_trucks:
            begins = truck.outages % 2 == 1
            _next_outage(model, state, n)
            _put_out(model, state, n, 1 if begins else -1)
        else:
            _next_shift(model, state, slot - 3 * num_trucks)
    clock.now = stop
    if clock.next_time > end or clock.next_point < 0:
        return False
    clock.point, clock.incident_key = clock.next_point, clock.next_key
    _next_incident(model, state)
    return True


@inlined_kernel
def _count_busy(state: Any, n: int) -> None:
    """Count the minutes that truck n was away, up to now."""
    clock = state.clock[0]
    since = max(state.trucks[n].left_at, clock.measured_from)
    if clock.now > since:
        state.trucks[n].busy_minutes += clock.now - since


@bare_kernel
def finish(state: Any) -> None:
    """Count the times that have not ended at the end."""
    clock = state.clock[0]
    for n in range(len(state.trucks)):
        if state.trucks[n].away:
            _count_busy(state, n)
            state.trucks[n].left_at = clock.now
    _count_minutes(state)


@inlined_kernel
def _pick(model: Any, state: Any, station: int) -> int:
    """The first idle truck of a station that is home or, if there is none, that is on its way there."""
    found = -1
    for n in range(model.stations[station].first_truck, model.stations[station].last_truck):
        if state.trucks[n].ready and (found < 0 or (state.trucks[found].away and not state.trucks[n].away)):
            found = n
    return found


@inlined_kernel
def _drive_home(model: Any, state: Any, n: int, until: float) -> tuple[float, int]:
    """Minutes that truck n drives home, to the end or to the first node after `until` minutes, and that node."""
    truck, station, who = state.trucks[n], model.station_of[n], model.truck_number[n]
    return drive_tree(
        model.home_roads, model.home_link, station, truck.free_node, truck.home_key, who, model.back_factor, until
    )


@inlined_kernel
def _turnout(model: Any, key: np.uint64, who: int, link: int) -> float:
    """The minutes until a truck leaves its station."""
    minutes = 0.0
    if model.turnout_minutes > 0.0:
        minutes = draw_time(model.turnout, model.turnout_minutes, draw_key(key, draws.TURNOUT, who, link))
    return minutes


@inlined_kernel
def _depart(model: Any, state: Any, n: int, place: int) -> None:
    """Let truck n leave for the incident as number `place` of its team: set when it leaves and when it is there."""
    clock, truck, sent, i = state.clock[0], state.trucks[n], state.sent[place], model.station_of[n]
    key, j, own = clock.incident_key, clock.point, model.truck_number[n]
    if truck.away:  # it goes on to the next node of its way home, and from there
        minutes, node = _drive_home(model, state, n, clock.now - truck.free_at)
        _count_busy(state, n)
        strike(state, n)
        sent.start_at, sent.start_node, sent.by_tree = truck.free_at + minutes, node, True
        drive, _ = drive_tree(model.roads, model.point_link, model.points[j].row, node, key, own, 1.0, np.inf)
    else:
        # A station has no link: that tells its key from that of a truck.
        who, link = (model.stations[i].draws, -1) if model.turnout_shared else (own, 0)
        sent.start_at = clock.now + _turnout(model, key, who, link)
        sent.start_node, sent.by_tree = model.stations[i].node, False
        drive = drive_route(model.roads, _route(model, i, j, place, state), key, own)
    sent.truck, sent.there_at = n, sent.start_at + drive


@inlined_kernel
def _route(model: Any, i: int, j: int, place: int, state: Any) -> int:
    """The number of the route of a truck from its station; every second truck takes the second route, if any."""
    same = 0
    for before in range(place):
        same += model.station_of[state.sent[before].truck] == i and not state.sent[before].by_tree
    number = model.points[j].row * len(model.stations) + i
    if same % 2 == 1 and model.second[number] >= 0:
        number = model.second[number]
    return int(number)


@bare_kernel
def _turn_home(model: Any, state: Any, place: int, at: float) -> bool:
    """Let a truck that is not there yet turn round at a time: it drives to the last node that it has passed, and home.

    On a one-way link it goes on to the next node first. If that is the scene, it does not turn: returns False.
    """
    clock, sent = state.clock[0], state.sent[place]
    n, j, truck = sent.truck, clock.point, state.trucks[sent.truck]
    driven, row = at - sent.start_at, model.points[j].row
    if driven <= 0.0:  # it has not left its station, or the node that it was redirected from
        truck.free_at, truck.free_node = sent.start_at if sent.by_tree else at, sent.start_node
        return True
    number = -1 if sent.by_tree else _route(model, model.station_of[n], j, place, state)
    minutes, node, time, link = drive_until(
        model.roads, number, model.point_link, row, sent.start_node, clock.incident_key, model.truck_number[n], driven
    )
    free_at = at + driven - minutes
    if model.roads.links[link].one_way:
        free_at, node = sent.start_at + minutes + time, model.roads.links[link].ends - node
        if node == model.points[j].node:
            return False
    truck.free_at, truck.free_node = free_at, node
    return True


@inlined_kernel
def send(model: Any, state: Any, stations: Any) -> None:
    """Send a truck of each of `stations` (-1: none) to the incident, others from outside; the clock has the outcome."""
    clock = state.clock[0]
    now, key, j, sent = clock.now, clock.incident_key, clock.point, state.sent
    needed, num = model.points[j].needed, 0
    for i in stations:
        if i >= 0:
            n = _pick(model, state, i)
            _depart(model, state, n, num)
            _count_idle(model, state, n, -1)
            num += 1
    for place in range(num, needed):
        outside = model.first_outside + place - num
        turnout, drive = _turnout(model, key, draws.EVERYBODY, outside + 1), 0.0
        if model.roads.laws.scale > 0.0:  # one time for all links
            ours, own = draw_key(key, draws.OUTSIDE_FLAG, outside, 0), draw_key(key, draws.OUTSIDE, outside, 0)
            drive += scale_time(model.roads.laws, model.outside_links * model.outside_minutes, ours, own)
        for link in range(0 if model.roads.laws.scale > 0.0 else model.outside_links):
            # As on any link, a truck that is alone meets the mixture of both laws.
            hashed = draw_key(key, draws.OUTSIDE, outside, link)
            if uniform(draw_key(key, draws.OUTSIDE_FLAG, outside, link)) < model.roads.laws.chance:
                drive += draw_time(model.roads.laws.together, model.outside_minutes, hashed)
            else:
                drive += draw_time(model.roads.laws.apart, model.outside_minutes, hashed)
        sent[place].there_at, sent[place].truck = now + turnout + drive, -1
    for place in range(needed):
        slot = place
        while slot > 0 and sent[sent[slot - 1].order].there_at > sent[place].there_at:
            sent[slot].order = sent[slot - 1].order
            slot -= 1
        sent[slot].order = place
    counts = sent[sent[model.points[j].arrivals - 1].order].there_at
    last, num_turned = -np.inf, 0  # the clock may be before 0
    for rank in range(needed):
        place, turned = sent[rank].order, False
        n = sent[place].truck
        if rank >= model.points[j].arrivals and model.turn_back > 0.0 and sent[place].there_at > counts:
            who, link = (model.truck_number[n], 0) if n >= 0 else (draws.EVERYBODY, model.first_outside + place - num)
            hashed = draw_key(key, draws.TURN, who, link)
            turned = uniform(hashed) < model.turn_back and (n < 0 or _turn_home(model, state, place, counts))
        num_turned += turned
        if not turned:
            last = max(last, sent[place].there_at)
        if n >= 0:
            _set_return(model, state, place, turned)
    call = now - model.call_minutes  # the clock of the simulation runs from dispatch on
    clock.first, clock.last, clock.counts = sent[sent[0].order].there_at - call, last - call, counts - call
    clock.late, clock.missed = False, 0.0
    first = model.points[j].first_standard
    for s in range(first, model.points[j].last_standard):
        standard = model.standards[s]
        # The clock has added it up: a fixed time that is just the target is not late by rounding.
        missed = sent[sent[standard.arrivals - 1].order].there_at - call > standard.target + MOMENT
        state.missed[s - first] = missed
        clock.late |= missed
        clock.missed += standard.weight * missed
    clock.outside, clock.turned = needed - num, num_turned


@inlined_kernel
def _set_return(model: Any, state: Any, place: int, turned: bool) -> None:
    """Note when a truck that was sent is released and home. If it has turned, it knows from when and where."""
    clock, sent, n = state.clock[0], state.sent[place], state.sent[place].truck
    key, now, truck, own = clock.incident_key, clock.now, state.trucks[n], model.truck_number[n]
    truck.away, truck.released, truck.left_at, truck.home_key = True, False, now, draw_key(key, draws.HOME, own, 0)
    if now >= clock.measured_from:
        truck.dispatches += 1
    if not turned:
        mean = model.points[clock.point].busy_minutes
        busy = draw_time(model.busy, mean, draw_key(key, draws.BUSY, own, 0))
        if not model.in_parts:
            note(state, n, now + busy)
            return
        truck.free_at, truck.free_node = sent.there_at + busy, model.points[clock.point].node
    minutes, _ = _drive_home(model, state, n, np.inf)
    note(state, n, truck.free_at + minutes)
    if model.redirect:
        note(state, len(model.station_of) + n, truck.free_at)
