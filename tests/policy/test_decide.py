"""Tests of decisions: in every state and at every demand point, against a search through all teams."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from runcard.city import City, DemandPoint, Link, Node, Station, generate_grid
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.policy.ahead import AheadPolicy
from runcard.policy.base import Decision, Policy
from runcard.policy.by_order import OrderPolicy
from runcard.policy.by_value import ValuePolicy, Values
from runcard.policy.options import NUM_ALTERNATIVES
from runcard.policy.queueing import QueueingPolicy
from runcard.policy.solve import POLICY_NAMES, evaluate, policy_name, solve_problem

from ..mdp.problems import ids_of, make_problem
from ..mdp.reference import Dense


def mixed_problem() -> DispatchProblem:
    """Three stations of 2, 1 and 2 trucks, and demand points that need 1 to 4 of them."""
    return make_problem([2, 1, 2], [2, 1, 3, 4, 2], load=0.3, seed=2)


@pytest.fixture(scope="module", params=POLICY_NAMES)
def policy(request: pytest.FixtureRequest) -> Policy:
    """Each policy of the mixed problem."""
    return solve_problem(mixed_problem(), request.param)


def test_every_decision_is_the_best_of_all_teams(policy: Policy) -> None:
    """In every state and at every point the team, P(late), price and alternatives are those of a search by hand.

    Queueing reads its prices off a fixed point, found to 1e-9 or so. The prices of the mean field are differences of
    values up to what all teams of a size have in common; tests/policy/test_mean_field.py has its prices themselves.
    """
    problem, dense = policy.problem, Dense(policy.problem)
    by_order = dense.order_table(policy.order) if isinstance(policy, OrderPolicy) else None
    value = policy.rule.start
    assert value is not None
    accuracy = 1e-8 if isinstance(policy, QueueingPolicy) else 1e-14
    for place, j, teams, totals in dense.totals(value):
        decision = policy.decide(np.array(dense.states[place]), j)
        team = by_order[place, j] if by_order is not None else teams[int(totals.argmin())]
        ranked = [teams[rank] for rank in totals.argsort(kind="stable") if teams[rank] != team][:NUM_ALTERNATIVES]
        for option, number in zip((decision, *decision.alternatives), (team, *ranked), strict=True):
            assert option.team == ids_of(problem, number, j)
            assert option.p_late == problem.cost[number, j]
        if not isinstance(policy, AheadPolicy):
            assert decision.total == pytest.approx(totals[teams.index(team)] - value[place], abs=accuracy)


def test_decisions_make_p_late_and_price_smallest(policy: Policy) -> None:
    """Policies by value send the team with the smallest P(late) + price, of the prices that they give for all teams.

    What they decide for all points at once is what they decide one by one.
    """
    problem, dense, points = policy.problem, Dense(policy.problem), np.arange(policy.problem.num_points)
    for place, state in enumerate(dense.states):
        idle = np.array(state)
        sent = policy.teams(idle, points).tolist()
        for j in points.tolist():
            teams, decision = np.array(dense.choices[place][j]), policy.decide(idle, j)
            totals = problem.cost[teams, j] + policy.prices(idle, teams)
            listed = [decision, *decision.alternatives]
            by_team = {ids_of(problem, team, j): total for team, total in zip(teams.tolist(), totals, strict=True)}
            expected = [by_team[option.team] for option in listed]
            assert [option.total for option in listed] == pytest.approx(expected, abs=1e-12)
            if not isinstance(policy, OrderPolicy):
                assert expected == pytest.approx(np.sort(totals)[: len(listed)], abs=1e-12)
            assert ids_of(problem, sent[j], j) == decision.team


@pytest.mark.parametrize("name", ["closest-first", "one-step", "optimal", "fixed-card"])
def test_the_price_is_the_future(name: str) -> None:
    """The price of a team is h(f-a) - h(f), with h the exact values of the policy that the prices are made for.

    One-step takes the prices of closest-first: it improves on them once. Policies with approximate values are left out.
    """
    policy = solve_problem(mixed_problem(), name)
    problem, dense = policy.problem, Dense(policy.problem)
    order = policy.order if isinstance(policy, OrderPolicy) else problem.order
    table = dense.order_table(order) if policy.name != "optimal" else dense.optimum()[0]
    value = dense.values(table)[1]
    for place, j in product(range(problem.num_states), range(problem.num_points)):
        state = dense.states[place]
        for option in [decision := policy.decide(np.array(state), j), *decision.alternatives]:
            left = tuple(f - option.team.count(name) for f, name in zip(state, problem.station_ids, strict=True))
            assert option.price == pytest.approx(value[dense.number[left]] - value[place], abs=1e-7)


def test_one_station_has_prices_too() -> None:
    """With one station there is nothing to choose, so the optimal policy has the prices of closest-first, not zero."""
    problem = make_problem([3], [1, 2], load=0.4, seed=1)
    first, optimal = (solve_problem(problem, name).decide(np.array([3]), 0) for name in ("closest-first", "optimal"))
    assert optimal.team == first.team == ("s0",)
    assert optimal.price == pytest.approx(first.price, rel=1e-7)


def line_city(num_nodes: int, stations: list[int], demand: list[int]) -> City:
    """A city of nodes in a line, a minute apart."""
    return City(
        name="line",
        busy_minutes=60.0,
        target_minutes=2.0,
        nodes=tuple(Node(f"n{x}", float(x), 0.0) for x in range(num_nodes)),
        links=tuple(Link(f"e{x}", f"n{x}", f"n{x + 1}", False, 1.0) for x in range(num_nodes - 1)),
        stations=tuple(Station(f"s{i}", f"n{x}", 1) for i, x in enumerate(stations)),
        demand=tuple(DemandPoint(f"n{x}", 2.0) for x in demand),
    )


def test_ties_go_to_who_is_listed_first() -> None:
    """Of four stations two minutes away the two listed first go; a value policy sends the team listed first."""
    closest = solve_problem(dispatch_problem(line_city(5, [4, 0, 0, 4], [2])), "closest-first")
    for idle, team in (([1, 1, 1, 1], ("s0", "s1")), ([0, 1, 1, 1], ("s1", "s2")), ([1, 0, 0, 1], ("s0", "s3"))):
        assert closest.decide(np.array(idle), 0).team == team
    optimal = solve_problem(make_problem([1, 1, 1], [2, 1], cost=[0.5]), "optimal")
    assert optimal.decide(np.array([1, 1, 1]), 0).team == ("s0", "s1")
    assert optimal.decide(np.array([0, 1, 1]), 1).team == ("s1",)


def test_outside_makes_up_the_number(policy: Policy) -> None:
    """With fewer idle trucks than wanted all of them go, and trucks from outside make up the number.

    With no idle truck there is nothing to take, so that the price is zero.
    """
    point = int(policy.problem.trucks_needed.argmax())
    for idle, team in (([0, 0, 0], ()), ([0, 1, 0], ("s1",)), ([2, 0, 0], ("s0", "s0"))):
        decision = policy.decide(np.array(idle), point)
        assert decision.team == (*team, *["outside"] * (4 - len(team)))
        assert decision.alternatives == ()
    assert policy.decide(np.array([0, 0, 0]), 0).price == 0.0


@pytest.mark.parametrize(
    ("idle", "point", "message"),
    [
        *((idle, 0, "idle trucks of 3 stations") for idle in ([1, 1], [1, 1, 1, 1], [[1, 1, 1]])),
        ([3, 1, 1], 0, "station s0: expected 0 to 2 idle trucks, got 3"),
        ([1, -1, 1], 0, "station s1: expected 0 to 1 idle trucks, got -1"),
        *(([1, 1, 1], point, "demand point from 0 to 4") for point in (5, -1)),
        *((idle, 0, "expected") for idle in ([0.5, 1, 1], [np.nan, 1, 1], [True] * 3, ["s0", "s1", "s2"], None)),
        *(([1, 1, 1], point, "expected the number of a demand point") for point in (1.5, "n0", None)),
    ],
)
def test_states_and_points_that_do_not_exist(policy: Policy, idle: Any, point: Any, message: str) -> None:
    """Whatever is not a number of trucks or of a demand point is an InputError, which an integrator can catch."""
    with pytest.raises(InputError, match=message):
        policy.decide(idle, point)


def test_a_team_with_a_busy_truck_has_no_price(policy: Policy) -> None:
    """It is refused, and named: its number would be read off a state that there is not."""
    problem = policy.problem
    team = problem.teams.number([0, 0])
    assert np.isfinite(policy.prices(problem.trucks, [team])).all()
    with pytest.raises(InputError, match=f"team {team}: expected its trucks to be idle"):
        policy.prices(problem.trucks - np.array([1, 0, 0]), [team])


def test_idle_trucks_come_in_any_whole_numbers(policy: Policy) -> None:
    """A list, unsigned numbers or floats without a fraction are as good as an array of integers, every time."""
    expected = policy.decide(np.array([2, 1, 1]), 0)
    assert isinstance(expected, Decision)
    numbers = [2, 1, 1]
    for idle in (numbers, (2, 1, 1), *(np.array(numbers, kind) for kind in (np.int64, np.uint64, np.int8, float))):
        assert policy.decide(idle, np.int32(0)) == expected


def test_decisions_of_a_city_make_its_late_fraction() -> None:
    """Weighing P(late) of every decision by the long-run probability of its state gives the late fraction."""
    problem = dispatch_problem(generate_grid(side=3, num_stations=4, load=0.3, seed=6))
    dense = Dense(problem)
    for name in POLICY_NAMES:
        policy = solve_problem(problem, name)
        found = evaluate(policy)
        late = sum(
            found.probability[place] * rate * policy.decide(np.array(state), j).p_late
            for place, state in enumerate(dense.states)
            for j, rate in enumerate(problem.incidents_per_day)
        )
        assert late / problem.total_incidents_per_day == pytest.approx(found.late_fraction, rel=1e-8)


def test_names_and_labels() -> None:
    """A policy is found by its name or the paper's label, in any case; a misspelt one is refused with a suggestion."""
    labels = {"CF": "closest-first", "opt": "optimal", "OSI": "one-step", "OSIA": "one-step-queueing"}
    for word, name in {**labels, " Optimal ": "optimal", "Fixed-Card": "fixed-card"}.items():
        assert policy_name(word) == name
        assert solve_problem(make_problem([1], [1]), word).name == name
    with pytest.raises(InputError, match=r"closest-first \(CF\).*did you mean optimal"):
        policy_name("optimum")


def test_one_step_and_closest_first_have_the_same_values() -> None:
    """One-step is greedy for the values of closest-first, which are computed once."""
    problem = mixed_problem()
    one_step, first = solve_problem(problem, "one-step"), solve_problem(problem, "closest-first")
    assert isinstance(one_step, ValuePolicy)
    assert isinstance(first, OrderPolicy)
    assert isinstance(first.values, Values)
    assert one_step.value is first.values.value
    assert one_step.certificate is None
