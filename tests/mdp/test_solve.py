"""Tests of the optimum against policy iteration by dense algebra and against every policy there is."""

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.mdp import cpu, layout
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule, ValueRule
from runcard.mdp.solve import Progress, solve_optimal

from .problems import make_problem, random_problem
from .reference import Dense, value_error

BUSY = make_problem([1, 2, 1, 2], [2, 3, 1, 2], load=0.8, seed=2)


def assert_optimal(problem: DispatchProblem, *, threads: int = 1) -> None:
    """Assert that the optimum of dense policy iteration lies in the bounds of a solution, which attains it."""
    found, exact = solve_optimal(problem, threads=threads), Dense(problem).optimum()[1]
    assert found.converged
    rounding = 1e-13 * (1.0 + np.abs(exact.value).max())
    assert found.lower - rounding <= exact.late_fraction <= found.upper + rounding
    assert found.upper - found.lower <= found.tolerance * found.upper + 2 * rounding
    attained = evaluate_rule(problem, ValueRule(found.value))
    assert attained.late_fraction == pytest.approx(exact.late_fraction, rel=2 * found.tolerance, abs=rounding)


@each_seed(60)
def test_the_optimum_is_that_of_dense_policy_iteration(seed: int) -> None:
    """Whatever the trucks, needs and loads, the optimum is that of Howard's policy iteration on dense matrices.

    Nor does a fixed order of stations for each demand point beat it.
    """
    problem = random_problem(seed)
    assert_optimal(problem)
    if seed < 10:
        order = evaluate_rule(problem, OrderRule(problem.order))
        assert solve_optimal(problem).lower <= order.upper * (1 + 1e-12)


@each_seed(30)
def test_the_values_are_those_of_the_optimum(seed: int) -> None:
    """The values solve the Bellman equation in every state, so that prices of teams of every size can be read off."""
    problem = random_problem(seed)
    exact = Dense(problem).optimum()[1]
    found = solve_optimal(problem, tolerance=1e-11, threads=1)
    assert value_error(found.value, exact, problem) <= 1e-6


SMALLEST = [
    ([1], [1]), ([1], [3]), ([1], [4]), ([3], [2, 1]), ([1, 1], [3, 3]), ([5], [1, 2, 3]), ([4, 2], [3]),
    ([6], [4, 2, 1]), ([4, 3], [4, 4]), ([1, 1], [4, 1]), ([5, 1, 1], [4, 3]),
]  # fmt: skip


def test_the_smallest_problems_and_extreme_loads() -> None:
    """One truck, one station, one demand point, more trucks wanted than there are; hardly any incident, and too many.

    Costs of few values, where many teams are equally good, or all of them, end in the same optimum.
    """
    for trucks, needed in SMALLEST:
        assert_optimal(make_problem(trucks, needed, load=0.4, seed=13))
    for load in (1e-6, 1e-3, 10.0, 50.0):
        assert_optimal(make_problem([2, 1, 1], [2, 1, 2], load=load, seed=8))
    for costs in ([0.0, 1.0], [0.5], [0.0], [1.0], [0.25, 0.5, 0.75]):
        for load in (0.1, 2.0):
            assert_optimal(make_problem([1, 2, 1, 1], [2, 1, 3, 4, 2], load=load, cost=costs, seed=11))


@pytest.mark.parametrize(
    ("trucks", "needed"),
    [
        ([1, 1], [1]), ([1, 1], [1, 1, 1]), ([2, 1], [1, 1]), ([1, 1, 1], [2]), ([1, 1, 1], [1, 2]),
        ([1, 1, 1], [2, 2]), ([1, 1, 1], [1, 1]), ([2, 2], [1, 1]), ([2, 1, 1], [3]), ([2, 1, 1, 1], [4]),
        ([3, 2], [4, 4]), ([4, 1], [4, 1]),
    ],
)  # fmt: skip
def test_the_optimum_is_the_best_of_all_policies(trucks: list[int], needed: list[int]) -> None:
    """Where all policies can be tried, one by one, none is better than the optimum, and one is as good."""
    for load in (0.05, 0.8):
        problem = make_problem(trucks, needed, load=load, seed=len(trucks) + sum(needed))
        dense = Dense(problem)
        assert 2 <= dense.num_policies() <= 2000
        found = solve_optimal(problem)
        assert found.converged
        assert (found.lower + found.upper) / 2 == pytest.approx(dense.best_of_all(), rel=1e-9)


@pytest.mark.parametrize("num_points", [1, 7, 8, 9, 16, 17, 33])
def test_every_number_of_demand_points(num_points: int) -> None:
    """Tiles of demand points that are not full do not count, whatever the points of another class cost."""
    classes = [[2] * num_points, [1] * 3, [3], [4] * 2]
    for turn in range(4):  # each class comes last once
        needed = [k for members in classes[turn:] + classes[:turn] for k in members]
        assert_optimal(make_problem([1, 2, 1, 1], needed, load=0.3, seed=num_points))


def test_keys_of_32_bits_lead_to_the_same_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large problems begin with keys of 32 bits: they end in the same proven optimum, with thousands of states, too."""
    problem = make_problem([1, 2, *[1] * 10], [2, 1, 2, 3, 4, 2, 1], load=0.3, seed=3)
    fine = solve_optimal(problem)
    monkeypatch.setattr(cpu, "SMALL", 0)
    for seed in range(10):
        assert_optimal(random_problem(seed))
    coarse = solve_optimal(problem)
    assert fine.converged
    assert coarse.converged
    assert max(fine.lower, coarse.lower) <= min(fine.upper, coarse.upper)
    assert coarse.upper == pytest.approx(fine.upper, rel=2e-9)


@pytest.mark.parametrize("chunk_states", [1, 5, 30])
def test_the_size_of_a_chunk_does_not_matter(chunk_states: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """States cut into chunks of any size give the same optimum."""
    monkeypatch.setattr(layout, "CHUNK_STATES", chunk_states)
    assert_optimal(make_problem([2, 1, 3, 1], [2, 1, 3, 4, 2, 1], load=0.4, seed=5), threads=2)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_bounds_hold_at_every_step(limit: int) -> None:
    """Stopped early, the solver says that it did not converge, and its bounds still hold the optimum."""
    exact = Dense(BUSY).optimum()[1]
    found = solve_optimal(BUSY, max_improvements=limit)
    assert not found.converged
    assert found.improvements == limit
    assert found.lower <= exact.late_fraction <= found.upper
    greedy = evaluate_rule(BUSY, ValueRule(found.value))
    assert found.lower <= greedy.late_fraction <= found.upper * (1 + 1e-12)


def test_the_tolerance_is_met_and_not_much_more() -> None:
    """The relative gap of the bounds is below the tolerance, and a looser one takes no more steps.

    Progress is told after every step: the bounds close, and the last ones are those of the solution.
    """
    tight = solve_optimal(BUSY, tolerance=1e-11)
    for tolerance in (1e-2, 1e-4, 1e-6, 1e-11):
        steps: list[Progress] = []
        found = solve_optimal(BUSY, tolerance=tolerance, progress=steps.append)
        assert found.converged
        assert 0.0 <= found.upper - found.lower <= tolerance * found.upper + 1e-13
        assert found.improvements <= tight.improvements
        assert max(found.lower, tight.lower) <= min(found.upper, tight.upper)
        assert [now.step for now in steps] == list(range(1, found.improvements + 1))
        assert (steps[-1].lower, steps[-1].upper) == (found.lower, found.upper)
        assert steps[-1].upper - steps[-1].lower < steps[0].upper - steps[0].lower
        assert {step.tolerance for step in steps} == {tolerance}


def test_it_gives_up_only_what_is_proven_to_be_above() -> None:
    """Just above the optimum nothing is given up, though bounds begin far above it; below it, it ends early."""
    problem = make_problem([1, 2, 1], [1, 2], load=0.5, seed=4)
    exact = solve_optimal(problem)
    kept = solve_optimal(problem, give_up_above=exact.upper * 1.001)
    assert (kept.converged, kept.lower, kept.upper) == (True, exact.lower, exact.upper)
    early = solve_optimal(problem, give_up_above=0.5 * exact.lower)
    assert not early.converged
    assert early.improvements < exact.improvements
    assert 0.5 * exact.lower < early.lower <= exact.lower
