"""The number of a team inside a kernel, found from its stations (see `response.teams.Teams`).

`number_of_code` and `base` are those of the catalogue. Stations of -1 stand for trucks that the team does not have.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.kernels.bare import bare_kernel

Ints: TypeAlias = NDArray[np.int64]


@bare_kernel
def add_station(stations: Ints, size: int, station: Any) -> None:
    """Put a station among the first `size` stations, which stand in rising order."""
    place = size
    while place > 0 and stations[place - 1] > station:
        stations[place] = stations[place - 1]
        place -= 1
    stations[place] = station


@bare_kernel
def team_of(number_of_code: Ints, base: int, stations: Ints, size: int) -> int:
    """The number of the team with trucks of the first `size` stations, which stand in rising order."""
    code = 0
    for place in range(size):
        code = code * base + stations[place] + 1
    return int(number_of_code[np.uint64(code)])


@bare_kernel
def first_in_order(order: Ints, idle: Ints, needed: int, number_of_code: Ints, stations: Ints) -> int:
    """The number of the team of the first `needed` idle trucks in an order [I]; `stations` is scratch."""
    size = 0
    for position in range(len(order)):
        i = order[position]
        for _ in range(min(needed - size, idle[i])):
            add_station(stations, size, i)
            size += 1
        if size == needed:
            break
    return team_of(number_of_code, len(order) + 1, stations, size)


@bare_kernel
def next_set(positions: Ints, size: int, top: int) -> bool:
    """Move to the next set of `size` positions below `top`, in colexicographic order; False after the last set.

    The positions of a set rise. The first set is 0, 1, ..., size - 1.
    """
    for n in range(size):
        if positions[n] + 1 < (positions[n + 1] if n + 1 < size else top):
            positions[n] += 1
            for m in range(n):
                positions[m] = m
            return True
    return False
