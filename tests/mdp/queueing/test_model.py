"""Tests of the queues of a problem: trucks of one station, teams that are left out, and what is said on failure."""

import numpy as np
import pytest

from runcard.errors import NotConvergedError
from runcard.mdp.queueing.model import NEGLIGIBLE

from ..problems import make_problem
from .cases import queues_of


def test_trucks_of_one_station() -> None:
    """The idle trucks of a station are its first ones, and a team takes the last of them."""
    problem = make_problem([3, 1, 2], [3], seed=0)
    queues, idle = queues_of(problem), np.array([2, 1, 1])
    np.testing.assert_array_equal(queues.idle_trucks(idle), [1, 1, 0, 1, 1, 0])
    stations = problem.teams.stations.tolist()
    teams = np.array([stations.index([0, 0, 2]), stations.index([1, 2, -1]), stations.index([0, -1, -1])])
    np.testing.assert_array_equal(queues.taken_trucks(idle, teams), [[1, 0, 4], [3, 4, -1], [1, -1, -1]])


@pytest.mark.parametrize("kind", ["relaxing", "fixed", "printed"])
@pytest.mark.parametrize("num_best", [1, 5])
def test_the_best_are_not_left_out(kind: str, num_best: int) -> None:
    """Teams that are left out are not among the best ones; where the bound is not proven none is left out."""
    problem = make_problem([1] * 9, [2] * 12, load=0.05, seed=4)
    queues, idle, teams = queues_of(problem, kind), problem.trucks, np.flatnonzero(problem.teams.sizes == 2)
    state = queues.fixed_point(idle)
    every, left_out = queues.late_without(state, idle, teams), 0
    for point in range(problem.num_points):
        cost = problem.cost[teams, point]
        some = queues.late_without_best(state, idle, teams, cost, num_best)
        seen, total = np.isfinite(some), cost + queues.horizon_days * every
        np.testing.assert_array_equal(some[seen], every[seen])
        assert (total[~seen] >= np.sort(total)[num_best - 1] - NEGLIGIBLE).all()
        left_out += int((~seen).sum())
    assert (left_out > 0) == (kind != "printed")


def test_no_fixed_point_is_said() -> None:
    """A search that does not end names the policy, the state and the load."""
    queues = queues_of(make_problem([1, 2], [2, 1], load=0.3), "printed", 1.0)
    state, idle = queues.fixed_point(np.array([1, 1])), np.array([1, 1])
    vars(queues)["arrays"] = queues.arrays._replace(left_out=-1e9)
    with pytest.raises(NotConvergedError, match=r"printed: no fixed point .* \[1, 0\] idle .* load of 0\.3 "):
        queues.fixed_point(np.array([1, 0]))
    with pytest.raises(NotConvergedError, match=r"\[0, 0\] idle"):
        queues.late_in(0, 6)
    with pytest.raises(NotConvergedError, match=r"\[1, 0\] idle"):
        queues.late_without(state, idle, np.array([2, 1]))
