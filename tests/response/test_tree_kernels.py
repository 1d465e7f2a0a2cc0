"""Kernels of the tree: counts of trucks against plain probability, and where teams meet."""

from itertools import product

import numpy as np
import pytest

from runcard.response import tree_kernels as kernels
from runcard.response.teams import Teams


def test_meeting_adds_independent_counts() -> None:
    """P(N_A + N_B >= n) is that of all outcomes of the two counts."""
    rng = np.random.default_rng(0)
    for num_first, num_second in product((1, 2, 3), (1, 2)):
        chances = [np.sort(rng.random((num, 5)), axis=0)[::-1] for num in (num_first, num_second)]
        exactly = [-np.diff(np.vstack([np.ones(5), one, np.zeros(5)]), axis=0) for one in chances]
        found = np.empty((num_first + num_second, 5))
        kernels.meet(*chances, found)
        for n in range(1, num_first + num_second + 1):
            expected = sum(
                exactly[0][a] * exactly[1][b] for a in range(num_first + 1) for b in range(num_second + 1) if a + b >= n
            )
            np.testing.assert_allclose(found[n - 1], expected, atol=1e-14)


def test_several_trucks_are_binomial() -> None:
    """At least n of k trucks, each there with the same chance."""
    own, found = np.array([0.0, 0.2, 0.7, 1.0]), np.empty((4, 4))
    kernels.several(own, 4, found)
    for n, place in product(range(1, 5), range(4)):
        expected = sum(
            np.prod([own[place] if there else 1.0 - own[place] for there in outcome])
            for outcome in product((0, 1), repeat=4)
            if sum(outcome) >= n
        )
        assert found[n - 1, place] == pytest.approx(expected, abs=1e-14)


def test_late_with_trucks_from_outside() -> None:
    """Fewer than m of k trucks are there: own ones as found, the others from outside independently."""
    teams = Teams.of([2, 1], 3)
    found = np.array([[0.0, 0.0]] + [[0.6, 0.0]] * 2 + [[0.8, 0.5]] * 3 + [[0.9, 0.7]] * (len(teams) - 6))
    late = np.empty(len(teams))
    kernels.late_of_teams(teams.sizes, 3, 2, found, 0.25, late)
    assert late[0] == pytest.approx(0.75**3 + 3 * 0.25 * 0.75**2)  # none of its own
    assert late[1] == pytest.approx(0.4 * (1 - 0.25**2) + 0.6 * 0.75**2)  # one of its own, two from outside
    assert late[3] == pytest.approx((1 - 0.8) * 1.0 + (0.8 - 0.5) * 0.75)
    kernels.late_of_teams(teams.sizes, 1, 1, found, 0.25, late)
    assert (late[teams.sizes > 1] == 0.0).all()


def test_where_teams_meet() -> None:
    """Three roads of which two join early: the team of all splits into the pair and the third."""
    shared = np.array([[5, 4, 1], [4, 6, 1], [1, 1, 3]], np.int32)
    teams = Teams.of([1, 1, 1], 3)
    found = kernels.find_meetings(teams.stations, teams.sizes, 3, shared, teams.base, teams.number_of_code)
    whole = teams.number([0, 1, 2])
    assert found.junction[whole] == 1
    assert found.parts[whole].tolist() == [teams.number([0, 1]), teams.number([2])]
    assert found.junction[teams.number([0, 1])] == 4
    assert found.rows[teams.number([0, 1]), 1] >= 0
    assert (found.rows[teams.number([0]), [1, 4]] >= 0).all()
    listed = found.rows[found.rows >= 0]
    assert sorted(listed.tolist()) == list(range(int(found.num_rows[0])))
