"""How often each team goes to each demand point: the choice of a policy in given states, weighed by their probability.

`share[j, a]` grows by p(f) for the team a that the policy sends to j in state f.
"""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.states import enter_state, state_mask
from runcard.mdp.kernels.team_codes import first_on_card


@njit(nogil=True, cache=True)
def card_shares(
    states: Ints, probability: Floats, space: Any, lines: Ints, order: Ints, needed: Ints, team_mask: Any,
    number_of_code: Ints, share: Floats,
) -> None:  # fmt: skip
    """Add the shares of run cards with `lines` [points, depth] and `order` [points, stations]."""
    for f in states:
        idle, _, _ = enter_state(f, space)
        busy = ~state_mask(space, idle, 0, np.uint64(0))
        for j in range(len(needed)):
            team = first_on_card(lines, order, j, idle, busy, needed[j], team_mask, number_of_code)
            share[j, team] += probability[f]


@njit(nogil=True, cache=True)
def table_shares(states: Ints, probability: Floats, table: Ints, share: Floats) -> None:
    """Add the shares of the policy with the teams `table` [states, points]."""
    for f in states:
        for j in range(len(share)):
            share[j, table[f, j]] += probability[f]


@njit(nogil=True, cache=True)
def value_shares(
    states: Ints,
    probability: Floats,
    space: Any,
    value: Floats,
    counts: Any,
    first_of_size: Ints,
    offset: Ints,
    needed: int,
    points: Ints,
    cost: Floats,
    share: Floats,
) -> None:
    """Add the shares of the policy with the smallest cost + value, for `points` that all need as many trucks.

    `cost` is [teams, those points], and of equal teams the one listed first goes.
    """
    best, choice = np.empty(len(points)), np.empty(len(points), np.int64)
    for f in states:
        idle, _, _ = enter_state(f, space)
        size = min(needed, idle.sum())
        best[:] = np.inf
        for team in range(first_of_size[size], first_of_size[size + 1]):
            fits = True
            for i in range(len(idle)):
                fits &= counts[team, i] <= idle[i]
            if fits:
                after = value[f - offset[team]]
                for j in range(len(points)):
                    total = cost[team, j] + after
                    if total < best[j]:
                        best[j], choice[j] = total, team
        for j in range(len(points)):
            share[points[j], choice[j]] += probability[f]
