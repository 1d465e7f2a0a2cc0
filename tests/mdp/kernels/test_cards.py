"""Tests of the best order of a demand point against every order there is, each scored state by state."""

from itertools import permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

import runcard.policy.card_models
from runcard.mdp.problem import DispatchProblem
from runcard.policy.card_models import ExactCard, IndependentCard, Proposal

from ..problems import make_problem, random_problem
from ..reference import Dense

PROBLEMS = [
    *map(random_problem, range(12)),
    *(make_problem([1] * 5, [needed, 2, 1], load=load, seed=1) for needed in (1, 2, 3, 4) for load in (0.05, 0.6)),
    make_problem([2, 1, 3, 1], [3, 2, 1], load=0.4, seed=2),
    make_problem([1, 1], [3, 2, 1], load=0.4, seed=3),
    make_problem([4, 1, 2], [4, 2, 1], load=0.6, seed=4),
    make_problem([1, 2, 1, 2, 1], [4, 4, 3], load=0.5, seed=5),
    make_problem([1], [4, 1], load=0.5, seed=6),
]


class Scores:
    """The score of any order for one demand point, by summing over the states."""

    def __init__(self, problem: DispatchProblem, probability: NDArray[np.float64], value: NDArray[np.float64]) -> None:
        self.dense, self.probability, self.value = Dense(problem), probability, value

    def of(self, order: NDArray[np.int64], j: int) -> float:
        """Σ_f p(f) [cost(team, j) + h(f - team) - h(f)] over the states with enough idle trucks."""
        dense, needed = self.dense, int(self.dense.problem.trucks_needed[j])
        total = 0.0
        for place, state in enumerate(dense.states):
            trucks = [int(i) for i in order for _ in range(state[i])][:needed]
            if len(trucks) == needed:
                team = dense.team_number[tuple(trucks.count(i) for i in range(len(state)))]
                after = dense.after(state, team)
                lost = dense.problem.cost[team, j] + self.value[after] - self.value[place]
                total += self.probability[place] * lost
        return total

    def best(self, j: int) -> float:
        """The smallest score of all orders."""
        stations = range(self.dense.problem.num_stations)
        return min(self.of(np.array(order), j) for order in permutations(stations))


def exact_scores(problem: DispatchProblem) -> Scores:
    """Scores with the probabilities and values of closest-first."""
    dense = Dense(problem)
    exact = dense.evaluate(dense.order_table(problem.order))
    return Scores(problem, exact.probability, exact.value)


def independent_scores(problem: DispatchProblem) -> Scores:
    """Scores with independent trucks, and a price for each truck that is not idle."""
    card = IndependentCard(problem, problem.order, 1)
    prices, states = card.prices(), Dense(problem).states
    chance = np.zeros(len(states))
    for place, state in enumerate(states):
        for trucks in product(*([0, 1] for _ in range(problem.num_trucks))):
            idle = np.add.reduceat(trucks, np.cumsum(problem.trucks) - problem.trucks)
            if tuple(idle) == state:
                busy = np.repeat(card.busy, problem.trucks)
                chance[place] += np.where(trucks, 1.0 - busy, busy).prod()
    return Scores(problem, chance, np.array(states) @ -prices)


def check_gains(problem: DispatchProblem, proposal: Proposal, scores: Scores, *, best: bool) -> None:
    """Gains are what the scores fall by; with `best`, no order has a smaller score than the proposed one."""
    for j, rate in enumerate(problem.incidents_per_day):
        before, after = scores.of(problem.order[j], j), scores.of(proposal.order[j], j)
        size = 1e-7 * max(1.0, abs(before))
        assert sorted(proposal.order[j]) == list(range(problem.num_stations))
        assert proposal.gain[j] == pytest.approx(rate * (before - after), abs=rate * size)
        assert proposal.gain[j] >= 0.0
        if best:
            assert after <= scores.best(j) + size


@pytest.mark.parametrize("window", [2, 3, 10])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_exact_proposals(problem: DispatchProblem, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gains are what the scores of whole orders fall by, state by state; with one window no order is better."""
    monkeypatch.setattr(runcard.policy.card_models, "WINDOW", window)
    proposal = ExactCard(problem, problem.order, 1).propose()
    check_gains(problem, proposal, exact_scores(problem), best=window >= problem.num_stations)


@pytest.mark.parametrize("window", [2, 3, 8])
@pytest.mark.parametrize("problem", [problem for problem in PROBLEMS if problem.num_trucks <= 7])
def test_independent_proposals(problem: DispatchProblem, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With independent trucks gains are what scores fall by, and orders are the best where one window holds them."""
    monkeypatch.setattr(runcard.policy.card_models, "INDEPENDENT_WINDOW", window)
    proposal = IndependentCard(problem, problem.order, 1).propose()
    check_gains(problem, proposal, independent_scores(problem), best=window >= problem.num_stations)


def test_windows_find_almost_the_best_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of half the stations find nearly all of the gain that one window finds."""
    gains = []
    for window in (7, 4):
        monkeypatch.setattr(runcard.policy.card_models, "WINDOW", window)
        problems = [make_problem([1] * 7, [2] * 6, load=0.3, seed=seed) for seed in range(6)]
        gains.append([ExactCard(problem, problem.order, 1).propose().gain.sum() for problem in problems])
    assert np.greater_equal(gains[0], np.array(gains[1]) - 1e-9).all()
    assert np.sum(gains[1]) >= 0.8 * np.sum(gains[0])


def test_points_without_incidents_keep_their_order() -> None:
    """A demand point of rate zero proposes nothing, in both pictures."""
    problem = make_problem([1, 1, 1, 1], [2, 1, 2], rates=[1.0, 0.0, 2.0], seed=4)
    for card in (ExactCard(problem, problem.order, 1), IndependentCard(problem, problem.order, 1)):
        proposal = card.propose()
        assert proposal.gain[1] == 0.0
        assert (proposal.order[1] == problem.order[1]).all()
        assert proposal.gain.sum() > 0.0
