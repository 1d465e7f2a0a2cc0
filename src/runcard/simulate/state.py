"""What changes during a simulation, and what is counted, as arrays of records for the kernels."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import MAX_TRUCKS_PER_INCIDENT
from runcard.simulate.kernels.run import NUM_BINS
from runcard.simulate.model import Model

CLOCK = np.dtype(
    [
        ("key", np.uint64),
        ("now", np.float64),
        ("measured_from", np.float64),
        ("changed_at", np.float64),  # when the number of idle trucks changed last
        ("number", np.int64),  # of the next incident that is drawn
        ("code", np.int64),  # the number of the state of idle trucks, where states have one
        ("num_idle", np.int64),
        ("point", np.int64),  # of the incident that waits for a team
        ("incident_key", np.uint64),
        ("next_time", np.float64),
        ("next_point", np.int64),
        ("next_key", np.uint64),
        ("num_noted", np.int64),  # slots of the agenda that happen
        # What became of the last incident, in minutes from the call on; `counts` is the truck that decides.
        ("first", np.float64),
        ("last", np.float64),
        ("counts", np.float64),
        ("late", np.bool_),  # some standard was missed
        ("missed", np.float64),  # the weight of those that were
        ("outside", np.int64),
        ("turned", np.int64),
    ]
)
"""The moment, as one record."""

TRUCK = np.dtype(
    [
        ("away", np.bool_),  # from being sent until it is home
        ("released", np.bool_),  # on its way home, and may be redirected
        ("ready", np.bool_),  # idle
        ("out", np.int64),  # reasons to be out of service
        ("outages", np.int64),  # beginnings and ends so far
        ("left_at", np.float64),
        ("free_at", np.float64),  # when it began to drive home
        ("free_node", np.int64),  # and where
        ("home_key", np.uint64),
        ("busy_minutes", np.float64),
        ("dispatches", np.int64),
    ]
)

SENT = np.dtype(
    [
        ("truck", np.int64),  # -1: from outside
        ("start_at", np.float64),
        ("start_node", np.int64),
        ("by_tree", np.bool_),  # not from its station
        ("there_at", np.float64),
        ("order", np.int64),  # which one comes in this place
    ]
)
"""A truck of the team that goes to an incident, in the order in which the team names it."""

SLOT = np.dtype([("time", np.float64), ("place", np.int64)])

SUMS = np.dtype(
    [
        ("before", np.int64),  # incidents that are not counted
        ("of_city", np.int64),  # incidents, whether or not they need the kind
        ("incidents", np.int64),
        ("late", np.int64),
        ("outside", np.int64),
        ("turned", np.int64),
        ("first_sum", np.float64),
        ("last_sum", np.float64),
        ("minutes", np.float64),
    ]
)

RECORD = np.dtype(
    [
        ("incident", np.int64),  # its number in the batch, the same for every kind
        ("kind", np.int64),  # the number of the kind
        ("minutes", np.float64),  # since what is measured began
        ("point", np.int64),
        ("idle", np.int64),  # once the team has left
        ("stations", np.int64, (MAX_TRUCKS_PER_INCIDENT,)),  # -1: none
        ("first", np.float64),
        ("last", np.float64),
        ("late", np.bool_),  # some standard was missed
        ("missed", np.float64),  # the weight of those that were
        ("outside", np.int64),
        ("turned", np.int64),
    ]
)
"""An incident that needs a kind; stations and demand points by their numbers in the city."""


NOBODY_ASKS: Final = np.zeros((0, 0), np.uint16)
"""No room for who is free."""


class State(NamedTuple):
    """The department at one moment."""

    clock: NDArray[np.void]
    trucks: NDArray[np.void]
    idle: NDArray[np.int64]
    """[I] the idle trucks of each station."""
    slots: NDArray[np.void]
    heap: NDArray[np.int64]
    sent: NDArray[np.void]
    missed: NDArray[np.bool_]
    """[standard of the demand point] whether the last incident missed it."""
    shift_off: NDArray[np.bool_]
    idle_minutes: NDArray[np.float64]
    """[N + 1] the minutes with each number of idle trucks."""


class Counts(NamedTuple):
    """What is counted."""

    sums: NDArray[np.void]
    bins: NDArray[np.int64]
    """[first or last truck, bin] their arrivals."""
    standards: NDArray[np.int64]
    """[standard of the kind, 2] the incidents that it applies to, and those that missed it."""
    free: NDArray[np.uint16]
    """[incident, I] the idle trucks of each station before the team left; no rows where nobody asks."""


def new_state(model: Model) -> State:
    """A department that has not begun: every truck is idle, and nothing is noted."""
    num_trucks = len(model.station_of)
    num_slots = 3 * num_trucks + len(model.shifts)
    state = State(
        np.zeros(1, CLOCK), np.zeros(num_trucks, TRUCK), np.bincount(model.station_of),
        np.zeros(num_slots, SLOT), np.zeros(num_slots, np.int64), np.zeros(model.most_needed, SENT),
        np.zeros(model.most_standards, np.bool_), np.zeros(len(model.shifts), np.bool_), np.zeros(num_trucks + 1),
    )  # fmt: skip
    state.slots["place"], state.trucks["ready"] = -1, True
    state.clock["num_idle"], state.clock["code"] = num_trucks, state.idle @ model.stations["stride"]
    return state


def no_counts(num_standards: int, free: NDArray[np.uint16] = NOBODY_ASKS) -> Counts:
    """Counts of nothing."""
    return Counts(np.zeros(1, SUMS), np.zeros((2, NUM_BINS), np.int64), np.zeros((num_standards, 2), np.int64), free)
