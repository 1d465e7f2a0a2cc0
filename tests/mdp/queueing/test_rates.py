"""Tests of the rates at which trucks are asked, against listing every set of idle trucks or every team."""

from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.seeds import each_seed

from runcard.mdp.problem import DispatchProblem
from runcard.mdp.queueing.rates import exact_rates

from ..problems import make_problem, random_problem
from .cases import orders, queues_of, rates_of


def exact_by_listing(problem: DispatchProblem, busy: NDArray[np.float64]) -> NDArray[np.float64]:
    """[N] the exact rates: for every set of idle trucks, an incident asks trucks until it has k of them."""
    rates = np.zeros(problem.num_trucks)
    for idle in product((0, 1), repeat=problem.num_trucks):
        chance = np.prod(np.where(idle, 1.0 - busy, busy))
        for order, rate, k in zip(orders(problem), problem.incidents_per_day, problem.trucks_needed, strict=True):
            missing = k
            for n in order:
                rates[n] += rate * chance * (missing > 0)
                missing -= idle[n]
    return rates


def printed_by_listing(problem: DispatchProblem, busy: NDArray[np.float64]) -> NDArray[np.float64]:
    """[N] the printed rates: an incident asks each team of own trucks that all other trucks before its last allow.

    A team with fewer than k own trucks is filled up from outside: it is asked if all other trucks are busy.
    """
    rates = np.zeros(problem.num_trucks)
    for order, rate, k in zip(orders(problem), problem.incidents_per_day, problem.trucks_needed, strict=True):
        for size in range(1, k + 1):
            for team in combinations(range(len(order)), size):
                end = team[-1] if size == k else len(order)
                chance = np.prod([busy[order[c]] for c in range(end) if c not in team])
                rates[[order[c] for c in team]] += rate * chance
    return rates


@pytest.mark.parametrize("needed", [[1], [2, 2], [3, 1], [4, 2, 3]])
@pytest.mark.parametrize("trucks", [[1], [1, 1, 1], [2, 1, 3]])
def test_exact_rates(trucks: list[int], needed: list[int]) -> None:
    """The exact rates, by walks along the orders, are those of listing every set of idle trucks."""
    problem = make_problem(trucks, needed, seed=len(trucks))
    busy = np.random.default_rng(len(needed)).random(problem.num_trucks)
    np.testing.assert_allclose(rates_of(queues_of(problem), busy), exact_by_listing(problem, busy), rtol=1e-11)


@each_seed(25)
def test_printed_rates(seed: int) -> None:
    """The printed rates, by sums over sets that grow truck by truck, are those of listing every team."""
    problem = random_problem(seed)
    busy = np.random.default_rng(seed).random(problem.num_trucks)
    found = rates_of(queues_of(problem, "printed", 1.0), busy)
    np.testing.assert_allclose(found, printed_by_listing(problem, busy), rtol=1e-11)


@pytest.mark.parametrize("stop", [1e-2, 1e-4])
def test_walks_stop(stop: float) -> None:
    """A walk that stops early leaves out at most its share of a rate, and something."""
    problem = make_problem([1] * 12, [1, 2, 3, 4], seed=1)
    queues, busy = queues_of(problem), np.full(12, 0.3)
    every, exact = queues.independent.with_outside(busy), rates_of(queues, busy)
    asked = np.zeros_like(every)
    exact_rates(queues.independent.walks._replace(stop=stop), every, asked)
    left_out = exact - asked[:12]
    assert (left_out > -1e-12).all()
    assert 0.0 < left_out.max() <= stop * problem.total_incidents_per_day
