"""What each team adds to a price and to its bound, in every state x of a table G: rows for `lookahead`.

With p_G(x, a) = H_G(x-a) - H_G(x) for a team a of stations of G, rows have the increments of p_G, and those of

    q_G(x, a) = μ Σ_{i in G} (C_i - x_i) (p_G(x+e_i, a) - p_G(x, a)) - Λ d_G(x, a),
    d_G(x, a) = p_G(x, a) - min over up to k further trucks b of G of p_G(x-b, a),

which is how much less a team may cost once others have left: a bound (see `lookahead_best`). The minimum comes
truck by truck: over up to r trucks, it is the least of those over up to r-1 from x and from each x-e_i. (Increments:
see `lookahead`.)
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
    stride, offset = tables.stride[g][stations], tables.local_offset[local : local + num_local]
    idle, can_go = np.empty((len(stations), num_states), np.int64), np.empty(num_states, np.bool_)
    for a in range(len(stations)):
        idle[a] = np.arange(num_states) // stride[a] % (trucks[stations[a]] + 1)
    price, least = np.full((num_states, num_local), np.inf), np.empty((num_states, num_local))
    for n in range(num_local):
        can_go[:] = True
        for a in range(len(stations)):
            taken = offset[n] // stride[a] % (trucks[stations[a]] + 1)
            if taken > 0:
                can_go &= idle[a] >= taken
        for x in range(num_states):
            if can_go[x]:
                price[x, n] = tables.value[first + x - offset[n]] - tables.value[first + x]
    least[:] = price
    for _ in range(most_needed):
        # From the last state down: states with a truck less still have the minimum over one truck fewer.
        for x in range(num_states - 1, -1, -1):
            for a in range(len(stations)):
                if idle[a, x] > 0:
                    here, left = least[x], least[x - stride[a]]  # inf where the team is not idle any more
                    for n in range(num_local):  # not min(), whose care for nan costs the vector instructions
                        here[n] = left[n] if left[n] < here[n] else here[n]
    changes = np.empty(num_local)
    for x in range(num_states):
        changes[:] = 0.0
        for a in range(len(stations)):
            busy = trucks[stations[a]] - idle[a, x]
            if busy > 0:
                here, back = price[x], price[x + stride[a]]
                for n in range(num_local):
                    changes[n] += busy * (back[n] - here[n])
        for n in range(num_local):
            if price[x, n] == np.inf:
                increment[x, n] = slack[x, n] = 0.0
                continue
            own, more = price[x, n], mu * changes[n] - rate * (price[x, n] - least[x, n])
            for r in range(tables.local_parts.shape[1]):
                part = tables.local_parts[local + n, r]
                if part < 0:
                    break
                own -= increment[x, part]
                more -= slack[x, part]
            increment[x, n], slack[x, n] = own, more
