"""How a policy decides inside the simulation: as arrays where it can, else by asking it."""

from math import floor, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.errors import InputError
from runcard.mdp.fingerprint import source_of
from runcard.mdp.problem import DispatchProblem
from runcard.plan.fleet import Fleet
from runcard.policy.ahead_rule import AheadRule
from runcard.policy.base import Policy
from runcard.simulate.kernels.day import week_hour_at
from runcard.simulate.kernels.run import BY_CARD, BY_ORDER, BY_TABLE, BY_VALUE
from runcard.simulate.scenario import Scenario

MOST_REMEMBERED = 1 << 24
"""Decisions that are kept, in 32 MiB: looking one up is quicker than going through the teams again."""


class ArrayRule(NamedTuple):
    """How a policy decides; arrays of other kinds of policies are empty."""

    kind: int
    order: NDArray[np.int64]
    value: NDArray[np.float64]
    table: NDArray[np.int64]
    """[states, J] teams, or [J, depth] the lines of a run card."""
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
    period: NDArray[np.int64]
    """[168] the period of each hour of the week; empty if the policy does not look at the hour."""
    num_points: int
    num_values: int
    """Of one period. Those of all periods stand one after another, in `order`, `table`, `cost`, `known` and `value`."""


class HourlyAhead(NamedTuple):
    """The rules of a policy that looks one event ahead and knows the hour."""

    rules: tuple[AheadRule, ...]
    period: NDArray[np.int64]
    """[168] the rule of each hour of the week."""

    def until(self, minutes: float) -> tuple[int, float]:
        """The rule of a time, and when another one takes its place."""
        hour = week_hour_at(minutes)
        number, more = int(self.period[hour]), 1
        while more < len(self.period) and self.period[(hour + more) % len(self.period)] == number:
            more += 1
        return number, 60.0 * (floor(minutes / 60.0) + more)


AnyRule = ArrayRule | AheadRule | HourlyAhead


def fleet_rule(fleet: Fleet, decisions: float = inf) -> AnyRule | None:
    """How the policies of a fleet decide, or None if they are to be asked for each of so many decisions."""
    if len(fleet.policies) == 1:
        return array_rule(fleet.policy, decisions)
    return _hourly_rule(fleet, decisions)


def array_rule(policy: Policy, decisions: float = inf) -> ArrayRule | AheadRule | None:
    """How a policy decides, or None if it is to be asked for each of so many decisions."""
    bulk, problem = policy.in_bulk(decisions), policy.problem
    if bulk is None:
        return None
    bulk = bulk.checked(problem)
    if bulk.ahead is not None:
        return bulk.ahead
    if bulk.order is not None and bulk.lines is None:
        return order_rule(bulk.order)
    kind = BY_CARD if bulk.order is not None else BY_VALUE if bulk.value is not None else BY_TABLE
    remembers = kind == BY_VALUE and problem.num_states * problem.num_points <= MOST_REMEMBERED
    known = np.full((problem.num_states, problem.num_points), -1, np.int16) if remembers else None
    needs_states = kind != BY_CARD
    return ArrayRule(
        kind,
        _array(bulk.order, np.int64, 2),
        _array(bulk.value, np.float64),
        _array(bulk.table if bulk.lines is None else bulk.lines, np.int64, 2),
        _array(problem.cost.T if kind == BY_VALUE else None, np.float64, 2),
        _array(np.array(problem.teams.stations), np.int32, 2),
        _array(np.array(problem.layout.offset) if needs_states else None, np.int64),
        _array(np.array(problem.teams.first_of_size), np.int64),
        np.empty((0, 0), np.int16) if known is None else known,
        _array(np.array(problem.teams.masks) if needs_states else None, np.uint64),
        _array(np.array(problem.teams.bits) if needs_states else None, np.int64),
        _array(np.array(problem.teams.first_bit) if needs_states else None, np.int64),
        _array(None, np.int64),
        problem.num_points,
        0 if bulk.value is None else len(bulk.value),
    )


def order_rule(order: NDArray[np.int64]) -> ArrayRule:
    """The rule by which the first idle trucks in an order [J, I] go."""
    empty, floats = _array(None, np.int64), _array(None, np.float64)
    return ArrayRule(
        BY_ORDER, _array(order, np.int64, 2), floats, _array(None, np.int64, 2), _array(None, np.float64, 2),
        _array(None, np.int32, 2), empty, empty, np.empty((0, 0), np.int16), _array(None, np.uint64), empty, empty,
        empty, len(order), 0,
    )  # fmt: skip


def _array(found: NDArray[Any] | None, of: type, dimensions: int = 1) -> NDArray[Any]:
    """An array as kernels want it; an empty one in place of None."""
    return _read_only(np.empty((0,) * dimensions, of) if found is None else found)


def _hourly_rule(fleet: Fleet, decisions: float) -> ArrayRule | HourlyAhead | None:
    """The rules of all periods as one; None where one has to be asked, or they are of different kinds."""
    pairs = zip(fleet.policies, fleet.periods, strict=True)
    parts = [array_rule(policy, period.part_of_week * decisions) for policy, period in pairs]
    ahead = tuple(part for part in parts if isinstance(part, AheadRule))
    if len(ahead) == len(parts):
        return HourlyAhead(ahead, fleet.of_hour)
    found = [part for part in parts if isinstance(part, ArrayRule)]
    if len(found) < len(parts) or len({(part.kind, part.num_points, part.num_values) for part in found}) > 1:
        return None
    known = np.concatenate([part.known for part in found], axis=1)
    return found[0]._replace(
        order=_read_only(np.concatenate([part.order for part in found])),
        value=_read_only(np.concatenate([part.value for part in found])),
        # The lines of cards stand below one another, the columns of tables side by side.
        table=_read_only(np.concatenate([part.table for part in found], axis=0 if found[0].kind == BY_CARD else 1)),
        cost=_read_only(np.concatenate([part.cost for part in found])),
        known=known if known.size <= MOST_REMEMBERED else known[:0].copy(),
        period=_read_only(fleet.of_hour),
    )


def _read_only(found: NDArray[Any]) -> NDArray[Any]:
    """An array as kernels want it; if some could be written to and some not, kernels would be compiled twice."""
    one = np.ascontiguousarray(found).view()
    one.flags.writeable = False
    return one


def check_fleet(city: City, scenario: Scenario, fleet: Fleet, name: str, *, other_city: bool) -> None:
    """Raise an error if a fleet was not made for a city of one kind, or for its periods; see `check_fits`."""
    if not fleet.knows_hour:
        check_fits(city, scenario, fleet.problem, name, other_city=other_city)
        return
    hours = {period.name: period.hours for period in city.periods}
    if not other_city and hours != {period.name: period.hours for period in fleet.periods}:
        raise InputError(f"{name}: expected what was made for the periods of {city.name} as they are now")
    for period, policy in zip(fleet.periods, fleet.policies, strict=True):
        seen = city if other_city else city.in_period(period.name)
        check_fits(seen, scenario, policy.problem, name, other_city=other_city)


def check_fits(city: City, scenario: Scenario, problem: DispatchProblem, name: str, *, other_city: bool) -> None:
    """Raise an error if a problem is not that of a city of one kind, as it is or as the scenario changes it.

    With `other_city` it may have been made for other rates, roads or targets, but not for other stations and demand
    points: kernels look decisions up without asking if they are there.
    """
    stations = [(station.station_id, station.trucks) for station in city.stations]
    points = [(point.node_id, city.trucks_for(point)) for point in city.demand]
    same_stations = list(zip(problem.station_ids, problem.trucks.tolist(), strict=True)) == stations
    if not same_stations or list(zip(problem.point_ids, problem.trucks_needed.tolist(), strict=True)) != points:
        raise InputError(f"{name}: expected what was made for the stations and demand points of {city.name}")
    if not other_city and problem.source not in (source_of(city), source_of(scenario.changed(city))):
        raise InputError(
            f"{name}: expected what was made for {city.name} as it is now, got what was made for another city with the "
            "same stations, or by hand; other_city=True allows it"
        )
