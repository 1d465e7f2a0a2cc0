"""The agenda: whatever is noted and struck, slots come in the order of their times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.simulate.kernels.agenda import next_time, note, strike
from runcard.simulate.model import build_model
from runcard.simulate.scenario import read_scenario
from runcard.simulate.state import State, new_state

from ..cases import small_city

NUM_STATIONS = 5
NUM_SLOTS = 3 * NUM_STATIONS

Change = tuple[int, float | None]
"""A slot, and when it shall happen; None: not at all."""


@pytest.fixture(scope="module")
def empty() -> State:
    """A state in which nothing is noted."""
    city = small_city(num_stations=NUM_STATIONS)
    return new_state(build_model(city, read_scenario("paper")))


def emptied(state: State) -> State:
    """The state with nothing noted."""
    state.slots["place"] = -1
    state.clock["num_noted"] = 0
    return state


times = st.floats(-1e6, 1e6).map(lambda time: round(time, 1))
changes = st.lists(st.tuples(st.integers(0, NUM_SLOTS - 1), times | st.none()), max_size=60)


@given(changes)
def test_slots_happen_in_order(empty: State, changes: list[Change]) -> None:
    """After any notes, also of slots already noted, and strikes, also of empty ones, the earliest slot comes first."""
    state, expected = emptied(empty), {}
    for slot, time in changes:
        if time is None:
            strike(state, slot)
            expected.pop(slot, None)
        else:
            note(state, slot, time)
            expected[slot] = time
        assert next_time(state) == min(expected.values(), default=np.inf)
    happened = []
    while next_time(state) < np.inf:
        slot = int(state.heap[0])
        happened.append(next_time(state))
        assert happened[-1] == expected.pop(slot)
        strike(state, slot)
    assert happened == sorted(happened)
    assert not expected
    assert (state.slots["place"] == -1).all()
