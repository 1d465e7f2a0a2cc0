"""Nothing is lost: every truck sent comes back, and none is sent that is not idle, in every scenario."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.city import City
from runcard.simulate.engine import batch_key
from runcard.simulate.kernels.day import advance, begin, finish, send
from runcard.simulate.model import Model, build_model
from runcard.simulate.scenario import Scenario, read_scenario
from runcard.simulate.state import State, new_state

from ..cases import PLAIN_NAMES, scenario_of, small_city
from ..reference_simpy import closest_first

COMBINED = (
    "turn-back+there-and-back+evening+breakdowns+turnout",
    "redirect+turn-back",
    "redirect+turn-back+evening+breakdowns+turnout",
)
SHIFTS = """
dispatch = {turn_back = 0.5, redirect = true}
busy.kind = "parts"
out_of_service = {breakdowns_per_year = 400, repair_hours = 3}
[[shift]]
station = "s1"
off_hours = [20, 6]
[[shift]]
station = "s0"
trucks = 2
off_hours = [0, 24]
days = ["mon", "wed", "thu"]
"""
"""Everything that takes trucks out, far more often than in life."""
NUM_INCIDENTS = 500


class Step(NamedTuple):
    """The department when an incident waits, when a team has left, and the trucks before that."""

    waiting: State
    left: State
    team: list[int]


def copied(state: State) -> State:
    """A state that does not change."""
    return State(*(array.copy() for array in state))


def department(city: City, scenario: Scenario) -> tuple[Model, State]:
    """A department at Monday 0:00."""
    model = build_model(city, scenario)
    state = new_state(model)
    begin(model, state, batch_key(3, 0), 0.0)
    return model, state


def steps(city: City, model: Model, state: State) -> Iterator[Step]:
    """Some incidents, to which the closest trucks go."""
    decide = closest_first(city)
    for _ in range(NUM_INCIDENTS):
        assert advance(model, state, np.inf)
        waiting = copied(state)
        team = decide(state.idle.tolist(), int(state.clock[0]["point"]))
        stations = np.full(model.most_needed, -1)
        stations[: len(team)] = team
        send(model, state, stations)
        yield Step(waiting, copied(state), list(team))


def check_state(model: Model, state: State) -> None:
    """Assert that a state agrees with itself."""
    trucks, clock = state.trucks, state.clock[0]
    num_trucks = len(trucks)
    capacity = model.stations["last_truck"] - model.stations["first_truck"]
    assert ((state.idle >= 0) & (state.idle <= capacity)).all()
    ready = trucks["ready"]
    assert np.array_equal(np.bincount(model.station_of[ready], minlength=len(capacity)), state.idle)
    assert clock["num_idle"] == state.idle.sum()
    assert clock["code"] == state.idle @ model.stations["stride"]
    assert (trucks["out"] >= 0).all()
    assert not (trucks["released"] & ~trucks["away"]).any()
    assert np.array_equal(ready, (trucks["out"] == 0) & (~trucks["away"] | trucks["released"]))
    noted = state.slots["place"] >= 0
    assert np.array_equal(noted[:num_trucks], trucks["away"])
    assert not (noted[num_trucks : 2 * num_trucks] & (trucks["released"] | ~trucks["away"])).any()
    assert (state.slots["time"][noted] >= clock["now"]).all()
    assert clock["num_noted"] == noted.sum()
    assert np.array_equal(np.sort(state.heap[: noted.sum()]), np.flatnonzero(noted))


def check_step(model: Model, step: Step) -> NDArray[np.bool_]:
    """Assert that a team was sent as it should be; returns which trucks went."""
    before, after = step.waiting.trucks, step.left.trucks
    went = before["ready"] & ~after["ready"]
    assert not (after["ready"] & ~before["ready"]).any()
    assert sorted(model.station_of[went].tolist()) == sorted(step.team)
    assert np.array_equal(after["dispatches"] - before["dispatches"], went)
    assert after["away"][went].all()
    assert not after["released"][went].any()
    assert np.array_equal(before[~went], after[~went])
    clock = step.left.clock[0]
    assert clock["outside"] == model.points[clock["point"]]["needed"] - len(step.team)
    assert 0.0 <= clock["first"] <= clock["counts"]
    assert clock["first"] <= clock["last"]
    return went


@pytest.mark.parametrize("name", [*PLAIN_NAMES, *COMBINED, "shifts"])
def test_every_truck_sent_comes_back(name: str, tmp_path: Path) -> None:
    """Trucks that were sent were idle, go once at a time and come back; no station ever has more than its trucks."""
    city = small_city(load=0.5, num_stations=3, trucks_per_station=2)
    model, state = department(city, scenario_of(tmp_path, SHIFTS) if name == "shifts" else read_scenario(name))
    away = np.zeros(len(state.trucks), np.bool_)
    num_returned = num_redirected = 0
    for step in steps(city, model, state):
        check_state(model, step.waiting)
        num_returned += int((away & ~step.waiting.trucks["away"]).sum())
        assert not (step.waiting.trucks["away"] & ~away).any()
        went = check_step(model, step)
        check_state(model, step.left)
        num_redirected += int((went & step.waiting.trucks["away"]).sum())
        away = step.left.trucks["away"]
    assert state.trucks["dispatches"].sum() == num_returned + num_redirected + away.sum() > NUM_INCIDENTS
    assert (num_redirected > 0) == model.redirect
    # No incident comes any more.
    state.clock["next_time"], state.clock["next_point"] = np.inf, -1
    now = float(state.clock["now"][0])
    assert not advance(model, state, now + 100_000.0)
    check_state(model, state)
    assert not state.trucks["away"].any()
    assert np.array_equal(state.trucks["ready"], state.trucks["out"] == 0)


@pytest.mark.parametrize("name", [*PLAIN_NAMES, *COMBINED])
def test_every_minute_is_counted_once(name: str) -> None:
    """The minutes with each number of idle trucks add up to the time; so do idle and busy trucks, if no others are.

    Only the time counts that is measured, also of trucks that were sent before it.
    """
    city = small_city(load=0.5, num_stations=3, trucks_per_station=2)
    model, state = department(city, read_scenario(name))
    state.clock["measured_from"] = 200.0
    sent = np.zeros(len(state.trucks), np.int64)
    for step in steps(city, model, state):
        if step.left.clock["now"][0] >= 200.0:
            sent += check_step(model, step)
    assert sent.sum() > 0
    assert np.array_equal(state.trucks["dispatches"], sent)
    finish(state)
    measured = float(state.clock["now"][0]) - 200.0
    assert state.idle_minutes.sum() == pytest.approx(measured, rel=1e-12)
    idle = float(state.idle_minutes @ np.arange(len(state.idle_minutes)))
    total = len(state.trucks) * measured
    in_service = model.breakdowns_per_year == 0.0 and len(model.shifts) == 0
    if in_service and not model.redirect:
        assert idle + state.trucks["busy_minutes"].sum() == pytest.approx(total, rel=1e-12)
    elif in_service:  # a truck on its way home is busy and may be sent
        assert idle + state.trucks["busy_minutes"].sum() > total
    assert (state.trucks["busy_minutes"] <= measured * (1.0 + 1e-12)).all()
