"""Tests of fixed cards: never worse than closest-first, close to the best card there is, and followed to the letter."""

from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from tests.seeds import each_seed

import runcard.policy.fixed_card
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.independent import IndependentTrucks
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.policy.by_order import exact_prices
from runcard.policy.card_models import ExactCard, IndependentCard, Proposal
from runcard.policy.closest_first import closest_first_value
from runcard.policy.fixed_card import FixedCard, improve_card, solve_fixed_card
from runcard.policy.solve_options import SolveOptions

from ..mdp.problems import grid_problem, ids_of, make_problem, random_problem
from ..mdp.reference import Dense


def grid(seed: int, *, num_stations: int = 5, load: float = 0.1, side: int = 5) -> DispatchProblem:
    """The problem of a small random grid."""
    return grid_problem(num_stations, load, side=side, seed=seed)


def late_fraction(problem: DispatchProblem, order: np.ndarray) -> float:
    """The late fraction of a card, by linear algebra."""
    dense = Dense(problem)
    return dense.values(dense.order_table(order))[0] / problem.total_incidents_per_day


def check_card(card: FixedCard) -> None:
    """A card is an order of all stations for each point, no worse than closest-first, with bounds that hold."""
    problem = card.problem
    assert (np.sort(card.order, axis=1) == np.arange(problem.num_stations)).all()
    late = late_fraction(problem, card.order)
    assert late <= late_fraction(problem, problem.order) * (1 + 1e-9) + 1e-14
    assert card.certificate is not None
    assert card.certificate.converged
    assert card.certificate.lower * (1 - 1e-9) - 1e-14 <= late <= card.certificate.upper * (1 + 1e-9) + 1e-14


@each_seed(25)
def test_never_worse_than_closest_first(seed: int) -> None:
    """On random problems of any k and any number of trucks the card is no worse than the order it started from."""
    check_card(solve_fixed_card(random_problem(seed)))


@pytest.mark.parametrize(("trucks", "needed"), [([1, 1, 2], 1), ([1, 1, 2], 2), ([1, 1, 2], 3), ([2, 1, 2], 4)])
def test_how_close_to_the_best_of_all_cards(trucks: list[int], needed: int) -> None:
    """On tiny cities, of all cards there are, none is better than the one found by much, and often none at all."""
    shares = []
    for seed in range(8):
        problem = make_problem(trucks, [needed, 2, 1], load=0.3, seed=seed)
        first = late_fraction(problem, problem.order)
        cards = product(list(permutations(range(3))), repeat=3)
        best = min(late_fraction(problem, np.array(card)) for card in cards)
        found = late_fraction(problem, solve_fixed_card(problem).order)
        assert found >= best * (1 - 1e-9)
        shares.append((first - found) / (first - best))
    assert min(shares) > 0.95
    assert np.mean(np.array(shares) > 1 - 1e-6) >= 0.75


@pytest.mark.parametrize("seed", range(4))
def test_no_single_order_would_do_better(seed: int) -> None:
    """With the card of a grid of four stations, no other order of any one point makes fewer incidents late."""
    problem = grid(seed, num_stations=4, load=0.05, side=4)
    card = solve_fixed_card(problem).order
    found = late_fraction(problem, card)
    for j, order in product(range(0, problem.num_points, 3), permutations(range(4))):
        changed = card.copy()
        changed[j] = order
        assert late_fraction(problem, changed) >= found * (1 - 1e-5)


def test_gains_on_grids() -> None:
    """On grids with a few busy trucks the card gains a good part of what the optimum gains over closest-first."""
    gained, possible = 0.0, 0.0
    for seed in range(6):
        problem = grid(seed, num_stations=4, load=0.05, side=4)
        first, best = late_fraction(problem, problem.order), Dense(problem).optimum()[1].late_fraction
        gained += (first - late_fraction(problem, solve_fixed_card(problem).order)) / first
        possible += (first - best) / first
    assert gained > 0.8 * possible


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_decisions_follow_the_card(seed: int) -> None:
    """In every state the first idle trucks of the card go, with their P(late) and the price of its own values."""
    problem = random_problem(seed)
    card, dense = solve_fixed_card(problem), Dense(problem)
    table = dense.order_table(card.order)
    value = dense.values(table)[1]
    for place, state in enumerate(dense.states):
        for j in range(problem.num_points):
            decision, team = card.decide(np.array(state), j), table[place, j]
            assert decision.team == ids_of(problem, team, j)
            assert decision.p_late == problem.cost[team, j]
            price = value[dense.after(state, team)] - value[place]
            assert decision.price == pytest.approx(price, abs=1e-6 * (1 + np.abs(value).max()))
    assert card.rule.order is card.order
    found = evaluate_rule(problem, card.rule).late_fraction
    assert found == pytest.approx(late_fraction(problem, card.order), rel=1e-8)


def test_cut_short() -> None:
    """A search that may evaluate few cards says that it did not finish, and is still no worse than its start."""
    problem = grid(1, num_stations=6, load=0.2)
    start = ExactCard(problem, problem.order, 1)
    whole = improve_card(start)
    assert whole.finished
    for most in (1, 2, 3):
        found = improve_card(start, max_evaluations=most)
        assert not found.finished
        assert found.evaluations == most
        assert whole.card.upper <= found.card.upper <= start.upper


@dataclass(frozen=True)
class Rough:
    """A card of which nobody knows more than that it is up to 1 worse than said; another order makes it 0.5 better."""

    problem: DispatchProblem
    order: np.ndarray
    upper: float = 3.0

    @property
    def lower(self) -> float:
        """What it may be as well."""
        return self.upper - 1.0

    def propose(self) -> Proposal:
        """The opposite orders."""
        return Proposal(self.order[:, ::-1].copy(), np.ones(len(self.order)))

    def changed(self, order: np.ndarray) -> "Rough":
        """A card with these orders."""
        return replace(self, order=order, upper=2.5 if (order != self.order).any() else self.upper)


def test_only_what_is_provably_better_is_accepted() -> None:
    """A card whose upper bound is above the lower one of the present card may be worse, so it is not taken."""
    problem = make_problem([1, 1], [1], seed=1)
    start: Any = Rough(problem, problem.order)
    assert improve_card(start).card is start


def test_a_certificate_says_whether_the_solver_met_its_tolerance() -> None:
    """That of an order is the solver's word, for better or worse."""
    problem = make_problem([1, 1], [1], seed=1)
    found = closest_first_value(problem)
    for converged in (True, False):
        _, certificate = exact_prices(problem, replace(found, converged=converged))
        assert certificate is not None
        assert certificate.converged is converged


def test_threads_change_nothing() -> None:
    """One thread and three find the same card, exactly and independently."""
    problem = grid(2, num_stations=6, load=0.2)
    for kind in (ExactCard, IndependentCard):
        one, three = (improve_card(kind(problem, problem.order, threads)).card.order for threads in (1, 3))
        assert (one == three).all()


def test_progress() -> None:
    """Each better card is told, from closest-first down."""
    told: list[Progress] = []
    card = solve_fixed_card(grid(3), SolveOptions(progress=told.append))
    assert card.certificate is not None
    assert told[-1].upper == card.certificate.upper
    assert told[-1].upper < max(progress.upper for progress in told)


def test_independent_cards_are_better_in_truth() -> None:
    """The card found with independent trucks beats closest-first in exact evaluation on nearly all of ten grids."""
    better = 0
    for seed in range(10):
        problem = grid(seed, num_stations=8, load=0.1, side=8)
        start = IndependentCard(problem, problem.order, 1)
        found = improve_card(start)
        assert found.finished
        assert found.card.upper < start.lower
        better += ExactCard(problem, found.card.order, 1).upper < closest_first_value(problem).lower
    assert better >= 9


def test_steady_chances_and_prices_at_any_load() -> None:
    """From 1e-6 to 100 incidents per truck and busy time steady chances solve their equations, and there are prices.

    Where chances are neither 0 nor 1, central differences of the equations and of the late incidents give the same.
    """
    for load in (1e-6, 1e-3, 0.1, 1.0, 10.0, 100.0):
        problem = make_problem([1, 2, 1, 3, 1], [1, 2, 3, 4, 2], load=load, seed=1)
        card, trucks = IndependentCard(problem, problem.order, 1), IndependentTrucks(problem, problem.order)

        def of(busy: np.ndarray, problem: DispatchProblem = problem, trucks: IndependentTrucks = trucks) -> np.ndarray:
            flow = trucks.station_demand(busy) * (1.0 - busy) - problem.returns_per_day * busy
            return np.append(flow, trucks.asked_and_late(np.repeat(busy, problem.trucks))[1])

        assert np.abs(of(card.busy)[:-1]).max() <= 1e-9 * problem.total_incidents_per_day
        assert np.isfinite(card.prices()).all()
        if 0.1 <= load <= 10.0:
            moves = 1e-5 * np.eye(5)
            slopes = np.array([(of(card.busy + move) - of(card.busy - move)) / 2e-5 for move in moves])
            expected = np.linalg.solve(slopes[:, :-1], -slopes[:, -1]) / problem.trucks
            np.testing.assert_allclose(card.prices(), expected, rtol=1e-5)


@pytest.mark.parametrize("kind", [ExactCard, IndependentCard])
@pytest.mark.parametrize("needed", [2, 4])
def test_promises_are_kept_to_first_order(needed: int, kind: type[ExactCard] | type[IndependentCard]) -> None:
    """When a point with hardly any incidents changes its order, g falls by what its proposal promised."""
    for seed in range(3):
        base = make_problem([1, 2, 1, 1], [needed, 1, 3, 2], load=0.4, seed=seed)
        rates = base.incidents_per_day.copy()
        rates[0] *= 1e-4
        problem = replace(base, incidents_per_day=rates)
        card = kind(problem, problem.order, 1)
        proposal = card.propose()
        order = problem.order.copy()
        order[0] = proposal.order[0]
        fall = card.upper - card.changed(order).upper
        assert fall == pytest.approx(proposal.gain[0], rel=5e-3, abs=1e-9 * card.upper), seed


@pytest.mark.parametrize(("seed", "is_worse"), [*((seed, False) for seed in range(7)), (105, True)])
def test_more_states_than_a_search_takes(seed: int, is_worse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the result is evaluated exactly, it is still never worse than closest-first, which stays if it was."""
    monkeypatch.setattr(runcard.policy.fixed_card, "MOST_STATES", 0)
    problem = random_problem(seed)
    searched = improve_card(IndependentCard(problem, problem.order, 1)).card.order
    card, late = solve_fixed_card(problem), late_fraction(problem, searched)
    check_card(card)
    assert (late > late_fraction(problem, problem.order) * (1 + 1e-3)) == is_worse
    assert late_fraction(problem, card.order) <= late * (1 + 1e-9) + 1e-14


@pytest.mark.slow
def test_department_without_a_state_space() -> None:
    """For 60 trucks there is a card, better than closest-first as far as can be told, and it decides with prices."""
    problem = grid(1, num_stations=60, load=0.3, side=8)
    card = solve_fixed_card(problem)
    assert card.certificate is None
    start, found = (IndependentCard(problem, order, 1) for order in (problem.order, card.order))
    assert found.upper < start.lower
    idle = np.random.default_rng(1).integers(0, 2, 60)
    decision = card.decide(idle, 7)
    expected = [i for i in card.order[7].tolist() if idle[i]][:2]
    assert sorted(decision.team) == sorted(problem.station_ids[i] for i in expected)
    assert np.isfinite(decision.price)


def test_a_city_that_is_never_late() -> None:
    """Where no team is ever late there is nothing to improve: closest-first it stays."""
    problem = make_problem([1, 1, 1], [2, 1], cost=[0.0], seed=1)
    card = solve_fixed_card(problem)
    assert card.finished
    assert (card.order == problem.order).all()
