"""The gap of a policy by what its decisions cost at the optimal values."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.gaps import Decisions, gap, sample
from benchmarks.problem_file import read_problem, write_problem

import runcard
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.solve import solve_optimal


@pytest.fixture(scope="module")
def problem() -> DispatchProblem:
    """A grid of eight trucks where some incidents are late."""
    return runcard.dispatch_problem(runcard.generate_grid(side=6, num_stations=8, load=0.2, seed=2, gamma=0.3))


def test_the_mean_regret_is_the_gap_of_an_exact_evaluation(problem: DispatchProblem) -> None:
    """Of closest-first, within its interval; and the interval is a small part of the gap."""
    best, policy = solve_optimal(problem), runcard.solve_problem(problem, "closest-first")
    found = gap(problem, best.value, best.upper, sample(problem, policy, 6_000))
    exact = runcard.evaluate(policy).late_fraction / best.upper - 1.0
    assert abs(found.mean - exact) < 1.5 * found.half
    assert found.half < 0.2 * found.mean


def test_the_optimum_has_no_regret(problem: DispatchProblem) -> None:
    """Every decision of the optimal policy is the best one."""
    best, policy = solve_optimal(problem), runcard.solve_problem(problem, "optimal")
    found = gap(problem, best.value, best.upper, sample(problem, policy, 400))
    assert found.mean == pytest.approx(0.0, abs=1e-9)


def test_problems_come_back_from_their_files(problem: DispatchProblem, tmp_path: Path) -> None:
    """With the same rates and costs, and what was written beside them."""
    decisions = sample(problem, runcard.solve_problem(problem, "closest-first"), 40)
    write_problem(tmp_path / "one.npz", problem, **decisions._asdict())
    again, arrays = read_problem(tmp_path / "one.npz")
    for key in ("trucks", "incidents_per_day", "cost", "order"):
        assert np.array_equal(getattr(problem, key), getattr(again, key))
    assert again.returns_per_day == problem.returns_per_day
    assert all(np.array_equal(arrays[key], of) for key, of in zip(Decisions._fields, decisions, strict=True))
