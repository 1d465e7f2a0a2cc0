"""The best teams of a state by one-step-queueing in one call: its fixed point, bounds on all prices, and exact ones.

Handing over all arrays takes as long as a good part of the work, so that the steps of a decision are one kernel.
"""

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.kernels.independent import LEAST_BUSY
from runcard.mdp.kernels.lanes import LANES
from runcard.mdp.kernels.queueing import spread
from runcard.mdp.kernels.queueing_bounds import combine, extra_by_slopes, find_slopes
from runcard.mdp.kernels.queueing_lanes import extra_by_lanes, settle_lanes, settle_teams, start_from

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@njit(nogil=True, cache=True)
def add_pairs(
    idle: Ints, demand: Floats, busy: Floats, late: float, size: int, queues: Any, falls: Any, groups: Any, room: Any,
    lanes: Any, harm: Floats, extra: Floats,
) -> float:  # fmt: skip
    """Fill `harm` and `extra` [trucks, trucks] (see `queueing_bounds`) for teams of `size` trucks.

    `idle` [N], `demand` [N], `busy` [N + outside] and `late` are those of the fixed point of the state. Returns what
    the walks may have left out of a number of late incidents per day.
    """
    num_all, mu = len(busy), queues.returns_per_day
    rise, single, pair = np.zeros(num_all), np.empty(num_all), np.empty((num_all, num_all))
    for n in range(len(demand)):
        rise[n] = spread(demand[n] / mu, queues) if idle[n] > 0 else 0.0
    by_slopes = queues.most_needed <= 2
    left_out = find_slopes(
        queues, falls, groups, busy, rise, size, queues.least_chance, by_slopes, single, pair, harm, room
    )
    if by_slopes:
        extra_by_slopes(rise, single, pair, extra)
    else:
        extra_by_lanes(idle, rise, busy, late, queues, lanes, extra)
    return float(left_out * queues.largest_cost)


@njit(nogil=True, cache=True)
def bound_prices(
    taken: Ints, queues: Any, falls: Any, groups: Any, idle: Ints, demand: Floats, busy: Floats, late: float, room: Any,
    lanes: Any, least: Floats,
) -> None:  # fmt: skip
    """Fill least[t] with lower bounds on what the trucks taken[t], all of one size, add to `late` per day.

    Arguments as in `add_pairs`.
    """
    num_all, num_trucks, mu = len(busy), len(demand), queues.returns_per_day
    size = 0
    for n in taken[0]:
        size += n >= 0
    harm, extra = np.empty((num_all, num_all)), np.empty((num_all, num_all))
    left_out = add_pairs(idle, demand, busy, late, size, queues, falls, groups, room, lanes, harm, extra)
    rise, excess, load, largest = np.zeros(num_all), np.zeros(num_all), np.empty(num_trucks), np.empty(num_trucks)
    for n in range(num_trucks):
        load[n], largest[n] = demand[n] / mu, -harm[n, n]
        rise[n] = spread(load[n], queues) if idle[n] > 0 else 0.0
        excess[n] = rise[n] / max(busy[n], LEAST_BUSY)
    combine(taken[:, :size], rise, excess, extra, harm, np.argsort(largest), load, least)
    # What the walks leave out, and what the fixed points are off by.
    margin = 4.0 * left_out + 1e-9 * abs(late)
    for t in range(len(least)):
        least[t] -= margin


@njit(nogil=True, cache=True)
def _likely_best(taken: Ints, p_late: Floats, usual: Any, horizon: float, chosen: Ints) -> None:
    """Fill `chosen` with the teams that would be the best at the usual prices of their trucks, from the best on."""
    totals = np.full(len(chosen), np.inf)
    for t in range(len(taken)):
        price, size = 0.0, 0
        for a in range(taken.shape[1]):
            if taken[t, a] >= 0:
                size += 1
                for b in range(a):
                    price += usual.extra[taken[t, a], taken[t, b]]
        for n in taken[t]:
            if n >= 0:
                price -= (size - 2) * usual.extra[n, n]
        total = p_late[t] + horizon * price
        place = len(chosen) - 1
        if total < totals[place]:
            while place > 0 and totals[place - 1] > total:
                totals[place], chosen[place] = totals[place - 1], chosen[place - 1]
                place -= 1
            totals[place], chosen[place] = total, t


@njit(nogil=True, cache=True)
def _enter_total(total: float, best: Floats) -> None:
    """Enter a total into the smallest ones, which rise."""
    place = len(best) - 1
    if total < best[place]:
        while place > 0 and best[place - 1] > total:
            best[place] = best[place - 1]
            place -= 1
        best[place] = total


@njit(nogil=True, cache=True)
def settle_best(
    taken: Ints, p_late: Floats, num_best: int, prune: bool, negligible: float, queues: Any, falls: Any, groups: Any,
    idle: Ints, usual: Any, late: Floats, room: Any, lanes: Any,
) -> tuple[int, float]:  # fmt: skip
    """Fill late[t] with the late incidents per day without the trucks taken[t], for all t that may be among the best.

    The first lane is the state `idle` [N] itself; the others are the teams that would be the best at `usual` prices,
    those of the state in which every truck is idle. Then teams are taken in the order of a lower bound on
    P(late) + price until none that is left can be among the best `num_best`, less `negligible`; prices are
    queues.horizon_days × (late[t] - late now). `late`, all NaN before, stays so for the others; if not `prune` there
    are none. Returns the first row without a fixed point, -1 if there is none, or -2 if the state itself has none; and
    the late incidents per day now.
    """
    num_trucks, horizon = len(idle), queues.horizon_days
    chosen = np.empty(min(LANES - 1, len(taken)), np.int64)
    _likely_best(taken, p_late, usual, horizon, chosen)
    start_from(usual.demand, idle, LANES, lanes)
    for lane in range(len(chosen)):
        for n in taken[chosen[lane]]:
            if n >= 0:
                lanes.idle[n * LANES + lane + 1] = 0
    failed = settle_lanes(1 + len(chosen), queues, lanes.demand, lanes.late, lanes)
    if failed >= 0:
        return -2 if failed == 0 else int(chosen[failed - 1]), 0.0
    now, best = lanes.late[0], np.full(num_best, np.inf)
    for lane in range(len(chosen)):
        late[chosen[lane]] = lanes.late[lane + 1]
        _enter_total(p_late[chosen[lane]] + horizon * (lanes.late[lane + 1] - now), best)
    demand, busy, least = np.empty(num_trucks), np.empty(len(lanes.busy) // LANES), np.empty(len(taken))
    for n in range(num_trucks):
        demand[n] = lanes.demand[n * LANES]
    for n in range(len(busy)):
        busy[n] = lanes.busy[n * LANES]
    if prune:
        bound_prices(taken, queues, falls, groups, idle, demand, busy, now, room, lanes, least)
    left = 0
    for t in range(len(taken)):
        least[t] = p_late[t] + horizon * least[t] + negligible if prune else -np.inf
        left += np.isnan(late[t]) and least[t] <= best[-1]
    ranked, place = np.empty(left, np.int64), 0
    for t in range(len(taken)):
        if np.isnan(late[t]) and least[t] <= best[-1]:
            ranked[place] = t
            place += 1
    ranked, first = ranked[np.argsort(least[ranked], kind="mergesort")], 0
    while first < len(ranked) and least[ranked[first]] <= best[-1]:
        last = first
        while last < min(first + LANES, len(ranked)) and least[ranked[last]] <= best[-1]:
            last += 1
        failed = settle_teams(ranked[first:last], taken, queues, idle, demand, late, lanes)
        if failed >= 0:
            return failed, now
        for t in ranked[first:last]:
            _enter_total(p_late[t] + horizon * (late[t] - now), best)
        first = last
    return -1, now
