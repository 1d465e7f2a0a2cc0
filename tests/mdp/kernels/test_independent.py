"""Tests of independent trucks against the enumeration of every set of idle trucks."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

import runcard.mdp.independent
from runcard.errors import NotConvergedError
from runcard.mdp.independent import IndependentTrucks
from runcard.mdp.problem import DispatchProblem

from ..problems import make_problem, random_problem

SMALL = [problem for problem in map(random_problem, range(60)) if problem.num_trucks <= 8]


def by_enumeration(
    problem: DispatchProblem, order: NDArray[np.int64], busy: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """How often each truck is asked, and the late incidents per day, by summing over all 2^N sets of idle trucks."""
    station = np.repeat(np.arange(problem.num_stations), problem.trucks)
    number = {tuple(team): n for n, team in enumerate(problem.teams.counts.tolist())}
    asked, late = np.zeros(problem.num_trucks), 0.0
    for idle in product([False, True], repeat=problem.num_trucks):
        chance = np.where(idle, 1.0 - busy, busy).prod()
        for j, rate in enumerate(problem.incidents_per_day):
            team, wanted = [0] * problem.num_stations, int(problem.trucks_needed[j])
            for i in order[j]:
                for n in np.flatnonzero(station == i):
                    if wanted > 0:
                        asked[n] += chance * rate
                        team[i] += idle[n]
                        wanted -= idle[n]
            late += chance * rate * problem.cost[number[tuple(team)], j]
    return asked, late


def random_busy(problem: DispatchProblem, seed: int) -> NDArray[np.float64]:
    """Busy chances of every size, some of them 0 and 1, which differ within a station."""
    rng = np.random.default_rng([seed, 3])
    busy = rng.random(problem.num_trucks) ** rng.choice([1.0, 5.0, 100.0])
    kind = rng.random(problem.num_trucks)
    return np.where(kind < 0.15, 0.0, np.where(kind > 0.9, 1.0, busy))


@pytest.mark.parametrize("near", [32, 1])
def test_enumeration(near: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked rates and late incidents are those of enumeration, with costs laid out and looked up."""
    monkeypatch.setattr(runcard.mdp.independent, "NEAR_TRUCKS", near)
    assert {k for problem in SMALL for k in problem.trucks_needed} == {1, 2, 3, 4}
    for seed, problem in enumerate(SMALL):
        busy = random_busy(problem, seed)
        order = problem.order[:, ::-1].copy() if seed % 2 else problem.order  # any order, not that of closest-first
        asked, late = IndependentTrucks(problem, order).asked_and_late(busy)
        expected_asked, expected_late = by_enumeration(problem, order, busy)
        np.testing.assert_allclose(asked, expected_asked, rtol=1e-12, atol=1e-12 * problem.total_incidents_per_day)
        assert late == pytest.approx(expected_late, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("needed", [1, 2, 3, 4])
def test_looked_up_costs_are_the_laid_out_ones(needed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more trucks than are laid out, what is laid out and what is looked up join without a seam."""
    problem = make_problem([1, 2, 1, 3, 1, 2, 1, 2, 1, 3], [needed] * 5, seed=needed)
    busy = random_busy(problem, 1) * 0.2 + 0.75
    found = []
    for near in (32, 16, 8):
        monkeypatch.setattr(runcard.mdp.independent, "NEAR_TRUCKS", near)
        independent = IndependentTrucks(problem, problem.order)
        assert independent.walks.depth == min(near, problem.num_trucks + needed)
        found.append(independent.asked_and_late(busy))
    for asked, late in found[1:]:
        np.testing.assert_allclose(asked, found[0][0], rtol=1e-12)
        assert late == pytest.approx(found[0][1], rel=1e-12)


def test_points_without_incidents() -> None:
    """A demand point of rate zero asks for nobody and is never late."""
    problem = make_problem([1, 1, 1], [2, 2, 1], rates=[1.0, 0.0, 0.0], seed=1)
    parts = {name: getattr(problem, name)[:1] for name in ("incidents_per_day", "trucks_needed", "order")}
    alone = replace(problem, cost=problem.cost[:, :1], measures={}, point_ids=(), **parts)
    busy = np.array([0.3, 0.6, 0.1])
    asked, late = IndependentTrucks(problem, problem.order).asked_and_late(busy)
    expected_asked, expected_late = IndependentTrucks(alone, alone.order).asked_and_late(busy)
    np.testing.assert_array_equal(asked, expected_asked)
    assert late == expected_late


@pytest.mark.parametrize("trucks", [1, 30])
def test_one_station_in_the_long_run(trucks: int) -> None:
    """C trucks of one station, one need: D = Λ (1 - p^C) / (C (1 - p)), so that p = ρ (1 - p^C).

    With one truck every incident asks, and it is busy with Erlang's chance ρ / (1 + ρ).
    """
    for load in (1e-6, 0.1, 0.9, 1.0, 1.1, 5.0, 100.0):
        problem = make_problem([trucks], [1], load=load)
        low, high = 1e-9, 1.0
        while high - low > 1e-15:
            middle = (low + high) / 2
            low, high = (middle, high) if load * (1.0 - middle**trucks) > middle else (low, middle)
        assert IndependentTrucks(problem, problem.order).steady_busy() == pytest.approx([low], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("trucks", "needed"),
    [([1] * 6, [2] * 30), ([3, 2, 1], [1, 2, 3] * 4), ([1], [2]), ([1] * 20, [2] * 40), ([4] * 5, [3, 1] * 5),
     ([1] * 9, [4, 2] * 5)],
)  # fmt: skip
def test_the_long_run_repeats_itself(trucks: list[int], needed: list[int]) -> None:
    """At every load the steady chances are those that the demand under them gives, and lie between 0 and 1."""
    for load in 10.0 ** np.arange(-6.0, 3.0):
        problem = make_problem(trucks, needed, load=load, seed=len(trucks))
        independent = IndependentTrucks(problem, problem.order)
        busy = independent.steady_busy()
        demand = independent.station_demand(busy)
        assert ((busy >= 0.0) & (busy <= 1.0)).all()
        np.testing.assert_allclose(busy, demand / (demand + problem.returns_per_day), rtol=1e-9, atol=1e-14)


def test_not_converging_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of steps, the search for the steady chances names the load instead of returning what it has."""
    monkeypatch.setattr(runcard.mdp.independent, "MAX_STEPS", 2)
    problem = make_problem([1] * 6, [2] * 30, load=0.5)
    with pytest.raises(NotConvergedError, match=r"did not converge in 2 steps at a load of 0\.5"):
        IndependentTrucks(problem, problem.order).steady_busy()
