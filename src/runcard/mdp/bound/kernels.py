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
NEVER = np.float32(1e30)
"""The cost of what is not there."""
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
def idle_outside(pattern_size: int, num_members: int, idle: int, num_trucks: int) -> int:
    """The idle trucks outside of a neighbourhood; negative where there are no such states."""
    outside = idle - pattern_size
    busy_outside = (num_trucks - idle) - (num_members - pattern_size)
    return outside if busy_outside >= 0 else -1


@njit(nogil=True, cache=True, fastmath=FAST)
def soft_sweep(
    cost: Singles, space: Any, sharpness: np.float32, value: Floats, probability: Floats, given: Singles,
    lowest: Floats, gain: Floats,
) -> None:  # fmt: skip
    """One sweep of the values [levels, 2^s] and probabilities [levels, 2^s] of a neighbourhood, from the highest level.

    Values take the smallest sums; probabilities follow choices that are spread over nearly equal ones, and `given`
    [levels, subsets, columns] is how often each is made. `lowest` [levels] are the smallest residuals, with values that
    change meanwhile: an estimate.
    """
    num_levels, num_subsets, num_columns = cost.shape
    num_patterns = value.shape[1]
    arriving = np.zeros(value.shape)
    best, spread = np.empty(num_columns, np.float32), np.empty(num_columns, np.float32)
    sums = np.empty((num_subsets, num_columns), np.float32)
    listed = np.empty(num_subsets, np.int64)
    for level in range(num_levels - 1, -1, -1):
        idle = space.first_level + level
        busy = space.num_trucks - idle
        below, above = max(level - 1, 0), min(level + 1, num_levels - 1)
        mass = 0.0
        for f in range(num_patterns):
            outside = idle_outside(space.size[f], space.num_members, idle, space.num_trucks)
            here = 0.0
            if outside >= 0:
                here = arriving[level, f]
                for bit in range(space.num_members):
                    if f >> bit & 1:
                        here += space.returns * probability[below, f & ~(1 << bit)]
                here += space.returns * (busy + 1 - (space.num_members - space.size[f])) * probability[below, f]
                if num_levels == 1 or mass + here == 0.0:
                    here = max(here, 1e-12)
            probability[level, f] = here
            mass += here
        for f in range(num_patterns):
            probability[level, f] /= mass
        given[level] = 0.0
        lowest[level] = FAR
        leaving = 1.0 + space.returns * busy
        for f in range(num_patterns):
            outside = idle_outside(space.size[f], space.num_members, idle, space.num_trucks)
            if outside < 0:
                continue
            own = value[level, f]
            residual = 0.0
            for bit in range(space.num_members):
                if not f >> bit & 1:
                    residual += space.returns * (value[above, f | (1 << bit)] - own)
            residual += space.returns * (busy - (space.num_members - space.size[f])) * (value[above, f] - own)
            chance = probability[level, f]
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
                for q in range(width):
                    total += best[q] * rates[q]
                residual += total
                if chance < 1e-7:
                    continue
                spread[:width] = 0.0
                for p in range(num):
                    tried = sums[p]
                    for q in range(width):
                        found = np.float32(1.0) - (tried[q] - best[q]) * sharpness
                        found = max(np.float32(0.0), found)
                        found *= found
                        tried[q] = found
                        spread[q] += found
                for q in range(width):
                    spread[q] = np.float32(chance) / spread[q]
                for p in range(num):
                    b, tried = listed[p], sums[p]
                    gift = gifts[b]
                    leaves = np.float32(0.0)
                    for q in range(width):
                        found = tried[q] * spread[q]
                        gift[q] += found
                        leaves += found * rates[q]
                    arriving[after, f & ~space.masks[b]] += leaves * space.chance[level]
            lowest[level] = min(lowest[level], residual)
            if level == num_levels - 1 and f == num_patterns - 1:
                gain[0] = residual
            value[level, f] += (residual - gain[0]) / leaving
        for f in range(num_patterns):
            probability[level, f] *= space.chance[level]


@njit(nogil=True, cache=True, fastmath=FAST)
def hard_sweep(cost: Floats, space: Any, value: Floats, gain: Floats, lowest: Floats, update: bool) -> None:
    """The smallest residual of each level in `lowest`; if `update`, values are swept and they are an estimate."""
    num_levels, num_subsets, num_columns = cost.shape
    num_patterns = value.shape[1]
    best = np.empty(num_columns)
    for level in range(num_levels - 1, -1, -1):
        idle = space.first_level + level
        busy = space.num_trucks - idle
        above = min(level + 1, num_levels - 1)
        lowest[level] = FAR
        for f in range(num_patterns):
            outside = idle_outside(space.size[f], space.num_members, idle, space.num_trucks)
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
            if level == num_levels - 1 and f == num_patterns - 1:
                gain[0] = residual
            if update:
                value[level, f] += (residual - gain[0]) / (1.0 + space.returns * busy)


@njit(nogil=True, cache=True, fastmath=FAST)
def adam(
    taken: Any, first: Singles, second: Singles, payment: Any, step: float, bias_first: float, bias_second: float
) -> None:
    """Move payments [rows, levels] by what is taken less what is given, and clear that."""
    for row in range(taken.shape[0]):
        for level in range(taken.shape[1]):
            slope = taken[row, level]
            taken[row, level] = 0.0
            first[row, level] += np.float32(1.0 - KEPT_FIRST) * (slope - first[row, level])
            second[row, level] += np.float32(1.0 - KEPT_SECOND) * (slope * slope - second[row, level])
            size = np.sqrt(second[row, level] * np.float32(bias_second)) + np.float32(LEAST_SLOPE)
            payment[row, level] += np.float32(step) * first[row, level] * np.float32(bias_first) / size


KEPT_FIRST = 0.9
KEPT_SECOND = 0.98
LEAST_SLOPE = 0.003
