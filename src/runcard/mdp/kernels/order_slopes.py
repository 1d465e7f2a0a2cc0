"""What an order asks of each station and how late it is when trucks are busy independently, and how both would change.

The trucks of station i are busy with chance p_i. An incident at j asks the trucks n_0, n_1, ... of its order until k of
them were idle. With P_b = Π_{c<b} p(n_c) and r_n = (1 - p_n) / p_n,

    A_b = chance that fewer than k of n_0..n_{b-1} are idle: truck n_b is asked,
    E_t = (1 - p(n_b)) P_b Π_{a in t - b} r(n_a) cost(t, j): the part in the cost of team t, whose last truck is n_b.

Teams of fewer than k trucks, which the walk ends with, count as if one more truck stood behind the end, always idle.
Both A and ΣE are linear in the chance of each truck n, so that

    ∂A_b/∂p_n = chance that exactly k-1 of n_0..n_{b-1} other than n are idle                              (n before b),
    ∂ΣE/∂p_n = (1/p_n) Σ E_t over teams without n whose last truck is behind n  -  (1/(1-p_n)) Σ E_t over teams with n.

A walk stops when the chance that it goes on is at most `STOP`. No chance counts as less than `LEAST_BUSY`.
"""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.team_codes import first_set, next_set

STOP = 1e-15
LEAST_BUSY = 1e-100  # the ratios of three trucks are still a number when multiplied


@njit(nogil=True, cache=True)
def _pass_truck(few: Floats, k: int, p: float) -> None:
    """Bring few[m], the chances that m < k trucks so far are idle, to those with one more, busy with chance p."""
    for m in range(k - 1, 0, -1):
        few[m] = few[m] * p + few[m - 1] * (1.0 - p)
    few[0] *= p


@njit(nogil=True, cache=True)
def asked_slopes(
    points: Ints, order: Ints, needed: Ints, rate: Floats, trucks: Ints, busy: Floats, asked: Floats, slope: Floats
) -> None:
    """Add what some points ask: asked[i] per day, over all trucks of station i, and slope[i, m] = ∂asked[i]/∂p_m."""
    num_trucks = np.sum(trucks)
    station = np.empty(num_trucks, np.int64)
    # The chances of 0, 1, ... idle trucks so far: of all, and without each one of them.
    few, few_but = np.zeros(np.max(needed)), np.empty((np.max(needed), num_trucks))
    for j in points:
        k, num = needed[j], 0
        few[:] = 0.0
        few[0] = 1.0
        for i in order[j]:
            p = busy[i]
            if few.sum() <= STOP:
                break
            for _ in range(trucks[i]):
                asked[i] += rate[j] * few.sum()
                for n in range(num):
                    slope[i, station[n]] += rate[j] * few_but[k - 1, n]
                for m in range(k - 1, 0, -1):
                    for n in range(num):
                        few_but[m, n] = few_but[m, n] * p + few_but[m - 1, n] * (1.0 - p)
                for n in range(num):
                    few_but[0, n] *= p
                station[num], few_but[:, num] = i, few
                num += 1
                _pass_truck(few, k, p)


@njit(nogil=True, cache=True)
def _add_teams(
    chances: Any, j: int, size: int, limit: int, last: int, weight: float, station: Ints, ratio: Floats, part: Floats,
    positions: Ints,
) -> float:  # fmt: skip
    """Σ E_t over the teams of `size` trucks before position `limit` and one of station `last` (-1 for none).

    `weight` is (1 - p) P at the limit. Adds E_t to part[a] for each truck a of the team but the last. `positions` is
    scratch.
    """
    total = 0.0
    there = first_set(positions, size, limit)
    while there:
        term, code = weight, last + 1
        for n in range(size):
            term *= ratio[positions[n]]
            code = code * chances.base + station[positions[n]] + 1
        term *= chances.cost[chances.number_of_code[code], j]
        for n in range(size):
            part[positions[n]] += term
        total += term
        there = next_set(positions, size, limit)
    return total


@njit(nogil=True, cache=True)
def late_slopes(
    points: Ints, order: Ints, needed: Ints, rate: Floats, trucks: Ints, busy: Floats, chances: Any, slope: Floats
) -> float:
    """The late incidents per day of some points; adds to slope[m] how they change with p_m.

    `chances` holds `cost` [T, J] with `number_of_code` and its `base` to find teams in it.
    """
    num_trucks = np.sum(trucks)
    station, ratio, part = np.empty(num_trucks, np.int64), np.empty(num_trucks), np.empty(num_trucks)
    at, few = np.empty(num_trucks + 1), np.zeros(np.max(needed))
    positions = np.empty(len(few), np.int64)
    late = 0.0
    for j in points:
        k, num, all_busy = needed[j], 0, 1.0
        few[:] = 0.0
        few[0] = 1.0
        for i in order[j]:
            if few.sum() <= STOP:
                break
            p = max(busy[i], LEAST_BUSY)
            q = 1.0 - p
            for _ in range(trucks[i]):
                station[num], ratio[num], part[num] = i, q / p, 0.0
                at[num] = _add_teams(chances, j, k - 1, num, i, q * all_busy, station, ratio, part, positions)
                num += 1
                _pass_truck(few, k, p)
                all_busy *= p
        at[num] = 0.0
        if num == num_trucks:
            for size in range(k):
                at[num] += _add_teams(chances, j, size, num, -1, all_busy, station, ratio, part, positions)
        behind = at[num]
        for n in range(num - 1, -1, -1):
            p = max(busy[station[n]], LEAST_BUSY)
            slope[station[n]] += rate[j] * ((behind - part[n]) / p - (part[n] + at[n]) / (1.0 - p))
            behind += at[n]
        late += rate[j] * behind
    return late
