import numpy as np
import pytest

from runcard.assess.team_shares import LEFT_OUT, ShareKeeper, exact_shares
from runcard.city.demo import demo_city
from runcard.city.grid import generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.rows import TableRule
from runcard.plan.plan import solve
from runcard.policy.by_table import each_choice
from runcard.policy.run_card import make_run_cards
from runcard.policy.solve import evaluate, solve_problem
from runcard.simulate.engine import simulate_plans


@pytest.fixture(scope="module")
def problem():
    """A small city that is busy enough for every state to matter."""
    city = generate_grid(side=4, num_stations=4, load=0.3, seed=2)
    return dispatch_problem(city, arrivals=True)


@pytest.mark.parametrize("name", ["closest-first", "optimal", "fixed-card"])
def test_the_mean_over_points_is_that_of_the_evaluation(problem, name):
    """Weighed by the rates, the means by demand point are the means of `evaluate`, whatever kind of rule decides."""
    policy = solve_problem(problem, name)
    evaluation = evaluate(policy)
    shares = exact_shares(policy, evaluation)
    rates = problem.incidents_per_day / problem.total_incidents_per_day
    assert shares.exact
    assert rates @ shares.mean(problem.cost) == pytest.approx(evaluation.cost, rel=1e-7)
    for measure, table in problem.measures.items():
        assert rates @ shares.mean(table) == pytest.approx(evaluation.measures[measure].mean, rel=1e-7)


def test_shares_are_those_of_asking_the_policy_in_every_state(problem):
    """The shares of optimal are the probabilities of the states in which `decide` sends each team."""
    policy = solve_problem(problem, "optimal")
    evaluation = evaluate(policy)
    expected = np.zeros((problem.num_points, problem.num_teams))
    for state, idle, points, _ in each_choice(problem):
        for point in points.tolist():
            team = [problem.station_ids.index(one) for one in policy.decide(idle, point).team if one != "outside"]
            expected[point, problem.teams.number(team)] += evaluation.probability[state]
    shares, found = exact_shares(policy, evaluation, threads=2), np.zeros_like(expected)
    found[shares.point, shares.team] = shares.share
    np.testing.assert_allclose(found, expected, atol=2 * LEFT_OUT)


def test_the_shares_of_run_cards_are_those_of_following_them(problem):
    """The means by demand point of run cards, weighed by the rates, are the means of their evaluation."""
    cards = make_run_cards(solve_problem(problem, "optimal"), depth=2)
    evaluation = evaluate(cards)
    rates = problem.incidents_per_day / problem.total_incidents_per_day
    assert rates @ exact_shares(cards, evaluation).mean(problem.cost) == pytest.approx(evaluation.cost, rel=1e-7)


def test_a_table_has_the_shares_of_the_rule_that_it_was_made_from(problem):
    """A policy given as a table has the shares of the policy that fills it."""
    policy = solve_problem(problem, "closest-first")
    table = np.empty((problem.num_states, problem.num_points), np.int64)
    for state, idle, points, _ in each_choice(problem):
        for point in points.tolist():
            team = [problem.station_ids.index(one) for one in policy.decide(idle, point).team if one != "outside"]
            table[state, point] = problem.teams.number(team)

    class AsTable:
        name, reason, certificate, rule = "table", "", None, TableRule(table)

        def __init__(self) -> None:
            self.problem = problem

    evaluation = evaluate(policy)
    ours, theirs = exact_shares(AsTable(), evaluation), exact_shares(policy, evaluation)  # type: ignore[arg-type]
    np.testing.assert_array_equal(ours.team, theirs.team)
    np.testing.assert_allclose(ours.share, theirs.share, rtol=1e-12)


def counted_shares(city, plans, incidents):
    """The shares of each kind under plans by name, counted over the same incidents."""
    keeper = ShareKeeper(city, plans)
    simulate_plans(city, list(plans.values()), incidents=incidents, names=list(plans), keep_records=keeper.keep)
    return keeper.shares()


def test_simulated_shares_are_close_to_the_exact_ones():
    """Counted over many incidents, the mean of every kind and point is near the exact one, by kind and policy."""
    city = demo_city()
    departments = {name: solve(city, name) for name in ("closest-first", "optimal")}
    counted = counted_shares(city, departments, 200_000)
    for name, department in departments.items():
        for fleet in department.fleets:
            exact, found = exact_shares(fleet.policy), counted[name][fleet.kind]
            assert not found.exact
            cost, rates = fleet.problem.cost, fleet.problem.incidents_per_day
            weights = rates / rates.sum()
            # The cost of a point varies from incident to incident by no more than its range.
            spread = np.ptp(cost, axis=0) / np.sqrt(200_000 * rates / city.incidents_per_day)
            assert (np.abs(found.mean(cost) - exact.mean(cost)) < 5.0 * spread + 1e-12).all()
            assert weights @ found.mean(cost) == pytest.approx(weights @ exact.mean(cost), rel=0.05)


def test_a_point_that_no_incident_reached_is_unknown():
    """Where a simulation saw no incident the mean is nan, not 0."""
    city = demo_city()
    found = counted_shares(city, {"closest-first": solve(city, "closest-first")}, 3)
    for shares in found["closest-first"].values():
        means = shares.mean(shares.problem.cost)
        seen = np.isin(np.arange(shares.problem.num_points), shares.point)
        assert np.isnan(means[~seen]).all()
        assert np.isfinite(means[seen]).all()
