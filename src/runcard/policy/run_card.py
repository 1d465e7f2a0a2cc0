"""Run cards: for each demand point a few teams in order of preference, made from the decisions of any policy.

The card of demand point j has lines a_1, ..., a_D, each a team of k_j trucks, and an order of the stations. Its rule:

    the first line whose trucks are all idle goes; where no line is, the first k_j idle trucks in the order go.

The lines are what the policy a(f, j) sends in the states that matter most. Line 1 is for every truck idle. With b_i
busy trucks at station i, line a is blocked if b_i > C_i - a_i for some i. If trucks were busy independently of one
another, with chance p_i at station i, the likeliest state in which lines 1 to r are all blocked is f = C - b with

    b = argmin { Σ_i b_i w_i : each of a_1, ..., a_r is blocked },    w_i = log((1 - p_i) / p_i),

and line r+1 is a(f, j). So each line is there for a state in which no line before it fits and it does itself: in these
states the card sends what the policy sends. A card ends where the next such state has fewer than k_j idle trucks: all
of them go, whatever a card says.

b is a hitting set of smallest weight. It is found by best-first search: of the sets of busy trucks that are open, take
the lightest; if it blocks every line it is the one; else block the first line that it leaves, at each of its stations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from typing import Final

import numpy as np

from runcard.errors import InputError, PolicyFileError
from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.chain import chain_of
from runcard.mdp.independent import IndependentTrucks
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import CardRule
from runcard.policy.base import BulkRule, Certificate, Policy, Stored
from runcard.policy.by_value import PricedPolicy, Values
from runcard.policy.fixed_card import find_order
from runcard.policy.options import idle_teams, team_number
from runcard.policy.solve_options import DEFAULTS, SolveOptions

NAME: Final = "run-card"
MOST_LINES: Final = 16
MOST_PRICED_STATES: Final = 1 << 16
"""With more states than this a card has no prices of its own."""

SMALL: Final = 1 << 22
FEW_EVALUATIONS: Final = 6
"""With more states times demand points than `SMALL` the search for the order is cut short after so many evaluations:
on 13 trucks and 2,000 demand points that has 96 % of what the whole search gains, in a fifth of its time."""

LEAST_BUSY, MOST_BUSY = 1e-12, 0.499
"""Busy chances between these count: a truck that is busy more often than not would be cheaper busy than idle."""


def sent_by_card(
    lines: Sequence[Sequence[int]], order: Sequence[int], idle: Sequence[int], needed: int
) -> tuple[int | None, tuple[int, ...]]:
    """The number of the line that goes, from 0, or None if none fits; and the station of each truck that is sent.

    Lines list a station once for each of its trucks, and `idle` has the idle trucks of each station.
    """
    for number, line in enumerate(lines):
        if all(idle[i] >= line.count(i) for i in line):
            return number, tuple(line)
    stations: list[int] = []
    for i in order:
        stations += [i] * min(idle[i], needed - len(stations))
        if len(stations) == needed:
            break
    return None, tuple(stations)


def lightest_block(
    lines: Sequence[Sequence[int]], trucks: Sequence[int], weight: Sequence[float]
) -> dict[int, int] | None:
    """The busy trucks of each station, where there are any, that block every line at the smallest weight.

    None if no busy trucks do so: a line without trucks is never blocked. Of sets of equal weight the first by number.
    """
    waiting: list[tuple[float, tuple[tuple[int, int], ...]]] = [(0.0, ())]
    seen: set[tuple[tuple[int, int], ...]] = {()}
    while waiting:
        _, busy = heappop(waiting)
        counts = dict(busy)
        left = next((line for line in lines if all(counts.get(i, 0) + line.count(i) <= trucks[i] for i in line)), None)
        if left is None:
            return counts
        for i in dict.fromkeys(left):
            more = tuple(sorted((counts | {i: trucks[i] - left.count(i) + 1}).items()))
            if more not in seen:
                seen.add(more)
                heappush(waiting, (sum(number * weight[at] for at, number in more), more))
    return None


@dataclass(frozen=True, eq=False, kw_only=True)
class RunCards(PricedPolicy):
    """The card of every demand point, as a policy."""

    lines: Ints
    """[J, depth] the teams of each card by number, -1 behind the last."""
    states: Ints
    """[J, depth, I] the idle trucks of the state that each line was made for."""
    order: Ints
    """[J, I] the order of the stations where no line fits."""
    name: str = NAME
    certificate: Certificate | None = None
    reason: str = "is the first line of its card that fits"

    @property
    def depth(self) -> int:
        """The number of lines of a card, at most."""
        return int(self.lines.shape[1])

    def at_depth(self, depth: int) -> "RunCards":
        """The same cards with at most so many lines."""
        return replace(self, lines=self.lines[:, :depth].copy(), states=self.states[:, :depth].copy())

    @cached_property
    def rule(self) -> CardRule:
        """The lines and the order of every card."""
        return CardRule(np.ascontiguousarray(self.lines), np.array(self.order))

    def in_bulk(self, decisions: float) -> BulkRule:
        """Its lines, and its order."""
        return BulkRule(order=self.rule.order, lines=self.rule.lines)

    def stored(self) -> Stored:
        """No policy file holds cards: always a PolicyFileError."""
        raise PolicyFileError(f"{self.name}: run cards are not a policy file; write them with runcard cards")

    def stations_of(self, point: int) -> list[tuple[int, ...]]:
        """The lines of a demand point, each with the station of every truck."""
        teams = self.lines[point][self.lines[point] >= 0]
        return [tuple(i for i in row if i >= 0) for row in self.problem.teams.stations[teams].tolist()]

    @cached_property
    def _values(self) -> Values | None:
        """The values of following the cards, where there are few states."""
        if self.problem.num_states > MOST_PRICED_STATES:
            return None
        return Values(self.problem, chain_of(self.problem, self.rule).values().value)

    def _prices(self, idle: Ints, teams: Ints) -> Floats:
        """The prices of teams, if the cards are followed afterwards; nan where there are many states."""
        return np.full(len(teams), np.nan) if self._values is None else self._values.prices(idle, teams)

    def _options(self, idle: Ints, point: int) -> tuple[Ints, Floats]:
        """The teams that could go; only that of the card where prices are not known, because there are many."""
        if self._values is not None:
            teams = idle_teams(self.problem, idle, point)
        else:
            teams = np.array([self._sent(idle, point)])
        return teams, self._prices(idle, teams)

    def _sent(self, idle: Ints, point: int) -> int:
        """The number of the team that the card sends."""
        needed = int(self.problem.trucks_needed[point])
        _, stations = sent_by_card(self.stations_of(point), self.order[point].tolist(), idle.tolist(), needed)
        return self.problem.teams.number(stations)

    def _choose(self, idle: Ints, point: int, teams: Ints, price: Floats) -> int:
        """Where the team of the card stands in `teams`."""
        return int(np.searchsorted(teams, self._sent(idle, point)))


def make_run_cards(
    policy: Policy, *, depth: int = 4, order: Ints | None = None, options: SolveOptions = DEFAULTS
) -> RunCards:
    """The cards of a policy, with so many lines; they fall back on the best fixed order, or the policy's own order.

    The best fixed order [J, I] is searched for if it is not given.
    """
    if not 1 <= depth <= MOST_LINES:
        raise InputError(f"expected cards of 1 to {MOST_LINES} lines, got {depth}")
    problem = policy.problem
    if order is None:
        order = _fallback(problem, options) if policy.fixed_order is None else policy.fixed_order
    busy = np.clip(IndependentTrucks(problem, order).steady_busy(), LEAST_BUSY, MOST_BUSY)
    weight = np.log((1.0 - busy) / busy).tolist()
    lines = np.full((problem.num_points, depth), -1, np.int64)
    states = np.zeros((problem.num_points, depth, problem.num_stations), np.int64)
    for point, first in enumerate(first_alike(problem, order).tolist()):
        if first < point:
            lines[point], states[point] = lines[first], states[first]
            continue
        for number, (team, idle) in enumerate(_lines_of(policy, point, weight, depth)):
            lines[point, number], states[point, number] = team, idle
    return RunCards(problem=problem, lines=lines, states=states, order=np.array(order))


def _fallback(problem: DispatchProblem, options: SolveOptions) -> Ints:
    """[J, I] the best fixed order of the stations that is found in a few seconds."""
    if problem.num_states * problem.num_points <= SMALL:
        return find_order(problem, options).order
    return find_order(problem, options, max_evaluations=FEW_EVALUATIONS).order


def _lines_of(policy: Policy, point: int, weight: Sequence[float], depth: int) -> list[tuple[int, Ints]]:
    """The team of each line of a demand point, and the idle trucks of the state that it was made for."""
    problem = policy.problem
    trucks, needed = problem.trucks.tolist(), int(problem.trucks_needed[point])
    found: list[tuple[int, Ints]] = []
    lines: list[tuple[int, ...]] = []
    while len(found) < depth:
        busy = lightest_block(lines, trucks, weight)
        if busy is None:
            break
        idle = problem.trucks.copy()
        for i, number in busy.items():
            idle[i] -= number
        if found and idle.sum() < needed:
            break
        team = team_number(problem, policy.decide(idle, point).team)
        found.append((team, idle))
        lines.append(tuple(i for i in problem.teams.stations[team].tolist() if i >= 0))
    return found


def first_alike(problem: DispatchProblem, order: Ints) -> Ints:
    """[J] the first demand point that has the same node, need, costs and order: the same decisions are made for it."""
    by_need: dict[tuple[str, int], list[int]] = {}
    found = np.arange(problem.num_points)
    for point, key in enumerate(zip(problem.point_ids, problem.trucks_needed.tolist(), strict=True)):
        known = by_need.setdefault(key, [])
        for other in known:
            same = np.array_equal(problem.cost[:, other], problem.cost[:, point])
            if same and np.array_equal(order[other], order[point]):
                found[point] = other
                break
        else:
            known.append(point)
    return found
