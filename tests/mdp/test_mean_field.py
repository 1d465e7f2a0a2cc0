"""Tests of the mean field, against a dense integration of its equations over all states of the city."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.city import generate_grid
from runcard.mdp import mean_field
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.kernels.mean_field import add_taken
from runcard.mdp.mean_field import MeanField, mean_field_values
from runcard.mdp.problem import DispatchProblem

from .problems import make_problem, sum_of_tables
from .reference import Dense, Table

Floats = NDArray[np.float64]


class DenseField:
    """The mean field of a policy that is given as a table, with one product measure over all states of the city.

    Trucks that are idle at the start keep one busy chance per station, and those that are busy another; c(p) and R_i(p)
    are sums over all states; the paths are followed by the classical Runge-Kutta method with many even steps.
    """

    def __init__(self, problem: DispatchProblem, table: Table) -> None:
        dense = Dense(problem)
        self.problem, self.states = problem, np.array(dense.states)
        self.late = dense.rate_of(problem.cost, table)
        self.taken = np.einsum("j,sji->si", problem.incidents_per_day, problem.teams.counts[table].astype(float))

    def counts(self, i: int, from_idle: Floats, from_busy: Floats, idle: NDArray[np.int64]) -> Floats:
        """[paths, C_i + 1] the chance of each number of idle trucks at station i."""
        trucks = int(self.problem.trucks[i])
        chance = np.zeros((len(idle), trucks + 1))
        chance[:, 0] = 1.0
        for n in range(trucks):
            # A station of which every truck is busy is asked as it would be an instant later.
            q = np.maximum(1.0 - np.where(n < idle, from_idle, from_busy), 1e-9)[:, None]
            chance = chance * (1.0 - q) + np.concatenate([np.zeros((len(idle), 1)), chance[:, :-1] * q], axis=1)
        return chance

    def rates(self, p: Floats, start: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """[paths] c(p), and [paths, I] D(p), for p [2, paths, I]."""
        problem = self.problem
        product = np.ones((len(start), len(self.states)))
        expected = np.empty(start.shape)
        for i in range(problem.num_stations):
            counts = self.counts(i, p[0, :, i], p[1, :, i], start[:, i])
            product *= counts[:, self.states[:, i]]
            expected[:, i] = counts @ np.arange(counts.shape[1])
        return product @ self.late, (product @ self.taken) / expected

    def slope(self, p: Floats, start: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """c(p), and dp/dt."""
        late, asked = self.rates(p, start)
        return late, asked * (1.0 - p) - self.problem.returns_per_day * p

    def values(self, steps: int) -> Floats:
        """[states] ∫ c(p(t)) dt over 8/μ from every state, less that from the state with every truck idle."""
        start = self.states
        p = np.stack([np.zeros(start.shape), np.ones(start.shape)])
        step = 8.0 / self.problem.returns_per_day / steps
        total = np.zeros(len(start))
        for _ in range(steps):
            late1, slope1 = self.slope(p, start)
            late2, slope2 = self.slope(p + 0.5 * step * slope1, start)
            late3, slope3 = self.slope(p + 0.5 * step * slope2, start)
            late4, slope4 = self.slope(p + step * slope3, start)
            total += step / 6.0 * (late1 + 2.0 * late2 + 2.0 * late3 + late4)
            p = p + step / 6.0 * (slope1 + 2.0 * slope2 + 2.0 * slope3 + slope4)
        return total - total[-1]

    def unbalanced(self, busy: Floats) -> Floats:
        """[I] by how much the trucks that leave a station differ from those that return, over all that leave."""
        p = np.broadcast_to(busy, (2, 1, len(busy)))
        _, asked = self.rates(p, self.problem.trucks[None, :])
        leaving = asked[0] * (1.0 - busy) * self.problem.trucks
        return (leaving - self.problem.returns_per_day * busy * self.problem.trucks) / leaving.sum()


def problems() -> Iterator[DispatchProblem]:
    """Needs of one to four trucks, stations of one to three, loads from low to high, and a grid."""
    yield make_problem([1, 1, 1, 1], [1, 1, 1, 1, 1], load=0.2, seed=1)
    yield make_problem([1, 1, 1, 1], [2, 2, 2, 2, 2], load=0.05, seed=2)
    yield make_problem([1, 1, 1, 1], [3, 2, 3], load=0.4, seed=3)
    yield make_problem([2, 1, 3], [2, 1, 3, 2], load=0.3, seed=4)
    yield make_problem([3], [1, 2], load=1.0, seed=5)
    yield make_problem([2, 2, 1], [2, 1], load=0.1, seed=6, rates=[1.0, 0.0])
    yield make_problem([1, 1, 1, 1, 1], [4, 2, 4], load=0.2, seed=8)
    yield make_problem([3, 1, 2], [4, 1, 4], load=0.3, seed=9)
    yield dispatch_problem(generate_grid(side=4, num_stations=4, load=0.4, seed=7))


@pytest.fixture(params=list(problems()), ids=range(9))
def problem(request: pytest.FixtureRequest) -> DispatchProblem:
    """Each of the problems in turn."""
    return request.param


def distance(found: Floats, exact: Floats) -> float:
    """The largest difference of values, over their range."""
    return float(np.abs(found[: len(exact)] - exact).max() / np.ptp(exact))


def test_values_of_closest_first(problem: DispatchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """One table is the integral along the dense path: within some percent with the usual steps, closer with more."""
    exact = DenseField(problem, Dense(problem).order_table(problem.order)).values(400)
    usual = distance(sum_of_tables(MeanField(problem, problem.order).values()), exact)
    errors = []
    for steps in (50, 100, 200):
        monkeypatch.setattr(mean_field, "STEPS", steps)
        errors.append(distance(sum_of_tables(MeanField(problem, problem.order).values()), exact))
    assert usual < 0.08
    assert errors[2] < 1e-4
    # A method of second order: twice the steps, a quarter of the error.
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.1)


def test_values_of_the_second_round(problem: DispatchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second round is the mean field of the policy that is greedy for the values of the first.

    In the steady state as many trucks leave each station as return to it, in both rounds.
    """
    monkeypatch.setattr(mean_field, "STEPS", 200)
    dense, first, second = Dense(problem), MeanField(problem, problem.order).values(), mean_field_values(problem)
    closest = DenseField(problem, dense.order_table(problem.order))
    greedy = DenseField(problem, dense.greedy_table(sum_of_tables(first)))
    assert distance(sum_of_tables(second), greedy.values(400)) < 1e-4
    for values, field in ((first, closest), (second, greedy)):
        assert np.abs(field.unbalanced(values.busy)).max() < 1e-8


@pytest.mark.parametrize("needed", [1, 2, 3])
def test_several_neighbourhoods_cost_and_take_what_the_city_does(needed: int) -> None:
    """In the steady state all of them together cost and take, here and elsewhere, what the whole city does.

    Each has as many stations as fit: three of one truck each have just the eight states that there may be.
    """
    order = np.array([np.roll(range(5), -first) for first in range(5)])
    problem = replace(make_problem([1] * 5, [needed] * 5, load=0.4, seed=3), order=order)
    field = MeanField(problem, order, local_states=8)
    groups, busy = field._groups(None), np.broadcast_to(field.busy, (2, 1, 5))
    assert groups.num_stations.tolist() == [3] * 5
    taken, late, counts = np.zeros((1, 5)), np.zeros((5, 1)), np.stack([field.busy, 1.0 - field.busy], axis=1)[None]
    for g in range(5):
        add_taken(g, groups, problem.trucks, counts, np.empty(8), taken, late[g])
    cost, asked = DenseField(problem, Dense(problem).order_table(order)).rates(busy, problem.trucks[None, :])
    assert late.sum() == pytest.approx(cost[0], rel=1e-9)
    assert taken[0] == pytest.approx(asked[0] * (1.0 - field.busy), rel=1e-9)
