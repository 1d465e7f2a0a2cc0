"""Decisions explained."""

from dataclasses import replace

import numpy as np
import pytest
from tests.town import plain_town

from runcard.city import Objective, generate_grid
from runcard.city.model import LATE
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import DispatchProblem
from runcard.outputs.explain import Explanation, explain
from runcard.plan.fleet import fleet_of
from runcard.policy.base import Decision, Option
from runcard.policy.options import team_number
from runcard.policy.solve import POLICY_NAMES, solve_problem


@pytest.fixture(scope="module")
def problem() -> DispatchProblem:
    """The problem of the built-in city."""
    return dispatch_problem(plain_town())


def test_what_a_decision_is_compared_with_is_what_it_says(problem: DispatchProblem) -> None:
    """In many states: the team is the policy's, the surest has the smallest P(late), the closest is closest-first's."""
    optimal, closest_first = solve_problem(problem, "optimal"), solve_problem(problem, "closest-first")
    random = np.random.default_rng(0)
    differing = 0
    for _ in range(200):
        idle, point = random.integers(0, problem.trucks + 1), int(random.integers(problem.num_points))
        explanation = explain(fleet_of(optimal).decide(idle, point))
        decision = explanation.decision
        assert decision == optimal.decide(idle, point)
        assert explanation.closest.team == closest_first.decide(idle, point).team
        assert explanation.best_now.p_late <= min(decision.p_late, explanation.closest.p_late)
        assert decision.total <= min(explanation.best_now.total, explanation.closest.total)
        assert explanation.truck_prices.keys() == {problem.station_ids[i] for i in np.flatnonzero(idle)}
        differing += explanation.best_now.team != decision.team
    assert differing > 10


def made_up(
    policy: str, decision: str, best_now: str, closest: str, num_teams: int = 6, objective: Objective = LATE
) -> Explanation:
    """An explanation with teams of one truck, of which the decision is at 2 % + 1 % and the others at 1 % + 3 %."""
    other = {"p_late": 0.01, "price": 0.03}
    small = replace(generate_grid(side=2, num_stations=2, load=0.1, seed=1), objective=objective)
    return Explanation(
        place="n1",
        fleet=fleet_of(solve_problem(dispatch_problem(small), policy)),
        decision=Decision(team=(decision,), p_late=0.02, price=0.01, alternatives=()),
        best_now=Option(team=(best_now,), **other),
        closest=Option(team=(closest,), **other),
        num_teams=num_teams,
        truck_prices={decision: 0.01},
    )


def test_the_best_team_now_needs_no_excuse() -> None:
    """Where the same team is surest, closest and chosen, there is one sum and one remark."""
    assert made_up("optimal", "a", "a", "a").reasons == [
        "Of the 6 teams that could go it minimises P(late now) + price of the team: "
        "P(late now) 2.00 % + price 1.00 % = 3.00 %.",
        "No other team is surer to be in time now.",
    ]


def test_a_team_held_back_is_named_with_its_price() -> None:
    """Where another team is surer now, it is named with the same sum, and once if closest-first would send it."""
    assert made_up("optimal", "a", "b", "b").reasons[1:] == [
        "Surest to be in time now is b, which closest-first would send: P(late now) 1.00 % + price 3.00 % = 4.00 %."
    ]
    assert made_up("optimal", "a", "b", "c").reasons[1:] == [
        "Surest to be in time now is b: P(late now) 1.00 % + price 3.00 % = 4.00 %.",
        "Closest-first would send c: P(late now) 1.00 % + price 3.00 % = 4.00 %.",
    ]
    assert len(made_up("optimal", "a", "b", "a").reasons) == 2


def test_closest_first_gives_its_own_reason() -> None:
    """It does not claim that its team has the smallest sum."""
    assert made_up("closest-first", "a", "b", "a").reasons == [
        "Of the 6 teams that could go it is the closest: P(late now) 2.00 % + price 1.00 % = 3.00 %.",
        "Closest-first does not look at prices.",
    ]


def test_a_card_gives_its_own_reason() -> None:
    """A fixed card sends what comes first on it, whatever the sum."""
    assert made_up("fixed-card", "a", "b", "a").reasons == [
        "Of the 6 teams that could go it comes first on the card: P(late now) 2.00 % + price 1.00 % = 3.00 %.",
        "Fixed-card does not look at prices.",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_policy_explains_itself(problem: DispatchProblem, name: str) -> None:
    """With all, some and no trucks idle, the price of a truck alone is that of the team of one, and words come out."""
    policy = solve_problem(problem, name)
    for idle in (problem.trucks, np.where(np.arange(problem.num_stations) < 2, problem.trucks, 0), 0 * problem.trucks):
        explanation = explain(fleet_of(policy).decide(idle, 3))
        assert explanation.decision == policy.decide(idle, 3)
        assert all(explanation.reasons)
        alone = [problem.teams.number([problem.station_ids.index(name)]) for name in explanation.truck_prices]
        assert [*explanation.truck_prices.values()] == policy.prices(idle, np.array(alone, np.int64)).tolist()


def test_where_there_is_no_choice_none_is_explained() -> None:
    """A single team that could go is compared with nothing."""
    assert made_up("optimal", "a", "a", "a", num_teams=1).reasons == [
        "It is the only team that could go: P(late now) 2.00 % + price 1.00 % = 3.00 %."
    ]


def counted_otherwise(objective: Objective, decision: str, best_now: str) -> Explanation:
    """The made-up explanation of an objective: the decision 4 min and 2 % now, price 1; the other 3 min, 1 %, 3."""
    weight = objective.weight or 0.0
    costs = (4.0, 3.0) if objective.minimise == "minutes" else (0.02 + 4.0 * weight, 0.01 + 3.0 * weight)
    going = Decision(team=(decision,), p_late=0.02, price=1.0, alternatives=(), cost=costs[0], minutes=4.0)
    other = Option(team=(best_now,), p_late=0.01, price=3.0, cost=costs[1], minutes=3.0)
    plain = made_up("optimal", decision, best_now, best_now, objective=objective)
    return replace(plain, decision=going, best_now=other, closest=other, truck_prices={decision: 1.0})


def test_minutes_are_explained_in_minutes() -> None:
    """Where minutes are minimised, every sum is one of minutes, and nothing claims to be about lateness."""
    explanation = counted_otherwise(Objective("minutes"), "a", "b")
    assert explanation.reasons == [
        "Of the 6 teams that could go it minimises mean minutes now + price of the team: "
        "4.000 min now + price 1.000 min = 5.000 min.",
        "Soonest there on average is b, which closest-first would send: 3.000 min now + price 3.000 min = 6.000 min.",
    ]
    assert counted_otherwise(Objective("minutes"), "a", "a").reasons[1] == "No other team is sooner there on average."
    assert explanation.price_words.startswith("Price: the expected extra minutes of response, of all later incidents")
    assert explanation.truck_words == "a 1.000 min"
    assert "late" not in " ".join([*explanation.reasons, explanation.price_words]).replace("later", "")


def test_a_weighted_sum_is_explained_with_its_weight() -> None:
    """Where both are minimised, both stand in every sum, and the weight says how they are added."""
    explanation = counted_otherwise(Objective("late+minutes", 0.05), "a", "b")
    assert explanation.reasons == [
        "Of the 6 teams that could go it minimises P(late now) + 0.05 × mean minutes now + price of the team: "
        "P(late now) 0.0200 + 0.05 × 4.000 min + price 1.0000 = 1.2200.",
        "Best now, prices aside, is b, which closest-first would send: "
        "P(late now) 0.0100 + 0.05 × 3.000 min + price 3.0000 = 3.1600.",
    ]
    assert explanation.price_words.endswith("with each extra minute of response counted as 0.05 of one.")
    assert explanation.truck_words == "a 1.0000"


@pytest.mark.parametrize("objective", [Objective("minutes"), Objective("late+minutes", 0.05)], ids=lambda o: o.minimise)
def test_the_best_team_now_is_best_by_the_objective(problem: DispatchProblem, objective: Objective) -> None:
    """In many states no team costs less now, and the decision has the smallest sum."""
    other = with_objective(problem, objective)
    optimal, random = solve_problem(other, "optimal"), np.random.default_rng(1)
    for _ in range(50):
        idle, point = random.integers(0, problem.trucks + 1), int(random.integers(problem.num_points))
        explanation = explain(fleet_of(optimal).decide(idle, point))
        decision, best_now = explanation.decision, explanation.best_now
        assert best_now.cost is not None
        assert decision.cost is not None
        assert best_now.cost <= decision.cost
        assert decision.total <= best_now.total
        assert all(explanation.reasons)


def test_the_truck_that_a_standard_names_is_said_between_first_and_last() -> None:
    """Of three trucks, two in time, the second stands between the others, with the minutes of its tables; of two trucks
    nobody is between."""
    city = replace(generate_grid(side=3, num_stations=4, load=0.2, seed=1), trucks_per_incident=3, target_minutes=6.0)
    problem = dispatch_problem(replace(city, arrivals_per_incident=2), arrivals=True)
    kind = fleet_of(solve_problem(problem, "closest-first")).decide(problem.trucks, 5)
    ((word, mean, p90),) = explain(kind).between
    team = team_number(problem, kind.decision.team)
    assert (word, mean, p90) == (
        "second", problem.measures["arrival 2"][team, 5], problem.p90_minutes["arrival 2"][team, 5]
    )  # fmt: skip
    assert problem.measures["minutes"][team, 5] < mean < problem.measures["last"][team, 5]
    (note,) = explain(kind).notes
    assert f"; the second after {mean:.1f} min, 9 times of 10 in {p90:.1f} min; the last after" in note
    two = dispatch_problem(replace(city, trucks_per_incident=2), arrivals=True)
    assert explain(fleet_of(solve_problem(two, "closest-first")).decide(two.trucks, 5)).between == ()
