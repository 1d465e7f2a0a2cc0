"""The lower bound against the exact optimum: never above it, and near it where it should be."""

import tracemalloc
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.mdp.problems import grid_problem as grid
from tests.mdp.problems import make_problem, random_problem
from tests.mdp.reference import level_distribution
from tests.seeds import each_seed

import runcard
from runcard.city import Standard, Unit
from runcard.errors import InputError, SizeError
from runcard.mdp.bound import BoundProgress, ascent, climbed, lower_bound, neighbourhoods
from runcard.mdp.bound.ascent import Ascent, Schedule
from runcard.mdp.bound.certificate import certify, proven_by_cheapest
from runcard.mdp.bound.neighbourhoods import find_neighbourhoods
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.solve import solve_optimal


def optimum(problem: DispatchProblem) -> float:
    """A value that the best policy does not exceed."""
    return solve_optimal(problem, tolerance=1e-10, threads=1).upper


def assert_kept(problem: DispatchProblem, *, least: float = 0.0, **options: int) -> float:
    """Assert that what is claimed is no more than a policy reaches, and at least a part of it; what that is."""
    found, best = lower_bound(problem, **options).lower, optimum(problem)
    assert least * best <= found <= best
    return found


@pytest.mark.slow
@each_seed(100)
def test_the_bound_is_never_above_the_optimum(seed: int) -> None:
    """Whatever the trucks, needs, loads and costs, and however many steps, no more is claimed than a policy reaches."""
    rng = np.random.default_rng(seed)
    size, steps = int(rng.integers(2, 6)), int(rng.integers(1, 30))
    assert_kept(random_problem(seed), neighbourhood=size, steps=steps, threads=1)


def test_without_levels_the_bound_holds_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where values and payments do not look at the number of idle trucks, as in large departments.

    At low load, where trucks are mostly idle, their number says little: the bound is near the optimum.
    """
    monkeypatch.setattr("runcard.mdp.bound.MOST_WITH_LEVELS", 0)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        size, steps = int(rng.integers(2, 6)), int(rng.integers(1, 60))
        assert_kept(random_problem(seed), neighbourhood=size, steps=steps, threads=1)
    assert_kept(grid(12, 0.05, side=8), least=0.9, neighbourhood=6, steps=200)


@pytest.mark.parametrize("band", [False, True])
@each_seed(30)
def test_any_payments_and_values_prove_a_bound(seed: int, band: bool) -> None:
    """Random payments and values, which nothing was done to improve, give a bound that is below the optimum."""
    rng = np.random.default_rng(seed)
    problem = make_problem([1] * 5 + [2], rng.integers(1, 4, 9).tolist(), seed=seed, load=float(rng.uniform(0.05, 0.8)))
    climbed = Ascent(problem, find_neighbourhoods(problem, 3), 1, band=band)
    for payments in climbed.payments:
        payments[:] = rng.normal(0.0, 0.05, payments.shape)
    climbed.values[:] = rng.normal(0.0, 0.1, climbed.values.shape)
    assert certify(climbed) <= optimum(problem)


def test_a_payment_for_no_truck_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pays it, so that nobody may collect it; and numbers that are none prove nothing.

    What was proven before values became no numbers stands.
    """
    problem = make_problem([1] * 5, [1, 2, 1, 2, 2], seed=1, load=0.3)
    climbed = Ascent(problem, find_neighbourhoods(problem, 3), 1)
    climbed.climb(20, Schedule(0.1, 0.5, 0.05, 0.03, 0.01, 0.98))
    before = certify(climbed)
    climbed.payments.own[:, 0] = -1.0
    assert certify(climbed) == before <= optimum(problem)

    def spoil(*arguments: Any) -> float:
        arguments[3][:] = np.nan
        return 0.0

    monkeypatch.setattr("runcard.mdp.bound.certificate.chosen_and_settled", spoil)
    assert 0.0 < certify(climbed) <= optimum(problem)
    climbed.payments.own[0, 1] = np.nan
    assert certify(climbed) == -np.inf


@each_seed(10)
def test_rounding_is_taken_off_what_is_proven(seed: int) -> None:
    """Where it does not matter who goes, what is proven is the exact mean of the costs less some rounding, no more."""
    problem = make_problem([1] * 5, [1, 2, 3] * 20, seed=seed)
    cost = np.random.default_rng(seed).random(problem.num_points)
    problem = with_cost(problem, np.where(np.isfinite(problem.cost), cost, np.inf))
    rates = [Fraction(rate) for rate in problem.incidents_per_day.tolist()]
    exact = sum(rate * Fraction(each) for rate, each in zip(rates, cost.tolist(), strict=True)) / sum(rates)
    for proven in (certify(Ascent(problem, find_neighbourhoods(problem, 3), 1)), proven_by_cheapest(problem)):
        assert 0 <= exact - Fraction(proven) < 1e-10


def test_levels_left_out_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may cost as much as values differ: what the others gain by values that rise with the level is not proven.

    Where every team costs -10 every policy does, at whatever level: nothing above that is proven.
    """
    monkeypatch.setattr(ascent, "RARE", 0.1)
    problem = make_problem([1] * 6, [1, 2, 1], load=1.0, seed=1)
    climbed = Ascent(problem, find_neighbourhoods(problem, 3), 1)
    assert climbed.values.shape[1] < 7
    for steep in (-10.0, 10.0):
        climbed.values[:] = steep * np.arange(climbed.values.shape[1])[:, None]
        assert certify(climbed) <= optimum(problem)
    problem = with_cost(problem, np.where(np.isfinite(problem.cost), -10.0, np.inf))
    climbed = Ascent(problem, find_neighbourhoods(problem, 3), 1)
    climbed.values[:] = 0.0
    assert -10.001 < certify(climbed) <= -10.0


def test_special_departments_keep_the_bound() -> None:
    """Zero rates, four trucks needed, alike trucks, a fleet smaller than a neighbourhood, and next to no load."""
    for trucks, needs in (([2, 3, 1], [4, 1, 2, 3]), ([1], [1, 1, 2, 1]), ([5, 5, 4], [4, 4, 1, 2])):
        problem = make_problem(trucks, needs, seed=2, load=0.4, rates=[0.0, 1.0, 2.0, 0.0])
        assert_kept(problem, neighbourhood=4, steps=25, threads=1)
    # Of sixty trucks levels have probabilities that no double holds.
    assert_kept(make_problem([15] * 4, [2, 1, 2], seed=1, load=1e-12), neighbourhood=4, steps=5, threads=1)


@pytest.mark.slow
def test_large_departments_keep_the_bound() -> None:
    """With neighbourhoods of as many as thirteen trucks, some or all of the fleet; and with more trucks than levels.

    Of 72 trucks at three stations, hardly or always busy, the optimum goes by counts, the bound truck by truck.
    """
    for neighbourhood in (7, 9, 13):
        assert assert_kept(grid(13, 0.3), neighbourhood=neighbourhood, steps=20, threads=1) > 0.0
    for load in (0.05, 0.2, 2.0):
        problem = make_problem([24, 24, 24], [4, 1, 2, 4], seed=5, load=load)
        assert_kept(problem, neighbourhood=5, steps=10, threads=1)


def with_cost(problem: DispatchProblem, cost: NDArray[np.float64]) -> DispatchProblem:
    """The same problem with other costs, which are exact."""
    return replace(problem, cost=cost, measures={}, measure_errors={}, cost_error=0.0)


def far_apart(heavy: float, light: float) -> DispatchProblem:
    """Eleven engines: of a hundred calls one is a fire, where the first engine counts, else both of two do."""
    city = runcard.generate_grid(side=5, num_stations=11, load=0.02, seed=1, gamma=0.3)
    target = city.target_minutes
    assert target is not None
    demand = [
        replace(point, type=kind, incidents_per_day=share * point.incidents_per_day)
        for point in city.demand
        for kind, share in (("fire", 0.01), ("alarm", 0.99))
    ]
    return dispatch_problem(
        replace(
            city,
            target_minutes=None,
            stations=tuple(replace(station, trucks=0) for station in city.stations),
            units=tuple(Unit(f"E{n}", station.station_id, "engine") for n, station in enumerate(city.stations)),
            standards=(
                Standard("fire", "engine", 2, 1, target, heavy),
                Standard("alarm", "engine", 2, 2, target, light),
            ),
            demand=tuple(demand),
        ),
        minutes=False,
    )


@pytest.mark.slow
def test_weights_that_are_far_apart_keep_the_bound_near() -> None:
    """A fire of weight 500 beside alarms of 0.01: most of what fires cost nobody can avoid, and it moves no payment."""
    problem = far_apart(500.0, 0.01)
    best = optimum(problem)
    assert_kept(problem, least=0.9, neighbourhood=5, steps=60, threads=1)
    found = certify(climbed(problem, find_neighbourhoods(problem, 5), 60, 1, None, band=0.1))
    assert 0.75 * best <= found <= best
    assert_kept(problem, least=0.98, neighbourhood=5, steps=300, threads=1)


@pytest.mark.parametrize(("load", "band"), [(0.05, 1.0), (0.2, 0.1)])
def test_what_every_team_costs_moves_the_bound_by_just_that(load: float, band: float) -> None:
    """Fifty times the optimum for each incident, whoever goes, changes no decision and so nothing that is searched."""
    problem = grid(9, load)
    best = optimum(problem)
    more = with_cost(problem, problem.cost + 50.0 * best)
    plain, shifted = (
        certify(climbed(one, find_neighbourhoods(one, 5), 60, 1, None, band=band)) for one in (problem, more)
    )
    assert 0.8 * best < plain < best
    assert shifted - 50.0 * best == pytest.approx(plain, abs=0.02 * best)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_the_unit_of_costs_does_not_matter(size: float) -> None:
    """Costs that are a million times as large, or as small, have a bound that is, too."""
    problem = grid(9, 0.2)
    plain, other = (
        lower_bound(with_cost(problem, times * problem.cost), neighbourhood=5, steps=60) for times in (1.0, size)
    )
    assert other.lower == pytest.approx(size * plain.lower, rel=0.01)


@each_seed(40)
def test_the_bound_is_at_least_that_of_the_cheapest_teams(seed: int) -> None:
    """What an incident costs that always gets the cheapest team of its size, added up by hand, is proven at once."""
    problem = random_problem(seed)
    chance, total = level_distribution(problem), 0.0
    for idle in range(problem.num_trucks + 1):
        for point, (needed, rate) in enumerate(zip(problem.trucks_needed, problem.incidents_per_day, strict=True)):
            fitting = problem.teams.sizes == min(needed, idle)
            total += chance[idle] * rate * problem.cost[fitting, point].min()
    mean = total / problem.total_incidents_per_day
    assert proven_by_cheapest(problem) == pytest.approx(mean, rel=1e-9)
    assert proven_by_cheapest(problem) <= optimum(problem)
    assert lower_bound(problem, neighbourhood=2, steps=1, threads=1).lower >= (1.0 - 1e-9) * mean


@pytest.mark.slow
def test_few_steps_prove_less_and_more_steps_more() -> None:
    """The search takes steps as large as their number bears: twenty prove most of what can be proven, not nothing."""
    problem = grid(13, 0.3)
    proven = [lower_bound(problem, neighbourhood=7, steps=steps, threads=1).lower for steps in (10, 20, 50, 150)]
    assert proven == sorted(proven)
    assert proven[1] > 0.75 * optimum(problem)
    assert proven[3] > 0.95 * optimum(problem)


@pytest.mark.parametrize("trucks", [[1] * 14, [15] * 4, [3, 1, 9]])
@pytest.mark.parametrize("size", [2, 5, 8])
def test_every_truck_is_in_some_neighbourhood(trucks: list[int], size: int) -> None:
    """Also trucks that are no point's first ones; and there are no more neighbourhoods than the overlap allows for."""
    problem = make_problem(trucks, [2] * 6, seed=size)
    found = find_neighbourhoods(problem, size)
    assert set(found.members.ravel().tolist()) == set(range(sum(trucks)))
    assert all(len(set(members)) == len(members) for members in found.members.tolist())
    assert len(found) <= neighbourhoods.OVERLAP * sum(trucks) / size + 2.0 * sum(trucks) / size + 1.0


@pytest.mark.slow
def test_few_candidates_and_rare_levels_left_out_keep_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly any candidates, most neighbourhoods far and likely levels left out, it still holds."""
    monkeypatch.setattr(neighbourhoods, "CANDIDATES", {1: 2, 2: 2, 3: 3, 4: 4})
    monkeypatch.setattr(neighbourhoods, "REACH", 1)
    windows = []
    for rare in (1e-8, 1e-3, 1e-2):
        monkeypatch.setattr(ascent, "RARE", rare)
        for load in (0.02, 0.1, 0.3):
            problem = grid(11, load)
            assert_kept(problem, least=-np.inf, neighbourhood=3, steps=150, threads=1)
            windows.append(ascent.level_window(problem, 3))
    assert any(low > 0 for low, _ in windows)
    assert any(high < 11 for _, high in windows)


@each_seed(6)
def test_one_neighbourhood_of_all_trucks_gives_the_optimum(seed: int) -> None:
    """With every truck in one neighbourhood nothing is relaxed: the bound is the optimum."""
    problem = make_problem([1, 2, 1, 1], np.random.default_rng(seed).integers(1, 4, 7).tolist(), seed=seed, load=0.3)
    assert_kept(problem, least=0.9999, neighbourhood=5, steps=5, threads=1)
    assert len(find_neighbourhoods(problem, 5)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.02, 0.1, 0.4])
def test_the_bound_is_near_the_optimum(load: float) -> None:
    """Neighbourhoods of 6 of 10 trucks reach 95 % of the optimum at every load."""
    assert_kept(grid(10, load, side=8), least=0.95, neighbourhood=6, steps=250)


@pytest.mark.slow
def test_far_neighbourhoods_cost_little() -> None:
    """With prices that everybody pays for trucks far away, the bound stays within 3 % of that with payments for all."""
    problem = grid(12, 0.1, side=8)
    found = lower_bound(problem, neighbourhood=4, steps=250)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbourhoods, "REACH", 12)
        assert found.lower >= 0.97 * lower_bound(problem, neighbourhood=4, steps=250).lower


def test_the_bound_does_not_depend_on_the_number_of_threads() -> None:
    """One thread and three give the same number. Every step is told, with an estimate that ends near what is proven."""
    problem, told = grid(8, 0.2), list[BoundProgress]()
    one, three = (
        lower_bound(problem, neighbourhood=4, steps=200, threads=threads, progress=told.append) for threads in (1, 3)
    )
    assert one.lower == three.lower
    assert [one.step for one in told] == 2 * [*range(1, 201)]
    assert told[-1].estimate == pytest.approx(one.lower, rel=0.02)


def test_costs_with_errors_lower_the_bound() -> None:
    """What costs may be off is taken from the bound."""
    problem = make_problem([1, 1, 1], [1, 2, 2], seed=3)
    exact, off = (
        lower_bound(replace(problem, cost_error=error), neighbourhood=3, steps=5, threads=1) for error in (0.0, 0.01)
    )
    assert off.lower == pytest.approx(exact.lower - 0.01)


def test_what_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbourhoods have 2 to 13 trucks, and there is at least one step; what has no memory is said with the bytes."""
    problem = grid(6, 0.1)
    for options in ({"neighbourhood": 1}, {"neighbourhood": 14}, {"steps": 0}):
        with pytest.raises(InputError, match="expected"):
            lower_bound(problem, **options)
    monkeypatch.setattr("runcard.mdp.bound.available_bytes", lambda: 1e3)
    monkeypatch.setattr("runcard.mdp.bound.SMALL_BYTES", 1e3)
    with pytest.raises(SizeError, match=r"neighbourhoods of 3 trucks take about .* are free: expected smaller"):
        lower_bound(problem, neighbourhood=3, steps=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trucks", "needed", "load", "size"),
    [(20, [2] * 30, 0.2, 7), (16, [4] * 12, 0.2, 6), (62, [2] * 20, 1.0, 5), (70, [2] * 40, 0.1, 6)],
)
def test_no_more_memory_is_taken_than_was_said(
    trucks: int, needed: list[int], load: float, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is checked before the work covers what the work takes, with levels and without, and is of its size."""
    problem, said = make_problem([1] * trucks, needed, seed=1, load=load), list[float]()
    monkeypatch.setattr("runcard.mdp.bound.in_words", lambda count: said.append(count) or "")
    monkeypatch.setattr("runcard.mdp.bound.SMALL_BYTES", 0.0)
    monkeypatch.setattr("runcard.mdp.bound.available_bytes", lambda: 0.0)
    with pytest.raises(SizeError):
        lower_bound(problem, neighbourhood=size, steps=3, threads=1)
    monkeypatch.undo()
    lower_bound(problem, neighbourhood=size, steps=1, threads=1)  # kernels are compiled or loaded here
    tracemalloc.start()
    lower_bound(problem, neighbourhood=size, steps=3, threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.1 * said[0]
    assert said[0] <= 4.0 * peak
