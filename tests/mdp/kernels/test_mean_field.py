"""Tests of the kernels of the mean field; tests/mdp/test_mean_field.py follows whole paths."""

import numpy as np
import pytest

from runcard.mdp.kernels.mean_field import LEAST_IDLE, chances_of_counts, find_steady
from runcard.mdp.mean_field import MeanField
from runcard.mdp.problem import DispatchProblem

from ..problems import make_problem


def test_a_truck_is_never_wholly_busy() -> None:
    """What is asked of a truck that is busy for sure is defined: it counts as idle with a tiny chance."""
    counts, one = np.zeros((1, 2)), np.ones(1, np.int64)
    chances_of_counts(one, one, np.ones(1), np.ones(1), counts)
    assert counts[0, 1] == LEAST_IDLE


@pytest.mark.parametrize(
    "problem",
    [
        make_problem([1, 1, 1], [1, 2], load=0.2, seed=1),
        make_problem([2, 1, 3], [2, 1, 3], load=0.4, seed=2),
        make_problem([3, 2], [4, 1], load=1.0, seed=3),
    ],
)
def test_steady_chances_repeat_themselves(problem: DispatchProblem) -> None:
    """A truck is asked and returns equally often at the steady chances, which are found from any start."""
    field = MeanField(problem, problem.order)
    groups, found = field._groups(None), []
    for start in (0.1, 0.9):
        busy, by_group = np.full(problem.num_stations, start), np.zeros((len(field.members), problem.num_stations))
        assert find_steady(groups, problem.trucks, problem.returns_per_day, busy, 2000, by_group) < 1e-12
        leaving = problem.returns_per_day * busy * problem.trucks
        np.testing.assert_allclose(by_group.sum(axis=0), leaving, rtol=1e-8)
        found.append(busy)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
