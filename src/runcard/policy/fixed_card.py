"""Fixed-card: the best fixed order of stations for each demand point, for dispatch that cannot look at the state.

The search starts from closest-first and goes in rounds. In a round every demand point proposes the order that would be
best for it if nothing else changed, with the first-order gain that it promises (see `card_models.py`). The proposals
are tried together, those that promise most first, and the card is evaluated:

    accepted   if g falls, provably where the evaluation has bounds, so that the card is never worse than closest-first
    halved     if g falls by less than `TRUST` of what was promised, for as long as half as many proposals do better

and the next round tries twice the share of proposals that this one took. The search ends when the proposals promise
no more than `LEAST_GAIN` of g, when not even the one that promises most lowers g alone, or when `PATIENCE` rounds in a
row added less than `SLOW` of all that was gained; it is cut short after `MAX_EVALUATIONS`, and `finished` says so.

Cards are evaluated exactly where there are few states, else with trucks that are busy independently. Then closest-first
and the card found are evaluated exactly in the end, if there are not too many states, and the better one is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, NamedTuple

import numpy as np

from runcard.errors import PolicyFileError
from runcard.mdp.arrays import Ints, frozen
from runcard.mdp.bounds import NEVER_LATE
from runcard.mdp.chain import PolicyValue
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.policy.base import Recipe, Stored
from runcard.policy.by_order import OrderPolicy, exact_prices, read_prices
from runcard.policy.card_models import CardModel, ExactCard, IndependentCard, num_sums
from runcard.policy.closest_first import EXACT_STATES, closest_first_value
from runcard.policy.solve_options import DEFAULTS, SolveOptions

MOST_STATES = 1 << 16
MOST_SUMS = 1 << 23
"""A search is exact with at most so many states, and so many sums over them (see `mdp/kernels/cards.py`)."""

TRUST = 0.4
LEAST_GAIN = 1e-6
SLOW = 3e-4
PATIENCE = 2
MAX_EVALUATIONS = 200


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedCard(OrderPolicy):
    """A fixed order of stations for each demand point."""

    name: str = "fixed-card"
    finished: bool
    """Whether the search for the orders came to its end; the card is as good as what it found either way."""
    reason: str = "comes first on the card"
    has_card: ClassVar[bool] = True

    def stored(self) -> Stored:
        """Its card and its prices, for a policy file."""
        arrays = self.values.to_arrays() | {"card": np.ascontiguousarray(self.order)}
        return Stored(arrays=arrays, settings={"finished": self.finished}, certificate=self.certificate)


class CardSearch(NamedTuple):
    """The best card that a search found, the number of cards evaluated, and whether the search came to its end."""

    card: CardModel
    evaluations: int
    finished: bool


def improve_card(
    card: CardModel, *, max_evaluations: int = MAX_EVALUATIONS, accepted: Callable[[int, CardModel], None] | None = None
) -> CardSearch:
    """The best card found from `card` on; `accepted` is told the number of evaluations and the card of each round."""
    first, share, slow_rounds, evaluations = card.upper, 1.0, 0, 1
    never_late = NEVER_LATE * card.problem.total_incidents_per_day
    while evaluations < max_evaluations:
        proposal = card.propose()
        ranked = np.argsort(-proposal.gain, kind="stable")
        ranked = ranked[proposal.gain[ranked] > 0.0]
        promised = np.cumsum(proposal.gain[ranked])
        if len(ranked) == 0 or promised[-1] <= max(LEAST_GAIN * card.upper, never_late):
            return CardSearch(card, evaluations, True)
        taken = min(len(ranked), ceil(2.0 * share * len(ranked)))
        better = None
        while taken > 0 and evaluations < max_evaluations:
            order = card.order.copy()
            order[ranked[:taken]] = proposal.order[ranked[:taken]]
            # Frozen as that of the problem: kernels are not compiled a second time.
            tried, evaluations = card.changed(frozen(order)), evaluations + 1
            if better is not None and tried.upper >= better.upper:
                break
            if tried.upper < card.lower:
                better, share = tried, taken / len(ranked)
                if card.upper - tried.upper >= TRUST * promised[taken - 1]:
                    break
            taken //= 2
        if better is None:
            return CardSearch(card, evaluations, taken == 0)
        slow = card.upper - better.upper < SLOW * (first - better.upper)
        slow_rounds = slow_rounds + 1 if slow else 0
        card = better
        if accepted is not None:
            accepted(evaluations, card)
        if slow_rounds == PATIENCE:
            return CardSearch(card, evaluations, True)
    return CardSearch(card, evaluations, False)


class FoundOrder(NamedTuple):
    """The orders of the best card found, its exact values where they are known, and whether the search ended."""

    order: Ints
    solved: PolicyValue | None
    finished: bool


def solve_fixed_card(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> FixedCard:
    """The best card found; its certificate bounds its late fraction where its states could be evaluated."""
    order, solved, finished = find_order(problem, options)
    values, certificate = exact_prices(problem, solved)
    return FixedCard(
        problem=problem, order=order, known=values, certificate=certificate, threads=options.threads, finished=finished
    )


def quick_fixed_card(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> FixedCard:
    """The same card for whoever only wants to know who goes: prices come from the mean field, if one is asked for."""
    order, _, finished = find_order(problem, options)
    return FixedCard(problem=problem, order=order, threads=options.threads, finished=finished)


def find_order(
    problem: DispatchProblem, options: SolveOptions = DEFAULTS, *, max_evaluations: int = MAX_EVALUATIONS
) -> FoundOrder:
    """The orders of the best card found, without its prices; an exact search is cut short after some evaluations."""

    def accepted(step: int, card: CardModel) -> None:
        # The bounds of a card are always close; what moves from step to step is where they are.
        if options.progress is not None:
            lower, upper = problem.interval(card.lower, card.upper)
            options.progress(Progress(step=step, lower=lower, upper=upper, tolerance=1e-9))

    solved: PolicyValue | None = None
    if problem.num_states <= MOST_STATES and num_sums(problem) <= MOST_SUMS:
        start = closest_first_value(problem, options).value
        card = ExactCard(problem, problem.order, options.threads, start)
        found = improve_card(card, max_evaluations=max_evaluations, accepted=accepted)
        assert isinstance(found.card, ExactCard)
        order, solved = found.card.order, found.card.solved
    else:
        found = improve_card(IndependentCard(problem, problem.order, options.threads))
        order = found.card.order
        if problem.num_states <= EXACT_STATES:
            closest_first = closest_first_value(problem, options)
            exact = ExactCard(problem, order, options.threads, closest_first.value).solved
            better = exact.upper < closest_first.lower
            order, solved = (order, exact) if better else (problem.order, closest_first)
    return FoundOrder(order, solved, found.finished)


def read_fixed_card(problem: DispatchProblem, stored: Stored) -> FixedCard:
    """A card as a policy file holds it."""
    return FixedCard(
        problem=problem,
        order=_checked_card(stored.array("card", np.int64, problem.order.shape)),
        known=read_prices(problem, stored),
        certificate=stored.certificate,
        finished=bool(stored.settings["finished"]),
    )


def _checked_card(card: Ints) -> Ints:
    """[J, I] the orders of a card, if each of them lists every station once."""
    if not (np.sort(card, axis=1) == np.arange(card.shape[1])).all():
        raise PolicyFileError("damaged: expected every station once in the order of each demand point of the card")
    return card


RECIPE = Recipe(name="fixed-card", solve=solve_fixed_card, read=read_fixed_card, values_up_to=EXACT_STATES)
