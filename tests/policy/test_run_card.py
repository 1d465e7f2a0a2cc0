"""Tests of run cards: their lines, the search behind them, and what they are worth as a policy."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.departments import grid_department, random_department
from tests.mdp.problems import every_state, make_problem
from tests.seeds import each_seed
from tests.simulate.cases import simulated

from runcard import dispatch_problem, evaluate, generate_grid, solve_problem
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.independent import IndependentTrucks
from runcard.mdp.problem import DispatchProblem
from runcard.policy.by_function import FunctionPolicy
from runcard.policy.options import team_number
from runcard.policy.run_card import RunCards, first_alike, lightest_block, make_run_cards, sent_by_card


def random_lines(rng: np.random.Generator, trucks: list[int]) -> list[tuple[int, ...]]:
    """Some lines of one size that stations of so many trucks can send."""
    homes = [i for i, number in enumerate(trucks) for _ in range(number)]
    size = int(rng.integers(1, min(4, len(homes)) + 1))
    return [tuple(sorted(rng.permutation(homes)[:size].tolist())) for _ in range(int(rng.integers(1, 7)))]


@each_seed(60)
def test_the_lightest_block_is_that_of_an_exhaustive_search(seed: int) -> None:
    """Of all numbers of busy trucks that leave no line to send, those found have the smallest weight."""
    rng = np.random.default_rng(seed)
    trucks = rng.integers(1, 4, size=int(rng.integers(2, 6))).tolist()
    weight, lines = rng.uniform(0.01, 5.0, size=len(trucks)).tolist(), random_lines(rng, trucks)
    found = lightest_block(lines, trucks, weight)
    blocked = [
        busy
        for busy in product(*(range(number + 1) for number in trucks))
        if not any(all(trucks[i] - busy[i] >= line.count(i) for i in line) for line in lines)
    ]
    assert found is not None
    assert tuple(found.get(i, 0) for i in range(len(trucks))) in blocked
    least = min(sum(np.multiply(busy, weight)) for busy in blocked)
    assert sum(number * weight[i] for i, number in found.items()) == pytest.approx(least, rel=1e-12)


def test_the_rule_of_a_card() -> None:
    """The first line whose trucks are idle goes; where none is, the first idle trucks in the order, as many as are."""
    lines, order = [(0, 1), (2, 2)], [3, 2, 1, 0]
    assert lightest_block([()], [1], [1.0]) is None  # a line without trucks is never blocked
    assert sent_by_card(lines, order, [1, 1, 2, 1], 2) == (0, (0, 1))
    assert sent_by_card(lines, order, [0, 1, 2, 1], 2) == (1, (2, 2))
    assert sent_by_card(lines, order, [0, 1, 1, 1], 2) == (None, (3, 2))
    assert sent_by_card(lines, order, [0, 1, 0, 0], 2) == (None, (1,))


PROBLEMS = {
    "grid": dispatch_problem(generate_grid(side=4, num_stations=5, load=0.2, seed=2)),
    **{f"department {seed}": dispatch_problem(random_department(seed), kind="engine") for seed in (1, 2, 3)},
}
"""Small problems: of one truck in each station, and of several in some with points that need one or two."""


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("name", ["optimal", "one-step-mean-field", "closest-first"])
def test_cards_send_what_the_policy_sends_where_they_were_made(problem: DispatchProblem, name: str) -> None:
    """In the state of each line, no earlier line fits, and the card sends the very team of the policy."""
    policy = solve_problem(problem, name)
    cards = make_run_cards(policy, depth=6)
    assert (cards.lines[:, 0] >= 0).all()
    np.testing.assert_array_equal(cards.states[:, 0], np.tile(problem.trucks, (problem.num_points, 1)))
    for point in range(problem.num_points):
        for team, idle in zip(cards.lines[point], cards.states[point], strict=True):
            if team >= 0:
                assert team_number(problem, policy.decide(idle, point).team) == team
                assert team_number(problem, cards.decide(idle, point).team) == team


def chosen(cards: RunCards, idle: NDArray[np.int64], point: int) -> int:
    """The team of a card by counts of trucks, written a second time."""
    counts, needed = cards.problem.teams.counts, int(cards.problem.trucks_needed[point])
    for team in cards.lines[point].tolist():
        if team >= 0 and (counts[team] <= idle).all():
            return int(team)
    return cards.problem.teams.number([i for i in cards.order[point].tolist() for _ in range(idle[i])][:needed])


@each_seed(3)
def test_each_line_is_for_the_likeliest_state_that_leaves_none(seed: int) -> None:
    """Of all sets of busy trucks that block the lines before, those of the next are the likeliest, each by itself."""
    problem = make_problem([1, 2, 1, 1, 1], [1, 2, 2, 1], load=0.2, seed=seed)
    cards = make_run_cards(solve_problem(problem, "closest-first"), order=problem.order)
    chance, numbers = IndependentTrucks(problem, problem.order).steady_busy(), 0
    states = every_state(problem)
    likely = [float(np.prod(chance ** (problem.trucks - idle) * (1.0 - chance) ** idle)) for idle in states]
    for lines, made_for in zip(cards.lines, cards.states, strict=True):
        teams = problem.teams.counts[lines]
        for number in range(1, int((lines >= 0).sum())):
            blocked = [all((team > idle).any() for team in teams[:number]) for idle in states]
            of_line = np.ravel_multi_index(tuple(made_for[number]), tuple(problem.trucks + 1))
            assert blocked[of_line]
            assert likely[of_line] == pytest.approx(max(np.array(likely)[blocked]), rel=1e-9)
            numbers += 1
    assert numbers >= 8


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_cards_are_evaluated_as_they_decide(problem: DispatchProblem) -> None:
    """The exact cost of cards is that of a function that follows them, and `decide` follows them, too."""
    cards = make_run_cards(solve_problem(problem), depth=3)
    by_hand = FunctionPolicy(problem=problem, name="by hand", choose=lambda idle, j, teams: chosen(cards, idle, j))
    found, expected = evaluate(cards), evaluate(by_hand)
    assert found.cost == pytest.approx(expected.cost, rel=1e-8)
    assert found.mean_response_minutes == pytest.approx(expected.mean_response_minutes, rel=1e-8)
    for idle in every_state(problem):
        for point in range(problem.num_points):
            assert team_number(problem, cards.decide(idle, point).team) == chosen(cards, idle, point)


@pytest.mark.parametrize("seed", [1, 4])
def test_cards_are_simulated_as_they_are_evaluated(seed: int) -> None:
    """The interval of a simulation, in kernels, holds the exact cost of cards, with several trucks in a station."""
    city = random_department(seed).of_kind("engine")
    cards = make_run_cards(solve_problem(dispatch_problem(city)), depth=3)
    found = simulated(city, [cards], incidents=40_000, seed=5).policies[0]
    interval = found.missed
    assert interval.value - 2.0 * interval.half <= evaluate(cards).cost <= interval.value + 2.0 * interval.half


def test_decisions_in_bulk_are_those_of_the_card() -> None:
    """A simulation by a table of every decision finds the very same as one that goes down the lines."""
    city = grid_department(side=4, engines=6, ladders=2).of_kind("engine")
    cards = make_run_cards(solve_problem(dispatch_problem(city)), depth=2)
    asked = FunctionPolicy(problem=cards.problem, name="asked", choose=lambda idle, j, teams: chosen(cards, idle, j))
    in_bulk, one_by_one = simulated(city, [cards, asked], incidents=2000, seed=3).policies
    assert in_bulk.missed.value == one_by_one.missed.value
    np.testing.assert_array_equal(in_bulk.dispatches_per_day, one_by_one.dispatches_per_day)


@each_seed(5)
def test_lines_that_cover_everything_are_the_policy(seed: int) -> None:
    """With three trucks of which two go, cards of all lines decide as the optimum in every state: nothing is lost."""
    problem = dispatch_problem(generate_grid(side=3, num_stations=3, load=0.3, seed=seed))
    policy = solve_problem(problem)
    cards = make_run_cards(policy, depth=4)
    for idle in every_state(problem):
        for point in range(problem.num_points):
            assert cards.decide(idle, point).team == policy.decide(idle, point).team
    assert evaluate(cards).cost == pytest.approx(evaluate(policy).cost, rel=1e-9)


def test_cards_of_an_order_are_the_order() -> None:
    """Cards made from closest-first send what it sends, however many lines they have."""
    closest = solve_problem(PROBLEMS["department 1"], "closest-first")
    for depth in (1, 2, 5):
        cost = evaluate(make_run_cards(closest, depth=depth)).cost
        assert cost == pytest.approx(evaluate(closest).cost, rel=1e-9)


def test_a_city_short_of_trucks_has_one_line() -> None:
    """Where an incident needs more trucks than there are, the one line sends all of them."""
    problem = dispatch_problem(generate_grid(side=3, num_stations=1, load=0.3, seed=1))
    cards = make_run_cards(solve_problem(problem), depth=4)
    assert (cards.lines >= 0).sum(axis=1).tolist() == [1] * problem.num_points
    assert cards.decide(problem.trucks, 0).team == ("s0", "outside")


def test_points_that_are_alike_are_found() -> None:
    """Demand points of one node with equal needs and costs are decided once; others on their own."""
    city = random_department(1).of_kind("engine")
    problem = dispatch_problem(city)
    first = first_alike(problem, problem.order)
    for point, other in enumerate(first.tolist()):
        assert problem.point_ids[point] == problem.point_ids[other]
        np.testing.assert_array_equal(problem.cost[:, point], problem.cost[:, other])
    rules = [
        (point.node_id, city.rule_of(point), tuple(one.weight for one in city.standards_of(point)))
        for point in city.demand
    ]
    assert len(set(first.tolist())) == len(set(rules))


def test_wrong_depths_and_files_are_refused() -> None:
    """A card has 1 to 16 lines, and cards are not a policy file."""
    policy = solve_problem(PROBLEMS["grid"])
    for depth in (0, 17):
        with pytest.raises(InputError, match="expected cards of 1 to 16 lines"):
            make_run_cards(policy, depth=depth)
    with pytest.raises(PolicyFileError, match="runcard cards"):
        make_run_cards(policy, depth=1).stored()
