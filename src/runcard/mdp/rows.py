"""The rules by which policies choose, and the rows that say what they do.

A rule says how a policy chooses. Evaluation asks for its rows (see `cpu.py`), and never for a table of all states
and demand points. The row of state f lists, for each team a that the policy sends from f, the rate
Σ_j λ_j [a(f, j) = a]; demand points that get the same team are one entry.

A rule may come from outside. It can be followed if it sends, in every state f, exactly min(k_j, |f|) trucks to each
demand point j, all of them idle. `checked_rule` sees to that, because kernels do not ask.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runcard.errors import InputError
from runcard.mdp.arrays import Floats, Ints, frozen
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.problem import DispatchProblem, as_numbers
from runcard.mdp.states import each_mask

LARGEST_VALUE: Final = 1e10
"""Values may be this many times the largest cost: beside larger ones costs, and so choices, are lost in rounding."""

ENTRIES_AT_ONCE: Final = 1 << 18
"""Decisions of a table that are checked at a time, so that it takes no memory to speak of."""


@dataclass(frozen=True, eq=False)
class OrderRule:
    """The idle trucks that come first in the order [J, I] of each demand point."""

    order: Ints
    start: Floats | None = None
    """[states + padding] values close to those of the policy, for evaluation to start from, if there are any."""

    @property
    def lines(self) -> Ints:
        """[J, 0] an order is a run card without lines."""
        return np.empty((len(self.order), 0), np.int64)


@dataclass(frozen=True, eq=False)
class TableRule:
    """The team number of every state and demand point, for policies that are given as a table."""

    table: Ints
    start: Floats | None = None


@dataclass(frozen=True, eq=False)
class ValueRule:
    """The team with the smallest cost(a, j) + h(f-a), for a value function h [states], with padding or without."""

    value: Floats

    @property
    def start(self) -> Floats:
        """The values themselves."""
        return self.value


@dataclass(frozen=True, eq=False)
class CardRule:
    """The first of some teams of each demand point that is idle; the first trucks in an order where none of them is."""

    lines: Ints
    """[J, depth] team numbers, of the size that the demand point needs; -1 behind the last."""
    order: Ints
    """[J, I]"""
    start: Floats | None = None


DecisionRule: TypeAlias = OrderRule | TableRule | ValueRule | CardRule
"""How a policy chooses its teams in every state."""


def checked_rule(problem: DispatchProblem, rule: DecisionRule) -> DecisionRule:
    """The rule with its arrays as kernels want them; an InputError if it is not legal for the problem."""
    match rule:
        case ValueRule():
            return ValueRule(checked_values(problem, rule.value))
        case OrderRule():
            return replace(rule, order=checked_order(problem, rule.order), start=_checked_start(problem, rule.start))
        case TableRule():
            return replace(rule, table=checked_table(problem, rule.table), start=_checked_start(problem, rule.start))
        case CardRule():
            return CardRule(
                checked_lines(problem, rule.lines),
                checked_order(problem, rule.order),
                _checked_start(problem, rule.start),
            )
    raise InputError(f"expected a rule, such as OrderRule, TableRule or ValueRule, got {type(rule).__name__}")


def checked_order(problem: DispatchProblem, order: Any) -> Ints:
    """[J, I] an order that has every station once for each demand point, by number from 0."""
    stations = as_numbers("an order", "stations", order, np.int64)
    _check_shape("an order of the stations of each demand point", stations, (problem.num_points, problem.num_stations))
    wrong = (np.sort(stations, axis=1) != np.arange(problem.num_stations)).any(axis=1)
    if wrong.any():
        j = int(wrong.argmax())
        raise InputError(
            f"the order of demand point {_point(problem, j)}: expected every station once, from 0 to "
            f"{problem.num_stations - 1}, got {stations[j].tolist()}"
        )
    return frozen(stations.view())  # as that of a problem is: kernels are compiled once, not twice


def checked_table(problem: DispatchProblem, table: Any) -> Ints:
    """[states, J] the numbers of teams that can go in their states."""
    numbers = as_numbers("a table", "teams", table, np.int64)
    shape = (problem.num_states, problem.num_points)
    _check_shape("a table of the team of each state and demand point", numbers, shape)
    teams, level = problem.teams, problem.states.level
    busy = ~each_mask(problem.trucks, teams.bits, teams.first_bit)
    size = np.minimum(problem.trucks_needed, np.arange(problem.num_trucks + 1)[:, None])
    step = max(1, ENTRIES_AT_ONCE // problem.num_points)
    for start in range(0, problem.num_states, step):
        states = slice(start, start + step)
        team = np.clip(numbers[states], 0, problem.num_teams - 1)
        is_busy = teams.masks[team] & busy[states, None] != 0
        wrong = (team != numbers[states]) | is_busy | (teams.sizes[team] != size[level[states]])
        if wrong.any():
            place, j = divmod(int(wrong.argmax()), problem.num_points)
            idle = np.unravel_index(start + place, tuple(problem.trucks + 1))
            words = cannot_go(problem, idle, j, numbered_team(problem, numbers.item(start + place, j)))
            raise InputError(f"row {start + place} of a table: {words}")
    return numbers


def checked_values(problem: DispatchProblem, value: Any) -> Floats:
    """[states + padding] the value of every state, a finite number beside which costs count; padded if need be."""
    values = as_numbers("values", "each state", value, np.float64)
    num_states, largest = problem.num_states, float(np.abs(problem.cost[np.isfinite(problem.cost)]).max())
    if values.shape == (num_states,):
        values = np.concatenate([values, np.zeros(VALUE_PADDING)])
    padded = f"values of {num_states} states, ({num_states},), or with {VALUE_PADDING} numbers of padding"
    _check_shape(padded, values, (num_states + VALUE_PADDING,))
    if not np.isfinite((values.min(), values.max())).all():  # nan if any of them is; needs no memory
        state = int(np.isfinite(values).argmin())
        raise InputError(f"values: expected a finite number for every state, got {values[state]} for state {state}")
    least, most = int(values[:num_states].argmin()), int(values[:num_states].argmax())
    state, limit = least if -values[least] > values[most] else most, LARGEST_VALUE * (largest or 1.0)
    if abs(values[state]) > limit:
        raise InputError(
            f"values: expected numbers of at most {limit:.3g}, so that costs of up to {largest:.3g} count beside them, "
            f"got {values[state]:.3g} for state {state}"
        )
    return values


def checked_lines(problem: DispatchProblem, lines: Any) -> Ints:
    """[J, depth] the numbers of teams of the size that each demand point needs, and -1 behind the last."""
    numbers = as_numbers("cards", "teams", lines, np.int64)
    depth = numbers.shape[1] if numbers.ndim == 2 else 1
    _check_shape("the lines of the card of each demand point", numbers, (problem.num_points, depth))
    team = np.clip(numbers, 0, problem.num_teams - 1)
    fits = (team == numbers) & (problem.teams.sizes[team] == problem.trucks_needed[:, None])
    wrong = ~fits & (numbers != -1)
    if wrong.any():
        j, place = divmod(int(wrong.argmax()), numbers.shape[1])
        raise InputError(
            f"line {place + 1} of the card of demand point {_point(problem, j)}: expected a team of "
            f"{problem.trucks_needed[j]} trucks, or -1, got {numbered_team(problem, numbers.item(j, place))}"
        )
    return numbers


def _checked_start(problem: DispatchProblem, start: Any) -> Floats | None:
    """The values that evaluation starts from, if there are any."""
    return None if start is None else checked_values(problem, start)


def cannot_go(problem: DispatchProblem, idle: Iterable[Any], point: int, team: str) -> str:
    """What to say of a team that was chosen for a demand point and cannot go with these `idle` [I] trucks."""
    counts = ", ".join(f"{count} at {name}" for name, count in zip(problem.station_ids, idle, strict=True))
    return (
        f"expected a team that can go to demand point {_point(problem, point)}, which needs "
        f"{problem.trucks_needed[point]}, with idle trucks {counts}; got {team}"
    )


def numbered_team(problem: DispatchProblem, team: int) -> str:
    """A team by its number and the stations of its trucks; there may be none of that number."""
    if not 0 <= team < problem.num_teams:
        return f"team {team} of 0 to {problem.num_teams - 1}"
    ids = [problem.station_ids[i] for i in problem.teams.stations[team].tolist() if i >= 0]
    return f"team {team} ({', '.join(ids) or 'nobody'})"


def _point(problem: DispatchProblem, point: int) -> str:
    return f"{point} ({problem.point_ids[point]})"


def _check_shape(what: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"expected {what}, {shape}, got {array.shape}")


class PolicyRows(NamedTuple):
    """The rows of a range of states: state s of the range has the entries end[s-1]..end[s]-1."""

    end: Ints
    team: NDArray[np.uint16]
    """[entries] its number: a problem with more teams than 16 bits count has at least 2^33 states."""
    rate: Floats
    """[entries] incidents per day that get the team."""
    cost: Floats
    """[states] Σ_j λ_j × cost."""
    measured: Floats
    """[measures, states] Σ_j λ_j × each measure that was asked for."""
    unit: float
    """How far a cost may be off because it was read from keys, which are whole numbers; measures never are."""
