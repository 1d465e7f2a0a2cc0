"""Tests of one-step-mean-field: online decisions, their table, pruning, prices and extreme departments."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.seeds import each_seed

from runcard.city import generate_grid
from runcard.errors import SizeError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.mean_field import MeanField
from runcard.policy.ahead import AheadPolicy
from runcard.policy.mean_field import solve_mean_field
from runcard.policy.options import idle_teams
from runcard.policy.solve import evaluate

from ..conftest import GoldenCity
from ..mdp.problems import ids_of, make_problem, random_problem
from ..mdp.reference import Dense

NEAR = 1e-10
"""Totals closer than this are a tie, which rounding may turn either way."""


class Unpruned(AheadPolicy):
    """The policy without leaving out teams that are proven not to be among the best."""

    def best_prices(
        self, idle: NDArray[np.int64], teams: NDArray[np.int64], cost: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The prices of all of them."""
        return self._prices(idle, teams)


def check_decisions(policy: AheadPolicy, states: int | None = None) -> None:
    """In every state (or some) and at every point, online and table agree, and pruning changes nothing at all."""
    problem, dense = policy.problem, Dense(policy.problem)
    value = policy.rule.value
    unpruned = Unpruned(name="unpruned", problem=problem, values=policy.values)
    step = 1 if states is None else max(1, problem.num_states // states)
    for place in range(0, problem.num_states, step):
        idle = np.array(dense.states[place])
        for j, teams in enumerate(dense.choices[place]):
            decision = policy.decide(idle, j)
            assert decision == unpruned.decide(idle, j)
            totals = problem.cost[teams, j] + value[[dense.after(dense.states[place], team) for team in teams]]
            equally_good = [ids_of(problem, teams[n], j) for n in np.flatnonzero(totals <= totals.min() + NEAR)]
            assert decision.team in equally_good
            # Prices are the differences of the table, but for what all teams of a size have in common.
            by_team = {ids_of(problem, team, j): total for team, total in zip(teams, totals, strict=True)}
            for option in decision.alternatives:
                expected = by_team[option.team] - by_team[decision.team]
                assert option.total - decision.total == pytest.approx(expected, abs=1e-11)


def test_golden_cities(golden: GoldenCity) -> None:
    """In every state and at every point: one team online, in the table and without pruning, and no negative price.

    The late fraction lies between the golden optimum and closest-first, and 95 % of the gain is kept.
    """
    policy = solve_mean_field(dispatch_problem(golden.city))
    check_decisions(policy)
    for state in Dense(policy.problem).states:
        teams = np.flatnonzero((policy.problem.teams.counts <= state).all(axis=1))
        assert policy.prices(np.array(state), teams).min() >= 0.0, state
    found, answers = evaluate(policy), golden.answers["late_fraction"]
    assert found.converged
    assert found.late_fraction >= answers["optimal"] * (1 - 1e-9)
    gain = answers["closest-first"] - answers["optimal"]
    assert answers["closest-first"] - found.late_fraction >= 0.95 * gain


@each_seed(20)
def test_online_is_the_table(seed: int) -> None:
    """The same with random costs, several trucks per station, needs of 1 to 4 and loads of 0.001 to 5."""
    check_decisions(solve_mean_field(random_problem(seed)))


@pytest.mark.parametrize(
    ("trucks", "needed"),
    [([1] * 7, [2] * 5), ([2, 1, 2, 1, 1], [3, 2, 1]), ([1] * 6, [3, 1, 3]), ([2, 1, 1, 1, 2], [4, 2, 1]),
     ([1] * 7, [4])],
)  # fmt: skip
def test_online_is_the_table_with_several_neighbourhoods(trucks: list[int], needed: list[int]) -> None:
    """The same where the values are a sum of several tables that overlap, as in a large department."""
    for local_states in (4, 8, 16):
        problem = make_problem(trucks, needed * 3, load=0.2, seed=local_states)
        field = MeanField(problem, problem.order, local_states)
        values = field.values(field.values())
        assert len(values.stations) > 1
        check_decisions(AheadPolicy(name="ahead", problem=problem, values=values), states=40)


@pytest.mark.parametrize("load", [1e-6, 1e-3, 1.0, 10.0, 1000.0])
def test_extreme_loads(load: float) -> None:
    """From one incident in a million busy times to a thousand per truck, it decides and agrees with its table."""
    for trucks in ([1, 1, 1, 1], [2, 1, 3]):
        policy = solve_mean_field(make_problem(trucks, [2, 1, 3, 4], load=load, seed=3))
        assert np.isfinite(policy.values.value).all()
        assert ((policy.values.busy > 0.0) & (policy.values.busy < 1.0)).all()
        check_decisions(policy)


@pytest.mark.parametrize(
    ("trucks", "needed"), [([1], [1]), ([1], [3, 1]), ([12], [2, 3]), ([1, 1], [3, 3]), ([1], [4]), ([12], [4, 1])]
)
def test_no_choice(trucks: list[int], needed: list[int]) -> None:
    """One truck, one station of many, or more trucks needed than there are: what is idle goes, made up from outside."""
    for load in (0.01, 0.3, 10.0):
        problem = make_problem(trucks, needed, load=load, seed=1)
        policy = solve_mean_field(problem)
        for state, j in product(Dense(problem).states, range(len(needed))):
            decision = policy.decide(np.array(state), j)
            assert len(decision.team) == needed[j]
            assert decision.team.count("outside") == max(0, needed[j] - sum(state))
            assert decision.price == 0.0 or sum(state) > 0
        assert evaluate(policy).converged


def test_one_truck_by_hand() -> None:
    """One truck, ρ = λ/μ: late extra until it returns, looked at one event ahead of the mean field.

    Before the truck is back an incident may meet none instead of one, and leaves none either way: with h(0) the same on
    both sides, (λ + μ) price = λ (c_outside + h(0) - c_own - h(0)), which is exact.
    """
    problem = make_problem([1], [1], load=0.25)
    outside, own = problem.cost[:, 0]
    price = solve_mean_field(problem).prices(np.array([1]), np.array([1]))[0]
    assert price == pytest.approx(0.25 * (outside - own) / 1.25, rel=1e-12)


def test_points_without_incidents() -> None:
    """Demand points of rate zero change no decision elsewhere, and get decisions of their own."""
    rates = [1.0, 0.0, 0.5, 0.0, 0.7]
    problem = make_problem([1, 2, 1], [2, 3, 2, 1, 1], rates=rates, load=0.3, seed=6)
    policy = solve_mean_field(problem)
    check_decisions(policy)
    alive = np.flatnonzero(rates)
    others = {name: getattr(problem, name)[alive] for name in ("incidents_per_day", "trucks_needed", "order")}
    cost = problem.cost[problem.teams.sizes <= 2][:, alive]
    without = solve_mean_field(replace(problem, cost=cost, measures={}, point_ids=(), **others))
    for state in Dense(problem).states:
        for position, j in enumerate(alive.tolist()):
            found, other = policy.decide(np.array(state), j), without.decide(np.array(state), position)
            assert found.team == other.team
            assert found.total == pytest.approx(other.total, abs=1e-9)


def busy_states(policy: AheadPolicy, count: int) -> list[NDArray[np.int64]]:
    """States of a large department: all idle, none, a few, and as busy as it usually is."""
    trucks, rng = policy.problem.trucks, np.random.default_rng(1)
    usual = [rng.binomial(trucks, 1.0 - policy.values.busy) for _ in range(count)]
    few = [rng.binomial(trucks, 0.05) for _ in range(count)]
    return [trucks, 0 * trucks, *few, *usual]


@pytest.mark.slow
def test_sixty_trucks() -> None:
    """Sixty trucks at 45 stations decide online, the same without pruning, while their table is refused."""
    city = generate_grid(side=8, num_stations=45, load=0.4, seed=2)
    stations = tuple(replace(station, trucks=2 if i % 3 == 0 else 1) for i, station in enumerate(city.stations))
    problem = dispatch_problem(replace(city, stations=stations), minutes=False)
    policy = solve_mean_field(problem)
    unpruned = Unpruned(name="unpruned", problem=problem, values=policy.values)
    assert len(policy.values.stations) > 1
    assert problem.num_trucks == 60
    with pytest.raises(SizeError):
        _ = policy.rule
    for idle in busy_states(policy, 3):
        for j in (0, 17, 40):
            decision = policy.decide(idle, j)
            assert decision == unpruned.decide(idle, j)
            sent = [problem.station_ids.index(name) for name in decision.team if name != "outside"]
            assert len(decision.team) == problem.trucks_needed[j]
            assert len(sent) == min(int(problem.trucks_needed[j]), int(idle.sum()))
            assert (np.bincount(sent, minlength=problem.num_stations) <= idle).all()
            teams = idle_teams(problem, idle, j)
            assert decision.total <= (problem.cost[teams, j] + policy.prices(idle, teams)).min() + NEAR
        if 2 * idle.sum() > problem.num_trucks:
            # Tables do not know of each other: where a late incident is one in 10^7, prices of -10^-7 were seen, and
            # with five of sixty trucks idle one of -10^-4.
            assert policy.prices(idle, problem.teams.idle(idle, 1)).min() > -1e-6


@pytest.mark.slow
@pytest.mark.usefixtures("coarse_values")
def test_points_that_are_not_concerned_do_not_change() -> None:
    """Prices are those of looking at every demand point again, though most are left out for a truck."""
    problem = dispatch_problem(generate_grid(side=16, num_stations=60, load=0.4, seed=5), minutes=False)
    policy = solve_mean_field(problem)
    everywhere = AheadPolicy(name="ahead", problem=problem, values=policy.values)
    everywhere.__dict__["_teams"] = policy._teams._replace(near=np.ones_like(policy._teams.near))
    looked_at = [policy.points_concerned(np.array([i])) for i in range(60)]
    assert max(looked_at) < problem.num_points
    assert np.mean(looked_at) < 0.7 * problem.num_points
    for idle in busy_states(policy, 4):
        teams = idle_teams(problem, idle, 0)[::17]
        np.testing.assert_allclose(policy.prices(idle, teams), everywhere.prices(idle, teams), rtol=0, atol=1e-15)
