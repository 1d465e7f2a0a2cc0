"""Tests of the optimum against policy iteration by dense algebra and against every policy there is."""

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.mdp import cpu, layout
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule, ValueRule
from runcard.mdp.solve import Progress, Solution, solve_optimal

from .problems import make_problem, random_problem
from .reference import Dense, Exact, value_error


def assert_optimal(found: Solution, problem: DispatchProblem, exact: Exact) -> None:
    """Assert that a solution has the optimum of dense policy iteration in its bounds, and attains it."""
    assert found.converged
    rounding = 1e-13 * (1.0 + np.abs(exact.value).max())
    assert found.lower - rounding <= exact.late_fraction <= found.upper + rounding
    assert found.upper - found.lower <= found.tolerance * found.upper + 2 * rounding
    attained = evaluate_rule(problem, ValueRule(found.value))
    assert attained.late_fraction == pytest.approx(exact.late_fraction, rel=2 * found.tolerance, abs=rounding)


@each_seed(60)
def test_the_optimum_is_that_of_dense_policy_iteration(seed: int) -> None:
    """Whatever the trucks, needs and loads, the optimum is that of Howard's policy iteration on dense matrices."""
    problem = random_problem(seed)
    assert_optimal(solve_optimal(problem, threads=1), problem, Dense(problem).optimum()[1])


@each_seed(30)
def test_the_values_are_those_of_the_optimum(seed: int) -> None:
    """The values solve the Bellman equation in every state, so that prices of teams of every size can be read off."""
    problem = random_problem(seed)
    exact = Dense(problem).optimum()[1]
    found = solve_optimal(problem, tolerance=1e-11, threads=1)
    assert value_error(found.value, exact, problem) <= 1e-6


@pytest.mark.parametrize(
    ("trucks", "needed"),
    [
        ([1, 1], [1]),
        ([1, 1], [1, 1, 1]),
        ([2, 1], [1, 1]),
        ([1, 1, 1], [2]),
        ([1, 1, 1], [1, 2]),
        ([1, 1, 1], [2, 2]),
        ([1, 1, 1], [1, 1]),
        ([2, 2], [1, 1]),
        ([2, 1, 1], [3]),
        ([2, 1, 1, 1], [4]),
        ([3, 2], [4, 4]),
        ([4, 1], [4, 1]),
    ],
)
@pytest.mark.parametrize("load", [0.05, 0.8])
def test_the_optimum_is_the_best_of_all_policies(trucks: list[int], needed: list[int], load: float) -> None:
    """Where all policies can be tried, one by one, none is better than the optimum, and one is as good."""
    problem = make_problem(trucks, needed, load=load, seed=len(trucks) + sum(needed))
    dense = Dense(problem)
    assert 2 <= dense.num_policies() <= 2000
    found = solve_optimal(problem)
    assert found.converged
    assert (found.lower + found.upper) / 2 == pytest.approx(dense.best_of_all(), rel=1e-9)


@pytest.mark.parametrize("costs", [[0.0, 1.0], [0.5], [0.0], [1.0], [0.25, 0.5, 0.75]])
@pytest.mark.parametrize("load", [0.1, 2.0])
def test_ties(costs: list[float], load: float) -> None:
    """Costs with few values, where many teams are equally good, or all of them, end in the same optimum."""
    problem = make_problem([1, 2, 1, 1], [2, 1, 3, 4, 2], load=load, cost=costs, seed=11)
    found, exact = solve_optimal(problem), Dense(problem).optimum()[1]
    assert found.converged
    assert (found.lower + found.upper) / 2 == pytest.approx(exact.late_fraction, rel=1e-9, abs=1e-13)
    attained = evaluate_rule(problem, ValueRule(found.value))
    assert attained.late_fraction == pytest.approx(exact.late_fraction, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("load", [1e-6, 1e-3, 10.0, 50.0])
def test_extreme_loads(load: float) -> None:
    """A city where hardly anything happens, and one that is overrun, have their optimum found too."""
    problem = make_problem([2, 1, 1], [2, 1, 2], load=load, seed=8)
    assert_optimal(solve_optimal(problem), problem, Dense(problem).optimum()[1])


@pytest.mark.parametrize(
    ("trucks", "needed"),
    [
        ([1], [1]), ([1], [3]), ([1], [4]), ([3], [2, 1]), ([1, 1], [3, 3]), ([5], [1, 2, 3]), ([4, 2], [3]),
        ([6], [4, 2, 1]), ([4, 3], [4, 4]), ([1, 1], [4, 1]), ([5, 1, 1], [4, 3]),
    ],
)  # fmt: skip
def test_the_smallest_problems(trucks: list[int], needed: list[int]) -> None:
    """One truck, one station, one demand point, more trucks wanted than there are: each has its optimum."""
    problem = make_problem(trucks, needed, load=0.4, seed=13)
    assert_optimal(solve_optimal(problem), problem, Dense(problem).optimum()[1])


@pytest.mark.parametrize("num_points", [1, 7, 8, 9, 16, 17, 33])
def test_every_number_of_demand_points(num_points: int) -> None:
    """Tiles of demand points that are not full do not count, whatever the points of another class cost."""
    classes = [[2] * num_points, [1] * 3, [3], [4] * 2]
    for turn in range(4):  # each class comes last once
        needed = [k for members in classes[turn:] + classes[:turn] for k in members]
        problem = make_problem([1, 2, 1, 1], needed, load=0.3, seed=num_points)
        assert_optimal(solve_optimal(problem), problem, Dense(problem).optimum()[1])


@each_seed(10)
def test_keys_of_32_bits_lead_to_the_same_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large problems begin with keys of 32 bits: on small ones they end in the same proven optimum."""
    monkeypatch.setattr(cpu, "SMALL", 0)
    problem = random_problem(seed)
    assert_optimal(solve_optimal(problem, threads=1), problem, Dense(problem).optimum()[1])


def test_keys_of_32_bits_in_several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """With thousands of states, too, beginning with keys of 32 bits gives the optimum of 64 bits throughout."""
    problem = make_problem([1, 2, *[1] * 10], [2, 1, 2, 3, 4, 2, 1], load=0.3, seed=3)
    fine = solve_optimal(problem)
    monkeypatch.setattr(cpu, "SMALL", 0)
    coarse = solve_optimal(problem)
    assert fine.converged
    assert coarse.converged
    assert max(fine.lower, coarse.lower) <= min(fine.upper, coarse.upper)
    assert coarse.upper == pytest.approx(fine.upper, rel=2e-9)


@pytest.mark.parametrize("chunk_states", [1, 5, 30])
def test_the_size_of_a_chunk_does_not_matter(chunk_states: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """States cut into chunks of any size give the same optimum."""
    monkeypatch.setattr(layout, "CHUNK_STATES", chunk_states)
    problem = make_problem([2, 1, 3, 1], [2, 1, 3, 4, 2, 1], load=0.4, seed=5)
    assert_optimal(solve_optimal(problem, threads=2), problem, Dense(problem).optimum()[1])


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_bounds_hold_at_every_step(limit: int) -> None:
    """Stopped early, the solver says that it did not converge, and its bounds still hold the optimum."""
    problem = make_problem([1, 2, 1, 2], [2, 3, 1, 2], load=0.8, seed=2)
    exact = Dense(problem).optimum()[1]
    found = solve_optimal(problem, max_improvements=limit)
    assert not found.converged
    assert found.improvements == limit
    assert found.lower <= exact.late_fraction <= found.upper
    greedy = evaluate_rule(problem, ValueRule(found.value))
    assert found.lower <= greedy.late_fraction <= found.upper * (1 + 1e-12)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6, 1e-11])
def test_the_tolerance_is_met_and_not_much_more(tolerance: float) -> None:
    """The relative gap of the bounds is below the tolerance, and a looser one takes no more steps."""
    problem = make_problem([1, 2, 1, 2], [2, 3, 1, 2], load=0.8, seed=2)
    found, tight = solve_optimal(problem, tolerance=tolerance), solve_optimal(problem, tolerance=1e-11)
    assert found.converged
    assert 0.0 <= found.upper - found.lower <= tolerance * found.upper + 1e-13
    assert found.improvements <= tight.improvements
    assert found.lower <= tight.upper
    assert tight.lower <= found.upper


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


def test_progress_shows_the_bounds_closing() -> None:
    """Progress is told after every step, and the last one says what the solution says."""
    problem = make_problem([1, 2, 1, 2], [2, 3, 1, 2], load=0.8, seed=2)
    steps: list[Progress] = []
    found = solve_optimal(problem, progress=steps.append)
    assert [now.step for now in steps] == list(range(1, found.improvements + 1))
    assert (steps[-1].lower, steps[-1].upper) == (found.lower, found.upper)
    assert steps[-1].upper - steps[-1].lower < steps[0].upper - steps[0].lower
    assert {step.tolerance for step in steps} == {found.tolerance}


@each_seed(10)
def test_no_order_beats_the_optimum(seed: int) -> None:
    """A fixed order of stations for each demand point is never better than the optimum."""
    problem = random_problem(seed)
    order = evaluate_rule(problem, OrderRule(problem.order))
    assert solve_optimal(problem).lower <= order.upper * (1 + 1e-12)
