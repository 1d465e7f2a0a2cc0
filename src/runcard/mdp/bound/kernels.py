"""The loops of the bound: what options cost at home, and sweeps over the states of one neighbourhood.

Payments are arrays with the level last, sweeps have the column last: each is the innermost loop. See `ascent.py` for
the equations.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.arrays import Floats, Ints

Singles = NDArray[np.float32]
FAST = {"reassoc", "contract", "nsz", "nnan", "ninf", "arcp"}
NEVER = np.float32(1e20)
"""The cost of what is not there."""
LEAST_RATE = 1e-30
FAR = 1e300
"""More than any sum; no infinity, which these loops are compiled without."""


@njit(nogil=True, cache=True, fastmath=FAST)
def price_options(
    start: int, stop: int, options: Any, own: Any, common: Any, market: Any, places: Any, first_level: int,
    total: Any, home_cost: Any,
) -> None:  # fmt: skip
    """Fill `total` [options, levels] and `home_cost` [J, subsets, levels] of the points start..stop-1.

    The total of an option is its cost and its payments: of its parts in near neighbourhoods `own` [columns, subsets,
    levels], of candidates in far ones `common` [neighbourhoods, s, levels], and of each other truck the smallest
    price in the `market` [N, levels]. The home cost of a subset is the smallest total of the options with that part.
    """
    num_levels = total.shape[1]
    num_sizes = options.start.shape[1] - 1
    for j in range(start, stop):
        home_cost[j] = NEVER
        first, last = options.first_near[j], options.first_near[j + 1]
        other = cheapest_others(options.is_other[j], market)
        for m in range(num_sizes):
            low, high = level_range(m, options.needed[j], first_level, num_levels)
            for o in range(options.start[j, m], options.start[j, m + 1]):
                row = total[o]
                for level in range(low, high):
                    row[level] = options.cost[o]
                for r in range(last - first):
                    part = options.part[options.first_part[o] + r]
                    if part > 0:
                        paid = own[options.near[first + r], part]
                        for level in range(low, high):
                            row[level] += paid[level]
                for place in range(4):
                    truck = options.trucks[o, place]
                    if truck < 0:
                        break
                    for at in range(places.first[truck], places.first[truck + 1]):
                        g, bit = places.group[at], places.bit[at]
                        if options.is_far[j, g]:
                            for level in range(low, high):
                                row[level] += common[g, bit, level]
                if options.num_others[o] > 0:
                    for level in range(low, high):
                        row[level] += options.num_others[o] * market[other[level], level]
                found = home_cost[j, options.home_part[o]]
                for level in range(low, high):
                    found[level] = min(found[level], row[level])


@njit(nogil=True, cache=True)
def level_range(size: int, needed: int, first_level: int, num_levels: int) -> tuple[int, int]:
    """The levels at which an incident that needs so many trucks gets `size` of them."""
    if size > needed:
        return 0, 0
    low = max(0, size - first_level)
    high = num_levels if size == needed else max(0, min(num_levels, size - first_level + 1))
    return low, max(low, high)


@njit(nogil=True, cache=True)
def cheapest_others(is_other: NDArray[np.bool_], market: Any) -> Ints:
    """[levels] of the trucks that are no candidates the one with the smallest price."""
    num_trucks, num_levels = market.shape
    found = np.zeros(num_levels, np.int64)
    for level in range(num_levels):
        best = FAR
        for truck in range(num_trucks):
            if is_other[truck] and market[truck, level] < best:
                best, found[level] = market[truck, level], truck
    return found


@njit(nogil=True, cache=True, fastmath=FAST)
def take_from_others(
    start: int, stop: int, options: Any, places: Any, market: Singles, first_level: int, sharpness: np.float32,
    rate: Floats, total: Singles, home_cost: Singles, share: Singles, own: Singles, common: Floats,
) -> None:  # fmt: skip
    """Add what the points start..stop-1 take of others to `own` and `common`, which are as in `price_options`.

    `share` [J, subsets, levels] is how often home chooses each subset. It goes to the options with that part, by how
    close their totals are to the smallest one. What is taken of `common` counts with the `rate` of the point.
    """
    num_levels = total.shape[1]
    num_sizes = options.start.shape[1] - 1
    sums = np.empty(home_cost.shape[1:], np.float32)
    weight = np.empty(num_levels, np.float32)
    for j in range(start, stop):
        sums[:] = 0.0
        first, last = options.first_near[j], options.first_near[j + 1]
        other = cheapest_others(options.is_other[j], market)
        for second in range(2):
            for m in range(num_sizes):
                low, high = level_range(m, options.needed[j], first_level, num_levels)
                for o in range(options.start[j, m], options.start[j, m + 1]):
                    part = options.home_part[o]
                    some = np.float32(0.0)
                    for level in range(low, high):
                        found = np.float32(1.0) - (total[o, level] - home_cost[j, part, level]) * sharpness
                        found = max(np.float32(0.0), found)
                        weight[level] = found * found
                        some += found
                    if some == 0.0:
                        continue
                    if second == 0:
                        for level in range(low, high):
                            sums[part, level] += weight[level]
                        continue
                    for level in range(low, high):
                        weight[level] *= share[j, part, level] / sums[part, level]
                    for r in range(last - first):
                        their = options.part[options.first_part[o] + r]
                        if their > 0:
                            taken = own[options.near[first + r], their]
                            for level in range(low, high):
                                taken[level] += weight[level]
                    for place in range(4):
                        truck = options.trucks[o, place]
                        if truck < 0:
                            break
                        for at in range(places.first[truck], places.first[truck + 1]):
                            g, bit = places.group[at], places.bit[at]
                            if options.is_far[j, g]:
                                for level in range(low, high):
                                    common[g, bit, level] += rate[j] * weight[level]
                    if options.num_others[o] > 0:
                        for level in range(low, high):
                            truck = other[level]
                            for at in range(places.first[truck], places.first[truck + 1]):
                                g, bit = places.group[at], places.bit[at]
                                common[g, bit, level] += options.num_others[o] * rate[j] * weight[level]


@njit(nogil=True, cache=True)
def fill_costs(
    first: int, last: int, columns: Any, masks: Ints, number: Ints, own: Any, common: Any, home_cost: Any, cost: Any
) -> None:
    """Fill `cost` [levels, subsets, columns] of a neighbourhood: what each column costs it, less what it is paid."""
    num_levels, num_subsets = cost.shape[:2]
    for column in range(first, last):
        q = column - first
        if columns.is_home[column]:
            for b in range(num_subsets):
                for level in range(num_levels):
                    cost[level, b, q] = home_cost[columns.point[column], b, level]
            continue
        for b in range(num_subsets):
            base = number[masks[b] & columns.own[column]]
            for level in range(num_levels):
                cost[level, b, q] = -own[column, base, level]
            for bit in range(common.shape[0]):
                if (masks[b] & ~columns.own[column]) >> bit & 1:
                    for level in range(num_levels):
                        cost[level, b, q] -= common[bit, level]


@njit(nogil=True, cache=True)
def take_gifts(
    first: int, last: int, columns: Any, masks: Ints, number: Ints, given: Singles, own: Singles, common: Floats,
    home_share: Singles,
) -> None:  # fmt: skip
    """Subtract what a neighbourhood gives [levels, subsets, columns] from what is taken; fill `home_share`."""
    num_levels, num_subsets = given.shape[:2]
    for column in range(first, last):
        q = column - first
        if columns.is_home[column]:
            for b in range(num_subsets):
                for level in range(num_levels):
                    home_share[columns.point[column], b, level] = given[level, b, q]
            continue
        for b in range(1, num_subsets):
            base = number[masks[b] & columns.own[column]]
            if base > 0:
                for level in range(num_levels):
                    own[column, base, level] -= given[level, b, q]
            for bit in range(common.shape[0]):
                if (masks[b] & ~columns.own[column]) >> bit & 1:
                    for level in range(num_levels):
                        common[bit, level] -= columns.rate[column] * given[level, b, q]


@njit(nogil=True, cache=True)
def idle_outside(pattern_size: int, space: Any, idle: int) -> int:
    """The idle trucks outside of a neighbourhood; negative where there are no such states."""
    if space.is_band:  # all of them, at the level where that is so
        others = space.num_trucks - space.num_members
        return int(others) if others + pattern_size >= idle else -1
    outside = idle - pattern_size
    busy_outside = (space.num_trucks - idle) - (space.num_members - pattern_size)
    return outside if busy_outside >= 0 else -1


@njit(nogil=True, cache=True, fastmath=FAST)
def spread_choices(
    cost: Singles, space: Any, sharpness: np.float32, value: Floats, probability: Floats, given: Singles,
    moves: Any, spent: Floats,
) -> None:  # fmt: skip
    """What a neighbourhood does at the values [levels, 2^s]: choices are spread over those that are nearly the best.

    `moves` are the rates at which that leads to other states, `spent` [levels, 2^s] what it costs, and `given` [levels,
    subsets, columns] how often each subset is given at a level, by the probabilities [levels, 2^s].
    """
    num_levels, num_subsets, num_columns = cost.shape
    num_patterns = value.shape[1]
    best, spread = np.empty(num_columns, np.float32), np.empty(num_columns, np.float32)
    sums = np.empty((num_subsets, num_columns), np.float32)
    listed, is_taken = np.empty(num_subsets, np.int64), np.empty(num_subsets, np.bool_)
    num_moves = 0
    for level in range(num_levels):
        idle = space.first_level + level
        busy = space.num_trucks - idle
        given[level] = 0.0
        for f in range(num_patterns):
            state = level * num_patterns + f
            spent[level, f] = moves.leaving[state] = 0.0
            moves.first[state] = num_moves
            outside = idle_outside(space.size[f], space, idle)
            if outside < 0:
                moves.last[state] = num_moves
                continue
            own, chance = value[level, f], np.float32(probability[level, f] / space.chance[level])
            leaving = space.returns * (busy if level < num_levels - 1 else space.num_members - space.size[f])
            for c in range(len(space.needed)):
                low, high = space.first_column[c], space.first_column[c + 1]
                # Loops that count from 0 need no look at negative places, and become vector instructions.
                width, rates = high - low, space.rate[low:high]
                costs, gifts = cost[level, :, low:high], given[level, :, low:high]
                sent = min(space.needed[c], idle)
                after = max(level - sent, 0)
                best[:width] = NEVER
                num = 0
                for b in range(num_subsets):
                    if space.subset_size[b] > sent:
                        break
                    if space.masks[b] & ~f == 0 and sent - space.subset_size[b] <= outside:
                        change = np.float32(value[after, f & ~space.masks[b]] - own)
                        row, tried = costs[b], sums[num]
                        for q in range(width):
                            found = row[q] + change
                            tried[q] = found
                            best[q] = min(best[q], found)
                        listed[num] = b
                        num += 1
                total = np.float32(0.0)
                spread[:width] = 0.0
                for p in range(num):
                    tried, some = sums[p], np.float32(0.0)
                    for q in range(width):
                        found = np.float32(1.0) - (tried[q] - best[q]) * sharpness
                        found = max(np.float32(0.0), found)
                        found *= found
                        tried[q] = found
                        spread[q] += found
                        some += found
                    is_taken[p] = some > 0.0
                for q in range(width):
                    spread[q] = np.float32(1.0) / spread[q]
                for p in range(num):
                    if not is_taken[p]:
                        continue
                    b, tried = listed[p], sums[p]
                    row, gift = costs[b], gifts[b]
                    leaves = np.float32(0.0)
                    for q in range(width):
                        found = tried[q] * spread[q]
                        gift[q] += found * chance
                        found *= rates[q]
                        leaves += found
                        total += found * row[q]
                    if leaves > 0.0 and not (b == 0 and after == level):
                        moves.target[num_moves] = after * num_patterns + (f & ~space.masks[b])
                        moves.rate[num_moves] = leaves
                        num_moves += 1
                        leaving += leaves
                spent[level, f] += total
            moves.last[state] = num_moves
            moves.leaving[state] = max(leaving, LEAST_RATE)


@njit(nogil=True, cache=True, fastmath=FAST)
def settle(moves: Any, spent: Floats, space: Any, value: Floats, probability: Floats, num_sweeps: int) -> float:
    """Sweep the probabilities and the values [levels, 2^s] of what a neighbourhood does; what it costs an incident."""
    num_levels, num_patterns = value.shape
    values, arriving = value.ravel(), np.empty(value.size)
    gain = 0.0
    for _ in range(num_sweeps):
        # Dispatches lead to lower levels or smaller patterns, which come after.
        arriving[:] = 0.0
        gain = 0.0
        for level in range(num_levels - 1, -1, -1):
            below = level if space.is_band else level - 1
            busy = space.num_trucks - space.first_level - level
            mass = 0.0
            for f in range(num_patterns - 1, -1, -1):
                state = level * num_patterns + f
                if moves.leaving[state] == 0.0:  # there is no such state
                    probability[level, f] = 0.0
                    continue
                here = arriving[state]
                if below >= 0:
                    for bit in range(space.num_members):
                        if f >> bit & 1:
                            here += space.returns * probability[below, f & ~(1 << bit)]
                if 0 <= below < level:
                    here += space.returns * (busy + 1 - space.num_members + space.size[f]) * probability[below, f]
                here /= moves.leaving[state]
                probability[level, f] = here
                mass += here
                for k in range(moves.first[state], moves.last[state]):
                    arriving[moves.target[k]] += moves.rate[k] * here
            if mass <= 0.0:
                probability[level, num_patterns - 1] = mass = 1.0
            for f in range(num_patterns):
                probability[level, f] *= space.chance[level] / mass
                gain += probability[level, f] * spent[level, f]
        gain /= space.chance.sum()
        for level in range(num_levels):
            above = min(level + 1, num_levels - 1)
            busy = space.num_trucks - space.first_level - level
            for f in range(num_patterns):
                state = level * num_patterns + f
                if moves.leaving[state] == 0.0:
                    continue
                found = spent[level, f] - gain
                for bit in range(space.num_members):
                    if not f >> bit & 1:
                        found += space.returns * value[above, f | (1 << bit)]
                if above > level:
                    found += space.returns * (busy - space.num_members + space.size[f]) * value[above, f]
                for k in range(moves.first[state], moves.last[state]):
                    found += moves.rate[k] * values[moves.target[k]]
                value[level, f] = found / moves.leaving[state]
        value -= value[num_levels - 1, num_patterns - 1]
    return gain


@njit(nogil=True, cache=True, fastmath=FAST)
def least_residuals(cost: Floats, space: Any, value: Floats, lowest: Floats) -> None:
    """Fill `lowest` [levels] with the smallest residual of each level at the values [levels, 2^s]."""
    num_levels, num_subsets, num_columns = cost.shape
    num_patterns = value.shape[1]
    best = np.empty(num_columns)
    for level in range(num_levels):
        idle = space.first_level + level
        busy = space.num_trucks - idle
        above = min(level + 1, num_levels - 1)
        lowest[level] = FAR
        for f in range(num_patterns):
            outside = idle_outside(space.size[f], space, idle)
            if outside < 0:
                continue
            own = value[level, f]
            residual = 0.0
            for bit in range(space.num_members):
                if not f >> bit & 1:
                    residual += space.returns * (value[above, f | (1 << bit)] - own)
            residual += space.returns * (busy - (space.num_members - space.size[f])) * (value[above, f] - own)
            for c in range(len(space.needed)):
                low, high = space.first_column[c], space.first_column[c + 1]
                sent = min(space.needed[c], idle)
                after = max(level - sent, 0)
                width, rates, costs = high - low, space.exact_rate[low:high], cost[level, :, low:high]
                best[:width] = FAR
                for b in range(num_subsets):
                    if space.subset_size[b] > sent:
                        break
                    if space.masks[b] & ~f == 0 and sent - space.subset_size[b] <= outside:
                        change = value[after, f & ~space.masks[b]] - own
                        row = costs[b]
                        for q in range(width):
                            best[q] = min(best[q], row[q] + change)
                for q in range(width):
                    residual += best[q] * rates[q]
            lowest[level] = min(lowest[level], residual)


@njit(nogil=True, cache=True, fastmath=FAST)
def adam(
    taken: Any, first: Singles, second: Singles, payment: Any, step: float, kept_first: float, kept_second: float,
    bias_first: float, bias_second: float,
) -> None:  # fmt: skip
    """Move payments [rows, levels] by what is taken less what is given, and clear that."""
    for row in range(taken.shape[0]):
        for level in range(taken.shape[1]):
            slope = taken[row, level]
            taken[row, level] = 0.0
            first[row, level] += np.float32(1.0 - kept_first) * (slope - first[row, level])
            second[row, level] += np.float32(1.0 - kept_second) * (slope * slope - second[row, level])
            size = np.sqrt(second[row, level] * np.float32(bias_second)) + np.float32(LEAST_SLOPE)
            payment[row, level] += np.float32(step) * first[row, level] * np.float32(bias_first) / size


LEAST_SLOPE = 0.003
