"""The teams that could go in one state, and decisions made of them: what every policy has in common."""

from collections.abc import Sequence
from math import isnan
from operator import gt, index
from typing import Any

import numpy as np

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import LATE
from runcard.errors import InputError
from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.problem import MINUTES, P_LATE, DispatchProblem, as_numbers
from runcard.policy.base import Decision, Option

NUM_ALTERNATIVES = 4


def whole_numbers(idle: Any) -> Ints:
    """Idle trucks by station as an array, whatever kind of whole numbers they came as."""
    if type(idle) is np.ndarray and idle.dtype == np.int64:  # the usual case, in a tenth of the time
        return idle.copy()
    counts: Ints = as_numbers("a state", "the idle trucks of each station", idle, np.int64)
    if np.asarray(idle).dtype == np.bool_:
        raise InputError(f"a state: expected whole numbers for the idle trucks of each station, got {idle!r}")
    return counts


def checked_idle(problem: DispatchProblem, idle: Any) -> Ints:
    """[I] the idle trucks of each station, if the problem has such a state."""
    counts = whole_numbers(idle)
    if counts.shape != problem.trucks.shape:
        raise InputError(f"expected the idle trucks of {problem.num_stations} stations, got an array {counts.shape}")
    listed = counts.tolist()  # of so few numbers, plain ones take less time
    if min(listed) < 0 or any(map(gt, listed, problem.teams.trucks)):
        i = int(np.flatnonzero((counts < 0) | (counts > problem.trucks))[0])
        raise InputError(
            f"station {problem.station_ids[i]}: expected 0 to {problem.trucks[i]} idle trucks, got {counts[i]}"
        )
    return counts


def checked_teams(problem: DispatchProblem, idle: Ints, teams: Any) -> Ints:
    """The numbers of teams, if the problem has them and their trucks are idle."""
    numbers = np.atleast_1d(whole_numbers(teams))
    (wrong,) = np.nonzero((numbers < 0) | (numbers >= problem.num_teams))
    if len(wrong):
        raise InputError(f"expected teams from 0 to {problem.num_teams - 1}, got {numbers[wrong[0]]}")
    (busy,) = np.nonzero((problem.teams.counts[numbers] > idle).any(axis=1))
    if len(busy):
        raise InputError(f"team {numbers[busy[0]]}: expected its trucks to be idle, but some are busy")
    return numbers


def checked_situation(problem: DispatchProblem, idle: Any, point: Any) -> tuple[Ints, int]:
    """The idle trucks of each station and the demand point, if the problem has such a state and such a point."""
    counts = checked_idle(problem, idle)
    try:
        number = index(point)
    except TypeError as error:
        raise InputError(f"expected the number of a demand point, got {point!r}") from error
    if not 0 <= number < problem.num_points:
        raise InputError(f"expected a demand point from 0 to {problem.num_points - 1}, got {number}")
    return counts, number


def idle_teams(problem: DispatchProblem, idle: Ints, point: int) -> Ints:
    """The numbers of the teams of min(k, idle) idle trucks that could go to demand point `point`."""
    return problem.teams.idle(idle, min(problem.trucks_needed.item(point), sum(idle.tolist())))


def first_in_order(problem: DispatchProblem, order: Ints, idle: Ints, point: int) -> int:
    """The number of the team of the first idle trucks in an order [J, I] of the stations of each demand point."""
    wanted, trucks = problem.trucks_needed.item(point), idle.tolist()
    stations: list[int] = []
    for i in order[point].tolist():
        if trucks[i]:
            stations += [i] * min(trucks[i], wanted - len(stations))
            if len(stations) == wanted:
                break
    return problem.teams.number(stations)


def option_of(problem: DispatchProblem, point: int, team: int, price: float) -> Option:
    """The team of a number as an option for a demand point."""
    return Option(**_facts(problem, point, team, float(price)))


def _facts(problem: DispatchProblem, point: int, team: int, price: float) -> dict[str, Any]:
    """What an option says of a team; its cost and minutes only where the cost is not P(late)."""
    facts = {
        "team": team_ids(problem, point, team), "p_late": problem.measures[P_LATE].item(team, point), "price": price
    }  # fmt: skip
    if problem.objective != LATE:
        facts |= {"cost": problem.cost.item(team, point), "minutes": problem.measures[MINUTES].item(team, point)}
    return facts


def team_number(problem: DispatchProblem, team: Sequence[str]) -> int:
    """The number of a team of station ids, "outside" among them or not."""
    known, key = problem.known_teams, tuple(team)
    if key not in known:
        known[key] = problem.teams.number([problem.station_ids.index(one) for one in team if one != OUTSIDE_ID])
    return known[key]


def team_ids(problem: DispatchProblem, point: int, team: int) -> tuple[str, ...]:
    """The station id of each truck of a team, and "outside" for those that are missing."""
    needed = problem.trucks_needed.item(point)
    ids = problem.known_ids.get((team, needed))
    if ids is None:
        own = [problem.station_ids[i] for i in problem.teams.stations[team].tolist() if i >= 0]
        ids = problem.known_ids[team, needed] = (*own, *[OUTSIDE_ID] * (needed - len(own)))
    return ids


def make_decision(
    problem: DispatchProblem,
    point: int,
    teams: Ints,
    price: Floats,
    position: int | None = None,
) -> Decision:
    """The decision for the team at a position, or for the best; the best others, by cost now + price, follow it.

    Where prices are not known, that is by their costs.
    """
    cost = problem.cost[:, point].take(teams)  # `take` needs half the time of [teams, point]
    ranked = (cost + price).argsort(kind="stable")
    if isnan(price.item(ranked.item(-1))):  # what is no number comes last
        ranked = (cost + np.nan_to_num(price)).argsort(kind="stable")
    listed = ranked[: NUM_ALTERNATIVES + 1].tolist()
    if position is not None:
        listed = [position, *[other for other in listed if other != position][:NUM_ALTERNATIVES]]
    first, *others = [_facts(problem, point, teams.item(place), price.item(place)) for place in listed]
    return Decision(**first, alternatives=tuple([Option(**other) for other in others]))
