"""The values of every state after one exact event, from values that are a sum of small tables.

With V_j and h as in `lookahead`, and B busy trucks in f,

    (Λ + μ B) h'(f) = Σ_j λ_j V_j(f) + μ Σ_i (C_i - f_i) h(f+e_i),

up to a function of the number of idle trucks alone, which changes no decision: h'(f-a) - h'(f'-a') is the difference
of the prices of `lookahead` for any two states f - a and f' - a' with as many idle trucks.
"""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats
from runcard.mdp.kernels.lookahead import look_at_state


@njit(nogil=True, cache=True)
def values_ahead(start: int, stop: int, scratch: Any, teams: Any, tables: Any, out: Floats) -> None:
    """Set out[f] for the states start..stop-1, of which the last station counts ones."""
    num_stations, place = len(teams.trucks), scratch.place
    idle = np.zeros(num_stations, np.int64)
    for f in range(start, stop):
        rest = f
        for i in range(num_stations - 1, -1, -1):
            idle[i] = rest % (teams.trucks[i] + 1)
            rest //= teams.trucks[i] + 1
        look_at_state(0, 0, idle, scratch, teams, tables)
        here = 0.0
        for g in range(len(place)):
            here += tables.value[place[g]]
        total, leaving = teams.total_rate * here, teams.total_rate
        for m in range(len(teams.point)):
            total += teams.rate[m] * scratch.total[m]
        for i in range(num_stations):
            rate = teams.returns_per_day * (teams.trucks[i] - idle[i])
            if rate > 0.0:
                returned = here
                for n in range(tables.first_group[i], tables.first_group[i + 1]):
                    g = tables.group[n]
                    returned += tables.value[place[g] + tables.stride[g, i]] - tables.value[place[g]]
                total += rate * returned
                leaving += rate
        out[f] = total / leaving
