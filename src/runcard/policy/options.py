"""The teams that could go in one state, with P(late) and price: what every decision is chosen from."""

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.city.check import OUTSIDE_ID
from runcard.errors import InputError
from runcard.mdp.layout import Layout
from runcard.policy.base import Decision, Option

NUM_ALTERNATIVES = 4


@dataclass(frozen=True, eq=False)
class Options:
    """The teams that could go to demand point `point`: their numbers, P(late) and prices h(f-a) - h(f)."""

    layout: Layout
    point: int
    team: NDArray[np.int64]
    p_late: NDArray[np.float64]
    price: NDArray[np.float64]

    def option(self, position: int) -> Option:
        """The team at a position, with station ids."""
        return Option(team=self._ids(position), p_late=float(self.p_late[position]), price=float(self.price[position]))

    def decision(self, position: int) -> Decision:
        """The decision for the team at a position; the best others, by P(late) + price, are the alternatives."""
        total = self.p_late + self.price
        ranked = np.argsort(total, kind="stable")[: NUM_ALTERNATIVES + 1].tolist()
        others = [other for other in ranked if other != position][:NUM_ALTERNATIVES]
        return Decision(
            team=self._ids(position),
            p_late=float(self.p_late[position]),
            price=float(self.price[position]),
            alternatives=tuple(self.option(other) for other in others),
        )

    def _ids(self, position: int) -> tuple[str, ...]:
        problem = self.layout.problem
        team = problem.teams[self.team[position]]
        ids = [problem.station_ids[i] for i in np.flatnonzero(team) for _ in range(team[i])]
        return (*ids, *[OUTSIDE_ID] * (int(problem.trucks_needed[self.point]) - len(ids)))


def whole_numbers(idle: Any) -> NDArray[np.int64]:
    """Idle trucks by station as an array, whatever kind of whole numbers they came as."""
    try:
        given = np.asarray(idle)
        with np.errstate(invalid="ignore"):  # what is no number differs from what it becomes, below
            converted = given.astype(np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"expected the number of idle trucks of each station, got {idle!r}") from error
    if given.dtype == np.bool_ or not np.array_equal(converted, given):
        raise InputError(f"expected whole numbers of idle trucks by station, got {idle!r}")
    return converted


def whole_number(point: Any) -> int:
    """The number of a demand point, if it is one."""
    try:
        return index(point)
    except TypeError as error:
        raise InputError(f"expected the number of a demand point, got {point!r}") from error


def options_at(layout: Layout, value: NDArray[np.float64], idle: NDArray[np.int64], point: int) -> Options:
    """The teams of min(k, idle) idle trucks for an incident at `point`, when `idle` [I] trucks are idle."""
    problem, teams = layout.problem, layout.teams
    idle, point = whole_numbers(idle), whole_number(point)
    if idle.shape != problem.trucks.shape or (idle < 0).any() or (idle > problem.trucks).any():
        raise InputError(f"expected 0 to {problem.trucks.tolist()} idle trucks by station, got {idle.tolist()}")
    if not 0 <= point < problem.num_points:
        raise InputError(f"expected a demand point from 0 to {problem.num_points - 1}, got {point}")
    size = min(int(problem.trucks_needed[point]), int(idle.sum()))
    first, last = np.searchsorted(teams.size, [size, size + 1])
    missing = teams.mask[first:last] & ~layout.mask_of(idle)
    numbers = first + np.flatnonzero(missing == 0)
    state = int(idle @ layout.space.stride)
    return Options(
        layout, point, numbers, problem.cost[numbers, point], value[state - teams.offset[numbers]] - value[state]
    )
