"""Late incidents of many states: of a range of them, and of one state without each of its teams."""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.independent import LEAST_BUSY, cost_of_set
from runcard.mdp.queueing.fixed_point import late_at_fixed_point


@njit(nogil=True, cache=True)
def late_of_states(first: int, trucks: Ints, queues: Any, scratch: Any, late: Floats) -> None:
    """Fill `late` with the late incidents per day of the states first, first + 1, ...; NaN without a fixed point."""
    idle = np.zeros(len(queues.first_demand), np.int64)
    for row in range(len(late)):
        rest, end = first + row, len(idle)
        for i in range(len(trucks) - 1, -1, -1):
            start, num_idle = end - trucks[i], rest % (trucks[i] + 1)
            idle[start : start + num_idle] = 1
            idle[start + num_idle : end] = 0
            rest, end = rest // (trucks[i] + 1), start
        late[row] = late_at_fixed_point(idle, queues.first_demand, queues, scratch)[0]


@njit(nogil=True, cache=True)
def late_without_teams(
    ranked: Ints, taken: Ints, cost: Floats, least: Floats, num_best: int, idle: Ints, start: Floats, queues: Any,
    scratch: Any, late: Floats,
) -> None:  # fmt: skip
    """Fill late[t] with the late incidents per day without the trucks taken[t], of which -1 is none; NaN ends the work.

    Teams are looked at in the order `ranked`. Those whose least[t], a lower bound on their total cost[t] + T late[t],
    exceeds the `num_best` smallest totals so far are passed over: their late[t] stays as it is. `idle` [N] is the state
    with all teams there, and searches start from rates `start` [N].
    """
    best = np.full(num_best, np.inf)
    for t in ranked:
        if least[t] > best[-1]:
            continue
        for n in taken[t]:
            if n >= 0:
                idle[n] = 0
        late[t] = late_at_fixed_point(idle, start, queues, scratch)[0]
        for n in taken[t]:
            if n >= 0:
                idle[n] = 1
        if np.isnan(late[t]):
            return
        best[-1] = min(best[-1], cost[t] + queues.horizon_days * late[t])
        best.sort()


@njit(nogil=True, cache=True)
def find_savings(walks: Any, busy: Floats, least_cost: Floats, saving: Floats) -> None:
    """Fill saving[n] with S_n of every truck (see the package); least_cost[j] is that of the cheapest team at j.

    `busy` and `saving` are by truck, those from outside included.
    """
    truck, num_places = walks.truck, walks.truck.shape[1]
    # The trucks of the team stand at `places` of the order; chance[m] is that of coming to places[m] with those before.
    places, chance = np.empty(np.max(walks.needed), np.int64), np.empty(np.max(walks.needed))
    saving[:] = 0.0
    for j in range(len(walks.needed)):
        last = walks.needed[j] - 1
        m, places[0], chance[0] = 0, 0, 1.0
        while m >= 0:
            if places[m] == num_places or chance[m] <= walks.stop:
                m -= 1
            elif m < last:
                places[m + 1], chance[m + 1] = places[m] + 1, chance[m] * (1.0 - busy[truck[j, places[m]]])
                m += 1
                continue
            else:
                goes = walks.rate[j] * chance[m] * (1.0 - busy[truck[j, places[m]]])
                saved = goes * (cost_of_set(walks, j, places, last, places[last]) - least_cost[j])
                for place in places[: last + 1]:
                    saving[truck[j, place]] += saved / max(1.0 - busy[truck[j, place]], LEAST_BUSY)
            if m >= 0:  # the truck at places[m] is busy: on to the next
                chance[m] *= busy[truck[j, places[m]]]
                places[m] += 1
