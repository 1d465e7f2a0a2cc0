"""The fixed point of a state: rates that give chances that give the same rates again."""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.independent import follow_order
from runcard.mdp.queueing.rates import exact_rates, printed_rates

TOLERANCE = 1e-10
"""The part of itself to which every rate must repeat."""

MAX_STEPS = 3000


@njit(nogil=True, cache=True)
def busy_chance(load: float, idle: bool, queues: Any) -> float:
    """The chance that a truck of this load is busy within the horizon, idle or busy at its start."""
    share = load / (1.0 + load)
    spread = 1.0 / (queues.horizon * (1.0 if queues.relaxing else 1.0 + load))
    part = 1.0 - share if idle == queues.printed_chances else share
    return float(min(1.0, max(0.0, share + (-spread if idle else spread) * part)))


@njit(nogil=True, cache=True)
def request_rates(queues: Any, busy: Floats, asked: Floats) -> None:
    """Set `asked` to the rates that the chances `busy` give."""
    if queues.printed_rates:
        printed_rates(queues.walks, busy, asked)
    else:
        exact_rates(queues.walks, busy, asked)


@njit(nogil=True, cache=True)
def _search(idle: Ints, weight: float, mixing: bool, queues: Any, demand: Floats, busy: Floats, asked: Floats) -> bool:
    """Take steps of this weight from `demand` until every rate repeats itself; whether it came to that.

    With `mixing`, each step is extrapolated from the last two moves (Anderson's mixing).
    """
    last_asked, last_move = np.zeros(len(demand)), np.zeros(len(demand))
    for step in range(MAX_STEPS):
        for n in range(len(demand)):
            busy[n] = busy_chance(demand[n] / queues.returns_per_day, idle[n] > 0, queues)
        request_rates(queues, busy, asked)
        settled, along, squares = True, 0.0, 0.0
        for n in range(len(demand)):
            move = asked[n] - demand[n]
            settled = settled and abs(move) <= TOLERANCE * asked[n] + queues.left_out
            along += move * (move - last_move[n])
            squares += (move - last_move[n]) ** 2
            last_move[n] = move
        if settled:
            return True
        back = along / squares if mixing and step > 0 and squares > 0.0 else 0.0
        for n in range(len(demand)):
            plain = demand[n] + weight * last_move[n]
            mixed = plain - back * (asked[n] - last_asked[n])
            # A rate far from both ends of a plain step is an artefact of nearly equal moves.
            near = 0.5 * min(demand[n], plain) <= mixed <= 2.0 * max(demand[n], plain)
            demand[n], last_asked[n] = mixed if near else plain, asked[n]
    return False


@njit(nogil=True, cache=True)
def late_at_fixed_point(idle: Ints, start: Floats, queues: Any, scratch: Any) -> tuple[float, Floats, Floats]:
    """The late incidents per day at the fixed point of a state, its D [N] and p [N + outside]; NaN if none was found.

    `idle` [N] is 1 for idle trucks, and the search starts from rates `start` [N]. If it does not end, halved steps from
    p = 0 follow.
    """
    walks, demand = queues.walks, start.copy()
    busy, asked = np.zeros(len(walks.station)), np.zeros(len(walks.station))
    if not _search(idle, 1.0, queues.unique, queues, demand, busy, asked):
        demand[:] = queues.first_demand
        if not _search(idle, 0.5, False, queues, demand, busy, asked):
            return np.nan, demand, busy
    return float(follow_order(walks.active, walks, busy, scratch, asked)), demand, busy
