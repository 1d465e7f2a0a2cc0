"""Tests of the values of every state after one event, against the equation of the kernel's docstring written out."""

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.mdp.factored import FactoredValues
from runcard.mdp.kernels.lookahead_table import values_ahead
from runcard.mdp.problem import DispatchProblem
from runcard.policy.ahead import AheadPolicy

from ..problems import make_problem
from ..reference import Dense

PROBLEMS = [
    make_problem([1, 1, 1], [1, 2], load=0.2, seed=1),
    make_problem([2, 1, 3], [2, 1, 3], load=2.0, seed=2),
    make_problem([2, 2, 1], [4, 2], load=0.5, seed=3),
]


def one_table(problem: DispatchProblem) -> tuple[FactoredValues, NDArray[np.float64]]:
    """Random values of every state as one table of all stations, and the same as a list."""
    value = np.random.default_rng(4).random(problem.num_states)
    every, points = np.arange(problem.num_stations), np.arange(problem.num_points)
    return FactoredValues(problem, (every,), (points,), value, np.full(problem.num_stations, 0.3)), value


@pytest.mark.parametrize("problem", PROBLEMS)
def test_one_event_ahead_of_any_values(problem: DispatchProblem) -> None:
    """(Λ + μ B) h'(f) is Σ λ min { cost + h(f-a) } over the incidents and μ Σ h(f+e) over the trucks that return."""
    values, value = one_table(problem)
    policy, dense = AheadPolicy(name="ahead", problem=problem, values=values), Dense(problem)
    out = np.full(problem.num_states, np.nan)
    half = problem.num_states // 2
    for start, stop in ((0, half), (half, problem.num_states)):
        values_ahead(start, stop, policy._teams.scratch(), policy._teams, values.tables, out)
    best = np.zeros(problem.num_states)
    for place, j, _, totals in dense.totals(value):
        best[place] += problem.incidents_per_day[j] * totals.min()
    for place, state in enumerate(dense.states):
        total, leaving = best[place], problem.total_incidents_per_day
        for i, (idle, trucks) in enumerate(zip(state, problem.trucks.tolist(), strict=True)):
            if idle < trucks:
                rate = problem.returns_per_day * (trucks - idle)
                total += rate * value[dense.number[*state[:i], idle + 1, *state[i + 1 :]]]
                leaving += rate
        assert out[place] == pytest.approx(total / leaving, rel=1e-12)
