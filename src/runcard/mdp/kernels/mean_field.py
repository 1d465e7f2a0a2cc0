"""The mean field of a department: what groups of demand points take from their neighbourhoods, and paths.

A state x of a neighbourhood is the number of idle trucks at each of its stations, one mixed-radix number whose last
station counts ones. Trucks are busy independently, so that the chance of x is a product over the stations.
"""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints

LEAST_IDLE = 1e-9
"""A truck counts as idle with at least this chance, so that what is asked of a busy truck is defined."""


@njit(nogil=True, cache=True)
def fill_states(
    stations: Ints,
    trucks: Ints,
    points: Ints,
    rate: Floats,
    needed: Ints,
    cost: Floats,
    rank: Floats,
    price: Floats,
    teams: Ints,
    sizes: Ints,
    members: Ints,
    late: Floats,
    taken: Floats,
) -> None:
    """Add to late[x] and taken[x, a] what `points` cost and take in every state x with enough idle trucks for them.

    Point m takes the idle team n of `teams`, of sizes[n] trucks of which members[n, a] are of station a, with the
    smallest rank[n, m] + price[x, n]; of equal ones the first. `rate`, `needed` and `rank` are by position in `points`.
    """
    num, num_points = len(stations), len(points)
    idle = np.zeros(num, np.int64)
    least, best = np.empty(num_points), np.empty(num_points, np.int64)
    for x in range(len(late)):
        rest, total = x, 0
        for a in range(num - 1, -1, -1):
            radix = trucks[stations[a]] + 1
            idle[a] = rest % radix
            rest //= radix
            total += idle[a]
        least[:] = np.inf
        best[:] = -1
        for n in range(len(teams)):
            can_go = True
            for a in range(num):
                if members[n, a] > idle[a]:
                    can_go = False
                    break
            if not can_go:
                continue
            for m in range(num_points):
                value = rank[n, m] + price[x, n]
                if sizes[n] == needed[m] and value < least[m]:
                    least[m], best[m] = value, n
        for m in range(num_points):
            if needed[m] <= total:
                late[x] += rate[m] * cost[teams[best[m]], points[m]]
                for a in range(num):
                    taken[x, a] += rate[m] * members[best[m], a]


@njit(nogil=True, cache=True)
def chances_of_counts(trucks: Ints, idle_at_start: Ints, from_idle: Floats, from_busy: Floats, counts: Floats) -> None:
    """Set counts[i, y] to the chance that y trucks of station i are idle.

    idle_at_start[i] of them are busy with chance from_idle[i], the others with chance from_busy[i].
    """
    for i in range(len(trucks)):
        counts[i, 0] = 1.0
        for n in range(trucks[i]):
            q = max(1.0 - (from_idle[i] if n < idle_at_start[i] else from_busy[i]), LEAST_IDLE)
            counts[i, n + 1] = 0.0
            for y in range(n + 1, 0, -1):
                counts[i, y] = counts[i, y] * (1.0 - q) + counts[i, y - 1] * q
            counts[i, 0] *= 1.0 - q


@njit(nogil=True, cache=True)
def chances_of_states(stations: Ints, num: int, trucks: Ints, counts: Floats, chance: Floats) -> None:
    """Set chance[x, b] for every state x of a neighbourhood and path b, with chances counts[b]."""
    size, num_paths = 1, len(counts)
    factor = np.empty(num_paths)
    chance[0] = 1.0
    # From the last station, which counts ones, to the first: what there is so far is copied for each count.
    for a in range(num - 1, -1, -1):
        i = stations[a]
        for y in range(trucks[i], -1, -1):
            for b in range(num_paths):
                factor[b] = counts[b, i, y]
            for s in range(size):
                for b in range(num_paths):
                    chance[y * size + s, b] = chance[s, b] * factor[b]
        size *= trucks[i] + 1


@njit(nogil=True, cache=True)
def _expected(chance: Floats, rates: Floats) -> Floats:
    """[rate, path] the mean of each rate: paths side by side, and two states at a time.

    A matrix product, but not one of BLAS: that starts threads of its own, which get in the way of those of the caller.
    """
    (num_states, num_paths), num_rates = chance.shape, rates.shape[1]
    expected = np.zeros((num_rates, num_paths))
    for x in range(0, num_states - 1, 2):
        for n in range(num_rates):
            first, second = rates[x, n], rates[x + 1, n]
            for b in range(num_paths):
                expected[n, b] += first * chance[x, b] + second * chance[x + 1, b]
    if num_states % 2:
        for n in range(num_rates):
            for b in range(num_paths):
                expected[n, b] += rates[num_states - 1, n] * chance[num_states - 1, b]
    return expected


@njit(nogil=True, cache=True)
def add_taken(g: int, groups: Any, trucks: Ints, counts: Floats, scratch: Floats, taken: Floats, late: Floats) -> None:
    """For each of several paths b, with chances counts[b], what group g takes and how late it is per day.

    Adds to taken[b, i] the trucks from station i and sets late[b]. `scratch` is for the chances of states.
    """
    num, num_paths = groups.num_stations[g], len(counts)
    first, last = groups.first_state[g], groups.first_state[g + 1]
    chance = scratch[: num_paths * (last - first)].reshape((last - first, num_paths))
    chances_of_states(groups.stations[g], num, trucks, counts, chance)
    expected = _expected(chance, groups.rates[first:last, : 1 + num])
    for b in range(num_paths):
        late[b] = expected[0, b]
        for a in range(num):
            taken[b, groups.stations[g, a]] += expected[a + 1, b]
    # States with too few idle trucks also take from stations elsewhere, in so far as trucks are idle there.
    for s in range(groups.first_short[g], groups.first_short[g + 1]):
        for b in range(num_paths):
            short, sent, steady = chance[groups.short_state[s], b], 0.0, 0.0
            for e in range(groups.first_entry[s], groups.first_entry[s + 1]):
                i = groups.entry_station[e]
                part = groups.entry_taken[e] * (1.0 - counts[b, i, 0]) * groups.entry_scale[e]
                taken[b, i] += short * part
                sent += part
                steady += groups.entry_taken[e]
            if steady > 0.0:
                late[b] -= short * groups.short_gain[s] * min(sent / steady, 1.0)


@njit(nogil=True, cache=True)
def _asked(trucks: int, counts: Floats, taken: float) -> float:
    """The rate at which each idle truck of a station is asked, given what is taken from the station."""
    expected = 0.0
    for y in range(1, trucks + 1):
        expected += y * counts[y]
    return taken / expected


@njit(nogil=True, cache=True)
def follow_paths(
    stations: Ints,
    start: Ints,
    active: Ints,
    own: int,
    groups: Any,
    trucks: Ints,
    returns_per_day: float,
    steady: Floats,
    elsewhere: Floats,
    days: Floats,
    value: Floats,
) -> None:
    """Set value[b] to the late incidents of group `own` along the path from start[b] idle trucks at `stations`.

    All other trucks start with their `steady` busy chances. The `active` groups follow the path; what the others take
    stays at elsewhere[i]. `days` are the times of the steps. Each step is an exponential one with the rates at its
    middle: with the rate D of being asked held fixed, dp/dt = D (1 - p) - μ p has the solution
    p(t) = D/(D+μ) + (p(0) - D/(D+μ)) exp(-(D+μ) t).
    """
    num_paths, num_stations, mu = len(start), len(trucks), returns_per_day
    # Busy chances of the trucks that were idle at the start, and of those that were busy; now, and half a step on.
    chances = np.empty((2, 2, num_paths, num_stations))
    chances[:] = steady
    idle = np.empty((num_paths, num_stations), np.int64)
    idle[:] = trucks
    for a in range(len(stations)):
        idle[:, stations[a]] = start[:, a]
        chances[:, 0, :, stations[a]] = 0.0
        chances[:, 1, :, stations[a]] = 1.0
    counts = np.zeros((num_paths, num_stations, trucks.max() + 1))
    taken, late = np.empty((num_paths, num_stations)), np.empty(num_paths)
    scratch = np.empty(num_paths * groups.most_states)
    value[:] = 0.0
    for step in range(len(days) - 1):
        span = days[step + 1] - days[step]
        for half in range(2):
            for b in range(num_paths):
                chances_of_counts(trucks, idle[b], chances[half, 0, b], chances[half, 1, b], counts[b])
                taken[b] = elsewhere
            for g in active:
                add_taken(g, groups, trucks, counts, scratch, taken, late)
                if half == 1 and g == own:
                    value += span * late
            for b in range(num_paths):
                for i in range(num_stations):
                    asked = _asked(trucks[i], counts[b, i], taken[b, i])
                    limit = asked / (asked + mu)
                    shrink = np.exp(-(asked + mu) * (0.5 * span if half == 0 else span))
                    for kind in range(2):
                        chances[1 - half, kind, b, i] = limit + (chances[0, kind, b, i] - limit) * shrink


@njit(nogil=True, cache=True)
def find_steady(
    groups: Any, trucks: Ints, returns_per_day: float, busy: Floats, max_steps: int, by_group: Floats
) -> float:
    """Bring busy[i] to the steady chances of the mean field; returns how far the last step still moved them.

    by_group[g, i] is set to what group g takes from station i there.
    """
    num_stations, mu = len(trucks), returns_per_day
    counts = np.zeros((1, num_stations, trucks.max() + 1))
    scratch, late = np.empty(groups.most_states), np.empty(1)
    moved = np.inf
    for _ in range(max_steps):
        chances_of_counts(trucks, trucks, busy, busy, counts[0])
        by_group[:] = 0.0
        for g in range(len(groups.num_stations)):
            add_taken(g, groups, trucks, counts, scratch, by_group[g : g + 1], late)
        moved = 0.0
        for i in range(num_stations):
            asked = _asked(trucks[i], counts[0, i], by_group[:, i].sum())
            new = 0.5 * busy[i] + 0.5 * asked / (asked + mu)
            moved = max(moved, abs(new - busy[i]))
            busy[i] = new
        if moved < 1e-12:
            break
    return moved
