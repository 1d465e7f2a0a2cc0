"""What each team adds to a price and to its bound, in every state x of a table G: rows for `lookahead_bulk`.

With p_G(x, a) = H_G(x-a) - H_G(x) for a team a of stations of G, rows have the increments of p_G, and those of

    q_G(x, a) = μ Σ_{i in G} (C_i - x_i) (p_G(x+e_i, a) - p_G(x, a)) - Λ d_G(x, a),
    d_G(x, a) = p_G(x, a) - min over up to k further trucks b of G of p_G(x-b, a),

which is how much less a team may cost once others have left. The minimum comes truck by truck: over up to r trucks, it
is the least of those over up to r-1 from x and from each x-e_i. (Increments: see `lookahead`.)
"""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints


@njit(nogil=True, cache=True)
def fill_rows(
    g: int, trucks: Ints, most_needed: int, rate: float, mu: float, tables: Any, increment: Floats, slack: Floats
) -> None:
    """Set increment[x, n] and slack[x, n] to the increments of p_G and q_G of every state x and team n of table g.

    Where the team is not idle they are 0.
    """
    first, num_states = tables.first_value[g], len(increment)
    local, num_local = tables.first_local[g], increment.shape[1]
    stations = np.flatnonzero(tables.stride[g] > 0)
    stride = tables.stride[g][stations]
    members = np.empty((num_local, len(stations)), np.int64)
    for n in range(num_local):
        for a in range(len(stations)):
            members[n, a] = tables.local_offset[local + n] // stride[a] % (trucks[stations[a]] + 1)
    idle = np.empty((num_states, len(stations)), np.int64)
    price, least = np.full((num_states, num_local), np.inf), np.full((num_states, num_local), np.inf)
    for x in range(num_states):
        for a in range(len(stations)):
            idle[x, a] = x // stride[a] % (trucks[stations[a]] + 1)
        for n in range(num_local):
            if (members[n] <= idle[x]).all():
                rest = first + x - tables.local_offset[local + n]
                price[x, n] = least[x, n] = tables.value[rest] - tables.value[first + x]
    for _ in range(most_needed):
        # From the last state down: states with a truck less still have the minimum over one truck fewer.
        for x in range(num_states - 1, -1, -1):
            for a in range(len(stations)):
                if idle[x, a] > 0:
                    for n in range(num_local):
                        # inf where the team is not idle any more
                        least[x, n] = min(least[x, n], least[x - stride[a], n])
    for x in range(num_states):
        for n in range(num_local):
            if price[x, n] == np.inf:
                increment[x, n] = slack[x, n] = 0.0
                continue
            own, changes = price[x, n], 0.0
            for a in range(len(stations)):
                busy = trucks[stations[a]] - idle[x, a]
                if busy > 0:
                    changes += busy * (price[x + stride[a], n] - price[x, n])
            rest = mu * changes - rate * (price[x, n] - least[x, n])
            for r in range(tables.local_parts.shape[1]):
                part = tables.local_parts[local + n, r]
                if part < 0:
                    break
                own -= increment[x, part]
                rest -= slack[x, part]
            increment[x, n], slack[x, n] = own, rest
