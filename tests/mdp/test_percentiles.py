"""The 90th percentiles of arrivals under a policy, and the mean of the last arrival."""

from dataclasses import replace

import numpy as np
import pytest
from tests.simulate.cases import simulated

from runcard.city import City, Driving, generate_grid
from runcard.mdp.evaluate import MeasureMean
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.percentiles import expected_windows, later_windows, window_measures
from runcard.policy.solve import evaluate, solve_problem
from runcard.response.arrivals import p90_of


@pytest.mark.slow
@pytest.mark.parametrize(("driving", "load"), [(Driving(), 0.6), (Driving("lognormal", cv=0.7), 0.1)])
def test_percentiles_and_means_are_those_of_the_simulation(driving: Driving, load: float) -> None:
    """Means and 90th percentiles of first and last lie within what 200,000 simulated incidents say."""
    city = replace(generate_grid(side=5, num_stations=4, load=load, seed=2), driving=driving)
    problem = dispatch_problem(city, arrivals=True)
    for name in ("closest-first", "optimal"):
        policy = solve_problem(problem, name)
        exact = evaluate(policy)
        (found,) = simulated(city, [policy], incidents=200_000, seed=5).policies
        means = {"first": exact.mean_response_minutes, "last": exact.last_minutes}
        for which in ("first", "last"):
            mean, p90 = found.minutes(f"{which}_mean"), found.minutes(f"{which}_p90")
            assert means[which] == pytest.approx(mean.value, abs=2.0 * mean.half)
            # The bins of the simulation are half a per cent wide.
            assert exact.p90_minutes[which] == pytest.approx(p90.value, abs=2.0 * p90.half, rel=0.006)


def test_the_percentile_is_that_of_every_arrival_at_its_share() -> None:
    """The mixture over states and demand points, made by hand from the decisions of every state, gives the same: of the
    first, the second, which the standard names, and the last."""
    city = generate_grid(side=4, num_stations=3, load=0.3, seed=4)
    city = replace(city, trucks_per_incident=3, arrivals_per_incident=2, target_minutes=8.0)
    problem = dispatch_problem(city, arrivals=True)
    policy = solve_problem(problem)
    exact, arrivals = evaluate(policy), problem.arrivals
    assert arrivals is not None
    shares = np.zeros((problem.num_teams, problem.num_points))
    for state in range(problem.num_states):
        idle = np.array([state >> 2 & 1, state >> 1 & 1, state & 1])
        for j in range(problem.num_points):
            team = [problem.station_ids.index(one) for one in policy.decide(idle, j).team if one != "outside"]
            share = problem.incidents_per_day[j] / problem.total_incidents_per_day
            shares[problem.teams.number(team), j] += exact.probability[state] * share
    assert {*arrivals.laters} == {"first", "arrival 2", "last"}
    for which, later in arrivals.laters.items():
        curve = (later.astype(np.float64) * shares).sum(axis=(1, 2))
        assert exact.p90_minutes[which] == pytest.approx(float(p90_of(arrivals.minutes, curve)), rel=1e-3)
    for which in ("arrival 2", "last"):
        mean = float(np.where(shares > 0.0, problem.measures[which] * shares, 0.0).sum())
        assert exact.measures[which].mean == pytest.approx(mean, abs=1e-9)


def test_percentiles_beyond_the_first_guess_are_still_found() -> None:
    """Where most trucks are busy most of the time, arrivals are far later than with every truck idle."""
    city: City = generate_grid(side=4, num_stations=2, load=20.0, seed=1)
    problem = dispatch_problem(city, arrivals=True)
    policy = solve_problem(problem, "closest-first")
    exact = evaluate(policy)
    teams = [problem.teams.number([0, 1])] * problem.num_points
    assert problem.arrivals is not None
    windows = expected_windows(problem, problem.arrivals, teams)
    assert problem.arrivals.minutes[windows["first"][-1]] < exact.p90_minutes["first"]
    assert exact.p90_minutes["last"] > exact.p90_minutes["first"]
    assert set(exact.measures) == {"late", "minutes", "last"}


def test_windows_move_towards_the_percentile() -> None:
    """If it is later than every time that was looked at, later times are next, and earlier ones if it is earlier."""
    problem = dispatch_problem(generate_grid(side=5, num_stations=4, load=0.1, seed=1), arrivals=True)
    assert problem.arrivals is not None
    half = len(problem.arrivals.minutes) // 2
    middle = {"first": range(half - 2, half), "last": range(half - 1, half + 1)}
    for later, moved in ((1.0, lambda new, old: new.stop > old.stop), (0.0, lambda new, old: new.start < old.start)):
        means = dict.fromkeys(window_measures(problem.arrivals, middle), MeasureMean(later))
        found = later_windows(problem.arrivals, middle, means)
        assert found is not None
        assert all(moved(found[which], middle[which]) for which in middle)
        assert all(set(found[which]) & set(middle[which]) for which in middle)
