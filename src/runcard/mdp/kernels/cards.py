"""The best order of L stations for one demand point, exactly, by dynamic programming over sets of stations.

A card sends the first k idle trucks along its order. In every state f with that many idle the last of them is found at
one station b of the order. With P the *set* of stations before b and n_P(f) the idle trucks there,

    n_P(f) < k <= n_P(f) + f_b,     and the team is  t = all that is idle at P, and k - n_P(f) trucks of b.

The team depends on the set P and not on the order inside it. So with w(f, t) the weight of state f times what is lost
if it gets team t, the score of an order is a sum over its stations,

    Σ_f w(f, team) = Σ_b G(P_b, b),     G(P, b) = Σ_f w(f, t) [n_P(f) < k <= n_P(f) + f_b],

and the order with the smallest score is found exactly by a recursion over sets,

    best(P) = min_{b in P} best(P - b) + G(P - b, b).

States with fewer than k idle trucks send them all, whatever the order: they count for nothing. What is lost is the cost
of the team at the demand point and its price.

**Windows.** With I stations there are 2^I sets. An order is therefore improved in windows of at most L stations that
stand next to each other, from its end to its beginning, each overlapping half of the one before: in a window the
stations before it are in every P and those behind it in none. With I <= L one window is the whole order.

**Finishes.** A team t whose last truck was found at b is a finish. It happens in state f, with P before b, if P holds
the other stations of t, these have exactly the trucks of t idle, b has at least t_b, and the rest Q of P has none:

    G(P, b) = Σ_{t: b in t, t - b inside P} Z_tb(Q),
    Z_tb(Q) = Σ_f w(f, t) [f_i = t_i at t - b, f_b >= t_b, f_Q = 0].

Finishes are rows of `finishes`: `taken` [E, places], the trucks of the team; `last` [E], b; `others` [E], the other
stations of the team, and `outside` [E], those that are not in it, as bit masks. Two kernels fill G: `summed_scores`
from the sums Z over every state and every Q, and `independent_scores` for trucks that are busy independently.
"""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints

NEGLIGIBLE = 1e-15  # a chance of this much moves no score


@njit(nogil=True, cache=True)
def best_order(score: Floats, given: Ints) -> tuple[Ints, float]:
    """The order [L] of the smallest score, and by how much the order `given` [L] scores more.

    `score` [L, 2^L] holds G by b and by the set P.
    """
    num_places, num_sets = score.shape
    best, last, found = np.empty(num_sets), np.empty(num_sets, np.int64), np.empty(num_places, np.int64)
    best[0] = 0.0
    for places in range(1, num_sets):
        smallest, at = np.inf, 0
        for place in range(num_places):
            if places >> place & 1:
                before = places - (1 << place)
                total = best[before] + score[place, before]
                if total < smallest:
                    smallest, at = total, place
        best[places], last[places] = smallest, at
    places = num_sets - 1
    for position in range(num_places - 1, -1, -1):
        found[position] = last[places]
        places -= 1 << last[places]
    given_score, before = 0.0, 0
    for place in given:
        given_score += score[place, before]
        before += 1 << place
    return found, float(given_score - best[num_sets - 1])


@njit(nogil=True, cache=True)
def _put_in_order(stations: Ints, given: Ints, score: Floats, row: Ints) -> float:
    """Put the window `row` of an order, which is stations[given], in the best order; by how much its score falls."""
    found, better = best_order(score, given)
    if better <= 0.0:
        return 0.0
    row[:] = stations[found]
    return better


@njit(nogil=True, cache=True)
def _windows(num_stations: int, size: int) -> Ints:
    """Where the windows of the first stations of an order begin, from the last to the first, half over each other."""
    return np.append(np.arange(num_stations - size, 0, -((size + 1) // 2)), 0)


@njit(nogil=True, cache=True)
def _sum_over_disjoint(values: Floats) -> None:
    """Replace values[X] by the sum of values[Y] over the sets Y that share nothing with X, for every set X."""
    bit = 1
    while bit < len(values):
        for block in range(0, len(values), 2 * bit):
            for without in range(block, block + bit):
                none = values[without]
                values[without] = none + values[without + bit]
                values[without + bit] = none
        bit <<= 1


@njit(nogil=True, cache=True)
def finish_sums(
    first: int, last: int, finishes: Any, space: Any, probability: Floats, value: Floats, start: Ints, mass: Floats,
    price: Floats,
) -> None:  # fmt: skip
    """Fill the sums of the finishes first..last-1 from the probability and the value of every state.

    mass[start[e]] and price[start[e]] and what follows are Z_tb(Q) for w(f, t) = p(f) and p(f) [h(f-t) - h(f)], with
    the subsets Q of the stations outside t in rising order.
    """
    num_stations = len(space.trucks)
    idle, least, most = np.empty(num_stations, np.int64), np.empty(num_stations, np.int64), space.trucks.copy()
    bit = np.empty(num_stations, np.int64)
    for e in range(first, last):
        masses, prices = mass[start[e] : start[e + 1]], price[start[e] : start[e + 1]]
        masses[:] = 0.0
        prices[:] = 0.0
        f, offset, num_outside = 0, 0, 0
        for i in range(num_stations):
            taken = finishes.taken[e, i]
            least[i] = idle[i] = taken
            most[i] = space.trucks[i] if taken == 0 or i == finishes.last[e] else taken
            bit[i] = 0
            if taken == 0:
                bit[i] = 1 << num_outside
                num_outside += 1
            offset += taken * space.stride[i]
        f, subset, i = offset, 0, 0
        # An odometer over the states that fit: f, and the set of stations outside the team with an idle truck.
        while i >= 0:
            masses[subset] += probability[f]
            prices[subset] += probability[f] * (value[f - offset] - value[f])
            i = num_stations - 1
            while i >= 0 and idle[i] == most[i]:
                f -= (idle[i] - least[i]) * space.stride[i]
                subset &= ~bit[i]
                idle[i] = least[i]
                i -= 1
            if i >= 0:
                idle[i] += 1
                f += space.stride[i]
                subset |= bit[i]
        _sum_over_disjoint(masses)
        _sum_over_disjoint(prices)


@njit(nogil=True, cache=True)
def summed_scores(
    before: int, place: Ints, finishes: Any, cost: Floats, start: Ints, mass: Floats, price: Floats, score: Floats
) -> None:
    """Fill `score` [L, 2^L] for a window from the sums of all finishes; `cost` [E] is that of their teams.

    `before` is the set of the stations before the window; place[i] is the place of station i in the window, -1 outside
    it. Places must rise with the stations: the sets of the window and the sums are then met in the same order.
    """
    score[:] = 0.0
    for e in range(len(cost)):
        if place[finishes.last[e]] < 0:
            continue
        # The others of the team in the window; Q: its stations before the window, and those in it that may be in Q.
        others, fixed, free, free_sums, bit, possible = 0, 0, 0, 0, 1, True
        for i in range(len(place)):
            if finishes.others[e] >> i & 1:
                if place[i] >= 0:
                    others |= 1 << place[i]
                elif before >> i & 1 == 0:
                    possible = False
            elif finishes.outside[e] >> i & 1:
                if place[i] >= 0:
                    free |= 1 << place[i]
                    free_sums |= bit
                elif before >> i & 1:
                    fixed |= bit
                bit <<= 1
        if not possible:
            continue
        row, rest, entry, late = score[place[finishes.last[e]]], 0, 0, cost[e]
        while True:
            z = start[e] + fixed + entry
            row[others | rest] += mass[z] * late + price[z]
            if rest == free:
                break
            # The next larger subset: the borrow runs through the bits that are not free.
            rest, entry = (rest - free) & free, (entry - free_sums) & free_sums


@njit(nogil=True, cache=True)
def reorder_by_sums(
    points: Ints, window: int, finishes: Any, cost: Floats, start: Ints, mass: Floats, price: Floats, order: Ints,
    gain: Floats,
) -> None:  # fmt: skip
    """Improve the rows of `order` [J, I] for some points in place; gain[j] is by how much the score of row j falls.

    `cost` [T, J] is that of each team at each demand point.
    """
    num_stations = order.shape[1]
    size = min(window, num_stations)
    score, place = np.empty((size, 1 << size)), np.empty(num_stations, np.int64)
    costs = np.empty(len(finishes.team))
    for j in points:
        row = order[j]
        gain[j] = 0.0
        for e in range(len(costs)):
            costs[e] = cost[finishes.team[e], j]
        for first in _windows(num_stations, size):
            before = 0
            for i in row[:first]:
                before |= 1 << i
            window_row = row[first : first + size]
            stations = np.sort(window_row)
            place[:] = -1
            for p in range(size):
                place[stations[p]] = p
            summed_scores(before, place, finishes, costs, start, mass, price, score)
            gain[j] += _put_in_order(stations, place[window_row], score, window_row)


@njit(nogil=True, cache=True)
def _loss(chances: Any, j: int, team: Ints, size: int) -> float:
    """The cost and the price of the team with trucks of the first `size` stations of `team`."""
    code, price = 0, 0.0
    for n in range(size):
        code = code * chances.base + team[n] + 1
        price += chances.price[team[n]]
    return float(chances.cost[np.uint64(chances.number_of_code[np.uint64(code)]), np.uint64(j)]) + price


@njit(nogil=True, cache=True)
def _loss_behind(
    chances: Any, j: int, needed: int, ahead: Ints, none: float, team: Ints, size: int, place: Ints, taken: Ints,
    chance: Floats,
) -> float:  # fmt: skip
    """What is lost if the first `size` trucks of `team` [k], of the window, go to j with all that are idle `ahead`.

    It is the sum over whose the missing ones are, times the chance that they and no others are idle at the stations
    `ahead` of the window; `none` is the chance that no truck is. The n-th of their stations is ahead[place[n]], with
    taken[n] trucks; it stands before the others. `place`, `taken` and `chance` [k] are scratch.
    """
    exactly, total, n = chances.exactly, 0.0, 0
    place[0], taken[0], chance[0] = 0, 0, none
    while True:
        taken[n] += 1
        if taken[n] > needed - size:
            place[n] += 1
            taken[n] = 1
        if place[n] == (len(ahead) if n == 0 else place[n - 1]):
            if n == 0:
                return total
            n -= 1
            size -= taken[n]
            continue
        a = ahead[place[n]]
        here = chance[n] / exactly[a, 0] * exactly[a, taken[n]]
        for r in range(size, size + taken[n]):
            team[r] = a
        if size + taken[n] < needed:
            # However small the chance is that these alone are idle, that of more of them may be large.
            size += taken[n]
            n += 1
            place[n], taken[n], chance[n] = 0, 0, here
        elif here > NEGLIGIBLE:
            total += here * _loss(chances, j, team, needed)


@njit(nogil=True, cache=True)
def independent_scores(
    j: int, needed: int, ahead: Ints, window: Ints, finishes: Any, chances: Any, empty: Floats, score: Floats
) -> None:
    """Fill `score` [L, 2^L] for the stations `window` [L] behind those `ahead`, with independent trucks.

    `finishes` are those of all teams of 1 to k trucks of L places, team by team and by rising size; there `trucks`
    [E, k] are the places of the trucks, -1 for none. `empty` [2^L] is scratch. See `reorder_independent`.
    """
    exactly, at_least = chances.exactly, chances.at_least
    none = 1.0
    for a in ahead:
        none *= exactly[a, 0]
    empty[0] = 1.0
    for p in range(len(window)):
        for places in range(1 << p):
            empty[places | 1 << p] = empty[places] * exactly[window[p], 0]
    score[:] = 0.0
    trucks, place, taken = np.empty(needed, np.int64), np.empty(needed, np.int64), np.empty(needed, np.int64)
    along = np.empty(needed)
    team, lost = -1, 0.0
    for e in range(len(finishes.last)):
        size = finishes.size[e]
        b = finishes.last[e]
        if size > needed:
            break
        chance = at_least[window[b], finishes.taken[e, b]]
        for p in range(len(window)):
            if finishes.others[e] >> p & 1:
                chance *= exactly[window[p], finishes.taken[e, p]]
        if chance <= NEGLIGIBLE:
            continue
        if finishes.team[e] != team:
            team = finishes.team[e]
            for n in range(size):
                trucks[n] = window[finishes.trucks[e, n]]
            if size == needed:
                lost = none * _loss(chances, j, trucks, size)
            else:
                lost = _loss_behind(chances, j, needed, ahead, none, trucks, size, place, taken, along)
        others, outside, row, rest, weight = finishes.others[e], finishes.outside[e], score[b], 0, chance * lost
        while True:
            row[np.uint64(others | rest)] += weight * empty[np.uint64(rest)]
            if rest == outside:
                break
            rest = (rest - outside) & outside


@njit(nogil=True, cache=True)
def _num_asked(row: Ints, needed: int, exactly: Floats) -> int:
    """The number of stations of an order before which fewer than k trucks are idle with more than negligible chance."""
    few = np.zeros(needed)
    few[0] = 1.0
    for position in range(len(row)):
        if few.sum() <= NEGLIGIBLE:
            return position
        i = row[position]
        for idle in range(needed - 1, -1, -1):
            chance = 0.0
            for here in range(idle + 1):
                chance += few[idle - here] * exactly[i, here]
            few[idle] = chance
    return len(row)


@njit(nogil=True, cache=True)
def reorder_independent(
    points: Ints, window: int, finishes: Any, needed: Ints, chances: Any, order: Ints, gain: Floats
) -> None:
    """Improve the rows of `order` [J, I] for some points in place; gain[j] is by how much the score of row j falls.

    `chances` holds `exactly` [I, k] and `at_least` [I, k + 1], the chances of that many idle trucks; `price` [I], that
    of one truck; and `cost` [T, J] with `number_of_code` and its `base` to find teams in it.
    """
    size = min(window, order.shape[1])
    score, empty = np.empty((size, 1 << size)), np.empty(1 << size)
    for j in points:
        row = order[j]
        gain[j] = 0.0
        for first in _windows(_num_asked(row, needed[j], chances.exactly), size):
            window_row = row[first : first + size]
            stations = window_row.copy()
            independent_scores(j, needed[j], row[:first], stations, finishes, chances, empty, score)
            gain[j] += _put_in_order(stations, np.arange(size), score, window_row)
