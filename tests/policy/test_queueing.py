"""Tests of one-step-queueing, corrected and as printed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.policy_files import save_policy
from tests.seeds import each_seed

from runcard.city.grid import generate_grid
from runcard.errors import InputError, PolicyFileError, SizeError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.policy.base import Decision
from runcard.policy.options import idle_teams, make_decision
from runcard.policy.queueing import QueueingPolicy, solve_queueing, solve_queueing_printed
from runcard.policy.solve import evaluate
from runcard.policy.solve_options import SolveOptions

from ..conftest import GoldenCity
from ..mdp.problems import every_state, make_problem, random_problem


@pytest.fixture(scope="module")
def problem(golden: GoldenCity) -> DispatchProblem:
    """The dispatch problem of each golden city."""
    return dispatch_problem(golden.city)


def test_golden_cities(golden: GoldenCity, problem: DispatchProblem) -> None:
    """As printed, the late fraction is the golden one within 1e-6, in cities where every station has one truck.

    Corrected, it keeps at least 90 % of the gain of the optimum over closest-first, no less than as printed, and no
    team has a negative price: a truck that stays is worth something.
    """
    answers = golden.answers["late_fraction"]
    corrected, printed = (evaluate(solve(problem)) for solve in (solve_queueing, solve_queueing_printed))
    assert printed.converged
    if (problem.trucks == 1).all():
        assert printed.late_fraction == pytest.approx(answers["one-step-queueing-printed"], rel=1e-6)
    gain = answers["closest-first"] - answers["optimal"]
    assert answers["closest-first"] - corrected.late_fraction >= 0.9 * gain
    assert corrected.late_fraction <= printed.late_fraction * (1 + 1e-9)
    for horizon in (None, 2.0):
        policy = solve_queueing(problem, SolveOptions(horizon_busy_times=horizon))
        for idle in every_state(problem):
            assert (policy.prices(idle, idle_teams(problem, idle, 0)) >= -1e-10).all()


def decide_without_pruning(policy: QueueingPolicy, idle: NDArray[np.int64], point: int) -> Decision:
    """The decision from the prices of all teams."""
    teams = idle_teams(policy.problem, idle, point)
    cost, price = policy.problem.cost[teams, point], policy.prices(idle, teams)
    return make_decision(policy.problem, point, teams, price, int((cost + price).argmin()))


def check_online(problem: DispatchProblem, policy: QueueingPolicy) -> None:
    """In every state, at a third of points, prices are differences of the table and the team is its best.

    Decisions are those of looking at every team, alternatives included.
    """
    value, layout = policy.rule.value, problem.layout
    for idle in every_state(problem):
        state = int(idle @ layout.states.stride)
        for point in range(state % 3, problem.num_points, 3):
            teams = idle_teams(problem, idle, point)
            table = value[state - layout.offset[teams]] - value[state]
            total = problem.cost[teams, point] + table
            decision = policy.decide(idle, point)
            assert decision == decide_without_pruning(policy, idle, point)
            best = int(total.argmin())
            assert decision.total == pytest.approx(total[best], abs=1e-7)
            if len(total) == 1 or np.partition(total, 1)[1] > total[best] + 1e-7:
                counts = problem.teams.counts[teams[best]]
                sent = [problem.station_ids[i] for i in np.flatnonzero(counts) for _ in range(counts[i])]
                assert [station for station in decision.team if station != "outside"] == sent
            if point < 3:
                np.testing.assert_allclose(policy.prices(idle, teams), table, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("solver", [solve_queueing, solve_queueing_printed])
def test_online_is_the_table_in_golden_cities(problem: DispatchProblem, solver: type[QueueingPolicy]) -> None:
    """In every state of the golden cities, decisions and prices made online are those of the table."""
    check_online(problem, solver(problem=problem))


@each_seed(12)
def test_online_is_the_table(seed: int) -> None:
    """The same with random costs, several trucks per station, needs of 1 to 3 and loads of 0.001 to 5."""
    problem = random_problem(seed)
    for horizon in (None, 3.0, 2.0, 1.0):
        check_online(problem, QueueingPolicy(problem=problem, horizon_busy_times=horizon))


@pytest.mark.parametrize("shared_delay", [0.0, 1.0])
def test_pruning_prunes(shared_delay: float) -> None:
    """On a grid of 14 trucks decisions are the same with pruning, which looks at less than half of the teams."""
    problem = dispatch_problem(
        generate_grid(side=9, num_stations=14, load=0.1, seed=3, gamma=0.3, shared_delay=shared_delay)
    )
    policy, rng, seen, listed = solve_queueing(problem), np.random.default_rng(0), 0, 0
    for point in range(0, problem.num_points, 9):
        idle = (rng.random(14) > 0.2).astype(np.int64)
        assert policy.decide(idle, point) == decide_without_pruning(policy, idle, point)
        queues, teams = policy.queues, idle_teams(problem, idle, point)
        late = queues.late_without_best(queues.fixed_point(idle), idle, teams, problem.cost[teams, point], 5)
        seen, listed = seen + int(np.isfinite(late).sum()), listed + len(teams)
    assert seen < 0.5 * listed


@pytest.mark.parametrize("load", [1e-6, 0.01, 0.5, 3.0, 50.0])
def test_one_truck_by_hand(load: float) -> None:
    """The price of the only truck is exact, whatever the horizon: ρ/(1+ρ) of what it saves is lost.

    As printed, T = 1/μ, with h_0 = B² and h_1 = B² - B: chances cut off at 0, and a price from their difference.
    """
    problem, truck = make_problem([1], [1], load=load, cost=[0.2, 0.7], seed=1), np.array([1])
    saved, share = float(problem.cost[0, 0] - problem.cost[1, 0]), load / (1 + load)
    for horizon in (None, 1.0, 2.0, 7.5):
        policy = solve_queueing(problem, SolveOptions(horizon_busy_times=horizon))
        assert policy.prices(truck, truck) == pytest.approx([share * saved], rel=1e-8)
    when_idle, when_busy = max(0.0, share + (share**2 - share) / load), share + share**2 / load
    price = solve_queueing_printed(problem).prices(truck, truck)
    assert price == pytest.approx([load * (when_busy - when_idle) * saved], rel=1e-8)


@pytest.mark.parametrize("load", [1e-6, 1e-3, 1.0, 10.0, 300.0])
def test_extreme_loads(load: float) -> None:
    """Far from any sensible load, decisions are still made: finite prices, the right number of trucks."""
    problem = make_problem([2, 1, 3], [2, 1, 3, 2], load=load, seed=4, rates=[1.0, 2.0, 0.0, 1.0])
    for policy in (solve_queueing(problem), solve_queueing_printed(problem)):
        for idle in ([2, 1, 3], [0, 0, 1], [0, 0, 0]):
            for point in range(4):
                decision = policy.decide(np.array(idle), point)
                assert np.isfinite(decision.price)
                assert len(decision.team) == problem.trucks_needed[point]
                assert decision.team.count("outside") == max(0, problem.trucks_needed[point] - sum(idle))
        assert evaluate(policy).converged


def test_any_size() -> None:
    """Sixty stations have too many states for a table, but decisions and prices are made."""
    problem = make_problem([1, 2] * 30, [2] * 50, load=0.1, seed=6)
    policy = solve_queueing(problem)
    decision = policy.decide(problem.trucks, 7)
    assert len(decision.team) == 2
    assert len(decision.alternatives) == 4
    with pytest.raises(SizeError, match="states"):
        _ = policy.rule


def test_table_by_several_threads() -> None:
    """The table does not depend on the number of threads, and is 0 with every truck idle."""
    problem = make_problem([1] * 8, [2] * 12, load=0.2, seed=8)
    one, two = (QueueingPolicy(problem=problem, threads=threads).rule.value for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert one[problem.num_states - 1] == 0.0


@pytest.mark.parametrize("horizon", [0.0, -1.0, float("nan"), float("inf"), 1e7, True, "2"])
def test_bad_horizons(horizon: Any) -> None:
    """A horizon that is no positive number of busy times, or drowns prices in rounding, is refused in one sentence."""
    with pytest.raises(InputError, match="one-step-queueing: expected a horizon above 0 and up to 1e\\+06 busy times"):
        solve_queueing(make_problem([1], [1]), SolveOptions(horizon_busy_times=horizon))


def test_a_part_of_the_printed_version_has_no_file(tmp_path: Path) -> None:
    """It is for study: nobody could load it again, so it is not saved either."""
    policy = QueueingPolicy(problem=make_problem([1, 1], [2]), printed_rates=True)
    with pytest.raises(PolicyFileError, match="has no policy file"):
        save_policy(policy, tmp_path / "p")
