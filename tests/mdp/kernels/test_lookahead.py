"""Tests of prices that look one event ahead, against the formula of the kernel's docstring written out."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.seeds import each_seed

from runcard.mdp.factored import FactoredValues
from runcard.mdp.kernels.lookahead import look_at_state, price_here
from runcard.mdp.problem import DispatchProblem
from runcard.policy import ahead_rule
from runcard.policy.ahead import AheadPolicy

from ..problems import every_state, make_problem, random_tables, sum_of_tables
from ..reference import Dense

State = tuple[int, ...]


def tables_of_size(problem: DispatchProblem, size: int, seed: int) -> FactoredValues:
    """Three tables of `size` stations, and more of single ones, that together have all stations."""
    every = list(combinations(range(problem.num_stations), min(size, problem.num_stations)))
    chosen = [every[n] for n in np.random.default_rng(seed).permutation(len(every))[:3]]
    missing = [(i,) for i in range(problem.num_stations) if not any(i in stations for stations in chosen)]
    return random_tables(problem, [*chosen, *missing], seed)


PROBLEMS = [
    *(make_problem([1] * 5, [needed] * 6, seed=needed) for needed in (1, 2, 3)),
    make_problem([2, 1, 3, 1], [3, 1, 2, 2, 3], seed=4, load=2.0),
    make_problem([1, 3, 2], [2, 1, 2], seed=5, rates=[1.0, 0.0, 0.5], load=0.01),
    make_problem([3], [2, 3], seed=6),
    make_problem([1] * 6, [4] * 5, seed=7),
    make_problem([4, 1, 2], [4, 2, 1, 4], seed=8, load=1.0),
]
"""Needs of 1 to 4 trucks, alone and mixed, at stations of one and several trucks; a point without incidents."""
CASES = [(problem, size) for problem in PROBLEMS for size in (1, 2, problem.num_stations)]


class Ahead:
    """The formula of `kernels/lookahead.py`, with a dictionary for h and a search through the teams for V.

    An incident to come looks at the teams of its own table (`nearby`), or at all of them.
    """

    def __init__(self, values: FactoredValues, *, nearby: bool) -> None:
        self.values, self.problem, self.dense, self.nearby = values, values.problem, Dense(values.problem), nearby
        every = sum_of_tables(values)
        self.h = {state: float(every[place]) for place, state in enumerate(self.dense.states)}
        self.table_of = {j: g for g, points in enumerate(values.points) for j in points.tolist()}

    def minus(self, state: State, team: int) -> State:
        """f - a."""
        return tuple(f - a for f, a in zip(state, self.problem.teams.counts[team].tolist(), strict=True))

    def plus(self, state: State, i: int) -> State:
        """f + e_i."""
        return (*state[:i], state[i] + 1, *state[i + 1 :])

    def best(self, state: State, j: int) -> float:
        """V_j(f): of the idle teams of k trucks that j looks at, or else of the first idle ones in the order of j."""
        problem, k = self.problem, int(self.problem.trucks_needed[j])
        own = self.values.stations[self.table_of[j]]
        elsewhere = np.setdiff1d(np.arange(problem.num_stations), own) if self.nearby else []
        teams = [
            team
            for team, taken in enumerate(problem.teams.counts)
            if taken.sum() == k and (taken <= state).all() and not taken[elsewhere].any()
        ]
        if not teams:
            trucks = [i for i in problem.order[j].tolist() for _ in range(state[i])][:k]
            teams = [self.dense.team_number[tuple(trucks.count(i) for i in range(problem.num_stations))]]
        return min(float(problem.cost[team, j]) + self.h[self.minus(state, team)] for team in teams)

    def price(self, state: State, team: int) -> float:
        """The price of a team that looks one event ahead."""
        problem, mu, h = self.problem, self.problem.returns_per_day, self.h
        after, taken = self.minus(state, team), problem.teams.counts[team]
        busy = problem.trucks - np.array(state)
        total = 0.0
        for j, rate in enumerate(problem.incidents_per_day.tolist()):
            if rate > 0.0:
                total += rate * (self.best(after, j) - self.best(state, j))
        for i in range(problem.num_stations):
            if busy[i]:
                total += mu * int(busy[i]) * (h[self.plus(after, i)] - h[self.plus(state, i)])
            if taken[i]:
                total += mu * int(taken[i]) * (h[self.plus(after, i)] - h[state])
        return total / (problem.total_incidents_per_day + mu * int(busy.sum() + taken.sum()))


def idle_team_numbers(problem: DispatchProblem, state: State) -> NDArray[np.int64]:
    """Every team that is idle, of any size."""
    return np.flatnonzero((problem.teams.counts <= state).all(axis=1))


@pytest.mark.parametrize(("problem", "size"), CASES)
def test_all_prices_at_once(problem: DispatchProblem, size: int) -> None:
    """In every state, the prices of all teams from increments are h(f-a) - h(f), and inf if a team is not idle."""
    values = tables_of_size(problem, size, seed=size)
    teams = AheadPolicy(name="ahead", problem=problem, values=values)._teams
    scratch = teams.scratch()
    for state in Dense(problem).states:
        idle = np.array(state)
        look_at_state(0, 0, idle, scratch, teams, values.tables)
        prices = np.array([price_here(team, scratch, teams) for team in range(problem.num_teams)])
        could_go = idle_team_numbers(problem, state)
        assert np.array_equal(np.flatnonzero(np.isfinite(prices)), could_go)
        assert (prices[~np.isfinite(prices)] == np.inf).all()
        np.testing.assert_allclose(prices[could_go], values.prices(idle, could_go), rtol=0, atol=1e-13)


@pytest.fixture(params=[True, False], ids=["nearby", "all"])
def nearby(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether incidents to come look at the teams of their own table only, as with many teams, or at all."""
    monkeypatch.setattr(ahead_rule, "FEW_TEAMS", 0 if request.param else 10**6)
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "size"), CASES)
def test_prices_look_one_event_ahead(problem: DispatchProblem, size: int, nearby: bool) -> None:
    """The price of every idle team is what the formula says, with one table for all or several, in about 20 states.

    In every state, the values of all states one event on differ between teams of a size as the prices do.
    """
    values = tables_of_size(problem, size, seed=size)
    policy, ahead = AheadPolicy(name="ahead", problem=problem, values=values), Ahead(values, nearby=nearby)
    value, step = policy.rule.value, 1 + problem.num_states // 20
    for place, state in enumerate(ahead.dense.states):
        teams = idle_team_numbers(problem, state)
        prices = policy.prices(np.array(state), teams)
        if place % step == 0:
            expected = [ahead.price(state, team) for team in teams]
            np.testing.assert_allclose(prices, expected, rtol=0, atol=1e-12)
        after = value[[ahead.dense.after(state, team) for team in teams]]
        for size_of in np.unique(problem.teams.sizes[teams]):
            alike = problem.teams.sizes[teams] == size_of
            np.testing.assert_allclose(np.ptp((prices - after)[alike]), 0.0, atol=1e-12)


@pytest.mark.parametrize(("problem", "size"), CASES)
@pytest.mark.usefixtures("nearby")
@each_seed(4)
def test_nothing_among_the_best_is_left_out(problem: DispatchProblem, size: int, seed: int) -> None:
    """Whatever the tables, a team that is left out is worse than the last one kept; what is kept has its own price."""
    values = tables_of_size(problem, size, seed=10 * seed + size)
    policy, rng = AheadPolicy(name="ahead", problem=problem, values=values), np.random.default_rng(size)
    for idle in every_state(problem):
        for needed in np.unique(problem.trucks_needed):
            teams = problem.teams.idle(idle, min(int(needed), int(idle.sum())))
            p_late = rng.random(len(teams))
            every = policy._ahead(idle, teams, p_late, keep=0)
            for keep in (1, 2, 5):
                found = policy._ahead(idle, teams, p_late, keep=keep)
                seen = ~np.isnan(found)
                assert np.array_equal(found[seen], every[seen])
                assert seen.sum() >= min(keep, len(teams))
                best = np.sort((p_late + every)[seen])[: min(keep, len(teams))]
                assert np.array_equal(best, np.sort(p_late + every)[: len(best)])


def test_a_price_that_is_low_only_after_a_return() -> None:
    """A team that is cheap only in case a busy truck returns is not left out by a bound on single trucks.

    All values are 0 but that of the state in which the team is gone and the truck that is busy now is back.
    """
    problem = make_problem([1] * 6, [2, 2], load=0.01, seed=1)
    dense = Dense(problem)
    value = np.zeros(problem.num_states)
    value[dense.number[0, 0, 1, 1, 1, 1]] = -10.0
    values = FactoredValues(problem, (np.arange(6),), (np.arange(2),), value, np.full(6, 0.1))
    policy = AheadPolicy(name="ahead", problem=problem, values=values)
    idle = np.array([1, 1, 1, 1, 1, 0])
    teams = problem.teams.idle(idle, 2)
    p_late = np.where(teams == dense.team_number[1, 1, 0, 0, 0, 0], 0.9, 0.1)
    every, found = (policy._ahead(idle, teams, p_late, keep=keep) for keep in (0, 1))
    best = int((p_late + every).argmin())
    assert p_late[best] == 0.9
    assert found[best] == every[best]
