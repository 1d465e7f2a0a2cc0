"""The machine's measured limit: how many sums it can add and compare per second, at best.

One improvement step by brute force adds a cost and a price and takes a minimum for every state, every idle team and
every demand point. The limit is measured with the register-blocked loop of the solver on data that fits in the
first-level cache, in single precision (the yardstick: what a plain program would use) and in the solver's own keys.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from math import comb
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.kernels.groups import GROUPS, STATES
from runcard.mdp.kernels.packed_minimum import packed_minimum, tile_points

NUM_TEAMS = 40
REPEATS = 40_000


@njit(nogil=True)
def _repeat(repeats: int, out: Any, cost: Any, team: Any, price: Any, ends: Any) -> None:
    for _ in range(repeats):
        packed_minimum(out, cost, team, price, ends)


def _arrays(dtype: type) -> tuple[NDArray[np.generic], ...]:
    tile = tile_points(8 * np.dtype(dtype).itemsize)
    team = np.arange(NUM_TEAMS, dtype=np.int32)
    ends = np.full(len(GROUPS), NUM_TEAMS)
    cost, price = np.ones((NUM_TEAMS, tile), dtype), np.ones((NUM_TEAMS, STATES), dtype)
    return np.zeros((STATES, tile), dtype), cost, team, price, ends


def sums_per_second(dtype: type, threads: int, tries: int = 7, repeats: int = REPEATS) -> float:
    """The most sums that were added and compared per second in any of some tries."""
    work = [_arrays(dtype) for _ in range(threads)]
    _repeat(1, *work[0])
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(tries):
            began = time.perf_counter()
            list(pool.map(lambda arrays: _repeat(repeats, *arrays), work))
            best = max(best, threads * repeats * work[0][0].size * NUM_TEAMS / (time.perf_counter() - began))
    assert all((out == 2).all() for out, *_ in work)
    return best


def brute_force_sums(num_trucks: int, num_points: int) -> float:
    """The sums of one improvement step with two trucks per incident and one per station."""
    return sum(comb(num_trucks, n) * comb(n, 2) for n in range(num_trucks + 1)) * float(num_points)
