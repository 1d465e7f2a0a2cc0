"""Tests of values that are a sum of small tables, against the sum written out state by state."""

from itertools import product
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.seeds import each_seed

from runcard.mdp.factored import FactoredValues, local_idle, team_parts
from runcard.mdp.problem import DispatchProblem
from runcard.response.teams import Teams

from .problems import make_problem, random_tables, sum_of_tables
from .reference import Dense


def table_of(values: FactoredValues, g: int) -> NDArray[np.float64]:
    """Table g by the idle trucks of each of its stations, cut out of the list by counting."""
    shapes = [tuple(values.problem.trucks[own] + 1) for own in values.stations]
    start = sum(int(np.prod(shape)) for shape in shapes[:g])
    return values.value[start : start + int(np.prod(shapes[g]))].reshape(shapes[g])


def value_at(values: FactoredValues, idle: tuple[int, ...]) -> float:
    """h(f) = Σ_G H_G(f at the stations of G)."""
    return sum(float(table_of(values, g)[tuple(idle[i] for i in own)]) for g, own in enumerate(values.stations))


CASES = [
    (make_problem([2, 1, 3, 1], [3, 1, 2, 2, 1], seed=1), [[0, 2], [1, 2, 3], [3]]),
    (make_problem([1] * 6, [2] * 7, seed=2), [[0, 1, 2], [2, 3, 4], [0, 5], [1, 3, 5]]),
    (make_problem([1, 2, 1], [1, 1, 1], seed=3), [[0, 1, 2]]),
    (make_problem([4], [3, 2], seed=4), [[0]]),
    (make_problem([1] * 6, [4, 4, 2], seed=5), [[0, 1, 2, 3, 4], [1, 2, 4, 5], [0, 3], [5]]),
    (make_problem([4, 1, 2], [4, 1, 3], seed=6), [[0, 1], [0, 2]]),
]


@pytest.mark.parametrize(("problem", "neighbourhoods"), CASES)
def test_prices_are_differences_of_the_sum(problem: DispatchProblem, neighbourhoods: list[list[int]]) -> None:
    """In every state the price of every idle team is h(f-a) - h(f); values are 0 with every truck idle."""
    values, dense = random_tables(problem, neighbourhoods), Dense(problem)
    full = value_at(values, dense.states[-1])
    found = sum_of_tables(values)[: problem.num_states]
    np.testing.assert_allclose(found, [value_at(values, state) - full for state in dense.states], atol=1e-13)
    assert found[-1] == 0.0
    for state in dense.states:
        teams = np.flatnonzero((problem.teams.counts <= state).all(axis=1))
        after = [tuple((np.array(state) - problem.teams.counts[team]).tolist()) for team in teams]
        expected = [value_at(values, left) - value_at(values, state) for left in after]
        np.testing.assert_allclose(values.prices(np.array(state), teams), expected, rtol=0, atol=1e-13)


def idle_chance(values: FactoredValues, state: tuple[int, ...], but: list[int]) -> float:
    """The chance of the idle trucks of a state at all stations but some, when trucks are busy independently."""
    chance = 1.0
    for i, idle in enumerate(state):
        if i not in but:
            trucks, p = int(values.problem.trucks[i]), float(values.busy[i])
            chance *= comb(trucks, idle) * (1 - p) ** idle * p ** (trucks - idle)
    return chance


@pytest.mark.parametrize(("problem", "neighbourhoods"), CASES)
@each_seed(3)
def test_local_prices_are_means_over_all_other_trucks(
    problem: DispatchProblem, neighbourhoods: list[list[int]], seed: int
) -> None:
    """In every state of some stations, the price of a team is its mean price over the independent rest of the city."""
    values, dense, rng = random_tables(problem, neighbourhoods, seed), Dense(problem), np.random.default_rng(seed)
    stations = np.sort(rng.choice(problem.num_stations, rng.integers(1, problem.num_stations + 1), replace=False))
    local = local_idle(problem.trucks[stations])
    teams = local[local.sum(axis=1) <= 4]
    found = values.local_prices(stations, teams)
    full = sum_of_tables(values)
    for (x, idle), (n, team) in product(enumerate(local.tolist()), enumerate(teams.tolist())):
        if any(taken > have for taken, have in zip(team, idle, strict=True)):
            continue
        expected = 0.0
        for place, state in enumerate(dense.states):
            if [state[i] for i in stations] == idle:
                left = list(state)
                for i, taken in zip(stations.tolist(), team, strict=True):
                    left[i] -= taken
                price = full[dense.number[tuple(left)]] - full[place]
                expected += idle_chance(values, state, stations.tolist()) * price
        assert found[x, n] == pytest.approx(expected, abs=1e-12)


def test_parts_of_a_team() -> None:
    """One truck has no parts, two have themselves, three their pairs too, four also their threes; in any station."""
    teams = Teams.of([1, 2, 2, 1], 4)
    parts = team_parts(teams)

    def parts_of(*team: int) -> list[tuple[int, ...]]:
        numbers = [number for number in parts[teams.number(team)].tolist() if number >= 0]
        return [tuple(i for i in stations if i >= 0) for stations in teams.stations[numbers].tolist()]

    assert parts_of() == parts_of(3) == []
    assert parts_of(1, 1) == [(1,), (1,)]
    assert parts_of(1, 2, 2) == [(1,), (2,), (2,), (1, 2), (1, 2), (2, 2)]
    singles, pairs = [(1,), (2,), (2,), (3,)], [(1, 2), (1, 2), (1, 3), (2, 2), (2, 3), (2, 3)]
    assert parts_of(1, 2, 2, 3) == [*singles, *pairs, (1, 2, 2), (1, 2, 3), (1, 2, 3), (2, 2, 3)]
