"""The agenda: a binary heap of slots, each with at most one time.

A slot is the number of one kind of event of one truck. So a truck that is called back replaces its own return, and no
event is left behind.
"""

from typing import Any

import numpy as np

from runcard.mdp.kernels.bare import bare_kernel


@bare_kernel
def _place(state: Any, place: int, slot: int) -> None:
    state.heap[place] = slot
    state.slots[slot].place = place


@bare_kernel
def _rise(state: Any, place: int) -> int:
    """Move the slot at a place up to where it belongs; returns where."""
    slot = state.heap[place]
    while place > 0:
        above = (place - 1) // 2
        if state.slots[state.heap[above]].time <= state.slots[slot].time:
            break
        _place(state, place, state.heap[above])
        place = above
    _place(state, place, slot)
    return place


@bare_kernel
def _sink(state: Any, place: int) -> None:
    """Move the slot at a place down to where it belongs."""
    slot, size = state.heap[place], state.clock[0].num_noted
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and state.slots[state.heap[below + 1]].time < state.slots[state.heap[below]].time:
            below += 1
        if state.slots[slot].time <= state.slots[state.heap[below]].time:
            break
        _place(state, place, state.heap[below])
        place = below
    _place(state, place, slot)


@bare_kernel
def note(state: Any, slot: int, time: float) -> None:
    """Set the time at which a slot happens."""
    state.slots[slot].time = time
    place = state.slots[slot].place
    if place < 0:
        place = state.clock[0].num_noted
        state.clock[0].num_noted += 1
        _place(state, place, slot)
    _sink(state, _rise(state, place))


@bare_kernel
def strike(state: Any, slot: int) -> None:
    """Take a slot off the agenda."""
    place = state.slots[slot].place
    if place < 0:
        return
    state.slots[slot].place = -1
    state.clock[0].num_noted -= 1
    last = state.heap[state.clock[0].num_noted]
    if last != slot:
        _place(state, place, last)
        _sink(state, _rise(state, place))


@bare_kernel
def next_time(state: Any) -> float:
    """The time of the next slot; inf if there is none."""
    return float(state.slots[state.heap[0]].time) if state.clock[0].num_noted > 0 else np.inf
