"""Teams inside a kernel: by their codes (see `response.teams.Teams`), and as sets of positions in an order."""

from typing import Any

import numpy as np

from runcard.mdp.arrays import Ints
from runcard.mdp.kernels.bare import bare_kernel


@bare_kernel
def first_idle_team(order: Ints, j: int, idle: Ints, needed: int, number_of_code: Ints) -> int:
    """The number of the team of the first `needed` idle trucks in the order of j, or of all idle ones if fewer."""
    code, size, base = 0, 0, order.shape[1] + 1
    for position in range(order.shape[1]):
        i = order[j, position]
        for _ in range(min(needed - size, idle[i])):
            code = code * base + i + 1
            size += 1
        if size == needed:
            break
    return int(number_of_code[np.uint64(code)])


@bare_kernel
def first_on_card(
    lines: Ints, order: Ints, j: int, idle: Ints, busy: np.uint64, needed: int, team_mask: Any, number_of_code: Ints
) -> int:
    """The number of the first team of lines[j] that is idle, -1 behind the last; where none is, by the order of j.

    `busy` is the mask of all that is not idle (see `kernels.states`).
    """
    for place in range(lines.shape[1]):
        team = lines[j, place]
        if team < 0:
            break
        if team_mask[team] & busy == 0:
            return int(team)
    return first_idle_team(order, j, idle, needed, number_of_code)


@bare_kernel
def first_set(positions: Ints, size: int, top: int) -> bool:
    """Set `positions` to the first set of `size` positions below `top`, 0, 1, ..., size - 1; False if there is none."""
    for n in range(size):
        positions[n] = n
    return size <= top


@bare_kernel
def next_set(positions: Ints, size: int, top: int) -> bool:
    """Move to the next set of `size` positions below `top`, in colexicographic order; False after the last set.

    The positions of a set rise.
    """
    for n in range(size):
        if positions[n] + 1 < (positions[n + 1] if n + 1 < size else top):
            positions[n] += 1
            for m in range(n):
                positions[m] = m
            return True
    return False
