"""The teams that could go in one state, and decisions made of them: what every policy has in common."""

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import LATE
from runcard.errors import InputError
from runcard.mdp.problem import MINUTES, P_LATE, DispatchProblem
from runcard.policy.base import Decision, Option

NUM_ALTERNATIVES = 4


def whole_numbers(idle: Any) -> NDArray[np.int64]:
    """Idle trucks by station as an array, whatever kind of whole numbers they came as."""
    if type(idle) is np.ndarray and idle.dtype == np.int64:  # the usual case, in a tenth of the time
        return idle.copy()
    try:
        given = np.asarray(idle)
        with np.errstate(invalid="ignore"):  # what is no number differs from what it becomes, below
            converted = given.astype(np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"expected the number of idle trucks of each station, got {idle!r}") from error
    if isinstance(idle, np.ma.MaskedArray) or given.dtype == np.bool_ or not np.array_equal(converted, given):
        raise InputError(f"expected whole numbers of idle trucks by station, got {idle!r}")
    return converted


def whole_number(point: Any) -> int:
    """The number of a demand point, if it is one."""
    try:
        return index(point)
    except TypeError as error:
        raise InputError(f"expected the number of a demand point, got {point!r}") from error


def checked_idle(problem: DispatchProblem, idle: Any) -> NDArray[np.int64]:
    """[I] the idle trucks of each station, if the problem has such a state."""
    counts = whole_numbers(idle)
    if counts.shape != problem.trucks.shape:
        raise InputError(f"expected the idle trucks of {problem.num_stations} stations, got an array {counts.shape}")
    (wrong,) = np.nonzero((counts < 0) | (counts > problem.trucks))
    if len(wrong):
        i = int(wrong[0])
        raise InputError(
            f"station {problem.station_ids[i]}: expected 0 to {problem.trucks[i]} idle trucks, got {counts[i]}"
        )
    return counts


def checked_teams(problem: DispatchProblem, idle: NDArray[np.int64], teams: Any) -> NDArray[np.int64]:
    """The numbers of teams, if the problem has them and their trucks are idle."""
    numbers = np.atleast_1d(whole_numbers(teams))
    (wrong,) = np.nonzero((numbers < 0) | (numbers >= problem.num_teams))
    if len(wrong):
        raise InputError(f"expected teams from 0 to {problem.num_teams - 1}, got {numbers[wrong[0]]}")
    (busy,) = np.nonzero((problem.teams.counts[numbers] > idle).any(axis=1))
    if len(busy):
        raise InputError(f"team {numbers[busy[0]]}: expected its trucks to be idle, but some are busy")
    return numbers


def checked_situation(problem: DispatchProblem, idle: Any, point: Any) -> tuple[NDArray[np.int64], int]:
    """The idle trucks of each station and the demand point, if the problem has such a state and such a point."""
    counts, number = checked_idle(problem, idle), whole_number(point)
    if not 0 <= number < problem.num_points:
        raise InputError(f"expected a demand point from 0 to {problem.num_points - 1}, got {number}")
    return counts, number


def idle_teams(problem: DispatchProblem, idle: NDArray[np.int64], point: int) -> NDArray[np.int64]:
    """The numbers of the teams of min(k, idle) idle trucks that could go to demand point `point`."""
    size = min(int(problem.trucks_needed[point]), int(idle.sum()))
    return problem.teams.idle(idle, size)


def first_in_order(problem: DispatchProblem, order: NDArray[np.int64], idle: NDArray[np.int64], point: int) -> int:
    """The number of the team of the first idle trucks in an order [J, I] of the stations of each demand point."""
    wanted = int(problem.trucks_needed[point])
    stations: list[int] = []
    for i in order[point].tolist():
        taken = min(int(idle[i]), wanted - len(stations))
        stations += [i] * taken
        if len(stations) == wanted:
            break
    return problem.teams.number(stations)


def option_of(problem: DispatchProblem, point: int, team: int, price: float) -> Option:
    """The team of a number as an option for a demand point."""
    (facts,) = _facts(problem, point, np.array([team]), [float(price)])
    return Option(**facts)


def _facts(
    problem: DispatchProblem, point: int, teams: NDArray[np.int64], prices: Sequence[float]
) -> list[dict[str, Any]]:
    """What options say of some teams; their costs and minutes only where the cost is not P(late)."""
    p_late, needed = problem.measures[P_LATE][teams, point].tolist(), int(problem.trucks_needed[point])
    facts: list[dict[str, Any]] = [
        {"team": _ids(problem, stations, needed), "p_late": late, "price": price}
        for stations, late, price in zip(problem.teams.stations[teams].tolist(), p_late, prices, strict=True)
    ]
    if problem.objective != LATE:
        minutes, cost = problem.measures[MINUTES][teams, point].tolist(), problem.cost[teams, point].tolist()
        for one, of_minutes, of_cost in zip(facts, minutes, cost, strict=True):
            one |= {"cost": of_cost, "minutes": of_minutes}
    return facts


def team_number(problem: DispatchProblem, team: Sequence[str]) -> int:
    """The number of a team of station ids, "outside" among them or not."""
    return problem.teams.number([problem.station_ids.index(one) for one in team if one != OUTSIDE_ID])


def team_ids(problem: DispatchProblem, point: int, team: int) -> tuple[str, ...]:
    """The station id of each truck of a team, and "outside" for those that are missing."""
    return _ids(problem, problem.teams.stations[team].tolist(), int(problem.trucks_needed[point]))


def _ids(problem: DispatchProblem, stations: Sequence[int], needed: int) -> tuple[str, ...]:
    """The ids of stations by number, -1 for none, and "outside" for those that are missing."""
    ids = [problem.station_ids[i] for i in stations if i >= 0]
    return (*ids, *[OUTSIDE_ID] * (needed - len(ids)))


def make_decision(
    problem: DispatchProblem,
    point: int,
    teams: NDArray[np.int64],
    price: NDArray[np.float64],
    position: int,
) -> Decision:
    """The decision for the team at a position; the best others, by cost now + price, are the alternatives.

    Where prices are not known, that is by their costs.
    """
    total = problem.cost[teams, point] + price
    if np.isnan(total).any():
        total = problem.cost[teams, point] + np.nan_to_num(price)
    ranked = np.argsort(total, kind="stable")[: NUM_ALTERNATIVES + 1].tolist()
    listed = [position, *[other for other in ranked if other != position][:NUM_ALTERNATIVES]]
    first, *others = _facts(problem, point, teams[listed], price[listed].tolist())
    return Decision(**first, alternatives=tuple(Option(**other) for other in others))
