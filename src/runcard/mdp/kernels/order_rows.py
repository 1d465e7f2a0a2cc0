"""Rows of a policy that follows an order of stations, and of one that is given as a table.

An order policy sends, for an incident at j, the first min(k_j, |f|) idle trucks along the order of j, as many from each
station as it has. Closest-first is the order by expected driving time.
"""

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.kernels.states import enter_state, next_state

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@njit(nogil=True, cache=True)
def _write_row(sent: Floats, used: Ints, num_used: int, row: int, end: int, rows: Any) -> int:
    """Write the teams used[:num_used] as one row and clear `sent`; returns where the row ends."""
    for u in range(num_used):
        team = used[u]
        if sent[team] > 0.0:
            rows.team[end], rows.rate[end] = team, sent[team]
            end += 1
        sent[team] = -1.0
    rows.end[row] = end
    return end


@njit(nogil=True, cache=True)
def order_rows(
    start: int,
    stop: int,
    space: Any,
    order: Ints,
    needed: Ints,
    rate: Floats,
    team_number: Ints,
    cost: Floats,
    minutes: Floats,
    rows: Any,
) -> None:
    """Fill `rows` for the states start..stop-1 of the policy that follows `order` [points, stations].

    `team_number` finds a team from its stations: it is indexed by Σ_i (the stations of the team, as digits i + 1, in
    rising order, in base I + 1).
    """
    num_stations = len(space.trucks)
    idle, step, weight = np.empty(num_stations, np.int64), np.empty(num_stations, np.int64), np.empty(num_stations)
    want_minutes = len(minutes) > 0
    base = num_stations + 1
    sent = np.full(len(cost), -1.0)
    used = np.empty(len(cost), np.int64)
    chosen = np.empty(8, np.int64)
    end = 0
    enter_state(start, space, idle, weight, step)
    for f in range(start, stop):
        expected, response, num_used = 0.0, 0.0, 0
        for j in range(len(needed)):
            num = 0
            for position in range(num_stations):
                i = order[j, position]
                take = min(needed[j] - num, idle[i])
                for _ in range(take):
                    place = num
                    while place > 0 and chosen[place - 1] > i:
                        chosen[place] = chosen[place - 1]
                        place -= 1
                    chosen[place] = i
                    num += 1
                if num == needed[j]:
                    break
            code = 0
            for place in range(num):
                code = code * base + chosen[place] + 1
            team = team_number[code]
            if sent[team] < 0.0:
                sent[team] = 0.0
                used[num_used] = team
                num_used += 1
            sent[team] += rate[j]
            expected += rate[j] * cost[team, j]
            if want_minutes:
                response += rate[j] * minutes[team, j]
        end = _write_row(sent, used, num_used, f - start, end, rows)
        rows.cost[f - start] = expected
        if want_minutes:
            rows.minutes[f - start] = response
        next_state(space, idle, weight, step)


@njit(nogil=True, cache=True)
def table_rows(table: Ints, rate: Floats, cost: Floats, minutes: Floats, rows: Any) -> None:
    """Fill `rows` from a `table` [states, points] of team numbers."""
    want_minutes = len(minutes) > 0
    sent = np.full(len(cost), -1.0)
    used = np.empty(len(cost), np.int64)
    end = 0
    for row in range(len(table)):
        expected, response, num_used = 0.0, 0.0, 0
        for j in range(len(rate)):
            team = table[row, j]
            if sent[team] < 0.0:
                sent[team] = 0.0
                used[num_used] = team
                num_used += 1
            sent[team] += rate[j]
            expected += rate[j] * cost[team, j]
            if want_minutes:
                response += rate[j] * minutes[team, j]
        end = _write_row(sent, used, num_used, row, end, rows)
        rows.cost[row] = expected
        if want_minutes:
            rows.minutes[row] = response


@njit(nogil=True, cache=True)
def team_use(start: int, probability: Floats, rows: Any, use: Floats) -> None:
    """Add to `use` [teams] the incidents per day that get each team, given the probability of each state."""
    for row in range(len(rows.end)):
        for e in range(rows.end[row - 1] if row > 0 else 0, rows.end[row]):
            use[rows.team[e]] += probability[start + row] * rows.rate[e]
