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
from numpy.typing import NDArray

from runcard.mdp.kernels.bare import bare_kernel, inlined_kernel
from runcard.simulate.kernels.agenda import next_time, note, strike
from runcard.simulate.kernels.draws import (
    BUSY,
    EVERYBODY,
    GAP,
    HOME,
    KEEP,
    OUTAGE,
    OUTSIDE,
    OUTSIDE_FLAG,
    POINT,
    REPAIR,
    TURN,
    TURNOUT,
    draw_key,
    draw_time,
    incident_key,
    uniform,
)
from runcard.simulate.kernels.drive import drive_route, drive_tree, drive_until

Ints = NDArray[np.int64]

MINUTES_PER_WEEK = 10080.0
MINUTES_PER_YEAR = 525960.0
MOMENT = 1e-6


@bare_kernel
def begin(model: Any, state: Any, key: np.uint64, start: float) -> None:
    """Put every truck into its station at time `start`, and draw what happens first."""
    num_trucks = len(model.station_of)
    state.clock[0].key, state.clock[0].now, state.clock[0].changed_at = key, start, start
    state.clock[0].number, state.clock[0].num_idle = 0, num_trucks
    state.clock[0].num_noted = 0
    for slot in range(len(state.slots)):
        state.slots[slot].place = -1
    state.idle[:] = 0
    for n in range(num_trucks):
        state.idle[model.station_of[n]] += 1
        state.trucks[n].away, state.trucks[n].released, state.trucks[n].ready = False, False, True
        state.trucks[n].out, state.trucks[n].outages = 0, 0
    state.clock[0].code = 0
    for i in range(len(state.idle)):
        state.clock[0].code += state.idle[i] * model.stations[i].stride
    if model.breakdowns_per_year > 0.0:
        for n in range(num_trucks):
            _first_outage(model, state, n)
    for s in range(len(model.shifts)):
        state.shift_off[s] = False
        _next_shift(model, state, s)
    _next_incident(model, state)


@bare_kernel
def _first_outage(model: Any, state: Any, n: int) -> None:
    """Draw whether truck n is broken at the start, as it may be at any time, and when that changes."""
    between = MINUTES_PER_YEAR / model.breakdowns_per_year
    chance = model.repair_minutes / (between + model.repair_minutes)
    if uniform(draw_key(state.clock[0].key, OUTAGE, n, 0)) < chance:
        state.trucks[n].outages = 1
        _put_out(model, state, n, 1)
    _next_outage(model, state, n)


@bare_kernel
def _next_outage(model: Any, state: Any, n: int) -> None:
    """Draw when the outage of truck n begins, or when it ends."""
    state.trucks[n].outages += 1
    begins = state.trucks[n].outages % 2 == 1
    hashed = draw_key(state.clock[0].key, OUTAGE if begins else REPAIR, n, state.trucks[n].outages)
    mean = MINUTES_PER_YEAR / model.breakdowns_per_year if begins else model.repair_minutes
    time = draw_time(model.exponential, mean, hashed)
    note(state, 2 * len(model.station_of) + n, state.clock[0].now + time)


@bare_kernel
def _next_shift(model: Any, state: Any, s: int) -> None:
    """Put the trucks of shift s in or out of service by the time of the week, and note the next change."""
    # A moment later, so that rounding never puts the time before a change that is due.
    in_week = (state.clock[0].now + MOMENT - model.shifts[s].start) % MINUTES_PER_WEEK
    off = in_week < model.shifts[s].minutes
    if off != state.shift_off[s]:
        for n in range(model.shifts[s].first_truck, model.shifts[s].last_truck):
            _put_out(model, state, n, 1 if off else -1)
    state.shift_off[s] = off
    rest = (model.shifts[s].minutes if off else MINUTES_PER_WEEK) - in_week
    note(state, 3 * len(model.station_of) + s, state.clock[0].now + rest + MOMENT)


@inlined_kernel
def _count_idle(model: Any, state: Any, n: int, by: int) -> None:
    """Count truck n as idle (1), or no longer (-1)."""
    now, since = state.clock[0].now, max(state.clock[0].changed_at, state.clock[0].measured_from)
    if now > since:
        state.idle_minutes[state.clock[0].num_idle] += now - since
    state.clock[0].changed_at = now
    i = model.station_of[n]
    state.idle[i] += by
    state.clock[0].num_idle += by
    state.clock[0].code += by * model.stations[i].stride
    state.trucks[n].ready = by > 0


@bare_kernel
def _put_out(model: Any, state: Any, n: int, by: int) -> None:
    """Take truck n out of service for one more reason (1), or one less (-1)."""
    state.trucks[n].out += by
    if by > 0 and state.trucks[n].ready:
        _count_idle(model, state, n, -1)
    elif by < 0 and state.trucks[n].out == 0 and (not state.trucks[n].away or state.trucks[n].released):
        _count_idle(model, state, n, 1)


@inlined_kernel
def _next_incident(model: Any, state: Any) -> None:
    """Draw the time and the demand point of the next incident; after the last one of a log the point is -1."""
    number = state.clock[0].number
    if len(model.log) > 0:
        state.clock[0].number += 1
        state.clock[0].next_key = incident_key(state.clock[0].key, number)
        state.clock[0].next_point = model.log[number].point if number < len(model.log) else -1
        state.clock[0].next_time = model.log[number].minutes if number < len(model.log) else np.inf
        return
    time = state.clock[0].now
    while True:
        key = incident_key(state.clock[0].key, number)
        time -= np.log(uniform(draw_key(key, GAP, EVERYBODY, 0))) / model.incidents_per_minute
        number += 1
        if len(model.hour_share) == 0:
            break
        hour = int(time % MINUTES_PER_WEEK / 60.0) % len(model.hour_share)
        if uniform(draw_key(key, KEEP, EVERYBODY, 0)) < model.hour_share[hour]:
            break
    state.clock[0].number, state.clock[0].next_time, state.clock[0].next_key = number, time, key
    place = uniform(draw_key(key, POINT, EVERYBODY, 0)) * model.rate_below[-1]
    point = np.searchsorted(model.rate_below, place, side="right")
    state.clock[0].next_point = min(point, len(model.rate_below) - 1)


@inlined_kernel
def advance(model: Any, state: Any, end: float) -> bool:
    """Go on to the next incident, which then waits at `clock.point`; returns whether it comes before `end`."""
    stop = min(state.clock[0].next_time, end)
    num_trucks = len(model.station_of)
    while state.clock[0].num_noted > 0 and next_time(state) <= stop:
        slot = state.heap[0]
        state.clock[0].now = state.slots[slot].time
        strike(state, slot)
        n = slot % num_trucks
        if slot < num_trucks:
            _count_busy(state, n)
            strike(state, num_trucks + n)  # at the same moment, if home is at the scene
            state.trucks[n].away, state.trucks[n].released = False, False
            if state.trucks[n].out == 0 and not state.trucks[n].ready:
                _count_idle(model, state, n, 1)
        elif slot < 2 * num_trucks:
            state.trucks[n].released = True
            if state.trucks[n].out == 0:
                _count_idle(model, state, n, 1)
        elif slot < 3 * num_trucks:
            begins = state.trucks[n].outages % 2 == 1
            _next_outage(model, state, n)
            _put_out(model, state, n, 1 if begins else -1)
        else:
            _next_shift(model, state, slot - 3 * num_trucks)
    state.clock[0].now = stop
    if state.clock[0].next_time > end or state.clock[0].next_point < 0:
        return False
    state.clock[0].point, state.clock[0].incident_key = state.clock[0].next_point, state.clock[0].next_key
    _next_incident(model, state)
    return True


@inlined_kernel
def _count_busy(state: Any, n: int) -> None:
    """Count the minutes that truck n was away, up to now."""
    since = max(state.trucks[n].left_at, state.clock[0].measured_from)
    if state.clock[0].now > since:
        state.trucks[n].busy_minutes += state.clock[0].now - since


@bare_kernel
def finish(state: Any) -> None:
    """Count the times that have not ended at the end."""
    for n in range(len(state.trucks)):
        if state.trucks[n].away:
            _count_busy(state, n)
            state.trucks[n].left_at = state.clock[0].now
    since = max(state.clock[0].changed_at, state.clock[0].measured_from)
    if state.clock[0].now > since:
        state.idle_minutes[state.clock[0].num_idle] += state.clock[0].now - since
    state.clock[0].changed_at = state.clock[0].now


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
    truck, station = state.trucks[n], model.station_of[n]
    return drive_tree(
        model.home_roads, model.home_link, station, truck.free_node, truck.home_key, n, model.back_factor, until
    )


@inlined_kernel
def _depart(model: Any, state: Any, n: int, place: int) -> None:
    """Let truck n leave for the incident as number `place` of its team: set when it leaves and when it is there."""
    key, j, i = state.clock[0].incident_key, state.clock[0].point, model.station_of[n]
    sent = state.sent
    if state.trucks[n].away:  # it goes on to the next node of its way home, and from there
        minutes, node = _drive_home(model, state, n, state.clock[0].now - state.trucks[n].free_at)
        _count_busy(state, n)
        strike(state, n)
        sent[place].start_at = state.trucks[n].free_at + minutes
        sent[place].start_node, sent[place].by_tree = node, True
        drive, _ = drive_tree(model.roads, model.point_link, model.points[j].row, node, key, n, 1.0, np.inf)
    else:
        turnout = 0.0
        if model.turnout_minutes > 0.0:
            # A station has no link: that tells its key from that of a truck.
            who, link = (i, -1) if model.turnout_shared else (n, 0)
            turnout = draw_time(model.turnout, model.turnout_minutes, draw_key(key, TURNOUT, who, link))
        sent[place].start_at = state.clock[0].now + turnout
        sent[place].start_node, sent[place].by_tree = model.stations[i].node, False
        route = _route(model, i, j, place, state)
        drive, _ = drive_route(model.roads, route, model.stations[i].node, key, n, np.inf)
    sent[place].truck = n
    sent[place].there_at = sent[place].start_at + drive


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
    sent, n, j = state.sent[place], state.sent[place].truck, state.clock[0].point
    driven, row = at - sent.start_at, model.points[j].row
    if driven <= 0.0:  # it has not left its station, or the node that it was redirected from
        state.trucks[n].free_at = sent.start_at if sent.by_tree else at
        state.trucks[n].free_node = sent.start_node
        return True
    number = -1 if sent.by_tree else _route(model, model.station_of[n], j, place, state)
    minutes, node, time, link = drive_until(
        model.roads, number, model.point_link, row, sent.start_node, state.clock[0].incident_key, n, driven
    )
    free_at = at + driven - minutes
    if model.roads.links[link].one_way:
        free_at, node = sent.start_at + minutes + time, model.roads.links[link].ends - node
        if node == model.points[j].node:
            return False
    state.trucks[n].free_at, state.trucks[n].free_node = free_at, node
    return True


@inlined_kernel
def send(model: Any, state: Any, stations: Any) -> None:
    """Send a truck of each of `stations` (-1: none) to the incident, others from outside; the clock has the outcome."""
    now, key, j, sent = state.clock[0].now, state.clock[0].incident_key, state.clock[0].point, state.sent
    needed, num = model.points[j].needed, 0
    for i in stations:
        if i >= 0:
            n = _pick(model, state, i)
            _depart(model, state, n, num)
            _count_idle(model, state, n, -1)
            num += 1
    for place in range(num, needed):
        turnout = 0.0
        if model.turnout_minutes > 0.0:
            hashed = draw_key(key, TURNOUT, EVERYBODY, place - num + 1)
            turnout = draw_time(model.turnout, model.turnout_minutes, hashed)
        drive = 0.0
        for link in range(model.outside_links):
            # As on any link, a truck that is alone meets the mixture of both laws.
            hashed = draw_key(key, OUTSIDE, place - num, link)
            if uniform(draw_key(key, OUTSIDE_FLAG, place - num, link)) < model.roads.laws.chance:
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
    last = 0.0
    num_turned = 0
    for rank in range(needed):
        place = sent[rank].order
        n = sent[place].truck
        turned = False
        if rank >= model.points[j].arrivals and model.turn_back > 0.0 and sent[place].there_at > counts:
            hashed = draw_key(key, TURN, n, 0 if n >= 0 else place - num)
            turned = uniform(hashed) < model.turn_back and (n < 0 or _turn_home(model, state, place, counts))
        if turned:
            num_turned += 1
        else:
            last = max(last, sent[place].there_at)
        if n >= 0:
            _set_return(model, state, place, turned)
    result = state.clock[0]
    call = now - model.call_minutes  # the clock of the simulation runs from dispatch on
    result.first, result.last, result.counts = sent[sent[0].order].there_at - call, last - call, counts - call
    result.late = result.counts > model.points[j].target
    result.outside, result.turned = needed - num, num_turned


@inlined_kernel
def _set_return(model: Any, state: Any, place: int, turned: bool) -> None:
    """Note when a truck that was sent is released and home. If it has turned, it knows from when and where."""
    sent, n, j, now = state.sent, state.sent[place].truck, state.clock[0].point, state.clock[0].now
    key = state.clock[0].incident_key
    state.trucks[n].away, state.trucks[n].released, state.trucks[n].left_at = True, False, now
    state.trucks[n].home_key = draw_key(key, HOME, n, 0)
    if now >= state.clock[0].measured_from:
        state.trucks[n].dispatches += 1
    if not turned and not model.in_parts:
        note(state, n, now + draw_time(model.busy, model.busy_minutes, draw_key(key, BUSY, n, 0)))
        return
    if not turned:
        on_scene = draw_time(model.busy, model.busy_minutes, draw_key(key, BUSY, n, 0))
        state.trucks[n].free_at, state.trucks[n].free_node = sent[place].there_at + on_scene, model.points[j].node
    minutes, _ = _drive_home(model, state, n, np.inf)
    note(state, n, state.trucks[n].free_at + minutes)
    if model.redirect:
        note(state, len(model.station_of) + n, state.trucks[n].free_at)
