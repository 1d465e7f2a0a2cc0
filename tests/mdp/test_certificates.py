"""What `converged` promises, and how small a late fraction can be for it."""

import tracemalloc
from dataclasses import replace

import pytest
from tests.seeds import each_seed

from runcard.mdp import cpu
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.memory import bytes_of_rows, bytes_of_values
from runcard.mdp.rows import OrderRule, ValueRule
from runcard.mdp.solve import solve_optimal

from .problems import grid_problem, random_problem
from .reference import Dense


@pytest.mark.parametrize(
    ("side", "num_stations", "gamma", "load"),
    [
        (6, 6, 0.6, 0.1),
        (6, 6, 3.0, 0.01),
        (5, 4, 4.0, 1e-6),
        (5, 12, 0.6, 20.0),
        (5, 8, 0.6, 300.0),
        (4, 4, 0.6, 900.0),
    ],
)
def test_converged_means_within_the_tolerance(side: int, num_stations: int, gamma: float, load: float) -> None:
    """From one late incident in 10^16 to a city that is overrun: what converged is within its tolerance, or never late.

    The error of the costs comes on top, and no solver can make it smaller.
    And what did not is said to have not; the bounds hold either way, and no policy beats the lower one.
    """
    problem = grid_problem(num_stations, load, side=side, seed=3, gamma=gamma)
    found = solve_optimal(problem, tolerance=1e-9)
    never_late = found.upper <= 1e-15 + problem.cost_error
    assert found.converged
    assert found.upper - found.lower - 2.0 * problem.cost_error <= 1e-9 * found.upper or never_late
    assert solve_optimal(problem, tolerance=0.0).converged == never_late
    closest = evaluate_rule(problem, OrderRule(problem.order))
    optimal = evaluate_rule(problem, ValueRule(found.value))
    assert found.lower <= optimal.upper
    assert optimal.lower <= found.upper
    assert optimal.lower <= closest.upper


@pytest.mark.parametrize("max_improvements", [1, 2])
@each_seed(8)
def test_bounds_of_32_bits_hold(seed: int, max_improvements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solve that is cut short among its steps of 32 bits has valid bounds too, and says that it did not converge.

    At the values of the optimum, where the unit of the keys is all that is left, they hold as well, some units apart.
    """
    monkeypatch.setattr(cpu, "SMALL", 0)
    problem = random_problem(seed)
    total, optimum = problem.total_incidents_per_day, Dense(problem).optimum()[1].late_fraction
    found = solve_optimal(problem, max_improvements=max_improvements, tolerance=1e-14)
    assert found.converged == (found.upper - found.lower <= 1e-12 * found.upper)
    residuals = cpu.cpu_backend(problem, 1).improve(solve_optimal(problem).value, coarse=True).residuals
    bounds, unit = problem.bounds(residuals), residuals.unit / total
    for lower, upper in ((found.lower, found.upper), (bounds.lower / total, bounds.upper / total)):
        assert lower <= optimum * (1 + 1e-12)
        assert optimum * (1 - 1e-12) <= upper
    assert bounds.upper / total - bounds.lower / total <= 3.0 * unit + 1e-11 * optimum


def test_no_more_memory_than_was_thought() -> None:
    """Solving and evaluating take no more memory than the estimate that decides whether they may begin."""
    problem = grid_problem(14, 0.1, side=10)
    solve_optimal(problem, max_improvements=2)  # compiles
    fresh = replace(problem)
    tracemalloc.start()
    found = solve_optimal(fresh, tolerance=1e-6, threads=1)
    evaluate_rule(fresh, ValueRule(found.value), threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Besides what grows with the states there are the keys, and scratch for one chunk.
    assert peak <= bytes_of_values(fresh.num_states) + bytes_of_rows(fresh) + 16 * 2**20
