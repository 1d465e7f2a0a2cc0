"""Rows of the policy that is greedy for a value function: the improvement step, for a range of states.

The row of state f lists, for each team a that the policy sends from f, the rate Σ_j λ_j [a(f, j) = a]: demand points
that get the same team are one entry, and that is all evaluation needs. With the rows come the residuals of the Bellman
equation,

    residual(f) = Σ_j λ_j min_a { cost(a, j) + h(f-a) - h(f) } + μ Σ_i (C_i - f_i) (h(f+e_i) - h(f)),

whose lowest and highest values over the states with n idle trucks bound g (see `mdp/bounds.py`).

States are taken in blocks of eight neighbours. The teams that are idle in any of them are listed once; a team that is
not idle in one of the eight has the price NEVER there. Prices are h(f-a) - h(f), differences, so that few bits hold
them; `packed_minimum` finds the best team of each demand point.
"""

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.groups import GROUPS, STATES
from runcard.mdp.kernels.packed_minimum import packed_minimum
from runcard.mdp.kernels.states import enter_state, next_state, state_mask, team_of_all

NEVER = 1e300
"""The price of a team that is not idle."""

FAST = {"reassoc", "contract", "nsz"}

Keys: TypeAlias = NDArray[np.uint32] | NDArray[np.uint64]
Masks: TypeAlias = NDArray[np.uint64]
Positions: TypeAlias = NDArray[np.int32]


@njit(nogil=True, cache=True, fastmath=FAST)
def _look_at_states(
    first: int,
    num_here: int,
    value: Floats,
    space: Any,
    idle: Ints,
    weight: Floats,
    step: Ints,
    own: Floats,
    mask: Masks,
    level: Ints,
    residual: Floats,
) -> np.uint64:
    """Fill the masks, levels and own values of a block, and the part of its residuals that is due to returns.

    Returns the union of the masks: what is idle in any of the states.
    """
    mask[:] = 0
    own[:] = 0.0
    mask_here = state_mask(space, idle, 0, np.uint64(0))
    union = mask_here
    for s in range(num_here):
        here = value[np.uint64(first + s)]
        returns = 0.0
        idle_here = 0
        for i in range(len(idle)):
            returns += weight[i] * (value[np.uint64(first + s + step[i])] - here)
            idle_here += idle[i]
        own[s], level[s], residual[s] = here, idle_here, returns
        mask[s] = mask_here
        union |= mask_here
        mask_here = state_mask(space, idle, next_state(space, idle, weight, step), mask_here)
    return union


@njit(nogil=True, cache=True)
def _list_teams(first_team: int, group_start: Ints, union: np.uint64, teams: Any, listed: Positions, ends: Ints) -> int:
    """List the teams that are idle in some state of the block, group by group; returns their number."""
    num = 0
    for group in range(len(ends)):
        for place in range(group_start[group], group_start[group + 1]):
            team = teams.by_group[place]
            listed[num] = team - first_team
            if teams.mask[team] & ~union == 0:
                num += 1
        ends[group] = num
    return num


@njit(nogil=True, cache=True, fastmath=FAST)
def _price_teams(
    first: int,
    first_team: int,
    num: int,
    listed: Positions,
    value: Floats,
    teams: Any,
    own: Floats,
    mask: Masks,
    scale: float,
    shift: int,
    difference: Floats,
    smallest: Floats,
    price: Keys,
) -> None:
    """Fill `difference` with h(f-a) - h(f) and `price` with its keys, counted from the smallest of each state."""
    smallest[:] = NEVER
    for p in range(num):
        team = first_team + listed[p]
        team_mask = teams.mask[team]
        base = first - teams.offset[team]
        if base < 0:
            # In the very first block: the states that come before the team's offset do not have the team.
            for s in range(STATES):
                idle_here = team_mask & ~mask[s] == 0
                difference[p, s] = value[base + s] - own[s] if idle_here else NEVER
                smallest[s] = min(smallest[s], difference[p, s])
            continue
        for s in range(STATES):
            found = value[np.uint64(base + s)] - own[s]
            found = found if team_mask & ~mask[s] == 0 else NEVER
            difference[p, s] = found
            smallest[s] = found if found < smallest[s] else smallest[s]
    bits = 8 * price.itemsize
    top = np.uint64(1) << np.uint64(bits - 1)
    limit = float((np.int64(1) << (bits - 2 - shift)) - 1)
    for p in range(num):
        for s in range(STATES):
            found = difference[p, s]
            units = (found - smallest[s]) * scale
            units = units if units < limit else limit
            key = (np.uint64(np.int64(units)) << np.uint64(shift)) | np.uint64(listed[p])
            price[p, s] = key if found < NEVER else top


@njit(nogil=True, cache=True)
def _count_teams(best: Keys, rate: Floats, team_mask: np.uint64, rates: Floats) -> None:
    """Add to `rates` [STATES, teams] the rate at which each state of the block sends each team.

    The states are in the innermost loop, by hand: neighbours often get the same team, and adds to the same number,
    one after the other, wait for each other.
    """
    rates0, rates1, rates2, rates3 = rates[0], rates[1], rates[2], rates[3]
    rates4, rates5, rates6, rates7 = rates[4], rates[5], rates[6], rates[7]
    best0, best1, best2, best3 = best[0], best[1], best[2], best[3]
    best4, best5, best6, best7 = best[4], best[5], best[6], best[7]
    for j in range(len(rate)):
        here = rate[j]
        rates0[np.uint64(best0[j]) & team_mask] += here
        rates1[np.uint64(best1[j]) & team_mask] += here
        rates2[np.uint64(best2[j]) & team_mask] += here
        rates3[np.uint64(best3[j]) & team_mask] += here
        rates4[np.uint64(best4[j]) & team_mask] += here
        rates5[np.uint64(best5[j]) & team_mask] += here
        rates6[np.uint64(best6[j]) & team_mask] += here
        rates7[np.uint64(best7[j]) & team_mask] += here


@njit(nogil=True, cache=True, fastmath=FAST)
def _total_units(best: Keys, rate: Floats, shift: int) -> float:
    """Σ_j λ_j of the value part of the smallest keys of one state."""
    total = 0.0
    for j in range(len(rate)):
        total += rate[j] * np.float64(np.int64(best[j]) >> shift)
    return total


@njit(nogil=True, cache=True)
def _write_teams(
    s: int,
    first_team: int,
    listed: Positions,
    ends: Ints,
    rates: Floats,
    difference: Floats,
    row_team: NDArray[np.uint16],
    row_rate: Floats,
    end: int,
) -> tuple[Any, float]:
    """Write the teams that state s of the block sends, from `end` on, and clear `rates` [teams].

    Returns where the row ends now, and Σ_a r(f, a) (h(f-a) - h(f)).
    """
    place = np.uint64(end)
    prices = 0.0
    begin = 0
    for group in range(len(ends)):
        if group == 0 or s >> (3 - group) & 1:
            for p in range(begin, ends[group]):
                team = np.uint64(listed[p])
                rate = rates[team]
                rates[team] = 0.0
                prices += rate * difference[p, s]
                row_team[place] = first_team + listed[p]
                row_rate[place] = rate
                # No branch: which teams are sent cannot be guessed.
                place += np.uint64(rate > 0.0)
        begin = ends[group]
    return np.int64(place), prices


@njit(nogil=True, cache=True)
def _total_of(table: Floats, team: int, best: Keys, team_mask: np.uint64, source: Ints, rate: Floats) -> float:
    """Σ_j λ_j table[a(f, j), j] over the demand points of a class, given the smallest keys of state f.

    Teams count from `team` on; with a mask of 0 every point has that team.
    """
    total = 0.0
    for j in range(len(source)):
        if source[j] >= 0:
            total += rate[j] * table[team + np.int64(np.uint64(best[j]) & team_mask), source[j]]
    return total


@njit(nogil=True, cache=True)
def value_rows(
    start: int,
    stop: int,
    value: Floats,
    space: Any,
    teams: Any,
    keyed: Any,
    cost: Floats,
    measures: Floats,
    rows: Any,
    found: Any,
) -> None:
    """Fill `rows` for the states start..stop-1, and bring found.lowest and highest [levels] to their residuals.

    found.largest [levels] is brought to the largest |h|. `start` is a multiple of STATES, or no team has a group but 0.
    `value` [states + padding] is h; `cost` is [teams, points], and `measures` are some more of such tables; `rows` are
    the arrays of `mdp.rows.PolicyRows` for that range, long enough for every team of every class, or with no room at
    all if only the residuals are wanted.
    """
    num_classes = len(keyed.needed)
    tile = keyed.key.shape[1]
    most_teams = max(1, np.max(keyed.last_team - keyed.first_team))
    team_mask = (np.uint64(1) << np.uint64(keyed.shift)) - np.uint64(1)
    want_rows = len(rows.team) > 0
    own, residual = np.zeros(STATES), np.zeros(STATES)
    mask, level = np.zeros(STATES, np.uint64), np.zeros(STATES, np.int64)
    ends = np.zeros((num_classes, len(GROUPS)), np.int64)
    listed = np.empty((num_classes, most_teams), np.int32)
    difference = np.empty((num_classes, most_teams, STATES))
    smallest = np.empty((num_classes, STATES))
    price = np.empty((most_teams, STATES), keyed.key.dtype)
    best = np.zeros((STATES, len(keyed.rate)), keyed.key.dtype)
    rates = np.zeros((num_classes, STATES, 1 << keyed.shift))
    end = 0
    idle, weight, step = enter_state(start, space)

    for first in range(start, stop, STATES):
        num_here = min(STATES, stop - first)
        union = _look_at_states(first, num_here, value, space, idle, weight, step, own, mask, level, residual)
        for c in range(num_classes):
            first_team, here = keyed.first_team[c], slice(keyed.first_point[c], keyed.first_point[c + 1])
            num = _list_teams(first_team, keyed.group_start[c], union, teams, listed[c], ends[c])
            if num == 0:
                continue
            _price_teams(
                first, first_team, num, listed[c], value, teams, own, mask, keyed.scale[c], keyed.shift,
                difference[c], smallest[c], price,
            )  # fmt: skip
            first_row, num_teams = keyed.first_row[c], keyed.last_team[c] - first_team
            for first_point in range(keyed.first_point[c], keyed.first_point[c + 1], tile):
                packed_minimum(best[:, first_point:], keyed.key[first_row:], listed[c], price, ends[c])
                first_row += num_teams
            if want_rows:
                _count_teams(best[:, here], keyed.rate[here], team_mask, rates[c])

        rates[:, num_here:] = 0.0
        for s in range(num_here):
            expected, row = 0.0, first + s - start
            for m in range(len(measures)):
                rows.measured[m, row] = 0.0
            for c in range(num_classes):
                here = slice(keyed.first_point[c], keyed.first_point[c + 1])
                source, rate, team, mask_of_team = keyed.source[here], keyed.rate[here], keyed.first_team[c], team_mask
                if level[s] < keyed.needed[c]:
                    rates[c, s] = 0.0  # of teams that are not idle: nothing was found in this state
                    team, mask_of_team = team_of_all(mask[s], space, teams.number_of_code), np.uint64(0)
                    if want_rows:
                        rows.team[end], rows.rate[end] = team, keyed.total_rate[c]
                        end += 1
                    now = _total_of(cost, team, best[s, here], mask_of_team, source, rate)
                    expected += now
                    change = value[first + s - teams.offset[team]] - own[s]
                    residual[s] += now + keyed.total_rate[c] * change
                else:
                    # Both the cost and the price were rounded down, each by half a unit on average.
                    total = _total_units(best[s, here], rate, keyed.shift) / keyed.scale[c]
                    total += keyed.total_rate[c] * (keyed.lowest[c] + smallest[c, s] + 1.0 / keyed.scale[c])
                    residual[s] += total
                    expected += total
                    if want_rows:
                        end, prices = _write_teams(
                            s, team, listed[c], ends[c], rates[c, s], difference[c], rows.team, rows.rate, end
                        )
                        expected -= prices
                for m in range(len(measures)):
                    rows.measured[m, row] += _total_of(measures[m], team, best[s, here], mask_of_team, source, rate)
            rows.end[row], rows.cost[row] = end, expected
            found.lowest[level[s]] = min(found.lowest[level[s]], residual[s])
            found.highest[level[s]] = max(found.highest[level[s]], residual[s])
            found.largest[level[s]] = max(found.largest[level[s]], abs(own[s]))
