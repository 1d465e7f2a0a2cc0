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

from ..mdp.problems import make_problem
from ..mdp.reference import Dense


def mixed_problem() -> DispatchProblem:
    """Three stations of 2, 1 and 2 trucks, and demand points that need 1 to 4 of them."""
    return make_problem([2, 1, 2], [2, 1, 3, 4, 2], load=0.3, seed=2)


def ids_of(problem: DispatchProblem, team: int, point: int) -> tuple[str, ...]:
    """The station ids of a team, and "outside" for what is missing."""
    ids = [problem.station_ids[i] for i, taken in enumerate(problem.teams.counts[team]) for _ in range(taken)]
    return (*ids, *["outside"] * (int(problem.trucks_needed[point]) - len(ids)))


@pytest.fixture(scope="module", params=POLICY_NAMES)
def policy(request: pytest.FixtureRequest) -> Policy:
    """Each policy of the mixed problem."""
    return solve_problem(mixed_problem(), request.param)


def test_a_team_with_a_busy_truck_has_no_price(policy: Policy) -> None:
    """It is refused, and named: its number would be read off a state that there is not."""
    problem = policy.problem
    team = problem.teams.number([0, 0])
    assert np.isfinite(policy.prices(problem.trucks, [team])).all()
    with pytest.raises(InputError, match=f"team {team}: expected its trucks to be idle"):
        policy.prices(problem.trucks - np.array([1, 0, 0]), [team])


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
        assert decision.team == ids_of(problem, team, j)
        assert decision.p_late == problem.cost[team, j]
        if not isinstance(policy, AheadPolicy):
            assert decision.total == pytest.approx(totals[teams.index(team)] - value[place], abs=accuracy)
        ranked = [teams[rank] for rank in totals.argsort(kind="stable") if teams[rank] != team][:NUM_ALTERNATIVES]
        assert [option.team for option in decision.alternatives] == [ids_of(problem, other, j) for other in ranked]
        assert [option.p_late for option in decision.alternatives] == [problem.cost[other, j] for other in ranked]


def test_decisions_make_p_late_and_price_smallest(policy: Policy) -> None:
    """Policies by value send the team with the smallest P(late) + price, of the prices that they give for all teams."""
    problem, dense = policy.problem, Dense(policy.problem)
    for place, j in product(range(problem.num_states), range(problem.num_points)):
        idle, teams = np.array(dense.states[place]), np.array(dense.choices[place][j])
        totals = problem.cost[teams, j] + policy.prices(idle, teams)
        decision = policy.decide(idle, j)
        listed = [decision, *decision.alternatives]
        by_team = {ids_of(problem, team, j): total for team, total in zip(teams.tolist(), totals, strict=True)}
        assert [option.total for option in listed] == pytest.approx(
            [by_team[option.team] for option in listed], abs=1e-12
        )
        if not isinstance(policy, OrderPolicy):
            best = np.sort(totals)[: len(listed)]
            assert [option.total for option in listed] == pytest.approx(best, abs=1e-12)


def test_many_decisions_are_those_asked_one_by_one(policy: Policy) -> None:
    """In every state the teams for all points at once are those of the decisions."""
    problem, dense = policy.problem, Dense(policy.problem)
    points = np.arange(problem.num_points)
    for state in dense.states:
        idle = np.array(state)
        sent = [ids_of(problem, team, j) for j, team in enumerate(policy.teams(idle, points).tolist())]
        assert sent == [policy.decide(idle, j).team for j in points.tolist()]


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


def line_city(num_nodes: int, stations: list[int], demand: list[int], **settings: object) -> City:
    """A city of nodes in a line, a minute apart."""
    return City(
        name="line",
        busy_minutes=60.0,
        target_minutes=2.0,
        nodes=tuple(Node(f"n{x}", float(x), 0.0) for x in range(num_nodes)),
        links=tuple(Link(f"e{x}", f"n{x}", f"n{x + 1}", False, 1.0) for x in range(num_nodes - 1)),
        stations=tuple(Station(f"s{i}", f"n{x}", 1) for i, x in enumerate(stations)),
        demand=tuple(DemandPoint(f"n{x}", 2.0) for x in demand),
        **settings,  # type: ignore[arg-type]
    )


def test_closest_first_ties_go_to_the_station_listed_first() -> None:
    """Of four stations two minutes away on either side, the two that are listed first go."""
    problem = dispatch_problem(line_city(5, [4, 0, 0, 4], [2]))
    policy = solve_problem(problem, "closest-first")
    assert policy.decide(np.array([1, 1, 1, 1]), 0).team == ("s0", "s1")
    assert policy.decide(np.array([0, 1, 1, 1]), 0).team == ("s1", "s2")
    assert policy.decide(np.array([1, 0, 0, 1]), 0).team == ("s0", "s3")


def test_ties_of_values_go_to_the_team_listed_first() -> None:
    """Where every team is equally good, a value policy sends the one listed first, as its evaluation assumes."""
    policy = solve_problem(make_problem([1, 1, 1], [2, 1], cost=[0.5]), "optimal")
    assert policy.decide(np.array([1, 1, 1]), 0).team == ("s0", "s1")
    assert policy.decide(np.array([0, 1, 1]), 1).team == ("s1",)


def test_outside_makes_up_the_number(policy: Policy) -> None:
    """With fewer idle trucks than wanted all of them go, and trucks from outside make up the number."""
    point = int(policy.problem.trucks_needed.argmax())
    assert policy.decide(np.array([0, 0, 0]), point).team == ("outside",) * 4
    assert policy.decide(np.array([0, 1, 0]), point).team == ("s1", "outside", "outside", "outside")
    both = policy.decide(np.array([2, 0, 0]), point)
    assert both.team == ("s0", "s0", "outside", "outside")
    assert both.alternatives == ()


def test_a_decision_from_nothing_costs_nothing(policy: Policy) -> None:
    """With no idle truck there is nothing to take, so the price is zero."""
    assert policy.decide(np.array([0, 0, 0]), 0).price == 0.0


@pytest.mark.parametrize(
    ("idle", "point", "message"),
    [
        ([1, 1], 0, "idle trucks of 3 stations"),
        ([1, 1, 1, 1], 0, "idle trucks of 3 stations"),
        ([[1, 1, 1]], 0, "idle trucks of 3 stations"),
        ([3, 1, 1], 0, "station s0: expected 0 to 2 idle trucks, got 3"),
        ([1, -1, 1], 0, "station s1: expected 0 to 1 idle trucks, got -1"),
        ([1, 1, 1], 5, "demand point from 0 to 4"),
        ([1, 1, 1], -1, "demand point from 0 to 4"),
    ],
)
def test_states_and_points_that_do_not_exist(policy: Policy, idle: list[int], point: int, message: str) -> None:
    """Too many, too few or negative idle trucks, or a demand point that is not there, are refused."""
    with pytest.raises(InputError, match=message):
        policy.decide(np.array(idle), point)


def test_a_decision_is_one_of_its_kind(policy: Policy) -> None:
    """Decisions are frozen and the same every time."""
    first, second = (policy.decide(np.array([2, 1, 1]), 0) for _ in range(2))
    assert isinstance(first, Decision)
    assert first == second


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


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("CF", "closest-first"),
        ("opt", "optimal"),
        ("OSI", "one-step"),
        (" Optimal ", "optimal"),
        ("one-step", "one-step"),
        ("OSIA", "one-step-queueing"),
        ("one-step-mean-field", "one-step-mean-field"),
        ("Fixed-Card", "fixed-card"),
    ],
)
def test_names_and_labels(word: str, name: str) -> None:
    """A policy is found by its name or the paper's label, in any case."""
    assert policy_name(word) == name
    assert solve_problem(make_problem([1], [1]), word).name == name


def test_a_misspelt_name_is_refused_with_a_suggestion() -> None:
    """An unknown policy is refused with the choices and the nearest name."""
    with pytest.raises(InputError, match=r"closest-first \(CF\).*did you mean optimal"):
        policy_name("optimum")


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1.0, float("nan")])
def test_tolerances_without_meaning_are_refused(tolerance: float) -> None:
    """A tolerance is between 0 and 1."""
    with pytest.raises(InputError, match="tolerance between 0 and 1"):
        solve_problem(make_problem([1], [1]), tolerance=tolerance)


def test_one_step_and_closest_first_have_the_same_values() -> None:
    """One-step is greedy for the values of closest-first, which are computed once."""
    problem = mixed_problem()
    one_step, first = solve_problem(problem, "one-step"), solve_problem(problem, "closest-first")
    assert isinstance(one_step, ValuePolicy)
    assert isinstance(first, OrderPolicy)
    assert isinstance(first.values, Values)
    assert one_step.value is first.values.value
    assert one_step.certificate is None


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_idle_trucks_come_in_any_whole_numbers(name: str) -> None:
    """A list, unsigned numbers or floats without a fraction are as good as an array of integers."""
    policy = solve_problem(make_problem([2, 1], [2, 1]), name)
    expected = policy.decide(np.array([1, 1]), 0)
    for idle in ([1, 1], (1, 1), np.array([1, 1], np.uint64), np.array([1.0, 1.0]), np.array([1, 1], np.int8)):
        assert policy.decide(idle, np.int32(0)) == expected


@pytest.mark.parametrize("name", POLICY_NAMES)
@pytest.mark.parametrize(
    ("idle", "point"),
    [
        ([0.5, 1], 0), ([np.nan, 1], 0), ([True, True], 0), (["s0", "s1"], 0), (None, 0), ([[1, 1]], 0), ([-1, 1], 0),
        ([1, 1], 1.5), ([1, 1], "n0"), ([1, 1], None), ([1, 1], -1), ([1, 1], 2),
    ],
)  # fmt: skip
def test_nonsense_is_an_error_of_ours(name: str, idle: Any, point: Any) -> None:
    """Whatever is not a number of trucks or of a demand point is an InputError, which an integrator can catch."""
    policy = solve_problem(make_problem([2, 1], [2, 1]), name)
    with pytest.raises(InputError):
        policy.decide(idle, point)


@pytest.mark.parametrize("threads", [0, -1])
def test_no_threads_are_refused(threads: int) -> None:
    """Solving on no thread is an InputError."""
    with pytest.raises(InputError, match="expected threads >= 1"):
        solve_problem(make_problem([1], [1]), threads=threads)
