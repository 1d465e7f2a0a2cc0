"""Rows of a policy that is a run card, or an order of stations, and of one that is given as a table.

An order policy sends, for an incident at j, the first min(k_j, |f|) idle trucks along the order of j, as many from each
station as it has. Closest-first is the order by expected driving time. A run card sends the first team of its lines
that is idle, and follows an order where none of them is; an order is a card without lines.
"""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.states import enter_state, next_state, state_mask
from runcard.mdp.kernels.team_codes import first_idle_team, first_on_card


@njit(nogil=True, cache=True)
def _write_row(
    choice: Ints, rate: Floats, cost: Floats, measures: Floats, sent: Floats, used: Ints, row: int, end: int, rows: Any
) -> int:
    """Write the row of a state that sends team choice[j] to each demand point j; returns where the row ends.

    `sent` [teams] is -1 before and after; `used` [teams] is scratch.
    """
    expected, num_used = 0.0, 0
    for j in range(len(choice)):
        team = choice[j]
        if sent[team] < 0.0:
            sent[team] = 0.0
            used[num_used] = team
            num_used += 1
        sent[team] += rate[j]
        expected += rate[j] * cost[team, j]
    for u in range(num_used):
        team = used[u]
        if sent[team] > 0.0:
            rows.team[end], rows.rate[end] = team, sent[team]
            end += 1
        sent[team] = -1.0
    rows.end[row], rows.cost[row] = end, expected
    for m in range(len(measures)):
        total = 0.0
        for j in range(len(choice)):
            total += rate[j] * measures[m, choice[j], j]
        rows.measured[m, row] = total
    return end


@njit(nogil=True, cache=True)
def card_rows(
    start: int, stop: int, space: Any, lines: Ints, order: Ints, needed: Ints, rate: Floats, team_mask: Any,
    number_of_code: Ints, cost: Floats, measures: Floats, rows: Any,
) -> None:  # fmt: skip
    """Fill `rows` for the states start..stop-1 of the policy of run cards.

    These have `lines` [points, depth] of team numbers, -1 behind the last, and an `order` [points, stations]. `cost` is
    [teams, points], and `measures` are some more of such tables.
    """
    sent, used = np.full(len(cost), -1.0), np.empty(len(cost), np.int64)
    choice = np.empty(len(needed), np.int64)
    end = 0
    idle, weight, step = enter_state(start, space)
    for f in range(start, stop):
        busy = ~state_mask(space, idle, 0, np.uint64(0))
        for j in range(len(needed)):
            if lines.shape[1] == 0:  # in half the time
                choice[j] = first_idle_team(order, j, idle, needed[j], number_of_code)
            else:
                choice[j] = first_on_card(lines, order, j, idle, busy, needed[j], team_mask, number_of_code)
        end = _write_row(choice, rate, cost, measures, sent, used, f - start, end, rows)
        next_state(space, idle, weight, step)


@njit(nogil=True, cache=True)
def table_rows(table: Ints, rate: Floats, cost: Floats, measures: Floats, rows: Any) -> None:
    """Fill `rows` from a `table` [states, points] of team numbers."""
    sent, used = np.full(len(cost), -1.0), np.empty(len(cost), np.int64)
    end = 0
    for row in range(len(table)):
        end = _write_row(table[row], rate, cost, measures, sent, used, row, end, rows)


@njit(nogil=True, cache=True)
def team_use(start: int, probability: Floats, rows: Any, use: Floats) -> None:
    """Add to `use` [teams] the incidents per day that get each team, given the probability of each state."""
    for row in range(len(rows.end)):
        for e in range(rows.end[row - 1] if row > 0 else 0, rows.end[row]):
            use[rows.team[e]] += probability[start + row] * rows.rate[e]
