"""Walking through the states inside a kernel, without a division for each state."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def enter_state(state, space, idle, weight, step):
    """Set the idle trucks of each station at `state`, with the rate and the distance of a return to it.

    `weight[i]` is μ (C_i - f_i); `step[i]` is stride_i, or 0 if no truck of the station is busy, so that
    `value[state + step[i]]` may always be read.
    """
    rest = state
    for i in range(len(idle)):
        idle[i] = rest // space.stride[i]
        rest -= idle[i] * space.stride[i]
        busy = space.trucks[i] - idle[i]
        weight[i] = busy * space.returns_per_day
        step[i] = space.stride[i] if busy > 0 else 0


@njit(nogil=True, cache=True)
def next_state(space, idle, weight, step):
    """Move to the next state up; after the last one comes the first."""
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


@njit(nogil=True, cache=True)
def previous_state(space, idle, weight, step):
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
def state_mask(space, idle):
    """The mask of a state: min(f_i, k) low bits of each station's slots."""
    mask = np.uint64(0)
    for i in range(len(idle)):
        bits = np.uint64(min(idle[i], space.slots[i]))
        mask |= ((np.uint64(1) << bits) - np.uint64(1)) << np.uint64(space.first_slot[i])
    return mask


@njit(nogil=True, cache=True)
def team_of_all(mask, size, teams):
    """The one team of `size` trucks whose mask is that of the state: every idle truck."""
    for team in range(len(teams.mask)):
        if teams.size[team] == size and teams.mask[team] == mask:
            return team
    return -1
