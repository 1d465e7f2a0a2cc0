"""How a policy decides inside the simulation: as arrays where it can, else by asking it."""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.errors import InputError
from runcard.mdp.fingerprint import source_of
from runcard.mdp.problem import DispatchProblem
from runcard.policy.base import Policy
from runcard.simulate.kernels.run import BY_ORDER, BY_TABLE, BY_VALUE
from runcard.simulate.scenario import Scenario

MOST_REMEMBERED = 1 << 24
"""Decisions that are kept, in 32 MiB: looking one up is quicker than going through the teams again."""


class ArrayRule(NamedTuple):
    """How a policy decides; arrays of other kinds of policies are empty."""

    kind: int
    order: NDArray[np.int64]
    value: NDArray[np.float64]
    table: NDArray[np.int64]
    cost: NDArray[np.float64]
    """[J, T]"""
    members: NDArray[np.int32]
    """[T, k] the stations of each team."""
    offset: NDArray[np.int64]
    """[T] what each team takes from the number of a state."""
    first_of_size: NDArray[np.int64]
    """[k + 2] where the teams of each size begin."""
    known: NDArray[np.int16]
    """[states, J] the teams that values have given so far, -1 where they have not; empty where that is too much.

    With so few states there are at most 24 stations, and 16 bits are enough for the teams of four trucks.
    """
    mask: NDArray[np.uint64]
    bits: NDArray[np.int64]
    first_bit: NDArray[np.int64]
    """[T], [I] and [I] the masks of teams, and what those of states are made of (see `response.teams`)."""


def array_rule(policy: Policy, decisions: float = inf) -> ArrayRule | None:
    """How a policy decides, or None if it is to be asked for each of so many decisions."""
    bulk, problem = policy.in_bulk(decisions), policy.problem
    if bulk is None:
        return None
    if bulk.order is not None:
        return _rule(problem, BY_ORDER, order=bulk.order)
    if bulk.value is not None:
        return _rule(problem, BY_VALUE, value=bulk.value)
    return _rule(problem, BY_TABLE, table=bulk.table)


def check_fits(city: City, scenario: Scenario, problem: DispatchProblem, name: str, *, other_city: bool) -> None:
    """Raise an error if a problem is not that of a city, as it is or as the scenario changes it.

    With `other_city` it may have been made for other rates, roads or targets, but not for other stations and demand
    points: kernels look decisions up without asking if they are there.
    """
    stations = [(station.station_id, station.trucks) for station in city.stations]
    points = [(point.node_id, point.trucks or city.trucks_per_incident) for point in city.demand]
    same_stations = list(zip(problem.station_ids, problem.trucks.tolist(), strict=True)) == stations
    if not same_stations or list(zip(problem.point_ids, problem.trucks_needed.tolist(), strict=True)) != points:
        raise InputError(f"{name}: expected what was made for the stations and demand points of {city.name}")
    if not other_city and problem.source not in (source_of(city), source_of(scenario.changed(city))):
        raise InputError(
            f"{name}: expected what was made for {city.name} as it is now, got what was made for another city with the "
            "same stations, or by hand; other_city=True allows it"
        )


def strides(problem: DispatchProblem) -> NDArray[np.int64]:
    """[I] what a truck of each station adds to the number of a state."""
    return problem.layout.states.stride


def _rule(
    problem: DispatchProblem,
    kind: int,
    *,
    order: NDArray[np.int64] | None = None,
    value: NDArray[np.float64] | None = None,
    table: NDArray[np.int64] | None = None,
) -> ArrayRule:
    """A rule with the arrays that its kind needs."""
    by_team = kind != BY_ORDER
    remembers = kind == BY_VALUE and problem.num_states * problem.num_points <= MOST_REMEMBERED
    return ArrayRule(
        kind,
        np.ascontiguousarray(order) if order is not None else np.empty((0, 0), np.int64),
        np.ascontiguousarray(value) if value is not None else np.empty(0),
        np.ascontiguousarray(table) if table is not None else np.empty((0, 0), np.int64),
        np.ascontiguousarray(problem.cost.T) if kind == BY_VALUE else np.empty((0, 0)),
        np.array(problem.teams.stations) if by_team else np.empty((0, 0), np.int32),
        np.array(problem.layout.offset) if by_team else np.empty(0, np.int64),
        np.array(problem.teams.first_of_size) if by_team else np.empty(0, np.int64),
        np.full((problem.num_states, problem.num_points), -1, np.int16) if remembers else np.empty((0, 0), np.int16),
        np.array(problem.teams.masks) if by_team else np.empty(0, np.uint64),
        np.array(problem.teams.bits) if by_team else np.empty(0, np.int64),
        np.array(problem.teams.first_bit) if by_team else np.empty(0, np.int64),
    )
