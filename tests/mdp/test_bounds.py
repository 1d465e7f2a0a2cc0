"""Tests that proven bounds are proven: against forty digits, at extreme rates, costs and loads."""

from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.mdp.bounds import Residuals
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule, ValueRule
from runcard.mdp.solve import solve_optimal

from .problems import grid_problem, make_problem, random_values
from .reference import ManyDigits


def extreme_problem(seed: int) -> DispatchProblem:
    """A problem of few states with busy times from microseconds to years, any load, and costs of any size.

    Costs are from U(0, 1) and then made small together, or some of them very small, and some are 0.
    """
    rng = np.random.default_rng([seed, 6])
    trucks = rng.integers(1, 3, rng.integers(1, 4)).tolist()
    needed = rng.integers(1, 5, rng.integers(1, 4)).tolist()
    load, returns = 10 ** rng.uniform(-9.0, 3.0), 10 ** rng.uniform(-3.0, 8.0)
    problem = make_problem(trucks, needed, load=float(load), seed=seed, returns_per_day=float(returns))
    finite = np.isfinite(problem.cost)
    cost = np.where(finite, problem.cost, 0.0)
    cost = cost * 10 ** rng.uniform(-20.0, 0.0) if seed % 2 else cost ** rng.integers(1, 40)
    if seed % 3 == 0:
        cost = np.where(rng.random(cost.shape) < 0.6, 0.0, cost)
    return replace(problem, cost=np.where(finite, cost, np.inf), measures={})


@each_seed(40)
def test_bounds_hold_to_the_last_digit(seed: int) -> None:
    """The optimum and closest-first in forty digits lie in the proven intervals, without any slack.

    Values that nothing was done to give bounds as well, in coarse and in fine numbers, also on closest-first.
    """
    problem = extreme_problem(seed)
    exact = ManyDigits(problem)
    solution, closest = solve_optimal(problem), evaluate_rule(problem, OrderRule(problem.order))
    optimum, (of_closest, _) = exact.optimum(), exact.values(exact.dense.order_table(problem.order))
    assert solution.lower <= optimum <= solution.upper
    assert closest.lower <= of_closest <= closest.upper
    assert solution.lower <= evaluate_rule(problem, ValueRule(solution.value)).upper
    backend, total = cpu_backend(problem, 1), sum(exact.rates)
    for size in (1e-6, 1.0, 1e6) if seed < 10 else ():
        value = random_values(problem, seed, size=size)
        greedy, _ = exact.values(exact.dense.greedy_table(value))
        for coarse in (True, False):
            bounds = problem.bounds(backend.improve(value, coarse=coarse).residuals)
            assert bounds.lower <= optimum * total <= bounds.upper
            assert coarse or greedy * total <= bounds.upper * (1.0 + 1e-9)
        bounds = problem.bounds(backend.residuals(backend.rows(OrderRule(problem.order)), value))
        assert bounds.lower <= of_closest * total <= bounds.upper


@pytest.mark.parametrize("load", [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])
def test_every_load_converges(load: float) -> None:
    """From one incident per truck and busy time to a thousand, solving and evaluating converge, to what is exact.

    So do they with a thousand states.
    """
    for trucks in ([1, 1], [2, 1, 1], [1, 1, 1, 1], [3, 3]):
        problem = make_problem(trucks, [2, 1, 3, 4], load=load * (1.0 - 1e-9), seed=3)
        exact = ManyDigits(problem)
        solution, closest = solve_optimal(problem), evaluate_rule(problem, OrderRule(problem.order))
        assert solution.converged
        assert closest.converged
        assert solution.lower <= exact.optimum() <= solution.upper
        of_closest, _ = exact.values(exact.dense.order_table(problem.order))
        assert closest.cost == pytest.approx(float(of_closest), rel=1e-10)
    problem = grid_problem(10, load * (1.0 - 1e-9), side=5, seed=3)
    solution, closest = solve_optimal(problem), evaluate_rule(problem, OrderRule(problem.order))
    assert solution.converged
    assert closest.converged
    assert solution.lower <= closest.upper


def test_bounds_are_not_close_while_the_residuals_of_a_level_are_not() -> None:
    """States that almost never occur move no bound, but somebody decides in one: their residuals count as they are."""
    problem = make_problem([1, 1, 1], [1], load=1e-6, seed=1)
    total = problem.total_incidents_per_day
    even = np.full(problem.num_trucks + 1, 0.5 * total)
    uneven = even.copy()
    uneven[0] += 0.1 * total  # no truck is idle
    for highest, close in ((even, True), (uneven, False)):
        bounds = problem.bounds(Residuals(even, highest, np.zeros(len(even))))
        assert bounds.gap <= 1e-6 * bounds.upper
        assert bounds.within(1e-6, total) is close


def test_nothing_late_is_proven_to_be_nothing() -> None:
    """Where no team is ever late, what cannot be ruled out is far below anything that is."""
    solution = solve_optimal(make_problem([1, 2], [2, 1], cost=[0.0]))
    assert solution.converged
    assert solution.lower == 0.0
    assert solution.upper < 1e-100


def test_small_costs_are_solved_as_well_as_large_ones() -> None:
    """All costs times a very small number give the same policy, and the optimum times that number."""
    problem = make_problem([1, 2, 1], [2, 1, 2], seed=4)
    small = replace(problem, cost=problem.cost * 2.0**-40, measures={})
    one, other = solve_optimal(problem), solve_optimal(small)
    assert other.converged
    assert other.upper * 2.0**40 == pytest.approx(one.upper, rel=1e-12)


@each_seed(8)
def test_negative_costs_are_bounded_too(seed: int) -> None:
    """Costs that cancel leave residuals that are far smaller than what was added: rounding counts the costs."""
    problem = make_problem([1], [1] * 50, load=0.5, seed=seed)
    cost = np.random.default_rng(seed).normal(0.0, 1e6, problem.num_points)
    cost -= problem.incidents_per_day @ cost / problem.total_incidents_per_day
    problem = replace(problem, cost=np.vstack([cost, cost]), measures={})
    per_day = [Fraction(rate) for rate in problem.incidents_per_day.tolist()]
    exact = sum(rate * Fraction(each) for rate, each in zip(per_day, cost.tolist(), strict=True)) / sum(per_day)
    for found in (solve_optimal(problem), evaluate_rule(problem, OrderRule(problem.order))):
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower < 1e-6


@pytest.mark.parametrize("num_points", [100, 1000, 10_000])
@each_seed(4)
def test_many_demand_points_add_up_their_rounding(num_points: int, seed: int) -> None:
    """Two trucks that cost alike are Erlang's loss system: with ten thousand points, too, it lies in the bounds."""
    rng = np.random.default_rng(seed)
    costs = np.outer([0.9, 0.1, 0.1], 1.0 + 1e-3 * (seed % 2) * rng.random(num_points))
    rates = 1.0 + 1e-2 * (seed // 2) * rng.random(num_points)
    problem = make_problem([1, 1], [1] * num_points, load=0.3, rates=rates.tolist())
    problem = replace(problem, cost=costs, measures={})
    per_day = [mp.mpf(float(rate)) for rate in problem.incidents_per_day]
    total = sum(per_day)
    none_idle, some_idle = (sum(r * mp.mpf(float(c)) for r, c in zip(per_day, row, strict=True)) for row in costs[:2])
    offered = total / mp.mpf(float(problem.returns_per_day))
    blocked = offered**2 / 2 / (1 + offered + offered**2 / 2)
    exact = (blocked * none_idle + (1 - blocked) * some_idle) / total
    for found in (solve_optimal(problem), evaluate_rule(problem, OrderRule(problem.order))):
        assert found.converged
        assert found.lower <= exact <= found.upper


@pytest.mark.parametrize("unit", [0.0, 1e-6])
def test_each_part_of_the_rounding_is_counted(unit: float) -> None:
    """Bounds are moved outwards by what the proof says, and by no more: sums, twice with keys, levels, and the keys."""
    problem, num_terms, most_negative, u = make_problem([2, 1], [2, 1], load=0.4), 30, 0.25, 2.0**-53
    rng = np.random.default_rng(1)
    lowest, largest = rng.normal(size=4), rng.random(4)
    highest = lowest + rng.random(4)
    found = Residuals(lowest, highest, largest, unit).bounds(
        problem.levels, num_terms=num_terms, most_negative=most_negative
    )
    chance, rates = problem.levels.idle_distribution, problem.levels.generator
    middle = sum(chance * (lowest + highest)) / 2.0
    size, of_levels = 2.0 * problem.total_incidents_per_day * most_negative, 4.0 * 4 * abs(middle)
    for n in range(4):
        changes = sum(rates[n, m] * (largest[n] + largest[m]) for m in range(4) if m != n)
        size += chance[n] * (max(abs(lowest[n]), abs(highest[n])) + changes)
        of_levels += 32.0 * 4 * chance[n] * max(abs(lowest[n] - middle), abs(highest[n] - middle))
    wanted = u * ((num_terms + 16) * size * (2.0 if unit else 1.0) + of_levels) + unit
    assert found.rounding - unit == pytest.approx(wanted - unit, rel=1e-6, abs=0.0)  # else 1e-12 would be the same
    assert (found.lower, found.upper) == (
        float(chance @ lowest) - found.rounding,
        float(chance @ highest) + found.rounding,
    )


def test_rounding_grows_with_the_number_of_terms() -> None:
    """A sum of more terms may be off by more: nothing less is proven."""
    problem, residuals = make_problem([1, 1], [1, 2]), Residuals(np.ones(3), np.ones(3), np.ones(3))
    few, many = (residuals.bounds(problem.levels, num_terms=num) for num in (10, 10_000))
    assert many.rounding > 100.0 * few.rounding
    assert many.noise == few.noise
    assert mp.mpf(many.lower) < mp.mpf(few.lower) < 1 < few.upper < many.upper
