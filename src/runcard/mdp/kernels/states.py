"""Walking through the states inside a kernel, without a division for each state."""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints


@njit(nogil=True, cache=True)
def enter_state(state: int, space: Any) -> tuple[Ints, Floats, Ints]:
    """The idle trucks of each station at `state`, and the `weight` and the `step` of a return to it.

    `weight[i]` is μ (C_i - f_i); `step[i]` is stride_i, or 0 if no truck of the station is busy, so that
    `value[state + step[i]]` may always be read.
    """
    idle, weight, step = np.empty_like(space.trucks), np.empty(len(space.trucks)), np.empty_like(space.trucks)
    rest = state
    for i in range(len(idle)):
        idle[i] = rest // space.stride[i]
        rest -= idle[i] * space.stride[i]
        busy = space.trucks[i] - idle[i]
        weight[i] = busy * space.returns_per_day
        step[i] = space.stride[i] if busy > 0 else 0
    return idle, weight, step


@njit(nogil=True, cache=True)
def next_state(space: Any, idle: Ints, weight: Floats, step: Ints) -> int:
    """Move to the next state up; after the last one comes the first. Returns the first station that changed."""
    i = len(idle) - 1
    while i >= 0 and idle[i] == space.trucks[i]:
        idle[i] = 0
        weight[i] = space.trucks[i] * space.returns_per_day
        step[i] = space.stride[i]
        i -= 1
    if i >= 0:
        idle[i] += 1
        busy = space.trucks[i] - idle[i]
        weight[i] = busy * space.returns_per_day
        step[i] = space.stride[i] if busy > 0 else 0
    return max(i, 0)


@njit(nogil=True, cache=True)
def previous_state(space: Any, idle: Ints, weight: Floats, step: Ints) -> None:
    """Move to the next state down; after the first one comes the last."""
    i = len(idle) - 1
    while i >= 0 and idle[i] == 0:
        idle[i] = space.trucks[i]
        weight[i] = 0.0
        step[i] = 0
        i -= 1
    if i >= 0:
        idle[i] -= 1
        weight[i] = (space.trucks[i] - idle[i]) * space.returns_per_day
        step[i] = space.stride[i]


@njit(nogil=True, cache=True)
def state_mask(space: Any, idle: Ints, first_station: int, mask: np.uint64) -> np.uint64:
    """The mask of a state, given one that is right for the stations before `first_station`."""
    mask &= (np.uint64(1) << np.uint64(space.first_bit[first_station])) - np.uint64(1)
    for i in range(first_station, len(idle)):
        bits = np.uint64(min(idle[i], space.bits[i]))
        mask |= ((np.uint64(1) << bits) - np.uint64(1)) << np.uint64(space.first_bit[i])
    return mask


@njit(nogil=True, cache=True)
def team_of_all(mask: np.uint64, space: Any, number_of_code: Ints) -> int:
    """The number of the team of every idle truck, in a state with no more of them than a team can have."""
    code = 0
    for i in range(len(space.trucks)):
        for bit in range(space.first_bit[i], space.first_bit[i] + space.bits[i]):
            if mask >> np.uint64(bit) & np.uint64(1):
                code = code * (len(space.trucks) + 1) + i + 1
    return int(number_of_code[code])
