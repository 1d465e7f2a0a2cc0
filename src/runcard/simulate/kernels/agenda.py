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
def _settle(state: Any, place: int) -> None:
    """Move the slot at a place up or down to where it belongs."""
    slot, size = state.heap[place], state.clock[0].num_noted
    while place > 0 and state.slots[state.heap[(place - 1) // 2]].time > state.slots[slot].time:
        _place(state, place, state.heap[(place - 1) // 2])
        place = (place - 1) // 2
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
        state.heap[place] = slot
    _settle(state, place)


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
        state.heap[place] = last
        _settle(state, place)


@bare_kernel
def next_time(state: Any) -> float:
    """The time of the next slot; inf if there is none."""
    return float(state.slots[state.heap[0]].time) if state.clock[0].num_noted > 0 else np.inf
